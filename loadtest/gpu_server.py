"""Parts of gpu_check.py with the whole server: known samples, load, versions that change, the end, a device that is lost."""

import http.client
import json
import re
import shutil
import signal
import subprocess
import threading
import time

from gpu_tools import ROOT, Failed, end_group, models, most_rows, write_mlp

DIGITS = ROOT / "models" / "digits"
DEVICE_LOST = 75


class Server:
    """`weir serve` on the GPU; ends with its part."""

    def __init__(self, check, model, env=None, **options):
        self.check = check
        self.log_path = check.folder / ("server-%d.log" % time.monotonic_ns())
        flags = {"host": "127.0.0.1", "port": 0, "device": "cuda", "cuda_module": check.module, "drain_delay_ms": 0,
                 "max_concurrency": 512, **options}
        if check.simulated:
            flags["allow_simulated"] = 1
        command = [check.build / "weir", "serve", model]
        for name, value in flags.items():
            command += ["--" + name.replace("_", "-"), value]
        self.began = time.monotonic()
        with open(self.log_path, "wb") as log:
            self.process = check.start(command, env or check.environment(), stdout=log, stderr=log)
        self.address = None
        self.wait_for("ready", 60)
        self.ready_s = time.monotonic() - self.began
        self.address = re.search(r" address=(\S+)", self.wait_for("listening", 1)).group(1)

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, event, seconds):
        end = time.monotonic() + seconds
        while True:
            for line in self.log().splitlines():
                if " %s " % event in line + " ":
                    return line
            if self.process.poll() is not None:
                raise Failed("the server ended with %s: %s" % (self.process.returncode, self.log()[-300:]))
            if time.monotonic() > end:
                raise Failed("no event %s within %.0f s: %s" % (event, seconds, self.log()[-300:]))
            time.sleep(0.01)

    def request(self, method, path, body=None, content_type="application/json", seconds=10):
        """(code, body); code 0: no answer came."""
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
        try:
            connection.request(method, path, body, {"Content-Type": content_type} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def health(self):
        return json.loads(self.request("GET", "/health")[1] or b"{}")

    def series(self, name):
        """The largest figure of that name in /metrics; None if there is none."""
        text = self.request("GET", "/metrics")[1].decode()
        found = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(name + r"[ {]", line)]
        return max(found) if found else None

    def load_command(self, body, connections, seconds):
        return [self.check.build / "weir-load", self.address, "--body", body, "--content-type", "application/octet-stream",
                "--connections", connections, "--seconds", seconds, "--warm-up", min(0.5, seconds / 2), "--watch", self.process.pid]

    def load(self, body, connections, seconds):
        return json.loads(self.check.run(self.load_command(body, connections, seconds)))

    def stop(self, number=signal.SIGINT, seconds=30):
        """Ends it; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                end_group(self.process)
                raise Failed("the server did not end within %d s" % seconds) from None
        return self.process.returncode


def lost(report):
    """Requests that got no answer, or not all of it."""
    errors = report["errors"]
    return sum(errors.get(name, 0) for name in ("reset", "closed", "short", "malformed", "gave_up")) + report["unanswered"]


def known_samples(check, server):
    import numpy

    lines = (DIGITS / "heldout.csv").read_text(encoding="ascii").splitlines()
    rows = numpy.array([[float(text) for text in line.split(",")[:64]] for line in lines], dtype=numpy.float32)
    wanted = numpy.load(DIGITS / "heldout.probabilities.npy")
    worst = 0.0
    for first in range(0, len(rows), 32):
        code, body = server.request("POST", "/predict", json.dumps({"instances": rows[first:first + 32].tolist()}))
        if code != 200:
            raise Failed("a known sample got %d: %s" % (code, body[:200]))
        given = numpy.array(json.loads(body)["predictions"])
        worst = max(worst, float(abs(given - wanted[first:first + 32]).max()))
    check.most("digits: %d known samples, largest difference" % len(rows), worst, 1e-5)


class Watch:
    """Reads the server's own view of the GPU while something runs."""

    def __init__(self, server):
        self.server, self.most, self.ended = server, None, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended.wait(0.25):
            value = self.server.series("weir_gpu_utilization_ratio")
            if value is not None:
                self.most = value if self.most is None else max(self.most, value)

    def stop(self):
        self.ended.set()
        self.thread.join(5)
        return self.most


def loads(check, name, server, body):
    seconds = 0.5 if check.simulated else 1 if check.quick else 3
    for connections in (1, 8) if check.simulated else (1, 8, 64, 256):
        watch = Watch(server)
        report = server.load(body, connections, seconds)
        busy = watch.stop()
        what = "%s, %d clients" % (name, connections)
        check.row(what + ": answers", report["answers_per_s"], "1/s", note="codes %s" % report["codes"])
        check.row(what + ": p50", report["latency_us"]["all"]["p50"], "us", p99=report["latency_us"]["all"]["p99"])
        check.row(what + ": p99", report["latency_us"]["all"]["p99"], "us")
        check.equal(what + ": replies lost", lost(report), 0)
        others = sum(count for code, count in report["codes"].items() if code not in ("200", "503"))
        check.equal(what + ": neither 200 nor refused", others, 0)
        if busy is not None:
            check.row(what + ": highest utilisation by the server's NVML", 100 * busy, "%")
    if report.get("watched_cpu_us_per_answer") is not None:
        check.row("%s: server CPU of an answer" % name, report["watched_cpu_us_per_answer"], "us")


