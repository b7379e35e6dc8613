"""Single questions about weir under more load than it can take."""

import csv
import json
import multiprocessing
import os
import socket
import subprocess
import time

from measure import CLIENT_CORE, MeasureError, Server, load_command, median, program, say, weir
from overload_tools import CLIENTS, DEADLINE_MS, LONE_CONNECTIONS, admitted_late, lost, offer, reasons_text
from replay import Arrival, Replay

# ---------------------------------------------------------------- steps and bursts


def read_trace(path):
    """[(due_ms, class, status, good)] in order."""
    with open(path, encoding="ascii") as file:
        return [
            (float(line["due_us"]) / 1000, line["class"], int(line["status"]), line["good"] == "1")
            for line in csv.DictReader(file)
        ]


def share_of_good(trace, begin_ms, end_ms, capacity):
    """Good answers of the requests due then, of what could be: all of them, or the capacity."""
    due = [line for line in trace if begin_ms <= line[0] < end_ms]
    could = min(len(due), capacity * (end_ms - begin_ms) / 1000)
    return sum(line[3] for line in due) / could if could > 0 else 1.0


def recovery_ms(trace, at_ms, until_ms, capacity, window_ms=50):
    """How long after at_ms a window begins in which goodput is at 95 %; the whole stretch if there is none."""
    offset = 0
    while at_ms + offset + window_ms <= until_ms:
        if share_of_good(trace, at_ms + offset, at_ms + offset + window_ms, capacity) >= 0.95:
            return offset
        offset += 5
    return until_ms - at_ms


def steps(bench, report):
    """From 0.8 times the capacity to 4 times and back"""
    low, high, count = 0.8, 4, 2 if bench.options.quick else 5
    low_s, high_s = 1.5, 1.0
    trace_path = bench.folder / "steps.csv"
    with bench.slow_weir() as server:
        capacity = bench.capacity(server)
        schedule = ",".join(
            ["%.0f/s:%gs,%.0f/s:%gs" % (low * capacity, low_s, high * capacity, high_s)] * count
            + ["%.0f/s:%gs" % (low * capacity, low_s)]
        )
        run = offer(server, bench.body(), schedule=schedule, trace=trace_path)
    trace = read_trace(trace_path)
    ups, downs, rows = [], [], []
    for number in range(count):
        begin = number * (low_s + high_s) * 1000
        up, down = begin + low_s * 1000, begin + (low_s + high_s) * 1000
        ups.append(recovery_ms(trace, up, down, capacity))
        downs.append(recovery_ms(trace, down, down + low_s * 1000, capacity))
        rows.append([
            number + 1, "%.1f %%" % (100 * share_of_good(trace, begin + 300, up, capacity)), "%d ms" % ups[-1],
            "%.1f %%" % (100 * share_of_good(trace, up + 100, down, capacity)), "%d ms" % downs[-1],
        ])
    late, admitted = admitted_late(run)
    report.add("capacity", capacity, "/s", digits=0)
    report.add("after the step back, until 95 %% of the answers are good: worst of %d" % count, max(downs), "ms", ("<=", 100), 0)
    report.add("after the step up, until goodput is 95 %% of the capacity: worst of %d" % count, max(ups), "ms", ("<=", 100), 0)
    report.add("late answers of those admitted", 100 * late / max(1, admitted), "%", ("<=", 0.1), 3)
    report.add("requests without an answer", lost(run), "", ("==", 0), 0)
    report.add("soundness: the generator's own lag, p99", run["send_lag_us"]["p99"] / 1000, "ms", ("<", 5))
    head = ["step", "good at 0.8x before", "to 95 % after the step up", "good at 4x", "to 95 % after the step back"]
    title = "Each step (windows of 50 ms; what could be good is all that is due, or the capacity):"
    report.tables.append((title, [head, *rows]))
    report.notes.append("Reasons: %s." % reasons_text(run))
    return {"run": run}


