"""Bodies that are not JSON, for the calls of schema_calls.py: rows of 64 float32, as models/digits takes them."""

import io

import numpy
import schemathesis
from hypothesis import strategies

FLOATS = strategies.floats(width=32, allow_nan=False, allow_infinity=False)
ROWS = strategies.lists(strategies.lists(FLOATS, min_size=64, max_size=64), min_size=1, max_size=3)


def array(rows):
    return numpy.array(rows, "<f4")


def npy(rows):
    file = io.BytesIO()
    numpy.save(file, array(rows))
    return file.getvalue()


schemathesis.openapi.media_type("application/octet-stream", ROWS.map(lambda rows: array(rows).tobytes()))
schemathesis.openapi.media_type("application/x-npy", ROWS.map(npy))
