"""Starts the real server and talks to it over real sockets.

    with Server(model_path, batch_size=8) as server:
        answer = server.predict([[1, 2, 3, 4]])

The program is taken from the environment variable WEIR, else build/weir. Leaving the `with` block stops the server and
asserts its exit code and that its log holds no sanitizer report.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR") or str(ROOT / "build" / "weir")
LOAD = next((path for path in (pathlib.Path(WEIR).parent / "weir-load", ROOT / "build" / "weir-load") if path.exists()), None)
ALL = bool(os.environ.get("WEIR_TEST_ALL"))  # ./dev test all: whatever is missing then is a failure
START_SECONDS = 60
SANITIZER_REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:")


def needs(what, name):
    """Skips a test without `what`; not with ./dev test all, where that fails."""
    return unittest.skipUnless(what or ALL, name + " is missing")


def tool(name):
    return needs(shutil.which(name), name)


def eventually(condition, seconds=30.0, what="the condition"):
    """Polls condition() until it is true and returns its value; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("%s did not come true within %.1f s" % (what, seconds))
        time.sleep(0.01)


def run_at_once(functions, seconds=60):
    """Runs all functions in threads that start together; returns their results in order, exceptions included."""
    results = [None] * len(functions)
    gate = threading.Barrier(len(functions))

    def work(index):
        try:
            gate.wait()
            results[index] = functions[index]()
        except Exception as error:  # handed to the caller, who judges it
            results[index] = error

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        raise AssertionError("not every client was done within %d s" % seconds)
    return results


class Closed(Exception):
    """The peer closed before a whole answer came."""


class Answer:
    """One HTTP answer. headers has lower-case names; a name sent twice is joined with ', '."""

    def __init__(self, status, version, headers, body, raw_head):
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.raw_head = raw_head

    def json(self):
        def refuse(token):
            raise ValueError("not JSON: " + token)

        return json.loads(self.body.decode("utf-8"), parse_constant=refuse)

    @property
    def predictions(self):
        return self.json()["predictions"]

    @property
    def error(self):
        return self.json()["error"]

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"

    def __repr__(self):
        return "Answer(%d, %r)" % (self.status, self.body[:200])


