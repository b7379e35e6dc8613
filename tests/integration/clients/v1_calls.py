"""Calls a server of the demo model at HOST:PORT by kserve's InferenceRESTClient and by ovmsclient, in the environment of
requirements-v1.txt, and asserts what comes back. usage: v1_calls.py HOST:PORT"""

import asyncio
import sys

import httpx
import numpy
from kserve import InferenceRESTClient, RESTConfig
from ovmsclient import make_http_client
from ovmsclient.tfs_compat.base.errors import InvalidInputError, ModelNotFoundError

ROWS = numpy.array([[1, 2, 3, 4], [0, 0, 0, 0]], dtype="float32")
ANSWER = [[5, 6, 8.5], [0, 0, 1.5]]


def expect(got, wanted, what):
    if got != wanted:
        sys.exit("%s: %r, expected %r" % (what, got, wanted))
    print("ok", what)


def refused(call, kind, word, what):
    try:
        got = call()
    except kind as error:
        expect(word in str(error), True, what)
    else:
        sys.exit("%s: %r, expected %s" % (what, got, kind))


def ovms(address):
    client = make_http_client(address)
    available = {1: {"state": "AVAILABLE", "error_code": 0, "error_message": ""}}
    expect(client.get_model_status("demo"), available, "ovmsclient: status")
    expect(client.get_model_status("demo", 1), available, "ovmsclient: status of a version")
    signature = client.get_model_metadata("demo")["metadata"]["signature_def"]["signature_def"]["serving_default"]
    expect(list(signature["inputs"]), ["x"], "ovmsclient: metadata")
    expect(client.predict({"x": ROWS}, "demo").tolist(), ANSWER, "ovmsclient: predict")
    expect(client.predict({"x": ROWS.tolist()}, "demo", 1).tolist(), ANSWER, "ovmsclient: predict by a version")
    refused(lambda: client.predict({"x": ROWS}, "nope"), ModelNotFoundError, '"nope"', "ovmsclient: unknown model")
    refused(lambda: client.predict({"x": ROWS}, "demo", 9), ModelNotFoundError, '"9"', "ovmsclient: unknown version")
    refused(lambda: client.predict({"x": ROWS[:, :3]}, "demo"), InvalidInputError, "row 0", "ovmsclient: a wrong shape")
    refused(lambda: client.get_model_status("nope"), ModelNotFoundError, '"nope"', "ovmsclient: status of no model")


async def kserve(base):
    client = InferenceRESTClient(config=RESTConfig(protocol="v1"))
    expect(await client.is_server_live(base), True, "kserve: the server lives")
    expect(await client.is_model_ready(base, "demo"), True, "kserve: the model is ready")
    answer = await client.infer(base, model_name="demo", data={"instances": ROWS.tolist()})
    expect(answer, {"predictions": ANSWER}, "kserve: infer")
    for model, rows, word, what in (("demo", [[1]], "row 0", "a wrong shape"), ("nope", [[1]], "nope", "unknown model")):
        try:
            await client.infer(base, model_name=model, data={"instances": rows})
        except httpx.HTTPStatusError as error:
            expect(word in str(error), True, "kserve: " + what)
        else:
            sys.exit("kserve: %s is answered" % what)


if __name__ == "__main__":
    ovms(sys.argv[1])
    asyncio.run(kserve("http://" + sys.argv[1]))
