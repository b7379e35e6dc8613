"""Calls a server by every method of tritonclient.http and of its asyncio twin but streams and shared memory, in the
environment of requirements-v2.txt. usage: triton_calls.py HOST:PORT"""

import asyncio
import inspect
import sys
import urllib.request

import numpy
import tritonclient.http
import tritonclient.http.aio
from calls import ROWS, Calls, end, has, probabilities, same
from tritonclient.http import InferenceServerException, InferInput, InferRequestedOutput

NAME, OUTPUT = "digits", "probabilities"
PIXELS = numpy.array(ROWS, dtype=numpy.float32)
WANTED = numpy.array(0)
BOTH, SYNC, ASYNC = Calls(), Calls(), Calls()


def pixels(rows=1, binary=True):
    one = InferInput("pixels", [rows, 64], "FP32")
    one.set_data_from_numpy(PIXELS[:rows], binary_data=binary)
    return [one]


def output(binary=True, classes=0):
    return [InferRequestedOutput(OUTPUT, binary_data=binary, class_count=classes)]


def check(result, rows=1):
    got = result.as_numpy(OUTPUT)
    same((str(got.dtype), got.shape), ("float32", (rows, 10)))
    same(got.tobytes(), WANTED[:rows].tobytes())
    same(result.get_response()["model_name"], NAME)
    same(result.get_output(OUTPUT)["datatype"], "FP32")


def refused(status, words, call):
    try:
        got = call()
    except InferenceServerException as error:
        same(error.status(), status)
        has(error.message(), *words)
    else:
        raise AssertionError("%r, expected %s" % (got, status))


@BOTH("is_server_live")
def _(client):
    same(client.is_server_live(), True)
    same(client.is_server_live(headers={"x-a": "b"}, query_params={"a": [1, "b c"]}), True)


@BOTH("is_server_ready")
def _(client):
    same(client.is_server_ready(), True)


@BOTH("is_model_ready, with and without a version, and of no model")
def _(client):
    same([client.is_model_ready(NAME), client.is_model_ready(NAME, "1")], [True, True])
    same([client.is_model_ready("nope"), client.is_model_ready(NAME, "99")], [False, False])


@BOTH("get_server_metadata")
def _(client):
    metadata = client.get_server_metadata()
    same(metadata["name"], "weir")
    same(isinstance(metadata["version"], str), True)
    has(metadata["extensions"], "binary_tensor_data", "classification", "statistics", "model_configuration")


@BOTH("get_model_metadata")
def _(client):
    for version in ("", "1"):
        metadata = client.get_model_metadata(NAME, version)
        same(metadata["versions"], ["1"])
        same(metadata["inputs"], [{"name": "pixels", "datatype": "FP32", "shape": [-1, 64]}])
    refused("404", ["nope"], lambda: client.get_model_metadata("nope"))


@BOTH("get_model_config")
def _(client):
    for version in ("", "1"):
        config = client.get_model_config(NAME, version)
        same((config["name"], config["input"][0]["data_type"], config["output"][0]["dims"]), (NAME, "TYPE_FP32", [10]))
    refused("404", ["nope"], lambda: client.get_model_config("nope"))


@BOTH("get_model_repository_index")
def _(client):
    index = {one["name"]: one["state"] for one in client.get_model_repository_index()}
    same(index, {"digits": "READY", "typed": "READY", "demo": "READY"})


@BOTH("load_model: refused, /admin does it")
def _(client):
    refused("503", ["/admin"], lambda: client.load_model(NAME))
    refused("503", ["/admin"], lambda: client.load_model(NAME, config='{"max_batch_size": 4}'))


@BOTH("unload_model: refused, /admin does it")
def _(client):
    refused("503", ["/admin"], lambda: client.unload_model(NAME))
    refused("503", ["/admin"], lambda: client.unload_model(NAME, unload_dependents=True))
    same(client.is_model_ready(NAME), True)


