"""The metrics page: closed label sets, every request once, histograms that add up, fast scrapes."""

import math
import random
import threading
import time
import unittest

import reference
from harness import Metrics, Server, ServerCase, eventually
from test_batching_cases import ask_wide, wait_busy
from wire import BODY, get, post


class Small(ServerCase):
    OPTIONS = {"batch_size": 8, "max_body_bytes": 4096, "body_timeout_ms": 400, "workers": 2}

    @classmethod
    def model(cls):
        return reference.demo()

    def page(self):
        return self.server.request("GET", "/metrics")

    def test_random_paths_methods_and_models_create_no_series(self):
        self.server.request("GET", "/warm-up-404")
        self.server.request("POST", "/v1/models/nope:predict", BODY)
        self.server.send(get(method="BREW", headers=["Connection: close"]))
        before = self.page()
        templates = ["/x%d", "/v1/models/m%d:predict", "/v2/models/m%d/infer", "/predict?a=%d", "/v2/models/demo/versions/%d/infer"]
        numbers = random.Random(5)
        client = self.server.client()
        for _ in range(2000):
            answer = client.request("GET", numbers.choice(templates) % numbers.randrange(10**9))
            if answer.closes:
                client.close()
                client = self.server.client()
        client.close()
        after = self.page()
        grown = len(Metrics.parse(after.body.decode())) - len(Metrics.parse(before.body.decode()))
        self.assertLessEqual(grown, 20)
        self.assertLess(len(after.body), len(before.body) * 1.5 + 2000)

    def test_each_outcome_is_counted_once_under_its_code(self):
        def counts():
            page = self.server.metrics()  # scrapes themselves are left out
            return {
                code: page.total("weir_requests_total", code=code)
                - page.total("weir_requests_total", code=code, route="/metrics")
                for code in page.values("weir_requests_total", "code")
            }

        def growth():
            return {code: count - before.get(code, 0) for code, count in counts().items() if count != before.get(code, 0)}

        before = counts()
        expected = {}

        def expect(client, data, code):
            client.send(data)
            self.assertEqual(client.answer().status, code)
            expected[str(code)] = expected.get(str(code), 0) + 1

        with self.server.client() as client:
            expect(client, post(), 200)
            expect(client, post(b"{"), 400)
            expect(client, get("/nope"), 404)
            expect(client, get("/predict"), 405)
            expect(client, post(content_type="text/plain"), 415)
            expect(client, get(), 200)
        for data, code in (
            (post(b"", ["Content-Length: 100000"]), 413),
            (get(headers=["X: " + "a" * 40000]), 431),
            (post(b"", ["Content-Length: 10"]), 408),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
        ):
            with self.server.client() as client:
                expect(client, data, code)
        eventually(lambda: sum(growth().values()) >= sum(expected.values()), what="all requests to be counted")
        self.assertEqual(growth(), expected)

    def test_a_disconnect_is_counted_once(self):
        before = self.server.metrics().total("weir_requests_total", reason="gone")
        with self.server.client() as client:
            client.send(client.head("POST", "/predict", [("Content-Length", "100")]) + b'{"inst')
            client.reset()
        eventually(
            lambda: self.server.metrics().total("weir_requests_total", reason="gone") == before + 1,
            what="the disconnect to be counted",
        )

    def test_histograms_add_up_under_load(self):
        stop = threading.Event()

        def load():
            with self.server.client(seconds=60) as client:
                while not stop.is_set():
                    client.predict([[1, 2, 3, 4]] * 3)

        threads = [threading.Thread(target=load, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        last = {}
        try:
            for _ in range(100):
                page = self.server.metrics()
                self.check_histograms(page)
                for key, value in page.items():
                    if key[0].endswith(("_total", "_count", "_sum", "_bucket")):
                        self.assertGreaterEqual(value, last.get(key, 0.0), key)
                        last[key] = value
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def check_histograms(self, page):
        series = {}
        for (name, labels), value in page.items():
            if name.endswith("_bucket"):
                rest = tuple(pair for pair in labels if pair[0] != "le")
                bound = dict(labels)["le"]
                series.setdefault((name[:-7], rest), []).append((float(bound.replace("+Inf", "inf")), value))
        self.assertTrue(series)
        for (name, labels), buckets in series.items():
            buckets.sort()
            values = [value for _, value in buckets]
            self.assertEqual(values, sorted(values), name)
            self.assertEqual(buckets[-1][0], math.inf)
            self.assertEqual(values[-1], page[(name + "_count", labels)], name)
            total = page[(name + "_sum", labels)]
            self.assertTrue(math.isfinite(total) and total >= 0, name)

    def test_the_page_is_prometheus_text(self):
        for headers in ((), [("Accept", "application/openmetrics-text")]):
            answer = self.server.request("GET", "/metrics", headers=headers)
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.headers["content-type"].startswith("text/plain; version=0.0.4"))
            self.assertTrue(answer.body.endswith(b"\n"))
        typed = set()
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                name = line.split()[2]
                self.assertNotIn(name, typed)
                typed.add(name)
        for name in (
            "weir_requests_total", "weir_request_duration_seconds", "weir_queue_delay_seconds", "weir_batch_rows",
            "weir_in_flight_requests", "weir_device_info",
        ):
            self.assertIn(name, typed)

    def test_predictions_carry_model_and_version(self):
        self.assertEqual(self.server.predict([[1, 2, 3, 4]]).status, 200)
        page = self.server.metrics()
        self.assertGreater(
            page.total("weir_requests_total", route="/predict", code=200, reason="ok", model="demo", version="1"), 0
        )


class UnderLoad(unittest.TestCase):
    def test_a_scrape_is_fast_while_the_device_is_busy(self):
        with Server(reference.wide(), batch_size=2048, timeout_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 2048))
            blocker.start()
            wait_busy(server)
            took = []
            while blocker.is_alive() and len(took) < 50:
                began = time.monotonic()
                self.assertEqual(server.request("GET", "/metrics").status, 200)
                took.append(time.monotonic() - began)
            blocker.join()
            self.assertLess(sorted(took)[len(took) // 2], 0.1)

    def test_overload_is_counted(self):
        with Server(reference.wide(), batch_size=256, max_concurrency=1, timeout_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 1024))
            blocker.start()
            wait_busy(server)
            for _ in range(3):
                self.assertEqual(ask_wide(server, 1).status, 503)
            blocker.join()
            eventually(
                lambda: server.metrics().total("weir_requests_total", code=503, reason="full", route="/predict") == 3,
                what="three refusals to be counted",
            )