def burst(bench, report):
    """A burst of 2,000 requests in 10 ms"""
    count = 2 if bench.options.quick else 5
    with bench.slow_weir() as server:
        capacity = bench.capacity(server)
        run = offer(server, bench.body(), schedule=",".join(["burst 2000 in 10ms,0/s:1s"] * count))
        alive = server.alive()
    late, admitted = admitted_late(run)
    report.add("capacity", capacity, "/s", digits=0)
    report.add("requests, in %d bursts" % count, run["planned"], "", ("==", 2000 * count), 0)
    report.add("admitted", admitted, "", (">", 0), 0)
    report.add("admitted in %d ms of a burst, at the capacity" % DEADLINE_MS, count * capacity * DEADLINE_MS / 1000, "", digits=0)
    report.add("admitted and late", late, "", ("==", 0), 0)
    report.add("requests without an answer, or not sent", lost(run) + run["unsent_late"], "", ("==", 0), 0)
    report.add("refusals: p99 from sending", run["refused_from_send_us"]["p99"] / 1000, "ms")
    report.add("refusals: p99 from when they were due", run["latency_us"]["refused"]["p99"] / 1000, "ms")
    report.add("200: p99 from when they were due", run["latency_us"]["ok"]["p99"] / 1000, "ms", ("<=", DEADLINE_MS))
    report.add("the generator's own lag, p99", run["send_lag_us"]["p99"] / 1000, "ms")
    report.add("server crashed", 0 if alive else 1, "", ("==", 0), 0)
    report.notes.append("Reasons: %s. The first burst opens its connections." % reasons_text(run))
    return {"run": run}


# ---------------------------------------------------------------- classes


MIXES = {
    "deadlines": [("30ms", 30, None), ("100ms", 100, None), ("400ms", 400, None)],
    "priorities": [("high", 100, "high"), ("normal", 100, "normal"), ("low", 100, "low")],
    "both": [("30ms-high", 30, "high"), ("100ms-normal", 100, "normal"), ("400ms-low", 400, "low")],
}


def class_options(classes, body):
    return [
        ",".join(
            ["name=" + name, "share=1", "deadline-ms=%d" % deadline, "timeout-ms=%d" % deadline, "body=%s" % body]
            + (["priority=" + priority] if priority else [])
        )
        for name, deadline, priority in classes
    ]


def fitted_cost(server, body, capacity):
    """(base_ms, row_ms, where it is from): the cost model of the metrics, else what fits the latency of a lone request and
    the throughput of full batches."""
    page = server.scrape()
    base, row = page.sum("weir_batch_cost_base_seconds"), page.sum("weir_batch_cost_row_seconds")
    if base is not None and row:
        return base * 1000, row * 1000, "the metrics"
    lone = server.load(body, connections=1, seconds=0.5, warm_up=0.2)["latency_us"]["ok"]["p50"] / 1000
    full = 32 * 1000 / capacity
    row = (full - lone) / 31
    return lone - row, row, "a lone request and full batches"


