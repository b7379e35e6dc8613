"""Deadlines: each is absolute, none is restarted by a byte, none waits for data to be noticed."""

import socket
import threading
import time
import unittest

import reference
from harness import Server, eventually, run_weir
from test_batching_cases import ask_wide, wait_busy
from wire import BODY, get, post


class Head(unittest.TestCase):
    def test_a_connection_that_says_nothing_is_closed(self):
        with Server(reference.demo(), head_timeout_ms=300, idle_timeout_ms=300) as server, server.client(seconds=3) as client:
            began = time.monotonic()
            self.assertIn(client.rest()[:13], (b"", b"HTTP/1.1 408 "))
            self.assertLess(time.monotonic() - began, 2.0)

    def test_half_a_head_gets_408_without_any_further_byte(self):
        with Server(reference.demo(), head_timeout_ms=300) as server, server.client(seconds=3) as client:
            began = time.monotonic()
            client.send(b"GET /he")
            answer = client.answer()
            took = time.monotonic() - began
            self.assertEqual(answer.status, 408)
            self.assertTrue(answer.closes)
            self.assertEqual(client.rest(), b"")
            self.assertGreater(took, 0.25)
            self.assertLess(took, 1.3)

    def test_a_head_that_dribbles_gets_408_at_the_same_time(self):
        with Server(reference.demo(), head_timeout_ms=600) as server, server.client(seconds=3) as client:
            began = time.monotonic()
            client.socket.settimeout(0.1)
            for byte in get(headers=["X-A: " + "a" * 200]):
                client.send(bytes([byte]))
                try:
                    answer = client.answer()
                    break
                except socket.timeout:
                    pass
            self.assertEqual(answer.status, 408)
            self.assertLess(time.monotonic() - began, 1.6)

    def test_the_head_deadline_starts_anew_with_each_request(self):
        with Server(reference.demo(), head_timeout_ms=300, idle_timeout_ms=5000) as server, server.client() as client:
            self.assertEqual(client.request("GET", "/health/live").status, 200)
            self.assertTrue(client.is_open(0.9))
            self.assertEqual(client.left, b"")
            self.assertEqual(client.request("GET", "/health/live").status, 200)


class Body(unittest.TestCase):
    def test_a_body_that_dribbles_gets_408_at_the_total_deadline(self):
        for options in ({"body_timeout_ms": 500}, {"timeout_ms": 500}):
            with self.subTest(options=options), Server(reference.demo(), **options) as server:
                with server.client() as client:
                    body = BODY + b" " * 600
                    client.send(post(b"", ["Content-Length: %d" % len(body)]))
                    began = time.monotonic()
                    client.socket.settimeout(0.1)
                    for byte in body:
                        client.send(bytes([byte]))
                        try:
                            answer = client.answer()
                            break
                        except socket.timeout:
                            pass
                    took = time.monotonic() - began
                    self.assertEqual(answer.status, 408)
                    self.assertTrue(answer.closes)
                    self.assertGreater(took, 0.4)
                    self.assertLess(took, 1.5)

    def test_a_body_of_an_unknown_route_does_not_last_for_ever(self):
        with Server(reference.demo(), body_timeout_ms=400) as server, server.client(seconds=5) as client:
            client.send(post(b"", ["Content-Length: 100000"], path="/nope"))
            self.assertEqual(client.answer().status, 404)
            began = time.monotonic()
            client.rest()
            self.assertLess(time.monotonic() - began, 3.0)


