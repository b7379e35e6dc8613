"""What holds of bodies and of HTTP holds for all families of paths: /predict, V1 in rows and in columns, V2."""

import concurrent.futures
import functools
import gzip
import json
import re
import struct
import time
import unittest

from wire import MIB, HttpCase, get, post

ANSWER = [5, 6, 8.5]
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class Family:
    """A path, how it writes rows (JSON text, and how many they are) into a body, and where an answer has its numbers."""

    def __init__(self, name, path, before, after="}", answer=()):
        self.name, self.path, self.before, self.after, self.answer = name, path, before, after, answer

    def body(self, rows="[[1,2,3,4]]", count=1):
        return ((self.before % count if "%" in self.before else self.before) + rows + self.after).encode()

    def numbers(self, answer):
        found = json.loads(answer.body)
        for step in self.answer:
            found = found[step]
        return [number for item in found for number in (item if isinstance(item, list) else [item])]

    def post(self, body=None, headers=(), **options):
        return post(self.body() if body is None else body, headers, path=self.path, **options)


V2_BEFORE = '{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,4],"data":'
FAMILIES = [
    Family("predict", "/predict", '{"instances":', answer=("predictions",)),
    Family("v1 rows", "/v1/models/demo:predict", '{"instances":', answer=("predictions",)),
    Family("v1 columns", "/v1/models/demo:predict", '{"inputs":', answer=("outputs",)),
    Family("v2", "/v2/models/demo/infer", V2_BEFORE, "}]}", answer=("outputs", 0, "data")),
]
V2 = FAMILIES[-1]


def each_family(test):
    """A test that runs for every family."""

    @functools.wraps(test)
    def run(case):
        for family in FAMILIES:
            with case.subTest(family.name):
                test(case, family)

    return run


class FamilyCase(HttpCase):
    def ask(self, family, body):
        return self.server.request("POST", family.path, body)

    def refuse(self, family, body, *texts, status=400):
        answer = self.ask(family, body)
        self.assertEqual(answer.status, status, (body[:80], answer))
        self.assertTrue(answer.error and isinstance(answer.error, str))
        for text in texts:
            self.assertIn(text, answer.error, body[:80])

    def assert_answer(self, family, answer):
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(family.numbers(answer), ANSWER)

    def first(self, data):
        """The first answer to these bytes."""
        with self.server.client() as client:
            client.send(data)
            return client.answer()

    def raw(self, data, count=1, closes=False):
        """What comes back for these bytes. Behind it the connection ends, or else serves on."""
        with self.server.client() as client:
            client.send(data)
            answers = [client.answer() for _ in range(count)]
            if closes:
                self.assertEqual(client.rest(), b"")
            else:
                self.assertEqual(client.request("GET", "/health/live").status, 200)
            return answers


