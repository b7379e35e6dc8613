"""The status page without a browser: its files and their headers, its events, its samples, and how it ends. The browser's
part is tests/integration/clients/page.py."""

import json
import pathlib
import re
import signal
import socket
import tempfile
import time
import unittest

import reference
from harness import ROOT, Client, Server, ServerCase, eventually
from versions import Models

DIGITS = ROOT / "models" / "digits"
FILES = {"page.css": "text/css", "page.js": "text/javascript", "plots.js": "text/javascript", "panels.js": "text/javascript",
         "try.js": "text/javascript"}
HTML = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")]
MOST_PAGES = 16


class Events:
    """One open stream of /ui/events."""

    def __init__(self, server, port=None, seconds=20.0, version="1.1"):
        self.client = Client(server.host, port or server.port, seconds=seconds)
        self.version = version
        self.client.send(self.client.head("GET", "/ui/events", [("Accept", "text/event-stream")], version))
        while b"\r\n\r\n" not in self.client.left:
            self.client.read_some()
        self.head, _, self.client.left = self.client.left.partition(b"\r\n\r\n")
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.client.close()

    def piece(self):
        """The next part of the body; b"" at its end."""
        if self.version == "1.0":
            if not self.client.left:
                self.client.read_some()
            out, self.client.left = self.client.left, b""
            return out
        size = int(self.client.line(), 16)
        while len(self.client.left) < size + 2:
            self.client.read_some()
        out, self.client.left = self.client.left[:size], self.client.left[size + 2 :]
        return out

    def next(self, *names):
        """The data of the next event that has one of these names."""
        while True:
            while b"\n\n" not in self.text:
                piece = self.piece()
                if not piece:
                    raise EOFError
                self.text += piece
            event, _, self.text = self.text.partition(b"\n\n")
            lines = event.decode("utf-8").split("\n")
            fields = dict(line.split(": ", 1) for line in lines)
            assert len(lines) == len(fields), event
            if fields.get("event") in names:
                return json.loads(fields["data"])

    def until(self, name, condition):
        """The first event of that name for which the condition holds."""
        while True:
            data = self.next(name)
            if condition(data):
                return data


def connections(server):
    return server.metrics().total("weir_connections")


