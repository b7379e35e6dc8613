#!/usr/bin/python3
"""Calls that schemathesis makes up, valid and invalid ones, from /openapi.json and from the Open Inference Protocol's own
description of /v2. usage: schema_calls.py [--quick] [--only openapi|protocol] [--description FILE]

No answer may be a fault of the server's (5xx, but the refusals that the description names), every answer must be one that the
description names, with the headers and the body that it promises, and what it calls valid must be taken. Left out are two
rules that HTTP does not have: that unknown headers are refused, and that a method nobody knows is answered 405 and not 501.
Not all that is called valid is held to be taken where JSON Schema cannot say what is: that V2's data fit the shape, that the
columns of several inputs have as many rows, that 1.0 is no integer. Where the protocol's description and its servers disagree
stands in protocol_description.py.

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
import onnx_writer as onnx  # noqa: E402
import protocol_description  # noqa: E402
import reference  # noqa: E402
from calls import ROOT  # noqa: E402
from harness import Server  # noqa: E402
from table import typed  # noqa: E402

CALLS, QUICK_CALLS = 10000, 1000  # how many there are to be at least, of each description
CONFIG = """[checks]
negative_data_rejection.enabled = false
unsupported_method.enabled = false
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 503, 504]
positive_data_acceptance.expected-statuses = ["2xx", 404, 408, 413, 503, 504]

[[operations]]
include-path-regex = "%s"
checks.positive_data_acceptance.enabled = false
"""
NOT_ALL_VALID = {"openapi": "(typed|/infer$)", "protocol": "/models/"}
EXAMPLES, QUICK_EXAMPLES = 300, 10  # for each operation of /openapi.json, at most
INFER = "/v2/models/{model}/infer"
INTEGER = {"type": "integer"}
PLAIN = {  # an input's name: V2's type, ONNX's, what JSON may say of an element
    "wide": ("INT64", onnx.INT64, {**INTEGER, "minimum": -(2**63), "maximum": 2**63 - 1}),
    "small": ("UINT8", onnx.UINT8, {**INTEGER, "minimum": 0, "maximum": 255}),
    "flag": ("BOOL", onnx.BOOL, {"type": "boolean"}),
    "single": ("FP32", onnx.FLOAT, {"type": "number", "minimum": -1e30, "maximum": 1e30}),  # so that sums of them are finite
    "double": ("FP64", onnx.DOUBLE, {"type": "number", "minimum": -3e38, "maximum": 3e38}),
}


def plain():
    """A model that gives its inputs back."""
    return onnx.model(
        [onnx.node("Identity", [name], [name + "_out"], "copy_" + name) for name in PLAIN], [],
        [onnx.value(name, ["N", 2], kind) for name, (_, kind, _) in PLAIN.items()],
        [onnx.value(name + "_out", ["N", 2], kind) for name, (_, kind, _) in PLAIN.items()])


def make_calls(name, address, folder, options):
    """What schemathesis printed, its exit status, and where the description comes from."""
    python, source = pathlib.Path(environment.python("schema")), "http://%s/openapi.json" % address
    described, examples = source, QUICK_EXAMPLES if options.quick else EXAMPLES
    if name == "protocol":
        if options.description:
            document, source = protocol_description.load(options.description), options.description.name
        else:
            document, source = protocol_description.fetch()
        described = folder / "protocol.json"
        demo, inputs = PLAIN["single"], [(one, kind, 2, schema) for one, (kind, _, schema) in PLAIN.items()]
        document = protocol_description.adapt(document, {"demo": [("x", demo[0], 4, demo[2])], "plain": inputs})
        described.write_text(json.dumps(document), encoding="utf-8")
        # What names no model has one form, or few.
        examples = (QUICK_CALLS if options.quick else CALLS) * 11 // 10 // sum("{" in path for path in document["paths"])
    (folder / "schemathesis.toml").write_text(CONFIG % NOT_ALL_VALID[name], encoding="ascii")
    command = [python.parent / "schemathesis", "--config-file", folder / "schemathesis.toml", "run", described,
               "--url", "http://%s" % address, "--phases", "coverage,fuzzing", "--workers", "1",
               "--max-examples", str(examples), "--suppress-health-check", "all"]
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(HERE)}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, timeout=1800, check=False)
    return done.stdout + done.stderr, done.returncode, source


def count(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def check(name, server, folder, options):
    """Makes the calls of one description; returns its line of the results."""
    before = server.metrics()
    text, status, source = make_calls(name, "%s:%d" % (server.host, server.port), folder, options)
    lives = server.alive()
    made, failures = count(r"(\d+) generated", text), count(r"found (\d+) unique failure", text)
    errors, tested = count(r"(\d+) errors?\b", text), count(r"Tested: (\d+)", text)
    answers = server.metrics().total("weir_requests_total", route=INFER, code="200") if lives else 0
    answers -= before.total("weir_requests_total", route=INFER, code="200")
    goal = QUICK_CALLS if options.quick else CALLS
    bad = failures + errors + (status != 0) + (not lives) + (made < goal) + (tested == 0)
    bad += name == "protocol" and answers < goal / 100  # /openapi.json cannot say which data fit their shape: few are right
    if bad:
        print(re.sub(r"(?m)^(.{600}).*$", r"\1...", text))
    print("%d calls of %d operations of %s, %d predictions of V2 among them, %d failures, %d errors, exit status %d; the server %s" % (
        made, tested, re.sub("^http://[^/]*", "", source), answers, failures, errors, status, "lives" if lives else "is gone"))
    return {"description": re.sub("^http://[^/]*", "", source), "operations": tested, "calls": made, "v2_predictions": answers,
            "failures": failures, "errors": errors, "bad": bad}


def main():
    parser = argparse.ArgumentParser(usage="schema_calls.py [--quick] [--only openapi|protocol] [--description FILE]")
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    parser.add_argument("--only", choices=("openapi", "protocol"))
    parser.add_argument("--description", type=pathlib.Path, help="the protocol's, instead of a fetched one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reference.write(str(folder / "typed" / "1" / "model.onnx"), typed())
        reference.write(str(folder / "plain" / "1" / "model.onnx"), plain())
        models = {"openapi": {"digits": ROOT / "models" / "digits", "typed": folder / "typed"},
                  "protocol": {"demo": reference.demo(), "plain": folder / "plain"}}
        lines = []
        for one, served in models.items():
            if options.only in (None, one):
                with Server(config="models:\n" + "".join("  %s: %s\n" % model for model in served.items())) as server:
                    lines.append(check(one, server, folder, options))
    results = ROOT / "build" / "results"
    results.mkdir(parents=True, exist_ok=True)
    exceptions = [{"described": what, "why": why} for what, why in protocol_description.EXCEPTIONS]
    (results / "schema.json").write_text(json.dumps({
        "title": "Calls made up from /openapi.json and from the protocol's own description",
        "goal": "no failure in %d calls of each" % (QUICK_CALLS if options.quick else CALLS),
        "command": "tests/integration/clients/schema_calls.py", "descriptions": lines, "exceptions": exceptions,
    }, indent=1) + "\n", encoding="utf-8")
    bad = sum(line["bad"] for line in lines)
    print("%d passed, %d failed" % (max(0, sum(line["operations"] for line in lines) - bad), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
