#!/usr/bin/env python3
"""Compares the engine with ONNX Runtime on small random graphs, each of several opsets, in batches of one and of seven rows.

usage: onnx_reference.py [RUN_NETWORK]    compare (build/tests/run_network); exit 1 if any output differs
       onnx_reference.py --write FOLDER   only write the models (the seeds of tests/fuzz/corpus/onnx come from here)
Runs in the virtual environment of tests/networks/environment.py.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "networks")]

import environment  # noqa: E402

environment.enter()

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from network_process import Crashed, NetworkProcess, Refused  # noqa: E402

ROWS = 7
TOLERANCE = 1e-5
OPSETS = (7, 9, 11, 12, 13, 17, 21)
IR_OF_OPSET = {7: 3, 9: 4, 11: 6, 12: 7, 13: 7, 17: 8, 21: 10}
CASES = []


def case(function):
    CASES.append(function)
    return function


class Graph:
    """Collects nodes and weights; `value` is the last result."""

    def __init__(self, opset, seed, width=(6,)):
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []
        self.width = width
        self.value = "x"
        self.count = 0

    def weight(self, *shape, dtype=np.float32, positive=False):
        values = self.random.uniform(0.5 if positive else -1, 1.5 if positive else 1, shape).astype(dtype)
        return self.constant(values)

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op, *inputs, **attributes):
        self.count += 1
        name = f"t{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        self.value = name
        return name

    def then(self, op, *inputs, **attributes):
        return self.add(op, self.value, *inputs, **attributes)

    def listed(self, op, values, attribute="axes"):
        """An operator whose list became an input with opset 13."""
        if self.opset >= 13:
            return self.then(op, self.constant(np.array(values, np.int64)))
        return self.then(op, **{attribute: values})

    def model(self, batch="N"):
        used = {name for node in self.nodes for name in node.input}
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *self.width])]
        outputs = [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)]
        weights = [weight for weight in self.weights if weight.name in used]
        if IR_OF_OPSET[self.opset] < 4:  # then initializers are inputs too
            inputs += [helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in weights]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=IR_OF_OPSET[self.opset])


@case
def mlp(g):
    for width, activation in ((17, "Relu"), (9, "Tanh"), (5, "Sigmoid")):
        inner = {17: 6, 9: 17, 5: 9}[width]
        g.then("Gemm", g.weight(inner, width), g.weight(width))
        g.then(activation)
    g.then("Softmax", axis=1)


@case
def gemm_attributes(g):
    g.then("Gemm", g.weight(5, 6), g.weight(1, 5), alpha=0.75, beta=1.5, transB=1)
    g.then("Gemm", g.weight(5, 4), g.weight(), alpha=-2.0)
    g.then("Gemm", g.weight(4, 3), g.weight(1), beta=0.25)


@case
def gemm_computed_c(g):
    first = g.then("Gemm", g.weight(6, 6), g.weight(6))
    g.add("Gemm", first, g.weight(6, 6), "x", beta=-0.5)


@case
def matmul_add(g):
    g.then("MatMul", g.weight(6, 8))
    g.add("Add", g.weight(8), g.value)
    g.then("LeakyRelu", alpha=0.3)
    g.then("MatMul", g.weight(8, 3))
    g.then("Sub", g.weight(1, 3))


@case
def matmul_of_rows(g):
    g.width = (3, 4)
    g.then("MatMul", g.weight(4, 5))
    g.then("Add", g.weight(5))
    g.then("Relu")
    g.then("Add", g.weight(3, 1))
    g.then("Mul", g.weight(3, 5))


@case
def matmul_vector(g):
    g.then("MatMul", g.weight(6))


@case
def arithmetic_sides(g):
    for op in ("Add", "Sub", "Mul", "Div"):
        g.then(op, g.weight(6, positive=True))
        g.add(op, g.weight(1, positive=True), g.value)
    g.add("Sub", g.value, "x")
    g.add("Mul", "x", g.value)


@case
def absorbed_constants(g):
    g.then("MatMul", g.weight(6, 4))
    g.then("Mul", g.weight(4))
    g.then("Add", g.weight(1))
    g.then("Div", g.weight(positive=True))
    g.add("Sub", g.weight(4), g.value)
    g.then("Tanh")


@case
def batch_normalization_after_dense(g):
    g.then("Gemm", g.weight(6, 5), g.weight(5))
    g.then("BatchNormalization", g.weight(5), g.weight(5), g.weight(5), g.weight(5, positive=True), epsilon=0.01)
    g.then("Relu")


@case
def batch_normalization_of_channels(g):
    g.width = (3, 4)
    g.then("BatchNormalization", g.weight(3), g.weight(3), g.weight(3), g.weight(3, positive=True))


@case
def clip(g):
    if g.opset < 11:
        g.then("Clip", min=-0.5, max=0.25)
    else:
        g.then("Clip", g.constant(np.float32(-0.5)), g.constant(np.float32(0.25)))
        g.then("Clip", "", g.constant(np.float32(0.125)))


@case
def clip_after_dense(g):
    g.then("Gemm", g.weight(6, 5), g.weight(5))
    if g.opset < 11:
        g.then("Clip", min=0.0, max=0.5)
    else:
        g.then("Clip", g.constant(np.float32(0)), g.constant(np.float32(0.5)))


@case
def softmax_axes(g):
    g.width = (3, 4)
    first = g.then("Softmax", axis=1)
    second = g.add("LogSoftmax", "x", axis=2)
    third = g.add("Softmax", "x")
    g.add("Add", first, second)
    g.then("Mul", third)


@case
def reshapes(g):
    g.width = (2, 6)
    g.then("Reshape", g.constant(np.array([0, 3, -1], np.int64)))
    g.then("Identity")
    g.listed("Unsqueeze", [2])
    g.listed("Squeeze", [2])
    g.then("Flatten")
    g.then("Reshape", g.constant(np.array([-1, 4, 3], np.int64)))
    g.then("MatMul", g.weight(3, 2))
    g.then("Flatten", axis=1)
    g.then("Dropout")


@case
def concat(g):
    left = g.then("Gemm", g.weight(6, 3), g.weight(3))
    right = g.add("Relu", "x")
    g.add("Concat", left, right, "x", axis=1)
    g.then("Gemm", g.weight(15, 4), g.weight(4))


@case
def residual(g):
    before = g.then("Gemm", g.weight(6, 6), g.weight(6))
    g.then("Relu")
    g.then("Gemm", g.weight(6, 6), g.weight(6))
    g.then("Add", before)
    g.then("Sigmoid")


@case
def half_weights(g):
    cast = g.add("Cast", g.weight(6, 5, dtype=np.float16), to=TensorProto.FLOAT)
    g.add("MatMul", "x", cast)


@case
def transposed_constant(g):
    turned = g.add("Transpose", g.weight(5, 6), perm=[1, 0])
    g.add("MatMul", "x", turned)
    g.then("Cast", to=TensorProto.FLOAT)


@case
def constant_nodes(g):
    weights = numpy_helper.from_array(g.random.uniform(-1, 1, (6, 4)).astype(np.float32))
    g.add("Constant", value=weights)
    same = g.then("Identity")
    g.add("MatMul", "x", same)
    bias = g.value
    if g.opset >= 12:
        g.add("Constant", value_floats=[0.5, -0.5, 0.25, 1.0])
        g.add("Add", bias, g.value)


@case
def wide(g):
    g.width = (130,)
    g.then("Gemm", g.weight(130, 70), g.weight(70))
    g.then("Relu")
    g.then("Gemm", g.weight(70, 33), g.weight(33))


def build(function, opset):
    graph = Graph(opset, CASES.index(function) * 100 + opset)
    function(graph)
    return graph, graph.model()


def compare(process, function, opset):
    """What is wrong, or None."""
    import onnxruntime

    graph, model = build(function, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    path = pathlib.Path(process.folder.name) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for rows in (1, ROWS):
        x = graph.random.normal(0, 1.5, (rows, *graph.width)).astype(np.float32)
        expected = session.run(None, {"x": x})[0]
        for way in ("backend", "oracle"):
            try:
                got = process.run(path, [x], "limit 60", "by %s" % way).outputs[0]
            except (Refused, Crashed) as fault:
                return "by %s: %s" % (way, fault)
            if got.shape != expected.shape:
                return "by %s: shape %s, not %s" % (way, got.shape, expected.shape)
            # Sums may cancel: the error is taken relative to the greatest output.
            error = np.max(np.abs(got - expected)) / max(1, np.max(np.abs(expected)))
            if not error <= TOLERANCE:
                return "by %s, %d rows: error %.3g" % (way, rows, error)
    return None


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        os.makedirs(sys.argv[2], exist_ok=True)
        for function in CASES:
            for opset in (7, 11, 13) if function.__name__ in ("clip", "softmax_axes", "reshapes") else (13,):
                with open(os.path.join(sys.argv[2], f"{function.__name__}-{opset}.onnx"), "wb") as file:
                    file.write(build(function, opset)[1].SerializeToString())
        return 0
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    program = sys.argv[1] if len(sys.argv) == 2 else HERE.parents[1] / "build" / "tests" / "run_network"
    good = bad = 0
    with NetworkProcess(program) as process:
        for function in CASES:
            for opset in OPSETS:
                fault = compare(process, function, opset)
                good, bad = good + (fault is None), bad + (fault is not None)
                if fault:
                    print(f"{function.__name__}, opset {opset}: {fault}")
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