@BOTH("get_inference_statistics")
def _(client):
    def figures(*model):
        (one,) = [one for one in client.get_inference_statistics(*model)["model_stats"] if one["name"] == NAME]
        return one["inference_count"], one["inference_stats"]["success"]["count"]

    before = figures(NAME)
    client.infer(NAME, pixels(3))
    after = figures(NAME, "1")
    same((after[0] - before[0], after[1] - before[1]), (3, 1))
    same(figures(), after)
    refused("404", ["nope"], lambda: client.get_inference_statistics("nope"))


@BOTH("get_trace_settings, update_trace_settings: refused, not advertised")
def _(client):
    refused("404", [], client.get_trace_settings)
    refused("404", [], lambda: client.get_trace_settings(NAME))
    refused("404", [], lambda: client.update_trace_settings(NAME, {"trace_rate": "5"}))


@BOTH("get_log_settings, update_log_settings: refused, not advertised")
def _(client):
    refused("404", [], client.get_log_settings)
    refused("404", [], lambda: client.update_log_settings({"log_verbose_level": 1}))


@BOTH("infer, binary both ways")
def _(client):
    check(client.infer(NAME, pixels()))
    check(client.infer(NAME, pixels(), model_version="1", outputs=output()))


@BOTH("infer, JSON both ways")
def _(client):
    result = client.infer(NAME, pixels(binary=False), outputs=output(binary=False))
    same("data" in result.get_output(OUTPUT), True)
    check(result)


@BOTH("infer, binary in and JSON out, JSON in and binary out")
def _(client):
    check(client.infer(NAME, pixels(), outputs=output(binary=False)))
    check(client.infer(NAME, pixels(binary=False), outputs=output()))
    check(client.infer(NAME, pixels(binary=False)))


@BOTH("infer, 40 rows")
def _(client):
    for binary in (True, False):
        check(client.infer(NAME, pixels(40, binary), outputs=output(binary)), 40)


@BOTH("infer, requests by gzip and deflate")
def _(client):
    for coding in ("gzip", "deflate"):
        for binary in (True, False):
            check(client.infer(NAME, pixels(7, binary), request_compression_algorithm=coding), 7)


@BOTH("infer, answers by gzip and deflate")
def _(client):
    for coding in ("gzip", "deflate"):
        for binary in (True, False):
            check(client.infer(NAME, pixels(40), outputs=output(binary), response_compression_algorithm=coding), 40)


@BOTH("infer, gzip and deflate both ways")
def _(client):
    for coding in ("gzip", "deflate"):
        codings = {"request_compression_algorithm": coding, "response_compression_algorithm": coding}
        check(client.infer(NAME, pixels(40), outputs=output(), **codings), 40)


@BOTH("infer, classification")
def _(client):
    for binary in (True, False):
        result = client.infer(NAME, pixels(2), outputs=output(binary, classes=3))
        classes = result.as_numpy(OUTPUT)
        same(classes.shape, (2, 3))
        for row, texts in enumerate(classes):
            texts = [text if isinstance(text, str) else text.decode() for text in texts]
            best = numpy.argsort(-WANTED[row], kind="stable")[:3]
            same([int(text.split(":")[1]) for text in texts], list(best))
            same(float(texts[0].split(":")[0]), round(float(WANTED[row][best[0]]), 6))


@BOTH("infer, types: INT64 to the last digit, BOOL, FP16, INT32")
def _(client):
    arrays = {
        "big": ("INT64", numpy.array([[2**63 - 1, -(2**63)], [2**53 + 1, 0]], dtype=numpy.int64)),
        "flag": ("BOOL", numpy.array([[True, False], [False, True]])),
        "half": ("FP16", numpy.array([[0.1, -65504], [6e-8, 1]], dtype=numpy.float16)),
        "small": ("INT32", numpy.array([[2**31 - 1, -(2**31)], [0, 1]], dtype=numpy.int32)),
    }
    for binary in (True, False):
        inputs, outputs = [], []
        for name, (datatype, array) in arrays.items():
            inputs.append(InferInput(name, list(array.shape), datatype))
            inputs[-1].set_data_from_numpy(array, binary_data=binary or name == "half")
            outputs.append(InferRequestedOutput(name + "_out", binary_data=binary or name == "half"))
        result = client.infer("typed", inputs, outputs=outputs)
        for name, (_, array) in arrays.items():
            got = result.as_numpy(name + "_out")
            same((name, got.dtype, got.tobytes()), (name, array.dtype, array.tobytes()))


