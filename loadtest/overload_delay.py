"""What max_queue_delay_us does: batches fill up while the device waits, requests wait with it."""

from overload_tools import lost, offer

DELAYS_US = (0, 500, 2000, 10000)
SHARES = (0.1, 0.4, 0.8)


def counted(page, name):
    return page.sum(name) or 0.0


def one(bench, delay_us, rates):
    """For each rate: (rows of a batch, device seconds a row, the generator's report)."""
    found = []
    with bench.slow_weir(max_queue_delay_us=delay_us) as server:
        for rate in rates:
            before = server.scrape()
            run = offer(server, bench.body(), schedule="%.1f/s:%gs" % (rate, 1.5 if bench.options.quick else 4))
            after = server.scrape()
            batches, rows, spent = (
                counted(after, name) - counted(before, name)
                for name in ("weir_batch_rows_count", "weir_batch_rows_sum", "weir_batch_compute_seconds_sum")
            )
            found.append((rows / max(1, batches), spent / max(1, rows), run))
    return found


def delay(bench, report):
    """What waiting for a fuller batch costs and gains"""
    with bench.slow_weir() as server:
        capacity = bench.capacity(server)
    rates = [share * capacity for share in SHARES]
    head = ["max_queue_delay_us", "offered / capacity", "rows of a batch", "device us of a row", "200 p50 ms", "200 p99 ms", "good"]
    table, worst = [head], 0
    runs = {delay_us: one(bench, delay_us, rates) for delay_us in DELAYS_US}
    for delay_us, found in runs.items():
        for share, (rows, spent, run) in zip(SHARES, found):
            ok = run["latency_us"]["ok"]
            table.append([
                delay_us, "%gx" % share, "%.1f" % rows, "%.0f" % (1e6 * spent), "%.1f" % (ok["p50"] / 1000),
                "%.1f" % (ok["p99"] / 1000), "%.1f %%" % (100 * run["good"] / max(1, run["planned"])),
            ])
            worst = max(worst, lost(run))
    none, most = runs[DELAYS_US[0]], runs[DELAYS_US[-1]]
    report.add("capacity", capacity, "/s", digits=0)
    report.add("device time of a row at %gx: 10 ms of waiting / none" % SHARES[0], most[0][1] / none[0][1], "", ("<", 1))
    report.add(
        "p50 at %gx: 10 ms of waiting / none" % SHARES[0],
        most[0][2]["latency_us"]["ok"]["p50"] / none[0][2]["latency_us"]["ok"]["p50"], "",
    )
    report.add("requests without an answer", worst, "", ("==", 0), 0)
    report.tables.append(("Each setting at each rate:", table))
    report.notes.append(
        "An idle device waits until batch_size rows are there or the oldest is as old as max_queue_delay_us; 0, the default, "
        "starts with what is there. Waiting saves device time where little is asked of it, and is paid for by every request."
    )
    return {"runs": {str(delay_us): [run for _, _, run in found] for delay_us, found in runs.items()}}
