#!/usr/bin/python3
"""usage: mutated_models.py FOLDER

Writes broken model files, the same ones each time: FOLDER/NAME/model.onnx. Some are examples with bits turned over, cut off
or pieced together (a fixed seed); the others are well formed and say something impossible, each one thing.
"""

import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import onnx_writer as onnx  # noqa: E402

SEED = 20
FLIPS, CUTS, PIECES = 80, 25, 25
HUGE = (1 << 62, (1 << 63) - 1, 1 << 31, 1 << 40)
INT32, BOOL = 6, 9
X, Y = [onnx.value("x", ["N", 4])], [onnx.value("y", ["N", 4])]
IMAGE = [onnx.value("x", ["N", 2, 8, 8])]
SCORES = [onnx.value("y", ["N", "A", "B", "C"])]


def examples():
    """Good models, small ones."""
    found = [path.read_bytes() for path in sorted((HERE / "corpus" / "onnx").glob("*.onnx"))]
    return [data for data in found if len(data) < 40000]


# ---------------------------------------------------------------- by chance


def flipped(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8, 32))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def cut(data, chance):
    return data[:chance.randrange(1, len(data))]


def pieced(data, other, chance):
    """A piece of one file inside another; or one of its own pieces twice, or left out."""
    at, size = chance.randrange(len(data)), chance.randrange(1, 64)
    way = chance.randrange(3)
    if way == 0:
        start = chance.randrange(len(other))
        return data[:at] + other[start:start + size] + data[at:]
    return data[:at] + (data[at:at + size] * 2 if way == 1 else b"") + data[at + size:]


def by_chance():
    chance, good = random.Random(SEED), examples()
    for number in range(FLIPS):
        yield "flipped-%02d" % number, flipped(chance.choice(good), chance)
    for number in range(CUTS):
        yield "cut-%02d" % number, cut(chance.choice(good), chance)
    for number in range(PIECES):
        yield "pieced-%02d" % number, pieced(chance.choice(good), chance.choice(good), chance)


# ---------------------------------------------------------------- one lie each


def one(operator, *more, inputs=X, outputs=Y, constants=(), opset=13, **attributes):
    """A model of one node from x to y; `more` are the names of further inputs."""
    node = onnx.node(operator, ["x", *more], ["y"], "lie", **attributes)
    return onnx.model([node], list(constants), inputs, outputs, opset=opset)


def numbers(name, values, dims=None):
    values = list(values)
    return onnx.tensor(name, [len(values)] if dims is None else dims, onnx.int64s(values), onnx.INT64)


def weights(name, *dims):
    count = 1
    for dim in dims:
        count *= dim
    return onnx.tensor(name, list(dims), onnx.floats([0.5] * count))