@BOTH("infer, some of the outputs, in the order asked for")
def _(client):
    inputs = []
    for name, kind in (("big", "int64"), ("flag", "bool"), ("half", "float16"), ("small", "int32")):
        inputs.append(InferInput(name, [1, 2], {"int64": "INT64", "bool": "BOOL", "float16": "FP16", "int32": "INT32"}[kind]))
        inputs[-1].set_data_from_numpy(numpy.ones((1, 2), dtype=kind))
    wanted = ["small_out", "big_out"]
    result = client.infer("typed", inputs, outputs=[InferRequestedOutput(name) for name in wanted])
    same([one["name"] for one in result.get_response()["outputs"]], wanted)
    same(result.as_numpy("flag_out"), None)


@BOTH("infer, request ids")
def _(client):
    same(client.infer(NAME, pixels(), request_id="an id, \u00e4 \"quoted\"").get_response()["id"], "an id, \u00e4 \"quoted\"")
    same("id" in client.infer(NAME, pixels()).get_response(), False)


@BOTH("infer, priority")
def _(client):
    for priority in (0, 1, 2, 7):
        check(client.infer(NAME, pixels(), priority=priority))


@BOTH("infer, timeout")
def _(client):
    check(client.infer(NAME, pixels(), timeout=5000000))
    try:
        client.infer(NAME, pixels(), timeout=1)
    except InferenceServerException as error:
        has(("503", "504"), error.status())
    else:
        raise AssertionError("1 microsecond was enough")


@BOTH("infer, sequences: refused, not advertised")
def _(client):
    refused("400", ["sequence_id"], lambda: client.infer(NAME, pixels(), sequence_id=7, sequence_start=True, sequence_end=True))


@BOTH("infer, parameters of one's own")
def _(client):
    check(client.infer(NAME, pixels(), parameters={"a": "b", "c": 1, "d": True, "e": 0.5}))


@BOTH("infer, headers and a query")
def _(client):
    check(client.infer(NAME, pixels(), headers={"X-Request-Id": "7"}, query_params={"a": 1}))


@BOTH("generate_request_body, parse_response_body")
def _(client):
    make = client.generate_request_body
    body, json_bytes = make(pixels(), outputs=output())
    same(len(body), json_bytes + 256)
    with open_post("/v2/models/digits/infer", body, {"Inference-Header-Content-Length": str(json_bytes)}) as answer:
        size = answer.headers["Inference-Header-Content-Length"]
        check(client.parse_response_body(answer.read(), header_length=int(size)))


@BOTH("infer, a raw request: the body is the input")
def _(client):
    with open_post("/v2/models/digits/infer", PIXELS[:1].tobytes(), {"Inference-Header-Content-Length": "0"}) as answer:
        size = answer.headers["Inference-Header-Content-Length"]
        check(client.parse_response_body(answer.read(), header_length=int(size)))


