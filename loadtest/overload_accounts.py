"""Is every request in exactly one count, and does memory stay, whatever clients do?"""

import json
import os
import signal
import time

from measure import client_run, program, say, weir
from overload_tools import settle_gauges

MIB = 1024.0 * 1024.0


class Ledger:
    """What the server counted since it was made."""

    def __init__(self, server):
        self.server, self.before = server, server.scrape()

    def codes(self, route):
        early, late = (page.by("weir_requests_total", "code", route=route) for page in (self.before, self.server.scrape()))
        return {code: int(count - early.get(code, 0)) for code, count in late.items() if count != early.get(code, 0)}

    def settled(self, expected, seconds=10.0):
        """The counts of /predict once their sum is what is expected, or what they are after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            codes = self.codes("/predict")
            if sum(codes.values()) == expected or time.monotonic() > end:
                return codes
            time.sleep(0.05)


def abuse(server, bench, requests=None, seconds=None, connections=64, seed=1):
    command = [
        program("bench/abuse"), server.address, "--body", bench.numbered_body(), "--big", bench.big_body(),
        "--connections", connections, "--seed", seed, "--requests", requests or 10**12,
    ]
    if seconds:
        command += ["--seconds", seconds]
    return json.loads(client_run(command, 120 + (seconds or requests / 1000)))


def check(report, title, ledger, run):
    """Compares the clients' book with the server's; returns the row of both."""
    codes = ledger.settled(run["heads"])
    left = ledger.codes("other").get("499", 0)
    wrong = sum(max(0, count - codes.get(code, 0)) for code, count in run["codes"].items())
    report.add("%s: requests whose head was sent" % title, run["heads"], "", (">", 0), 0)
    report.add("%s: counted by the server for /predict" % title, sum(codes.values()), "", ("==", run["heads"]), 0)
    report.add("%s: answers read by clients and not counted under their code" % title, wrong, "", ("==", 0), 0)
    report.add("%s: counted, and not read by any client" % title, sum(codes.values()) - sum(run["codes"].values()), "",
               ("==", run["abandoned"]), 0)
    report.add("%s: left within the head, counted apart" % title, left, "", ("==", run["scripts"]["left_in_head"]), 0)
    unheard = run["unheard"] + run["malformed"] + run["stuck"]
    report.add("%s: scripts without the answer they waited for" % title, unheard, "", ("==", 0), 0)
    report.add("%s: answers that carry their own request's numbers" % title, run["numbers"]["right"], "", (">", 0), 0)
    report.add("%s: answers that carry others" % title, run["numbers"]["wrong"], "", ("==", 0), 0)
    names = sorted(set(codes) | set(run["codes"]))
    return [["code", "server", "clients"], *([name, codes.get(name, 0), run["codes"].get(name, 0)] for name in names)]


# What is tried: options of the server, connections of the clients.
ACCOUNTS = {
    "defaults": ({}, 64),
    "few slots": ({"max_concurrency": 8}, 128),
    "one slot": ({"max_concurrency": 1, "batch_size": 1}, 64),
}


def accounts(bench, report):
    """Every request is in exactly one count"""
    kept = {}
    for number, (title, (options, connections)) in enumerate(ACCOUNTS.items(), 1):
        say("  " + title)
        with weir(bench.numbered_model().parents[1], **options) as server:
            ledger = Ledger(server)
            run = abuse(server, bench, requests=bench.options.requests // len(ACCOUNTS), connections=connections, seed=number)
            report.tables.append(("%s, by code:" % title.capitalize(), check(report, title, ledger, run)))
            for name, value in settle_gauges(server).items():
                report.add("%s: %s afterwards" % (title, name), value, "", ("==", 0), 0)
        report.add("%s: exit code" % title, server.stop(), "", ("==", 0), 0)
        kept[title] = run
    report.notes.append(
        "Scripts, mixed at random: %s. Where a script ends with a reset it first waits for 100 Continue or for an answer, so "
        "that the server has surely read the head; requests left within the head are no requests and are counted apart."
        % ", ".join(sorted(run["scripts"]))
    )
    return {"runs": kept}


def slope(samples):
    """Least squares through (x, y)."""
    count = len(samples)
    mean_x, mean_y = (sum(sample[axis] for sample in samples) / count for axis in (0, 1))
    below = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / below if below else 0.0


def soak(bench, report):
    """Memory over time, with misbehaving clients and reloads"""
    end = time.monotonic() + 60 * bench.options.minutes
    samples, heads, rounds, wrong = [], 0, 0, 0
    with weir(bench.numbered_model().parents[1]) as server:
        ledger, began = Ledger(server), time.monotonic()
        while time.monotonic() < end:
            run = abuse(server, bench, seconds=min(8.0, max(1.0, end - time.monotonic())), connections=64, seed=rounds + 1)
            heads += run["heads"]
            wrong += run["numbers"]["wrong"] + run["unheard"] + run["malformed"] + run["stuck"]
            os.kill(server.pid, signal.SIGHUP)
            settle_gauges(server)
            samples.append((time.monotonic() - began, server.resident_bytes()))
            rounds += 1
            if rounds % 10 == 0:
                say("  %.0f s: %.2f MiB, %d requests" % (*[samples[-1][0], samples[-1][1] / MIB], heads))
        codes = ledger.settled(heads)
        gauges = settle_gauges(server)
        descriptors = server.metrics().get("process_open_fds", 0)
    settled = [sample for sample in samples if sample[0] > samples[-1][0] / 4] or samples
    level = sum(size for _, size in settled) / len(settled)
    per_hour = 100 * slope(settled) * 3600 / level
    report.add("length", samples[-1][0] / 60, "minutes", digits=1)
    report.add("requests whose head was sent", heads, "", (">", 0), 0)
    report.add("counted by the server", sum(codes.values()), "", ("==", heads), 0)
    report.add("wrong, lost or stuck", wrong, "", ("==", 0), 0)
    report.add("reloads", rounds, "", digits=0)
    report.add("resident memory: first round", samples[0][1] / MIB, "MiB")
    report.add("resident memory: last round", samples[-1][1] / MIB, "MiB")
    report.add("resident memory: slope after the first quarter", per_hour, "% an hour", ("<=", 1))
    report.add("descriptors open at the end", descriptors, "", digits=0)
    for name, value in gauges.items():
        report.add("%s afterwards" % name, value, "", ("==", 0), 0)
    return {"resident": samples}
