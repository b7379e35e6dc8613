#!/usr/bin/python3
"""usage: onnx_cuda.py [--program build/tests/run_network] [--module build/tests/weir_cuda_sim.so] [--write] [--verbose]
                    [WORD...]

Runs the ONNX project's own test data (onnx_operators.py) by the CUDA backend on the double, beside the oracle's kernels: what
the oracle passes, the CUDA backend passes too, or it refuses it by the name of an operator that LACKING explains, in just
as many cases. Its float32 results are within the tolerance of the oracle's; layers that are products are also run in each reduced precision.
With --write it writes ONNX-cuda.md beside this file. With words: only the cases whose names hold one of them.
"""

import argparse
import collections
import pathlib
import re
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "loadtest")]

import measure  # noqa: E402
import onnx_operators  # noqa: E402
from network_process import Bits, Crashed, NetworkProcess, Refused, bits_to_float, node_of  # noqa: E402

# Most that a result may differ from the oracle's, as relative Frobenius norm, for one layer; the cases have few.
TOLERANCES = {"fp32": 1e-5, "tf32": 1e-3, "fp16": 1e-3, "bf16": 1e-2}
PRODUCTS = {"Conv", "Gemm", "MatMul"}
NO_KERNEL = "the GPU has no kernel for it"

# What the CUDA backend refuses: in how many cases, and why.
QUANTIZED = "products of 8-bit integers are for the CPU, as precision int8 is"
LACKING = {
    "ConvInteger": (3, QUANTIZED),
    "MatMulInteger": (1, QUANTIZED),
    "QLinearConv": (1, QUANTIZED),
    "QLinearMatMul": (2, QUANTIZED),
}
LEAST_PASSED = 826


def numbers(array):
    return bits_to_float(array).astype(numpy.float64) if isinstance(array, Bits) else array.astype(numpy.float64)


def distance(got, wanted):
    """Relative Frobenius norm of the difference over all outputs; of equal infinities and NaN nothing. 0 if all are empty."""
    far = size = 0.0
    for one, other in zip(got, wanted):
        left, right = numbers(one), numbers(other)
        with numpy.errstate(invalid="ignore"):
            same = (left == right) | (numpy.isnan(left) & numpy.isnan(right))
            gap = numpy.where(same, 0.0, left - right)
        far += float((gap**2).sum())
        size += float((right[numpy.isfinite(right)] ** 2).sum())
    return (far / size) ** 0.5 if size > 0 else far**0.5


class Verdict:
    """passed, lacking (with the operator), not asked (the oracle refuses it as well), or failed."""

    def __init__(self, case, word, text="", operator="", errors=None):
        self.case, self.word, self.text, self.operator, self.errors = case, word, text, operator, errors or {}


def prepare(case, process, with_constants):
    """(model, inputs) as onnx_operators.attempt hands them in."""
    inputs = case.inputs()
    if not with_constants:
        return case.folder / "model.onnx", inputs
    model = pathlib.Path(process.folder.name) / "model.onnx"
    return model, case.with_constants(inputs, model)


def by_oracle(case, process):
    """(model, inputs, outputs) of the form of the case that the oracle passes, or None."""
    for with_constants in (False, True):
        try:
            model, inputs = prepare(case, process, with_constants)
            got = process.run(model, inputs, "limit 60", "by oracle").outputs
        except ValueError:
            return None
        except Refused as refused:
            if with_constants or not re.search(onnx_operators.COMPUTED, refused.text):
                return None
            continue
        return (model, inputs, got) if not onnx_operators.difference(got, case.expected()) else None
    return None


