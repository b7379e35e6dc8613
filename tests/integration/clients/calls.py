"""What the programs of calls share. Each calls a server that table.py started, and prints a line for each call:
`ok CLIENT: CALL`, or `FAIL CLIENT: CALL: why`.

The server has the models
    digits  pixels FP32 [-1,64] -> probabilities FP32 [-1,10]
    typed   big INT64, flag BOOL, half FP16 and small INT32, all [-1,2] -> the same as big_out, flag_out, ...
    demo    x FP32 [-1,4] -> y FP32 [-1,3]
"""

import json
import pathlib
import sys
import traceback
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROWS = [
    [float(x) for x in line.split(",")[:-1]]
    for line in (ROOT / "models" / "digits" / "heldout.csv").read_text(encoding="ascii").splitlines()[1:41]
]


class Calls:
    """The calls of one program, in order."""

    def __init__(self):
        self.calls = []

    def __call__(self, text):
        def add(function):
            self.calls.append((text, function))
            return function

        return add

    def run(self, client, *arguments):
        """Makes all calls; returns False if one failed."""
        good = True
        for text, function in self.calls:
            try:
                function(*arguments)
                print("ok %s: %s" % (client, text), flush=True)
            except Exception as error:
                traceback.print_exc()
                why = " ".join(("%s: %s" % (type(error).__name__, error)).split())
                print("FAIL %s: %s: %s" % (client, text, why[:300]), flush=True)
                good = False
        return good


def same(got, wanted):
    if got != wanted:
        raise AssertionError("%r, expected %r" % (got, wanted))


def has(text, *words):
    for word in words:
        if word not in text:
            raise AssertionError("%r is not in %r" % (word, text))


def probabilities(address, rows):
    """What /predict says of the rows, by Python's own library."""
    body = json.dumps({"instances": rows}).encode()
    request = urllib.request.Request("http://%s/predict" % address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["predictions"]


def end(good):
    sys.exit(0 if good else 1)
