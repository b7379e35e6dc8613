#!/usr/bin/python3
"""usage: invariance.py [--repetitions 5] [--seconds 0.2] [--write] [--program build/tests/run_network]

What `invariance: bucket` and `strict` cost, and whether they keep their promise: a row of a batch, alone and in any
place among others, must have the same bits under strict, on oneDNN's AVX-512 path and on its AVX2 path. Each network is timed under off,
bucket and strict turn by turn; figures are medians. Writes build/results/invariance.json, with --write also the section of
loadtest/RESULTS.md. `./dev bench invariance` calls it.
"""

import argparse
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "conformance"), str(ROOT / "loadtest")]

import environment  # noqa: E402

environment.enter()

import numpy  # noqa: E402

import measure  # noqa: E402
from network_process import NetworkProcess  # noqa: E402
from networks import MEASURED, RANDOM  # noqa: E402

MODES, LARGEST = ("off", "bucket", "strict"), 32
ROWS = (1, 8, 32)
PATHS = {"AVX-512": {}, "AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}


def whole_inputs(network):
    """Inputs of LARGEST rows; fewer are their beginning."""
    return network.inputs(LARGEST, RANDOM, numpy.random.default_rng(1))


class Engine:
    def __init__(self, program, path, mode, variables):
        self.process = NetworkProcess(program, "session", environment={**os.environ, **variables})
        self.settings = ["invariance %s" % mode, "rows %d" % LARGEST, "model %s" % path]

    def run(self, arrays):
        answers = self.process.ask([*self.settings, *self.process.input_lines(arrays), "run"])
        self.settings = []
        return answers.outputs

    def measure(self, seconds):
        return float(self.process.ask(["measure %g" % seconds]).measured[1]) / 1e3


def first_rows(arrays, rows):
    return [array[:rows] for array in arrays]


def same_bits(engine, arrays):
    """Is the first row the same, bit for bit, in every place of batches of 2, 3, 8, 31 and 32 rows as alone?"""
    alone = [output[:1].tobytes() for output in engine.run(first_rows(arrays, 1))]
    for rows in (2, 3, 8, 31, 32):
        outputs = engine.run([numpy.repeat(array[:1], rows, axis=0) for array in arrays])
        if any(output[row : row + 1].tobytes() != first for output, first in zip(outputs, alone) for row in range(rows)):
            return False
        if [output[:1].tobytes() for output in engine.run(first_rows(arrays, rows))] != alone:
            return False
    return True


def times(options, network):
    """{rows: {mode: median us}}"""
    arrays = whole_inputs(network)
    engines = {mode: Engine(options.program, network.path, mode, {}) for mode in MODES}
    found = {}
    for rows in ROWS:
        samples = {mode: [] for mode in MODES}
        for engine in engines.values():
            engine.run(first_rows(arrays, rows))
        for _ in range(options.repetitions):
            for mode, engine in engines.items():
                time.sleep(0.02)
                samples[mode].append(engine.measure(options.seconds))
        found[rows] = {mode: measure.median(values) for mode, values in samples.items()}
    for engine in engines.values():
        engine.process.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--program", default=measure.BUILD / "tests" / "run_network")
    options = parser.parse_args()
    report = measure.Report("invariance", "What invariance costs", "./dev bench invariance --write")
    table = [["network", "rows", "off us", "bucket us", "strict us", "strict / off"]]
    bits = [["network", "path", *MODES]]
    for network, _ in MEASURED:
        found = times(options, network)
        for rows, by_mode in found.items():
            ratio = by_mode["strict"] / by_mode["off"]
            table.append([network.name, rows, *("%.1f" % by_mode[mode] for mode in MODES), "%.2f" % ratio])
        for name, variables in PATHS.items():
            verdicts = {}
            for mode in MODES:
                engine = Engine(options.program, network.path, mode, variables)
                verdicts[mode] = same_bits(engine, whole_inputs(network))
                engine.process.close()
            bits.append([network.name, name, *("same" if verdicts[mode] else "differ" for mode in MODES)])
            report.add("%s, %s: a row has the same bits in every batch and place under strict" % (network.name, name),
                       int(verdicts["strict"]), "", ("==", 1), 0)
    report.tables.append(("One thread, batches of up to %d rows:" % LARGEST, table))
    report.tables.append(("Bits of a row in any place of batches of 1, 2, 3, 8, 31 and 32 rows:", bits))
    return report.finish(options.write)


if __name__ == "__main__":
    sys.exit(main())