class Json(FamilyCase):
    @each_family
    def test_a_body_is_one_document(self, family):
        self.refuse(family, family.body() + b"garbage", str(len(family.body())))
        self.refuse(family, family.body() * 2, str(len(family.body())))
        self.assert_answer(family, self.ask(family, b" \r\n\t" + family.body() + b" \n"))
        for cut in range(len(family.body())):
            self.refuse(family, family.body()[:cut])

    @each_family
    def test_words_that_are_no_numbers_are_refused(self, family):
        for word in ("NaN", "Infinity", "-Infinity", "nan", "inf", "+1", "01", "1.", ".5", "1e", "0x10", "--1"):
            self.refuse(family, family.body("[[1,2,%s,4]]" % word))
            self.refuse(family, family.body("[[%s,2,3,4]]" % word))

    @each_family
    def test_numbers_past_float32_are_refused_with_their_place(self, family):
        for number in ("1e400", "1e39", "-1e400", "3.4028236e38"):
            self.refuse(family, family.body("[[1,2,3,4],[1,%s,3,4]]" % number, 2), "float32 range", "1")
        largest = self.ask(family, family.body("[[3.4028235e38,0,0,0]]"))
        self.assertEqual(struct.pack("<f", family.numbers(largest)[0]), struct.pack("<f", 3.4028235e38))

    @each_family
    def test_a_member_that_comes_twice_is_named(self, family):
        member = family.before[2 : family.before.index('"', 2)]
        inside = family.body()[1:-1]
        self.refuse(family, b"{" + inside + b"," + inside + b"}", '"%s"' % member)

    @each_family
    def test_depth_is_bounded(self, family):
        for rows in ("[" * 200000, '{"a":' * 100000, "[" * 1000 + "]" * 1000, "[" * 300):
            began = time.monotonic()
            self.refuse(family, family.body(rows))
            self.assertLess(time.monotonic() - began, 2)
        self.assertTrue(self.server.alive())

    @each_family
    def test_bytes_that_are_not_utf_8_are_refused_and_do_not_come_back(self, family):
        for bad in (b'"\xff\xfe"', b'"\xc0\xaf"'):
            for body in (family.body("[[1,2,3,?]]").replace(b"?", bad), family.body()[:-1] + b"," + bad + b":1}"):
                answer = self.ask(family, body)
                self.assertEqual(answer.status, 400, answer)
                self.assertIn("error", json.loads(answer.body.decode("utf-8")))

    @each_family
    def test_answers_are_json_and_read_back_to_the_same_float32(self, family):
        numbers = [9e-7, 1e6, 1e20, 0.1, -0.0, 16777216, 1e-40, 1.17549435e-38]
        rows = "[%s]" % ",".join("[%r,0,0,0]" % number for number in numbers)
        answer = self.ask(family, family.body(rows, len(numbers)))
        self.assertEqual(answer.status, 200, answer)
        got = family.numbers(answer)[::3]
        self.assertEqual([struct.pack("<f", number + 0.0) for number in got], [struct.pack("<f", n + 0.0) for n in numbers])
        texts = re.search(rb"\[[-\[\]0-9.eE+,]*\]", answer.body[answer.body.index(family.answer[-1].encode()) :])
        for token in re.split(rb"[\[\],]+", texts.group(0)):
            self.assertTrue(not token or NUMBER.fullmatch(token.decode()), token)

    @each_family
    def test_a_body_that_is_empty_or_of_another_form_is_refused(self, family):
        member = family.before[2 : family.before.index('"', 2)]
        for body in (b"", b" \n", b"{}", b"[]", b"null", b"5", b'"a"', ('{"%s":null}' % member).encode()):
            self.refuse(family, body)
        self.assertEqual(self.first(family.post(b"0\r\n\r\n", ["Transfer-Encoding: chunked"])).status, 400)
        without = family.post(b"").replace(b"Content-Length: 0\r\n", b"")
        self.assertEqual(self.first(without).status, 400)
        self.assert_answer(family, self.ask(family, family.body()[:-1] + b',"foo":[{"a":[1]}]}'))

    @each_family
    def test_a_large_body_of_commas_does_not_hold_up_the_probe(self, family):
        body = family.body("[[" + "1," * (MIB // 2 - 100))
        slowest, began = 0, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            sender = pool.submit(self.ask, family, body[: MIB - 10])
            while slowest == 0 or not sender.done():
                asked = time.monotonic()
                self.assertEqual(self.server.request("GET", "/health/live").status, 200)
                slowest = max(slowest, time.monotonic() - asked)
        self.assertEqual(sender.result().status, 400)
        whole = time.monotonic() - began
        self.assertLess(slowest, max(0.2, whole / 2), whole)


class Tensors(FamilyCase):
    @each_family
    def test_rows_of_other_shapes_are_refused(self, family):
        self.refuse(family, family.body("[[1,2,3,4],[1,2,3]]", 2), "1", "3", "4")
        for rows in ("[[1,2,3]]", "[[[1,2,3,4]]]", "[1,2,3]", "5", "[[1,2,3,4,5]]"):
            self.refuse(family, family.body(rows))
        if family is not V2:  # a flat list of all elements is V2's own form
            self.refuse(family, family.body("[1,2,3,4]"))

    @each_family
    def test_elements_of_other_types_are_named_with_their_place(self, family):
        for element, word in (('"1"', "a string"), ("true", "true"), ("null", "null"), ("{}", "an object"), ("[1]", "an array")):
            self.refuse(family, family.body("[[1,2,3,4],[1,2,%s,4]]" % element, 2), word, "1", "2")

    @each_family
    def test_no_rows_are_refused_and_do_not_reach_the_engine(self, family):
        before = self.server.metrics().total("weir_batch_rows_count")
        for rows, count in (("[]", 0), ("[[]]", 1), ("[]", 1)):
            self.refuse(family, family.body(rows, count))
        self.assertEqual(self.server.metrics().total("weir_batch_rows_count"), before)

    @each_family
    def test_more_rows_than_a_batch_come_back_in_order(self, family):
        rows = "[%s]" % ",".join("[%d,0,0,0]" % index for index in range(100))
        answer = self.ask(family, family.body(rows, 100))
        self.assertEqual(family.numbers(answer)[::3], list(range(100)))

    def test_v2_s_shapes(self):
        for shape in ("[-1,4]", "[1.5,4]", '["1",4]', '"-1"', "[]", "[1,1,1,1,1,1,1,1,4]", "[0,4]", "[1e0,4]", "[9223372036854775808,4]",
                      "null", "[2,2]", "[4]", "[1,1,4]"):
            self.refuse(V2, V2.body().replace(b"[1,4]", shape.encode()))
        self.refuse(V2, V2.body("[]").replace(b"[1,4]", b"[0,4]"))
        self.refuse(V2, V2.body().replace(b"[1,4]", b"[4611686018427387904,4]"), "rows", status=413)
        flat, nested = "[1,2,3,4,5,6,7,8]", "[[1,2,3,4],[5,6,7,8]]"
        answers = [self.ask(V2, V2.body(rows, 2)) for rows in (flat, nested)]
        self.assertEqual(V2.numbers(answers[0]), V2.numbers(answers[1]))
        for rows in ("[[1,2],[3,4],[5,6],[7,8]]", "[1,2,3,4,5,6,7]", "[1,2,3,4,5,6,7,8,9]"):
            self.refuse(V2, V2.body(rows, 2))

    def test_v2_s_types_and_names(self):
        for datatype in ('"INT64"', '"BYTES"', '"fp32"', '"FP16"', '""', "1", "null"):
            self.refuse(V2, V2.body().replace(b'"FP32"', datatype.encode()), *(["FP32"] if datatype[0] == '"' else []))
        self.refuse(V2, V2.body().replace(b'"datatype":"FP32",', b""), "FP32")
        self.refuse(V2, V2.body()[:-1] + b',"outputs":[{"name":"potato"}]}', "potato")
        self.refuse(V2, V2.body().replace(b'"x"', b'"potato"'), "potato")
        one = V2.body()[len(b'{"inputs":[') : -2]
        self.refuse(V2, b'{"inputs":[' + one + b"," + one + b"]}", "twice")
        self.refuse(V2, b'{"inputs":[]}', "missing")

    def test_a_binary_header_that_lies(self):
        for length in ("99999", "-1", "x", "18446744073709551616", "1.0", "", "30"):
            answer = self.server.request("POST", V2.path, V2.body(), headers=[("Inference-Header-Content-Length", length)])
            self.assertEqual(answer.status, 400, (length, answer))

    def test_models_and_versions_that_are_not_there(self):
        for path, body, status in (
            ("/v1/models/nope:predict", FAMILIES[1].body(), 404), ("/v2/models/nope/infer", V2.body(), 404),
            ("/models/nope/predict", FAMILIES[0].body(), 404), ("/v2/models/demo/versions/99/infer", V2.body(), 404),
            ("/v1/models/demo/versions/99:predict", FAMILIES[1].body(), 404),
            ("/v2/models/demo/versions/1.0.0/infer", V2.body(), 400), ("/v2/models/demo/versions/00/infer", V2.body(), 404),
        ):
            answer = self.server.request("POST", path, body)
            self.assertEqual(answer.status, status, (path, answer))
            self.assertIsInstance(answer.error, str)


class Http(FamilyCase):
    @each_family
    def test_pipelined_requests_are_answered_in_order(self, family):
        rows = ("[[1,2,3,4]]", "[[0,0,0,0]]", "[[-1,0.5,2,1]]")
        answers = self.raw(b"".join(family.post(family.body(row)) for row in rows) + get(), 4)
        self.assertEqual([family.numbers(answer) for answer in answers[:3]], [ANSWER, [0, 0, 1.5], [0, 1.5, 4.5]])
        self.assertEqual(answers[3].status, 200)

    @each_family
    def test_any_cut_gives_the_same_answer(self, family):
        request = family.post()
        with self.server.client() as client:
            client.send(request)
            whole = client.answer()
            self.assert_answer(family, whole)
            for cut in range(1, len(request), 3):
                client.send(request[:cut])
                time.sleep(0.0005)  # a segment of its own, not a wait for anything
                client.send(request[cut:])
                self.assertEqual(client.answer().body, whole.body, cut)
            for index in range(len(request)):
                client.send(request[index : index + 1])
                time.sleep(0.0002)
            self.assertEqual(client.answer().body, whole.body)

    @each_family
    def test_lengths_that_two_servers_may_read_differently_are_refused(self, family):
        body = family.body()
        size = len(body)
        hidden = b"0\r\n\r\n" + get()
        self.assert_refused(family.post(hidden, ["Content-Length: 4", "Transfer-Encoding: chunked"]), 400)
        for lines in (["Content-Length:", "Content-Length: %d" % size], ["Content-Length: +%d" % size],
                      ["Content-Length: %d, %d" % (size, size)], ["Content-Length: 0x19"],
                      ["Content-Length: %d" % size] * 2, ["Transfer-Encoding:", "Content-Length: %d" % size],
                      [": x", "Content-Length: %d" % size], ["Host: b", "Content-Length: %d" % size]):
            self.assert_refused(family.post(body, lines), 400)
        for chunk in (b"10000000000000000", b"-1", b"0x3", b" 3"):
            self.assert_refused(family.post(chunk + b"\r\nabc\r\n0\r\n\r\n", ["Transfer-Encoding: chunked"]), 400)
        chunked = family.post(b"%x\n%s\n0\n\n" % (size, body), ["Transfer-Encoding: chunked"])
        self.assert_refused(chunked, 400)
        self.assert_refused(family.post().replace(b"\r\n", b"\n"), 400)
        self.assert_refused(family.post(headers=["A: b\rc"]), 400)
        self.assert_refused(family.post(headers=["A: b\0c"]), 400)
        self.assert_refused(family.post().replace(b"Host: test\r\n", b""), 400)

    @each_family
    def test_a_body_in_chunks_is_read(self, family):
        body = family.body()
        chunks = b"".join(b"1\r\n" + body[i : i + 1] + b"\r\n" for i in range(len(body))) + b"0\r\n\r\n"
        self.assert_answer(family, self.first(family.post(chunks, ["Transfer-Encoding: chunked"])))

    @each_family
    def test_expectations(self, family):
        body = family.body()
        head = family.post(body, ["Expect: 100-continue", "Content-Length: %d" % len(body)])[: -len(body)]
        with self.server.client() as client:
            client.send(head)
            self.assertEqual(client.answer().status, 100)
            client.send(body)
            self.assert_answer(family, client.answer())
        for headers, status in ((["Expect: 100-continue", "Content-Length: 104857600"], 413), (["Expect: 200-ok"], 417)):
            answer = self.first(family.post(b"" if status == 413 else body, headers))
            self.assertEqual(answer.status, status)
        old = family.post(body, ["Expect: 100-continue"], version="1.0")
        self.assertEqual(self.first(old).status, 200)

    @each_family
    def test_http_1_0(self, family):
        for headers, stays in (((), False), (["Connection: keep-alive"], True)):
            answer = self.raw(family.post(headers=headers, version="1.0"), closes=not stays)[0]
            self.assert_answer(family, answer)
            self.assertIn("content-length", answer.headers)

    @each_family
    def test_methods(self, family):
        with self.server.client() as client:
            client.send(post(b"x" * 300000, path=family.path).replace(b"POST", b"GET", 1) + get())
            answer = client.answer()
            self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST, OPTIONS"))
            if not answer.closes:
                self.assertEqual(client.answer().status, 200)
        options = get(family.path, ["Origin: http://a", "Access-Control-Request-Method: POST"], method="OPTIONS")
        answer = self.first(options)
        self.assertEqual(answer.status, 204)
        self.assertIn("POST", answer.headers["allow"])
        self.assertFalse([name for name in answer.headers if name.startswith("access-control")])
        self.assertIn(self.first(get(family.path, method="BREW")).status, (400, 501))

    @each_family
    def test_codings(self, family):
        packed = gzip.compress(family.body())
        self.assert_answer(family, self.first(family.post(packed, ["Content-Encoding: gzip"])))
        for coding in ("br", "gzip, gzip"):
            answer = self.first(family.post(packed, ["Content-Encoding: " + coding]))
            self.assertEqual((answer.status, answer.headers["accept-encoding"]), (415, "gzip, deflate"))
        self.assert_answer(family, self.first(family.post(headers=["Content-Encoding: identity"])))
        answer = self.first(family.post(headers=["Accept-Encoding: gzip"]))
        body = gzip.decompress(answer.body) if answer.headers.get("content-encoding") == "gzip" else answer.body
        self.assertEqual(family is V2, body is not answer.body)
        self.assertIn(b"8.5", body)

    @each_family
    def test_content_types(self, family):
        for kind in ("application/json; charset=utf-8", "Application/JSON", None):
            self.assert_answer(family, self.first(family.post(content_type=kind)))
        for kind in ("text/plain", "multipart/form-data", "application/json; charset=utf-16"):
            answer = self.first(family.post(content_type=kind))
            self.assertEqual(answer.status, 415 if family.path == "/predict" else 200, kind)

    @each_family
    def test_paths(self, family):
        last = family.path.rindex("/") + 1
        escaped = family.path[:last] + "%%%02x" % ord(family.path[last]) + family.path[last + 1 :]
        for path, status in (
            (escaped, 200), (family.path + "?x=1", 200), ("http://h" + family.path, 200), ("/" + family.path, 404),
            ("/x/.." + family.path, 404), (family.path + "%00", 400), (family.path + "%zz", 400),
            (family.path.replace("demo", "a%2Fb"), 200 if family.path == "/predict" else 404),
        ):
            answer = self.first(post(family.body(), path=path))
            self.assertEqual(answer.status, status, path)
        self.assertIn(self.first(post(family.body(), path=family.path + "\xe9")).status, (400, 404))

    def test_the_colon_of_v1_may_be_escaped(self):
        answer = self.first(post(FAMILIES[1].body(), path="/v1/models/demo%3Apredict"))
        self.assertEqual(answer.status, 200)

    @each_family
    def test_large_heads(self, family):
        self.assert_refused(family.post(headers=["A: " + "b" * 65536]), 431)
        self.assert_refused(post(family.body(), path=family.path + "?" + "b" * 65536), 414)
        self.assert_refused(family.post(headers=["a:b"] * 100000), 431)


if __name__ == "__main__":
    unittest.main()