def wrong_tensors():
    dense = ["Gemm", "W"]
    yield "elements-missing", one(*dense, constants=[onnx.tensor("W", [4, 4], onnx.floats([1] * 15))])
    yield "elements-left-over", one(*dense, constants=[onnx.tensor("W", [4, 4], onnx.floats([1] * 17))])
    yield "bytes-odd", one(*dense, constants=[onnx.tensor("W", [4, 4], b"\0" * 63)])
    yield "dimension-negative", one(*dense, constants=[onnx.tensor("W", [-4, -4], onnx.floats([1] * 16))])
    for number, size in enumerate(HUGE):
        yield "dimension-huge-%d" % number, one(*dense, constants=[onnx.tensor("W", [size, size], b"\0" * 64)])
    yield "dimensions-overflow", one(*dense, constants=[onnx.tensor("W", [1 << 32, 1 << 32, 4, 4], b"")])
    yield "rank-sixty", one(*dense, constants=[onnx.tensor("W", [1] * 60, onnx.floats([1]))])
    for dtype in (0, 8, 14, 15, 17, 23, 99, -1):
        yield "type-%d" % dtype, one(*dense, constants=[onnx.tensor("W", [4, 4], b"\0" * 64, dtype)])
    yield "name-missing", one(*dense, constants=[onnx.tensor("", [4, 4], b"\0" * 64)])
    yield "same-name-twice", one(*dense, constants=[weights("W", 4, 4), weights("W", 4, 4)])
    yield "input-is-huge", one("Relu", inputs=[onnx.value("x", ["N", 1 << 40])])
    yield "input-has-no-type", one("Relu", inputs=[onnx.bytes_field(1, "x")])
    yield "input-of-strings", one("Relu", inputs=[onnx.value("x", ["N", 4], 8)])
    yield "input-rank-nine", one("Relu", inputs=[onnx.value("x", ["N"] + [1] * 8)])
    yield "output-type-wrong", one("Relu", outputs=[onnx.value("y", ["N", 4], onnx.INT64)])
    yield "output-shape-wrong", one("Relu", outputs=[onnx.value("y", ["N", 5])])
    for place in ("../../../etc/passwd", "/etc/passwd", "..", "", "a\0b", "x" * 5000, "/dev/zero", "/proc/self/mem"):
        yield "outside-%d" % (len(place) * 7 % 97), one(*dense, constants=[onnx.tensor_external("W", [4, 4], place)])
    for offset, length in ((-1, 64), (1 << 62, 64), (0, -5), (0, 1 << 62)):
        tensor = onnx.tensor_external("W", [4, 4], "model.onnx", offset, length)
        yield "outside-offset-%d" % (offset % 89 + length % 83), one(*dense, constants=[tensor])


def wrong_graphs():
    relu = onnx.node("Relu", ["x"], ["y"], "r")
    yield "empty", b""
    yield "no-graph", onnx.int_field(1, 8)
    yield "no-nodes", onnx.model([], [], X, Y)
    yield "no-outputs", onnx.model([relu], [], X, [])
    yield "no-inputs", onnx.model([relu], [], [], Y)
    yield "cyclic", onnx.model([onnx.node("Add", ["x", "b"], ["a"], "one"), onnx.node("Relu", ["a"], ["b"], "two"),
                                onnx.node("Relu", ["b"], ["y"], "three")], [], X, Y)
    yield "of-itself", onnx.model([onnx.node("Add", ["x", "y"], ["y"], "one")], [], X, Y)
    yield "not-in-order", onnx.model([onnx.node("Relu", ["a"], ["y"], "two"), onnx.node("Relu", ["x"], ["a"], "one")], [],
                                     X, Y)
    yield "made-twice", onnx.model([relu, onnx.node("Tanh", ["x"], ["y"], "t")], [], X, Y)
    yield "input-made", onnx.model([onnx.node("Relu", ["y"], ["x"], "r")], [], X, Y)
    yield "undefined", onnx.model([onnx.node("Add", ["x", "nowhere"], ["y"], "sum")], [], X, Y)
    yield "output-undefined", onnx.model([relu], [], X, [onnx.value("elsewhere", ["N", 4])])
    yield "output-named-nothing", onnx.model([relu], [], X, [onnx.value("", ["N", 4])])
    yield "node-without-operator", onnx.model([onnx.node("", ["x"], ["y"], "r")], [], X, Y)
    yield "node-without-outputs", onnx.model([onnx.node("Relu", ["x"], [], "r")], [], X, Y)
    yield "node-without-inputs", onnx.model([onnx.node("Relu", [], ["y"], "r")], [], X, Y)
    yield "node-with-many-inputs", onnx.model([onnx.node("Concat", ["x"] * 3000, ["y"], "c", axis=1)], [], X, Y)
    yield "operator-long", onnx.model([onnx.node("R" * 100000, ["x"], ["y"], "r")], [], X, Y)
    yield "name-long", onnx.model([onnx.node("Relu", ["x" * 100000], ["y"], "r")], [], X, Y)
    yield "name-not-utf8", onnx.model([onnx.node("Relu", ["x"], ["y"], "r"), onnx.bytes_field(3, b"\xff\xfe\x80")
                                       + onnx.node("Mystery", ["y"], ["z"])], [], X, [onnx.value("z", ["N", 4])])
    many = [onnx.node("Relu", ["x" if n == 0 else "t%d" % n], ["t%d" % (n + 1)], "") for n in range(30000)]
    yield "nodes-many", onnx.model(many, [], X, [onnx.value("t30000", ["N", 4])])
    yield "attributes-many", onnx.model([onnx.node("Relu", ["x"], ["y"], "r", **{"a%d" % n: n for n in range(5000)})], [],
                                        X, Y)
    for opset in (0, -1, 1, 99, (1 << 63) - 1):
        yield "opset-%d" % (opset % 1000), onnx.model([relu], [], X, Y, opset=opset)
    yield "opset-absent", onnx.int_field(1, 8) + onnx.bytes_field(7, onnx.bytes_field(1, relu))
    yield "domain-unknown", onnx.model([onnx.node("Relu", ["x"], ["y"], "r", "com.example")], [], X, Y)


