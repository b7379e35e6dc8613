#!/usr/bin/python3
"""usage: versions.py [--part NAME,...] [--rounds 9] [--write] [--quick]

What versions that come and go cost those who are being served. Parts:

  reload   100 versions one after the other under 60 % of the capacity
  first    the first requests of a new version beside its later ones
  shadow   copies of 20 % of the requests: what they cost, and what the comparison finds

Writes build/results/versions.json, and with --write the section of loadtest/RESULTS.md. Exits with 1 if a goal is missed.
"""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import numpy

from measure import (
    CLIENT_CORE, MeasureError, Report, arguments, begin, dense_layers, load_command, median, onnx_writer, own_command, run_main,
    say, weir, write_bodies, write_model,
)

SIZES = [784, 512, 256, 10]
SHARE = 0.6  # of the capacity
RELOADS = 100
PLACES = ["one core", "two cores"]
FIRST, LATER = 100, 1000


def quantile(values, share):
    return float(numpy.quantile(numpy.array(values), share))


class Versions:
    """A model directory "dense" whose versions are copies of a few made once: sealed, so that they need not come to
    rest."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "dense"
        self.path.mkdir()
        self.kinds = {}
        self.newest = 0

    def add_kind(self, name, seed, drift=0.0):
        """A network; drift is added to the bias of its last layer's first output."""
        nodes, tensors = dense_layers(SIZES, seed, "x")
        nodes = nodes[:-1]  # without the softmax: a drift in is a drift out
        last = len(SIZES) - 1
        random = numpy.random.default_rng(seed)
        for inputs, outputs in zip(SIZES, SIZES[1:]):
            random.standard_normal((inputs, outputs), dtype=numpy.float32)
            bias = random.standard_normal(outputs, dtype=numpy.float32) * numpy.float32(0.1)
        bias[0] += numpy.float32(drift)
        tensors[-1] = onnx_writer.tensor("b%d" % last, bias.shape, bias.tobytes())
        kind = self.folder / ("kind-" + name)
        model = write_model(kind / "model.onnx", nodes, tensors, ["x", SIZES[0]], ["s%d" % last, SIZES[-1]])
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        (kind / "manifest.sha256").write_text(
            "# weir manifest 1\n# size %d model.onnx\n%s  model.onnx\n" % (model.stat().st_size, digest), encoding="ascii"
        )
        self.kinds[name] = kind

    def publish(self, kind, keep=1):
        """The next version; all but the newest `keep` older ones are removed."""
        number = self.newest + 1
        shutil.copytree(self.kinds[kind], self.folder / "half")
        os.rename(self.folder / "half", self.path / str(number))
        self.newest = number
        for old in self.path.iterdir():
            if int(old.name) < number - keep:
                shutil.rmtree(old)
        return number


class Admin:
    """/admin of a server, over one connection."""

    def __init__(self, server):
        line = [line for line in server.log().splitlines() if "listener=admin" in line][0]
        host, _, port = re.search(r"address=(\S+)", line).group(1).rpartition(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=30)
        self.connection.connect()

    def ask(self, method, path, body=None):
        self.connection.request(method, "/admin" + path, body and json.dumps(body))
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise MeasureError("%s: %d %s" % (path, answer.status, text))
        return json.loads(text)

    def view(self):
        return self.ask("GET", "/models/dense")


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = pathlib.Path(folder), options
        self.body, _ = write_bodies(self.folder, SIZES[0])

    def start(self, versions, placed, **options):
        """A server that is warm. placed: its device has the first core, all other threads share the second with the load
        generator; otherwise the whole server is on the first."""
        server = weir(versions.path, admin_listen="127.0.0.1:0", scan_ms=3600000, max_concurrency=2048, **options)
        if placed:
            server.place_threads()
        if self.options.real_time:
            for task in pathlib.Path("/proc/%d/task" % server.pid).iterdir():
                if (task / "comm").read_text().startswith(("dev-", "loop-", "weir-")):
                    os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(1))
        self.closed_loop(server)
        return server

    def capacity(self, server):
        return median([self.closed_loop(server)["good_per_s"] for _ in range(3)])

    def closed_loop(self, server):
        return self.generate(server, seconds=1, connections=32)

    def generate(self, server, meanwhile=None, **options):
        """Runs the generator; calls meanwhile() again and again until it is done. Returns its report."""
        command = load_command(server.address, body=self.body, content_type="application/json", **options)
        first = ["chrt", "-f", "1"] if self.options.real_time else []
        process = subprocess.Popen([*first, "taskset", "-c", str(CLIENT_CORE), *command], stdout=subprocess.PIPE, encoding="utf-8")
        while meanwhile and process.poll() is None:
            meanwhile()
        return json.loads(process.communicate(timeout=60 + options["seconds"])[0])

    def open_loop(self, server, rate, seconds, meanwhile=None):
        return self.generate(
            server, meanwhile, watch=server.pid, rate="%.0f" % rate, seconds=seconds, connections=1024, warm_up=0.3, drain=3,
        )


