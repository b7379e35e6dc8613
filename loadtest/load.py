#!/usr/bin/python3
"""usage: load.py [--seconds 20] [--times 1,1.4,2,4] [--write] [--quick]

Offers a server more than it can take. A 64-4096-4096-10 network makes each batch cost real time. The sustainable rate is
looked for first; then an open loop (Poisson arrivals, as from many independent clients) offers multiples of it, the largest
for --seconds. Writes build/results/load.json, and with --write the section of loadtest/RESULTS.md. Exits with 1 if a goal
is missed.
"""

import pathlib
import tempfile
import time

from measure import (
    MeasureError, Report, arguments, begin, own_command, raise_descriptor_limit, run_main, say, weir, write_bodies, write_mlp,
)

SIZES = [64, 4096, 4096, 10]
DEADLINE_MS = 100  # what counts as a good answer; the server's own time-out keeps its default
POOL = 4000
SUSTAINED = 0.999  # share of good answers that makes a rate sustainable
GROWTH_BYTES = 1024 * 1024  # the noise of an allocator
MIB = 1024.0 * 1024.0


class Load:
    def __init__(self, server, body, options):
        self.server, self.body, self.options = server, body, options
        self.runs, self.trials = [], []

    def offer(self, rate, seconds, warm_up=1.0):
        return self.server.load(
            self.body, rate=round(rate, 2), seconds=seconds, warm_up=warm_up, connections=POOL, deadline_ms=DEADLINE_MS
        )

    def find_sustainable(self):
        """The largest of a few rates at which 99.9 % of the requests get a good answer. The throughput of a closed loop
        bounds it from above."""
        closed = self.server.load(self.body, connections=64, seconds=self.options.trial_seconds, warm_up=1.0)
        self.capacity = closed["good_per_s"]
        say("closed loop with 64 connections: %.0f/s" % self.capacity)
        for share in (0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5):
            report = self.offer(share * self.capacity, self.options.trial_seconds)
            good = report["good"] / max(1, report["planned"])
            self.trials.append([round(share * self.capacity), "%.2f" % share, "%.3f %%" % (100 * good)])
            say("offered %.0f/s: %.3f %% good" % (share * self.capacity, 100 * good))
            if good >= SUSTAINED:
                return share * self.capacity
        raise MeasureError("no rate down to half of the closed loop's is sustained")

    def run(self, sustainable):
        times = self.options.times
        peak = max(times)
        for multiple in times:
            if multiple == peak:
                self.resident_before = self.warm_memory(peak * sustainable)
            seconds = self.options.seconds if multiple == peak else self.options.step_seconds
            say("offering %g times the sustainable rate for %g s" % (multiple, seconds))
            report = self.offer(multiple * sustainable, seconds)
            self.runs.append((multiple, report))
            if multiple == peak:
                self.peak = report
                self.gauges = self.settle()
                self.resident_after = self.server.resident_bytes()

    def warm_memory(self, rate):
        """Resident bytes once the pools have grown to what the overload takes."""
        self.offer(rate, self.options.step_seconds, warm_up=0.0)
        self.settle()
        return self.server.resident_bytes()

    def settle(self, seconds=5.0):
        """The gauges once they are 0, or what they are after `seconds`."""
        names = ("weir_in_flight_requests", "weir_queued_requests", "weir_queued_rows", "weir_body_bytes_in_flight")
        end = time.monotonic() + seconds
        while True:
            page = self.server.metrics()
            gauges = {name: page[name] for name in names}
            if not any(gauges.values()) or time.monotonic() > end:
                return gauges
            time.sleep(0.05)

    def fill(self, report, sustainable):
        peak, codes = self.peak, {int(code): count for code, count in self.peak["codes"].items()}
        others = sum(count for code, count in codes.items() if code not in (200, 503, 504))
        lost = sum(peak["errors"].values()) + peak["errors_outside"] + peak["unanswered"]
        growth = (self.resident_after - self.resident_before) / MIB
        refused = peak["latency_us"]["refused"]
        report.add("closed loop, 64 connections: answers a second", self.capacity, "/s", digits=0)
        report.add("sustainable rate (99.9 %% good within %d ms)" % DEADLINE_MS, sustainable, "/s", digits=0)
        report.add("offered at the peak", peak["planned"] / peak["seconds"], "/s", digits=0)
        report.add("answers other than 200, 503, 504", others, "", ("==", 0), 0)
        report.add("requests without a whole answer", lost, "", ("==", 0), 0)
        report.add("requests that found no free connection", peak["unsent_late"], "", ("==", 0), 0)
        report.add("refusals", refused["count"], "", (">", 0), 0)
        report.add("refusals: p99", refused["p99"] / 1000, "ms", ("<", 5))
        report.add("refusals: p99.9", refused["p999"] / 1000, "ms")
        report.add("refusals: largest", refused["max"] / 1000, "ms")
        report.add("soundness: the generator's own lag, p99", peak["send_lag_us"]["p99"] / 1000, "ms", ("<", 1))
        report.add("goodput at the peak", peak["good_per_s"], "/s", digits=0)
        report.add("goodput at the peak / sustainable rate", peak["good_per_s"] / sustainable, "")
        report.add("resident memory before (after a first overload)", self.resident_before / MIB, "MiB", digits=1)
        report.add("resident memory growth", growth, "MiB", ("<=", GROWTH_BYTES / MIB))
        for name, value in self.gauges.items():
            report.add(name + " afterwards", value, "", ("==", 0), 0)
        report.add("server crashed", 0 if self.server.alive() else 1, "", ("==", 0), 0)

    def table(self, sustainable):
        rows = [["offered", "/s", "200 /s", "good /s", "good / sustainable", "503", "504", "other", "lost", "200 p50 ms",
                 "200 p99 ms", "503 p99 ms"]]
        for multiple, run in self.runs:
            codes, latency = run["codes"], run["latency_us"]
            count = {code: codes.get(code, 0) for code in ("200", "503", "504")}
            lost = sum(run["errors"].values()) + run["unanswered"] + run["unsent_late"]
            rows.append([
                "%gx" % multiple, "%.0f" % (run["planned"] / run["seconds"]), "%.0f" % (count["200"] / run["seconds"]),
                "%.0f" % run["good_per_s"], "%.2f" % (run["good_per_s"] / sustainable), count["503"], count["504"],
                sum(codes.values()) - sum(count.values()), lost, "%.1f" % (latency["ok"]["p50"] / 1000),
                "%.1f" % (latency["ok"]["p99"] / 1000), "%.2f" % (latency["refused"]["p99"] / 1000),
            ])
        return rows


