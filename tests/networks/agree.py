#!/usr/bin/python3
"""usage: agree.py [--program build/tests/run_network] [--write] [WORD...]

Runs networks that nobody here made, and exports of PyTorch and scikit-learn, through the engine and through ONNX Runtime, on
random and on real inputs, at several batch sizes, and compares; where the CUDA double was built, by the CUDA backend on it
too, which may refuse a network only by the name of an operator that it lacks. Writes build/results/networks.json, with --write also the
table of README.md beside this file. With words: only the networks whose names hold one of them. Fetches what it needs first
(environment.py).
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "conformance"), str(ROOT / "loadtest")]

import environment  # noqa: E402

environment.enter()

import re  # noqa: E402

import numpy  # noqa: E402
import onnxruntime  # noqa: E402

import measure  # noqa: E402
from network_process import Crashed, NetworkProcess, Refused, node_of  # noqa: E402
from networks import NETWORKS, RANDOM, REAL  # noqa: E402

ERROR, ERROR_BF16 = 1e-4, 2e-2
LEAST_SCALE = 1e-2  # scores that are all nearer to 0 are compared as if the greatest were this
LEAST, GOAL = 6, 8  # networks from packages that agree
NO_KERNEL = "the GPU has no kernel for it"
OPTIONS = {"fp32": [], "avx2": [], "bf16": ["precision bf16"]}  # and "cuda", where there is a module


def reference(network):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(network.path), options, providers=["CPUExecutionProvider"])


def relative_error(got, expected):
    """The greatest difference, in parts of the greatest value. Types and shapes must be the same."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise Crashed("%s %s, not %s %s" % (got.dtype, got.shape, expected.dtype, expected.shape))
    if expected.size == 0:
        return 0.0
    left, right = got.astype(numpy.float64), expected.astype(numpy.float64)
    if not numpy.isfinite(left).all():
        return float("inf")
    return float(numpy.abs(left - right).max() / max(numpy.abs(right).max(), LEAST_SCALE))


def same_classes(got, expected):
    """Is the greatest of the last dimension in the same place? Two that differ by rounding alone are both right."""
    places, wanted = got.argmax(-1), expected.argmax(-1)
    ours = numpy.take_along_axis(expected, places[..., None], -1)
    theirs = numpy.take_along_axis(expected, wanted[..., None], -1)
    return bool((theirs - ours <= 2e-6 * numpy.abs(expected).max()).all())


class Finding:
    """What is known of one network after its runs."""

    def __init__(self, network):
        self.network, self.errors, self.bf16, self.rows = network, {}, None, []
        self.cuda = None  # what the CUDA backend refuses
        self.verdict, self.text, self.classes, self.load_ms = "", "", True, None

    def note(self, key, error):
        self.errors[key] = max(self.errors.get(key, 0.0), error)


def run_all(network, finding, processes):
    session = reference(network)
    names = [item.name for item in session.get_inputs()]
    for rows in network.row_counts:
        for kind in (RANDOM, REAL):
            arrays = network.inputs(rows, kind, numpy.random.default_rng(rows))
            expected = session.run(None, dict(zip(names, arrays)))
            for way, process in processes.items():
                if way != "fp32" and (kind == RANDOM or rows not in (3, network.row_counts[0])):
                    continue
                options = ["limit 300", "rows %d" % rows, "threads 2"] + OPTIONS[way]
                try:
                    answers = process.run(network.path, arrays, *options)
                except Refused as refused:
                    if way == "bf16":
                        finding.bf16 = refused.text
                    elif way == "cuda" and refused.status == "not supported" and NO_KERNEL in refused.text:
                        finding.cuda = refused.text
                    else:
                        raise
                    continue
                if len(answers.outputs) != len(expected):
                    raise Crashed("%d outputs, not %d" % (len(answers.outputs), len(expected)))
                error = max(map(relative_error, answers.outputs, expected))
                finding.note(kind if way == "fp32" else way, error)
                if way == "fp32":
                    finding.load_ms = answers.load_ns / 1e6
                    if network.argmax and not same_classes(answers.outputs[0], expected[0]):
                        finding.classes = False
        finding.rows.append(rows)


