"""JSON bodies: grammar, numbers, shapes, and what a refusal says."""

import json
import re
import struct
import time

import reference
from harness import ServerCase

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class JsonCase(ServerCase):
    """The tests of rows in JSON hold on every path that takes them: others set PATH."""

    OPTIONS = {"max_body_bytes": 1024 * 1024, "batch_size": 8}
    PATH = "/predict"

    @classmethod
    def model(cls):
        return reference.demo()

    def ask(self, body):
        if isinstance(body, str):
            body = body.encode()
        return self.server.request("POST", self.PATH, body)

    def refuse(self, body, *texts):
        with self.subTest(body=body[:80]):
            self.assert_error(self.ask(body), 400, *texts)


class Grammar(JsonCase):
    def test_what_follows_the_document_is_refused_with_its_offset(self):
        self.refuse('{"instances":[[1,2,3,4]]}garbage', "25")
        self.refuse('{"instances":[[1,2,3,4]]}{"instances":[[1,2,3,4]]}', "25")
        self.refuse('{"instances":[[1,2,3,4]]} ,', "26")

    def test_white_space_around_the_document_is_fine(self):
        answer = self.ask(' \r\n\t{ "instances" : [ [ 1 , 2\n,3, 4 ] ] } \n')
        self.assertEqual(answer.predictions, [[5, 6, 8.5]])

    def test_words_that_are_not_json_are_refused(self):
        self.refuse('{"instances":[[NaN,2,3,4],[Infinity,2,3,4],[-Infinity,2,3,4]]}')
        for word in ("NaN", "Infinity", "-Infinity", "nan", "inf", "+1", "01", "1.", ".5", "1e", "0x10", "--1", "1e+", "- 1"):
            self.refuse('{"instances":[[1,2,%s,4]]}' % word)

    def test_numbers_outside_float32_are_refused_with_their_place(self):
        self.refuse('{"instances":[[1,2,1e400,4]]}', "row 0", "column 2", "float32 range")
        for number in ("1e39", "3.4028236e38", "-1e400", "1" + "0" * 60):
            self.refuse('{"instances":[[1,2,3,4],[1,%s,3,4]]}' % number, "row 1", "column 1", "float32 range")

    def test_the_largest_float32_passes(self):
        answer = self.ask('{"instances":[[3.4028234e38,0,0,0]]}')
        self.assertEqual(float32(answer.predictions[0][0]), float32(3.4028234e38))
        self.assertEqual(self.ask('{"instances":[[3.4028235e38,0,0,0]]}').status, 200)

    def test_a_number_token_has_a_bound(self):
        self.assertEqual(self.ask('{"instances":[[0.%s,0,0,0]]}' % ("1" * 500)).status, 200)
        self.refuse('{"instances":[[0.%s,0,0,0]]}' % ("1" * 5000))

    def test_a_repeated_member_is_refused_by_name(self):
        self.refuse('{"instances":[[1,2,3,4]],"instances":[[9,9,9,9]]}', "instances")
        self.refuse('{"instances":[[1,2,3,4]],"\\u0069nstances":[[9,9,9,9]]}', "instances")

    def test_deep_nesting_is_refused_quickly(self):
        bodies = [
            b"[" * 200000,
            b'{"instances":' + b"[" * 100000 + b"1" + b"]" * 100000 + b"}",
            b'{"a":' * 100000 + b"1" + b"}" * 100000,
            b'{"instances":' + b"[" * 300 + b"1" + b"]" * 300 + b"}",
            b'{"a":' + b"[" * 1000 + b"1" + b"]" * 1000 + b',"instances":[[1,2,3,4]]}',
        ]
        for body in bodies:
            began = time.monotonic()
            self.refuse(body)
            self.assertLess(time.monotonic() - began, 1.0)
        self.assertTrue(self.server.alive())

    def test_bytes_that_are_not_utf_8_are_refused_and_do_not_come_back(self):
        bodies = [
            b'{"inst\xc0\xafnces":"\xff\xfe","instances":[[1,2,3,4]]}',
            b'{"x":"\xff\xfe","instances":[[1,2,3,4]]}',
            b'{"x\xc0\xaf":1,"instances":[[1,2,3,4]]}',
            b'{"x":"\xed\xa0\x80","instances":[[1,2,3,4]]}',
        ]
        for body in bodies:
            answer = self.ask(body)
            self.assert_error(answer, 400)
            answer.body.decode("utf-8")
        self.assertTrue(self.server.alive())

    def test_broken_strings_are_refused(self):
        for text in ('"\\x"', '"\\u12"', '"a\nb"', '"\\ud800"', "'a'", '"a'):
            self.refuse('{"x":%s,"instances":[[1,2,3,4]]}' % text)

    def test_cut_documents_are_refused(self):
        whole = '{"instances":[[1,2,3,4]]}'
        for cut in range(1, len(whole)):
            self.refuse(whole[:cut])


