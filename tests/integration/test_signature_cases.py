"""Models of several inputs and outputs, of other types than float32, and of free dimensions."""

import os
import random
import struct
import tempfile
import unittest

import numpy

import onnx_writer as onnx
import reference
from harness import Server, ServerCase, run_at_once


def one_model(folder, nodes, tensors, inputs, outputs):
    reference.write(os.path.join(folder, "model", "1", "model.onnx"), onnx.model(nodes, tensors, inputs, outputs))
    return os.path.join(folder, "model")


class SignatureCase(unittest.TestCase):
    def serve(self, nodes, tensors, inputs, outputs, **options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Server(one_model(folder.name, nodes, tensors, inputs, outputs), **options)

    def predict(self, server, body):
        answer = server.request("POST", "/predict", body)
        self.assertEqual(answer.status, 200, answer)
        return answer.predictions

    def refused(self, server, body, *words):
        answer = server.request("POST", "/predict", body)
        self.assertEqual(answer.status, 400, answer)
        for word in words:
            self.assertIn(word, answer.error)


class Text(ServerCase):
    OPTIONS = {"batch_size": 8, "workers": 2, "max_concurrency": 200, "queue_delay_target_ms": 60000, "timeout_ms": 60000}

    @classmethod
    def model(cls):
        return reference.text()

    def ask(self, rows):
        instances = [{"input_ids": ids, "attention_mask": mask} for ids, mask in rows]
        return self.server.request("POST", "/predict", {"instances": instances})

    def assert_answers(self, answer, rows):
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(len(answer.predictions), len(rows))
        for got, (ids, mask) in zip(answer.predictions, rows):
            wanted = reference.text_answer(ids, mask)
            self.assertEqual(list(got), ["pooled", "tokens", "best"])
            self.assert_near(got["pooled"], wanted["pooled"])
            self.assertEqual(len(got["tokens"]), len(ids))
            for one, other in zip(got["tokens"], wanted["tokens"]):
                self.assert_near(one, other)
            self.assertEqual(got["best"], wanted["best"])

    def rows(self, random_numbers, count, length):
        out = []
        for _ in range(count):
            mask = [1] + [random_numbers.randrange(2) for _ in range(length - 1)]
            out.append(([random_numbers.randrange(reference.VOCABULARY) for _ in range(length)], mask))
        return out

    def test_inputs_and_outputs_go_by_name(self):
        rows = [([1, 2, 3], [1, 1, 0]), ([49, 0, 7], [1, 1, 1])]
        self.assert_answers(self.ask(rows), rows)

    def test_every_length_is_served(self):
        for length in (1, 2, 5, 17, 128):
            rows = self.rows(random.Random(length), 3, length)
            self.assert_answers(self.ask(rows), rows)

    def test_more_rows_than_a_batch_are_split_and_joined(self):
        rows = self.rows(random.Random(5), 21, 6)
        self.assert_answers(self.ask(rows), rows)

    def test_requests_of_different_lengths_at_once_get_their_own_answers(self):
        def talk(seed):
            random_numbers = random.Random(seed)
            for _ in range(20):
                rows = self.rows(random_numbers, random_numbers.randrange(1, 4), random_numbers.choice([1, 3, 4, 9]))
                self.assert_answers(self.ask(rows), rows)
            return True

        self.assertEqual(run_at_once([lambda seed=seed: talk(seed) for seed in range(8)]), [True] * 8)

    def test_a_request_of_rows_of_two_lengths_is_refused(self):
        answer = self.ask([([1, 2], [1, 1]), ([1, 2, 3], [1, 1, 1])])
        self.assert_error(answer, 400, 'input "input_ids": row 1 has 3 values, expected 2')

    def test_what_is_missing_unknown_or_of_the_wrong_type_is_named(self):
        for instance, words in (
            ({"input_ids": [1]}, 'row 0: input "attention_mask" is missing'),
            ({"input_ids": [1], "attention_mask": [1], "token_type_ids": [0]}, 'no input "token_type_ids"'),
            ({"input_ids": [1.0], "attention_mask": [1]}, 'input "input_ids": row 0, column 0: expected an integer'),
            ({"input_ids": [2**63], "attention_mask": [1]}, "outside the int64 range"),
            ({"input_ids": [1, 2], "attention_mask": [1]}, 'input "attention_mask": row 0 has 1 values, expected 2'),
            ({"input_ids": [], "attention_mask": []}, "has no values"),
            ([1, 2, 3], "expected an object of the inputs"),
        ):
            answer = self.server.request("POST", "/predict", {"instances": [instance]})
            self.assert_error(answer, 400, words)

    def test_raw_bodies_do_not_carry_two_inputs(self):
        answer = self.server.request("POST", "/predict", b"\0" * 16, content_type="application/octet-stream")
        self.assert_error(answer, 400, '"input_ids", "attention_mask"')

    def test_health_tells_the_signature(self):
        model = self.server.request("GET", "/health").json()["model"]
        self.assertEqual(
            [(one["name"], one["dtype"], one["shape"]) for one in model["inputs"]],
            [("input_ids", "int64", [-1, -1]), ("attention_mask", "int64", [-1, -1])],
        )
        self.assertEqual([one["dtype"] for one in model["outputs"]], ["float32", "float32", "int64"])


class Types(SignatureCase):
    def test_uint8_and_bool_go_in_and_out(self):
        with self.serve(
            [
                onnx.node("Where", ["flags", "pixels", "zero"], ["kept"], "keep"),
                onnx.node("Not", ["flags"], ["off"], "not"),
            ],
            [onnx.tensor("zero", [1], b"\0", onnx.UINT8)],
            [onnx.value("pixels", ["N", 3], onnx.UINT8), onnx.value("flags", ["N", 3], onnx.BOOL)],
            [onnx.value("kept", ["N", 3], onnx.UINT8), onnx.value("off", ["N", 3], onnx.BOOL)],
        ) as server:
            body = {"instances": [{"pixels": [1, 200, 255], "flags": [True, False, 1]}]}
            self.assertEqual(self.predict(server, body), [{"kept": [1, 0, 255], "off": [False, True, False]}])
            self.refused(server, {"instances": [{"pixels": [1, 2, 256], "flags": [1, 1, 1]}]}, "outside the uint8 range")
            self.refused(server, {"instances": [{"pixels": [1, 2, 3], "flags": [1, 1, 2]}]}, "expected a boolean")

    def test_integers_are_exact(self):
        with self.serve(
            [onnx.node("Add", ["x", "one"], ["y"], "add")],
            [onnx.tensor("one", [1], onnx.int64s([1]), onnx.INT64)],
            [onnx.value("x", ["N", 2], onnx.INT64)],
            [onnx.value("y", ["N", 2], onnx.INT64)],
        ) as server:
            row = [2**53, -(2**63)]
            self.assertEqual(self.predict(server, {"instances": [row]}), [[2**53 + 1, -(2**63) + 1]])
            raw = server.request(
                "POST", "/predict", struct.pack("<4q", *row, 5, 6), content_type="application/octet-stream"
            )
            self.assertEqual(struct.unpack("<4q", raw.body), (2**53 + 1, -(2**63) + 1, 6, 7))

    def test_half_precision_goes_in_and_out(self):
        with self.serve(
            [onnx.node("Mul", ["x", "two"], ["y"], "double")],
            [onnx.tensor("two", [1], onnx.halves([2]), onnx.FLOAT16)],
            [onnx.value("x", ["N", 3], onnx.FLOAT16)],
            [onnx.value("y", ["N", 3], onnx.FLOAT16)],
        ) as server:
            self.assertEqual(self.predict(server, {"instances": [[1, -0.5, 1000]]}), [[2, -1, 2000]])
            self.refused(server, {"instances": [[1, 2, 65520]]}, "row 0, column 2", "float16 range")
            answer = server.request("POST", "/predict", onnx.halves([1, 2, 3]), content_type="application/octet-stream")
            self.assertEqual(struct.unpack("<3e", answer.body), (2, 4, 6))

    def test_double_precision_goes_in_and_out(self):
        with self.serve(
            [onnx.node("Neg", ["x"], ["y"], "negate")],
            [],
            [onnx.value("x", ["N", 2], onnx.DOUBLE)],
            [onnx.value("y", ["N", 2], onnx.DOUBLE)],
        ) as server:
            self.assertEqual(self.predict(server, {"instances": [[0.5, -3]]}), [[-0.5, 3]])


class Batching(SignatureCase):
    def test_rows_of_a_model_that_mixes_them_run_alone(self):
        """y = x / (1 + the sum of x over the batch): only alone is a row's answer its own."""
        with self.serve(
            [
                onnx.node("ReduceSum", ["x", "axis"], ["sum"], "sum", keepdims=1),
                onnx.node("Add", ["sum", "one"], ["more"], "add"),
                onnx.node("Div", ["x", "more"], ["y"], "divide"),
            ],
            [onnx.tensor("axis", [1], onnx.int64s([0]), onnx.INT64), onnx.tensor("one", [1], onnx.floats([1]))],
            [onnx.value("x", ["N", 2])],
            [onnx.value("y", ["N", 2])],
            batch_size=8,
        ) as server:
            self.assertEqual(self.predict(server, {"instances": [[1, 3], [0, 7]]}), [[0.5, 0.75], [0, 0.875]])
            asks = [lambda: self.predict(server, {"instances": [[1, 3], [3, 1]]}) for _ in range(16)]
            self.assertEqual(run_at_once(asks), [[[0.5, 0.75], [0.75, 0.5]]] * 16)
            self.assertEqual(len(server.events("model_batch_of_one")), 1, server.log())

    def test_an_input_that_rows_share_is_given_once(self):
        with self.serve(
            [onnx.node("MatMul", ["x", "weights"], ["y"], "product")],
            [],
            [onnx.value("x", ["N", 2]), onnx.value("weights", [2, 2])],
            [onnx.value("y", ["N", 2])],
            batch_size=8,
        ) as server:
            instances = [{"x": [1, 2]}, {"x": [3, 4]}]
            weights = [[1, 10], [100, 1000]]
            wanted = [[201, 2010], [403, 4030]]
            self.assertEqual(self.predict(server, {"instances": instances, "weights": weights}), wanted)
            self.assertEqual(self.predict(server, {"weights": weights, "instances": instances}), wanted)
            self.assertEqual(
                self.predict(server, {"instances": [dict(instances[0], weights=weights), instances[1]]}), wanted
            )
            self.refused(server, {"instances": instances}, 'input "weights" is missing')

            def ask(factor):
                scaled = [[factor * value for value in row] for row in weights]
                return self.predict(server, {"instances": instances, "weights": scaled})

            got = run_at_once([lambda factor=factor: ask(factor) for factor in range(12)])
            for factor, answer in enumerate(got):
                self.assertEqual(answer, [[factor * value for value in row] for row in wanted])

    def test_the_rows_may_lie_along_an_inner_dimension(self):
        """x [3,N,2], time first as recurrent networks have it; y is what x is above its mean over time, turned."""
        with self.serve(
            [
                onnx.node("ReduceMean", ["x"], ["mean"], "mean", axes=[0], keepdims=1),
                onnx.node("Sub", ["x", "mean"], ["above"], "subtract"),
                onnx.node("Transpose", ["above"], ["y"], "turn", perm=[0, 2, 1]),
            ],
            [],
            [onnx.value("x", [3, "N", 2])],
            [onnx.value("y", [3, 2, "N"])],
            batch_size=4,
        ) as server:
            rows = (numpy.arange(5 * 3 * 2).reshape(5, 3, 2) ** 2).astype(numpy.float32)
            got = numpy.array(self.predict(server, {"instances": rows.tolist()}))
            self.assertEqual(got.shape, (5, 3, 2))
            self.assertLess(numpy.abs(got - (rows - rows.mean(axis=1, keepdims=True))).max(), 1e-3)
            self.assertEqual(server.events("model_batch_of_one"), [])


class FreeSizes(SignatureCase):
    def test_a_raw_body_is_one_row_of_the_length_that_it_has(self):
        with self.serve(
            [onnx.node("ReduceSum", ["x", "axis"], ["y"], "sum", keepdims=1)],
            [onnx.tensor("axis", [1], onnx.int64s([1]), onnx.INT64)],
            [onnx.value("x", ["N", "S"])],
            [onnx.value("y", ["N", 1])],
        ) as server:
            for length in (1, 3, 100):
                answer = server.request(
                    "POST", "/predict", onnx.floats(range(length)), content_type="application/octet-stream"
                )
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(struct.unpack("<f", answer.body), (sum(range(length)),))

    def test_sizes_that_the_model_does_not_take_are_refused_by_its_node(self):
        with self.serve(
            [onnx.node("Reshape", ["x", "shape"], ["y"], "fold_by_four")],
            [onnx.tensor("shape", [3], onnx.int64s([0, 4, -1]), onnx.INT64)],
            [onnx.value("x", ["N", "S"])],
            [onnx.value("y", ["N", 4, "T"])],
        ) as server:
            self.assertEqual(
                self.predict(server, {"instances": [[1, 2, 3, 4, 5, 6, 7, 8]]}), [[[1, 2], [3, 4], [5, 6], [7, 8]]]
            )
            self.refused(server, {"instances": [[1, 2, 3, 4, 5]]}, "fold_by_four")
            self.assertEqual(self.predict(server, {"instances": [[1, 2, 3, 4]]}), [[[1], [2], [3], [4]]])
            self.assertEqual(server.events("batch_failed"), [])

    def test_an_answer_larger_than_a_body_may_be_is_refused(self):
        with self.serve(
            [onnx.node("Expand", ["x", "shape"], ["wide"], "expand"), onnx.node("Mul", ["wide", "y0"], ["y"], "mul")],
            [onnx.tensor("shape", [3], onnx.int64s([1, 1000, 1]), onnx.INT64), onnx.tensor("y0", [1], onnx.floats([1]))],
            [onnx.value("x", ["N", 1, "S"])],
            [onnx.value("y", ["N", 1000, "S"])],
            max_body_bytes=100000,
        ) as server:
            self.assertEqual(len(self.predict(server, {"instances": [[[1, 2]]]})[0]), 1000)
            answer = server.request("POST", "/predict", {"instances": [[[1] * 40]]})
            self.assertEqual(answer.status, 413, answer)


if __name__ == "__main__":
    unittest.main()