class Page(ServerCase):
    OPTIONS = {"batch_size": 8, "workers": 2}

    @classmethod
    def model(cls):
        return DIGITS

    def test_the_page_and_its_files_allow_nothing_from_elsewhere(self):
        for path, kind in [("/ui", "text/html"), *(("/ui/" + name, kind) for name, kind in FILES.items())]:
            answer = self.server.request("GET", path)
            self.assertEqual(answer.status, 200, path)
            self.assertEqual(answer.headers["content-type"], kind + "; charset=utf-8")
            self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
            policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            for name in ("script-src", "style-src", "connect-src"):
                self.assertEqual(policy[name], "'self'")
            for name in ("base-uri", "form-action", "frame-ancestors"):
                self.assertEqual(policy[name], "'none'")
            text = answer.body.decode("utf-8").replace("http://www.w3.org/2000/svg", "")  # a name, not an address
            self.assertNotRegex(text, r"https?://|url\(|@import|eval\(|innerHTML *=[^=]")
            self.assertNotRegex(text, r"<(script|style)>| on[a-z]+=| style=")
        self.assertEqual({path.name for path in (ROOT / "server" / "ui").glob("*.*s")}, set(FILES))

    def test_all_of_it_is_small(self):
        size = sum(len(self.server.request("GET", path).body) for path in ["/ui", *("/ui/" + name for name in FILES)])
        self.assertLess(size, 64 * 1024)

    def test_what_the_page_asks_for_is_there(self):
        text = self.server.request("GET", "/ui").body.decode()
        wanted = re.findall(r'(?:src|href)="(ui/[^"]+)"', text)
        for name in FILES:
            wanted += ["ui/" + one for one in re.findall(r'from "\./([^"]+)"', self.server.request("GET", "/ui/" + name).body.decode())]
        self.assertEqual(set(wanted), {"ui/" + name for name in FILES})

    def test_head_options_and_other_methods_are_answered_as_elsewhere(self):
        for path in ("/ui", "/ui/page.js", "/ui/models/digits/samples/0"):
            full = self.server.request("GET", path)
            head = self.server.request("HEAD", path)
            self.assertEqual((head.status, head.body), (200, b""))
            self.assertEqual(head.headers["content-length"], str(len(full.body)))
        for path in ("/ui", "/ui/page.js", "/ui/events", "/ui/models/digits/samples/0"):
            self.assertEqual(self.server.request("OPTIONS", path).headers["allow"], "GET, HEAD, OPTIONS")
            self.assertEqual(self.server.request("POST", path, b"{}").status, 405)
        for path in ("/ui/", "/ui/none.js", "/ui/page.js/", "/ui/models", "/ui/../metrics"):
            self.assertEqual(self.server.request("GET", path).status, 404, path)

    def test_the_head_of_the_stream_can_be_asked_for_alone(self):
        with self.server.client() as client:
            answer = client.request("HEAD", "/ui/events")
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/event-stream"))
            self.assertEqual(client.rest(), b"")

    def test_a_browser_is_led_from_the_root_to_the_page_and_nobody_else(self):
        answer = self.server.request("GET", "/", headers=HTML)
        self.assertEqual((answer.status, answer.headers["location"]), (302, "/ui"))
        self.assertEqual(self.server.request("HEAD", "/", headers=HTML).status, 302)
        for headers in ([], [("Accept", "*/*")], [("Accept", "application/json")], [("Accept", "text/html;q=0")]):
            answer = self.server.request("GET", "/", headers=headers)
            self.assertEqual((answer.status, answer.json()), (200, {"status": "alive"}), headers)

    def test_the_stream_tells_first_what_there_is_and_then_what_happens(self):
        with Events(self.server) as events:
            self.assertIn(b"\r\nContent-Type: text/event-stream\r\n", events.head)
            hello = events.next("hello")
            self.assertEqual((hello["batch_size"], hello["points"]), (8, 900))
            keys = {key["key"]: key for key in events.next("config")["keys"]}
            self.assertEqual((keys["batch_size"]["value"], keys["batch_size"]["origin"]), ("8", "--batch-size"))
            self.assertEqual(keys["idle_timeout_ms"]["origin"], "default")
            model = events.next("models")[0]
            self.assertEqual((model["view"]["name"], model["view"]["versions"][0]["state"]), ("digits", "serving"))
            self.assertEqual(model["serving"]["inputs"][0]["shape"], [-1, 64])
            self.assertEqual(events.next("health")["status"], "ready")
            before = events.next("points")
            after = events.next("points")
            self.assertEqual(after["seq"], before["seq"] + 1)
            self.assertEqual(len(after["t"]), 1)

    def test_every_prediction_is_in_one_point(self):
        row = [0] * 64
        with Events(self.server) as events:
            events.next("points")
            last = events.next("points")["seq"]  # what others asked before is in it
            bodies = [({"instances": [row]}, "ok")] * 30 + [({"instances": [[1]]}, "bad")] * 7
            with self.server.client() as client:
                for body, _ in bodies:
                    client.request("POST", "/predict", body)
            sums = {"ok": 0, "bad": 0, "rows": 0, "batches": 0}
            while sums["ok"] < 30 or sums["bad"] < 7 or sums["batches"] < 30:
                point = events.next("points")
                self.assertEqual(point["seq"], last + 1)
                last = point["seq"]
                for name in sums:
                    sums[name] += point[name][0]
                if point["ok"][0]:
                    self.assertGreater(point["p50_us"][0], 0)
                    self.assertLessEqual(point["p50_us"][0], point["p99_us"][0])
                self.assertEqual(sum(point["batch_rows"][0]), point["batches"][0])
                self.assertIsNone(point["gpu_permille"][0])  # no GPU: absent, not 0
            self.assertEqual(sums, {"ok": 30, "bad": 7, "rows": 30, "batches": 30})
        with Events(self.server) as events:  # who comes later gets the same
            data = events.next("points")
            self.assertGreaterEqual(sum(data["ok"]), 30)
            self.assertEqual(len(data["t"]), min(data["seq"], 900))

    def test_an_old_client_gets_the_stream_too(self):
        with Events(self.server, version="1.0") as events:
            self.assertNotIn(b"chunked", events.head)
            self.assertTrue(events.next("points")["t"] is not None)
            events.next("points")

    def test_a_sample_is_a_body_that_the_model_takes_with_its_known_answer(self):
        first = self.server.request("GET", "/ui/models/digits/samples/0").json()
        for number in range(first["count"]):
            sample = self.server.request("GET", "/ui/models/digits/samples/%d" % number).json()
            self.assertEqual(sample["number"], number)
            answer = self.server.request("POST", "/ui/models/digits/predict", sample["request"], headers=[("X-Server-Timing", "1")])
            self.assertEqual(answer.status, 200)
            self.assertIn("compute;dur=", answer.headers["server-timing"])
            for got, expected in zip(answer.predictions[0], sample["expected"]["predictions"][0]):
                self.assertAlmostEqual(got, expected, delta=1e-5)
        self.assertEqual(self.server.request("GET", "/ui/models/digits/samples/%d" % first["count"]).json()["number"], 0)

    def test_samples_that_are_not_there_are_not_found(self):
        for path, code in (("/ui/models/none/samples/0", 404), ("/ui/models/digits/samples/x", 400),
                           ("/ui/models/digits/samples/99999999999999999999", 404)):
            self.assertEqual(self.server.request("GET", path).status, code, path)
        for version, code in (("stable", 200), ("1", 200), ("2", 404), ("canary", 404), ("1" * 60, 404)):
            answer = self.server.request("GET", "/ui/models/digits/samples/0", headers=[("X-Weir-Version", version)])
            self.assertEqual(answer.status, code, version)

    def test_more_pages_than_a_bound_are_refused_and_a_place_that_is_left_is_free(self):
        self.server.alone()
        pages = []
        try:
            for number in range(MOST_PAGES):
                self.assertTrue(self.open(pages), number)
            answer = self.server.request("GET", "/ui/events")
            self.assertEqual((answer.status, answer.json()["reason"]), (503, "full"))
            self.assertIn("retry-after", answer.headers)
            pages.pop().client.close()
            eventually(lambda: self.open(pages), what="a free place")
        finally:
            for page in pages:
                page.client.close()

    def open(self, pages):
        page = Events(self.server)
        if page.head.startswith(b"HTTP/1.1 200 "):
            pages.append(page)
            return page
        page.client.close()
        return None

    def test_what_a_page_sends_behind_its_request_is_dropped(self):
        with Events(self.server) as events:
            events.client.send(b"GET /health HTTP/1.1\r\n\r\n" * 1000)
            events.next("points")
            events.next("points")

    def test_a_page_that_leaves_gives_its_connection_back(self):
        before = self.server.alone()
        page = Events(self.server)
        eventually(lambda: connections(self.server) == before + 1, what="the page's connection")
        page.client.close()
        eventually(lambda: connections(self.server) == before, what="its end")

    def test_a_stream_is_counted_once_when_it_ends(self):
        def count():
            page = self.server.metrics()
            return page.total("weir_requests_total", route="/ui", code=200), page.total("weir_requests_total", code=499)

        self.server.alone()
        page = Events(self.server)
        page.next("points")
        streams, gone = count()
        page.client.close()
        eventually(lambda: count()[0] > streams, what="the stream's count")
        self.assertEqual(count(), (streams + 1, gone))