@BOTH("infer, errors name their fault")
def _(client):
    wrong = InferInput("pixels", [1, 63], "FP32")
    wrong.set_data_from_numpy(PIXELS[:1, :63])
    refused("400", ["pixels"], lambda: client.infer(NAME, [wrong]))
    whole = InferInput("pixels", [1, 64], "INT32")
    whole.set_data_from_numpy(PIXELS[:1].astype(numpy.int32))
    refused("400", ["FP32"], lambda: client.infer(NAME, [whole]))
    text = InferInput("pixels", [1, 64], "BYTES")
    text.set_data_from_numpy(numpy.array([[b"x"] * 64], dtype=object))
    refused("400", ["FP32"], lambda: client.infer(NAME, [text]))
    other = InferInput("other", [1, 64], "FP32")
    other.set_data_from_numpy(PIXELS[:1])
    refused("400", ["other"], lambda: client.infer(NAME, [other]))
    refused("400", ["missing"], lambda: client.infer(NAME, []))
    refused("400", ["nope"], lambda: client.infer(NAME, pixels(), outputs=[InferRequestedOutput("nope")]))
    refused("404", ["nope"], lambda: client.infer("nope", pixels()))
    refused("404", ["nope"], lambda: client.infer("nope", pixels(), response_compression_algorithm="gzip"))
    refused("404", ["99"], lambda: client.infer(NAME, pixels(), model_version="99"))
    check(client.infer(NAME, pixels()))


@SYNC("async_infer, 24 at once on 4 connections, answers out of order")
def _(client):
    handles = [client.async_infer(NAME, pixels(1 + i % 5), request_id=str(i)) for i in range(24)]
    for i in reversed(range(24)):
        result = handles[i].get_result()
        same(result.get_response()["id"], str(i))
        check(result, 1 + i % 5)


@SYNC("async_infer, compressed, by version, and an error")
def _(client):
    codings = {"request_compression_algorithm": "gzip", "response_compression_algorithm": "deflate"}
    check(client.async_infer(NAME, pixels(3), model_version="1", outputs=output(), **codings).get_result(timeout=20), 3)
    refused("404", ["nope"], lambda: client.async_infer("nope", pixels()).get_result())


@SYNC("plugins")
def _(client):
    client.register_plugin(Plugin())
    same(client.plugin() is not None, True)
    check(client.infer(NAME, pixels()))
    client.unregister_plugin()


@SYNC("close, a second client at the same server")
def _(_client):
    with tritonclient.http.InferenceServerClient(ADDRESS, network_timeout=20, connection_timeout=5) as second:
        check(second.infer(NAME, pixels()))


@ASYNC("infer, 24 at once")
def _(client):
    async def ask():
        return await asyncio.gather(*[client.itself.infer(NAME, pixels(1 + i % 5), request_id=str(i)) for i in range(24)])

    for i, result in enumerate(client.loop.run_until_complete(ask())):
        same(result.get_response()["id"], str(i))
        check(result, 1 + i % 5)


@ASYNC("plugins")
def _(client):
    client.itself.register_plugin(Plugin())
    check(client.infer(NAME, pixels()))
    client.itself.unregister_plugin()


class Plugin(tritonclient.http.InferenceServerClientPlugin):
    def __call__(self, request):
        request.headers["authorization"] = "Basic eDp5"


class Waiting:
    """The asyncio client with its calls waited for, so that both clients are called alike."""

    def __init__(self, address):
        self.loop = asyncio.new_event_loop()
        self.itself = self.loop.run_until_complete(self.make(address))

    @staticmethod
    async def make(address):
        return tritonclient.http.aio.InferenceServerClient(address)

    def __getattr__(self, name):
        def call(*arguments, **options):
            result = getattr(self.itself, name)(*arguments, **options)
            return self.loop.run_until_complete(result) if inspect.isawaitable(result) else result

        return call


def open_post(path, body, headers):
    return urllib.request.urlopen(urllib.request.Request("http://" + ADDRESS + path, body, headers), timeout=20)


if __name__ == "__main__":
    ADDRESS = sys.argv[1]
    WANTED = numpy.array(probabilities(ADDRESS, ROWS), dtype=numpy.float32)
    sync = tritonclient.http.InferenceServerClient(ADDRESS, concurrency=4)
    good = BOTH.run("tritonclient.http", sync)
    good = SYNC.run("tritonclient.http", sync) and good
    sync.close()
    waiting = Waiting(ADDRESS)
    good = BOTH.run("tritonclient.http.aio", waiting) and good
    good = ASYNC.run("tritonclient.http.aio", waiting) and good
    waiting.close()
    end(good)