def branch(depth):
    """An If inside an If, and so on."""
    body = onnx.bytes_field(1, onnx.node("Identity", ["x"], ["y0"], "deepest")) + onnx.bytes_field(
        12, onnx.value("y0", ["N", 4]))
    for level in range(1, depth + 1):
        node = onnx.node("If", ["c"], ["y%d" % level], "if%d" % level)
        for name in ("then_branch", "else_branch"):
            node += onnx.bytes_field(5, onnx.bytes_field(1, name) + onnx.bytes_field(6, body if name[0] == "t" else b"")
                                     + onnx.int_field(20, 5))
        body = onnx.bytes_field(1, node) + onnx.bytes_field(12, onnx.value("y%d" % level, ["N", 4]))
    return body


def nested(depth):
    condition = onnx.tensor("c", [], b"\1", BOOL)
    graph = branch(depth) + onnx.bytes_field(5, condition) + onnx.bytes_field(11, X[0])
    return onnx.int_field(1, 8) + onnx.bytes_field(7, graph) + onnx.bytes_field(8, onnx.int_field(2, 13))


def wrong_nesting():
    for depth in (17, 200, 3000):
        yield "nested-%d" % depth, nested(depth)
    yield "groups", onnx.int_field(1, 8) + b"\x7b" * 50000  # an unknown field that begins a group, over and over
    data = b""
    for _ in range(2000):
        data = onnx.bytes_field(7, data)
    yield "graphs-in-graphs", data
    yield "number-of-eleven-bytes", b"\x08" + b"\xff" * 11
    yield "length-beyond-the-end", b"\x3a\xff\xff\xff\xff\x0f"
    yield "length-of-64-bits", b"\x3a" + b"\xff" * 9 + b"\x01"
    yield "field-zero", b"\x02\x00" + onnx.model([onnx.node("Relu", ["x"], ["y"], "r")], [], X, Y)


