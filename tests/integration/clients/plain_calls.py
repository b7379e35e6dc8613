"""Calls a server by Python's requests and by the curl program, in the environment of requirements-v2.txt.
usage: plain_calls.py HOST:PORT"""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys

import requests
from calls import ROWS, Calls, end, has, probabilities, same

REQUESTS, CURL = Calls(), Calls()
INPUT = {"name": "pixels", "shape": [1, 64], "datatype": "FP32", "data": ROWS[0]}
BINARY = {"name": "pixels", "shape": [1, 64], "datatype": "FP32", "parameters": {"binary_data_size": 256}}
INFER = "/v2/models/digits/infer"


@REQUESTS("health, metadata, statistics")
def _(base, _wanted):
    same(requests.get(base + "/v2/health/live", timeout=20).json(), {"live": True})
    same(requests.get(base + "/v2", timeout=20).json()["name"], "weir")
    same(requests.get(base + "/v2/models/digits", timeout=20).json()["versions"], ["1"])
    same(requests.get(base + "/v2/models/digits/stats", timeout=20).json()["model_stats"][0]["name"], "digits")


@REQUESTS("infer, JSON both ways, answer compressed as requests asks for it")
def _(base, wanted):
    answer = requests.post(base + INFER, json={"id": "7", "inputs": [INPUT]}, timeout=20)
    same((answer.status_code, answer.headers["content-encoding"]), (200, "gzip"))
    same((answer.json()["id"], answer.json()["outputs"][0]["data"]), ("7", wanted))


@REQUESTS("infer, binary both ways")
def _(base, wanted):
    head = json.dumps({"inputs": [BINARY], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    answer = requests.post(base + INFER, data=head + struct.pack("<64f", *ROWS[0]), headers=headers, timeout=20)
    raw = answer.content[int(answer.headers["inference-header-content-length"]):]
    same(raw, struct.pack("<10f", *wanted))


@REQUESTS("a gzip body, a body of unknown length, a session")
def _(base, wanted):
    text = json.dumps({"inputs": [INPUT]}).encode()
    with requests.Session() as session:
        packed = session.post(base + INFER, data=gzip.compress(text), headers={"Content-Encoding": "gzip"}, timeout=20)
        pieces = session.post(base + INFER, data=iter([text[:90], text[90:]]), timeout=20)
        same(packed.json()["outputs"][0]["data"], wanted)
        same(pieces.json()["outputs"][0]["data"], wanted)


@REQUESTS("V1 predict, rows and columns")
def _(base, wanted):
    path = base + "/v1/models/digits:predict"
    same(requests.post(path, json={"instances": [ROWS[0]]}, timeout=20).json(), {"predictions": [wanted]})
    same(requests.post(path, json={"inputs": [ROWS[0]]}, timeout=20).json(), {"outputs": [wanted]})


@REQUESTS("errors name their fault")
def _(base, _wanted):
    answer = requests.post(base + INFER, json={"inputs": []}, timeout=20)
    same(answer.status_code, 400)
    has(answer.json()["error"], "missing")
    same(requests.get(base + "/v2/models/nope", timeout=20).status_code, 404)


def curl(*arguments, data=b""):
    done = subprocess.run(["curl", "-sS", "--max-time", "20", *arguments], input=data, capture_output=True, check=False)
    same((done.returncode, done.stderr), (0, b""))
    return done.stdout


@CURL("infer, as people type it")
def _(base, wanted):
    text = json.dumps({"inputs": [INPUT]})
    for flags in (("-d", text), ("--json", text), ("-0", "-d", text), ("--compressed", "-d", text)):
        same(json.loads(curl(*flags, base + INFER))["outputs"][0]["data"], wanted)
    same(json.loads(curl("-H", "Transfer-Encoding: chunked", "-d", text, base + INFER))["outputs"][0]["data"], wanted)


@CURL("infer, binary both ways, answer compressed")
def _(base, wanted):
    head = json.dumps({"inputs": [BINARY], "parameters": {"binary_data_output": True}}).encode()
    body = head + struct.pack("<64f", *ROWS[0])
    flags = ("-H", "Inference-Header-Content-Length: %d" % len(head), "--data-binary", "@-")
    same(curl(*flags, base + INFER, data=body)[-40:], struct.pack("<10f", *wanted))
    same(curl("--compressed", *flags, base + INFER, data=body)[-40:], struct.pack("<10f", *wanted))


@CURL("bodies over 1 MiB (Expect: 100-continue), without a second's wait")
def _(base, wanted):
    rows = 4200
    head = json.dumps({"inputs": [{**BINARY, "shape": [rows, 64], "parameters": {"binary_data_size": 256 * rows}}]}).encode()
    raw = struct.pack("<64f", *ROWS[0]) * rows
    text = json.dumps({"inputs": [{**INPUT, "shape": [rows, 64], "data": [ROWS[0]] * rows}]}).encode()
    for body, flags in ((head + raw, ("-H", "Inference-Header-Content-Length: %d" % len(head))), (text, ())):
        same(len(body) > 1024 * 1024, True)
        # curl itself adds Expect from 1 MiB on, and waits for what the server says to it: 1 s by default.
        command = ["curl", "-v", "--max-time", "20", "--expect100-timeout", "30", *flags, "--data-binary", "@-", base + INFER]
        done = subprocess.run(command, input=body, capture_output=True, check=False)
        has(done.stderr.decode(), "> Expect: 100-continue", "< HTTP/1.1 100 Continue", "< HTTP/1.1 200 OK")
        same(json.loads(done.stdout)["outputs"][0]["data"][:10], wanted)


@CURL("errors name their fault")
def _(base, _wanted):
    has(json.loads(curl("--compressed", "-d", "{}", base + INFER))["error"], "inputs")
    same(curl("-o", os.devnull, "-w", "%{http_code}", base + "/v2/models/nope"), b"404")


if __name__ == "__main__":
    address = sys.argv[1]
    base, wanted = "http://" + address, probabilities(address, ROWS[:1])[0]
    good = REQUESTS.run("requests", base, wanted)
    if shutil.which("curl"):  # else table.py says that it is missing
        good = CURL.run("curl", base, wanted) and good
    end(good)