class Printing(JsonCase):
    def test_every_number_is_json_and_reads_back_to_the_same_float32(self):
        rows = "[[9e-7,0,0,0],[1e6,1e20,-1.5,0],[0.1,16777216,1e-30,0],[-1e-45,123456.789,0,0]]"
        answer = self.ask('{"instances":%s}' % rows)
        self.assertEqual(answer.status, 200)
        expected = [[9e-7, 0, 1.5], [1e6, 1e20, 0], [0.1, 16777216, 1.5], [-1e-45, 123456.789, 1.5]]
        for got_row, row in zip(answer.predictions, expected):
            for got, number in zip(got_row, row):
                self.assertEqual(float32(got), float32(number))
        inner = answer.body.decode().split("[[")[1].split("]]")[0]
        for token in re.split(r"[\[\],\s]+", inner):
            self.assertTrue(NUMBER.fullmatch(token), token)

    def test_an_answer_that_is_not_finite_fails_alone(self):
        answer = self.ask('{"instances":[[0,0,0,0],[3e38,0,0,3e38]]}')
        self.assert_error(answer, 500, "row 1", "column 0")
        self.assertEqual(self.ask('{"instances":[[1,2,3,4]]}').predictions, [[5, 6, 8.5]])


class Members(JsonCase):
    NOT_ROWS = ('{"inputs":[[1,2,3,4]]}',)
    EXTRAS = ('"foo":1', '"foo":{"a":[1,{"b":null}]}', '"signature_name":"x","inputs":[1]', '"Instances":[[9]]')

    def test_an_empty_body_is_refused(self):
        before = self.server.metrics().total("weir_requests_total", code=400)
        self.refuse("")
        self.refuse(" \r\n ")
        with self.server.client() as client:
            client.send(
                b"POST " + self.PATH.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            )
            self.assert_error(client.answer(), 400)
        with self.server.client() as client:
            client.send(b"POST " + self.PATH.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\r\n")
            self.assert_error(client.answer(), 400)
        self.assertEqual(self.server.metrics().total("weir_requests_total", code=400), before + 4)

    def test_a_missing_or_mistyped_member_is_refused_by_name(self):
        for body in ("{}", '{"instances":null}', '{"instances":{}}', '{"instances":"x"}', *self.NOT_ROWS):
            self.refuse(body, "instances")
        for body in ("[]", "null", "5", '"instances"', "[[1,2,3,4]]"):
            self.refuse(body)

    def test_unknown_members_are_ignored(self):
        for extra in self.EXTRAS:
            with self.subTest(extra=extra):
                answer = self.ask('{"instances":[[1,2,3,4]],%s}' % extra)
                self.assertEqual(answer.predictions, [[5, 6, 8.5]])
                answer = self.ask('{%s,"instances":[[1,2,3,4]]}' % extra)
                self.assertEqual(answer.predictions, [[5, 6, 8.5]])

    def test_an_escaped_name_is_the_name(self):
        self.assertEqual(self.ask('{"\\u0069nstances":[[1,2,3,4]]}').predictions, [[5, 6, 8.5]])


class Shapes(JsonCase):
    def test_a_ragged_row_is_named_with_both_widths(self):
        self.refuse('{"instances":[[1,2,3,4],[1,2,3],[1,2,3,4]]}', "row 1", "3", "4")
        self.refuse('{"instances":[[1,2,3,4],[1,2,3,4,5]]}', "row 1", "4")

    def test_wrong_widths_and_depths_are_refused(self):
        for rows in ("[[1,2,3]]", "[[[1,2,3,4]]]", "[1,2,3,4]", "5", "[[1,2,3,4,5]]", "[[1,2],[3,4]]", "[[[1],[2],[3],[4]]]"):
            self.refuse('{"instances":%s}' % rows)

    def test_a_wrong_element_type_is_named_with_its_place(self):
        self.refuse(
            '{"instances":[["1",2,3,4],[true,2,3,4],[null,2,3,4],[{},2,3,4],[[1],2,3,4]]}', "row 0", "column 0"
        )
        for element in ('"1"', "true", "false", "null", "{}", "[1]"):
            self.refuse('{"instances":[[1,2,3,4],[1,2,%s,4]]}' % element, "row 1", "column 2")

    def test_zero_rows_are_refused_and_never_reach_the_engine(self):
        before = self.server.metrics()
        self.refuse('{"instances":[]}', "at least one row")
        self.refuse('{"instances":[[]]}')
        after = self.server.metrics()
        self.assertEqual(after.total("weir_batch_rows_count"), before.total("weir_batch_rows_count"))
        self.assertEqual(after.total("weir_in_flight_requests"), 0)

    def test_a_large_body_of_commas_does_not_hold_up_the_probe(self):
        before = self.server.resident_bytes()
        body = b'{"instances":[[' + b"1," * 450000 + b"1]]}"
        answer = self.server.request("POST", self.PATH, body)
        self.assertEqual(answer.status, 400)
        self.assertLess(self.server.resident_bytes() - before, 8 * 1024 * 1024)

    def test_many_rows_in_one_body_come_back_in_order(self):
        rows = [[index, 1, 2, 3] for index in range(3000)]
        answer = self.ask(json.dumps({"instances": rows}))
        self.assertEqual([row[0] for row in answer.predictions], [index + 3 for index in range(3000)])
