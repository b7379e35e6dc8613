#!/usr/bin/python3
"""usage: onnx_operators.py [--program build/tests/run_network] [--write] [--quiet] [--verbose] [WORD...]

Runs the ONNX project's own test data (Debian's libonnx-testdata, read by python3-onnx) through the engine: 932 cases of one
operator, 117 exported layers and the simple models; by the CPU backend and by the oracle's kernels. A case has passed if
both give what the data say, is not supported if the engine says so for a reason that is known here, and has failed
otherwise. Writes build/results/onnx_operators.json, with --write also ONNX.md beside this file. With words: only the cases
whose names hold one of them, and nothing is written.
"""

import argparse
import collections
import pathlib
import re
import sys

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "loadtest")]

import measure  # noqa: E402
from network_process import Bits, Crashed, NetworkProcess, Refused, as_bits, bits_to_float  # noqa: E402

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
GROUPS = ("node", "pytorch-converted", "pytorch-operator", "simple")
RELATIVE, ABSOLUTE = 1e-3, 1e-7  # as the ONNX project's runner compares
RELATIVE_BFLOAT16 = 2.0**-7  # one step: the data were cut off where the engine rounds
LEAST_PASSED = 500
WHOLE = {"Range", "ConstantOfShape"}  # what they give depends on all their inputs
COMPUTED = r"computed from the input's numbers"
WAYS = ("backend", "oracle")

# The operators that have to work. Of their cases, only those may be unsupported that REASONS explains.
LISTED = set("""
Gemm MatMul Conv ConvTranspose MaxPool AveragePool GlobalAveragePool GlobalMaxPool BatchNormalization LayerNormalization
InstanceNormalization Relu LeakyRelu PRelu Elu Selu Sigmoid HardSigmoid HardSwish Tanh Softplus Gelu Erf Clip Softmax
LogSoftmax Add Sub Mul Div Pow Sqrt Reciprocal Exp Log Neg Abs Floor Ceil Round Sin Cos Min Max Where Equal Greater
GreaterOrEqual Less LessOrEqual Not And Or Cast Reshape Flatten Transpose Squeeze Unsqueeze Concat Split Slice Gather
GatherElements Expand Tile Pad Resize ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ArgMax ArgMin TopK Shape Size
ConstantOfShape Range Identity Dropout Constant CumSum Mod IsNaN Einsum QuantizeLinear DequantizeLinear
DynamicQuantizeLinear QLinearMatMul QLinearConv MatMulInteger LSTM GRU If
""".split())

# Data that contradict the operator's definition, and what the definition gives: here the size of the result went into the
# data's formula before it was rounded down. ONNX Runtime gives these numbers, too.
CORRECTED = {
    "test_resize_downsample_scales_linear_align_corners": [[[[1, 4]]]],
    "test_resize_downsample_scales_cubic_align_corners": [[[[1, 2.5, 4], [7, 8.5, 10], [13, 14.5, 16]]]],
}

# (what the refusal says, the reason in words)
REASONS = (
    (r"\bstrings?\b", "strings"),
    (r"\bu?int16\b", "16-bit integers"),
    (r"\buint(32|64)\b", "unsigned 32- and 64-bit integers"),
    (r"\bcomplex", "complex numbers"),
    (r"training[_ ]mode", "training mode"),
    (r"\ba sequence\b|\bsequence of\b|\ba map\b|\boptional\b", "sequences and optional values"),
    (COMPUTED, "its size is computed from the input"),
    (r"its condition is computed when the model runs", "a condition that is computed from the input"),
    (r"opset [1-6] of ai\.onnx", "opset below 7"),
    (r"ONNX type (4|5)\b", "16-bit integers"),
    (r"ONNX type (12|13)\b", "unsigned 32- and 64-bit integers"),
    (r"ONNX type 0\b", "sequences and optional values"),
    (r"has no inputs", "no inputs"),
)


def reason_in_words(text):
    for pattern, words in REASONS:
        if re.search(pattern, text, re.IGNORECASE):
            return words
    return None