def judge(case, process, module):
    """Raises Crashed where the oracle does."""
    known = by_oracle(case, process)
    if not known:
        return Verdict(case, "not asked")
    model, inputs, wanted = known
    errors = {}
    precisions = TOLERANCES if PRODUCTS & set(case.operators) else ["fp32"]
    for precision in precisions:
        try:
            got = process.run(model, inputs, "limit 60", "precision " + precision, "by %s" % module).outputs
        except Refused as refused:
            operator = node_of(refused.text)
            if refused.status == "not supported" and NO_KERNEL in refused.text and operator in LACKING:
                return Verdict(case, "lacking", refused.text, operator)
            return Verdict(case, "failed", "%s: %s" % (precision, refused))
        except Crashed as crash:
            return Verdict(case, "failed", "%s: %s" % (precision, crash))
        fault = onnx_operators.difference(got, case.expected()) if precision == "fp32" else None
        if fault:
            return Verdict(case, "failed", fault)
        errors[precision] = distance(got, wanted)
        if not errors[precision] <= TOLERANCES[precision]:
            return Verdict(case, "failed", "%s: off by %.1e" % (precision, errors[precision]))
    return Verdict(case, "passed", errors=errors)


def table(verdicts):
    lacking = collections.Counter(verdict.operator for verdict in verdicts if verdict.word == "lacking")
    rows = [["operator", "cases refused", "why"]]
    rows += [[operator, lacking[operator], LACKING[operator][1]] for operator in sorted(lacking)]
    worst = {precision: [verdict.errors[precision] for verdict in verdicts if precision in verdict.errors]
             for precision in TOLERANCES}
    errors = [["precision", "cases", "greatest error", "tolerance"]]
    errors += [[precision, len(found), "%.1e" % max(found, default=0), "%.0e" % TOLERANCES[precision]]
               for precision, found in worst.items()]
    return rows, errors


def page(rows, errors, count):
    return "\n".join([
        "# The ONNX project's own test cases by the CUDA backend",
        "",
        "Written by `tests/conformance/onnx_cuda.py --write`, which `./dev test` runs without `--write`: each case that the oracle's",
        "kernels pass ([ONNX.md](ONNX.md)), by the CUDA backend on the double. What it lacks it refuses by name when the model is",
        "loaded: nothing runs on the CPU instead. An operator that is not below has passed all cases that the oracle passes.",
        "",
        "%d cases: %d passed, %d refused, %d failed." % (sum(count[word] for word in ("passed", "lacking", "failed")),
                                                         count["passed"], count["lacking"], count["failed"]),
        "",
        measure.render(rows) if len(rows) > 1 else "It lacks nothing.",
        "",
        "Differences from the oracle's float32 results, as relative Frobenius norms. Every case runs in float32; those with a",
        "product (Conv, Gemm, MatMul) in the reduced precisions, too.",
        "",
        measure.render(errors),
        "",
    ])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", default=ROOT / "build" / "tests" / "run_network")
    parser.add_argument("--module", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    module = (options.module or pathlib.Path(options.program).parent / "weir_cuda_sim.so").resolve()
    if not module.exists():
        print("there is no %s: built without the CUDA double\n0 passed, 0 failed" % module)
        return 0
    verdicts = []
    with NetworkProcess(options.program) as process:
        for case in onnx_operators.cases(options.words):
            try:
                verdict = judge(case, process, module)
            except Crashed as crash:
                verdict = Verdict(case, "failed", "by the oracle: %s" % crash)
            verdicts.append(verdict)
            if verdict.word == "failed" or options.verbose:
                print("%s %s/%s [%s]: %s %s" % (verdict.word, case.group, case.name, ", ".join(case.operators), verdict.text,
                                                verdict.errors), flush=True)
    count = collections.Counter(verdict.word for verdict in verdicts)
    rows, errors = table(verdicts)
    print(measure.render(rows) + "\n\n" + measure.render(errors))
    missed = 0
    if not options.words:
        lacking = collections.Counter(verdict.operator for verdict in verdicts if verdict.word == "lacking")
        others = [operator for operator in LACKING if lacking[operator] != LACKING[operator][0]]
        missed = len(others) + (count["passed"] < LEAST_PASSED)
        for operator in others:
            print("MISSED: %d cases of %s are refused, LACKING says %d" % (lacking[operator], operator, LACKING[operator][0]))
        if options.write:
            (HERE / "ONNX-cuda.md").write_text(page(rows, errors, count), encoding="utf-8")
    print("%d passed, %d failed" % (count["passed"], count["failed"] + missed))
    return 1 if count["failed"] or missed else 0


if __name__ == "__main__":
    sys.exit(main())
