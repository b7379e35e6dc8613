"""Versions of models on the disk, a server that rolls them out, and traffic that knows whose answers it gets."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import tempfile
import threading
import time

import numpy

import onnx_writer as onnx
import reference
from harness import Client, Closed, Server, eventually

X, Y = [onnx.value("x", ["N", 4])], [onnx.value("y", ["N", 3])]


def gemm(weights=reference.WEIGHTS, bias=(0, 0, 1.5), columns=3):
    """y [N,columns] = x [N,4] W + b."""
    return onnx.model(
        [onnx.node("Gemm", ["x", "W", "b"], ["y"], "fc")],
        [onnx.tensor("W", [4, columns], onnx.floats(weights)), onnx.tensor("b", [columns], onnx.floats(bias))],
        X,
        [onnx.value("y", ["N", columns])],
    )


def roots(version):
    """As the demo, but NaN where an input is negative."""
    return onnx.model(
        [
            onnx.node("Sqrt", ["x"], ["r"], "root"),
            onnx.node("Mul", ["r", "r"], ["q"], "square"),
            onnx.node("Gemm", ["q", "W", "b"], ["y"], "fc"),
        ],
        [
            onnx.tensor("W", [4, 3], onnx.floats(reference.WEIGHTS)),
            onnx.tensor("b", [3], onnx.floats([0, 0, version + 0.5])),
        ],
        X,
        Y,
    )


def deep(layers, version=1, width=512):
    """As the demo, by way of some layers of that width."""

    def eye(rows, columns):
        return numpy.eye(rows, columns, dtype="<f4").tobytes()

    last = numpy.zeros((width, 3), dtype="<f4")
    last[:4] = numpy.array(reference.WEIGHTS, dtype="<f4").reshape(4, 3)
    nodes = [onnx.node("MatMul", ["x", "w0"], ["h0"], "mm0")]
    tensors = [onnx.tensor("w0", [4, width], eye(4, width))]
    for i in range(1, layers + 1):
        nodes.append(onnx.node("MatMul", ["h%d" % (i - 1), "w%d" % i], ["h%d" % i], "mm%d" % i))
        tensors.append(onnx.tensor("w%d" % i, [width, width], eye(width, width)))
    nodes.append(onnx.node("Gemm", ["h%d" % layers, "last", "b"], ["y"], "fc"))
    tensors.append(onnx.tensor("last", [width, 3], last.tobytes()))
    tensors.append(onnx.tensor("b", [3], onnx.floats([0, 0, version + 0.5])))
    return onnx.model(nodes, tensors, X, Y)


def write_samples(directory, version, wrong=False):
    """Samples of the demo; a wrong one has another number as its last."""
    rows = numpy.arange(20, dtype="<f4").reshape(5, 4)
    answers = numpy.array([reference.demo_answer(row, version) for row in rows.tolist()], dtype="<f4")
    if wrong:
        answers[3, 2] += 0.25
    folder = pathlib.Path(directory) / "samples"
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "input.x.npy", rows)
    numpy.save(folder / "output.y.npy", answers)


def seal(directory):
    """Writes the manifest."""
    directory = pathlib.Path(directory)
    files = sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    sizes = ["# size %d %s" % ((directory / file).stat().st_size, file) for file in files]
    hashes = ["%s  %s" % (hashlib.sha256((directory / file).read_bytes()).hexdigest(), file) for file in files]
    lines = ["# weir manifest 1", *sizes, *hashes]
    (directory / "manifest.sha256").write_text("\n".join(lines) + "\n", encoding="ascii")


class Models:
    """A folder with the model "demo"; version 1 is there."""

    def __init__(self, first=None):
        self.folder = tempfile.mkdtemp(prefix="weir-versions-")
        self.path = os.path.join(self.folder, "demo")
        self.state_dir = os.path.join(self.folder, "state")
        os.mkdir(self.state_dir)
        self.publish(1, first)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.folder, ignore_errors=True)

    def at(self, number):
        return os.path.join(self.path, str(number))

    def publish(self, number, data=None, samples=None, sealed=False):
        """A whole version, under its name at once. samples: "right" or "wrong"."""
        half = os.path.join(self.folder, "half-%s" % number)
        reference.write(half + "/model.onnx", data or reference.demo_bytes(number))
        if samples:
            write_samples(half, number, samples == "wrong")
        if sealed:
            seal(half)
        os.makedirs(self.path, exist_ok=True)
        os.rename(half, self.at(number))

    def serve(self, **options):
        """A server that asks before a new version takes over, with /admin."""
        return AdminServer(self.path, **{"state_dir": self.state_dir, "new_versions": "hold", **options})


class AdminServer(Server):
    def __init__(self, *model, **options):
        options.setdefault("admin_listen", "127.0.0.1:0")
        options.setdefault("queue_delay_target_ms", 60000)  # who answers is what is asked: a busy machine refuses nobody
        super().__init__(*model, **options)
        if options.get("wait", "ready"):
            self.admin_port = eventually(self.find_admin, what="the admin listener")

    def find_admin(self):
        found = re.search(r" listener=admin address=\S+:(\d+)", self.log())
        return found and int(found.group(1))

    def admin(self, method, path="", body=b"", **options):
        """Asks /admin/models + path."""
        with Client("127.0.0.1", self.admin_port, seconds=30) as client:
            return client.request(method, "/admin/models" + path, body, **options)

    def order(self, path, body=b"", model="demo"):
        """An order; it must be taken."""
        answer = self.admin("POST", "/%s/%s" % (model, path), body)
        if answer.status != 200:
            raise AssertionError("%s: %s\n%s" % (path, answer, self.log()))
        return answer.json()

    def roll_out(self, version, steps="50% for 1h", model="demo", **plan):
        return self.order("rollout", {"version": version, "steps": steps, **plan}, model)

    def view(self, model="demo"):
        answer = self.admin("GET", "/" + model)
        if answer.status != 200:
            raise AssertionError(answer)
        return answer.json()

    def version(self, number, model="demo"):
        """What is known of a version; an empty dict if it is not."""
        for version in self.view(model)["versions"]:
            if version["version"] == number:
                return version
        return {}

    def until(self, number, *states, seconds=10):
        """Waits until a version has one of these states."""
        return eventually(
            lambda: self.version(number) if self.version(number).get("state") in states else None, seconds,
            "version %d: %s; it is %s" % (number, states, self.version(number)),
        )

    def audit(self, action):
        return [line for line in self.events("audit") if "action=%s " % action in line]


ANSWER = re.compile(
    rb"HTTP/1\.1 (\d+) (?:(?!\r\n\r\n).)*?\r\nContent-Length: (\d+)\r\n", re.S | re.I
)
VERSION = re.compile(rb"\r\nX-Weir-Version: (\d+)\r\n", re.I)


def read_answers(client, count):
    """(status, version or None, body) of so many pipelined answers."""
    out = []
    while len(out) < count:
        end = client.left.find(b"\r\n\r\n")
        while end < 0:
            client.read_some()
            end = client.left.find(b"\r\n\r\n")
        head = client.left[: end + 2]
        found = ANSWER.match(head)
        if not found:
            raise AssertionError("not an answer: %r" % head)
        length = int(found.group(2))
        while len(client.left) < end + 4 + length:
            client.read_some()
        body, client.left = client.left[end + 4 : end + 4 + length], client.left[end + 4 + length :]
        version = VERSION.search(head)
        out.append((int(found.group(1)), version and int(version.group(1)), body))
    return out


def judge(row, status, version, body):
    """Whose answer is it? "" if it is none of the version that it names."""
    if status != 200 or version is None:
        return ""
    got = json.loads(body)["predictions"][0]
    return version if max(abs(a - b) for a, b in zip(got, reference.demo_answer(row, version))) < 1e-3 else ""


class Traffic:
    """Requests from a few connections, until it is stopped. Everything that came is in answers: (version, status, right,
    when it was sent, body)."""

    def __init__(self, server, connections=2, rows=((1, 2, 3, 4), (0, 0, 0, 0), (5, 1, 2, 1)), headers=(), at_once=4, path="/predict"):
        self.server, self.rows, self.headers, self.at_once, self.path = server, rows, list(headers), at_once, path
        self.answers, self.failures = [], []
        self.stopping = False
        self.threads = [threading.Thread(target=self.work, args=(i,), daemon=True) for i in range(connections)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.stopping = True
        for thread in self.threads:
            thread.join(30)

    def work(self, offset):
        try:
            with self.server.client(seconds=30) as client:
                messages = [client.message("POST", self.path, {"instances": [row]}, headers=self.headers) for row in self.rows]
                turn = offset
                while not self.stopping:
                    turns = range(turn, turn + self.at_once)
                    turn += self.at_once
                    sent = time.monotonic()
                    client.send(b"".join(messages[i % len(messages)] for i in turns))
                    for i, (status, version, body) in zip(turns, read_answers(client, self.at_once)):
                        right = judge(self.rows[i % len(messages)], status, version, body) != ""
                        self.answers.append((version, status, right, sent, body))
        except (OSError, Closed) as error:
            self.failures.append(error)

    def wait(self, count, seconds=30):
        """Until so many more answers are there."""
        wanted = len(self.answers) + count
        eventually(lambda: len(self.answers) >= wanted or self.failures, seconds, "%d answers" % count)

    def of(self, version):
        return [answer for answer in self.answers if answer[0] == version]

    def wrong(self, version):
        return [answer for answer in self.of(version) if not answer[2]]

    def not_ok(self):
        return [answer for answer in self.answers if answer[1] != 200] + self.failures
