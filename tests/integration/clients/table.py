#!/usr/bin/python3
"""Serves three models and lets real clients, installed by package, call every method they have: v1_calls.py and the other
programs beside this one. usage: table.py [--write]

Prints a table client x call x result and writes build/results/clients.json; with --write also README.md beside this file.
The last line is `N passed, N failed`. The server is the program that WEIR names, else build/weir.
"""

import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import environment  # noqa: E402
import onnx_writer as onnx  # noqa: E402
import reference  # noqa: E402
from calls import ROOT, ROWS  # noqa: E402
from harness import Server  # noqa: E402

GOAL = "every call of every client gets what its protocol promises: all green"
COMMAND = "tests/integration/clients/table.py"
OWN = {"curl": "curl", "node fetch": "node"}  # client: the machine's own program
LIBRARIES = ("numpy==", "nvidia-")  # of requirements that are no clients
LINE = re.compile(r"^(ok|FAIL) ([^:]+): (.*)$")
CONFIG = "models:\n  digits: %s\n  typed: %s\n  demo: %s\n"
ABOUT = """# Real clients against weir

Written by `%s --write`, which `./dev test all` runs without `--write`.
The clients are installed by package at test time, into a folder outside the repository (`environment.py`,
`requirements-*.txt`); curl and node are the machine's own, and one that is not installed fails. What the calls assert is in
the programs beside this file.

`schema_calls.py` calls what /openapi.json describes, over 10,000 times, with what schemathesis makes up, and as often what the
Open Inference Protocol's own description of /v2 does; `protocol_description.py` says where that is taken from, and lists one by
one where it and the protocol's servers disagree.

Refused on purpose: `load_model` and `unload_model`, since /admin does that; trace, logging and sequences, which are neither
served nor advertised. Streams and shared memory are not called. perf_analyzer's random
data of BOOL and FP64 are no bools, and no numbers that float32 holds: for such inputs give it `--input-data zero` or a file. A
model whose input has no dimension but the batch's it cannot ask.

Goal: %s.
%d calls: %d ok, %d failed (%s).
Clients: %s.
"""


def typed():
    kinds = (("big", onnx.INT64), ("flag", onnx.BOOL), ("half", onnx.FLOAT16), ("small", onnx.INT32))
    return onnx.model(
        [onnx.node("Identity", [name], [name + "_out"], "copy_" + name) for name, _ in kinds], [],
        [onnx.value(name, ["N", 2], kind) for name, kind in kinds],
        [onnx.value(name + "_out", ["N", 2], kind) for name, kind in kinds],
    )


def programs(address):
    """Client: the command that makes its calls, and its input."""
    v1, v2 = environment.python("v1"), environment.python("v2")
    out = [([v2, HERE / name, address], b"") for name in ("triton_calls.py", "kserve_calls.py", "plain_calls.py")]
    out.append(([v1, HERE / "v1_calls.py", address], b""))
    out.append(([environment.python("perf"), HERE / "perf_calls.py", address], b""))
    if shutil.which("node"):
        out.append((["node", HERE / "fetch_calls.mjs", address], json.dumps(ROWS[:1]).encode()))
    return out


def missing():
    """A line for each client that this machine should have and has not, as call gives them."""
    return [(client, "all calls", "FAIL", "not run: %s is not installed" % program)
            for client, program in OWN.items() if not shutil.which(program)]


def verdict(result, why):
    return "ok" if result == "ok" else why if why.startswith("not run: ") else "FAILED: " + why


def call(command, given):
    """The lines of one program as (client, call, result, why)."""
    done = subprocess.run(list(map(str, command)), input=given, capture_output=True, timeout=600, check=False)
    text = done.stdout.decode(errors="replace")
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            what, _, why = match.group(3).partition(": ") if match.group(1) == "FAIL" else (match.group(3), "", "")
            found.append((match.group(2), what, match.group(1), why))
    errors = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        sys.stdout.write(errors[-6000:])
        if not any(result == "FAIL" for _, _, result, _ in found):
            last = (errors.strip() or text.strip() or "no word").splitlines()[-1]
            found.append((pathlib.Path(str(command[1])).stem, "the program as a whole", "FAIL", last))
    return found


def versions():
    """The clients' versions, as the requirements say."""
    pins = sorted({line.strip() for name in ("v1", "v2", "perf", "schema") for line in
                   (HERE / ("requirements-%s.txt" % name)).read_text(encoding="ascii").splitlines()
                   if "==" in line and not line.startswith(LIBRARIES)})
    for program in OWN.values():
        if shutil.which(program):
            text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
            pins.append(program + " " + re.search(r"\d+[.\d]+", text).group(0))
    return ", ".join(pins)


def render(rows):
    """Rows of texts as a Markdown table; the first row is its head."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def main(arguments):
    with tempfile.TemporaryDirectory() as folder:
        reference.write(folder + "/typed/1/model.onnx", typed())
        config = CONFIG % (ROOT / "models" / "digits", folder + "/typed", reference.demo())
        # Calls compare bits. A machine that stands still for a moment must not make refusals of an open loop: perf_analyzer
        # fails on one, or waits for ever for the count of its answers.
        patient = {"max_concurrency": 1024, "queue_delay_target_ms": 60000, "timeout_ms": 60000}
        with Server(config=config, max_request_rows=8192, invariance="strict", **patient) as server:
            address = "%s:%d" % (server.host, server.port)
            found = [line for command, given in programs(address) for line in call(command, given)] + missing()
    bad = sum(result == "FAIL" for _, _, result, _ in found)
    table = render([["client", "call", "result"]] + [
        [client, what, verdict(result, why)] for client, what, result, why in found])
    print(table)
    date = datetime.date.today().isoformat()
    results = ROOT / "build" / "results"
    results.mkdir(parents=True, exist_ok=True)
    lines = [{"client": client, "call": what, "ok": result == "ok", "why": why} for client, what, result, why in found]
    document = {"title": "Real clients", "goal": GOAL, "command": COMMAND, "date": date, "versions": versions(),
                "passed": len(found) - bad, "failed": bad, "calls": lines}
    (results / "clients.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if "--write" in arguments:
        head = ABOUT % (COMMAND, GOAL, len(found), len(found) - bad, bad, date, versions())
        (HERE / "README.md").write_text(head + "\n" + table + "\n", encoding="utf-8")
    print("%d passed, %d failed" % (len(found) - bad, bad))
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
