#!/usr/bin/python3
"""Calls that schemathesis makes up from /openapi.json, valid and invalid ones. usage: schema_calls.py [--quick]

No answer may be a fault of the server's (5xx, but the refusals that the description names), every answer must be one that the
description names, with the headers and the body that it promises, and what it calls valid must be taken. Left out are two
rules that HTTP does not have: that unknown headers are refused, and that a method nobody knows is answered 405 and not 501.
Not all that is called valid is held to be taken where JSON Schema cannot say what is: that V2's data fit the shape, that the
columns of several inputs have as many rows, that 1.0 is no integer.

Writes build/results/schema.json; the last line is `N passed, N failed`. The server is the program that WEIR names, else
build/weir.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import environment  # noqa: E402
import reference  # noqa: E402
from calls import ROOT  # noqa: E402
from harness import Server  # noqa: E402
from table import typed  # noqa: E402

EXAMPLES, CALLS = 300, 10000  # for each operation, at most; and how many calls come of that at least
QUICK_EXAMPLES, QUICK_CALLS = 10, 1000
CONFIG = """[checks]
negative_data_rejection.enabled = false
unsupported_method.enabled = false
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 503, 504]
positive_data_acceptance.expected-statuses = ["2xx", 404, 408, 413, 503, 504]

[[operations]]
include-path-regex = "(typed|/infer$)"
checks.positive_data_acceptance.enabled = false
"""


def make_calls(address, folder, examples):
    """What schemathesis printed, and its exit status."""
    python = pathlib.Path(environment.python("schema"))
    (folder / "schemathesis.toml").write_text(CONFIG, encoding="ascii")
    command = [python.parent / "schemathesis", "--config-file", folder / "schemathesis.toml", "run",
               "http://%s/openapi.json" % address, "--phases", "coverage,fuzzing", "--workers", "1",
               "--max-examples", str(examples), "--suppress-health-check", "all"]
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(HERE)}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, timeout=1800, check=False)
    return done.stdout + done.stderr, done.returncode


def count(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[0].partition("usage: ")[2])
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    is_quick = parser.parse_args().quick
    goal = QUICK_CALLS if is_quick else CALLS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reference.write(str(folder / "typed" / "1" / "model.onnx"), typed())
        config = "models:\n  digits: %s\n  typed: %s\n" % (ROOT / "models" / "digits", folder / "typed")
        with Server(config=config) as server:
            text, status = make_calls("%s:%d" % (server.host, server.port), folder, QUICK_EXAMPLES if is_quick else EXAMPLES)
            lives = server.request("GET", "/health/live").status == 200
    made, failures = count(r"(\d+) generated", text), count(r"found (\d+) unique failure", text)
    errors = count(r"(\d+) errors?\b", text)
    tested = count(r"Tested: (\d+)", text)
    bad = failures + errors + (status != 0) + (not lives) + (made < goal) + (tested == 0)
    if bad:
        print(re.sub(r"(?m)^(.{600}).*$", r"\1...", text))
    print("%d calls of %d operations of /openapi.json, %d failures, %d errors, exit status %d; the server %s" % (
        made, tested, failures, errors, status, "lives" if lives else "is gone"))
    results = ROOT / "build" / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "schema.json").write_text(json.dumps({
        "title": "Calls made up from /openapi.json", "goal": "no failure in %d calls" % goal,
        "command": "tests/integration/clients/schema_calls.py", "operations": tested, "calls": made, "failures": failures, "errors": errors,
    }, indent=1) + "\n", encoding="utf-8")
    print("%d passed, %d failed" % (max(0, tested - bad), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
