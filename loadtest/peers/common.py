"""What the three peers share: the model in ONNX Runtime with one thread, and where their work runs. MODEL names the file,
COMPUTE_CORE and OTHER_CORE the cores, BATCH_SIZE and DEADLINE_MS the same limits that weir has."""

import os

import numpy
import onnxruntime

BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "32"))
DEADLINE_MS = int(os.environ.get("DEADLINE_MS", "100"))


def use_core(name):
    """Moves the calling thread, and those it will start, to the core that the variable names."""
    if name in os.environ:
        os.sched_setaffinity(0, {int(os.environ[name])})


class Model:
    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name
        columns = self.session.get_inputs()[0].shape[1]
        for rows in (1, BATCH_SIZE):
            self.run(numpy.zeros((rows, columns), dtype=numpy.float32))

    def run(self, rows):
        return self.session.run(None, {self.name: rows})[0]

    def predict(self, requests):
        """One {"predictions": [...]} for each {"instances": [...]}; all their rows are one batch."""
        parts = [numpy.asarray(request["instances"], dtype=numpy.float32) for request in requests]
        results = self.run(numpy.concatenate(parts))
        answers, at = [], 0
        for part in parts:
            answers.append({"predictions": results[at : at + len(part)].tolist()})
            at += len(part)
        return answers
