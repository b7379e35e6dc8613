"""What requests and answers say for those who follow them: traceparent, and Server-Timing."""

import json
import os
import re
import tempfile
import time
import unittest

import reference
from harness import Server, ServerCase, eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = "00-%s-%s-01" % (TRACE, PARENT)
BODY = json.dumps({"instances": [[1, 2, 3, 4]]}).encode()
JSON = ("Content-Type", "application/json")
STAGES = ["parse", "queue", "compute", "encode"]


class Trace(ServerCase):
    @classmethod
    def model(cls):
        return reference.demo()

    def trace(self, given, method="POST", path="/predict", body=BODY):
        return self.server.request(method, path, body, headers=[JSON, ("traceparent", given)]).headers.get("traceparent")

    def test_every_answer_goes_on_with_the_trace(self):
        infer = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}).encode()
        spans = set()
        for arguments in ((), ("POST", "/v2/models/demo/infer", infer), ("POST", "/predict", b"nonsense"), ("GET", "/nowhere", None),
                          ("GET", "/health", None), ("GET", "/metrics", None)):
            match = re.fullmatch("00-%s-([0-9a-f]{16})-01" % TRACE, self.trace(GIVEN, *arguments))
            spans.add(match.group(1))
        self.assertEqual(len(spans), 6)
        self.assertNotIn(PARENT, spans)
        self.assertNotIn("0" * 16, spans)

    def test_what_its_caller_does_not_record_is_not_recorded(self):
        self.assertRegex(self.trace(GIVEN[:-2] + "00"), "-00$")

    def test_without_a_valid_one_there_is_none(self):
        for given in ("", "00-%s-%s" % (TRACE, PARENT), GIVEN.upper(), GIVEN + "-", "ff" + GIVEN[2:], "x" * 5000):
            self.assertIsNone(self.trace(given), given)
        self.assertNotIn("traceparent", self.server.predict([[1, 2, 3, 4]]).headers)
        twice = [JSON, ("traceparent", GIVEN), ("Traceparent", GIVEN.replace("0af7", "1111"))]
        self.assertNotIn("traceparent", self.server.request("POST", "/predict", BODY, headers=twice).headers)

    def test_the_next_request_of_a_connection_has_none(self):
        with self.server.client() as client:
            client.send(client.message("POST", "/predict", BODY, [("traceparent", GIVEN)]))
            self.assertIn(TRACE, client.answer().headers["traceparent"])
            client.send(client.message("POST", "/predict", BODY))
            self.assertNotIn("traceparent", client.answer().headers)


def timing(server, path="/predict", body=BODY, headers=()):
    answer = server.request("POST", path, body, headers=[JSON, *headers])
    if answer.status != 200:
        raise AssertionError(answer)
    text = answer.headers.get("server-timing")
    return text and {name: float(took) for name, took in re.findall(r"(\w+);dur=(\d+\.\d{3})(?:, |$)", text)}


class Timing(unittest.TestCase):
    def test_who_asks_is_told_what_took_how_long(self):
        with Server(reference.demo(), timeout_ms=60000) as server:
            self.assertIsNone(timing(server))
            self.assertIsNone(timing(server, headers=[("X-Server-Timing", "0")]))
            told = timing(server, headers=[("X-Server-Timing", "1")])
            self.assertEqual(list(told), STAGES)
            self.assertGreater(told["parse"], 0)
            self.assertGreater(told["compute"], 0)

    def test_time_that_a_body_takes_to_come_is_in_it(self):
        with Server(reference.demo(), timeout_ms=60000, server_timing="always") as server, server.client() as client:
            message = client.message("POST", "/predict", BODY)
            client.send(message[:-5])
            eventually(lambda: server.metrics().total("weir_body_bytes_in_flight") > 0, what="the body's begin being there")
            time.sleep(0.05)
            client.send(message[-5:])
            found = re.match(r"parse;dur=([\d.]+), queue;dur=[\d.]+, compute;", client.answer().headers["server-timing"])
            self.assertGreaterEqual(float(found.group(1)), 50)

    def test_all_or_nobody(self):
        infer = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}],
                            "parameters": {"binary_data_output": True}}).encode()
        with Server(reference.demo(), timeout_ms=60000, server_timing="always") as server:
            self.assertEqual(list(timing(server)), STAGES)
            self.assertEqual(list(timing(server, "/v1/models/demo:predict")), STAGES)
            self.assertEqual(list(timing(server, "/v2/models/demo/infer", infer, [("Accept-Encoding", "gzip")])), STAGES)
        with Server(reference.demo(), timeout_ms=60000, server_timing="off") as server:
            self.assertIsNone(timing(server, headers=[("X-Server-Timing", "1")]))

    def test_the_access_log_has_the_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "access.log")
            with Server(reference.demo(), timeout_ms=60000, access_log=path) as server:
                for headers in ([("traceparent", GIVEN)], []):
                    server.request("POST", "/predict", BODY, headers=[JSON, *headers])

                def lines():
                    with open(path, encoding="utf-8") as file:
                        found = [json.loads(line) for line in file]
                    return [line.get("trace_id") for line in found if line["route"] == "/predict"]

                eventually(lambda: len(lines()) == 2, what="two lines")
                self.assertEqual(lines(), [TRACE, None])


if __name__ == "__main__":
    unittest.main()
