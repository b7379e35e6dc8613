"""The models that the tests serve, and what they answer."""

import atexit
import functools
import os
import pathlib
import shutil
import tempfile

import numpy

import onnx_writer as onnx

WEIGHTS = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1]


@functools.lru_cache(maxsize=None)
def _folder():
    folder = tempfile.mkdtemp(prefix="weir-models-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def write(path, data):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def demo_bytes(version=1, batch="N"):
    """x [N,4] -> y [N,3]: y = x W + b; the third output of a zero row is version + 0.5."""
    return onnx.model(
        [onnx.node("Gemm", ["x", "W", "b"], ["y"], "fc")],
        [
            onnx.tensor("W", [4, 3], onnx.floats(WEIGHTS)),
            onnx.tensor("b", [3], onnx.floats([0, 0, version + 0.5])),
        ],
        [onnx.value("x", [batch, 4])],
        [onnx.value("y", [batch, 3])],
    )


def demo_answer(row, version=1):
    return [row[0] + row[3], row[1] + row[3], row[2] + row[3] + version + 0.5]


def demo():
    """A model directory "demo" with version 1."""
    folder = os.path.join(_folder(), "demo")
    if not os.path.exists(folder):
        write(os.path.join(folder, "1", "model.onnx"), demo_bytes(1))
    return folder


WIDE_INPUTS, WIDE_HIDDEN, WIDE_OUTPUTS = 64, 4096, 10


def wide():
    """A model directory "wide": 64-4096-4096-10 with random weights, so that a batch takes real time (68 MB, 35 MFLOP
    a row)."""
    folder = os.path.join(_folder(), "wide")
    if os.path.exists(folder):
        return folder
    random = numpy.random.default_rng(1)
    sizes = [WIDE_INPUTS, WIDE_HIDDEN, WIDE_HIDDEN, WIDE_OUTPUTS]
    nodes, tensors, name = [], [], "x"
    for index, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), start=1):
        weights = random.standard_normal((inputs, outputs), dtype=numpy.float32) / numpy.float32(numpy.sqrt(inputs))
        tensors.append(onnx.tensor("w%d" % index, weights.shape, weights.tobytes()))
        last = index == len(sizes) - 1
        sums = "y" if last else "s%d" % index
        nodes.append(onnx.node("MatMul", [name, "w%d" % index], [sums], "mm%d" % index))
        if not last:
            name = "h%d" % index
            nodes.append(onnx.node("Relu", [sums], [name], "relu%d" % index))
    data = onnx.model(nodes, tensors, [onnx.value("x", ["N", WIDE_INPUTS])], [onnx.value("y", ["N", WIDE_OUTPUTS])])
    write(os.path.join(folder, "1", "model.onnx"), data)
    return folder


def wide_rows(count):
    """A raw float32 body of that many rows."""
    return numpy.full((count, WIDE_INPUTS), 0.5, dtype="<f4").tobytes()


def slow_demo():
    """A model directory "demo" that answers as demo() does, but by way of two layers of 4,096 columns: the first four
    columns carry the row, the others are random and end in zeros."""
    folder = os.path.join(_folder(), "slow", "demo")
    if os.path.exists(folder):
        return folder
    random = numpy.random.default_rng(2)

    def carry(rows, columns):
        weights = random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(64)
        weights[:, :4] = 0
        weights[:4, :4] = numpy.eye(4)
        return weights

    last = numpy.zeros((WIDE_HIDDEN, 3), dtype=numpy.float32)
    last[:4] = numpy.array(WEIGHTS, dtype=numpy.float32).reshape(4, 3)
    layers = [carry(4, WIDE_HIDDEN), carry(WIDE_HIDDEN, WIDE_HIDDEN), last]
    data = onnx.model(
        [
            onnx.node("MatMul", ["x", "w1"], ["a"], "mm1"),
            onnx.node("MatMul", ["a", "w2"], ["c"], "mm2"),
            onnx.node("Gemm", ["c", "w3", "b"], ["y"], "fc"),
        ],
        [onnx.tensor("w%d" % number, weights.shape, weights.tobytes()) for number, weights in enumerate(layers, 1)]
        + [onnx.tensor("b", [3], onnx.floats([0, 0, 1.5]))],
        [onnx.value("x", ["N", 4])],
        [onnx.value("y", ["N", 3])],
    )
    write(os.path.join(folder, "1", "model.onnx"), data)
    return folder


VOCABULARY, DIMENSIONS = 50, 4


def text_table():
    return numpy.random.default_rng(3).standard_normal((VOCABULARY, DIMENSIONS), dtype=numpy.float32)


def text():
    """A model directory "text": int64 input_ids and attention_mask [N,S] of any length S; outputs pooled [N,4] (the mean of
    the embeddings that the mask keeps), tokens [N,S,4] (those embeddings) and best [N] (int64, the largest of pooled)."""
    folder = os.path.join(_folder(), "text")
    if os.path.exists(folder):
        return folder
    sequence = ["N", "S"]
    data = onnx.model(
        [
            onnx.node("Gather", ["table", "input_ids"], ["embedded"], "embed", axis=0),
            onnx.node("Cast", ["attention_mask"], ["mask"], "cast", to=onnx.FLOAT),
            onnx.node("Unsqueeze", ["mask", "last"], ["column"], "unsqueeze"),
            onnx.node("Mul", ["embedded", "column"], ["tokens"], "keep"),
            onnx.node("ReduceSum", ["tokens", "middle"], ["sum"], "sum", keepdims=0),
            onnx.node("ReduceSum", ["column", "middle"], ["count"], "count", keepdims=0),
            onnx.node("Div", ["sum", "count"], ["pooled"], "mean"),
            onnx.node("ArgMax", ["pooled"], ["best"], "best", axis=1, keepdims=0),
        ],
        [
            onnx.tensor("table", [VOCABULARY, DIMENSIONS], text_table().tobytes()),
            onnx.tensor("last", [1], onnx.int64s([2]), onnx.INT64),
            onnx.tensor("middle", [1], onnx.int64s([1]), onnx.INT64),
        ],
        [onnx.value("input_ids", sequence, onnx.INT64), onnx.value("attention_mask", sequence, onnx.INT64)],
        [
            onnx.value("pooled", ["N", DIMENSIONS]),
            onnx.value("tokens", ["N", "S", DIMENSIONS]),
            onnx.value("best", ["N"], onnx.INT64),
        ],
    )
    write(os.path.join(folder, "1", "model.onnx"), data)
    return folder


def text_answer(ids, mask):
    """What text() answers to one row."""
    tokens = text_table()[ids] * numpy.array(mask, dtype=numpy.float32)[:, None]
    pooled = tokens.sum(axis=0) / numpy.float32(sum(mask))
    return {"pooled": pooled.tolist(), "tokens": tokens.tolist(), "best": int(pooled.argmax())}
