"""A double of an OpenTelemetry collector: takes traces over HTTP, checks that they are what OTLP/JSON says, and keeps them.

    with Collector() as collector:
        with Server(model, traces_endpoint=collector.url) as server: ...
        collector.spans()

Sources: opentelemetry-proto (trace.proto and "JSON Protobuf Encoding"), OpenTelemetry's conventions for HTTP spans.
"""

import http.server
import json
import re
import socket
import threading
import time

ID = {"traceId": re.compile(r"[0-9a-f]{32}"), "spanId": re.compile(r"[0-9a-f]{16}"), "parentSpanId": re.compile(r"[0-9a-f]{16}")}
NANOS = re.compile(r"[1-9][0-9]{18}")  # since 2001
SPAN = {
    "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "links",
    "droppedLinksCount", "status",
}


def attributes(listed):
    """{key: value} of a list of attributes, whose forms are checked."""
    found = {}
    for item in listed:
        assert set(item) == {"key", "value"} and item["key"] not in found, item
        ((kind, value),) = item["value"].items()
        if kind == "intValue":
            assert isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value), item
            value = int(value)
        else:
            assert kind == "stringValue" and isinstance(value, str), item
        found[item["key"]] = value
    return found


class Span:
    """One span, checked."""

    def __init__(self, data, resource):
        assert set(data) <= SPAN, set(data) - SPAN
        for name, form in ID.items():
            if name in data or name != "parentSpanId":
                assert form.fullmatch(data[name]) and int(data[name], 16) != 0, (name, data)
        for name in ("startTimeUnixNano", "endTimeUnixNano"):
            assert NANOS.fullmatch(data[name]), data
        assert data["kind"] in (1, 2, 3, 4, 5) and set(data["status"]) <= {"code", "message"}, data
        assert data["status"].get("code", 0) in (0, 1, 2), data
        self.trace, self.id, self.parent = data["traceId"], data["spanId"], data.get("parentSpanId")
        self.name, self.kind, self.status = data["name"], data["kind"], data["status"].get("code", 0)
        self.start, self.end = int(data["startTimeUnixNano"]), int(data["endTimeUnixNano"])
        assert self.start <= self.end, data
        self.attributes = attributes(data["attributes"])
        self.links = []
        for link in data.get("links", []):
            assert set(link) == {"traceId", "spanId"}, link
            assert ID["traceId"].fullmatch(link["traceId"]) and ID["spanId"].fullmatch(link["spanId"]), link
            self.links.append((link["traceId"], link["spanId"]))
        self.dropped_links = data.get("droppedLinksCount", 0)
        self.resource = resource

    def __repr__(self):
        return "Span(%s %s of %s, %r)" % (self.name, self.id, self.parent, self.attributes)


def read_export(body):
    """The spans of one ExportTraceServiceRequest."""
    data = json.loads(body)
    assert set(data) == {"resourceSpans"}, data
    found = []
    for group in data["resourceSpans"]:
        resource = attributes(group["resource"]["attributes"])
        for scope in group["scopeSpans"]:
            assert scope["scope"]["name"] == "weir", scope["scope"]
            found += [Span(span, resource) for span in scope["spans"]]
    return found


class Collector:
    """answers: what the first requests are answered, each (status, headers, body); all others 200 {}. "hang" reads and
    never answers, "garbage" says what is no HTTP, "huge" a megabyte."""

    def __init__(self, answers=(), always=None):
        self.answers, self.always = list(answers), always
        self.lock, self.bodies, self.faults, self.requests, self.times = threading.Lock(), [], [], 0, []
        self.known, self.read = [], 0
        self.over = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *unused):
                pass

            def do_POST(self):
                outer.take(self)

        class Service(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *unused):
                pass

        self.service = Service(("127.0.0.1", 0), Handler)
        self.port = self.service.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.service.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.service.shutdown()
        self.service.server_close()

    def take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self.lock:
            self.requests += 1
            self.times.append(time.monotonic())
            answer = self.answers.pop(0) if self.answers else self.always or (200, {}, b"{}")
        if answer == "hang":
            self.over.wait()
            return
        if answer == "garbage":
            handler.wfile.write(b"\0\1\2 nobody speaks so \xff" * 20)
            return
        if answer == "huge":
            answer = (200, {}, b"x" * (1 << 20))
        status, headers, text = answer
        if status == 200:
            self.keep(handler, body)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def keep(self, handler, body):
        try:
            assert handler.path == "/v1/traces", handler.path
            assert handler.headers["Content-Type"] == "application/json", handler.headers
        except AssertionError as fault:  # told by spans()
            self.faults.append(repr(fault))
        with self.lock:
            self.bodies.append(body)

    def spans(self):
        """All spans that came, after a look whether all was well formed. Only here, so that answers are not late for it."""
        with self.lock:
            new, self.read = self.bodies[self.read :], len(self.bodies)
            if self.faults:
                raise AssertionError(self.faults[0])
        for body in new:
            self.known += read_export(body)
        return self.known


class Nobody:
    """An address at which nothing listens, or, with backlog, one that takes connections and does nothing."""

    def __init__(self, backlog=None):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        if backlog is not None:
            self.socket.listen(backlog)
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()