def wrong_moves():
    """Shapes, axes and sizes that do not fit, or would fill the memory."""
    yield "reshape-huge", one("Reshape", "s", constants=[numbers("s", [1 << 40, 1 << 40])])
    yield "reshape-two-open", one("Reshape", "s", constants=[numbers("s", [-1, -1])])
    yield "reshape-below", one("Reshape", "s", constants=[numbers("s", [-2, 4])])
    yield "reshape-by-floats", one("Reshape", "s", constants=[onnx.tensor("s", [2], onnx.floats([0, 4]))])
    yield "expand-huge", one("Expand", "s", constants=[numbers("s", [1 << 20, 1 << 20, 4])])
    yield "tile-huge", one("Tile", "s", constants=[numbers("s", [1 << 30, 1 << 30])])
    yield "tile-negative", one("Tile", "s", constants=[numbers("s", [1, -3])])
    yield "pad-huge", one("Pad", "s", constants=[numbers("s", [0, 1 << 40, 0, 1 << 40])])
    yield "pad-cuts-all", one("Pad", "s", constants=[numbers("s", [0, -100, 0, -100])])
    yield "range-huge", onnx.model(
        [onnx.node("Range", ["a", "b", "a"], ["r"], "lie"), onnx.node("Add", ["x", "r"], ["y"], "sum")],
        [numbers("a", [1], []), numbers("b", [1 << 62], [])], X, Y)
    yield "range-of-step-zero", onnx.model(
        [onnx.node("Range", ["a", "b", "a"], ["r"], "lie"), onnx.node("Add", ["x", "r"], ["y"], "sum")],
        [numbers("a", [0], []), numbers("b", [5], [])], X, Y)
    yield "constant-of-huge-shape", onnx.model(
        [onnx.node("ConstantOfShape", ["s"], ["r"], "lie"), onnx.node("Add", ["x", "r"], ["y"], "sum")],
        [numbers("s", [1 << 20, 1 << 20])], X, Y)
    yield "gather-outside", one("Gather", "i", constants=[numbers("i", [99])], axis=1)
    yield "gather-outside-of-constant", onnx.model(
        [onnx.node("Gather", ["W", "i"], ["r"], "lie"), onnx.node("Add", ["x", "r"], ["y"], "sum")],
        [weights("W", 4), numbers("i", [-1 << 40])], X, Y)
    yield "gather-axis-outside", one("Gather", "i", constants=[numbers("i", [0])], axis=77)
    yield "slice-step-zero", one("Slice", "a", "b", "c", "d", constants=[
        numbers("a", [0]), numbers("b", [2]), numbers("c", [1]), numbers("d", [0])])
    yield "slice-step-least", one("Slice", "a", "b", "c", "d", constants=[
        numbers("a", [3]), numbers("b", [-1 << 63]), numbers("c", [1]), numbers("d", [-1 << 63])])
    yield "transpose-twice-the-same", one("Transpose", perm=[0, 0])
    yield "transpose-outside", one("Transpose", perm=[0, 7])
    yield "concat-axis-outside", one("Concat", "x", axis=9)
    yield "split-does-not-fit", onnx.model([onnx.node("Split", ["x", "s"], ["y", "z"], "lie", axis=1)],
                                           [numbers("s", [3, 3])], X, Y)
    yield "split-negative", onnx.model([onnx.node("Split", ["x", "s"], ["y", "z"], "lie", axis=1)],
                                       [numbers("s", [-1, 5])], X, Y)
    yield "squeeze-of-four", one("Squeeze", "s", constants=[numbers("s", [1])])
    yield "unsqueeze-outside", one("Unsqueeze", "s", constants=[numbers("s", [50])])
    yield "topk-too-many", one("TopK", "k", constants=[numbers("k", [5000])])
    yield "topk-negative", one("TopK", "k", constants=[numbers("k", [-1])])
    yield "cast-to-nothing", one("Cast", to=0)
    yield "cast-to-strings", one("Cast", to=8)
    yield "softmax-axis-outside", one("Softmax", axis=-12)
    yield "scatter-outside", one("ScatterElements", "i", "u", constants=[
        numbers("i", [1 << 40], [1, 1]), onnx.tensor("u", [1, 1], onnx.floats([1]))], axis=1)
    yield "one-hot-huge", onnx.model([onnx.node("OneHot", ["i", "d", "v"], ["r"], "lie"),
                                      onnx.node("Add", ["x", "r"], ["y"], "sum")],
                                     [numbers("i", [1]), numbers("d", [1 << 50], []),
                                      onnx.tensor("v", [2], onnx.floats([0, 1]))], X, Y)