class Ends(unittest.TestCase):
    def test_a_drain_ends_the_streams_at_once(self):
        with Server(DIGITS, workers=2, drain_timeout_ms=20000) as server:
            pages = [Events(server) for _ in range(5)]
            for page in pages:
                page.next("points")
            server.send_signal(signal.SIGTERM)
            for page in pages:
                with self.assertRaises(EOFError):
                    page.until("points", lambda data: False)
                self.assertEqual(page.client.rest(), b"")
            server.wait_for("drained")
            self.assertIn("outcome=clean", server.events("drained")[0])
            for page in pages:
                page.client.close()

    def test_while_it_leaves_the_page_says_so(self):
        with Server(DIGITS, drain_delay_ms=60000) as server:
            with Events(server) as events:
                events.next("health")
                server.send_signal(signal.SIGTERM)
                self.assertEqual(events.until("health", lambda data: data["status"] != "ready")["reasons"], ["draining"])
                server.stop(signal.SIGTERM)  # the second one ends it

    def test_a_page_that_does_not_read_is_dropped_and_holds_up_nobody(self):
        config = "models:\n" + "".join("  model-%02d-%s: %s\n" % (i, "x" * 40, DIGITS) for i in range(64))
        with Server(config=config, write_timeout_ms=1500, scan_ms=1000) as server:
            before = server.alone()
            slow = socket.socket()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # small, so that it is soon full
            slow.connect((server.host, server.port))
            slow.sendall(b"GET /ui/events HTTP/1.1\r\nHost: x\r\n\r\n")
            with Events(server, seconds=60) as other:
                eventually(lambda: connections(server) == before + 2, what="both pages")
                numbers = [other.next("points")["seq"]]
                end = time.monotonic() + 60
                while connections(server) > before + 1 and time.monotonic() < end:
                    numbers.append(other.next("points")["seq"])
                self.assertEqual(connections(server), before + 1, "the slow page's end")
                self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
            slow.close()


