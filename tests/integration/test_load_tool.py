"""The load generator counts what really happened: each test is a server that misbehaves in one way."""

import csv
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import onnx_writer
from harness import LOAD, needs

ALONE = True

FOLDER = LOAD.parent / "bench" if LOAD else None
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nwell"


def answer(code, body=b"no", more=b""):
    return b"HTTP/1.1 %d Why\r\nContent-Length: %d\r\n%s\r\n%s" % (code, len(body), more, body)


class Scripted:
    """A server on a free port. For each whole request it calls act(connection, number of the request, request)."""

    def __init__(self, act):
        self.act = act
        self.requests = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        data = b""
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while True:
                    head, blank, rest = data.partition(b"\r\n\r\n")
                    length = 0
                    for line in head.split(b"\r\n"):
                        if line.lower().startswith(b"content-length:"):
                            length = int(line.split(b":")[1])
                    if blank and len(rest) >= length:
                        with self.lock:
                            self.requests.append(head + blank + rest[:length])
                            number = len(self.requests)
                        data = rest[length:]
                        if self.act(connection, number, self.requests[number - 1]) == "close":
                            return
                        continue
                    more = connection.recv(65536)
                    if not more:
                        return
                    data += more
        except OSError:
            pass


def always(data, close=False):
    def act(connection, *unused):
        connection.sendall(data)
        return "close" if close else None

    return act


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@needs(LOAD, "weir-load")
class LoadTool(unittest.TestCase):
    def run_load(self, address, *options, code=0):
        done = subprocess.run(
            [str(LOAD), address, *map(str, options)],
            capture_output=True, timeout=60, encoding="utf-8", check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        if code == 2:
            return done.stderr
        report = json.loads(done.stdout)
        self.assertEqual(report["planned"], report["sent"] + report["unsent_late"], report)
        self.assertEqual(
            report["sent"], report["answered"] + sum(report["errors"].values()) + report["unanswered"], report
        )
        self.assertEqual(report["answered"], sum(report["codes"].values()), report)
        self.assertEqual(report["answered"], report["latency_us"]["all"]["count"], report)
        for name in ("planned", "sent", "answered", "good", "ok_late", "unanswered"):
            self.assertEqual(report[name], sum(part[name] for part in report["classes"]), name)
        return report

    def run_against(self, act, *options, code=0):
        with Scripted(act) as server:
            report = self.run_load(server.address, *options, code=code)
            self.server = server
        return report

    def assert_only_error(self, report, kind):
        """All requests but those of other outcomes ended with this error, and there were some."""
        self.assertGreater(report["errors"][kind], 0, report)
        self.assertEqual({name for name, count in report["errors"].items() if count}, {kind}, report)

    def test_a_closed_loop_keeps_its_connections_and_counts_every_answer(self):
        report = self.run_against(always(OK), "--connections", 8, "--seconds", 0.3)
        self.assertEqual(report["connections_opened"], 8)
        self.assertEqual(set(report["codes"]), {"200"})
        self.assertEqual(report["good"], report["answered"])
        self.assertEqual(report["unanswered"], 0)
        self.assertEqual(report["planned"], len(self.server.requests))
        self.assertAlmostEqual(report["answers_per_s"] * 0.3, report["answered"], delta=1)
        latency = report["latency_us"]["ok"]
        self.assertGreater(latency["p50"], 0)
        self.assertLessEqual(latency["p50"], latency["p99"])
        self.assertLessEqual(latency["p999"], latency["max"])

    def test_the_request_is_what_was_asked_for(self):
        body = b'{"instances":[[1,2]]}' * 5000
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            self.run_against(
                always(OK), "--seconds", 0.05, "--path", "/p?a=1", "--body", file.name, "--content-type", "a/b",
                "--accept", "c/d", "--header", "X-Request-Timeout-Ms: 7",
            )
        self.assertGreater(len(self.server.requests), 0)
        expected = (
            "POST /p?a=1 HTTP/1.1\r\nHost: %s\r\nAccept: c/d\r\nX-Request-Timeout-Ms: 7\r\nContent-Type: a/b\r\n"
            "Content-Length: %d\r\n\r\n" % (self.server.address, len(body))
        )
        for request in self.server.requests:
            self.assertEqual(request, expected.encode() + body)

    def test_requests_of_the_warm_up_are_not_counted(self):
        report = self.run_against(always(OK), "--seconds", 0.1, "--warm-up", 0.2)
        self.assertGreater(len(self.server.requests), report["planned"])

    def test_refusals_have_latencies_of_their_own(self):
        def act(connection, number, request):
            if number % 2 == 0:
                time.sleep(0.02)
            connection.sendall(OK if number % 2 == 0 else answer(503))

        report = self.run_against(act, "--seconds", 0.4)
        self.assertEqual(set(report["codes"]), {"200", "503"})
        self.assertEqual(report["latency_us"]["ok"]["count"], report["codes"]["200"])
        self.assertEqual(report["latency_us"]["refused"]["count"], report["codes"]["503"])
        self.assertGreaterEqual(report["latency_us"]["ok"]["p50"], 20000)
        self.assertLess(report["latency_us"]["refused"]["p50"], report["latency_us"]["ok"]["p50"])
        self.assertEqual(report["good"], report["codes"]["200"])

    def test_late_answers_and_others_are_classes_too(self):
        codes = [504, 400, 429, 204, 200]
        report = self.run_against(
            lambda connection, number, request: connection.sendall(
                answer(codes[number % 5], b"" if codes[number % 5] == 204 else b"x")
            ),
            "--seconds", 0.2,
        )
        self.assertEqual(set(report["codes"]), {"200", "204", "400", "429", "504"})
        counts = {name: latency["count"] for name, latency in report["latency_us"].items()}
        self.assertEqual(counts["late"], report["codes"]["504"])
        self.assertEqual(counts["refused"], report["codes"]["429"])
        self.assertEqual(counts["other"], report["codes"]["400"])
        self.assertEqual(report["good"], report["codes"]["200"])

    def test_a_200_after_the_deadline_is_not_good(self):
        def act(connection, number, request):
            time.sleep(0.03)
            connection.sendall(OK)

        report = self.run_against(act, "--seconds", 0.2, "--deadline-ms", 10)
        self.assertGreater(report["codes"]["200"], 0)
        self.assertEqual(report["good"], 0)

    def test_a_connection_that_closes_without_an_answer_is_an_error(self):
        report = self.run_against(lambda *unused: "close", "--seconds", 0.2, code=1)
        self.assert_only_error(report, "closed")

    def test_a_reset_is_an_error(self):
        def act(connection, number, request):
            reset(connection)
            return "close"

        report = self.run_against(act, "--seconds", 0.2, code=1)
        self.assert_only_error(report, "reset")

    def test_half_an_answer_is_an_error(self):
        for data in (OK[:-1], OK[:30], b"H"):
            with self.subTest(data):
                report = self.run_against(always(data, close=True), "--seconds", 0.1, code=1)
                self.assert_only_error(report, "short")

    def test_what_is_no_answer_is_an_error(self):
        for data in (
            b"HTTX/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n1",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n1",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            OK + b"more",
            b"HTTP/1.1 200 OK\r\nX: " + b"a" * 5000,
        ):
            with self.subTest(data[:60]):
                report = self.run_against(always(data), "--seconds", 0.05, code=1)
                self.assert_only_error(report, "malformed")

    def test_errors_do_not_stop_the_load(self):
        def act(connection, number, request):
            if number % 3 == 0:
                return "close"
            connection.sendall(OK)

        report = self.run_against(act, "--seconds", 0.3, "--connections", 2)
        self.assert_only_error(report, "closed")
        self.assertGreater(report["answered"], report["errors"]["closed"])

    def test_a_server_that_closes_after_each_answer_is_followed(self):
        report = self.run_against(always(answer(200, more=b"Connection: close\r\n"), close=True), "--seconds", 0.2)
        self.assertEqual(sum(report["errors"].values()), 0, report)
        self.assertEqual(report["connections_opened"], report["planned"])

    def test_an_answer_in_single_bytes_is_read_whole(self):
        def act(connection, number, request):
            for at in range(len(OK)):
                connection.sendall(OK[at : at + 1])

        report = self.run_against(act, "--seconds", 0.2)
        self.assertEqual(sum(report["errors"].values()), 0, report)
        self.assertEqual(set(report["codes"]), {"200"})

    def test_interim_answers_are_passed_over(self):
        report = self.run_against(always(b"HTTP/1.1 100 Continue\r\n\r\n" + OK), "--seconds", 0.1)
        self.assertEqual(set(report["codes"]), {"200"})
        self.assertEqual(sum(report["errors"].values()), 0, report)

    def test_requests_without_an_answer_are_counted(self):
        report = self.run_against(
            lambda *unused: None, "--seconds", 0.1, "--drain", 0.1, "--connections", 3, code=1
        )
        self.assertEqual(report["unanswered"], 3)

    def test_nobody_listening_is_an_error_of_connecting(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        report = self.run_load("127.0.0.1:%d" % port, "--seconds", 0.1, code=1)
        self.assert_only_error(report, "connect")

    def test_an_open_loop_offers_its_rate_whatever_the_server_does(self):
        def act(connection, number, request):
            time.sleep(0.1)
            connection.sendall(OK)

        report = self.run_against(act, "--rate", 300, "--seconds", 1.5, "--connections", 400)
        self.assertEqual(report["unsent_late"], 0)
        # 450 are expected; a Poisson count is within six deviations (6 * 21) of that.
        self.assertAlmostEqual(report["planned"], 450, delta=127)
        self.assertEqual(report["answered"], report["planned"])
        self.assertGreaterEqual(report["latency_us"]["ok"]["p50"], 100000)
        self.assertGreater(report["connections_opened"], 8)

    def test_an_open_loop_counts_what_found_no_free_connection(self):
        def act(connection, number, request):
            time.sleep(0.1)
            connection.sendall(OK)

        report = self.run_against(act, "--rate", 300, "--seconds", 1, "--connections", 2)
        self.assertGreater(report["unsent_late"], report["sent"])
        self.assertEqual(report["connections_opened"], 2)

    def test_arrivals_are_those_of_the_seed(self):
        runs = [
            self.run_against(always(OK), "--rate", 200, "--seconds", 0.5, "--seed", seed)["planned"]
            for seed in (5, 5, 6, 7, 8)
        ]
        self.assertEqual(runs[0], runs[1])
        self.assertGreater(len(set(runs)), 1)

    def test_fixed_arrivals_are_as_many_as_the_rate_says(self):
        report = self.run_against(always(OK), "--rate", 200, "--seconds", 1, "--arrivals", "fixed")
        self.assertEqual(report["planned"], 200)

    def test_a_schedule_is_followed_part_by_part(self):
        with tempfile.TemporaryDirectory() as folder:
            series = pathlib.Path(folder) / "series.csv"
            report = self.run_against(
                always(OK), "--schedule", "100/s:200ms, burst 50 in 10ms,0/s:190ms,500/s:0.2s", "--arrivals", "fixed",
                "--series", series, "--series-ms", 100, "--deadline-ms", 1000,
            )
            with open(series, encoding="ascii") as file:
                lines = list(csv.DictReader(file))
        self.assertEqual([int(line["offered"]) for line in lines], [10, 10, 50, 0, 50, 50])
        self.assertEqual([float(line["begin_ms"]) for line in lines], [0, 100, 200, 300, 400, 500])
        self.assertEqual(sum(int(line["good"]) for line in lines), report["good"])
        self.assertEqual(report["planned"], 170)
        self.assertAlmostEqual(report["seconds"], 0.6)

    def test_a_trace_has_a_line_for_every_request(self):
        def act(connection, number, request):
            if number % 4 == 0:
                return "close"
            connection.sendall(answer(503) if number % 4 == 1 else OK)

        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.csv"
            report = self.run_against(act, "--rate", 200, "--seconds", 0.5, "--arrivals", "fixed", "--trace", trace)
            with open(trace, encoding="ascii") as file:
                lines = list(csv.DictReader(file))
        self.assertEqual(len(lines), 100)
        dues = [float(line["due_us"]) for line in lines]
        self.assertEqual(dues, sorted(dues))
        self.assertAlmostEqual(dues[1] - dues[0], 5000, delta=1)
        counts = {status: sum(line["status"] == status for line in lines) for status in ("0", "200", "503")}
        self.assertEqual(counts, {
            "0": sum(report["errors"].values()), "200": report["codes"]["200"], "503": report["codes"]["503"],
        })
        self.assertEqual(sum(line["good"] == "1" for line in lines), report["good"])

    def test_the_distribution_of_the_latencies_is_that_of_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "latency.hgrm"
            report = self.run_against(always(OK), "--seconds", 0.3, "--percentiles", path)
            text = path.read_text(encoding="ascii")
        lines = [list(map(float, line.split()[:3])) for line in re.findall(r"^ +[\d.]+ +[\d.]+ +\d+.*$", text, re.M)]
        shares = [share for _, share, _ in lines]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(shares[-1], 1)
        self.assertEqual(lines[-1][2], report["codes"]["200"])
        for value, share, count in lines:
            self.assertGreaterEqual(count, share * report["codes"]["200"] - 1)
        median_ms = next(value for value, share, _ in lines if share >= 0.5)
        self.assertAlmostEqual(median_ms, report["latency_us"]["ok"]["p50"] / 1000, delta=0.001 + median_ms / 500)
        self.assertIn("Total count    = %12d]" % report["codes"]["200"], text)

    def test_classes_have_their_share_their_heads_and_their_counts(self):
        def act(connection, number, request):
            connection.sendall(answer(503, b'{"reason": "full"}') if b"X-Priority: low" in request else OK)

        report = self.run_against(
            act, "--rate", 1000, "--seconds", 1, "--deadline-ms", 1000, "--connections", 200,
            "--class", "name=much,share=3,priority=high,timeout-ms=30",
            "--class", "name=little,share=1,priority=low,path=/other,deadline-ms=50",
        )
        much, little = report["classes"]
        self.assertEqual((much["name"], little["name"]), ("much", "little"))
        self.assertEqual((much["deadline_ms"], little["deadline_ms"]), (1000, 50))
        # A quarter of about 1000: within six deviations (6 * 14).
        self.assertAlmostEqual(little["planned"], report["planned"] / 4, delta=84)
        self.assertEqual(set(much["codes"]), {"200"})
        self.assertEqual(set(little["codes"]), {"503"})
        self.assertEqual(little["reasons"], {"503 full": little["codes"]["503"]})
        self.assertEqual(report["reasons"], little["reasons"])
        self.assertEqual(report["refused_from_send_us"]["count"], little["codes"]["503"])
        for request in self.server.requests:
            if b"GET /other " in request:
                self.assertIn(b"\r\nX-Priority: low\r\n", request)
                self.assertNotIn(b"X-Request-Timeout-Ms", request)
            else:
                self.assertIn(b"\r\nX-Priority: high\r\n", request)
                self.assertIn(b"\r\nX-Request-Timeout-Ms: 30\r\n", request)

    def test_a_client_that_gives_up_closes_its_connection(self):
        closed = []

        def act(connection, number, request):
            closed.append(connection.recv(100))  # empty: the client has gone
            return "close"

        report = self.run_against(act, "--rate", 50, "--seconds", 0.4, "--give-up-ms", 50, "--drain", 2, code=1)
        self.assertEqual(report["errors"]["gave_up"], report["planned"])
        self.assertEqual(report["unanswered"], 0)
        self.assertEqual(set(closed), {b""})

    def numbers_report(self, change):
        """A server that answers with the rows' first numbers, after `change` was at them."""
        def act(connection, number, request):
            rows = json.loads(request.partition(b"\r\n\r\n")[2])["instances"]
            connection.sendall(answer(200, json.dumps({"predictions": change([[row[0], 0.5] for row in rows])}).encode()))

        with tempfile.TemporaryDirectory() as folder:
            body = pathlib.Path(folder) / "body.json"
            body.write_text('{"instances":[[########,1],[########,2]]}', encoding="ascii")
            return self.run_against(act, "--seconds", 0.2, "--body", body, "--connections", 3)

    def test_each_request_has_numbers_of_its_own_and_answers_are_held_against_them(self):
        report = self.numbers_report(lambda rows: rows)
        self.assertEqual(report["numbers"], {"right": report["codes"]["200"], "wrong": 0})
        numbers = [number for request in self.server.requests for number in re.findall(rb"\[(\d{8}),", request)]
        self.assertEqual(len(numbers), 2 * len(self.server.requests))
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_rows_that_are_missing_swapped_or_of_others_are_found(self):
        for change in (lambda rows: rows[:1], lambda rows: rows[::-1], lambda rows: [[rows[0][0] + 2, 0], rows[1]],
                       lambda rows: rows + rows[:1], lambda rows: []):
            report = self.numbers_report(change)
            self.assertEqual(report["numbers"], {"right": 0, "wrong": report["codes"]["200"]})

    def test_numbers_in_raw_bodies_are_float32(self):
        def act(connection, number, request):
            raw = request.partition(b"\r\n\r\n")[2]
            rows = [raw[at : at + 4] for at in range(0, len(raw), 8)]
            connection.sendall(answer(200, b"".join(row + bytes(8) for row in rows)))

        with tempfile.TemporaryDirectory() as folder:
            body = pathlib.Path(folder) / "body.f32"
            body.write_bytes(b"####\0\0\0\0" * 3)
            report = self.run_against(
                act, "--seconds", 0.2, "--body", body, "--content-type", "application/octet-stream"
            )
        self.assertEqual(report["numbers"], {"right": report["codes"]["200"], "wrong": 0})
        raw = self.server.requests[0].partition(b"\r\n\r\n")[2]
        self.assertEqual(struct.unpack("<6f", raw), (10000000, 0, 10000001, 0, 10000002, 0))

    def test_the_cpu_time_of_a_watched_process_is_told(self):
        report = self.run_against(always(OK), "--seconds", 0.3, "--watch", os.getpid())
        self.assertGreater(report["watched_cpu_ns"], 0)
        self.assertGreater(report["window_answers"], 0)
        self.assertAlmostEqual(
            report["watched_cpu_us_per_answer"], report["watched_cpu_ns"] / 1000 / report["window_answers"], delta=0.01
        )
        self.assertIsNone(self.run_against(always(OK), "--seconds", 0.05)["watched_cpu_ns"])

    def test_what_cannot_be_understood_is_refused(self):
        for options in (
            ["nowhere"], ["127.0.0.1:1", "--seconds", "soon"], ["127.0.0.1:1", "--rate", "-1"], ["127.0.0.1:"],
            ["127.0.0.1:1", "--schedule", "fast"], ["127.0.0.1:1", "--schedule", "5/s:2h"],
            ["127.0.0.1:1", "--schedule", "burst 5"], ["127.0.0.1:1", "--schedule", "5/s:1s,"],
            ["127.0.0.1:1", "--schedule", "5/s:1s", "--rate", "3"], ["127.0.0.1:1", "--arrivals", "never"],
            ["127.0.0.1:1", "--class", "name"], ["127.0.0.1:1", "--class", "colour=red"],
            ["127.0.0.1:1", "--class", "share=0"],
        ):
            with self.subTest(options):
                self.assertIn("load: ", self.run_load(*options, code=2))

    def test_the_bare_server_answers_with_the_size_that_was_asked_for(self):
        process = subprocess.Popen(
            [str(FOLDER / "bare_server"), "--answer-bytes", "123"], stderr=subprocess.PIPE, encoding="utf-8"
        )
        try:
            address = process.stderr.readline().rpartition("address=")[2].strip()
            host, _, port = address.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=10) as client:
                client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12")
                client.sendall(b"345GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                data = b""
                while more := client.recv(65536):
                    data += more
            self.assertEqual(data.count(b"HTTP/1.1 200 OK\r\n"), 2)
            self.assertEqual(data.count(b"\r\n\r\n" + b" " * 123), 2)
            report = self.run_load(address, "--connections", 4, "--seconds", 0.2)
            self.assertEqual(set(report["codes"]), {"200"})
            self.assertEqual(sum(report["errors"].values()), 0)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


def write_passing_model(path):
    """y = x, four columns."""
    ones = onnx_writer.floats([1.0 if row == column else 0.0 for row in range(4) for column in range(4)])
    path.write_bytes(
        onnx_writer.model(
            [onnx_writer.node("MatMul", ["x", "w"], ["y"])], [onnx_writer.tensor("w", [4, 4], ones)],
            [onnx_writer.value("x", ["N", 4])], [onnx_writer.value("y", ["N", 4])],
        )
    )


if __name__ == "__main__":
    unittest.main()
