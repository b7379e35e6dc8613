"""usage: gpu_check.py [--simulated] [--quick] [--build DIR] [--out DIR] [--limit SECONDS] [--part NAME,...]

One look at a machine with an NVIDIA GPU: is everything right on it, and how fast is it? Runs the parts below one after
another, each in its own time and failing alone, prints one table, and writes OUT/gpu_check.json (build/results). loadtest/
gpu_check.sh builds what it needs. Exits with 1 if a goal was missed or a part failed, with 3 if there is no usable GPU.
--simulated runs everything on the double of tests/double: figures then say nothing, rightness does.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import time

import gpu_parts
import gpu_server
import gpu_speed
from gpu_tools import ROOT, Check, NoGpu

# Name, seconds at most, what runs. What matters most comes first: when the time is up, the rest is left out.
PARTS = [
    ("machine", 20, gpu_parts.machine),
    ("nvml", 10, gpu_parts.nvml),
    ("kernels", 40, gpu_parts.kernels),
    ("oracle", 30, gpu_parts.oracle),
    ("engine", 80, gpu_speed.engine),
    ("torch", 60, gpu_speed.torch),
    ("life", 45, gpu_parts.life),
    ("server", 90, gpu_server.server),
    ("fault", 30, gpu_server.fault),
    ("floor", 30, gpu_speed.floor),
    ("products", 30, gpu_speed.products),
    ("load seen", 10, gpu_parts.load_seen),
    ("sanitizer", 100, gpu_parts.sanitizer),
]
ALWAYS = {"machine", "load seen"}


def answers(check):
    """The five questions that only a GPU answers, from the rows that there are."""

    def all_of(part, start):
        found = ["%s: %s %s" % (row["row"], row["value"], row["unit"]) for row in check.rows
                 if row["part"] == part and row["row"].startswith(start) and row["value"] is not None]
        return "; ".join(found)

    questions = [
        ("1. which batch sizes give other bits than one row; does the place matter; what does strict cost",
         [("products", "batch sizes with other bits"), ("products", "which"), ("engine", "other bits"),
          ("engine", "places"), ("engine", "strict")]),
        ("2. memory of a graph, of a context, of a model",
         [("floor", "device memory of a graph"), ("floor", "in use with a context"), ("life", "taken by")]),
        ("3. copies or mapped memory; what a blocking wait costs",
         [("floor", "kernel between copies"), ("floor", "kernel on mapped memory"), ("floor", "launch and wait")]),
        ("4. does unloading an old version stall the serving stream",
         [("life", "one row"), ("life", "slowest"), ("server", "slowest answer")]),
        ("5. is a host function called after a fault", [("floor", "host function called after a fault"), ("floor", "allocating after a fault")]),
    ]
    out = []
    for question, wanted in questions:
        texts = [text for text in (all_of(part, start) for part, start in wanted) if text]
        out.append({"question": question, "answer": "; ".join(texts) or "not known: those parts did not run"})
    return out


def commit(options):
    """Of the programs: as it was packed, or that of this tree."""
    packed = pathlib.Path(options.build, "commit")
    if packed.exists():
        return packed.read_text(encoding="ascii").strip()
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def number(value):
    return "" if value is None else "%.4g" % value if isinstance(value, float) else str(value)


def table(rows):
    """Not padded: a reader that keeps the end of what is printed then keeps more of it."""
    print("| part | what | figure | unit | goal | verdict |\n|---|---|---|---|---|---|")
    for row in rows:
        print("| %s | %s | %s | %s | %s | %s |" % (
            row["part"], row["row"], number(row["value"])[:120], row["unit"], row["goal"], row["verdict"]))


def write(check, options, seconds):
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "gpu_check.json"
    report = {
        "name": "gpu_check", "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(options), "command": shlex.join(sys.argv), "simulated": options.simulated,
        "machine": {"kernel": platform.release(), "cpus": os.cpu_count(), "python": platform.python_version()},
        "seconds": round(seconds, 1), "parts": check.parts, "answers": answers(check), "rows": check.rows,
    }
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return path


def run(options, parts):
    """Runs the parts; returns the check with its rows."""
    folder = tempfile.TemporaryDirectory(prefix="weir-gpu-")
    check = Check(options, pathlib.Path(folder.name))
    try:
        for name, limit, function in parts:
            if options.part and name not in options.part and name not in ALWAYS:
                continue
            print("%5.0f s  %s" % (check.elapsed(), name), flush=True)
            check.run_part(name, limit, function)
    except NoGpu as error:
        print("no usable GPU: %s" % error)
        check.no_gpu = True
    finally:
        check.close()
        folder.cleanup()
    return check


def main(parts=PARTS):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 1)[0].replace("usage: ", ""), description=__doc__)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it runs")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--out", default=str(ROOT / "build" / "results"))
    parser.add_argument("--limit", type=float, default=290, help="seconds for all parts together")
    parser.add_argument("--part", type=lambda text: set(text.split(",")), default=set())
    options = parser.parse_args()
    began = time.monotonic()
    check = run(options, parts)
    if check.no_gpu:
        return 3
    print()
    table([row for row in check.rows if row["verdict"] != "detail"])
    print()
    for answer in answers(check):
        print("%s?\n    %s" % (answer["question"], answer["answer"]))
    path = write(check, options, time.monotonic() - began)
    bad = [row for row in check.rows if row["verdict"] in ("missed", "failed")]
    if bad:
        print("\nMissed or failed:")
        table(bad)
    verdicts = [row["verdict"] for row in check.rows]
    print("\n%d goals met, %d missed, %d parts failed or were cut, %d skipped; %.0f s; written: %s" % (
        verdicts.count("good"), verdicts.count("missed"), verdicts.count("failed"), verdicts.count("skipped"),
        time.monotonic() - began, path))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
