"""Measures a server with Triton's perf_analyzer, in the environment of requirements-perf.txt. usage: perf_calls.py HOST:PORT

Each run must end well, and what the server counted of it must be what perf_analyzer sent."""

import pathlib
import re
import subprocess
import sys

from calls import Calls, end, has

PERF = Calls()
BIN = pathlib.Path(sys.executable).parent
LIBRARIES = next(BIN.parent.glob("lib/python3*/site-packages/nvidia/cuda_runtime/lib"))
REQUESTS, EDGE = 300, 16  # the edge of a request rate


def number(text, name):
    return int(re.search(name + r": (\d+)", text).group(1))


def measure(address, *options, model="digits", rows=1, edge=1):
    """Runs it; checks its own figures against the server's. edge: so many requests may be under way when it asks the server
    for its figures. Returns what it printed."""
    command = [BIN / "perf_analyzer", "-m", model, "-u", address, "-i", "http", "--request-count", REQUESTS, *options]
    done = subprocess.run(list(map(str, command)), env={"LD_LIBRARY_PATH": str(LIBRARIES), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, timeout=120, check=False)
    text = done.stdout + done.stderr
    if done.returncode != 0:
        raise AssertionError(text[-600:])
    sent, answered = number(text, "Request count"), number(text, "Successful request count")
    if sent < REQUESTS or abs(sent - answered) > edge:
        raise AssertionError("%d sent, %d answered by the server: %s" % (sent, answered, text[-600:]))
    computed = number(text, "Inference count")  # rows count when their batch has run, a request when it is answered
    if abs(computed - answered * rows) > edge * rows:
        raise AssertionError("%d rows computed, %d requests answered of %d each" % (computed, answered, rows))
    has(text, "compute infer", "p99 latency")
    return text


@PERF("concurrency, synchronous")
def _(address):
    for count in ("1", "3"):
        has(measure(address, "--concurrency-range", count, "--sync", edge=int(count)), "Concurrency: %s, throughput" % count)


@PERF("concurrency, asynchronous")
def _(address):
    has(measure(address, "--concurrency-range", "8", "--async", edge=8), "Concurrency: 8, throughput")


@PERF("request rate, constant")
def _(address):
    has(measure(address, "--request-rate-range", "200", edge=EDGE), "Request Rate: 200")


@PERF("request rate, Poisson")
def _(address):
    has(measure(address, "--request-rate-range", "200", "--request-distribution", "poisson", "--async", edge=EDGE),
        "Request Rate: 200")


@PERF("batches of four rows")
def _(address):
    measure(address, "-b", "4", rows=4)


@PERF("JSON both ways")
def _(address):
    measure(address, "--input-tensor-format", "json", "--output-tensor-format", "json", "--input-data", "random")


@PERF("one version")
def _(address):
    measure(address, "-x", "1")


@PERF("several inputs and types")
def _(address):
    measure(address, "--concurrency-range", "2", "--input-data", "zero", model="typed", edge=2)  # its random bools are none


if __name__ == "__main__":
    end(PERF.run("perf_analyzer", sys.argv[1]))
