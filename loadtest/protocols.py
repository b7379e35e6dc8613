#!/usr/bin/python3
"""usage: protocols.py [--repetitions 9] [--seconds 1] [--only KIND,...] [--real-time] [--write] [--quick]

Measures what a prediction costs by each protocol and body that weir speaks, over /predict's own of the same numbers, and
beside a bare server that reads the same body. All in one run, interleaved; ratios are those of one repetition, and figures
are medians. Writes build/results/protocols.json, and with --write the section of loadtest/RESULTS.md. Exits with 1 if a goal
is missed.
"""

import json
import os
import pathlib
import tempfile

import numpy

from measure import (
    MeasureError, Report, Server, arguments, begin, own_command, pixel_texts, program, run_main, say, weir, write_mlp,
)

SIZES = [784, 512, 256, 10]
CONNECTIONS, BATCH_SIZE = 64, 32
OCTETS, JSON, NPY = "application/octet-stream", "application/json", "application/x-npy"
INFER = "/v2/models/mlp/infer"
LENGTH = "Inference-Header-Content-Length"


class Kind:
    """A protocol with a body: over is the kind that its cost is compared with, limit the goal for that ratio."""

    def __init__(self, text, body, path="/predict", content_type=JSON, over=None, limit=None, header=None):
        self.text, self.body, self.path, self.content_type = text, body, path, content_type
        self.over, self.limit, self.header = over, limit, header


def npy(array):
    """The .npy file, with the padding that NumPy gives it."""
    with tempfile.TemporaryFile() as file:
        numpy.save(file, array)
        file.seek(0)
        return file.read()


def v2(more, outputs=None):
    """A request as tritonclient writes it, without spaces."""
    request = {"inputs": [{"name": "x", "shape": [1, SIZES[0]], "datatype": "FP32", **more}]}
    if outputs:
        request["outputs"] = [{"name": "y", "parameters": {"binary_data": True}}]
    return json.dumps(request, separators=(",", ":")).encode()


