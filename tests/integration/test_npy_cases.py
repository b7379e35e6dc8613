"""Arrays in NumPy's .npy format, in and out of /predict."""

import io
import os
import tempfile
import unittest

import numpy

import onnx_writer as onnx
import reference
from harness import Server, ServerCase

NPY = "application/x-npy"
# What numpy calls each type, and ONNX's number. numpy has no bfloat16: two bytes without a type.
TYPES = [
    ("<f4", onnx.FLOAT), ("|u1", onnx.UINT8), ("|i1", onnx.INT8), ("<i4", onnx.INT32), ("<i8", onnx.INT64),
    ("|b1", onnx.BOOL), ("<f2", onnx.FLOAT16), ("<f8", onnx.DOUBLE), ("|V2", onnx.BFLOAT16),
]  # fmt: skip


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def array_of(answer):
    return numpy.load(io.BytesIO(answer.body))


class Demo(ServerCase):
    OPTIONS = {"max_body_bytes": 1024 * 1024, "batch_size": 8, "max_request_rows": 100}
    ROWS = numpy.array([[1, 2, 3, 4], [0, 0, 0, 0], [-1, 0.5, 2, 1]], dtype="<f4")
    ANSWER = numpy.array([[5, 6, 8.5], [0, 0, 1.5], [0, 1.5, 4.5]], dtype="<f4")

    @classmethod
    def model(cls):
        return reference.demo()

    def ask(self, body, **options):
        return self.server.request("POST", "/predict", body, content_type=NPY, **options)

    def refuse(self, body, status, *words):
        self.assert_error(self.ask(body), status, *words)

    def test_an_array_is_answered_by_an_array(self):
        answer = self.ask(npy(self.ROWS))
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, NPY))
        self.assertEqual(answer.body, npy(self.ANSWER))

    def test_accept_chooses_among_the_three_forms(self):
        for accept, kind, body in (
            ("application/json", "application/json", None),
            ("application/octet-stream", "application/octet-stream", self.ANSWER.tobytes()),
            ("*/*", NPY, npy(self.ANSWER)),
            ("application/octet-stream;q=0.1, application/x-npy", NPY, npy(self.ANSWER)),
        ):
            answer = self.ask(npy(self.ROWS), headers=[("Accept", accept)])
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, kind))
            if body is None:
                self.assertEqual(answer.predictions, self.ANSWER.tolist())
            else:
                self.assertEqual(answer.body, body)
        answer = self.server.predict(self.ROWS.tolist(), headers=[("Accept", NPY)])
        self.assertEqual(answer.body, npy(self.ANSWER))

    def test_a_body_in_single_bytes_gives_the_same_answer(self):
        body = npy(self.ROWS)
        with self.server.client() as client:
            client.send(client.message("POST", "/predict", b"", content_type=None, headers=[
                ("Content-Type", NPY), ("Transfer-Encoding", "chunked")]).replace(b"Content-Length: 0\r\n", b""))
            for index in range(len(body)):
                client.send(b"1\r\n" + body[index : index + 1] + b"\r\n")
            client.send(b"0\r\n\r\n")
            self.assertEqual(client.answer().body, npy(self.ANSWER))

    def test_a_body_cut_anywhere_is_refused(self):
        body = npy(self.ROWS)
        for size in range(len(body)):
            self.refuse(body[:size], 400, "body", "truncated" if size else "empty")
        self.refuse(body + b"\0", 400, "goes on behind its array")

    def test_other_types_shapes_orders_are_refused_and_named(self):
        rows = self.ROWS
        for array, words in (
            (rows.astype("<f8"), "the type float64"),
            (rows.astype("<i4"), "the type int32"),
            (rows.astype(">f4"), "big-endian"),
            (numpy.asfortranarray(rows), "Fortran order"),
            (rows[:, :3], "the shape [3,3]"),
            (rows[0], "the shape [4]"),
            (rows[None], "the shape [1,3,4]"),
            (rows[:0], "the shape [0,4]"),
            (rows.astype("<c8"), "'<c8'"),
            (numpy.array([["a"] * 4]), "'<U1'"),
            (numpy.array([[None] * 4]), "Python objects"),
            (numpy.zeros((2, 4), dtype=[("a", "<f4")]), "structures"),
        ):
            with self.subTest(words=words):
                self.refuse(npy(array), 400, words)
        self.refuse(b'{"instances":[[1,2,3,4]]}', 400, "does not begin with")
        self.refuse(b"", 400, "empty")
        self.refuse(npy(numpy.zeros((101, 4), dtype="<f4")), 413, "101 rows")
        self.assertTrue(self.server.alive())

    def test_a_head_that_lies_of_its_size_takes_no_memory(self):
        body = npy(self.ROWS).replace(b"(3, 4), }" + b" " * 6, b"(99, 4), }" + b" " * 5)
        before = self.server.resident_bytes()
        self.refuse(body, 400, "truncated")
        self.assertLess(self.server.resident_bytes() - before, 1024 * 1024)

    def test_non_finite_numbers_pass(self):
        rows = numpy.array([[numpy.nan, 2, 3, 4], [numpy.inf, 0, 0, 0]], dtype="<f4")
        answer = array_of(self.ask(npy(rows)))
        self.assertTrue(numpy.isnan(answer[0, 0]) and numpy.isposinf(answer[1, 0]))


class Types(unittest.TestCase):
    def serve(self, number, shape, **options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        data = onnx.model(
            [onnx.node("Identity", ["x"], ["y"], "same")], [], [onnx.value("x", shape, number)],
            [onnx.value("y", shape, number)],
        )  # fmt: skip
        reference.write(os.path.join(folder.name, "model", "1", "model.onnx"), data)
        return Server(os.path.join(folder.name, "model"), **options)

    def round_trip(self, server, array):
        answer = server.request("POST", "/predict", npy(array), content_type=NPY)
        self.assertEqual(answer.status, 200, answer)
        got = array_of(answer)
        self.assertEqual((got.shape, got.tobytes()), (array.shape, array.tobytes()))
        if array.dtype.kind != "V":
            self.assertEqual(got.dtype, array.dtype)

    def test_every_type_goes_there_and_back_to_the_bit(self):
        random = numpy.random.default_rng(7)
        for name, number in TYPES:
            with self.subTest(name=name), self.serve(number, ["N", 5]) as server:
                dtype = numpy.dtype(name)
                raw = random.integers(0, 2 if name == "|b1" else 256, 35 * dtype.itemsize, dtype="u1")
                if name == "<f8":  # the engine computes them in float32
                    raw = raw[: 35 * 4].view("<f4").astype("<f8")
                self.round_trip(server, raw.view(dtype).reshape(7, 5))

    def test_free_sizes_come_from_the_array(self):
        with self.serve(onnx.INT64, ["N", "S", 2]) as server:
            for shape in ((1, 1, 2), (3, 4, 2), (40, 9, 2)):
                self.round_trip(server, numpy.arange(numpy.prod(shape), dtype="<i8").reshape(shape))


if __name__ == "__main__":
    unittest.main()