class Case:
    """One model with its inputs and expected outputs."""

    def __init__(self, group, folder):
        self.group, self.folder, self.name = group, folder, folder.name
        self.model = onnx.load(folder / "model.onnx")
        self.operators = sorted(set(walk(self.model.graph)))
        self.data = folder / "test_data_set_0"

    def operator(self):
        """Whose line of the table it belongs to."""
        if self.group != "node":
            return "(%s)" % self.group
        plain = self.folder.with_name(re.sub(r"_expanded(_ver\d+)?$", "", self.name)) / "model.onnx"
        graph = onnx.load(plain).graph if plain.exists() else self.model.graph
        return next((node.op_type for node in graph.node if node.op_type != "Constant"), "Constant")

    def is_listed(self):
        return all(operator in LISTED for operator in self.operators)

    def tensors(self, kind, values):
        """Arrays of input_N.pb or output_N.pb; raises ValueError for what is no tensor that the engine knows."""
        arrays = []
        for index, value in enumerate(values):
            if value.type.WhichOneof("value") != "tensor_type":
                raise ValueError("'%s' is no tensor" % value.name)
            tensor = onnx.TensorProto()
            tensor.ParseFromString((self.data / ("%s_%d.pb" % (kind, index))).read_bytes())
            if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
                tensor.data_type = onnx.TensorProto.BFLOAT16  # the data call its bits uint16
            arrays.append(as_declared(array_of(tensor), value))
        return arrays

    def ports(self):
        """The inputs that are not constants."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return [value for value in self.model.graph.input if value.name not in constants]

    def inputs(self):
        return self.tensors("input", self.ports())

    def with_constants(self, arrays, path):
        """Writes the model with its inputs but the first as constants (all of them, if that is an integer and the only
        kind); returns the inputs that are left. An operator whose shape or axis is an input of the model shows so what it
        does."""
        kept = 1 if len(arrays) > 1 and arrays[0].dtype.kind == "f" and self.operator() != "Range" else 0
        if any(operator in WHOLE for operator in self.operators):
            kept = 0
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for value, array in list(zip(self.ports(), arrays))[kept:]:
            model.graph.input.remove(value)
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
        if not kept:  # a model needs an input
            model.graph.input.append(onnx.helper.make_tensor_value_info("unused", onnx.TensorProto.FLOAT, [1]))
        path.write_bytes(model.SerializeToString())
        return arrays[:kept] or [numpy.zeros(1, numpy.float32)]

    def expected(self):
        if self.name in CORRECTED:
            return [numpy.array(CORRECTED[self.name], numpy.float32)]
        return self.tensors("output", self.model.graph.output)


def cases(words):
    """All of them, or those whose names hold one of the words."""
    if not DATA.is_dir():
        sys.exit("%s is missing: install libonnx-testdata" % DATA)
    for group in GROUPS:
        for folder in sorted((DATA / group).iterdir()):
            if not words or any(word in folder.name for word in words):
                yield Case(group, folder)


def walk(graph):
    for node in graph.node:
        yield node.op_type if node.domain in ("", "ai.onnx") else "%s.%s" % (node.domain, node.op_type)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from walk(attribute.g)


def as_declared(array, value):
    """CastLike's cases hand in one element where they declare more: of that input only the type matters."""
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in value.type.tensor_type.shape.dim]
    if value.name == "like" and None not in dims and array.shape != tuple(dims):
        return as_bits(numpy.resize(array, dims)) if isinstance(array, Bits) else numpy.resize(array, dims)
    return array


def array_of(tensor):
    if tensor.data_type == onnx.TensorProto.BFLOAT16:
        bits = numpy.frombuffer(tensor.raw_data, numpy.uint16) if tensor.raw_data else numpy.array(tensor.int32_data)
        return as_bits(bits.reshape(tuple(tensor.dims)))
    array = onnx.numpy_helper.to_array(tensor)
    if array.dtype.kind not in "fiub" or array.dtype.name in ("uint16", "uint32", "uint64", "int16"):
        raise ValueError("'%s' is of type %s" % (tensor.name, array.dtype.name))
    return array


def difference(got, expected):
    """What is wrong, or None."""
    if len(got) != len(expected):
        return "%d outputs, not %d" % (len(got), len(expected))
    for index, (one, other) in enumerate(zip(got, expected)):
        if isinstance(one, Bits) != isinstance(other, Bits) or one.dtype != other.dtype:
            return "output %d is %s, not %s" % (index, one.dtype, other.dtype)
        if one.shape != other.shape:
            return "output %d is %s, not %s" % (index, list(one.shape), list(other.shape))
        relative = RELATIVE
        if one.dtype == numpy.float64:  # runs as float32; some data hold numbers beyond that
            with numpy.errstate(over="ignore"):
                other = other.astype(numpy.float32)
        if isinstance(one, Bits):
            one, other, relative = bits_to_float(one), bits_to_float(other), RELATIVE_BFLOAT16
        try:
            numpy.testing.assert_allclose(one, other, relative, ABSOLUTE)
        except AssertionError as error:
            return "output %d: %s" % (index, " ".join(str(error).split())[:300])
    return None


def judge(case, process):
    """("passed" | "constants" | "unsupported" | "failed", reason). constants: passed once the inputs that say shapes and axes
    were constants."""
    verdict, reason = attempt(case, process, False)
    if verdict == "unsupported" and re.search(COMPUTED, reason):
        other, fault = attempt(case, process, True)
        if other == "passed":
            return "constants", reason
        if other == "failed":
            return "failed", "with constants: %s" % fault
        return verdict, fault
    return verdict, reason


