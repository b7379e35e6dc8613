"""Numbers of every type that go through a model which leaves them as they are: what comes back, in every form and protocol."""

import decimal
import io
import json
import os
import struct
import tempfile
import unittest

import numpy

import onnx_writer as onnx
import reference
from harness import Server

# Name of the model, V2's name of its type, numpy's of its elements (bfloat16: of its bits), ONNX's number.
TYPES = [
    ("f32", "FP32", "<f4", onnx.FLOAT), ("u8", "UINT8", "|u1", onnx.UINT8), ("i8", "INT8", "|i1", onnx.INT8),
    ("i32", "INT32", "<i4", onnx.INT32), ("i64", "INT64", "<i8", onnx.INT64), ("bool", "BOOL", "|u1", onnx.BOOL),
    ("f16", "FP16", "<f2", onnx.FLOAT16), ("f64", "FP64", "<f8", onnx.DOUBLE), ("bf16", "BF16", "<u2", onnx.BFLOAT16),
]  # fmt: skip
WIDTH = 2
LENGTH = "Inference-Header-Content-Length"
RANDOM = numpy.random.default_rng(11)


def bits(kind, count=8192):
    """Elements of that type: all there are where they have one or two bytes, else random ones. Of NaN the quiet ones: float16,
    bfloat16 and float64 become float32 on their way and back, and that makes a signalling one quiet."""
    if kind == "bool":
        return numpy.arange(256, dtype="u1") % 2
    if kind in ("u8", "i8"):
        return numpy.arange(256, dtype="u1").view(kind[0] + "1")
    if kind in ("f16", "bf16"):
        all_bits = numpy.arange(65536, dtype="<u2")
        mantissa = 10 if kind == "f16" else 7
        is_nan = (all_bits & 0x7FFF) > ((0x7FFF >> mantissa) << mantissa)
        all_bits = all_bits[~is_nan | ((all_bits >> (mantissa - 1)) & 1 == 1)]
        all_bits = all_bits[: len(all_bits) // WIDTH * WIDTH]
        return all_bits.view("<f2") if kind == "f16" else all_bits
    if kind == "f64":  # those that float32 has, in which it is computed
        floats = RANDOM.integers(0, 2**32, count, dtype="<u4").view("<f4")
        return numpy.where(numpy.isnan(floats), numpy.float32(numpy.nan), floats).astype("<f8")
    size = 4 if kind in ("f32", "i32") else 8
    numbers = RANDOM.integers(0, 256, count * size, dtype="u1").view(kind[0] + str(size))
    return numbers.astype("<" + kind[0] + str(size))


def finite(kind):
    values = bits(kind)
    return values[numpy.isfinite(values)] if kind[0] == "f" else values


def text_of(value):
    """The JSON text with the fewest digits, as Python and numpy know them."""
    if isinstance(value, numpy.float32):
        return numpy.format_float_scientific(value, unique=True)
    return repr(value.item())


def v2(kind, datatype, rows, **more):
    return {"inputs": [{"name": "x", "datatype": datatype, "shape": [len(rows), WIDTH], **more}]}


class RoundTrips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for kind, _, _, number in TYPES:
            data = onnx.model(
                [onnx.node("Identity", ["x"], ["y"], "same")], [], [onnx.value("x", ["N", WIDTH], number)],
                [onnx.value("y", ["N", WIDTH], number)])
            reference.write(os.path.join(cls.folder.name, kind, "1", "model.onnx"), data)
        config = "models:\n" + "".join("  %s: %s\n" % (kind, os.path.join(cls.folder.name, kind)) for kind, *_ in TYPES)
        cls.server = Server(config=config, max_request_rows=65536).__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)

    def post(self, path, body, kind=None, headers=()):
        body = body.encode() if isinstance(body, str) else body
        return self.server.request("POST", path, body, content_type=kind, headers=list(headers))

    def numbers(self, answer, *path):
        """The numbers of a JSON answer as their texts, flat."""
        self.assertEqual(answer.status, 200, answer)
        found = json.loads(answer.body, parse_float=str, parse_int=str)
        for step in path:
            found = found[step]
        flat = []
        for item in found:
            flat += item if isinstance(item, list) else [item]
        return flat

    # -- binary

    def test_bytes_come_back_to_the_bit(self):
        for kind, datatype, _, _ in TYPES:
            with self.subTest(kind):
                rows = bits(kind).reshape(-1, WIDTH)
                raw = rows.tobytes()
                answer = self.post("/models/%s/predict" % kind, raw, "application/octet-stream")
                self.assertEqual((answer.status, answer.body), (200, raw))
                head = json.dumps({
                    **v2(kind, datatype, rows, parameters={"binary_data_size": len(raw)}), "parameters": {"binary_data_output": True},
                }).encode()
                for size, body in ((len(head), head + raw), (0, raw)):
                    answer = self.post("/v2/models/%s/infer" % kind, body, headers=[(LENGTH, str(size))])
                    self.assertEqual(answer.status, 200, answer)
                    size = int(answer.headers[LENGTH.lower()])
                    output = json.loads(answer.body[:size])["outputs"][0]
                    self.assertEqual((output["datatype"], output["shape"]), (datatype, [len(rows), WIDTH]))
                    self.assertEqual(answer.body[size:], raw)

    def test_arrays_come_back_to_the_bit(self):
        for kind, _, name, _ in TYPES:
            with self.subTest(kind):
                array = bits(kind).reshape(-1, WIDTH)
                array = array.view({"bool": "?", "bf16": "|V2"}.get(kind, name))
                file = io.BytesIO()
                numpy.save(file, array)
                answer = self.post("/models/%s/predict" % kind, file.getvalue(), "application/x-npy")
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(numpy.load(io.BytesIO(answer.body)).tobytes(), array.tobytes())

    # -- JSON

    def json_answers(self, kind, datatype, rows):
        """Texts of the rows' elements to the texts that come back, by each protocol."""
        nested = "[%s]" % ",".join("[%s]" % ",".join(row) for row in rows)
        flat = "[%s]" % ",".join(",".join(row) for row in rows)
        head = '{"inputs":[{"name":"x","datatype":"%s","shape":[%d,%d],"data":' % (datatype, len(rows), WIDTH)
        yield self.post("/models/%s/predict" % kind, '{"instances":%s}' % nested), ("predictions",)
        yield self.post("/v1/models/%s:predict" % kind, '{"instances":%s}' % nested), ("predictions",)
        yield self.post("/v1/models/%s:predict" % kind, '{"inputs":%s}' % nested), ("outputs",)
        for data in (nested, flat):
            yield self.post("/v2/models/%s/infer" % kind, head + data + "}]}"), ("outputs", 0, "data")

    def test_json_is_exact_and_has_the_fewest_digits(self):
        for kind, datatype, _, _ in TYPES:
            if kind in ("bool", "f16", "bf16"):
                continue
            with self.subTest(kind):
                values = finite(kind)[:2000]
                texts = [text_of(value) for value in values]
                rows = [texts[i : i + WIDTH] for i in range(0, len(texts), WIDTH)]
                for answer, path in self.json_answers(kind, datatype, rows):
                    got = self.numbers(answer, *path)
                    self.assertEqual([decimal.Decimal(text) for text in got], [decimal.Decimal(text) for text in texts])

    def test_the_ends_of_int64(self):
        texts = ["9223372036854775807", "-9223372036854775808", "9007199254740993", "-1"]
        for answer, path in self.json_answers("i64", "INT64", [texts[:2], texts[2:]]):
            self.assertEqual(self.numbers(answer, *path), texts)

    def test_flags_are_true_and_false(self):
        for answer, path in self.json_answers("bool", "BOOL", [["true", "false"], ["false", "true"]]):
            self.assertEqual(self.numbers(answer, *path), [True, False, False, True])

    def test_halves_are_read_from_json_where_the_protocol_has_them(self):
        for kind, datatype in (("f16", "FP16"), ("bf16", "BF16")):
            answers = list(self.json_answers(kind, datatype, [["1.5", "-0.25"]]))
            for answer, path in answers[:3]:
                self.assertEqual(self.numbers(answer, *path), ["1.5", "-0.25"])
            for answer, _ in answers[3:]:
                self.assertEqual(answer.status, 400, answer)
                self.assertIn("bytes", answer.error)

    # -- float64 is computed in float32

    def test_float64_is_rounded_to_float32_alike_from_text_and_bytes(self):
        values = [0.1, 1 / 3, 16777217.0, 5e-324]
        rounded = [float(numpy.float32(value)) for value in values]
        answer = self.post("/models/f64/predict", struct.pack("<4d", *values), "application/octet-stream")
        self.assertEqual(struct.unpack("<4d", answer.body), tuple(rounded))
        texts = [repr(value) for value in values]
        for answer, path in self.json_answers("f64", "FP64", [texts[:2], texts[2:]]):
            self.assertEqual([float(text) for text in self.numbers(answer, *path)], rounded)

    def test_a_float64_past_float32_is_refused_and_does_not_become_infinite(self):
        for value in (3.5e38, -1e39, 1e300):
            raw = struct.pack("<2d", 1, value)
            head = json.dumps(v2("f64", "FP64", [0], parameters={"binary_data_size": 16})).encode()
            file = io.BytesIO()
            numpy.save(file, numpy.array([[1, value]], "<f8"))
            for answer in (
                self.post("/models/f64/predict", raw, "application/octet-stream"),
                self.post("/models/f64/predict", file.getvalue(), "application/x-npy"),
                self.post("/v2/models/f64/infer", head + raw, headers=[(LENGTH, str(len(head)))]),
                self.post("/v2/models/f64/infer", raw, headers=[(LENGTH, "0")]),
                *(answer for answer, _ in self.json_answers("f64", "FP64", [["1", repr(value)]])),
            ):
                self.assertEqual(answer.status, 400, answer)
                self.assertIn("outside the float32 range", answer.error)

    def test_a_number_past_its_type_is_refused(self):
        for kind, datatype, text in (
            ("f32", "FP32", "1e39"), ("f32", "FP32", "-1e400"), ("f64", "FP64", "1e400"), ("i64", "INT64", "9223372036854775808"),
            ("i32", "INT32", "2147483648"), ("u8", "UINT8", "256"), ("u8", "UINT8", "-1"), ("i8", "INT8", "128"),
        ):
            for answer, _ in self.json_answers(kind, datatype, [["1", text]]):
                self.assertEqual(answer.status, 400, (text, answer))
                self.assertIn("range", answer.error)

    def test_non_finite_numbers_pass_in_bytes_and_not_in_json(self):
        for kind, datatype, code in (("f32", "FP32", "<2f"), ("f64", "FP64", "<2d")):
            raw = struct.pack(code, float("nan"), float("-inf"))
            answer = self.post("/models/%s/predict" % kind, raw, "application/octet-stream")
            self.assertEqual((answer.status, answer.body), (200, raw))
            head = json.dumps(v2(kind, datatype, [0], parameters={"binary_data_size": len(raw)})).encode()
            answer = self.post("/v2/models/%s/infer" % kind, head + raw, headers=[(LENGTH, str(len(head)))])
            self.assertEqual(answer.status, 500, answer)
            for text in ("NaN", "Infinity", "-Infinity"):
                for answer, _ in self.json_answers(kind, datatype, [["1", text]]):
                    self.assertEqual(answer.status, 400, answer)


if __name__ == "__main__":
    unittest.main()
