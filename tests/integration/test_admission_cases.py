"""Admission: what will not be in time is refused at once, the least important first, and the work for clients that left is
not done."""

import socket
import threading
import time
import unittest

import reference
from harness import Server, ServerCase, eventually, run_at_once
from test_batching_cases import ask_wide, wait_busy

RAW = "application/octet-stream"


def wide_message(client, rows, headers=()):
    return client.message("POST", "/predict", reference.wide_rows(rows), headers, content_type=RAW)


class Predict(ServerCase):
    """Batches of 64 rows of a model that takes some ten milliseconds for each."""

    OPTIONS = {"batch_size": 64, "max_concurrency": 64, "queue_delay_target_ms": "auto"}

    @classmethod
    def model(cls):
        return reference.wide()

    def ask(self, rows, headers=()):
        with self.server.client(seconds=60) as client:
            began = time.monotonic()
            client.send(wide_message(client, rows, headers))
            return client.answer(), time.monotonic() - began

    def test_what_cannot_be_in_time_is_refused_at_once(self):
        answer, took = self.ask(8192, [("X-Request-Timeout-Ms", "250")])
        self.assert_error(answer, 503, "would take about")
        self.assertEqual(answer.json()["reason"], "deadline")
        self.assertRegex(answer.headers["retry-after"], r"^[1-9][0-9]*$")
        self.assertFalse(answer.closes)
        before = self.server.metrics().total("weir_batch_rows_sum")
        self.assertEqual(self.ask(1)[0].status, 200)
        self.assertEqual(self.server.metrics().total("weir_batch_rows_sum"), before + 1, "no row of it was run")

    def test_deadlines_of_proxies_count_too(self):
        for header in (("grpc-timeout", "250m"), ("x-envoy-expected-rq-timeout-ms", "250")):
            answer, _ = self.ask(8192, [header])
            self.assert_error(answer, 503)
            self.assertEqual(answer.json()["reason"], "deadline")

    def test_malformed_wishes_are_named(self):
        for header, text in ((("X-Priority", "urgent"), "X-Priority"), (("X-Request-Timeout-Ms", "soon"), "X-Request")):
            answer, _ = self.ask(1, [header])
            self.assert_error(answer, 400, text)

    def test_a_queue_over_the_delay_target_refuses(self):
        results = run_at_once([lambda: self.ask(64)[0]] * 24, 60)
        self.assertEqual({answer.status for answer in results}, {200, 503})
        refused = [answer.json()["reason"] for answer in results if answer.status == 503]
        self.assertEqual(set(refused), {"delay_target"})
        self.assertGreaterEqual(sum(answer.status == 200 for answer in results), 3)
        eventually(lambda: self.server.metrics().total("weir_queued_rows") == 0)

    def test_the_estimate_and_its_error_are_in_the_metrics(self):
        self.assertEqual(self.ask(64)[0].status, 200)
        metrics = self.server.metrics()
        self.assertGreater(metrics.total("weir_batch_cost_row_seconds"), 0)
        self.assertGreaterEqual(metrics.total("weir_batch_cost_base_seconds"), 0)
        self.assertGreater(metrics.total("weir_batch_cost_deviation_seconds"), 0)
        self.assertGreater(metrics.total("weir_admission_estimate_error_seconds_count"), 0)


class Priorities(unittest.TestCase):
    def test_low_leaves_half_of_the_slots_to_others(self):
        with Server(
            reference.wide(), batch_size=64, max_concurrency=4, timeout_ms=60000, queue_delay_target_ms=60000
        ) as server:
            blockers = [threading.Thread(target=ask_wide, args=(server, 2048)) for _ in range(2)]
            for blocker in blockers:
                blocker.start()
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 2, 30, "two slots taken")
            with server.client(seconds=60) as low, server.client(seconds=60) as normal:
                low.send(wide_message(low, 1, [("X-Priority", "low")]))
                answer = low.answer()
                self.assertEqual((answer.status, answer.json()["reason"]), (503, "full"))
                data = {"name": "x", "shape": [1, 64], "datatype": "FP32", "data": [0.5] * 64}
                for priority, code in ((3, 503), (2, 200)):  # the body's counts as the header's does
                    body = {"inputs": [data], "parameters": {"priority": priority}}
                    self.assertEqual(low.request("POST", "/v2/models/wide/infer", body).status, code)
                normal.send(wide_message(normal, 1))
                self.assertEqual(normal.answer().status, 200)
            for blocker in blockers:
                blocker.join()


class Leaving(unittest.TestCase):
    def test_a_reset_takes_a_queued_request_out_at_once(self):
        with Server(reference.wide(), batch_size=64, timeout_ms=60000, queue_delay_target_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 4096))
            blocker.start()
            wait_busy(server)
            client = server.client(seconds=60)
            client.send(wide_message(client, 32))
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 2, what="the request being queued")
            client.reset()
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 1, what="its slot being free")
            self.assertTrue(blocker.is_alive(), "the device was still busy with the other request")
            blocker.join()
            self.assertEqual(server.metrics().total("weir_requests_total", reason="gone"), 1)
            self.assertEqual(server.metrics().total("weir_wasted_rows_total"), 0)

    def test_a_closed_client_is_told_from_one_that_only_finished_sending(self):
        with Server(reference.wide(), batch_size=64, timeout_ms=60000, queue_delay_target_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 4096))
            blocker.start()
            wait_busy(server)
            closed, half_closed = server.client(seconds=60), server.client(seconds=60)
            for client in (closed, half_closed):
                client.send(wide_message(client, 1))
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 3, what="both being queued")
            half_closed.socket.shutdown(socket.SHUT_WR)
            closed.close()
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 2, what="the closed one leaving")
            answer = half_closed.answer()
            if answer.status == 100:
                answer = half_closed.answer()
            self.assertEqual(answer.status, 200)
            self.assertEqual(half_closed.rest(), b"")
            blocker.join()


class Fifo(unittest.TestCase):
    def test_without_predictions_only_slots_and_expiry_count(self):
        with Server(reference.wide(), batch_size=64, admission="fifo", timeout_ms=60000) as server:
            results = run_at_once([lambda: ask_wide(server, 64)] * 24, 60)
            self.assertEqual({answer.status for answer in results}, {200})


class Reload(unittest.TestCase):
    def test_the_delay_target_changes_on_sighup(self):
        import signal
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            text = "model_path: %s\nport: 0\nbatch_size: 64\ntimeout_ms: 60000\nqueue_delay_target_ms: %s\n"

            def write(target):
                file.seek(0)
                file.truncate()
                file.write(text % (reference.wide(), target))
                file.flush()

            write(1)
            with Server(flags=["-c", file.name]) as server:
                blocked = run_at_once([lambda: ask_wide(server, 64)] * 8, 60)
                self.assertIn(503, {answer.status for answer in blocked})
                write(60000)
                server.send_signal(signal.SIGHUP)
                server.wait_for("reloaded")
                free = run_at_once([lambda: ask_wide(server, 64)] * 8, 60)
                self.assertEqual({answer.status for answer in free}, {200})