def wrong_arithmetic():
    """Operators on shapes and attributes that they do not take."""
    image = {"inputs": IMAGE, "outputs": SCORES}
    for number, attributes in enumerate((
            {"strides": [0, 0]}, {"strides": [-1, 1]}, {"dilations": [0, 1]}, {"dilations": [1 << 40, 1]},
            {"pads": [-9, 0, -9, 0]}, {"pads": [1 << 62, 0, 1 << 62, 0]}, {"group": 0}, {"group": 3}, {"group": -2},
            {"kernel_shape": [5, 5]}, {"kernel_shape": [3]}, {"strides": [1]}, {"auto_pad": "SIDEWAYS"})):
        yield "conv-%02d" % number, one("Conv", "W", constants=[weights("W", 2, 2, 3, 3)], **image, **attributes)
    yield "conv-of-channels", one("Conv", "W", constants=[weights("W", 2, 5, 3, 3)], **image)
    yield "conv-kernel-too-wide", one("Conv", "W", constants=[weights("W", 2, 2, 9, 9)], **image)
    for number, attributes in enumerate(({}, {"kernel_shape": [0, 0]}, {"kernel_shape": [1 << 40, 1]},
                                         {"kernel_shape": [2, 2], "strides": [0, 1]},
                                         {"kernel_shape": [2, 2], "pads": [5, 5, 5, 5]})):
        yield "pool-%d" % number, one("MaxPool", **image, **attributes)
    yield "resize-huge", one("Resize", "", "s", constants=[onnx.tensor("s", [4], onnx.floats([1, 1, 1e9, 1e9]))], **image)
    yield "resize-zero", one("Resize", "", "s", constants=[onnx.tensor("s", [4], onnx.floats([1, 1, 0, -1]))], **image)
    yield "resize-nan", one("Resize", "", "s", constants=[onnx.tensor("s", [4], onnx.floats([1, 1, float("nan"), 1]))],
                            **image)
    yield "gemm-inner", one("Gemm", "W", constants=[weights("W", 5, 4)])
    yield "gemm-of-rank-three", one("Gemm", "W", constants=[weights("W", 4, 4, 1)])
    yield "gemm-bias", one("Gemm", "W", "b", constants=[weights("W", 4, 4), weights("b", 7)])
    yield "matmul-inner", one("MatMul", "W", constants=[weights("W", 3, 4)])
    yield "add-shapes", one("Add", "W", constants=[weights("W", 3)])
    yield "add-types", one("Add", "W", constants=[numbers("W", [1, 2, 3, 4])])
    yield "attribute-of-another-type", one("Gemm", "W", constants=[weights("W", 4, 4)], alpha="half")
    yield "attribute-unknown", one("Relu", strength=3)
    yield "einsum-bad", one("Einsum", equation="ij->>k")
    yield "einsum-long", one("Einsum", equation="i" * 5000)
    yield "layer-norm-of-width", one("LayerNormalization", "W", constants=[weights("W", 9)], opset=17)
    yield "batch-norm-of-width", one("BatchNormalization", "W", "W", "W", "W", constants=[weights("W", 9)])
    yield "lstm-of-width", onnx.model([onnx.node("LSTM", ["x", "W", "R"], ["y"], "lie", hidden_size=3)],
                                      [weights("W", 1, 12, 9), weights("R", 1, 12, 3)],
                                      [onnx.value("x", [5, "N", 4])], [onnx.value("y", [5, 1, "N", 3])])
    yield "quantize-by-zero-points-of-floats", one("QuantizeLinear", "s", "z", constants=[
        onnx.tensor("s", [], onnx.floats([0.1])), onnx.tensor("z", [], onnx.floats([0]))])
    yield "reduce-axis-outside", one("ReduceMean", axes=[44])
    yield "loop-without-body", onnx.model([onnx.node("Loop", ["", "", "x"], ["y"], "lie")], [], X, Y)


def models():
    """(name, bytes) of all of them."""
    for family in (by_chance, wrong_tensors, wrong_graphs, wrong_nesting, wrong_moves, wrong_arithmetic):
        yield from family()


def main(folder):
    written = set()
    for name, data in models():
        assert name not in written, name
        written.add(name)
        path = pathlib.Path(folder) / name / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print("%d models" % len(written))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
