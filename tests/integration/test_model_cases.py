"""Model files: right numbers, or a refusal that names what is wrong."""

import math
import os
import struct
import tempfile
import unittest

import onnx_writer as onnx
import reference
from harness import Server, run_weir

X = [onnx.value("x", ["N", 4])]
Y = [onnx.value("y", ["N", 3])]


class ModelCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, name, data):
        reference.write(os.path.join(self.folder, name, "1", "model.onnx"), data)
        return os.path.join(self.folder, name)

    def answers(self, data, rows):
        with Server(self.put("model", data)) as server:
            answer = server.predict(rows)
            self.assertEqual(answer.status, 200, answer)
            return answer.predictions

    def refuse(self, data, *words):
        path = self.put("bad", data)
        result = run_weir("serve", path, "--port", 0)
        self.assertEqual(result.returncode, 3, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


class Numbers(ModelCase):
    def test_gemm_attributes_are_all_applied(self):
        data = onnx.model(
            [onnx.node("Gemm", ["x", "B", "C"], ["y"], "fc", alpha=0.5, beta=2.0, transB=1)],
            [
                onnx.tensor("B", [3, 4], onnx.floats([1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1])),
                onnx.tensor("C", [3], onnx.floats([10, 20, 30])),
            ],
            X,
            Y,
        )
        got = self.answers(data, [[1, 2, 3, 4], [0, 0, 0, 0], [-2, 0.5, 8, 1]])
        self.assertEqual(got, [[22.5, 43, 63.5], [20, 40, 60], [19.5, 40.75, 64.5]])

    def test_gemm_takes_every_shape_of_c(self):
        for dims, values, expected in (
            ([3], [1, 2, 3], [6, 8, 10]),
            ([1, 3], [1, 2, 3], [6, 8, 10]),
            ([1], [7], [12, 13, 14]),
            ([], [7], [12, 13, 14]),
        ):
            with self.subTest(dims=dims):
                data = onnx.model(
                    [onnx.node("Gemm", ["x", "B", "C"], ["y"])],
                    [onnx.tensor("B", [4, 3], onnx.floats(reference.WEIGHTS)), onnx.tensor("C", dims, onnx.floats(values))],
                    X,
                    Y,
                )
                self.assertEqual(self.answers(data, [[1, 2, 3, 4]]), [expected])

    def test_half_weights_in_both_storage_forms_equal_their_float32_twin(self):
        weights = [1, 0.5, -0.0, 65504, 2**-24, 0.1, 2**-14, -3, 0.333, 1, 1, 1]
        halves = onnx.halves(weights)
        exact = struct.unpack("<12e", halves)
        bits = struct.unpack("<12H", halves)
        rows = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        expected = [list(exact[3 * row : 3 * row + 3]) for row in range(4)]
        cast = [onnx.node("Cast", ["W"], ["V"], "cast", to=onnx.FLOAT), onnx.node("MatMul", ["x", "V"], ["y"], "mm")]
        forms = [
            (cast, onnx.tensor("W", [4, 3], halves, onnx.FLOAT16)),
            (cast, onnx.tensor_of_bits("W", [4, 3], bits, onnx.FLOAT16)),
            ([onnx.node("MatMul", ["x", "W"], ["y"], "mm")], onnx.tensor("W", [4, 3], onnx.floats(exact))),
        ]
        for nodes, weight in forms:
            got = self.answers(onnx.model(nodes, [weight], X, Y), rows)
            for got_row, row in zip(got, expected):
                for one, other in zip(got_row, row):
                    self.assertLessEqual(abs(one - other), 1e-6 * max(1e-6, abs(other)))

    def test_constants_identities_and_shared_weights_load(self):
        weight = onnx.tensor("W", [4, 3], onnx.floats(reference.WEIGHTS))
        data = onnx.model(
            [
                onnx.node("Constant", [], ["W"], "c", value=weight),
                onnx.node("Identity", ["W"], ["V"], "i"),
                onnx.node("MatMul", ["x", "V"], ["p"], "mm1"),
                onnx.node("MatMul", ["x", "W"], ["q"], "mm2"),
                onnx.node("Add", ["p", "b"], ["r"], "add"),
                onnx.node("Add", ["r", "q"], ["y"], "sum"),
            ],
            [onnx.tensor("b", [3], onnx.floats([1, 2, 3]))],
            X,
            Y,
        )
        path = self.put("shared", data)
        result = run_weir("inspect", path)
        if result.returncode == 0:
            self.assertEqual(self.answers(data, [[1, 2, 3, 4]]), [[11, 14, 17]])
        else:  # an addition of two computed tensors may be refused, by name
            self.assertIn("sum", result.stdout + result.stderr)

    def test_relu_sigmoid_tanh_and_softmax(self):
        weight = onnx.tensor("W", [4, 3], onnx.floats(reference.WEIGHTS))
        row = [1, -9, 0.5, 1]
        sums = [row[0] + row[3], row[1] + row[3], row[2] + row[3]]
        powers = [math.exp(value - max(sums)) for value in sums]
        expected = {
            "Relu": [max(0.0, value) for value in sums],
            "Sigmoid": [1 / (1 + math.exp(-value)) for value in sums],
            "Tanh": [math.tanh(value) for value in sums],
            "Softmax": [power / sum(powers) for power in powers],
        }
        for operator, values in expected.items():
            with self.subTest(operator=operator):
                data = onnx.model(
                    [onnx.node("MatMul", ["x", "W"], ["s"], "mm"), onnx.node(operator, ["s"], ["y"], "act")], [weight], X, Y
                )
                for got, value in zip(self.answers(data, [row])[0], values):
                    self.assertAlmostEqual(got, value, delta=1e-5)


class Refusals(ModelCase):
    def test_unknown_operators_are_named_with_node_and_opset(self):
        wide = [onnx.value("x", ["N", 1, 4])], [onnx.value("y", ["N", 1, 4])]
        same = [onnx.value("x", ["N", 4])], [onnx.value("y", ["N", 4])]
        self.refuse(
            onnx.model(
                [onnx.node("NonMaxSuppression", ["x", "k"], ["y"], "nms_7")],
                [onnx.tensor("k", [1, 1, 1], onnx.floats([1]))],
                *wide,
            ),
            "NonMaxSuppression", "nms_7", "13",
        )
        self.refuse(
            onnx.model([onnx.node("Relu", ["x"], ["t"], "r0"), onnx.node("Unique", ["t"], ["y"])], [], *same), "Unique"
        )
        self.refuse(
            onnx.model(
                [onnx.node("MagicGelu", ["x"], ["y"], "mg", "com.example")], [], *same, other_domains=(("com.example", 1),)
            ),
            "MagicGelu", "com.example",
        )
        self.refuse(onnx.model([onnx.node("Relu", ["x"], ["y"], "r0")], [], *same, opset=99), "99")

    def test_weights_outside_the_model_directory_are_refused(self):
        def model(location):
            return onnx.model(
                [onnx.node("Gemm", ["x", "W", "b"], ["y"], "fc")],
                [onnx.tensor_external("W", [4, 3], location, 0, 48), onnx.tensor("b", [3], onnx.floats([0, 0, 1.5]))],
                X,
                Y,
            )

        for location in ("../../../../../../etc/passwd", "/etc/passwd", "", ".", "w.bin\0x", "sub/../../w.bin"):
            with self.subTest(location=location):
                self.refuse(model(location), "W")
        path = self.put("good", model("w.bin"))
        reference.write(path + "/1/w.bin", onnx.floats(reference.WEIGHTS))
        with Server(path) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]]).predictions, [[5, 6, 8.5]])

    def test_every_prefix_of_a_model_is_refused_or_loads_and_nothing_crashes(self):
        data = reference.demo_bytes()
        for cut in range(0, len(data), 7):
            path = self.put("cut", data[:cut])
            result = run_weir("inspect", path)
            self.assertIn(result.returncode, (1, 3), (cut, result.stderr))
