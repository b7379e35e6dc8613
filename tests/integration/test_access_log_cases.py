"""The access log: a line for each request, whatever becomes of it; the file may be renamed, full, or never read."""

import collections
import json
import os
import random
import re
import signal
import tempfile
import threading
import time
import unittest

import reference
from harness import Closed, Server, eventually, run_at_once, run_weir
from test_batching_cases import ask_wide, wait_busy
from wire import BODY, get, post

COMBINED = re.compile(
    r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([^"]*)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"$'
)


def read(path):
    """The objects of a log; every line is one of JSON."""
    with open(path, "rb") as file:
        data = file.read()
    assert not data or data.endswith(b"\n"), data[-200:]
    return [json.loads(line.decode("utf-8")) for line in data.splitlines()]


def counts(page):
    """{(route, code, reason, model, version): requests} of a page of metrics."""
    found = collections.Counter()
    for (name, pairs), value in page.items():
        if name == "weir_requests_total":
            labels = dict(pairs)
            key = tuple(labels[label] for label in ("route", "code", "reason", "model", "version"))
            found[key] += int(value)
    return found


def counts_of_lines(lines):
    return collections.Counter(
        (line["route"], str(line["code"]), line["reason"], line.get("model", ""), str(line.get("version", "")))
        for line in lines
    )


class Logged(unittest.TestCase):
    """A server with an access log in a folder of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-access-")
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "access.log")

    def start(self, **options):
        return Server(options.pop("model", None) or reference.demo(), access_log=options.pop("path", self.path), **options)

    def lines(self, server, count, path=None):
        """The lines, as soon as there are so many; that there are no more is seen later."""
        eventually(lambda: server.metrics().total("weir_access_log_lines_total") >= count, what="%d lines" % count)
        return read(path or self.path)

    def same_as_metrics(self, server, *paths):
        """Stops the server and compares every count but that of scrapes, with all lines of all files."""
        page = server.metrics()
        expected = counts(page)
        server.stop()
        lines = [line for path in paths or (self.path,) for line in read(path)]
        seen = counts_of_lines(lines)
        scrape = ("/metrics", "200", "ok", "", "")
        self.assertGreater(seen.pop(scrape), expected.pop(scrape, 0), "a page does not count its own request")
        self.assertEqual(seen, expected)
        self.assertEqual(page.total("weir_access_log_dropped_total"), 0)
        return lines


class Lines(Logged):
    def test_a_prediction_tells_all_that_is_known(self):
        with self.start(workers=2) as server:
            with server.client() as client:
                before = time.time()
                client.request("POST", "/predict?a=b", BODY, headers=[("X-Request-Id", "a-1")])
                own = client.socket.getsockname()
            line = self.lines(server, 1)[0]
        seen = time.mktime(time.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.%fZ")[:8] + (0,)) - time.timezone
        self.assertLess(abs(seen - before), 3)
        self.assertEqual((line["client"], line["client_port"]), own)
        expected = {
            "method": "POST", "path": "/predict?a=b", "route": "/predict", "code": 200, "reason": "ok", "request_id": "a-1",
            "model": "demo", "version": 1, "rows": 1, "batch_rows": 1, "device": 0, "device_kind": "cpu",
            "bytes_in": len(BODY), "bytes_out": len(b'{"predictions":[[5,6,8.5]]}'),
        }  # fmt: skip
        self.assertEqual({key: line.get(key) for key in expected}, expected)
        parts = [line[name + "_us"] for name in ("read", "queue", "input", "compute", "output", "write")]
        self.assertLessEqual(sum(parts) - 6, line["total_us"])
        self.assertLess(line["total_us"], 5000000)

    def test_every_route_and_refusal_has_its_line(self):
        wants = [
            (post(), "POST", "/predict", 200, "ok"),
            (post(path="/models/demo/predict"), "POST", "/models/{model}/predict", 200, "ok"),
            (post(path="/v1/models/demo:predict"), "POST", "/v1/models/{model}:predict", 200, "ok"),
            (
                post(b'{"inputs":[{"name":"x","shape":[1,4],"datatype":"FP32","data":[1,2,3,4]}]}', path="/v2/models/demo/infer"),
                "POST", "/v2/models/{model}/infer", 200, "ok",
            ),
            (get("/v1/models/demo"), "GET", "/v1", 200, "ok"),
            (get("/v2"), "GET", "/v2", 200, "ok"),
            (get("/openapi.json"), "GET", "/openapi.json", 200, "ok"),
            (get("/health"), "GET", "/health", 200, "ok"),
            (get("/health/ready"), "GET", "/health", 200, "ok"),
            (get("/metrics"), "GET", "/metrics", 200, "ok"),
            (get("/"), "GET", "/", 200, "ok"),
            (get("/", method="OPTIONS"), "OPTIONS", "/", 204, "ok"),
            (get("*", method="OPTIONS"), "OPTIONS", "other", 204, "ok"),
            (get("/nope"), "GET", "other", 404, "not_found"),
            (get("/%zz"), "GET", "other", 400, "bad_request"),
            (get("/predict"), "GET", "/predict", 405, "method"),
            (get("/health", method="BREW"), None, "other", 501, "framing"),
            (post(b"{"), "POST", "/predict", 400, "bad_request"),
            (post(path="/models/no/predict"), "POST", "/models/{model}/predict", 404, "not_found"),
            (post(b"", ["Content-Length: 99999999"]), "POST", "/predict", 413, "too_large"),
            (b"GET / HTTP/1.1\r\n\r\n", None, "other", 400, "framing"),
            (get(headers=["X: " + "a" * 40000]), None, "other", 431, "framing"),
            (get("/" + "a" * 9000), None, "other", 414, "framing"),
        ]  # fmt: skip
        with self.start() as server:
            sizes = []
            for data, *_ in wants:
                with server.client() as client:
                    client.send(data)
                    sizes.append(len(client.answer(no_body=b"OPTIONS" in data[:8]).body))
            lines = self.lines(server, len(wants))
            self.assertEqual([line["bytes_out"] for line in lines][: len(sizes)], sizes)
            for (data, *want), line in zip(wants, lines):
                self.assertEqual([line.get("method"), line["route"], line["code"], line["reason"]], want, data[:80])
                self.assertEqual(line["client"], "127.0.0.1")
                self.assertEqual("path" in line, want[0] is not None)
                is_chosen = want[0] == "POST" and want[3] in ("ok", "too_large", "bad_request")
                self.assertEqual(line.get("model"), "demo" if is_chosen else None)
            self.same_as_metrics(server)

    def test_admin_has_its_lines_too(self):
        with self.start(flags=["--admin-listen", "127.0.0.1:0"]) as server:
            address = next(line for line in server.events("listening") if "listener=admin" in line).split("address=")[1]
            server.port = int(address.rpartition(":")[2])
            self.assertEqual(server.request("GET", "/admin/models").status, 200)
            server.host, server.port = server.address()
            line = self.lines(server, 1)[0]
            self.assertEqual((line["route"], line["path"], line["code"]), ("/admin", "/admin/models", 200))

    def test_a_connections_requests_stand_in_their_order(self):
        with self.start() as server:
            with server.client() as client:
                client.send(b"".join(get("/health/live?n=%d" % number) for number in range(500)))
                for _ in range(500):
                    client.answer()
            paths = [line["path"] for line in self.lines(server, 500)]
        self.assertEqual(paths[:500], ["/health/live?n=%d" % number for number in range(500)])

    def test_hostile_bytes_stay_inside_their_strings(self):
        numbers = random.Random(7)
        texts = [bytes(numbers.randrange(1, 256) for _ in range(numbers.randrange(1, 300))) for _ in range(300)]
        texts += [b'/"}\x00{"a":"', b"/\xff\xfe", b"/\xc2\x9b31m", b"/\\u0000\\", b'/","code":200,"x":"', b"/" + b"\xe2\x82" * 100]
        with self.start() as server:
            for text in texts:
                server.send(b"GET /" + text + b" HTTP/1.1\r\nHost: a\r\nX-Request-Id: " + text + b"\r\nConnection: close\r\n\r\n")
            for text in ('"', "\\", '","code":1,"x":"', "a" * 128, "a" * 129):
                server.request("GET", "/health/live", headers=[("X-Request-Id", text)])
            lines = self.same_as_metrics(server)
        self.assertTrue(all("\n" not in line.get("path", "") for line in lines))
        self.assertIn('","code":1,"x":"', [line.get("request_id") for line in lines])
        self.assertFalse(any(len(line.get("request_id", "")) > 128 for line in lines))

    def test_each_line_has_its_own_client_although_descriptors_come_again(self):
        with self.start(workers=2) as server:
            ports = []
            for number in range(100):
                with server.client() as client, server.client() as other:
                    for which in (client, other, client):
                        which.request("GET", "/health/live?n=%d" % len(ports))
                        ports.append(which.socket.getsockname()[1])
            lines = self.lines(server, len(ports))
            seen = {int(line["path"].split("=")[1]): line["client_port"] for line in lines if "=" in line["path"]}
        self.assertEqual([seen[number] for number in range(len(ports))], ports)

    def test_a_long_target_is_cut(self):
        with self.start() as server:
            server.request("GET", "/" + "é".encode().decode("latin-1") * 1000)
            server.request("GET", "/health/live?" + "a" * 5000)
            lines = self.lines(server, 2)
        self.assertEqual((len(lines[1]["path"]), lines[1]["path_bytes"]), (256, 5013))

    def test_the_combined_format_is_apaches(self):
        with self.start(access_log_format="combined") as server:
            server.request("GET", "/health/live", headers=[("User-Agent", "a \t b"), ("Referer", "http://x/\xe9")])
            server.request("GET", "/nope", version="1.0")
            server.send(b"nonsense\r\n\r\n")
            eventually(lambda: server.metrics().total("weir_access_log_lines_total") >= 3)
            server.stop()
            with open(self.path, encoding="ascii") as file:
                fields = [COMBINED.match(line.rstrip("\n")).groups() for line in file]
        self.assertEqual(fields[0][0], "GET /health/live HTTP/1.1")
        self.assertEqual(fields[0][3:], ("http://x/\\xe9", "a \\x09 b"))
        self.assertEqual((fields[1][0], fields[1][1]), ("GET /nope HTTP/1.0", "404"))
        self.assertEqual((fields[2][0], fields[2][1]), ("-", "400"))

    def test_who_left_has_a_line_with_499(self):
        with self.start(model=reference.wide(), batch_size=256, timeout_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 256))
            blocker.start()
            wait_busy(server)
            with server.client() as client:
                rows = reference.wide_rows(3)
                client.send(client.message("POST", "/predict", rows, content_type="application/octet-stream"))
                eventually(lambda: server.metrics().total("weir_in_flight_requests") >= 2, what="the second request in flight")
                client.reset()
            with server.client() as client:
                client.send(b"GET /health/li")
            blocker.join()
            eventually(lambda: server.metrics().total("weir_requests_total", code="499") == 2)
            gone = [line for line in self.same_as_metrics(server) if line["code"] == 499]
        whole = next(line for line in gone if "path" in line)
        self.assertEqual((whole["path"], whole["rows"], whole["reason"], whole["bytes_out"]), ("/predict", 3, "gone", 0))
        self.assertEqual(whole["bytes_in"], len(reference.wide_rows(3)))
        self.assertTrue(any("path" not in line for line in gone))

    def test_the_bytes_of_an_answer_without_an_end_are_those_of_its_body(self):
        with self.start() as server, server.client() as client:
            client.send(b"GET /ui/events HTTP/1.0\r\n\r\n")  # in HTTP/1.0 a piece has no length before it
            while b"event: points" not in client.left:
                client.read_some()
            server.stop()
            body = client.rest().split(b"\r\n\r\n", 1)[1]
        line = next(line for line in read(self.path) if line["route"] == "/ui")
        self.assertEqual((line["code"], line["reason"], line["bytes_out"]), (200, "ok", len(body)))


def mixed_client(server, seed, seconds):
    """Requests of all kinds until the time is up; some leave in the middle."""
    numbers = random.Random(seed)
    end = time.monotonic() + seconds
    client = server.client()
    while time.monotonic() < end:
        kind = numbers.randrange(12)
        try:
            if kind < 6:
                client.predict([[1, 2, 3, 4]] * numbers.randrange(1, 4))
            elif kind == 6:
                client.request("GET", "/health")
            elif kind == 7:
                client.request("GET", "/nope%d" % numbers.randrange(100))
            elif kind == 8:
                client.request("POST", "/predict", b"[")
            elif kind == 9:
                client.send(post()[: numbers.randrange(1, 80)])
                client.reset()
                client = server.client()
            elif kind == 10:
                client.send(post() * 5)
                client.reset()
                client = server.client()
            else:
                client.send(b"bad\r\n\r\n")
                client.close()
                client = server.client()
        except (OSError, Closed):
            client = server.client()
    client.close()


def settle(server):
    """Waits until every connection but the asking one is gone."""
    try:
        eventually(lambda: server.metrics().total("weir_connections") <= 1, what="no connections")
    except OSError as error:
        raise AssertionError("%s; exit code %s:\n%s" % (error, server.process.poll(), server.log())) from None


class Counts(Logged):
    def test_lines_and_metrics_agree_to_the_last_request_after_mixed_load(self):
        for workers in (1, 3):
            with self.subTest(workers=workers):
                path = self.path + str(workers)
                with self.start(path=path, workers=workers, batch_size=8, max_concurrency=8) as server:
                    run_at_once([lambda seed=seed: mixed_client(server, seed, 1.5) for seed in range(8)])
                    settle(server)
                    lines = self.same_as_metrics(server, path)
                self.assertGreater(len(lines), 300)
                self.assertTrue({200, 400, 404, 499} <= {line["code"] for line in lines})

    def reopened(self, *signals):
        with self.start(workers=2, batch_size=8) as server:
            paths = [self.path]

            def rotate():
                for turn in range(8):
                    time.sleep(0.1)
                    paths.append("%s.%d" % (self.path, turn))
                    os.rename(self.path, paths[-1])
                    server.send_signal(signals[turn % len(signals)])
                    eventually(lambda: os.path.exists(self.path), what="a new file")

            run_at_once([rotate] + [lambda seed=seed: mixed_client(server, seed, 1.2) for seed in range(4)])
            settle(server)
            self.same_as_metrics(server, *paths)
            self.assertEqual(len(server.events("access_log_reopened")), 8)

    def test_a_file_that_is_renamed_is_opened_anew_and_loses_no_line(self):
        self.reopened(signal.SIGUSR1, signal.SIGHUP)

    def test_lines_of_the_last_moment_are_written(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            path = self.path + str(int(number))
            with self.start(path=path) as server:
                with server.client() as client:
                    for _ in range(200):
                        client.predict([[1, 2, 3, 4]])
                    server.stop(number)
                self.assertEqual(len(read(path)), 200)

    def test_a_sample_has_about_its_part_and_a_reload_changes_it(self):
        config = "access_log_sample: %d\naccess_log_format: %s\n"
        with self.start(config=config % (20, "json")) as server:
            with server.client() as client:
                for _ in range(1000):
                    client.request("GET", "/health/live?before")
                self.lines(server, 101)
                with open(server.config_path, "w", encoding="utf-8") as file:
                    file.write(config % (0, "combined"))
                server.send_signal(signal.SIGHUP)
                server.wait_for("reloaded")
                for _ in range(200):
                    client.request("GET", "/health/live?after")
                self.assertEqual(server.metrics().total("weir_access_log_dropped_total"), 0)
            server.stop()  # which writes what there is
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(100 < text.count("/health/live?before") < 320, text.count("/health/live?before"))
        self.assertLessEqual(text.count("/health/live?after"), 1)


class Trouble(Logged):
    def serves(self, server, count=300):
        with server.client() as client:
            slowest = 0
            for _ in range(count):
                began = time.monotonic()
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
                slowest = max(slowest, time.monotonic() - began)
        self.assertLess(slowest, 2)

    def test_a_full_disk_is_told_once_and_counted(self):
        with self.start(path="/dev/full") as server:
            self.serves(server)
            eventually(lambda: server.metrics().total("weir_access_log_dropped_total") >= 300)
            self.serves(server)
            time.sleep(1.2)
            self.serves(server)
            self.assertEqual(server.metrics().total("weir_access_log_lines_total"), 0)
            self.assertEqual(len(server.events("access_log_failed")), 1, server.log())
            self.assertIn("No space left on device", server.events("access_log_failed")[0])

    def test_what_cannot_be_opened_ends_the_start(self):
        for path, text in ((self.folder.name, "Is a directory"), (self.folder.name + "/no/log", "No such file")):
            done = run_weir("serve", reference.demo(), "--port", 0, "--access-log", path)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("cannot open the access log", done.stderr)
            self.assertIn(text, done.stderr)

    def test_a_file_that_is_gone_when_it_is_opened_anew_is_told_and_the_old_one_goes_on(self):
        with self.start() as server:
            self.serves(server, 10)
            moved = self.folder.name + "-moved"
            os.rename(self.folder.name, moved)
            try:
                server.send_signal(signal.SIGUSR1)
                server.wait_for("access_log_not_reopened")
                self.serves(server, 10)
                self.same_as_metrics(server, os.path.join(moved, "access.log"))
            finally:
                os.rename(moved, self.folder.name)

    def test_a_fifo_that_nobody_reads_holds_up_nothing(self):
        os.mkfifo(self.path)
        with self.start() as server:
            with server.client() as client:
                batch = get("/health/live") * 100
                for _ in range(200):
                    client.send(batch)
                    for _ in range(100):
                        client.answer()
            self.serves(server)
            page = server.metrics()
            self.assertGreater(page.total("weir_access_log_dropped_total"), 1000)
            self.assertEqual(len(server.events("access_log_failed")), 1)
            began = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - began, 4)

    def test_a_fifo_hands_lines_to_who_reads(self):
        os.mkfifo(self.path)
        with self.start() as server:
            self.serves(server, 50)
            with open(self.path, "rb") as file:
                lines = [json.loads(file.readline()) for _ in range(50)]
            self.assertEqual({line["path"] for line in lines}, {"/predict"})

    def test_standard_output_is_a_place_too(self):
        with self.start(path="-") as server:
            self.serves(server, 20)
            server.send_signal(signal.SIGUSR1)
            eventually(lambda: server.log().count('"path":"/predict"') == 20)
            lines = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
            self.assertEqual(len([line for line in lines if line["path"] == "/predict"]), 20)

    def test_without_a_log_the_signal_does_nothing_and_the_counters_are_0(self):
        with Server(reference.demo()) as server:
            server.send_signal(signal.SIGUSR1)
            self.serves(server, 5)
            page = server.metrics()
            for name in ("lines", "dropped"):
                self.assertEqual(page[("weir_access_log_%s_total" % name, ())], 0)


if __name__ == "__main__":
    unittest.main()
