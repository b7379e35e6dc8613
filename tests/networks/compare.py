#!/usr/bin/python3
"""usage: compare.py [--repetitions 5] [--seconds 0.25] [--write] [--only WORD] [--threads 1,2] [--rows 1,8,32] [--speed]
                     [--program build/tests/run_network]

The engine beside ONNX Runtime, in one run: the same files, the same numbers of threads (ONNX Runtime: intra_op_num_threads,
inter_op_num_threads 1, sequential), turn by turn; figures are medians. The engine is measured by run_network, whose loop is in
C: begin, copy the inputs, run. ONNX Runtime is measured by its Python interface with IO binding: inputs and outputs are bound
once, and nothing is copied. Dense layers are also compared with what the processor can do at most, measured by bench_peaks
in the same run. Writes build/results/networks_speed.json, with --write also the section of loadtest/RESULTS.md. Exits with 1
if a goal is missed. --only, --threads, --rows and --speed (no loading) measure a part and save nothing. `./dev bench
networks` calls it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "conformance"), str(ROOT / "loadtest")]

import environment  # noqa: E402

environment.enter()

import numpy  # noqa: E402
import onnxruntime  # noqa: E402

import measure  # noqa: E402
from network_process import NetworkProcess  # noqa: E402
from networks import DENSE_LAYERS, MEASURED, MODELS, RANDOM  # noqa: E402

ROWS, THREADS = [1, 8, 32], [1, 2]
ROOFLINE_ROWS = {1: None, 8: 75, 16: 85, 32: 85, 64: 85}
GOAL_DENSE, GOAL_OTHER = 1.0, 0.9
ORT_ONCE = """
import json, sys, time
import numpy, onnxruntime
def memory(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
arrays = [numpy.load(path) for path in sys.argv[3:]]
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = int(sys.argv[2])
before, began = memory("VmRSS"), time.perf_counter()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
seconds = time.perf_counter() - began
session.run(None, dict(zip([item.name for item in session.get_inputs()], arrays)))
print(json.dumps({"seconds": seconds, "peak_kib": memory("VmHWM"), "before_kib": before}))
"""


class Yardstick:
    """ONNX Runtime with everything bound."""

    def __init__(self, path, threads, arrays):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [item.name for item in self.session.get_inputs()]
        self.first = self.session.run(None, dict(zip(names, arrays)))
        self.binding = self.session.io_binding()
        for name, array in zip(names, arrays):
            self.binding.bind_cpu_input(name, array)
        self.kept = [onnxruntime.OrtValue.ortvalue_from_shape_and_type(array.shape, array.dtype, "cpu", 0)
                     for array in self.first]
        for item, value in zip(self.session.get_outputs(), self.kept):
            self.binding.bind_ortvalue_output(item.name, value)

    def measure(self, seconds):
        """Nanoseconds of one run, the median."""
        run, times = self.session.run_with_iobinding, []
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            began = time.perf_counter_ns()
            run(self.binding)
            times.append(time.perf_counter_ns() - began)
        return float(numpy.median(times))


class Engine:
    """run_network with the model loaded."""

    def __init__(self, program, path, threads, arrays):
        self.process = NetworkProcess(program, "session")
        rows = arrays[0].shape[0]
        self.process.ask(["threads %d" % threads, "rows %d" % rows, "model %s" % path, *self.process.input_lines(arrays),
                          "run"])

    def measure(self, seconds):
        return float(self.process.ask(["measure %g" % seconds]).measured[1])

    def close(self):
        self.process.close()


class Comparison:
    def __init__(self, options, report):
        self.options, self.report = options, report
        self.table = [["network", "threads", "rows", "weir us", "ORT us", "weir / ORT"]]
        self.roofline = [["network", "threads", "rows", "us", "bound us", "of the bound"]]
        self.loads = [["network", "weir ms", "ORT ms", "ratio", "weir MiB", "ORT MiB", "ratio", "weir whole", "ORT whole"]]
        self.engine_us = {}

    def inputs(self, network, rows):
        return network.inputs(rows, RANDOM, numpy.random.default_rng(rows))

    def pair(self, network, dense, threads, rows):
        arrays = self.inputs(network, rows)
        engine = Engine(self.options.program, network.path, threads, arrays)
        ours, theirs = [], []
        try:
            yardstick = Yardstick(network.path, threads, arrays)
            for contestant in (engine, yardstick):
                contestant.measure(0.1)
            for _ in range(self.options.repetitions):
                for contestant, times in ((engine, ours), (yardstick, theirs)):
                    time.sleep(0.02)  # threads of the other one stop spinning
                    times.append(contestant.measure(self.options.seconds))
        finally:
            engine.close()
        ours, theirs = measure.median(ours) / 1e3, measure.median(theirs) / 1e3
        self.engine_us[network.name, threads, rows] = ours
        ratio = theirs / ours
        self.table.append([network.name, threads, rows, "%.1f" % ours, "%.1f" % theirs, "%.2f" % ratio])
        self.report.add("%s, %d threads, %d rows: throughput, weir / ORT" % (network.name, threads, rows), ratio, "",
                        (">=", GOAL_DENSE if dense else GOAL_OTHER))
        measure.say("%s, %d threads, %d rows: %.1f us, ORT %.1f us, ratio %.2f" % (
            network.name, threads, rows, ours, theirs, ratio))

    def peaks(self, threads, kib):
        command = [measure.program("bench/bench_peaks"), str(threads), "0.3", str(kib)]
        found = json.loads(subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout)
        return found["flops"], found["read"][str(kib)]

    def dense(self, network, threads):
        """Dense layers against the bound: a layer takes as long as its multiplications, or as reading its weights."""
        sizes = DENSE_LAYERS[str(network.path.relative_to(MODELS))]
        weights = [inputs * outputs for inputs, outputs in zip(sizes, sizes[1:])]
        for rows, goal in ROOFLINE_ROWS.items():
            engine = Engine(self.options.program, network.path, threads, self.inputs(network, rows))
            shares, times, bounds = [], [], []
            try:
                engine.measure(0.1)
                for _ in range(self.options.repetitions):
                    flops, read = self.peaks(threads, sum(weights) * 4 // 1024)
                    times.append(engine.measure(self.options.seconds) / 1e3)
                    bounds.append(1e6 * sum(max(2.0 * rows * count / flops, 4.0 * count / read) for count in weights))
                    shares.append(100 * bounds[-1] / times[-1])
            finally:
                engine.close()
            share = measure.median(shares)
            self.roofline.append([network.name, threads, rows, "%.1f" % measure.median(times),
                                  "%.1f" % measure.median(bounds), "%.0f %%" % share])
            self.report.add("%s, %d threads, %d rows: part of the roofline" % (network.name, threads, rows), share, "%",
                            goal and (">=", goal), 0)
            measure.say("%s, %d threads, %d rows: %.0f %% of the roofline" % (network.name, threads, rows, share))

    def load(self, network):
        """Fresh processes that load and run one row: time of loading, memory above what was there before."""
        arrays = self.inputs(network, 1)
        ours, theirs, our_kib, their_kib, whole = [], [], [], [], []
        with NetworkProcess(self.options.program, "session") as idle:
            base_kib = peak_kib(idle.process.pid)
            folder = pathlib.Path(idle.folder.name)
            paths = []
            for index, array in enumerate(arrays):
                paths.append(str(folder / ("a%d.npy" % index)))
                numpy.save(paths[-1], array)
            for _ in range(3):
                with NetworkProcess(self.options.program, "session") as fresh:
                    answers = fresh.run(network.path, arrays, "threads 1", "rows 1")
                ours.append(answers.load_ns / 1e6)
                our_kib.append(answers.peak_kib)
                done = subprocess.run([sys.executable, "-c", ORT_ONCE, str(network.path), "1", *paths], capture_output=True,
                                      encoding="utf-8", check=True)
                found = json.loads(done.stdout)
                theirs.append(found["seconds"] * 1e3)
                their_kib.append(found["peak_kib"] - found["before_kib"])
                whole.append(found["peak_kib"])
        ours, theirs = measure.median(ours), measure.median(theirs)
        our_whole, their_whole = measure.median(our_kib) / 1024, measure.median(whole) / 1024
        our_mib, their_mib = our_whole - base_kib / 1024, measure.median(their_kib) / 1024
        self.loads.append([network.name, "%.1f" % ours, "%.1f" % theirs, "%.2f" % (ours / theirs), "%.1f" % our_mib,
                           "%.1f" % their_mib, "%.2f" % (our_mib / their_mib), "%.1f" % our_whole, "%.1f" % their_whole])
        self.report.add("%s: time to load, weir / ORT" % network.name, ours / theirs, "", ("<=", 0.5))
        self.report.add("%s: memory to load and run once, weir / ORT" % network.name, our_mib / their_mib, "", ("<=", 0.5))
        measure.say("%s: loads in %.1f ms (ORT %.1f), %.1f MiB (ORT %.1f)" % (network.name, ours, theirs, our_mib, their_mib))

    def run(self):
        loaded = set()
        for network, dense in MEASURED:
            if self.options.only and self.options.only.lower() not in network.name.lower():
                continue
            for threads in self.options.threads:
                for rows in self.options.rows:
                    self.pair(network, dense, threads, rows)
                if dense:
                    self.dense(network, threads)
            if network.path not in loaded and not self.options.speed:
                loaded.add(network.path)
                self.load(network)
        self.report.tables += [("Time of a run, medians", self.table), ("Dense layers and the roofline", self.roofline),
                               ("Loading: time, and memory above that of the process before", self.loads)]


def peak_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=numbers, default=THREADS)
    parser.add_argument("--rows", type=numbers, default=ROWS)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--program", default=measure.BUILD / "tests" / "run_network")
    options = parser.parse_args()
    measure.warn_if_busy()
    report = measure.Report("networks_speed", "Real networks beside ONNX Runtime %s" % onnxruntime.__version__,
                            "./dev bench networks --write")
    comparison = Comparison(options, report)
    comparison.run()
    report.notes.append(
        "ONNX Runtime %s by its Python interface with IO binding, weir by run_network's loop in C; medians of %d turns of "
        "%g s each." % (onnxruntime.__version__, options.repetitions, options.seconds))
    if not (options.only or options.speed) and (options.threads, options.rows) == (THREADS, ROWS):
        return report.finish(options.write)
    print(report.text())
    return measure.conclude(report.missed())


if __name__ == "__main__":
    sys.exit(main())