def attempt(case, process, with_constants):
    model = case.folder / "model.onnx"
    try:
        inputs, expected = case.inputs(), case.expected()
    except ValueError as error:
        inputs, strange = None, str(error)
    if with_constants:
        model = pathlib.Path(process.folder.name) / "model.onnx"
        inputs = case.with_constants(inputs, model)
    for way in WAYS:
        try:
            if inputs is None:
                process.signature(model)
                return "failed", "loaded, though %s" % strange
            got = process.run(model, inputs, "limit 60", "by %s" % way).outputs
        except Refused as refused:
            if refused.status != "not supported":
                return "failed", "by %s: %s" % (way, refused)
            if case.is_listed() and not reason_in_words(refused.text):
                return "failed", "by %s: refused without a known reason: %s" % (way, refused.text)
            return "unsupported", refused.text
        except Crashed as crash:
            return "failed", "by %s: %s" % (way, crash)
        fault = difference(got, expected)
        if fault:
            return "failed", "by %s: %s" % (way, fault)
    return "passed", ""


def short_reason(case, text):
    """For the table."""
    words = reason_in_words(text)
    if words:
        return words
    if any("Sequence" in operator for operator in case.operators):
        return "sequences and optional values"
    text = re.sub(r"^.*?model\.onnx: ", "", text)
    lacking = sorted(set(case.operators) - LISTED)
    if re.search(r"unknown operator|not supported|no such operator", text) and lacking:
        return "the operator" if case.group == "node" else "operators: " + ", ".join(lacking)
    return re.sub(r"^node \d+ .*?\): ", "", text)


def page(rows, totals, version):
    lines = [
        "# The ONNX project's own test cases",
        "",
        "Written by `tests/conformance/onnx_operators.py --write`, which `./dev test` runs: every case of Debian's",
        "libonnx-testdata %s by the CPU backend and again by the oracle's kernels. Tolerances are those of" % version,
        "the ONNX project's runner (relative %g, absolute %g); types and shapes are exact." % (RELATIVE, ABSOLUTE),
        "",
        "%(all)d cases: %(passed)d passed, %(constants)d passed with constants, %(unsupported)d not supported, %(failed)d"
        " failed." % totals,
        "",
        "With constants: the model hands a shape, an axis or the like in as an input, which the engine refuses, since it plans",
        "for sizes that it knows; with these inputs as constants the case passes. Listed: the operator is one of those that have",
        "to work.",
        "",
        measure.render(rows),
        "",
    ]
    return "\n".join(lines)


def table(results):
    by_operator = collections.defaultdict(list)
    for case, verdict, reason in results:
        by_operator[case.operator()].append((case, verdict, reason))
    rows = [["operator", "listed", "passed", "with constants", "not supported", "failed", "reasons"]]
    for operator in sorted(by_operator, key=lambda name: (name.startswith("("), name)):
        entries = by_operator[operator]
        count = collections.Counter(verdict for _, verdict, _ in entries)
        reasons = collections.Counter(short_reason(case, reason) for case, verdict, reason in entries
                                      if verdict == "unsupported")
        text = "; ".join("%s (%d)" % item if len(entries) > 1 else item[0] for item in sorted(reasons.items()))
        listed = "" if operator.startswith("(") else "yes" if operator in LISTED else "no"
        rows.append([operator, listed, count["passed"], count["constants"], count["unsupported"], count["failed"], text])
    return rows


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", default=ROOT / "build" / "tests" / "run_network")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="write no results")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    results = []
    with NetworkProcess(options.program) as process:
        for case in cases(options.words):
            verdict, reason = judge(case, process)
            results.append((case, verdict, reason))
            if verdict == "failed" or options.verbose:
                print("%s %s/%s [%s]: %s" % (verdict, case.group, case.name, ", ".join(case.operators), reason), flush=True)
    count = collections.Counter(verdict for _, verdict, _ in results)
    rows = table(results)
    totals = {"all": len(results), **{verdict: count[verdict] for verdict in ("passed", "constants", "unsupported", "failed")}}
    print(measure.render(rows))
    missed = []
    if not options.words and not options.quiet:
        report = measure.Report("onnx_operators", "The ONNX project's own test cases",
                                "tests/conformance/onnx_operators.py")
        report.add("cases that failed", totals["failed"], "", ("==", 0), 0)
        report.add("cases that passed", totals["passed"], "", (">=", LEAST_PASSED), 0)
        report.add("cases that passed with their shapes and axes as constants", totals["constants"], "", None, 0)
        report.add("cases that are not supported", totals["unsupported"], "", None, 0)
        report.add("of listed operators: passed", len([1 for case, verdict, _ in results
                                                       if verdict == "passed" and case.is_listed()]), "", None, 0)
        report.add("of listed operators: refused for type or mode",
                   len([1 for case, verdict, _ in results if verdict == "unsupported" and case.is_listed()]), "", None, 0)
        report.tables.append(("By operator", rows))
        report.save(False, {"cases": [{"case": "%s/%s" % (case.group, case.name), "verdict": verdict, "reason": reason}
                                      for case, verdict, reason in results]})
        missed = report.missed()
        if options.write:
            (HERE / "ONNX.md").write_text(page(rows, totals, onnx.__version__), encoding="utf-8")
    for text in missed:
        print("MISSED: %s" % text)
    print("%d passed, %d failed" % (totals["passed"] + totals["constants"], totals["failed"] + (not totals["failed"] and len(missed))))
    return 1 if totals["failed"] or missed else 0


if __name__ == "__main__":
    sys.exit(main())