class Client:
    """One connection, with whatever bytes the test wants to send."""

    def __init__(self, host, port, seconds=15.0):
        self.host, self.port = host, port
        self.socket = socket.create_connection((host, port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with a RST instead of a FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def authority(self):
        host = "[%s]" % self.host if ":" in self.host else self.host
        return "%s:%d" % (host, self.port)

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def head(self, method, path, headers=(), version="1.1"):
        lines = ["%s %s HTTP/%s" % (method, path, version), "Host: " + self.authority()]
        lines += ["%s: %s" % pair for pair in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def message(self, method, path, body=b"", headers=(), content_type="application/json", version="1.1"):
        if not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
        fields = list(headers)
        if body or method == "POST":
            if content_type:
                fields.append(("Content-Type", content_type))
            fields.append(("Content-Length", str(len(body))))
        return self.head(method, path, fields, version) + bytes(body)

    def request(self, method, path, body=b"", **options):
        self.send(self.message(method, path, body, **options))
        return self.answer(no_body=method == "HEAD")

    def predict(self, rows, **options):
        return self.request("POST", "/predict", {"instances": rows}, **options)

    def read_some(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed(self.left)
        self.left += data

    def answer(self, no_body=False, seconds=None):
        """Reads one answer, interim ones (1xx) included."""
        if seconds is not None:
            self.socket.settimeout(seconds)
        while b"\r\n\r\n" not in self.left:
            self.read_some()
        head, _, self.left = self.left.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        version, status = lines[0].split(" ")[:2]
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            headers[name] = headers[name] + ", " + value if name in headers else value
        status = int(status)
        if no_body or status < 200 or status in (204, 304):
            return Answer(status, version, headers, b"", head)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return Answer(status, version, headers, self.chunks(), head)
        if "content-length" not in headers:  # such an answer ends with the connection
            return Answer(status, version, headers, self.rest(), head)
        length = int(headers["content-length"])
        while len(self.left) < length:
            self.read_some()
        body, self.left = self.left[:length], self.left[length:]
        return Answer(status, version, headers, body, head)

    def line(self):
        while b"\r\n" not in self.left:
            self.read_some()
        line, _, self.left = self.left.partition(b"\r\n")
        return line

    def chunks(self):
        body = b""
        while True:
            size = int(self.line().split(b";")[0], 16)
            while len(self.left) < size + 2:
                self.read_some()
            body += self.left[:size]
            self.left = self.left[size + 2 :]
            if size == 0:
                return body

    def rest(self):
        """Everything up to the end of the connection; a reset counts as an end."""
        out, self.left = self.left, b""
        while True:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return out
            if not data:
                return out
            out += data

    def is_open(self, seconds=0.2):
        """True if the server neither sends nor closes for that long."""
        if self.left:
            return True
        self.socket.settimeout(seconds)
        try:
            self.left = self.socket.recv(65536)
            return bool(self.left)
        except socket.timeout:
            return True
        except ConnectionError:
            return False


class Metrics(dict):
    """{(name, ((label, value), ...)): number} of a Prometheus text page."""

    SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
    LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')

    @classmethod
    def parse(cls, text):
        page = cls()
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = cls.SAMPLE.match(line)
            if not match:
                raise AssertionError("not a sample line: " + line)
            name, labels, value = match.groups()
            key = (name, tuple(sorted(cls.LABEL.findall(labels or ""))))
            if key in page:
                raise AssertionError("the same series twice: " + line)
            page[key] = float(value)
        return page

    def total(self, name, **labels):
        """Sum of the series of that name that have these labels."""
        wanted = {(key, str(value)) for key, value in labels.items()}
        return sum(value for (series, pairs), value in self.items() if series == name and wanted <= set(pairs))

    def values(self, name, label):
        """The values that a label has on that metric."""
        return {dict(pairs).get(label) for (series, pairs) in self if series == name}


class Server:
    """A running `weir serve`. Options become flags: batch_size=8 is --batch-size 8."""

    def __init__(self, model=None, config=None, env=None, flags=(), wait="ready", preload=None, **options):
        options.setdefault("port", 0)
        options.setdefault("drain_delay_ms", 0)
        self.folder = tempfile.mkdtemp(prefix="weir-test-")
        self.log_path = os.path.join(self.folder, "log")
        self.expected_exit = 0
        self.stopped = False
        command = list(preload or []) + [WEIR, "serve"]
        if model is not None:
            command.append(str(model))
        if config is not None:
            self.config_path = os.path.join(self.folder, "weir.yaml")
            with open(self.config_path, "w", encoding="utf-8") as file:
                file.write(config)
            command += ["-c", self.config_path]
        for key, value in options.items():
            if value is not None:
                command += ["--" + key.replace("_", "-"), str(value)]
        self.command = command + list(flags)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
        environment["WEIR_SCAN_MS"] = "50"  # so that what a test has just written is soon at rest
        environment.update(env or {})
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        self.host, self.port = None, None
        try:
            if wait:
                self.wait_for("listening")
                self.host, self.port = self.address()
            if wait == "ready":
                self.wait_for("ready")
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *unused):
        try:
            if kind is None:
                self.stop()
        finally:
            self.kill()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def events(self, name):
        """The log lines of one event."""
        return [line for line in self.log().splitlines() if " %s " % name in line + " "]

    def wait_for(self, event, seconds=START_SECONDS):
        def there():
            if self.process.poll() is not None and not self.events(event):
                raise AssertionError("weir ended with %s:\n%s" % (self.process.returncode, self.log()))
            return self.events(event)

        try:
            return eventually(there, seconds, "the event " + event)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.log())) from None

    def address(self):
        address = re.search(r" address=(\S+)", self.events("listening")[0]).group(1).strip('"')
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)

    def client(self, **options):
        return Client(self.host, self.port, **options)

    def request(self, method, path, body=b"", **options):
        with self.client() as client:
            return client.request(method, path, body, **options)

    def predict(self, rows, **options):
        with self.client() as client:
            return client.predict(rows, **options)

    def send(self, data):
        """Sends bytes on a new connection and returns all answers' bytes up to the end of the connection."""
        with self.client() as client:
            try:
                client.send(data)
            except ConnectionError:
                pass
            return client.rest()

    def metrics(self):
        return Metrics.parse(self.request("GET", "/metrics").body.decode())

    def alone(self):
        """Waits until what was asked before has ended, and has been counted. Returns the connections that are left: that of
        who asks."""
        eventually(lambda: self.metrics().total("weir_connections") == 1, what="the end of earlier connections")
        return 1

    def alive(self):
        return self.process.poll() is None and self.request("GET", "/health/live").status == 200

    def resident_bytes(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) * 1024

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self, seconds=30):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("weir is still running after %d s:\n%s" % (seconds, self.log())) from None

    def stop(self, number=signal.SIGINT):
        """Stops the server (SIGINT skips the drain delay) and asserts a clean end."""
        if self.stopped:
            return
        self.stopped = True
        if self.process.poll() is None:
            self.send_signal(number)
        code = self.wait_exit()
        if SANITIZER_REPORT.search(self.log()):
            raise AssertionError("a sanitizer report:\n" + self.log())
        if code != self.expected_exit:
            raise AssertionError("exit code %s, expected %s:\n%s" % (code, self.expected_exit, self.log()))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_weir(*arguments, env=None, seconds=30, **options):
    """Runs the program to its end; returns subprocess.CompletedProcess with text in stdout and stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
    environment.update(env or {})
    result = subprocess.run(
        [WEIR, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=seconds,
        encoding="utf-8", errors="replace", check=False, **options
    )
    if SANITIZER_REPORT.search(result.stderr):
        raise AssertionError("a sanitizer report:\n" + result.stderr)
    return result


class ServerCase(unittest.TestCase):
    """Tests that share one server. A subclass says how to start it; unless it says otherwise, the server has all the time
    there is, so that a busy machine refuses nothing."""

    PATIENT = {"timeout_ms": 60000, "queue_delay_target_ms": 60000}
    OPTIONS = {}

    @classmethod
    def model(cls):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.model(), **{**cls.PATIENT, **cls.OPTIONS})

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.stop()
        finally:
            cls.server.kill()

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), "the server ended:\n" + self.server.log())

    def assert_error(self, answer, status, *texts):
        """A JSON error of that status whose text names all texts."""
        self.assertEqual(answer.status, status, answer)
        error = answer.json()
        self.assertIsInstance(error["error"], str)
        self.assertTrue(error["error"])
        self.assertEqual(error["code"], status)
        self.assertTrue(error["reason"])
        for text in texts:
            self.assertIn(text, error["error"])

    def assert_near(self, got, expected, tolerance=1e-5):
        self.assertEqual(len(got), len(expected))
        for one, other in zip(got, expected):
            self.assertLessEqual(abs(one - other), tolerance * max(1.0, abs(other)), (got, expected))

    def assert_refused(self, data, *statuses):
        """One answer of one of these statuses with Connection: close, then the end of the connection."""
        with self.server.client() as client:
            try:
                client.send(data)
            except ConnectionError:
                pass
            answer = client.answer()
            self.assertIn(answer.status, statuses, (data[:200], answer))
            self.assertTrue(answer.closes, answer.raw_head)
            self.assertTrue(answer.json()["error"])
            self.assertEqual(client.rest(), b"", data[:200])
        self.assertTrue(self.server.alive())
