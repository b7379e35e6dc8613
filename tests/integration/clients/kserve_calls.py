"""Calls a server by kserve's InferenceRESTClient, protocol v2, in the environment of requirements-v2.txt.
usage: kserve_calls.py HOST:PORT"""

import asyncio
import sys

import httpx
import numpy
from calls import ROWS, Calls, end, has, probabilities, same
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.protocol.infer_type import RequestedOutput

V2 = Calls()
PIXELS = numpy.array(ROWS, dtype=numpy.float32)


class Caller:
    def __init__(self, address):
        self.base = "http://" + address
        self.loop = asyncio.new_event_loop()
        self.client = InferenceRESTClient(config=RESTConfig(protocol="v2", timeout=20))
        self.wanted = numpy.array(probabilities(address, ROWS), dtype=numpy.float32)

    def wait(self, name, *arguments, **options):
        return self.loop.run_until_complete(getattr(self.client, name)(self.base, *arguments, **options))

    def infer(self, binary=True, rows=1, headers=None, model="digits", **options):
        one = InferInput("pixels", [rows, 64], "FP32")
        one.set_data_from_numpy(PIXELS[:rows], binary_data=binary)
        request = InferRequest(model, [one], **options)
        return self.wait("infer", request, model_name=model, headers=headers)

    def check(self, response, rows=1):
        got = response.outputs[0].as_numpy()
        same((response.model_name, response.outputs[0].name, got.shape), ("digits", "probabilities", (rows, 10)))
        same(got.astype(numpy.float32).tobytes(), self.wanted[:rows].tobytes())

    def refused(self, status, word, call):
        try:
            got = call()
        except httpx.HTTPStatusError as error:
            same(error.response.status_code, status)
            has(str(error), word)
        else:
            raise AssertionError("%r, expected %d" % (got, status))


@V2("is_server_live")
def _(caller):
    same(caller.wait("is_server_live"), True)


@V2("is_server_ready")
def _(caller):
    same(caller.wait("is_server_ready"), True)


@V2("is_model_ready, and of no model")
def _(caller):
    same([caller.wait("is_model_ready", "digits"), caller.wait("is_model_ready", "nope")], [True, False])


@V2("infer, JSON both ways")
def _(caller):
    caller.check(caller.infer(binary=False))
    caller.check(caller.infer(binary=False, rows=40), 40)


@V2("infer, binary in and JSON out")
def _(caller):
    caller.check(caller.infer())


@V2("infer, binary both ways")
def _(caller):
    caller.check(caller.infer(rows=3, parameters={"binary_data_output": True}), 3)
    wanted = [RequestedOutput("probabilities", {"binary_data": True})]
    caller.check(caller.infer(rows=40, request_outputs=wanted), 40)


@V2("infer, plain objects")
def _(caller):
    one = {"name": "pixels", "shape": [1, 64], "datatype": "FP32", "data": ROWS[0]}
    caller.check(caller.wait("infer", {"inputs": [one]}, model_name="digits"))


@V2("infer, ids")
def _(caller):
    same(caller.infer(request_id="an id").id, "an id")
    same(len(caller.infer().id), 36)  # a UUID of its own


@V2("infer, compressed answers")
def _(caller):
    for accept in ("gzip", "deflate", "identity"):
        headers = {"Accept-Encoding": accept}
        caller.check(caller.infer(rows=40, headers=headers, parameters={"binary_data_output": True}), 40)


@V2("infer, FP16 and INT64")
def _(caller):
    arrays = {
        "big": numpy.array([[2**63 - 1, -(2**63)]], dtype=numpy.int64), "flag": numpy.array([[True, False]]),
        "half": numpy.array([[0.1, -65504]], dtype=numpy.float16), "small": numpy.array([[1, 2]], dtype=numpy.int32),
    }
    inputs = []
    for name, datatype in (("big", "INT64"), ("flag", "BOOL"), ("half", "FP16"), ("small", "INT32")):
        inputs.append(InferInput(name, [1, 2], datatype))
        inputs[-1].set_data_from_numpy(arrays[name])
    request = InferRequest("typed", inputs, parameters={"binary_data_output": True})
    response = caller.wait("infer", request, model_name="typed")
    for name, array in arrays.items():
        same(response.get_output_by_name(name + "_out").as_numpy().tobytes(), array.tobytes())


@V2("infer, errors name their fault")
def _(caller):
    caller.refused(404, "nope", lambda: caller.infer(model="nope"))
    bad = {"inputs": [{"name": "pixels", "shape": [1, 64], "datatype": "FP32", "data": [1]}]}
    caller.refused(400, "expected 64", lambda: caller.wait("infer", bad, model_name="digits"))


if __name__ == "__main__":
    end(V2.run("kserve v2", Caller(sys.argv[1])))