def failed(run):
    """Requests that were sent and got no 200."""
    return run["sent"] - run["codes"].get("200", 0)


def wait_log(server, text, seconds=10):
    end = time.monotonic() + seconds
    while text not in server.log():
        if time.monotonic() > end or not server.alive():
            raise MeasureError("no %s in:\n%s" % (text, server.log()[-3000:]))
        time.sleep(0.002)


def descriptors(server):
    return len(os.listdir("/proc/%d/fd" % server.pid))


def settle(server):
    """Until what is retired is freed."""
    time.sleep(0.5)
    return server.resident_bytes(), descriptors(server)


def reload_part(bench, report, placed):
    versions = Versions(pathlib.Path(tempfile.mkdtemp(dir=bench.folder)))
    versions.add_kind("a", 1)
    versions.add_kind("b", 2)
    versions.publish("a")
    place = PLACES[placed]
    with bench.start(versions, placed) as server:
        admin = Admin(server)
        rate = SHARE * bench.capacity(server)
        bench.open_loop(server, rate, 1)
        loads_ms = []

        def reload():
            if versions.newest - 1 >= bench.options.reloads:
                time.sleep(0.01)
                return
            number = versions.publish("ab"[versions.newest % 2])
            began = time.monotonic()
            admin.ask("POST", "/scan")
            wait_log(server, "model_serving model=dense version=%d\n" % number)
            loads_ms.append((time.monotonic() - began) * 1e3)

        bench.open_loop(server, rate, 1.5, reload)  # so that all code and all buffers are there
        _, files = settle(server)
        steady, loading, fails, count, memory = [], [], 0, 0, []
        while versions.newest - 1 < bench.options.reloads:
            quiet = bench.open_loop(server, rate, 1.5)
            busy = bench.open_loop(server, rate, 1.5, reload)
            steady.append(quiet["latency_us"]["ok"]["p99"] / 1000)
            loading.append(busy["latency_us"]["ok"]["p99"] / 1000)
            fails += failed(busy) + failed(quiet)
            count += busy["planned"] + quiet["planned"]
            resident, files_after = settle(server)
            memory.append(resident)
        view = admin.view()
        if view["loads"] != bench.options.reloads + 1 or view["load_failures"]:
            raise MeasureError("loads: %s" % view)
    what = "reload, %s: " % place
    report.add(what + "reloads", len(loads_ms), "", digits=0)
    report.add(what + "offered", rate, "/s", digits=0)
    report.add(what + "requests", count, "", digits=0)
    report.add(what + "failed requests", fails, "", ("==", 0), 0)
    report.add_samples(what + "time from the look to serving", loads_ms, "ms")
    report.add_samples(what + "p99 without reloads", steady, "ms", digits=3)
    report.add_samples(what + "p99 with one reload after the other", loading, "ms", digits=3)
    ratios = [b / a for a, b in zip(steady, loading)]
    report.add_samples(what + "p99 with / without", ratios, "", ("<=", 1.2) if placed else None)
    third = max(1, len(memory) // 3)
    early, late = min(memory[:third]), min(memory[-third:])
    report.add(what + "lowest resident memory in the first third", early / 2**20, "MiB", digits=1)
    report.add(what + "the same in the last third / in the first", late / early, "", ("<=", 1.05), 3)
    report.add(what + "descriptors after - before", files_after - files, "", ("==", 0), 0)


def same_model_limit():
    """What the same model's errors may be, in e-6: other batch sizes round otherwise where oneDNN takes another path for
    them, which it does not with AVX-512."""
    flags = re.search(r"(?m)^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"))
    return ("==", 0) if flags and "avx512f" in flags.group(1).split() else ("<=", 1)


def comparison(admin):
    """What a rollout's comparison says; both sides answer alike but for their numbers."""
    seen = admin.view()["rollout"]["comparison"]
    if seen["misfits"] or seen["new_non_finite"]:
        raise MeasureError("comparison: %s" % seen)
    return seen


class OneByOne:
    """A connection that sends the next request when the answer came; returns what each took."""

    def __init__(self, server, body):
        host, _, port = server.address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        text = body.read_bytes()
        self.message = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
        self.message += text

    def ask(self, count):
        times = []
        for _ in range(count):
            began = time.perf_counter_ns()
            self.socket.sendall(self.message)
            answer = self.socket.recv(65536)
            times.append((time.perf_counter_ns() - began) / 1e3)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise MeasureError("%r" % answer[:300])
        return times