class Idle(unittest.TestCase):
    def test_an_idle_connection_is_closed_without_a_word(self):
        with Server(reference.demo(), idle_timeout_ms=400) as server, server.client(seconds=5) as client:
            self.assertEqual(client.request("GET", "/health/live").status, 200)
            began = time.monotonic()
            self.assertEqual(client.rest(), b"")
            took = time.monotonic() - began
            self.assertGreater(took, 0.3)
            self.assertLess(took, 1.5)

    def test_requests_just_inside_the_idle_limit_are_all_answered(self):
        with Server(reference.demo(), idle_timeout_ms=400) as server, server.client() as client:
            for _ in range(8):
                self.assertEqual(client.request("GET", "/health/live").status, 200)
                time.sleep(0.2)  # half of the limit under test

    def test_the_default_idle_limit_is_above_that_of_common_proxies(self):
        out = run_weir("check", "--model-path", reference.demo()).stdout
        line = next(line for line in out.splitlines() if "idle_timeout_ms" in line)
        self.assertIn("75000", line)


class Slow(unittest.TestCase):
    """A model whose large request takes far longer than the deadlines asked for here."""

    ROWS = 4096

    @classmethod
    def setUpClass(cls):
        cls.server = Server(
            reference.wide(), batch_size=2048, timeout_ms=60000, max_concurrency=8, admission="fifo"
        )

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.stop()
        finally:
            cls.server.kill()

    def test_504_comes_at_the_deadline_and_the_connection_stays(self):
        wide = reference.wide_rows(self.ROWS)
        with self.server.client(seconds=60) as client:
            began = time.monotonic()
            client.send(
                client.message(
                    "POST", "/predict", wide, [("X-Request-Timeout-Ms", "150")], content_type="application/octet-stream"
                )
            )
            answer = client.answer()
            took = time.monotonic() - began
            self.assertEqual(answer.status, 504, answer)
            error = answer.json()
            self.assertEqual((error["code"], error["reason"]), (504, "deadline"))
            self.assertFalse(answer.closes)
            self.assertGreater(took, 0.14)
            self.assertLess(took, 0.5)
            client.send(
                client.message("POST", "/predict", reference.wide_rows(1), content_type="application/octet-stream")
            )
            self.assertEqual(client.answer().status, 200)
            self.assertEqual(client.left, b"")
            (stats,) = client.request("GET", "/v2/models/wide/stats").json()["model_stats"]
            failed = stats["inference_stats"]["fail"]
            self.assertGreaterEqual(failed["ns"], failed["count"] * 1e8, "the time that the client waited")
        eventually(lambda: self.server.metrics().total("weir_in_flight_requests") == 0, 30, "the late job is home")

    def test_a_job_whose_deadline_passes_in_the_queue_gets_504_and_is_never_run(self):
        blocker = threading.Thread(target=ask_wide, args=(self.server, self.ROWS))
        blocker.start()
        wait_busy(self.server)
        answer = ask_wide(self.server, 3, headers=[("X-Request-Timeout-Ms", "50")])
        self.assertIn(answer.status, (503, 504), answer)
        self.assertEqual(answer.json()["reason"], "deadline")
        blocker.join()
        eventually(lambda: self.server.metrics().total("weir_in_flight_requests") == 0, 30, "all jobs are home")

    def test_the_header_can_only_shorten_the_deadline(self):
        answer = ask_wide(self.server, 1, headers=[("X-Request-Timeout-Ms", "999999999")])
        self.assertEqual(answer.status, 200)
        for text in ("abc", "-1", "1.5", "0", ""):
            with self.subTest(text=text):
                self.assertEqual(ask_wide(self.server, 1, headers=[("X-Request-Timeout-Ms", text)]).status, 400)


class Write(unittest.TestCase):
    def test_a_client_that_does_not_read_is_let_go(self):
        with Server(reference.demo(), write_timeout_ms=500, max_body_bytes="16MiB") as server:
            with server.client(seconds=20) as client:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                body = b'{"instances":[%s]}' % b",".join([b"[0.123456,0.2,0.3,0.4]"] * 100000)
                message = post(body)

                def send():
                    try:
                        for _ in range(8):
                            client.send(message)
                    except OSError:
                        pass

                sender = threading.Thread(target=send)
                sender.start()
                eventually(
                    lambda: server.metrics().total("weir_connections") <= 1, 15, "the connection to be let go"
                )
                sender.join()
            self.assertTrue(server.alive())
