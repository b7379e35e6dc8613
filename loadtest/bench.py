#!/usr/bin/python3
"""usage: bench.py [--repetitions 5] [--seconds 2] [--write] [--quick]

Measures a prediction of a 784-512-256-10 network against the sum of its parts: a bare server that reads the same body, the
JSON reader alone, the layers alone. All in one run, interleaved; figures are medians. Writes build/results/bench.json, and
with --write the section of loadtest/RESULTS.md. Exits with 1 if a goal is missed.
"""

import json
import pathlib
import re
import shutil
import socket
import tempfile
import time

from measure import (
    BUILD, ROOT, MeasureError, Report, Server, arguments, begin, client_run, median, own_command, program,
    raise_descriptor_limit, run_main, say, server_core_run, weir, write_bodies, write_mlp,
)
from observed import Collector, Scraper

SIZES = [784, 512, 256, 10]
CONNECTIONS, BATCH_SIZE = 64, 32
IDLE_CONNECTIONS = 9000
SCRAPED_MODELS, SCRAPES = 20, 200
KINDS = {"json": "application/json", "raw": "application/octet-stream"}
KIND_TEXT = {"json": "JSON", "raw": "raw float32"}
MIB = 1024.0 * 1024.0


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.model = write_mlp(folder / "mlp" / "1" / "model.onnx", SIZES)
        json_body, raw_body = write_bodies(folder, SIZES[0])
        self.bodies = {"json": json_body, "raw": raw_body}
        self.samples = {}
        self.servers = []

    def note(self, name, value):
        self.samples.setdefault(name, []).append(value)

    def start(self):
        service = weir(self.folder / "mlp", batch_size=BATCH_SIZE, max_concurrency=CONNECTIONS)
        self.servers.append(service)
        self.weir, self.bare = service, {}
        log = self.folder / "access.log"
        self.logged = weir(self.folder / "mlp", batch_size=BATCH_SIZE, max_concurrency=CONNECTIONS, access_log=log)
        self.servers.append(self.logged)
        self.collector = Collector()
        self.observed = weir(self.folder / "mlp", batch_size=BATCH_SIZE, max_concurrency=CONNECTIONS,
                             access_log=self.folder / "observed.log", traces_endpoint=self.collector.url, traces_sample=1)
        self.servers.append(self.observed)
        self.deserted = weir(self.folder / "mlp", batch_size=BATCH_SIZE, max_concurrency=CONNECTIONS,
                             traces_endpoint="http://127.0.0.1:%d" % free_port(), traces_sample=1)
        self.servers.append(self.deserted)
        for kind, content_type in KINDS.items():
            body = self.bodies[kind].read_bytes()
            status, answer = service.request("POST", "/predict", body, Content_Type=content_type)
            if status != 200:
                raise MeasureError("weir answers %d: %r" % (status, answer[:300]))
            command = [program("bench/bare_server"), "--answer-bytes", len(answer), "--content-type", content_type]
            self.bare[kind] = Server(command)
            self.servers.append(self.bare[kind])

    def stop(self):
        for server in self.servers:
            server.stop()
        self.collector.stop()

    def load(self, server, kind, **options):
        """A closed loop in which every answer must be a 200."""
        report = server.load(self.bodies[kind], KINDS[kind], warm_up=self.options.warm_up, **options)
        if set(report["codes"]) != {"200"} or any(report["errors"].values()) or report["unanswered"]:
            raise MeasureError("not every answer was a 200: %s" % report)
        return report

    def saturate(self, kind):
        """CPU of one request while 64 connections keep the server busy, and the rows of a batch."""
        before = self.weir.metrics()
        report = self.load(self.weir, kind, connections=CONNECTIONS, seconds=self.options.seconds)
        after = self.weir.metrics()
        self.note("weir_%s_us" % kind, report["watched_cpu_us_per_answer"])
        self.note("weir_%s_per_s" % kind, report["answers_per_s"])
        self.note("weir_%s_busy" % kind, 100 * report["watched_cpu_ns"] / report["window_s"] / 1e9)
        self.note("client_%s_busy" % kind, 100 * report["client_cpu_share"])
        rows, batches = (after["weir_batch_rows_" + part] - before["weir_batch_rows_" + part] for part in ("sum", "count"))
        self.note("weir_%s_batch" % kind, rows / batches)
        report = self.load(self.bare[kind], kind, connections=CONNECTIONS, seconds=self.options.seconds)
        self.note("bare_%s_us" % kind, report["watched_cpu_us_per_answer"])
        logged = self.load(self.logged, kind, connections=CONNECTIONS, seconds=self.options.seconds)
        self.note("logged_%s_us" % kind, logged["watched_cpu_us_per_answer"])
        self.note("bare_%s_per_s" % kind, report["answers_per_s"])
        with Scraper(self.observed.address) as scraper:
            observed = self.load(self.observed, kind, connections=CONNECTIONS, seconds=self.options.seconds)
        if scraper.count < self.options.seconds:
            raise MeasureError("the metrics were asked for only %d times" % scraper.count)
        self.note("observed_%s_us" % kind, observed["watched_cpu_us_per_answer"])
        deserted = self.load(self.deserted, kind, connections=CONNECTIONS, seconds=self.options.seconds)
        self.note("deserted_%s_us" % kind, deserted["watched_cpu_us_per_answer"])

    def check_traces(self):
        """What was measured as traced was: the collector has some, and where there is none they were given up."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            gone = self.deserted.metrics()
            taken = self.observed.metrics()["weir_traces_exported_total"]
            if taken > 0 and self.collector.bytes > 0 and gone["weir_traces_failed_total"] + gone["weir_traces_dropped_total"] > 0:
                return
            time.sleep(0.1)
        raise MeasureError("no traces were exported, or none were given up")

    def alone(self, kind):
        """Latency of a client that is alone."""
        before = self.weir.metrics()
        report = self.load(self.weir, kind, connections=1, seconds=self.options.seconds / 2, spin=True)
        after = self.weir.metrics()
        self.note("weir_%s_p50_us" % kind, report["latency_us"]["ok"]["p50"])
        rows, batches = (after["weir_batch_rows_" + part] - before["weir_batch_rows_" + part] for part in ("sum", "count"))
        self.note("weir_%s_alone_batch" % kind, rows / batches)
        report = self.load(self.bare[kind], kind, connections=1, seconds=self.options.seconds / 2, spin=True)
        self.note("bare_%s_p50_us" % kind, report["latency_us"]["ok"]["p50"])

    def parts(self):
        command = [program("bench/bench_dense"), self.model, "--rows", "1,%d" % BATCH_SIZE, "--seconds", self.options.seconds / 4]
        runs = {run["rows"]: run for run in json.loads(server_core_run(command))["runs"]}
        self.note("dense_row_us", runs[BATCH_SIZE]["cpu_us_per_row"])
        self.note("dense_alone_us", runs[1]["cpu_us_per_batch"])
        text = server_core_run([program("bench/bench_codec")])
        match = re.search(r"short numbers, (\d+) bytes[^\n]*\n\s*codec\s+([\d.]+) us", text)
        if not match:
            raise MeasureError("bench_codec printed no line of the codec:\n" + text)
        self.reader_bytes = int(match.group(1))
        self.note("reader_us", float(match.group(2)))

    def run(self):
        self.start()
        try:
            for repetition in range(self.options.repetitions):
                say("repetition %d of %d" % (repetition + 1, self.options.repetitions))
                for kind in KINDS:
                    self.saturate(kind)
                self.parts()
                for kind in KINDS:
                    self.alone(kind)
            self.check_traces()
            self.wrk = self.second_opinion()
        finally:
            self.stop()

    def second_opinion(self):
        """The throughput that wrk sees, or None without it."""
        if not shutil.which("wrk"):
            return None
        seen = {}
        for kind in KINDS:
            script = ROOT / "loadtest" / "wrk" / ("predict_%s.lua" % kind)
            command = ["env", "BODY=%s" % self.bodies[kind], "wrk", "-t1", "-c%d" % CONNECTIONS, "-d2s", "-s", script]
            text = client_run([*command, "http://%s/predict" % self.weir.address])
            seen[kind] = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
            if "Non-2xx" in text or "Socket errors" in text:
                raise MeasureError("wrk saw errors:\n" + text)
        return seen

    def fill(self, report):
        for kind in KINDS:
            self.fill_saturated(report, kind)
        report.add_samples("layers alone, batch 1", self.samples["dense_alone_us"], "us")
        for kind in KINDS:
            self.fill_alone(report, kind)

    def tell(self, report, kind, what, name, unit, goal=None, digits=2):
        report.add_samples("%s: %s" % (KIND_TEXT[kind], what), self.samples[name % kind], unit, goal, digits)

    def fill_saturated(self, report, kind):
        samples = self.samples
        parts = ["bare_%s_us" % kind, "dense_row_us"] + (["reader_us"] if kind == "json" else [])
        sums = [sum(values) for values in zip(*(samples[part] for part in parts))]
        ratio = median(samples["weir_%s_us" % kind]) / sum(median(samples[part]) for part in parts)
        self.tell(report, kind, "server CPU of a request, weir, 64 connections", "weir_%s_us", "us")
        self.tell(report, kind, "the same, bare server", "bare_%s_us", "us")
        if kind == "json":
            report.add_samples("JSON reader alone (%d bytes)" % self.reader_bytes, samples["reader_us"], "us")
            report.add_samples("layers alone, batch %d, of a row" % BATCH_SIZE, samples["dense_row_us"], "us")
        report.add_samples("%s: sum of the parts" % KIND_TEXT[kind], sums, "us")
        report.add("%s: weir / sum of the parts" % KIND_TEXT[kind], ratio, "", ("<=", 1.3))
        logged = median(samples["logged_%s_us" % kind]) / median(samples["weir_%s_us" % kind])
        report.add("%s: weir with an access log / without" % KIND_TEXT[kind], logged, "", ("<=", 1.05))
        observed = median(samples["observed_%s_us" % kind]) / median(samples["weir_%s_us" % kind])
        report.add("%s: weir with access log, 1 %% traces and scrapes / without" % KIND_TEXT[kind], observed, "", ("<=", 1.05))
        deserted = median(samples["deserted_%s_us" % kind]) / median(samples["weir_%s_us" % kind])
        report.add("%s: weir with 1 %% traces and no collector there / without" % KIND_TEXT[kind], deserted, "", ("<=", 1.05))
        self.tell(report, kind, "rows of a batch, 64 connections", "weir_%s_batch", "rows", (">", 16), 1)
        self.tell(report, kind, "server's core busy with weir", "weir_%s_busy", "%", digits=0)
        self.tell(report, kind, "client's core busy meanwhile", "client_%s_busy", "%", digits=0)
        self.tell(report, kind, "requests a second, weir", "weir_%s_per_s", "/s", digits=0)
        self.tell(report, kind, "requests a second, bare server", "bare_%s_per_s", "/s", digits=0)
        if self.wrk:
            report.add("%s: requests a second, weir, seen by wrk" % KIND_TEXT[kind], self.wrk[kind], "/s", digits=0)

    def fill_alone(self, report, kind):
        over = (
            median(self.samples["weir_%s_p50_us" % kind])
            - median(self.samples["bare_%s_p50_us" % kind])
            - median(self.samples["dense_alone_us"])
        )
        self.tell(report, kind, "p50, weir, 1 connection", "weir_%s_p50_us", "us")
        self.tell(report, kind, "p50, bare server, 1 connection", "bare_%s_p50_us", "us")
        report.add("%s: p50 over bare server + layers" % KIND_TEXT[kind], over, "us", ("<=", 60))
        self.tell(report, kind, "rows of a batch, 1 connection", "weir_%s_alone_batch", "rows", ("==", 1), 3)


# ---------------------------------------------------------------- start, memory, metrics


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask_ready(port):
    """True if /health/ready answers 200 now."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"GET /health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return client.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def start_times(repetitions, **options):
    """Milliseconds to the first 200 of /health/ready, those that the log's ready line says, and the resident bytes then."""
    seen, said, resident = [], [], []
    for number in range(repetitions + 1):  # the first warms the page cache and is left out
        port = free_port()
        server = weir(ROOT / "models" / "digits", wait=None, port=port, **options)
        try:
            end = server.started + 10
            while not ask_ready(port):
                if time.monotonic() > end or not server.alive():
                    raise MeasureError("weir is not ready:\n" + server.log())
                time.sleep(0.0002)
            took = (time.monotonic() - server.started) * 1000
            line = server.wait_for("ready", 5)
            match = re.search(r"start_ms=([\d.]+)", line)
            if number > 0:
                seen.append(took)
                resident.append(server.resident_bytes() / MIB)
                if match:
                    said.append(float(match.group(1)))
        finally:
            server.stop()
    return seen, said, resident


