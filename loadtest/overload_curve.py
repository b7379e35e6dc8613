"""Goodput against offered load."""

import pathlib

from measure import ROOT, MeasureError, histogram_quantile, median, say, weir
from overload_servers import CONTESTANTS, Peer, settle
from overload_tools import DEADLINE_MS, LONE_CONNECTIONS, admitted_late, busy, capacity_of, lost, offer, reasons_text
from plot import Plot

GOAL_SHARE, GOAL_LATE, GOAL_WASTED, GOAL_REFUSAL_MS = 0.95, 0.1, 1.0, 1.0


class Point:
    """One server at one offered rate."""

    def __init__(self, multiple, run, before, after):
        self.multiple, self.run = multiple, run
        late, admitted = admitted_late(run)
        self.late_percent = 100 * late / max(1, admitted)
        self.wasted_percent = self.estimate = self.server_refusal_ms = None
        if before:
            seconds, _ = histogram_quantile(
                before, after, 0.99, "weir_request_duration_seconds", route="/predict", **{"class": "5xx"}
            )
            self.server_refusal_ms = None if seconds is None else 1000 * seconds
            wasted, rows = (
                after.sum(name) - (before.sum(name) or 0) for name in ("weir_wasted_rows_total", "weir_batch_rows_sum")
            )
            self.wasted_percent = 100 * wasted / max(1, rows)
            self.estimate = {
                direction: [
                    histogram_quantile(
                        before, after, share, "weir_admission_estimate_error_seconds", direction=direction
                    )
                    for share in (0.5, 0.99)
                ]
                for direction in ("early", "late")
            }

    def unsound(self):
        """Why the point says nothing about the server, or None."""
        share = busy(self.run, False)
        return "clients and loop need more than the core they share" if share is not None and share > 0.93 else None

    def refusal_ms(self, quantile):
        return self.run["refused_from_send_us"][quantile] / 1000

    def row(self, capacity):
        run = self.run
        refused = run["refused_from_send_us"]["count"]
        return [
            "%gx" % self.multiple, "%.0f" % (run["planned"] / run["seconds"]), "%.0f" % run["good_per_s"],
            "%.1f %%" % (100 * run["good_per_s"] / capacity), "%.3f %%" % self.late_percent,
            "-" if self.wasted_percent is None else "%.2f %%" % self.wasted_percent,
            "%.1f / %.1f" % (run["latency_us"]["ok"]["p50"] / 1000, run["latency_us"]["ok"]["p99"] / 1000),
            "%.2f / %.2f" % (self.refusal_ms("p50"), self.refusal_ms("p99")) if refused else "-",
            reasons_text(run), lost(run), run["unsent_late"], "%.2f" % (run["send_lag_us"]["p99"] / 1000),
            *("-" if share is None else "%.0f %%" % (100 * share) for share in (busy(run, True), busy(run, False))),
        ]


HEAD = ["offered", "/s", "good /s", "of capacity", "late", "wasted rows", "200 p50 / p99 ms", "refusal p50 / p99 ms",
        "reasons, of all", "no answer", "not sent", "generator's lag p99 ms",
        "core 0", "core 1"]


def measure_points(contestant, body, options):
    """(capacity, points): the capacity is the median of closed loops before, between and after the points; the points'
    rates are multiples of the median of those before."""
    capacity_of(contestant, body, options.seconds / 2)  # warms the server
    capacities = [capacity_of(contestant, body, options.seconds / 3) for _ in range(3)]
    first, points = median(capacities), []
    for multiple in options.multiples:
        before = contestant.scrape()
        run = offer(contestant, body, rate=round(multiple * first, 1), seconds=options.seconds, warm_up=1.0)
        points.append(Point(multiple, run, before, contestant.scrape()))
        if not settle(contestant.address, body):
            say("  %s still works on what is over" % contestant.label)
        capacities.append(capacity_of(contestant, body, options.seconds / 3))
        say("  %gx: %.0f/s good of %.0f/s" % (multiple, run["good_per_s"], first))
    return median(capacities), points