def judge(network, processes):
    finding = Finding(network)
    try:
        run_all(network, finding, processes)
    except Refused as refused:
        finding.text = re.sub(r"^.*?\.onnx: ", "", str(refused))
        named = network.refused and re.search(network.refused, refused.text) and refused.status == "not supported"
        finding.verdict = "refused by name" if named else "FAILED"
        return finding
    except Crashed as crash:
        finding.verdict, finding.text = "FAILED", str(crash)
        return finding
    faults = ["error %.1e (%s)" % (error, way) for way, error in finding.errors.items() if way != "bf16" and error >= ERROR]
    if not finding.classes:
        faults.append("another class")
    finding.verdict, finding.text = ("FAILED", "; ".join(faults)) if faults else ("agrees", "")
    return finding


def row_of(finding):
    def shown(key):
        return "%.1e" % finding.errors[key] if key in finding.errors else "-"

    classes = "-" if not finding.network.argmax or not finding.rows else "same" if finding.classes else "DIFFER"
    cuda = "lacks " + node_of(finding.cuda) if finding.cuda else shown("cuda")
    return [finding.network.name, finding.network.origin, ", ".join(map(str, finding.rows)) or "-", shown(RANDOM), shown(REAL),
            classes, shown("avx2"), shown("bf16"), cuda, finding.verdict, finding.text[:160].replace("|", "/")]


HEAD = ["network", "from", "rows", "random", "real", "classes", "AVX2", "bf16", "CUDA", "verdict", "why"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", default=ROOT / "build" / "tests" / "run_network")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    avx2 = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"}
    chosen = [network for network in NETWORKS
              if not options.words or any(word.lower() in network.name.lower() for word in options.words)]
    findings = []
    module = (pathlib.Path(options.program).parent / "weir_cuda_sim.so").resolve()
    with NetworkProcess(options.program) as plain, NetworkProcess(options.program, environment=avx2) as narrow:
        roomy = {**os.environ, "CUDA_DOUBLE": "memory_mib=8192"}
        with NetworkProcess(options.program) as bf16, NetworkProcess(options.program, environment=roomy) as cuda:
            processes = {"fp32": plain, "avx2": narrow, "bf16": bf16}
            if module.exists():
                processes["cuda"] = cuda
                OPTIONS["cuda"] = ["by %s" % module]
            for network in chosen:
                finding = judge(network, processes)
                findings.append(finding)
                print("%s: %s %s %s" % (network.name, finding.verdict, finding.text,
                                        {key: "%.1e" % error for key, error in finding.errors.items()}), flush=True)
    rows = [HEAD, *map(row_of, findings)]
    print(measure.render(rows))
    failed = [finding for finding in findings if finding.verdict == "FAILED"]
    agreeing = [finding for finding in findings if finding.verdict == "agrees"]
    if not options.words:
        report = measure.Report("networks", "Real networks against ONNX Runtime %s" % onnxruntime.__version__,
                                "tests/networks/agree.py")
        foreign = [finding for finding in agreeing if finding.network.origin == "package"]
        report.add("networks from packages that agree", len(foreign), "", (">=", GOAL), 0)
        report.add("exports of PyTorch that agree", len([finding for finding in agreeing
                                                         if finding.network.origin == "torch"]), "", (">=", 7), 0)
        report.add("refused by name", len([finding for finding in findings if finding.verdict == "refused by name"]), "",
                   None, 0)
        report.add("failed", len(failed), "", ("==", 0), 0)
        worst = max((error for finding in agreeing for way, error in finding.errors.items() if way != "bf16"), default=0)
        report.add("greatest relative error, float32", worst, "", ("<", ERROR), 7)
        report.add("of them by the CUDA backend on the double", len([finding for finding in agreeing
                                                                      if "cuda" in finding.errors]), "", None, 0)
        report.add("refused by it for an operator that it lacks", len([finding for finding in agreeing if finding.cuda]), "",
                   None, 0)
        narrow = [finding.errors["bf16"] for finding in foreign if "bf16" in finding.errors]
        if narrow:
            report.add("networks from packages whose bfloat16 error is under %g, of %d" % (ERROR_BF16, len(narrow)),
                       len([error for error in narrow if error < ERROR_BF16]), "", (">=", LEAST), 0)
        report.tables.append(("Each network", rows))
        report.save(False)
        if options.write:
            measure.write_section(HERE / "README.md", "networks", report.section())
    print("%d passed, %d failed" % (len(findings) - len(failed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