def fault_times(repetitions, folder, **options):
    """Milliseconds from the request whose batch breaks a simulated GPU for good to the first 503 of /health/ready."""
    took, now = [], folder / "fault-now"
    env = {"CUDA_DOUBLE": "when=%s fail_operation=product:1:700" % now}
    body = json.dumps({"instances": [[0.5] * 64]})
    for _ in range(repetitions):
        with weir(ROOT / "models" / "digits", env=env, **{**options, "drain_delay_ms": 2000}) as server:
            if server.request("POST", "/predict", body)[0] != 200 or server.request("GET", "/health/ready")[0] != 200:
                raise MeasureError("weir does not serve on a simulated GPU:\n" + server.log())
            now.touch()
            began = time.monotonic()
            if server.request("POST", "/predict", body)[0] != 503:
                raise MeasureError("the simulated GPU did not break:\n" + server.log())
            while server.request("GET", "/health/ready")[0] != 503:
                pass
            took.append((time.monotonic() - began) * 1000)
        now.unlink()
    return took


def open_and_ask(address, count):
    """Connections that have had one answer each and are then idle."""
    host, _, port = address.rpartition(":")
    clients = []
    for _ in range(count):
        client = socket.create_connection((host, int(port)), timeout=20)
        client.sendall(b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        clients.append(client)
        if not client.recv(4096).startswith(b"HTTP/1.1 200 "):
            raise MeasureError("/health/live is not well after %d connections" % len(clients))
    return clients


def idle_connection_bytes(limit):
    """(resident bytes of one idle connection, None) or (None, why not)."""
    if limit < IDLE_CONNECTIONS + 200:
        return None, "%d descriptors allowed, %d needed" % (limit, IDLE_CONNECTIONS + 200)
    with weir(ROOT / "models" / "digits", idle_timeout_ms=600000, max_connections=IDLE_CONNECTIONS + 100) as server:
        for client in open_and_ask(server.address, 50):
            client.close()
        before = server.resident_bytes()
        clients = open_and_ask(server.address, IDLE_CONNECTIONS)
        held = server.metrics().get("weir_connections", 0)
        after = server.resident_bytes()
        for client in clients:
            client.close()
        if held < IDLE_CONNECTIONS:
            raise MeasureError("the server holds %d connections, not %d" % (held, IDLE_CONNECTIONS))
    return (after - before) / IDLE_CONNECTIONS, None


def scrape_times(folder, form):
    """Milliseconds from the question for /metrics to the whole answer, with 20 models that all have served."""
    models = {"m%02d" % number: ROOT / "models" / "digits" for number in range(SCRAPED_MODELS)}
    config = folder / "models.yaml"
    config.write_text("models:\n" + "".join("  %s: %s\n" % pair for pair in models.items()))
    row = json.dumps({"instances": [[0.5] * 64]})
    took = []
    with Server([program("weir"), "serve", "-c", config, "--port", 0, "--drain-delay-ms", 0]) as server:
        for name in models:
            status, answer = server.request("POST", "/models/%s/predict" % name, row)
            if status != 200:
                raise MeasureError("model %s answers %d: %r" % (name, status, answer[:300]))
        for _ in range(SCRAPES):
            began = time.perf_counter()
            status, answer = server.request("GET", "/metrics", Accept=form)
            took.append((time.perf_counter() - began) * 1000)
            if status != 200 or answer.count(b'model="m') < SCRAPED_MODELS:
                raise MeasureError("/metrics answers %d: %r" % (status, answer[:300]))
    return took


def measure_life(report, options, folder):
    say("start and memory")
    seen, said, resident = start_times(options.repetitions)
    report.add_samples("digits: process start to the first 200 of /health/ready", seen, "ms", ("<", 30), 1)
    if said:
        report.add_samples("digits: start as the log's ready line says", said, "ms", digits=1)
    report.add_samples("digits: resident memory after load", resident, "MiB", ("<", 24), 1)
    simulated = BUILD / "tests" / "weir_cuda_sim.so"
    if simulated.exists():
        device = {"device": "cuda", "cuda_module": simulated, "allow_simulated": 1}
        seen, _, _ = start_times(options.repetitions, **device)
        report.add_samples("digits: start on a simulated GPU", seen, "ms", ("<", 150), 1)
        took = fault_times(options.repetitions, folder, **device)
        report.add_samples("digits: a simulated GPU's fault to 503 of /health/ready", took, "ms", ("<", 100), 1)
    for text, form in (("Prometheus text", "text/plain"), ("OpenMetrics", "application/openmetrics-text")):
        report.add_samples("GET /metrics with %d models, %s" % (SCRAPED_MODELS, text), scrape_times(folder, form), "ms", ("<", 2))
    size, why_not = idle_connection_bytes(raise_descriptor_limit())
    report.add(
        "resident memory of an idle connection (of %d)" % IDLE_CONNECTIONS, size, "bytes", ("<=", 1024), 0, skipped=why_not
    )


def main():
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--warm-up", type=float, default=0.5)
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.seconds, options.warm_up = 1, 0.5, 0.2
    begin()
    report = Report("bench", "A prediction against the sum of its parts", own_command("bench"))
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        bench.run()
        bench.fill(report)
        sizes = {kind: path.stat().st_size for kind, path in bench.bodies.items()}
        report.notes.append(
            "Medians of %d repetitions of %g s, interleaved, after %g s of warm-up each; bodies of %d bytes (JSON) and %d "
            "(raw). CPU times are those of all threads of the server, from /proc/PID/task/*/schedstat."
            % (options.repetitions, options.seconds, options.warm_up, sizes["json"], sizes["raw"])
        )
        measure_life(report, options, pathlib.Path(folder))
    return report.finish(options.write)


if __name__ == "__main__":
    run_main("bench", main)
