"""Clients that people really use, as far as this machine has them."""

import gzip
import http.client
import json
import os
import subprocess
import unittest
import urllib.request

import reference
from harness import ALL, ServerCase, tool
from wire import ANSWER, BODY


class Clients(ServerCase):
    OPTIONS = {"max_concurrency": 256}

    @classmethod
    def model(cls):
        return reference.demo()

    def url(self, path="/predict"):
        return "http://%s:%d%s" % (self.server.host, self.server.port, path)

    def call(self, *command, data=None):
        result = subprocess.run(command, input=data, capture_output=True, timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result.stdout

    def curl(self, *arguments, data=None):
        return self.call("curl", "-sS", "--max-time", "20", *arguments, data=data)

    def body_file(self, data):
        path = os.path.join(self.server.folder, "body")
        with open(path, "wb") as file:
            file.write(data)
        return path

    @tool("curl")
    def test_curl_as_people_type_it(self):
        text = BODY.decode()
        self.assertEqual(json.loads(self.curl("-d", text, self.url()))["predictions"], ANSWER)
        self.assertEqual(json.loads(self.curl("--json", text, self.url()))["predictions"], ANSWER)
        self.assertEqual(json.loads(self.curl("-0", "-d", text, self.url()))["predictions"], ANSWER)
        chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json")
        self.assertEqual(json.loads(self.curl(*chunked, "-d", text, self.url()))["predictions"], ANSWER)

    @tool("curl")
    def test_curl_waits_for_no_interim_answer(self):
        rows = json.dumps({"instances": [[1, 2, 3, 4]] * 8000}).encode()
        out = self.curl(
            "-H", "Expect: 100-continue", "--data-binary", "@" + self.body_file(rows), "-o", "/dev/null", "-w",
            "%{http_code} %{time_total}", self.url(),
        )
        code, seconds = out.decode().split()
        self.assertEqual(code, "200")
        self.assertLess(float(seconds), 5.0)

    @tool("curl")
    def test_curl_with_gzip_head_and_many_urls(self):
        packed = self.body_file(gzip.compress(BODY))
        headers = ("-H", "Content-Type: application/json", "-H", "Content-Encoding: gzip")
        self.assertEqual(json.loads(self.curl(*headers, "--data-binary", "@" + packed, self.url()))["predictions"], ANSWER)
        self.assertIn(b"200 OK", self.curl("-I", self.url("/health/live")))
        out = self.curl("-w", "%{num_connects} ", "-o", "/dev/null", self.url("/health"), "-o", "/dev/null", self.url("/health"))
        self.assertEqual(out.split(), [b"1", b"0"])

    def test_the_python_library_on_one_connection(self):
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=20)
        for _ in range(20):
            connection.request("POST", "/predict", BODY, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self.assertEqual(json.loads(answer.read())["predictions"], ANSWER)
        connection.request("POST", "/predict", iter([BODY[:9], BODY[9:]]), {"Content-Type": "application/json"}, encode_chunked=True)
        self.assertEqual(json.loads(connection.getresponse().read())["predictions"], ANSWER)
        connection.close()
        with urllib.request.urlopen(urllib.request.Request(self.url(), BODY), timeout=20) as answer:
            self.assertEqual(json.loads(answer.read())["predictions"], ANSWER)

    def load(self, *command):
        before = self.server.metrics().total("weir_requests_total", code=200, route="/predict")
        out = self.call(*command).decode()
        after = self.server.metrics().total("weir_requests_total", code=200, route="/predict")
        self.assertGreater(after - before, 100, out)
        return out

    @tool("ab")
    @unittest.skipUnless(ALL, "only with ./dev test all")
    def test_ab_with_and_without_keep_alive(self):
        path = self.body_file(BODY)
        for flags in ((), ("-k",)):
            out = self.load("ab", "-q", *flags, "-n", "2000", "-c", "16", "-p", path, "-T", "application/json", self.url())
            self.assertRegex(out, r"Complete requests: +2000")
            self.assertNotIn("Non-2xx", out)

    @tool("h2load")
    @unittest.skipUnless(ALL, "only with ./dev test all")
    def test_h2load_in_its_http_1_mode(self):
        out = self.load("h2load", "--h1", "-n", "2000", "-c", "16", "-d", self.body_file(BODY), self.url())
        self.assertIn("2000 succeeded", out)

    @tool("wrk")
    @unittest.skipUnless(ALL, "only with ./dev test all")
    def test_wrk_without_an_error(self):
        script = os.path.join(self.server.folder, "post.lua")
        with open(script, "w", encoding="ascii") as file:
            file.write("wrk.method='POST'\nwrk.body='%s'\nwrk.headers['Content-Type']='application/json'\n" % BODY.decode())
        out = self.load("wrk", "-t1", "-c64", "-d5s", "-s", script, self.url())
        self.assertNotIn("Non-2xx", out)
        self.assertNotIn("Socket errors", out)
