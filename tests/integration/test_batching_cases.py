"""Batches: nobody pays for another's fault, nobody gets another's answer, and a batch is as full as it can be."""

import struct
import threading
import time
import unittest

import numpy

import reference
from harness import Server, ServerCase, eventually, run_at_once


def wait_busy(server):
    """Waits until a batch runs: something is in flight."""
    eventually(lambda: server.metrics().total("weir_in_flight_requests") >= 1, what="a request in flight")


def near(got, expected):
    return len(got) == len(expected) and all(
        abs(one - other) <= 1e-5 * max(1.0, abs(other)) for one, other in zip(got, expected)
    )


def ask_wide(server, rows, **options):
    with server.client(seconds=60) as client:
        return client.request(
            "POST", "/predict", reference.wide_rows(rows), content_type="application/octet-stream", **options
        )


class SmallModel(ServerCase):
    OPTIONS = {"batch_size": 8, "workers": 2}

    @classmethod
    def model(cls):
        return reference.demo()

    def test_a_bad_request_fails_alone(self):
        bodies = [{"instances": [[index, 1, 2, 3]]} for index in range(8)]
        bodies[2] = {"instances": [[2, 1, 2]]}
        bodies[5] = {"instances": [["x", 1, 2, 3]]}
        for _ in range(50):
            answers = run_at_once([lambda body=body: self.server.request("POST", "/predict", body) for body in bodies])
            for index, answer in enumerate(answers):
                if index in (2, 5):
                    self.assertEqual(answer.status, 400, answer)
                else:
                    self.assertEqual(answer.status, 200, answer)
                    self.assert_near(answer.predictions[0], reference.demo_answer([index, 1, 2, 3]))

    def test_every_answer_belongs_to_its_request(self):
        wrong = []

        def talk(connection):
            with self.server.client(seconds=60) as client:
                for number in range(100):
                    rows = [[connection, number, row, 0.5] for row in range(1 + (connection + number) % 3)]
                    answer = client.predict(rows)
                    if answer.status == 503:
                        continue
                    expected = [reference.demo_answer(row) for row in rows]
                    got = answer.predictions
                    if answer.status != 200 or len(got) != len(expected) or not all(map(near, got, expected)):
                        wrong.append((connection, number, answer))

        results = run_at_once([lambda connection=connection: talk(connection) for connection in range(64)], 120)
        self.assertEqual([result for result in results if result is not None], [])
        self.assertEqual(wrong, [])

    def test_more_rows_than_a_batch_are_split_and_joined_in_order(self):
        answer = self.server.predict([[index, 0, 0, 1] for index in range(20)])
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.predictions, [[index + 1, 1, 2.5] for index in range(20)])

    def test_no_batch_is_larger_than_batch_size(self):
        before = self.server.metrics()
        answers = run_at_once(
            [lambda: self.server.predict([[index, 0, 0, 0] for index in range(5)]) for _ in range(40)]
        )
        for answer in answers:
            self.assertEqual([row[0] for row in answer.predictions], [0, 1, 2, 3, 4])
        after = self.server.metrics()
        rows = after.total("weir_batch_rows_sum") - before.total("weir_batch_rows_sum")
        self.assertEqual(rows, 200)
        over = after.total("weir_batch_rows_count") - after.total("weir_batch_rows_bucket", le="8")
        self.assertEqual(over, 0)

    def test_a_lone_request_does_not_wait_for_company(self):
        with self.server.client() as client:
            client.predict([[1, 2, 3, 4]])
            took = []
            for _ in range(50):
                began = time.monotonic()
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
                took.append(time.monotonic() - began)
        self.assertLess(sorted(took)[25], 0.02)

    def test_the_same_row_has_the_same_numbers_in_every_batch(self):
        row = [0.1, -2.7, 3.3, 1e-3]
        alone = self.server.predict([row]).predictions[0]
        for rows in (2, 3, 7, 8):
            for got in self.server.predict([row] * rows).predictions:
                self.assert_near(got, alone)