def main():
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="at the largest multiple")
    parser.add_argument("--times", type=lambda text: sorted(map(float, text.split(","))), default=[1, 1.4, 2, 4])
    options = parser.parse_args()
    options.trial_seconds, options.step_seconds = 4.0, 5.0
    if options.quick:
        options.seconds, options.trial_seconds, options.step_seconds = 4.0, 1.0, 1.5
    begin()
    raise_descriptor_limit()
    report = Report("load", "More than the server can take", own_command("load"))
    with tempfile.TemporaryDirectory(prefix="weir-load-") as folder:
        folder = pathlib.Path(folder)
        write_mlp(folder / "wide" / "1" / "model.onnx", SIZES)
        body, _ = write_bodies(folder, SIZES[0])
        body_bytes = body.stat().st_size
        with weir(folder / "wide") as server:
            load = Load(server, body, options)
            sustainable = load.find_sustainable()
            load.run(sustainable)
            load.fill(report, sustainable)
        code = server.stop()
        report.add("exit code after SIGINT", code, "", ("==", 0), 0)
    report.tables.append(("Multiples of the sustainable rate:", load.table(sustainable)))
    report.tables.append(("The search for it:", [["offered /s", "of the closed loop", "good"], *load.trials]))
    report.notes.append(
        "%d-%d-%d-%d network, one JSON row of %d bytes a request, defaults throughout (batch_size 32, max_concurrency 64, "
        "timeout_ms 3000). Latencies count from when a request was due; good is a 200 within %d ms; up to %d connections."
        % (*SIZES, body_bytes, DEADLINE_MS, POOL)
    )
    return report.finish(options.write, {"runs": [{"multiple": multiple, **run} for multiple, run in load.runs]})


if __name__ == "__main__":
    run_main("load", main)