def new_version(check, server, folder, body):
    """Another version comes under load: do answers stall, is one lost?"""
    seconds = 4 if check.simulated else 8
    child = check.start(server.load_command(body, 8, seconds), stdout=subprocess.PIPE, encoding="utf-8")
    time.sleep(1.0)
    staged = check.folder / "staged-version"
    shutil.copytree(folder / "1", staged)
    staged.rename(folder / "2")
    end, seen = time.monotonic() + seconds - 1.5, False
    while time.monotonic() < end and not seen:
        time.sleep(0.1)
        model = server.health().get("model") or {}
        seen = model.get("version") == 2 or "2" in json.dumps(model.get("versions", ""))
    report = json.loads(child.communicate(timeout=seconds + 20)[0])
    check.equal("a version that comes under load: replies lost", lost(report), 0)
    if not seen:
        check.row("a version that comes under load", None, verdict="skipped", note="this server does not pick up versions while it runs")
        return
    check.row("a version that comes under load: p99", report["latency_us"]["all"]["p99"], "us")
    check.row("slowest answer while a version comes", report["latency_us"]["all"]["max"], "us",
              note="p50 %.0f us" % report["latency_us"]["all"]["p50"])


def end_under_load(check, server, body):
    """SIGTERM while 64 clients ask: everything that was taken is answered."""
    child = check.start(server.load_command(body, 8 if check.simulated else 64, 3), stdout=subprocess.PIPE, encoding="utf-8")
    time.sleep(1.2)
    code = server.stop(signal.SIGTERM)
    report = json.loads(child.communicate(timeout=30)[0])
    check.equal("SIGTERM under load: exit code", code, 0)
    # Where clients and server share the cores, one may send on a connection just as the server gives it up.
    check.most("SIGTERM under load: replies lost", lost(report), 1 if check.simulated else 0, note="errors %s" % report["errors"])


def server(check):
    before = check.memory_used()
    running = Server(check, DIGITS)
    check.row("digits: start until ready", 1e3 * running.ready_s, "ms")
    device = running.health().get("device", {})
    check.row("device", device.get("description", ""))
    check.equal("device serves, not the CPU", device.get("name"), "cuda")
    gpus, end = [{}], time.monotonic() + 8  # starting NVML takes its time
    while "memory_total_bytes" not in gpus[0] and time.monotonic() < end:
        time.sleep(0.1)
        gpus = running.health().get("device", {}).get("gpus", [{}])
    check.row("/health tells of the GPU", "%s, %s" % (gpus[0].get("name"), gpus[0].get("driver")), goal="its memory is known",
              good="memory_total_bytes" in gpus[0], note=gpus[0].get("unavailable", ""))
    during = check.memory_used()
    known_samples(check, running)
    body = check.folder / "digits.f32"
    line = (DIGITS / "heldout.csv").read_text(encoding="ascii").splitlines()[0]
    import numpy

    body.write_bytes(numpy.array([float(text) for text in line.split(",")[:64]], dtype="<f4").tobytes())
    loads(check, "digits", running, body)
    running.stop()
    name = list(models(check))[min(1, len(models(check)) - 1)]
    folder = write_mlp(check, name)
    served = check.folder / "served" / name
    shutil.copytree(folder / "1", served / "1")
    row = check.folder / "row.f32"
    row.write_bytes((folder / "x.f32").read_bytes()[: models(check)[name][0] * 4])
    for precision in ("fp32",) if check.quick or check.simulated else ("fp32", "bf16"):
        running = Server(check, served, precision=precision, batch_size=most_rows(check) if check.simulated else 64, drain_delay_ms=500)
        loads(check, "%s %s" % (name, precision), running, row)
        if precision == "fp32":
            new_version(check, running, served, row)
        end_under_load(check, running, row)
    after = check.memory_used()
    if before is not None and after is not None:
        check.row("memory of the card while digits is served", (during or before) - before, "MiB")
        check.most("memory of the card that did not come back", after - before, 8, "MiB")


def fault(check):
    """A kernel breaks the context under load: not ready at once, its own exit code, and a restart serves."""
    if check.simulated:
        env = check.environment(CUDA_DOUBLE="fail_operation=product:400:719")
        running = Server(check, DIGITS, env)
    else:
        env = check.environment(GPU_FAULT_MODULE=check.module, GPU_FAULT_AFTER=300)
        running = Server(check, DIGITS, env, cuda_module=check.programs / "weir_cuda_fault.so")
    body = json.dumps({"instances": [[0.5] * 64]})
    codes, broke = {}, None
    end = time.monotonic() + 15
    while time.monotonic() < end and running.process.poll() is None and broke is None:
        code = running.request("POST", "/predict", body)[0]
        codes[code] = codes.get(code, 0) + 1
        if code != 200:
            broke = time.monotonic()
    if broke is None:
        raise Failed("nothing broke: %s" % codes)
    ready = running.request("GET", "/health/ready", seconds=2)[0]
    check.row("readiness after the fault", ready, "", "503, or gone", ready in (0, 503))
    running.process.wait(20)
    check.most("from the first failure to the end of the process", time.monotonic() - broke, 5.0, "s")
    check.equal("exit code", running.process.returncode, DEVICE_LOST)
    check.row("answers before and at the fault", "%s" % codes, note=running.log()[-400:])
    again = Server(check, DIGITS)
    check.equal("a restart serves", again.request("POST", "/predict", body)[0], 200)
    check.equal("its exit code", again.stop(), 0)