class BatchOfOne(unittest.TestCase):
    def test_batch_size_one_works_and_its_histogram_is_valid(self):
        with Server(reference.demo(), batch_size=1, max_queue_delay_us=100000) as server:
            began = time.monotonic()
            answers = run_at_once([lambda: server.predict([[1, 2, 3, 4], [0, 0, 0, 0]]) for _ in range(10)])
            for answer in answers:
                self.assertEqual(answer.predictions, [[5, 6, 8.5], [0, 0, 1.5]])
            self.assertLess(time.monotonic() - began, 5.0)
            metrics = server.metrics()
            self.assertEqual(metrics.total("weir_batch_rows_count"), 20)
            self.assertEqual(metrics.total("weir_batch_rows_sum"), 20)
            self.assertEqual(metrics.total("weir_batch_rows_bucket", le="+Inf"), 20)
            self.assertEqual(metrics.total("weir_batch_rows_bucket", le="1"), 20)


class QueueDelay(unittest.TestCase):
    def test_an_idle_device_waits_as_told_and_not_longer(self):
        with Server(reference.demo(), batch_size=8, max_queue_delay_us=200000) as server:
            with server.client() as client:
                began = time.monotonic()
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
                took = time.monotonic() - began
                self.assertGreater(took, 0.19)
                self.assertLess(took, 1.0)
                began = time.monotonic()
                self.assertEqual(client.predict([[1, 2, 3, 4]] * 8).status, 200)
                self.assertLess(time.monotonic() - began, 0.19)

    def test_requests_inside_the_window_share_a_batch(self):
        with Server(reference.demo(), batch_size=8, max_queue_delay_us=300000, workers=2) as server:
            answers = run_at_once([lambda index=index: server.predict([[index, 0, 0, 0]]) for index in range(8)])
            self.assertEqual([answer.predictions[0][0] for answer in answers], list(range(8)))
            metrics = server.metrics()
            self.assertEqual(metrics.total("weir_batch_rows_sum"), 8)
            self.assertLessEqual(metrics.total("weir_batch_rows_count"), 2)


class SlowModel(ServerCase):
    """A wide model: a batch of 256 rows takes tens of milliseconds, and the time is the model's own."""

    OPTIONS = {"batch_size": 256, "max_concurrency": 512, "timeout_ms": 60000, "workers": 1}

    @classmethod
    def model(cls):
        return reference.wide()

    def test_single_rows_that_wait_for_a_busy_device_share_its_next_batch(self):
        before = self.server.metrics()
        blocker = threading.Thread(target=ask_wide, args=(self.server, 1024))
        blocker.start()
        wait_busy(self.server)
        answers = run_at_once([lambda: ask_wide(self.server, 1) for _ in range(40)])
        blocker.join()
        self.assertEqual({answer.status for answer in answers}, {200})
        after = self.server.metrics()
        rows = after.total("weir_batch_rows_sum") - before.total("weir_batch_rows_sum")
        batches = after.total("weir_batch_rows_count") - before.total("weir_batch_rows_count")
        self.assertEqual(rows, 1024 + 40)
        self.assertLessEqual(batches, 4 + 8)

    def test_a_row_among_others_has_the_answer_it_has_alone(self):
        random = numpy.random.default_rng(3)
        rows = random.standard_normal((300, reference.WIDE_INPUTS)).astype("<f4")

        def ask(part):
            with self.server.client(seconds=60) as client:
                answer = client.request("POST", "/predict", part.tobytes(), content_type="application/octet-stream")
            self.assertEqual(answer.status, 200, answer)
            return numpy.frombuffer(answer.body, "<f4").reshape(-1, reference.WIDE_OUTPUTS)

        together = ask(rows)
        for index in (0, 1, 255, 256, 299):
            numpy.testing.assert_allclose(ask(rows[index : index + 1])[0], together[index], rtol=1e-4, atol=1e-5)

    def test_a_client_that_resets_leaves_nothing_behind(self):
        blocker = threading.Thread(target=ask_wide, args=(self.server, 1024))
        blocker.start()
        wait_busy(self.server)
        body = reference.wide_rows(256)
        clients = [self.server.client() for _ in range(20)]
        for client in clients:
            client.send(client.message("POST", "/predict", body, content_type="application/octet-stream"))
        for client in clients:
            client.reset()
        blocker.join()
        eventually(
            lambda: self.server.metrics().total("weir_in_flight_requests") == 0, 30, "no request in flight any more"
        )
        self.assertEqual(ask_wide(self.server, 1).status, 200)

    def test_raw_and_json_agree(self):
        raw = ask_wide(self.server, 2)
        answer = self.server.predict([[0.5] * reference.WIDE_INPUTS] * 2)
        for got, row in zip(answer.predictions, struct.iter_unpack("<10f", raw.body)):
            self.assert_near(got, list(row), 1e-4)
