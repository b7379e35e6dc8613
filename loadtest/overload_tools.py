"""What the parts of overload.py share: the models and bodies, and servers to try them on."""

import contextlib
import time

from measure import ROOT, MeasureError, median, pixel_texts, weir, write_mlp, write_numbered_body, write_passing_mlp

COLUMNS = 64
SMALL_SIZES = [COLUMNS, 256, 10]
DEADLINE_MS = 100
CLIENTS = 4000  # at most so many requests wait at one time; more arrivals find nobody to send them
PATIENCE_MS = 10 * DEADLINE_MS  # after that a client closes its connection
LONE_CONNECTIONS = 64


class Bench:
    """Files that several parts need, made when they are first asked for."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.sizes = [COLUMNS, options.hidden, options.hidden, 10]  # of the slow model

    def slow_model(self):
        path = self.folder / "slow" / "1" / "model.onnx"
        return path if path.exists() else write_mlp(path, self.sizes)

    def numbered_model(self):
        path = self.folder / "numbered" / "1" / "model.onnx"
        return path if path.exists() else write_passing_mlp(path, SMALL_SIZES)

    def digits_model(self):
        return ROOT / "models" / "digits"

    def body(self):
        """One row as JSON."""
        path = self.folder / "row.json"
        path.write_text('{"instances":[[%s]]}' % ",".join(pixel_texts(COLUMNS)), encoding="ascii")
        return path

    def digits_body(self, rows):
        path = self.folder / "digit.json"
        lines = (ROOT / "models" / "digits" / "heldout.csv").read_text(encoding="ascii").splitlines()[1 : rows + 1]
        texts = ["[%s]" % ",".join(line.split(",")[:64]) for line in lines]
        path.write_text('{"instances":[%s]}' % ",".join(texts), encoding="ascii")
        return path

    def numbered_body(self):
        return write_numbered_body(self.folder / "numbered.json", COLUMNS)

    def big_body(self, rows=300):
        path = self.folder / ("big%d.json" % rows)
        row = "[%s]" % ",".join(pixel_texts(COLUMNS))
        path.write_text('{"instances":[%s]}' % ",".join([row] * rows), encoding="ascii")
        return path

    @contextlib.contextmanager
    def slow_weir(self, **options):
        """weir with defaults and the slow model, warm; the device's thread has a core, the rest is with the clients."""
        with weir(self.slow_model().parents[1], **options) as server:
            server.place_threads()
            capacity_of(server, self.body(), 1.0)
            yield server
            if not server.alive():
                raise MeasureError("the server ended:\n" + server.log())

    def capacity(self, server, seconds=3.0):
        """Median of three closed loops."""
        return median([capacity_of(server, self.body(), seconds / 3) for _ in range(3)])


def capacity_of(server, body, seconds):
    """Good answers a second in a closed loop of 64 connections."""
    return server.load(
        body, connections=LONE_CONNECTIONS, seconds=seconds, warm_up=min(0.5, seconds / 2), deadline_ms=DEADLINE_MS,
        timeout_ms=DEADLINE_MS,
    )["good_per_s"]


def offer(server, body, **options):
    """An open loop of clients that want their answer within the deadline, and say so."""
    return server.load(
        body, **{"connections": CLIENTS, "deadline_ms": DEADLINE_MS, "timeout_ms": DEADLINE_MS,
                 "give_up_ms": PATIENCE_MS, "drain": 2, **options}
    )


def busy(run, of_device):
    """The share of a core that the watched server's devices took, or all its other threads and the load generator: those
    two share one. None if no process was watched."""
    if run["watched_cpu_ns"] is None:
        return None
    threads = run["watched_threads_cpu_ns"].items()
    share = sum(ns for name, ns in threads if name.startswith("dev-") == of_device) / run["window_s"] / 1e9
    return share if of_device else share + run["client_cpu_share"]


def lost(run):
    """Requests that were sent and have no answer."""
    return sum(run["errors"].values()) + run["unanswered"]


def admitted_late(run):
    """(late ones, admitted ones) by what the client saw: a 200 after the deadline, or a 504."""
    late = run["ok_late"] + run["codes"].get("504", 0)
    return late, run["codes"].get("200", 0) + run["codes"].get("504", 0)


def reasons_text(run):
    """Why requests got no 200: the server's reasons, or the code where it gives none, and what ended without an answer."""
    counts = dict(run["reasons"])
    for code, count in run["codes"].items():
        named = sum(number for name, number in run["reasons"].items() if name.startswith(code + " "))
        if code != "200" and count > named:
            counts[code] = count - named
    counts.update({name.replace("_", " "): count for name, count in run["errors"].items() if count})
    pairs = sorted(counts.items(), key=lambda pair: -pair[1])
    return ", ".join("%s %.1f %%" % (name, 100 * count / max(1, run["planned"])) for name, count in pairs) or "-"


def settle_gauges(server, seconds=5.0):
    """The gauges once they are 0, or what they are after `seconds`."""
    wanted = ("weir_in_flight_requests", "weir_queued_requests", "weir_queued_rows", "weir_body_bytes_in_flight")
    end = time.monotonic() + seconds
    while True:
        page = server.metrics()
        gauges = {name: page[name] for name in wanted}
        if not any(gauges.values()) or time.monotonic() > end:
            return gauges
        time.sleep(0.05)