def mixed(bench, report):
    """Mixed deadlines and priorities beside a replay"""
    seconds = 2 if bench.options.quick else 6
    trace_path = bench.folder / "mixed.csv"
    head = ["mix", "offered", "class", "offered /s", "good /s", "replay's good /s", "good / replay", "reasons, of all"]
    rows, kept = [head], {}
    worst = (9.0, "")
    with bench.slow_weir() as server:
        capacity = bench.capacity(server)
        base_ms, row_ms, origin = fitted_cost(server, bench.body(), capacity)
        for mix, classes in MIXES.items():
            for multiple in (1.0, 2.0):
                run = offer(
                    server, None, schedule="%.1f/s:%gs" % (multiple * capacity, seconds), trace=trace_path,
                    deadline_ms=None, timeout_ms=None, **{"class": class_options(classes, bench.body())},
                )
                known = {name: (deadline, priority or "normal") for name, deadline, priority in classes}
                arrivals = [Arrival(due, *known[name], name) for due, name, _, _ in read_trace(trace_path)]
                ideal = Replay(base_ms, row_ms).run(arrivals)
                kept["%s %gx" % (mix, multiple)] = run
                for part in run["classes"]:
                    ratio = part["good"] / max(1, ideal[part["name"]])
                    worst = min(worst, (ratio, "%s, %s at %gx" % (part["name"], mix, multiple)))
                    rows.append([
                        mix, "%gx" % multiple, part["name"], "%.0f" % (part["planned"] / seconds),
                        "%.0f" % (part["good"] / seconds),
                        "%.0f" % (ideal[part["name"]] / seconds), "%.2f" % ratio, reasons_text(part),
                    ])
                say("  %s at %gx: %s" % (mix, multiple, {part["name"]: part["good"] for part in run["classes"]}))
    report.add("capacity", capacity, "/s", digits=0)
    report.add("t(rows) of the replay (from %s): base" % origin, base_ms, "ms")
    report.add("each row", row_ms, "ms", digits=3)
    report.add("worst class / replay (%s)" % worst[1], worst[0], "", (">=", 0.95))
    report.tables.append(("Classes with equal shares of the requests:", rows))
    report.notes.append(
        "The replay (loadtest/replay.py) runs the same arrivals through the same rule with the fitted t(rows), on a device that "
        "does nothing else and a network that takes no time."
    )
    return {"runs": kept}


# ---------------------------------------------------------------- health


def start_load(server, body, seconds, rate):
    command = load_command(
        server.address, body=body, rate=round(rate, 1), seconds=seconds, connections=CLIENTS, deadline_ms=DEADLINE_MS,
        timeout_ms=DEADLINE_MS, give_up_ms=1000, drain=1,
    )
    return subprocess.Popen(["taskset", "-c", str(CLIENT_CORE), *command], stdout=subprocess.PIPE, encoding="utf-8")


def probe(server, path, seconds):
    """Asks 50 times a second; returns the generator's report."""
    return server.load(path=path, rate=50, seconds=seconds, connections=64, arrivals="fixed")


def dribble(address, count, seconds, ready):
    """`count` connections that send a body byte every half second, and begin anew when the server has had enough."""
    os.sched_setaffinity(0, {CLIENT_CORE})
    host, _, port = address.rpartition(":")
    head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n"
    clients = [None] * count
    end, at = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.monotonic()
        for index in range(count):
            try:
                if clients[index] is None:
                    clients[index] = socket.create_connection((host, int(port)), timeout=5)
                    clients[index].sendall(head)
                clients[index].sendall(b" ")
            except OSError:
                clients[index].close()
                clients[index] = None
            if index % 20 == 19:  # spread over the half second
                time.sleep(max(0.0, began + 0.5 * index / count - time.monotonic()))
        at += 1
        if at == 1:
            ready.set()


def report_probes(report, when, runs):
    for path, run in runs.items():
        codes = set(run["codes"]) | ({"lost"} if lost(run) else set())
        report.add("%s %s: p50" % (path, when), run["latency_us"]["all"]["p50"] / 1000, "ms")
        report.add("%s %s: p99" % (path, when), run["latency_us"]["all"]["p99"] / 1000, "ms", ("<=", 5))
        report.add("%s %s: answers other than 200" % (path, when), len(codes - {"200"}), "", ("==", 0), 0)


