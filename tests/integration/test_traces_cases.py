"""Traces: what a collector gets, what becomes of requests if it does not take it, and what its faults cost."""

import json
import re
import signal
import socket
import time
import unittest

import reference
from collector import Collector, Nobody
from harness import Server, eventually, run_at_once, run_weir

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, LEFT_OUT = "00-%s-%s-01" % (TRACE, PARENT), "00-%s-%s-00" % (TRACE, PARENT)
BODY = json.dumps({"instances": [[1, 2, 3, 4]]}).encode()
JSON = ("Content-Type", "application/json")
PATIENT = {"timeout_ms": 60000, "queue_delay_target_ms": 60000}
STOP_SECONDS = 8  # the last export has 1.5 s and the thread 0.5; an export that nothing cut short would take 10


def ask(server, *headers, method="POST", path="/predict", body=BODY):
    return server.request(method, path, body, headers=[JSON, *headers])


def counts(server):
    page = server.metrics()
    return [page.total("weir_traces_%s_total" % name) for name in ("exported", "dropped", "failed")]


class Good(unittest.TestCase):
    def spans_of(self, collector, count, seconds=20):
        """Once so many requests came: {trace: {name: span}}."""

        def all_there():
            return sum(span.kind == 2 for span in collector.spans()) >= count

        eventually(all_there, seconds, "%d traced requests" % count)
        traces = {}
        for span in collector.spans():
            name = "request" if span.kind == 2 else span.name
            self.assertNotIn(name, traces.setdefault(span.trace, {}), span)
            traces[span.trace][name] = span
        return traces

    def test_a_prediction_is_four_spans_within_each_other(self):
        with Collector() as collector, Server(reference.demo(), traces_endpoint=collector.url, traces_service="shop", **PATIENT) as server:
            before = time.time_ns()
            answer = ask(server, ("traceparent", SAMPLED), ("X-Request-Id", "q\"7"), path="/predict?secret=1")
            after = time.time_ns()
            self.assertEqual(answer.status, 200)
            (spans,) = self.spans_of(collector, 1).values()
            self.assertEqual(set(spans), {"request", "queue", "batch", "compute"})
            request, queue, batch, compute = (spans[name] for name in ("request", "queue", "batch", "compute"))
            self.assertEqual((request.trace, request.parent), (TRACE, PARENT))
            self.assertEqual(answer.headers["traceparent"], "00-%s-%s-01" % (TRACE, request.id))
            self.assertEqual([queue.parent, batch.parent, compute.parent], [request.id, request.id, batch.id])
            self.assertEqual(len({span.id for span in spans.values()}), 4)
            self.assertTrue(before - 10**7 <= request.start <= queue.start <= queue.end <= batch.start, spans)
            self.assertTrue(batch.start <= compute.start <= compute.end <= batch.end <= request.end <= after + 10**7, spans)
            self.assertEqual((request.name, request.kind, request.status), ("POST /predict", 2, 0))
            self.assertEqual(
                request.attributes,
                {
                    "http.request.method": "POST", "http.route": "/predict", "url.scheme": "http", "url.path": "/predict",
                    "network.protocol.version": "1.1", "http.response.status_code": 200, "weir.reason": "ok",
                    "weir.request_id": "q\"7", "weir.model.name": "demo", "weir.model.version": 1, "weir.rows": 1,
                },
            )
            self.assertEqual(batch.attributes, {"weir.batch.number": batch.attributes["weir.batch.number"], "weir.batch.rows": 1, "weir.device": "cpu:0"})
            self.assertEqual(batch.links, [])
            resource = request.resource
            self.assertEqual(resource["service.name"], "shop")
            self.assertRegex(resource["service.version"], r"^\d+\.\d+")
            self.assertRegex(resource["service.instance.id"], r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
            eventually(lambda: counts(server) == [1, 0, 0], what="the trace to be counted")

    def test_refusals_and_other_paths_of_a_recorded_trace_are_told(self):
        outcomes = {
            "0" * 31 + "1": ("POST", "/predict", b"nonsense", 400, "bad_request", 0),
            "0" * 31 + "2": ("GET", "/nowhere", None, 404, "not_found", 0),
            "0" * 31 + "3": ("GET", "/health/ready", None, 200, "ok", 0),
            "0" * 31 + "4": ("POST", "/v2/models/demo/infer", b"{}", 400, "bad_request", 0),
            "0" * 31 + "5": ("BREW", "/predict", None, 400, "framing", None),  # no HTTP: there is no request to tell of
        }
        with Collector() as collector, Server(reference.demo(), traces_endpoint=collector.url, traces_sample=0, **PATIENT) as server:
            for trace, (method, path, body, code, _, _) in outcomes.items():
                answer = ask(server, ("traceparent", "00-%s-%s-01" % (trace, PARENT)), method=method, path=path, body=body)
                self.assertIn(answer.status, (code, 501))
            traces = self.spans_of(collector, 4)
            for trace, (method, path, _, code, reason, status) in outcomes.items():
                if status is None:
                    self.assertNotIn(trace, traces)
                    continue
                self.assertEqual(list(traces[trace]), ["request"])
                span = traces[trace]["request"]
                self.assertEqual((span.attributes["http.response.status_code"], span.attributes["weir.reason"]), (code, reason))
                self.assertEqual((span.status, span.attributes["url.path"]), (status, path))
            self.assertEqual(traces["0" * 31 + "2"]["request"].name, "GET")

    def test_one_that_is_too_late_is_an_error_with_its_time_in_the_queue(self):
        with Collector() as collector, Server(
            reference.demo(), traces_endpoint=collector.url, max_queue_delay_us=1000000, admission="fifo"
        ) as server:
            answer = ask(server, ("traceparent", SAMPLED), ("X-Request-Timeout-Ms", "300"))
            self.assertEqual(answer.status, 504)
            (spans,) = self.spans_of(collector, 1).values()
            request = spans["request"]
            self.assertEqual((request.status, request.attributes["error.type"], request.attributes["weir.reason"]), (2, "504", "deadline"))
            self.assertTrue(request.start <= spans["queue"].start <= spans["queue"].end <= request.end, spans)

    def test_a_client_that_left_is_told(self):
        with Collector() as collector, Server(reference.demo(), traces_endpoint=collector.url, **PATIENT) as server:
            with server.client() as client:
                client.send(client.head("POST", "/predict", [("Content-Length", "100"), ("traceparent", SAMPLED)]) + b'{"inst')
                client.reset()
            (spans,) = self.spans_of(collector, 1).values()
            self.assertEqual((spans["request"].status, spans["request"].attributes["error.type"]), (2, "gone"))
            self.assertNotIn("http.response.status_code", spans["request"].attributes)

    def test_the_callers_flag_decides_and_the_ratio_for_the_rest(self):
        with Collector() as collector, Server(reference.demo(), traces_endpoint=collector.url, traces_sample=100, **PATIENT) as server:
            self.assertRegex(ask(server, ("traceparent", LEFT_OUT)).headers["traceparent"], "-00$")
            mine = ask(server).headers["traceparent"]
            server.request("GET", "/health")  # of those without a trace only predictions are drawn
            ask(server, ("traceparent", SAMPLED))
            traces = self.spans_of(collector, 2)
            self.assertEqual(set(traces), {TRACE, mine[3:35]})
            self.assertRegex(mine, "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$")
            self.assertIsNone(traces[mine[3:35]]["request"].parent)
            eventually(lambda: counts(server) == [2, 0, 0], what="two traces")

    def test_a_tenth_is_about_a_tenth(self):
        with Collector() as collector, Server(reference.demo(), traces_endpoint=collector.url, traces_sample=10, **PATIENT) as server:
            with server.client() as client:
                told = sum("traceparent" in client.predict([[1, 2, 3, 4]]).headers for _ in range(2000))
            self.assertTrue(120 <= told <= 290, told)  # six standard deviations
            eventually(lambda: counts(server) == [told, 0, 0], 30, "%d traces" % told)
            self.assertEqual(len(self.spans_of(collector, told)), told)

    def test_requests_of_one_batch_link_to_each_other(self):
        with Collector() as collector, Server(
            reference.demo(), traces_endpoint=collector.url, batch_size=4, max_queue_delay_us=1000000, **PATIENT
        ) as server:
            headers = [("traceparent", "00-%032x-%s-01" % (number, PARENT)) for number in range(1, 5)]
            answers = run_at_once([lambda header=header: ask(server, header) for header in headers])
            self.assertEqual([answer.status for answer in answers], [200] * 4)
            traces = self.spans_of(collector, 4)
            batches = {}
            for spans in traces.values():
                batches.setdefault(spans["batch"].attributes["weir.batch.number"], []).append(spans)
            for together in batches.values():
                for spans in together:
                    others = {(other["request"].trace, other["request"].id) for other in together if other is not spans}
                    self.assertEqual(len(set(spans["batch"].links)), len(spans["batch"].links))
                    self.assertLessEqual(set(spans["batch"].links), others)
                    self.assertEqual(spans["batch"].attributes["weir.batch.rows"], len(together))
                # one of two is linked to the other at least once, in whichever export they went
                linked = sum(len(spans["batch"].links) for spans in together)
                self.assertGreaterEqual(linked, len(together) * (len(together) - 1) // 2)
            self.assertLess(len(batches), 4)

    def test_what_is_there_at_the_stop_still_goes_out(self):
        with Collector() as collector:
            with Server(reference.demo(), traces_endpoint=collector.url, traces_sample=100, **PATIENT) as server:
                with server.client() as client:
                    for _ in range(530):  # more than one export
                        client.predict([[1, 2, 3, 4]])
            self.assertEqual(sum(span.kind == 2 for span in collector.spans()), 530)

    def test_a_reload_changes_the_sample(self):
        with Collector() as collector:
            config = "traces_endpoint: %s\ntraces_sample: %d\ntimeout_ms: 60000\n"
            with Server(reference.demo(), config=config % (collector.url, 0)) as server:
                self.assertNotIn("traceparent", ask(server).headers)
                with open(server.config_path, "w", encoding="utf-8") as file:
                    file.write(config % (collector.url, 100))
                server.send_signal(signal.SIGHUP)
                server.wait_for("reloaded")
                eventually(lambda: "traceparent" in ask(server).headers, what="traced predictions")

    def test_only_plain_http_is_taken(self):
        for url, said in (
            ("https://collector:4318", "TLS"), ("collector:4318", "form http://"), ("http://", "form http://"),
            ("http://a b", "may not"), ("http://c:0", "port"), ("http://c:65536/x", "port"), ("http://c:4318x", "port"),
            ("http://user@c", "may not"), ("http://[::1", "form http://"),
        ):
            result = run_weir("check", reference.demo(), "--traces-endpoint", url)
            self.assertEqual(result.returncode, 2, (url, result))
            self.assertIn(said, result.stderr + result.stdout, url)
        for url in ("http://c", "http://[::1]:4318", "http://10.0.0.1/otlp/v1/traces"):
            self.assertIn(url, run_weir("check", reference.demo(), "--traces-endpoint", url).stdout)


class Kept(unittest.TestCase):
    """Collectors that keep the connection open behind their answer."""

    def check(self, text):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            endpoint = "http://127.0.0.1:%d" % listener.getsockname()[1]
            with Server(reference.demo(), traces_endpoint=endpoint, traces_sample=100, **PATIENT) as server:
                self.assertEqual(ask(server).status, 200)
                listener.settimeout(40)
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(40)
                    request = b""
                    while b"\r\n\r\n" not in request or len(request.partition(b"\r\n\r\n")[2]) < int(
                        re.search(rb"(?i)content-length: (\d+)", request).group(1)
                    ):
                        request += connection.recv(65536)
                    connection.sendall(text)
                    began = time.monotonic()
                    self.assertEqual(connection.recv(1), b"", "it knows that this is all")
                    self.assertLess(time.monotonic() - began, 8, "it waited for more, which it does for 10 s")
                eventually(lambda: counts(server) == [1, 0, 0], what="the trace to be counted")

    def test_an_answer_without_content(self):
        self.check(b"HTTP/1.1 204 No Content\r\n\r\n")

    def test_an_answer_in_chunks(self):
        self.check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")


class Bad(unittest.TestCase):
    """A collector at its worst: requests are answered all the same, what is lost is counted, the stop is in time."""

    def run_beside(self, url, requests=40, until=None, expect_log="traces_failed"):
        options = dict(traces_endpoint=url, traces_sample=100, **PATIENT)
        with Server(reference.demo(), **options) as server:
            with server.client() as client:
                for _ in range(requests):
                    self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
            if until:
                eventually(lambda: until(*counts(server)), 40, "the counts")
            if expect_log:
                server.wait_for(expect_log, 40)
            began = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - began, STOP_SECONDS)
            return server

    def test_nobody_is_there(self):
        with Nobody() as nobody:
            self.run_beside(nobody.url, until=lambda exported, dropped, failed: (exported, failed) == (0, 40))

    def test_it_takes_connections_and_never_answers(self):
        with Nobody(backlog=8) as silent:
            self.run_beside(silent.url, expect_log=None)
        with Collector(always="hang") as collector:
            self.run_beside(collector.url, expect_log=None)

    def test_no_connection_is_taken(self):
        with Nobody(backlog=0) as full:
            waiting = [socket.socket() for _ in range(8)]
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(full.socket.getsockname())
            self.run_beside(full.url, expect_log=None)
            for one in waiting:
                one.close()

    def test_it_is_busy_and_then_takes_them(self):
        for status in (429, 502, 503, 504):
            with Collector(answers=[(status, {"Retry-After": "0"}, b"later")]) as collector:
                self.run_beside(collector.url, until=lambda exported, dropped, failed: exported == 40, expect_log=None)
                self.assertGreaterEqual(collector.requests, 2)

    def test_it_says_when_to_come_again(self):
        with Collector(answers=[(503, {"Retry-After": "2"}, b"")]) as collector:
            self.run_beside(collector.url, until=lambda exported, dropped, failed: exported == 40, expect_log=None)
            self.assertGreaterEqual(collector.times[1] - collector.times[0], 2)

    def test_retries_have_an_end(self):
        with Collector(always=(503, {"Retry-After": "0"}, b"")) as collector:
            self.run_beside(collector.url, until=lambda exported, dropped, failed: (exported, failed) == (0, 40))

    def test_what_it_refuses_is_not_sent_again(self):
        for answer in ((400, {}, b"no"), (413, {}, b""), (301, {"Location": "/"}, b""), (500, {}, b"")):
            with Collector(always=answer) as collector:
                self.run_beside(collector.url, requests=5, until=lambda exported, dropped, failed: failed == 5)
                self.assertLessEqual(collector.requests, 5)

    def test_what_it_says_is_nonsense(self):
        with Collector(always="garbage") as collector:
            self.run_beside(collector.url, until=lambda exported, dropped, failed: (exported, failed) == (0, 40))
        with Collector(always="huge") as collector:
            self.run_beside(collector.url, until=lambda exported, dropped, failed: exported == 40, expect_log=None)

    def test_it_takes_only_a_part(self):
        partial = b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}'
        with Collector(always=(200, {}, partial)) as collector:
            self.run_beside(collector.url, requests=5, until=lambda exported, dropped, failed: exported == 5, expect_log="traces_rejected")

    def test_what_finds_no_room_is_dropped_and_counted(self):
        """The collector hangs: 512 are under way, 2048 wait, the others are dropped, and no request is slower for it."""
        with Collector(always="hang") as collector, Server(
            reference.demo(), traces_endpoint=collector.url, traces_sample=100, **PATIENT
        ) as server:
            with server.client() as client:
                for _ in range(512 + 2048 + 512 + 700):
                    self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
            exported, dropped, failed = counts(server)
            self.assertEqual((exported, failed), (0, 0))
            self.assertGreaterEqual(dropped, 700)
            began = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - began, STOP_SECONDS)


if __name__ == "__main__":
    unittest.main()
