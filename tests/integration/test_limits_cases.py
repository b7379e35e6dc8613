"""What one client can make the server hold or do: memory, turns of the loop, connections, moments of the shutdown."""

import gzip
import os
import signal
import socket
import tempfile
import threading
import time
import unittest

import reference
from harness import Client, Server, eventually, run_weir
from test_batching_cases import ask_wide, wait_busy
from wire import ANSWER, BODY

RAW = "application/octet-stream"
MIB = 1024 * 1024


class Memory(unittest.TestCase):
    def test_rows_of_a_request_are_bounded(self):
        with Server(reference.demo(), max_request_rows=100) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]] * 100).status, 200)
            for body, content_type in ((b'{"instances":[%s]}' % b",".join([b"[1,2,3,4]"] * 101), "application/json"),
                                       (b"\0" * (16 * 101), RAW)):
                answer = server.request("POST", "/predict", body, content_type=content_type)
                self.assertEqual(answer.status, 413)
                self.assertIn("more than 100 rows", answer.error)

    def test_an_answer_may_not_be_larger_than_a_body(self):
        with Server(reference.demo(), max_body_bytes=4096) as server:
            answer = server.request("POST", "/predict", gzip.compress(b"\0" * 4096), content_type=RAW,
                                    headers=[("Content-Encoding", "gzip")])
            self.assertEqual(answer.status, 200, "256 rows of three numbers are fewer bytes than the body")
            self.assertEqual(len(answer.body), 256 * 12)

    def test_inflated_bytes_count_and_health_does_not_wait_for_them(self):
        packed = gzip.compress(b'{"instances":[' + b" " * (8 * MIB))
        with Server(reference.demo(), max_inflight_body_bytes=64 * MIB, timeout_ms=60000) as server:
            base = server.resident_bytes()
            clients = [server.client() for _ in range(20)]
            for client in clients:
                client.send(client.head("POST", "/predict", [("Content-Length", str(len(packed) + 1)),
                                                             ("Content-Encoding", "gzip")]) + packed)
            slowest, sent = 0, time.monotonic()
            for _ in range(20):
                began = time.monotonic()
                self.assertEqual(server.request("GET", "/health/live").status, 200)
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.01)
            eventually(lambda: server.metrics().total("weir_requests_total", reason="bytes") > 0, 60,
                       what="bodies over the budget being refused")
            whole = time.monotonic() - sent
            self.assertLess(slowest, max(0.2, whole / 2), whole)
            self.assertLessEqual(server.metrics().total("weir_body_bytes_in_flight"), 64 * MIB)
            self.assertLess(server.resident_bytes() - base, 64 * MIB)
            for client in clients:
                client.close()
            eventually(lambda: server.metrics().total("weir_body_bytes_in_flight") == 0, what="all bytes being given back")


class Turns(unittest.TestCase):
    def test_a_request_of_many_rows_lets_others_take_turns(self):
        with Server(reference.wide(), batch_size=64, timeout_ms=60000, queue_delay_target_ms=60000) as server:
            large = threading.Thread(target=ask_wide, args=(server, 8192))
            large.start()
            wait_busy(server)
            for _ in range(3):
                self.assertEqual(ask_wide(server, 1).status, 200)
            self.assertTrue(large.is_alive(), "the large request was still running")
            large.join()


class Connections(unittest.TestCase):
    def test_clients_of_the_data_port_cannot_use_up_the_ops_port(self):
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        with Server(reference.demo(), max_connections=10, ops_port=port) as server:
            idle = [server.client() for _ in range(30)]
            with Client("127.0.0.1", port) as client:
                self.assertEqual(client.request("GET", "/health/live").status, 200)
            for client in idle:
                client.close()

    def test_an_empty_line_is_no_request(self):
        with Server(reference.demo()) as server:
            for before in (b"", None):
                with server.client() as client:
                    if before is None:
                        self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
                    client.send(b"\r")
                    time.sleep(0.05)
            eventually(lambda: server.metrics().total("weir_connections") == 1)
            metrics = server.metrics()
            self.assertEqual(metrics.total("weir_requests_total", code="499"), 0)
            self.assertLess(metrics.total("weir_request_duration_seconds_sum"), 10)

    def test_half_a_head_after_a_prediction_does_not_count_for_the_model(self):
        with Server(reference.demo()) as server:
            with server.client() as client:
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
                client.send(b"GE")
                time.sleep(0.05)
            eventually(lambda: server.metrics().total("weir_requests_total", code="499", model="") == 1)


class Ending(unittest.TestCase):
    def test_connections_on_their_way_to_other_loops_are_closed_too(self):
        """Under AddressSanitizer a connection that nobody closes is a leak."""
        with Server(reference.demo(), workers=4, drain_delay_ms=0, drain_timeout_ms=0) as server:
            stop = threading.Event()

            def connect():
                while not stop.is_set():
                    try:
                        server.client().close()
                    except OSError:
                        return

            threads = [threading.Thread(target=connect) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.2)
            server.send_signal(signal.SIGTERM)
            server.wait_exit(20)
            stop.set()
            for thread in threads:
                thread.join()

    def test_a_client_that_connected_before_the_end_is_still_served(self):
        with Server(reference.demo(), drain_delay_ms=100) as server:
            early = server.client()
            server.send_signal(signal.SIGTERM)
            server.wait_for("draining")
            early.send(early.message("POST", "/predict", BODY))
            answer = early.answer()
            self.assertEqual((answer.status, answer.json()["predictions"]), (200, ANSWER))
            self.assertTrue(answer.closes)
            server.wait_exit(20)

    def test_signals_are_heard_while_the_model_loads(self):
        with Server(reference.wide(), batch_size=1024, wait="listening") as server:
            server.send_signal(signal.SIGTERM)
            server.wait_for("signal")
            server.wait_exit(20)

    def test_a_fixed_batch_is_kept_and_contradictions_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            reference.write(path, reference.demo_bytes(1, batch=1))
            with Server(path) as server:
                self.assertEqual(server.predict([[1, 2, 3, 4]] * 3).json()["predictions"], ANSWER * 3)
            result = run_weir("serve", path, "--port", "0", "--batch-size", "8")
            self.assertEqual(result.returncode, 3)
            self.assertIn("fixed batch of 1", result.stderr)