def first_part(bench, report):
    versions = Versions(pathlib.Path(tempfile.mkdtemp(dir=bench.folder)))
    versions.add_kind("a", 1)
    versions.add_kind("b", 2)
    versions.publish("a")
    first, later = [], []
    with bench.start(versions, False, new_versions="hold") as server:
        admin = Admin(server)
        client = OneByOne(server, bench.body)
        client.ask(2000)
        for _ in range(4 * bench.options.rounds):
            number = versions.publish("ab"[versions.newest % 2])
            admin.ask("POST", "/scan")
            wait_log(server, "model_loaded model=dense version=%d " % number)
            admin.ask("POST", "/models/dense/versions/%d/promote" % number)
            times = client.ask(LATER + FIRST)
            first.append(quantile(times[:FIRST], 0.99))
            later.append(quantile(times[-FIRST:], 0.99))
    report.add_samples("first: p99 of a version's first 100 requests", first, "us", digits=1)
    report.add_samples("first: p99 of its 1,001st to 1,100th", later, "us", digits=1)
    report.add("first: first / later (medians)", median(first) / median(later), "", ("<=", 1.5))


def shadow_part(bench, report, placed):
    versions = Versions(pathlib.Path(tempfile.mkdtemp(dir=bench.folder)))
    versions.add_kind("a", 1)
    versions.add_kind("drift", 1, 1e-3)
    versions.publish("a")
    place = PLACES[placed]
    what = "shadow, %s: " % place
    with bench.start(versions, placed, new_versions="hold", version_policy="all") as server:
        admin = Admin(server)
        same, drifting = versions.publish("a", 9), versions.publish("drift", 9)
        admin.ask("POST", "/scan")
        wait_log(server, "model_loaded model=dense version=%d " % drifting)
        wait_log(server, "model_loaded model=dense version=%d " % same)
        rate = SHARE * bench.capacity(server)
        without, beside, fails, share, worst = [], [], 0, [], 0
        plan = {"kind": "shadow", "shadow_percent": 20, "max_p99_ratio": None, "max_compute_ratio": None}
        for turn in range(bench.options.rounds):
            # Twice in turn, so that whatever drifts on the machine meets both alike.
            for is_on in (turn % 2 == 0, turn % 2 == 1):
                if is_on:
                    admin.ask("POST", "/models/dense/rollout", {"version": same, **plan})
                run = bench.open_loop(server, rate, 2)
                (beside if is_on else without).append(run["latency_us"]["ok"]["p99"] / 1000)
                fails += failed(run)
                if is_on:
                    seen = comparison(admin)
                    share.append(100 * seen["requests"] / run["planned"])
                    worst = max(worst, seen["max_error"])
                    admin.ask("POST", "/models/dense/rollout/rollback")
        admin.ask("POST", "/models/dense/rollout", {"version": drifting, **plan})
        bench.open_loop(server, rate / 2, 1)
        found = comparison(admin)
    report.add(what + "offered", rate, "/s", digits=0)
    report.add(what + "failed requests", fails, "", ("==", 0), 0)
    report.add_samples(what + "compared, of all requests", share, "%", digits=1)
    report.add_samples(what + "stable's p99 without", without, "ms", digits=3)
    report.add_samples(what + "stable's p99 beside copies of 20 %", beside, "ms", digits=3)
    report.add_samples(what + "p99 beside / without", [b / a for a, b in zip(without, beside)], "", ("<=", 1.05) if placed else None)
    report.add(what + "the same model: largest error", worst * 1e6, "e-6", same_model_limit(), 2)
    report.add(what + "a drift of 1e-3: largest error found / planted", found["max_error"] / 1e-3, "", (">=", 0.99), 3)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--part", type=lambda text: text.split(","), default=["reload", "first", "shadow"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--real-time", action="store_true", help="loops, devices and the generator before all others: on a busy machine"
    )
    options = parser.parse_args()
    options.reloads = 10 if options.quick else RELOADS
    options.rounds = 1 if options.quick else options.rounds
    begin()
    report = Report("versions", "Versions that come and go", own_command("bench", "versions"))
    with tempfile.TemporaryDirectory(prefix="weir-versions-") as folder:
        bench = Bench(folder, options)
        for part in options.part:
            for placed in (False, True):
                say("%s, %s" % (part, PLACES[placed]))
                if part == "reload":
                    reload_part(bench, report, placed)
                elif part == "shadow":
                    shadow_part(bench, report, placed)
                elif not placed:
                    first_part(bench, report)
    report.notes.append(
        "%s network without softmax, one JSON row a request, %d %% of what a closed loop of 32 connections gets; sealed versions of "
        "%.1f MB. p99s are of windows of 1.5 s (reload) and 2 s (shadow), with and without in turn; ratios are of neighbours, and "
        "the figures medians; max_concurrency is 2048, so that a stall shows in a p99 and not as a refusal. One core: the whole server has it, the load generator the other. Two cores: the device has the first, all "
        "other threads share the second with the load generator." % (
            "-".join(map(str, SIZES)), 100 * SHARE, sum(a * b + b for a, b in zip(SIZES, SIZES[1:])) * 4 / 1e6)
    )
    if options.real_time:
        report.notes.append(
            "The machine was busy with other work, so the generator and the server's loops and devices had real-time priority; "
            "loader and rollouts had not. What the loader takes of a core that serving needs is not in these figures."
        )
    return report.finish(options.write)


if __name__ == "__main__":
    run_main("versions", main)
