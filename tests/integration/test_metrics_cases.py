"""The metrics page: closed label sets, every request once, histograms that add up, fast scrapes."""

import math
import random
import signal
import threading
import time
import unittest

import reference
from harness import ALL, Metrics, Server, ServerCase, eventually
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
        for _ in range(20000 if ALL else 2000):
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
        for headers in ((), [("Accept", "text/plain, application/openmetrics-text;q=0.5")]):
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
            "weir_in_flight_requests", "weir_device_info", "weir_parse_seconds", "weir_encode_seconds", "weir_build_info",
            "weir_wasted_compute_seconds_total", "weir_device_fallback", "weir_config_last_reload_success_timestamp_seconds",
            "process_virtual_memory_bytes", "weir_threads",
        ):
            self.assertIn(name, typed)

    def test_openmetrics_is_for_those_who_prefer_it(self):
        self.assertEqual(self.server.predict([[1, 2, 3, 4]]).status, 200)
        prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        answer = self.server.request("GET", "/metrics", headers=[("Accept", prometheus)])
        self.assertEqual(answer.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        page = answer.body.decode()
        self.assertTrue(page.endswith("\n# EOF\n"))
        kinds, last = {}, None
        for line in page.splitlines()[:-1]:
            if line.startswith("# TYPE "):
                _, _, last, kind = line.split()
                self.assertNotIn(last, kinds)
                self.assertFalse(last.endswith("_total"), line)
                kinds[last] = kind
            elif not line.startswith("# HELP "):
                name = line.split("{")[0].split(" ")[0]
                suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}[kinds[last]]
                self.assertIn(name, [last + suffix for suffix in suffixes], line)
                for bound in Metrics.LABEL.findall(line):
                    if bound[0] == "le" and bound[1] != "+Inf":
                        self.assertEqual(repr(float(bound[1])), bound[1], line)  # canonical, as the specification asks
        self.assertEqual(set(kinds), {name[:-6] if name.endswith("_total") else name for name in self.types()})

    def types(self):
        return [line.split()[2] for line in self.page().body.decode().splitlines() if line.startswith("# TYPE ")]

    def test_a_scrape_is_not_counted_as_a_prediction(self):
        self.server.alone()
        before = self.server.metrics()
        head = self.server.request("HEAD", "/metrics")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertGreater(int(head.headers["content-length"]), 1000)
        after = self.server.metrics()
        for name in ("weir_request_duration_seconds_count", "weir_parse_seconds_count", "weir_batch_rows_count"):
            self.assertEqual(after.total(name), before.total(name), name)

    def test_an_answer_is_in_each_stages_histogram_once(self):
        self.server.alone()
        before = self.server.metrics()
        for _ in range(5):
            self.assertEqual(self.server.predict([[1, 2, 3, 4]]).status, 200)
        self.assertEqual(self.server.request("POST", "/predict", b"{").status, 400)
        after = eventually(lambda: self.grown(before, 6), what="six requests to be counted")
        for stage in ("parse", "queue_delay", "encode"):
            name = "weir_%s_seconds" % stage
            self.assertEqual(after.total(name + "_count") - before.total(name + "_count"), 5, name)
        stages = sum(after.total("weir_%s_seconds_sum" % stage) - before.total("weir_%s_seconds_sum" % stage)
                     for stage in ("parse", "queue_delay", "encode"))
        whole = after.total("weir_request_duration_seconds_sum", **{"class": "2xx"}) - before.total(
            "weir_request_duration_seconds_sum", **{"class": "2xx"})
        self.assertTrue(0 < stages < whole, (stages, whole))

    def grown(self, before, count):
        page = self.server.metrics()
        name = "weir_request_duration_seconds_count"
        return page if page.total(name) - before.total(name) >= count else None

    def test_predictions_carry_model_and_version(self):
        self.assertEqual(self.server.predict([[1, 2, 3, 4]]).status, 200)
        page = self.server.metrics()
        self.assertGreater(
            page.total("weir_requests_total", route="/predict", code=200, reason="ok", model="demo", version="1"), 0
        )


class Reloaded(unittest.TestCase):
    check_histograms = Small.check_histograms

    def test_counts_go_on_across_a_reload_and_batches_of_one_row_are_valid(self):
        config = "batch_size: 1\ntimeout_ms: %d\nqueue_delay_target_ms: 60000\n"
        with Server(reference.demo(), config=config % 60000) as server:
            for _ in range(3):
                self.assertEqual(server.predict([[1, 2, 3, 4]] * 3).status, 200)
            before = server.metrics()
            self.assertEqual(before.total("weir_batch_rows_count"), 9)
            with open(server.config_path, "w", encoding="utf-8") as file:
                file.write(config % 50000)
            server.send_signal(signal.SIGHUP)
            server.wait_for("reloaded")
            after = server.metrics()
            self.check_histograms(after)
            for key, value in before.items():
                if key[0].endswith(("_total", "_count", "_sum", "_bucket")):
                    self.assertGreaterEqual(after[key], value, key)
            name = "weir_config_last_reload_success_timestamp_seconds"
            self.assertGreaterEqual(after.total(name), int(before.total(name)))

    def test_computing_for_nobody_is_counted_in_rows_and_in_seconds(self):
        """The client leaves while its batch runs. Whether it was gone before the results were there only the server knows:
        it is tried until that was so."""
        with Server(reference.wide(), batch_size=1024, timeout_ms=60000, queue_delay_target_ms=60000, admission="fifo") as server:

            def is_running():
                page = server.metrics()
                return page.total("weir_in_flight_requests") == 1 and page.total("weir_queued_requests") == 0

            def is_wasted():
                with server.client() as client:
                    body = reference.wide_rows(1024)
                    client.send(client.message("POST", "/predict", body, content_type="application/octet-stream"))
                    eventually(is_running, 60, "the batch on its way")
                    client.reset()
                eventually(lambda: server.metrics().total("weir_in_flight_requests") == 0, 60, "the batch's end")
                return server.metrics().total("weir_wasted_rows_total")

            self.assertEqual(eventually(is_wasted, 60, "rows computed for nothing") % 1024, 0)
            self.assertGreater(server.metrics().total("weir_wasted_compute_seconds_total"), 0)


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