def health(bench, report):
    """/health and /metrics at 10 times the capacity, and beside 1,000 dribbling connections"""
    seconds = 2 if bench.options.quick else 5
    with bench.slow_weir() as server:
        capacity = bench.capacity(server)
        report.add("capacity", capacity, "/s", digits=0)
        report_probes(report, "alone", {path: probe(server, path, 1) for path in ("/health", "/metrics")})
        at_load = {}
        for path in ("/health", "/metrics"):
            load = start_load(server, bench.body(), seconds + 2, 10 * capacity)
            time.sleep(1)
            at_load[path] = probe(server, path, seconds)
            text = load.communicate(timeout=60)[0]
        load_report = json.loads(text)
        report_probes(report, "at 10x", at_load)
        ready = multiprocessing.Event()
        process = multiprocessing.Process(target=dribble, args=(server.address, 1000, 2 * seconds + 5, ready))
        process.start()
        ready.wait(20)
        held = server.metrics()["weir_connections"]
        beside = {path: probe(server, path, seconds) for path in ("/health", "/metrics")}
        process.terminate()
        process.join()
        report_probes(report, "beside 1,000 dribbling bodies", beside)
        report.add("connections open meanwhile", held, "", (">=", 900), 0)
    report.add("offered at 10x", load_report["planned"] / load_report["seconds"], "/s", digits=0)
    report.add("the load generator's own lag at 10x, p99", load_report["send_lag_us"]["p99"] / 1000, "ms")
    share = 100 * loop_share(at_load["/metrics"])
    report.add("loop's share of its core at 10x (the rest is the clients')", share, "%", digits=0)
    report.notes.append(
        "Latencies count from when a probe was due, 50 a second; the probing client, the load generator and the server's loop "
        "share core 1."
    )
    return {"at_load": at_load, "beside_dribbling": beside}


def loop_share(run):
    threads = run["watched_threads_cpu_ns"]
    return sum(ns for name, ns in threads.items() if name.startswith("loop-")) / run["window_s"] / 1e9


# ---------------------------------------------------------------- the cost of a refusal


def raw_answer(address, head, body):
    """The bytes of one answer."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(head + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += client.recv(65536)
        answer_head, _, rest = data.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer_head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(rest) < length:
            rest += client.recv(65536)
        return answer_head + b"\r\n\r\n" + rest


def refuse_all(server, body, seconds):
    """A closed loop of requests whose deadline cannot be met; (report, CPU of the loops for each answer in us)."""
    run = server.load(body, connections=LONE_CONNECTIONS, seconds=seconds, warm_up=0.3, timeout_ms=1)
    return run, loop_share(run) * run["window_s"] * 1e6 / max(1, run["window_answers"])


def refusal(bench, report):
    """The CPU of a refusal against that of a bare server's answer"""
    seconds = 1 if bench.options.quick else 2
    body = bench.body()
    with weir(bench.slow_model().parents[1]) as server:
        data = body.read_bytes()
        head = (
            b"POST /predict HTTP/1.1\r\nHost: %s\r\nX-Request-Timeout-Ms: 1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (server.address.encode(), len(data))
        )
        answer = raw_answer(server.address, head, data)
        if not answer.startswith(b"HTTP/1.1 503"):
            raise MeasureError("a request with a deadline of 1 ms is not refused: %r" % answer[:80])
        bare_head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 000\r\n\r\n"
        command = [program("bench/bare_server"), "--answer-bytes", max(1, len(answer) - len(bare_head))]
        weir_us, bare_us, refused = [], [], []
        with Server(command) as bare:
            for _ in range(1 if bench.options.quick else 5):
                run, cost_us = refuse_all(server, body, seconds)
                refused.append(100 * run["codes"].get("503", 0) / max(1, run["answered"]))
                weir_us.append(cost_us)
                run = bare.load(body, connections=LONE_CONNECTIONS, seconds=seconds, warm_up=0.3, timeout_ms=1)
                bare_us.append(run["watched_cpu_us_per_answer"])
    report.add_samples("CPU of a refusal (the loop's thread)", weir_us, "us")
    report.add_samples("CPU of the bare server's answer", bare_us, "us")
    report.add("refusal / bare answer", median(weir_us) / median(bare_us), "", ("<=", 1.3))
    report.add("answers that were refusals", min(refused), "%", (">=", 99), 1)
    report.notes.append(
        "Kept connections, 64 in a closed loop; a JSON body of %d bytes and a deadline of 1 ms that the model cannot meet, so "
        "that each is refused on its head; both answers have %d bytes. Server on core 0, clients on core 1."
        % (len(data), len(answer))
    )