def measure_contestant(contestant, model, body, options):
    """(capacity, points), or None with the reason told."""
    say(contestant.label)
    try:
        contestant.start(model)
        if isinstance(contestant, Peer):
            contestant.wait(body)
    except MeasureError as error:
        say("\n*** SKIPPED %s: %s\n" % (contestant.label, error))
        return str(error).strip().splitlines()[0]
    try:
        return measure_points(contestant, body, options)
    finally:
        contestant.stop()


def judge(report, capacity, points):
    """weir's own goals."""
    for point in points:
        share = point.run["good_per_s"] / capacity
        report.add(
            "weir: goodput at %gx / capacity" % point.multiple, share, "", (">=", GOAL_SHARE), skipped=point.unsound()
        )
    points = [point for point in points if not point.unsound()]
    if not points:
        return
    worst = max(points, key=lambda point: point.late_percent)
    report.add("weir: late answers of those admitted, worst point", worst.late_percent, "%", ("<=", GOAL_LATE), 3)
    worst = max(points, key=lambda point: point.wasted_percent)
    report.add("weir: rows computed for nothing, worst point", worst.wasted_percent, "%", ("<=", GOAL_WASTED))
    report.add("weir: requests without an answer", sum(lost(point.run) for point in points), "", ("==", 0), 0)
    for point in points:
        if point.multiple in (2, 4, 10) and point.run["refused_from_send_us"]["count"]:
            goal = ("<=", GOAL_REFUSAL_MS) if point.multiple == 4 else None
            report.add("weir: refusal p99 at %gx, from sending" % point.multiple, point.refusal_ms("p99"), "ms", goal)
            if point.server_refusal_ms is not None:
                what = "weir: refusal p99 at %gx, from the head, by the server's histogram" % point.multiple
                report.add(what, point.server_refusal_ms, "ms", goal)


def estimate_rows(points):
    """By how much answers came earlier and later than admission expected."""
    rows = [["offered", "answers earlier", "by p50 / p99 ms", "answers later", "by p50 / p99 ms"]]
    for point in points:
        row = ["%gx" % point.multiple]
        for direction in ("early", "late"):
            (median_s, count), (far_s, _) = point.estimate[direction]
            row += ["%d" % count, "-" if median_s is None else "%.2f / %.2f" % (median_s * 1000, far_s * 1000)]
        rows.append(row)
    return rows


def draw(results, multiples, write):
    plot = Plot(
        "Good answers when more is asked than can be done", "offered load / capacity of the server",
        "200 within %d ms / capacity" % DEADLINE_MS, multiples, 1.2, 0.2,
    )
    for contestant, capacity, points in results:
        offered = [point.run["planned"] / point.run["seconds"] / capacity for point in points]
        plot.add(contestant.label, [(x, point.run["good_per_s"] / capacity) for x, point in zip(offered, points)])
    path = (ROOT / "loadtest" if write else ROOT / "build" / "results") / "overload.svg"
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plot.svg(), encoding="utf-8")
    print("written: %s" % path.relative_to(ROOT))


def curve(bench, report):
    """Goodput against offered load"""
    model, body = bench.slow_model(), bench.body()
    wanted = bench.options.servers
    results, kept, estimates = [], {}, None
    for contestant in CONTESTANTS:
        if wanted and contestant.key not in wanted:
            continue
        result = measure_contestant(contestant, model, body, bench.options)
        if isinstance(result, str):
            report.notes.append("Skipped: %s (%s)." % (contestant.label, result))
            continue
        capacity, points = result
        results.append((contestant, capacity, points))
        report.add("%s: capacity (closed loop, 64 connections)" % contestant.label, capacity, "/s", digits=0)
        kept[contestant.key] = {"capacity": capacity, "points": [[p.multiple, p.run] for p in points]}
        report.tables.append((contestant.label + ":", [HEAD, *(point.row(capacity) for point in points)]))
        if contestant.key == "weir":
            judge(report, capacity, points)
            estimates = estimate_rows(points)
    if results and len(bench.options.multiples) > 1:
        draw(results, bench.options.multiples, bench.options.write)
    if estimates:
        report.tables.append(("weir: answers against their estimate at admission:", estimates))
    report.notes.append(
        "%d-%d-%d-%d network, one JSON row a request, batches of at most 32 rows, one thread that computes. That thread has "
        "core 0 to itself; the rest of the server shares core 1 with the load generator. Poisson arrivals; good is a 200 "
        "within %d ms of when the request was due. All requests carry X-Request-Timeout-Ms: %d (mosec and LitServe have the "
        "same limit by their own setting, FastAPI has none). At most 4000 requests wait at one time, and clients leave after "
        "1 s. The capacity is the median of closed loops before, between and after the points; the offered rate is a multiple "
        "of that of the first three. Late: a 200 after the deadline or a 504, of all 200s and 504s." % (*bench.sizes, DEADLINE_MS, DEADLINE_MS)
    )
    return {"servers": kept}