class Placed(unittest.TestCase):
    def test_it_is_where_health_and_metrics_are(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ops = probe.getsockname()[1]
        with Server(DIGITS, ops_port=ops) as server:
            self.assertEqual(server.request("GET", "/ui").status, 404)
            self.assertEqual(server.request("GET", "/ui/models/digits/samples/0").status, 404)
            self.assertEqual(server.request("GET", "/", headers=HTML).json(), {"status": "alive"})
            with Client(server.host, ops) as client:
                self.assertEqual(client.request("GET", "/ui").status, 200)
                self.assertEqual(client.request("GET", "/", headers=HTML).headers["location"], "/ui")
                sample = client.request("GET", "/ui/models/digits/samples/0").json()
                self.assertEqual(client.request("POST", "/ui/models/digits/predict", sample["request"]).status, 200)
                self.assertEqual(client.request("POST", "/predict", sample["request"]).status, 404)
            with Events(server, ops) as events:
                self.assertEqual(events.next("health")["status"], "ready")

    def test_it_can_be_switched_off(self):
        with Server(DIGITS, ui=0) as server:
            for path in ("/ui", "/ui/events", "/ui/page.js", "/ui/models/digits/samples/0"):
                self.assertEqual(server.request("GET", path).status, 404, path)
            self.assertEqual(server.request("GET", "/", headers=HTML).json(), {"status": "alive"})

    def test_a_reload_is_told_to_the_pages(self):
        with Server(config="model_path: %s\ntimeout_ms: 1000\n" % DIGITS) as server:
            def timeout(data):
                return next(key for key in data["keys"] if key["key"] == "timeout_ms")

            with Events(server) as events:
                first = timeout(events.next("config"))
                self.assertEqual((first["value"], first["origin"].rsplit("/", 1)[-1]), ("1000", "weir.yaml:2"))
                pathlib.Path(server.config_path).write_text("model_path: %s\n\ntimeout_ms: 1234\n" % DIGITS, encoding="ascii")
                server.send_signal(signal.SIGHUP)
                told = timeout(events.until("config", lambda data: timeout(data)["value"] == "1234"))
                self.assertEqual(told["origin"].rsplit("/", 1)[-1], "weir.yaml:3")


class Rollouts(unittest.TestCase):
    def test_a_server_without_a_version_says_why_on_its_page(self):
        with tempfile.TemporaryDirectory() as folder, Server(folder, wait="listening") as server:
            self.assertEqual(server.request("GET", "/ui").status, 200)
            with Events(server) as events:
                health = events.until("health", lambda data: data["reasons"])
                self.assertEqual((health["status"], health["model"]), ("not_ready", None))
            with Events(server) as events:
                self.assertIsNone(events.next("models")[0]["serving"])

    def test_a_rollout_is_told_as_it_goes(self):
        with Models() as models, models.serve() as server, Events(server) as events:
            models.publish(2, samples="right")
            events.until("models", lambda data: [one["state"] for one in data[0]["view"]["versions"]] == ["ready", "serving"])
            server.roll_out(2, "25% for 1h, 100%")
            view = events.until("models", lambda data: data[0]["view"]["rollout"])[0]["view"]
            self.assertEqual((view["rollout"]["candidate"], view["rollout"]["weight_percent"]), (2, 25))
            server.order("rollout/rollback", {"reason": "seen enough"})
            view = events.until("models", lambda data: not data[0]["view"]["rollout"])[0]["view"]
            self.assertIn("seen enough", view["last_rollout"])
            self.assertTrue(view["versions"][0]["rejected"])

    def test_each_version_has_its_own_samples(self):
        with Models() as models, models.serve() as server:
            self.assertEqual(server.request("GET", "/ui/models/demo/samples/0").status, 404)  # version 1 has none
            models.publish(2, samples="right")
            server.until(2, "ready")
            sample = server.request("GET", "/ui/models/demo/samples/1", headers=[("X-Weir-Version", "2")]).json()
            self.assertEqual((sample["version"], sample["request"]), (2, {"instances": [[4, 5, 6, 7]]}))
            self.assertEqual(sample["expected"]["predictions"], [reference.demo_answer([4, 5, 6, 7], 2)])


if __name__ == "__main__":
    unittest.main()