def make_kinds():
    texts = pixel_texts(SIZES[0])
    row = numpy.array(texts, dtype="<f4")
    numbers = "[%s]" % ",".join(texts)
    binary = v2({"parameters": {"binary_data_size": row.nbytes}}, outputs=True)
    # The same text of the numbers as /predict's, in the members that V2 wants.
    v2_text = v2({"data": []}).replace(b"[]", numbers.encode())
    return {
        "raw": Kind("/predict, raw float32", row.tobytes(), content_type=OCTETS),
        "v2_binary": Kind("V2, binary", binary + row.tobytes(), INFER, OCTETS, "raw", 1.25, "%s: %d" % (LENGTH, len(binary))),
        "v2_raw": Kind("V2, raw binary", row.tobytes(), INFER, OCTETS, "raw", 1.25, LENGTH + ": 0"),
        "npy": Kind("/predict, .npy", npy(row.reshape(1, -1)), content_type=NPY, over="raw", limit=1.05),
        "json": Kind("/predict, JSON", ('{"instances":[%s]}' % numbers).encode()),
        "v2_json": Kind("V2, JSON", v2_text, INFER, over="json", limit=1.25),
        "v1_rows": Kind("V1, rows", ('{"instances":[%s]}' % numbers).encode(), "/v1/models/mlp:predict", over="json", limit=1.25),
        "v1_columns": Kind("V1, columns", ('{"inputs":[%s]}' % numbers).encode(), "/v1/models/mlp:predict", over="json", limit=1.25),
    }


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.kinds = make_kinds()
        self.names = [name for name in self.kinds if not options.only or name in options.only]
        write_mlp(folder / "mlp" / "1" / "model.onnx", SIZES)
        for name, kind in self.kinds.items():
            (folder / name).write_bytes(kind.body)
        self.cost = {name: [] for name in self.names}
        self.bare_cost = {name: [] for name in self.names}
        self.answer_bytes, self.servers = {}, []

    def start(self):
        self.weir = weir(self.folder / "mlp", batch_size=BATCH_SIZE, max_concurrency=CONNECTIONS, queue_delay_target_ms=3000)
        self.servers.append(self.weir)
        self.bare = {}
        for name in self.names:
            kind = self.kinds[name]
            headers = {"Content-Type": kind.content_type}
            if kind.header:
                headers.update([kind.header.split(": ")])
            status, answer = self.weir.request("POST", kind.path, kind.body, **headers)
            if status != 200:
                raise MeasureError("%s: weir answers %d: %r" % (kind.text, status, answer[:300]))
            self.answer_bytes[name] = len(answer)
            command = [program("bench/bare_server"), "--answer-bytes", len(answer), "--content-type", kind.content_type]
            self.bare[name] = Server(command)
            self.servers.append(self.bare[name])

    def load(self, server, name):
        """CPU of the server for an answer in a closed loop in which every answer must be a 200, in us."""
        kind = self.kinds[name]
        report = server.load(
            self.folder / name, kind.content_type, path=kind.path, header=kind.header, warm_up=self.options.warm_up,
            connections=CONNECTIONS, seconds=self.options.seconds)
        if set(report["codes"]) != {"200"} or any(report["errors"].values()) or report["unanswered"]:
            raise MeasureError("%s: not every answer was a 200: %s" % (kind.text, report))
        return report["watched_cpu_us_per_answer"]

    def run(self):
        self.start()
        try:
            for repetition in range(self.options.repetitions):
                say("repetition %d of %d" % (repetition + 1, self.options.repetitions))
                order = self.names if repetition % 2 == 0 else self.names[::-1]
                for name in order:
                    self.cost[name].append(self.load(self.weir, name))
                for name in order:
                    self.bare_cost[name].append(self.load(self.bare[name], name))
        finally:
            for server in self.servers:
                server.stop()

    def fill(self, report):
        for name in self.names:
            kind = self.kinds[name]
            report.add_samples("%s: server CPU of a request, weir" % kind.text, self.cost[name], "us")
            report.add_samples("%s: the same, bare server" % kind.text, self.bare_cost[name], "us")
            if kind.over in self.names:
                over = self.kinds[kind.over].text
                ratios = [a / b for a, b in zip(self.cost[name], self.cost[kind.over])]
                report.add_samples("%s / %s" % (kind.text, over), ratios, "", ("<=", kind.limit))
        report.notes.append(
            "A row of the %s network: %d pixels, %d bytes of float32, %d of JSON. Medians of %d repetitions of %g s, interleaved, "
            "after %g s of warm-up each, %d connections; a ratio is of the two of one repetition. Bodies and answers in bytes: %s."
            % ("-".join(map(str, SIZES)), SIZES[0], len(self.kinds["raw"].body), len(self.kinds["json"].body),
               self.options.repetitions, self.options.seconds, self.options.warm_up, CONNECTIONS,
               ", ".join("%s %d and %d" % (self.kinds[name].text, len(self.kinds[name].body), self.answer_bytes[name])
                         for name in self.names)))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--warm-up", type=float, default=0.2)
    parser.add_argument("--only", type=lambda text: text.split(","), help="some of: " + ", ".join(make_kinds()))
    parser.add_argument("--real-time", action="store_true", help="servers and generator before all others: on a busy machine")
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.seconds, options.warm_up = 1, 0.3, 0.1
    begin()
    if options.real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # inherited by servers and generator
    report = Report("protocols", "What a protocol costs", own_command("bench", "protocols"))
    with tempfile.TemporaryDirectory(prefix="weir-protocols-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        bench.run()
        bench.fill(report)
    if options.real_time:
        report.notes.append("The machine was busy with other work, so servers and generator had real-time priority.")
    return report.finish(options.write)


if __name__ == "__main__":
    run_main("protocols", main)
