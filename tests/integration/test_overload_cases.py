"""More than the server can take: refused at once with the reason, and nobody else suffers."""

import subprocess
import threading
import time
import unittest

import reference
from harness import Server, ServerCase, eventually, run_at_once, tool
from test_batching_cases import ask_wide, wait_busy

ALONE = True


class Full(ServerCase):
    OPTIONS = {"batch_size": 64, "max_concurrency": 8, "timeout_ms": 60000, "admission": "fifo"}

    @classmethod
    def model(cls):
        return reference.wide()

    def assert_refusal(self, answer):
        self.assert_error(answer, 503)
        self.assertRegex(answer.headers["retry-after"], r"^[1-9][0-9]*$")
        self.assertGreater(answer.json()["retry_after_ms"], 0)

    def test_the_excess_gets_503_fast_and_keeps_its_connection(self):
        def ask():
            with self.server.client(seconds=60) as client:
                began = time.monotonic()
                answer = client.request(
                    "POST", "/predict", reference.wide_rows(64), content_type="application/octet-stream"
                )
                took = time.monotonic() - began
                again = client.request("GET", "/health/live").status if answer.status == 503 else None
                return answer, took, again

        results = run_at_once([ask] * 100, 120)
        answers = [answer for answer, _, _ in results]
        self.assertEqual({answer.status for answer in answers}, {200, 503})
        self.assertGreaterEqual(sum(answer.status == 200 for answer in answers), 8)
        for answer, _, again in results:
            if answer.status == 503:
                self.assert_refusal(answer)
                self.assertEqual(answer.json()["reason"], "full")
                self.assertFalse(answer.closes)
                self.assertEqual(again, 200)
        refused = sorted(took for answer, took, _ in results if answer.status == 503)
        self.assertLess(refused[len(refused) // 2], 0.5)
        self.assertLess(refused[-1], 1.5)
        self.assertEqual(self.server.metrics().total("weir_in_flight_requests"), 0)

    def test_a_refusal_leaves_the_body_framing_intact(self):
        blockers = [threading.Thread(target=ask_wide, args=(self.server, 512)) for _ in range(8)]
        for blocker in blockers:
            blocker.start()
        eventually(lambda: self.server.metrics().total("weir_in_flight_requests") == 8, 30, "eight slots taken")
        with self.server.client() as client:
            for _ in range(3):
                self.assert_refusal(client.predict([[0.5] * 64] * 20))
            self.assertEqual(client.request("GET", "/health/ready").status, 200)
        for blocker in blockers:
            blocker.join()

    def test_a_body_that_dribbles_holds_no_slot(self):
        clients = [self.server.client() for _ in range(20)]
        try:
            for client in clients:
                client.send(client.head("POST", "/predict", [("Content-Length", "1000")]) + b'{"instances":[[')
            self.assertEqual(ask_wide(self.server, 1).status, 200)
        finally:
            for client in clients:
                client.close()


class Probes(unittest.TestCase):
    def test_probes_are_answered_while_the_server_is_saturated(self):
        with Server(reference.demo(), batch_size=8) as server:
            stop = threading.Event()

            def load():
                while not stop.is_set():
                    try:
                        with server.client() as client:
                            for _ in range(50):
                                client.predict([[1, 2, 3, 4]] * 8)
                    except OSError:
                        pass

            threads = [threading.Thread(target=load, daemon=True) for _ in range(64)]
            for thread in threads:
                thread.start()
            took = []
            end = time.monotonic() + 3.0
            while time.monotonic() < end:
                for path in ("/health/live", "/health/ready", "/metrics"):
                    began = time.monotonic()
                    answer = server.request("GET", path)
                    took.append(time.monotonic() - began)
                    self.assertEqual(answer.status, 200, answer)
            stop.set()
            for thread in threads:
                thread.join()
            self.assertGreater(len(took), 5)
            self.assertLess(sorted(took)[int(0.99 * len(took))], 1.5)

    def test_probes_do_not_wait_behind_a_slow_batch(self):
        with Server(reference.wide(), batch_size=2048, timeout_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 2048))
            blocker.start()
            wait_busy(server)
            worst = 0.0
            probes = 0
            while blocker.is_alive():
                for path in ("/health/live", "/health/ready", "/metrics"):
                    began = time.monotonic()
                    self.assertEqual(server.request("GET", path).status, 200)
                    worst = max(worst, time.monotonic() - began)
                    probes += 1
            blocker.join()
            self.assertGreater(probes, 3)
            self.assertLess(worst, 0.5)


class LoadTool(unittest.TestCase):
    @tool("wrk")
    def test_wrk_sees_no_read_error_under_overload(self):
        with Server(reference.wide(), batch_size=8, max_concurrency=4) as server:
            row = "[" + ",".join(["0.5"] * 64) + "]"
            script = server.folder + "/post.lua"
            with open(script, "w", encoding="ascii") as file:
                file.write('wrk.method="POST"\nwrk.body=\'{"instances":[%s]}\'\n' % ",".join([row] * 8))
                file.write('wrk.headers["Content-Type"]="application/json"\n')
            url = "http://%s:%d/predict" % (server.host, server.port)
            out = subprocess.run(
                ["wrk", "-t1", "-c32", "-d2s", "--timeout", "10s", "-s", script, url],
                capture_output=True, text=True, timeout=60, check=True,
            ).stdout
            self.assertNotIn("Socket errors", out, out)
            self.assertIn("Non-2xx", out, out)
            metrics = server.metrics()
            self.assertGreater(metrics.total("weir_requests_total", code=503), 0)
            self.assertGreater(metrics.total("weir_requests_total", code=200, route="/predict"), 0)


class InFlightBytes(unittest.TestCase):
    def test_bodies_in_flight_are_bounded_in_bytes(self):
        with Server(reference.demo(), max_body_bytes="1MiB", max_inflight_body_bytes="2MiB") as server:
            clients = [server.client() for _ in range(6)]
            try:
                statuses = []
                for client in clients:
                    head = client.head("POST", "/predict", [("Content-Length", str(1000 * 1000))])
                    client.send(head + b'{"instances":[[1,2,3,4]]}' + b" " * 500000)
                for client in clients:
                    if not client.is_open(0.3) or client.left:
                        statuses.append(client.answer(seconds=5).status)
                self.assertGreaterEqual(statuses.count(503), 2, statuses)
                self.assertEqual(set(statuses), {503})
            finally:
                for client in clients:
                    client.close()
            eventually(lambda: server.predict([[1, 2, 3, 4]]).status == 200, what="room for bodies again")