class Digits:
    """weir with the digits model, all of it on the server's core."""

    def __init__(self, bench):
        self.server = weir(bench.digits_model())
        self.address, self.label = self.server.address, "weir"

    def scrape(self):
        return self.server.scrape()

    def load(self, body, **options):
        return self.server.load(body, **options)


NATURAL_ROWS = 32


def refusal_cost(contestant, body, served_us, seconds):
    """Server CPU of a refusal in us: what a closed loop of more clients than slots costs beyond its good answers. None if it
    was refused nothing."""
    run = contestant.load(body, connections=256, seconds=seconds, warm_up=0.5)
    good, refused = (run["codes"].get(code, 0) for code in ("200", "503"))
    if not refused:
        return None
    return (run["watched_cpu_us_per_answer"] * (good + refused) - good * served_us) / refused


def natural(bench, report):
    """Goodput of the digits model at its natural speed"""
    body, seconds = bench.digits_body(NATURAL_ROWS), bench.options.seconds
    contestant = Digits(bench)
    try:
        capacity, points = measure_points(contestant, body, bench.options)
        run = contestant.load(body, connections=LONE_CONNECTIONS, seconds=seconds / 2, warm_up=0.5)
        served_us = run["watched_cpu_us_per_answer"]
        refusal_us = refusal_cost(contestant, body, served_us, seconds / 2)
    finally:
        contestant.server.stop()
    ratio = min(0.99, (refusal_us or 0) / served_us)
    report.add("capacity (closed loop, 64 connections)", capacity, "/s", digits=0)
    report.add("server CPU of an answer (%d rows)" % NATURAL_ROWS, served_us, "us")
    if refusal_us is not None:
        report.add("server CPU of a refusal (closed loop, 256 connections)", refusal_us, "us")
    rows = [["offered", "/s", "good /s", "of capacity", "what refusals leave", "good / that", "server's core busy",
             "reasons, of all", "not sent", "generator's lag p99 ms"]]
    for point in points:
        run = point.run
        rate = run["planned"] / run["seconds"]
        left = min(rate, capacity, capacity * max(0.0, (1 - rate / capacity * ratio) / (1 - ratio)))
        sound = run["send_lag_us"]["p99"] < 5000 and run["unsent_late"] < 0.001 * run["planned"]
        why_not = None if sound else "the generator's core cannot send that much"
        if left < 0.02 * capacity:
            why_not = "refusals alone need the whole core"
        share = run["good_per_s"] / max(1, left)
        rows.append([
            "%gx" % point.multiple, "%.0f" % rate, "%.0f" % run["good_per_s"],
            "%.1f %%" % (100 * run["good_per_s"] / capacity), "%.0f" % left, "%.2f" % share if not why_not else "-",
            "%.0f %%" % (100 * run["watched_cpu_ns"] / run["window_s"] / 1e9), reasons_text(run), run["unsent_late"],
            "%.2f" % (run["send_lag_us"]["p99"] / 1000),
        ])
        report.add(
            "goodput at %gx / what the refusals leave" % point.multiple, None if why_not else share, "",
            (">=", GOAL_SHARE), skipped=why_not,
        )
    report.tables.append(("The digits model, all of the server on core 0, the generator on core 1:", rows))
    report.notes.append(
        "Requests of %d rows, so that a generator on one core can offer a multiple of the capacity. What refusals leave: "
        "capacity x (1 - k r) / (1 - r) at k times the capacity, r = CPU of a refusal / CPU of an answer (both share the core), "
        "and at most what is offered." % NATURAL_ROWS
    )
    return {"points": [[point.multiple, point.run] for point in points]}
