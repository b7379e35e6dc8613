"""The Open Inference Protocol (V2) over HTTP: what its clients send, and what they need back."""

import json
import struct
import unittest
import zlib

from harness import ROOT, Server, ServerCase, eventually, run_at_once
from versions import Models

DIGITS = ROOT / "models" / "digits"
ROW = [float(x) for x in (DIGITS / "heldout.csv").read_text(encoding="ascii").splitlines()[1].split(",")[:-1]]
INPUT = {"name": "pixels", "shape": [1, 64], "datatype": "FP32", "data": ROW}
RAW = struct.pack("<64f", *ROW)
BINARY = {"name": "pixels", "shape": [1, 64], "datatype": "FP32", "parameters": {"binary_data_size": 256}}
INFER = "/v2/models/digits/infer"


class V2Case(ServerCase):
    @classmethod
    def model(cls):
        return DIGITS

    def get(self, path):
        return self.server.request("GET", path)

    def infer(self, request, tail=b"", path=INFER, headers=()):
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        headers = dict(headers)
        if tail:
            headers["Inference-Header-Content-Length"] = str(len(body))
        return self.server.request("POST", path, body + tail, headers=list(headers.items()))

    def outputs(self, answer):
        """The outputs by name: lists for JSON, bytes for binary ones."""
        self.assertEqual(answer.status, 200, answer)
        size = answer.headers.get("inference-header-content-length")
        if size is None:
            self.assertEqual(answer.headers["content-type"], "application/json")
            document, tail = json.loads(answer.body), b""
        else:
            self.assertEqual(answer.headers["content-type"], "application/octet-stream")
            document, tail = json.loads(answer.body[: int(size)]), answer.body[int(size):]
        out = {}
        for output in document["outputs"]:
            size = output.get("parameters", {}).get("binary_data_size")
            if size is None:
                self.assertNotIn("parameters", output)
                out[output["name"]] = output["data"]
            else:
                out[output["name"]], tail = tail[:size], tail[size:]
        self.assertEqual(tail, b"")
        self.document = document
        return out


class Metadata(V2Case):
    def test_the_server_and_its_health(self):
        document = self.get("/v2").json()
        self.assertEqual(document["name"], "weir")
        self.assertIn("binary_tensor_data", document["extensions"])
        self.assertEqual(self.get("/v2/").json(), document)
        self.assertEqual(self.get("/v2/health/live").json(), {"live": True})
        self.assertEqual(self.get("/v2/health/ready").json(), {"ready": True})

    def test_the_model(self):
        for path in ("/v2/models/digits", "/v2/models/digits/versions/1"):
            self.assertEqual(
                self.get(path).json(),
                {
                    "name": "digits",
                    "versions": ["1"],
                    "platform": "onnx_onnxv1",
                    "inputs": [{"name": "pixels", "datatype": "FP32", "shape": [-1, 64]}],
                    "outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}],
                },
            )
            self.assertEqual(self.get(path + "/ready").json(), {"name": "digits", "ready": True})
            config = self.get(path + "/config").json()
            self.assertEqual(config["input"], [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [64]}])
            self.assertGreater(config["max_batch_size"], 0)
            self.assertIn("dynamic_batching", config)
        self.assertEqual(self.get("/v2/models").json(), {"models": ["digits"]})

    def test_models_and_versions_that_are_not_there(self):
        for path, code in (("nope", 404), ("digits/versions/99", 404), ("digits/versions/1.0.0", 400),
                           ("digits/versions/00", 404), ("digits/versions/x", 400)):
            for end in ("", "/ready", "/config"):
                answer = self.get("/v2/models/%s%s" % (path, end))
                self.assertEqual(answer.status, code, path + end)
                self.assertIsInstance(answer.json()["error"], str)
            self.assertEqual(self.infer({"inputs": [INPUT]}, path="/v2/models/%s/infer" % path).status, code, path)

    def test_the_repository(self):
        for body in (b"", b'{"ready":true}'):
            answer = self.server.request("POST", "/v2/repository/index", body)
            self.assertEqual(answer.json(), [{"name": "digits", "version": "1", "state": "READY"}])
        for body in (b"x", b"[]", b'{"ready":1}', b'{"ready":true'):
            answer = self.server.request("POST", "/v2/repository/index", body)
            self.assertEqual(answer.status, 400, body)
            self.assertIn('"ready" is true or false', answer.error)
        for what in ("load", "unload"):
            answer = self.server.request("POST", "/v2/repository/models/digits/" + what, b"")
            self.assertEqual(answer.status, 503)
            self.assertIn("/admin", answer.error)

    def test_the_repository_s_ready_ones(self):
        with Models() as models, models.serve() as server:
            models.publish(2, b"no model")
            server.until(2, "failed")
            everything = server.request("POST", "/v2/repository/index", b"{}").json()
            ready = server.request("POST", "/v2/repository/index", b'{"ready":true}').json()
            self.assertEqual([(one["version"], one["state"]) for one in everything], [("1", "READY"), ("2", "UNAVAILABLE")])
            self.assertEqual(ready, everything[:1])
            self.assertEqual(server.request("POST", "/v2/repository/index", b'{"ready":false}').json(), everything)

    def test_a_wrong_method(self):
        self.assertEqual(self.get(INFER).status, 405)
        self.assertEqual(self.server.request("POST", "/v2/models/digits", b"").status, 405)


class Infer(V2Case):
    OPTIONS = {"max_request_rows": 16000}

    def test_flat_and_nested_data_in_any_order_of_members(self):
        answers = [
            self.outputs(self.infer({"inputs": [one]}))["probabilities"]
            for one in (
                INPUT,
                dict(INPUT, data=[ROW]),
                {"data": ROW, "datatype": "FP32", "shape": [1, 64], "name": "pixels"},
                {"shape": [1, 64], "data": [ROW], "name": "pixels", "datatype": "FP32"},
            )
        ]
        self.assertEqual(answers, [answers[0]] * 4)
        self.assertEqual(self.document["model_name"], "digits")
        self.assertEqual(self.document["model_version"], "1")
        self.assertNotIn("id", self.document)
        plain = self.server.predict([ROW]).predictions
        self.assertEqual(answers[0], plain[0])

    def test_binary_both_ways_is_bit_exact(self):
        text = self.outputs(self.infer({"inputs": [INPUT]}))["probabilities"]
        request = {"id": "7", "inputs": [BINARY], "parameters": {"binary_data_output": True}}
        raw = self.outputs(self.infer(request, RAW))["probabilities"]
        self.assertEqual(list(struct.unpack("<10f", raw)), [struct.unpack("<f", struct.pack("<f", x))[0] for x in text])
        self.assertEqual(self.document["id"], "7")
        request = {"inputs": [INPUT], "outputs": [{"name": "probabilities", "parameters": {"binary_data": True}}]}
        self.assertEqual(self.outputs(self.infer(request))["probabilities"], raw)
        answer = self.infer(RAW, headers={"Inference-Header-Content-Length": "0"})
        self.assertEqual(self.outputs(answer)["probabilities"], raw)
        whole = json.dumps({"inputs": [INPUT]}).encode()
        answer = self.infer(whole, headers={"Inference-Header-Content-Length": str(len(whole))})
        self.assertEqual(self.outputs(answer)["probabilities"], text)

    def test_compressed_bodies_count_uncompressed_json(self):
        head = json.dumps({"inputs": [BINARY]}).encode()
        gzip = zlib.compressobj(wbits=31)
        for coding, body in (("deflate", zlib.compress(head + RAW)), ("gzip", gzip.compress(head + RAW) + gzip.flush())):
            headers = {"Content-Encoding": coding, "Inference-Header-Content-Length": str(len(head))}
            answer = self.server.request("POST", INFER, body, headers=list(headers.items()))
            self.assertEqual(len(self.outputs(answer)["probabilities"]), 10)

    def compressed(self, request, accept, **options):
        """The answer, and the coding it came in; its body is then the plain one."""
        answer = self.infer(request, headers={"Accept-Encoding": accept}, **options)
        self.assertEqual(answer.status, 200, answer)
        coding = answer.headers.get("content-encoding")
        if coding:
            plain = zlib.decompressobj(wbits={"gzip": 31, "deflate": 15}[coding])
            answer.body = plain.decompress(answer.body)
            self.assertTrue(plain.eof and not plain.unused_data)
        return answer, coding

    def test_answers_are_compressed_as_asked(self):
        wanted = self.outputs(self.infer({"inputs": [INPUT]}))["probabilities"]
        binary = {"inputs": [INPUT], "parameters": {"binary_data_output": True}}
        for accept, want in (
            ("gzip, deflate", "gzip"), ("deflate", "deflate"), ("gzip;q=0.1, deflate;q=0.2", "deflate"),
            ("identity, gzip", None), ("*", None), ("br", None), ("gzip;q=0", None), ("", None),
        ):
            answer, coding = self.compressed({"inputs": [INPUT]}, accept)
            self.assertEqual(coding, want, accept)
            self.assertEqual(self.outputs(answer)["probabilities"], wanted)
            answer, coding = self.compressed(binary, accept)
            self.assertEqual(coding, want, accept)
            raw = self.outputs(answer)["probabilities"]  # Inference-Header-Content-Length is that of the plain JSON
            self.assertEqual(struct.unpack("<10f", raw), struct.unpack("<10f", struct.pack("<10f", *wanted)))

    def test_a_compressed_answer_is_smaller_and_the_connection_goes_on(self):
        body = json.dumps({"inputs": [dict(INPUT, shape=[100, 64], data=ROW * 100)]}).encode()
        with self.server.client() as client:
            plain = client.request("POST", INFER, body)
            packed = client.request("POST", INFER, body, headers=[("Accept-Encoding", "gzip")])
            self.assertLess(len(packed.body) * 10, len(plain.body))
            self.assertEqual(zlib.decompress(packed.body, wbits=31), plain.body)
            self.assertEqual(client.request("POST", INFER, body).body, plain.body)

    def test_a_very_large_answer_goes_plain(self):
        rows = 16000
        head = json.dumps({"inputs": [dict(BINARY, shape=[rows, 64], parameters={"binary_data_size": 256 * rows})]}).encode()
        headers = [("Accept-Encoding", "gzip"), ("Inference-Header-Content-Length", str(len(head)))]
        answer = self.server.request("POST", INFER, head + RAW * rows, headers=headers)
        self.assertEqual(answer.status, 200, answer)
        self.assertNotIn("content-encoding", answer.headers)
        self.assertGreater(len(answer.body), 1024 * 1024)
        self.assertEqual(len(answer.json()["outputs"][0]["data"]), 10 * rows)

    def test_nothing_but_an_answer_is_compressed(self):
        accept = [("Accept-Encoding", "gzip, deflate")]
        for path in ("/v2", "/v2/models/digits", "/v2/models/digits/config", "/v2/models/digits/stats", "/v2/health/live"):
            answer = self.server.request("GET", path, headers=accept)
            self.assertNotIn("content-encoding", answer.headers)
            answer.json()
        answer = self.server.request("POST", INFER, b"{}", headers=accept)
        self.assertNotIn("content-encoding", answer.headers)
        self.assertEqual(answer.status, 400)
        self.assertIn("inputs", answer.error)

    def test_content_types_do_not_matter(self):
        for kind in ("application/octet-stream", "application/x-www-form-urlencoded", "text/plain"):
            self.assertEqual(self.infer({"inputs": [INPUT]}, headers={"Content-Type": kind}).status, 200)

    def test_classification(self):
        request = {"inputs": [dict(INPUT, shape=[2, 64], data=ROW + ROW)],
                   "outputs": [{"name": "probabilities", "parameters": {"classification": 3}}]}
        classes = self.outputs(self.infer(request))["probabilities"]
        self.assertEqual(self.document["outputs"][0]["datatype"], "BYTES")
        self.assertEqual(self.document["outputs"][0]["shape"], [2, 3])
        self.assertEqual([text.split(":")[1] for text in classes], ["7", "4", "5"] * 2)
        request["outputs"][0]["parameters"]["binary_data"] = True
        raw = self.outputs(self.infer(request))["probabilities"]
        (size,) = struct.unpack("<I", raw[:4])
        self.assertEqual(raw[4:4 + size].decode(), classes[0])

    def test_the_rows_of_a_request_stay_in_order(self):
        rows = [[float((r * 7 + c) % 17) for c in range(64)] for r in range(50)]
        request = {"inputs": [dict(INPUT, shape=[50, 64], data=rows)]}
        got = self.outputs(self.infer(request))["probabilities"]
        want = [x for row in self.server.predict(rows).predictions for x in row]
        self.assertEqual(got, want)

    def test_bad_requests_name_their_fault(self):
        bad = (
            ({"inputs": [dict(INPUT, shape=[2, 64])]}, "64 values, expected 128"),
            ({"inputs": [dict(INPUT, shape=[-1, 64])]}, "-1"),
            ({"inputs": [dict(INPUT, shape=[1.5, 64])]}, "1.5"),
            ({"inputs": [dict(INPUT, shape=["1", 64])]}, "shape"),
            ({"inputs": [dict(INPUT, shape="-1")]}, "shape"),
            ({"inputs": [dict(INPUT, shape=[])]}, "shape"),
            ({"inputs": [dict(INPUT, shape=[1] * 9)]}, "8 dimensions"),
            ({"inputs": [dict(INPUT, shape=[0, 64], data=[])]}, "at least one"),
            ({"inputs": [dict(INPUT, datatype="INT64")]}, "FP32"),
            ({"inputs": [dict(INPUT, datatype="BYTES")]}, "FP32"),
            ({"inputs": [dict(INPUT, datatype="fp32")]}, "FP32"),
            ({"inputs": [{key: INPUT[key] for key in ("name", "shape", "data")}]}, "datatype"),
            ({"inputs": [INPUT, INPUT]}, "twice"),
            ({"inputs": []}, "missing"),
            ({}, "inputs"),
            ({"inputs": [dict(INPUT, name="x")]}, '"x"'),
            ({"inputs": [INPUT], "outputs": [{"name": "potato"}]}, "potato"),
            ({"inputs": [dict(INPUT, data=[ROW[:32], ROW[32:]])]}, "element [0]"),
            ({"inputs": [dict(INPUT, data=ROW + [1])]}, "65 values"),
            (b'{"inputs":[{"name":"pixels","shape":[1,64],"datatype":"FP32","data":[NaN]}]}', "offset"),
            (b"not json", "offset"),
        )
        for request, wanted in bad:
            answer = self.infer(request)
            self.assertEqual(answer.status, 400, request)
            self.assertIn(wanted, answer.error)
            self.assertEqual(answer.headers["content-type"], "application/json")

    def test_bytes_that_do_not_fit(self):
        for tail, wanted in ((RAW + b"x", "left"), (RAW[:-1], "ends before")):
            answer = self.infer({"inputs": [BINARY]}, tail)
            self.assertEqual(answer.status, 400)
            self.assertIn(wanted, answer.error)
        for length in ("999999", "-1", "x", ""):
            answer = self.infer({"inputs": [INPUT]}, headers={"Inference-Header-Content-Length": length})
            self.assertEqual(answer.status, 400, length)

    def test_a_deadline_in_the_body_counts(self):
        answer = self.infer({"inputs": [INPUT], "parameters": {"timeout": 1}})
        self.assertIn(answer.status, (503, 504))
        self.assertEqual(self.infer({"inputs": [INPUT], "parameters": {"timeout": 2000000}}).status, 200)

    def test_many_clients_at_once_get_their_own(self):
        rows = [[float((i * 3 + c) % 29) for c in range(64)] for i in range(24)]
        self.assertEqual(len(set(map(tuple, rows))), len(rows))

        def ask(server, i):
            request = {"id": str(i), "inputs": [dict(INPUT, data=rows[i])]}
            document = server.request("POST", INFER, json.dumps(request).encode()).json()
            return document["id"], document["outputs"][0]["data"]

        with Server(DIGITS, invariance="strict") as server:
            wants = [(str(i), server.predict([row]).predictions[0]) for i, row in enumerate(rows)]
            self.assertEqual(len({tuple(want) for _, want in wants}), len(rows))
            self.assertEqual(run_at_once([lambda i=i: ask(server, i) for i in range(len(rows))]), wants)

    def test_the_route_has_its_series(self):
        self.infer({"inputs": [INPUT]})
        eventually(lambda: self.server.metrics().total("weir_requests_total", route="/v2/models/{model}/infer",
                                                       model="digits", version="1", code="200") >= 1)


class Statistics(V2Case):
    def stats(self, path="/v2/models/digits/stats"):
        return self.get(path).json()["model_stats"]

    def test_they_count_what_was_done(self):
        (before,) = self.stats()
        for rows in (1, 1, 5):
            self.assertEqual(self.infer({"inputs": [dict(INPUT, shape=[rows, 64], data=ROW * rows)]}).status, 200)
        (after,) = self.stats()
        self.assertEqual((after["name"], after["version"]), ("digits", "1"))
        self.assertEqual(after["inference_count"] - before["inference_count"], 7)
        self.assertEqual(after["execution_count"] - before["execution_count"], 3)
        for name in ("success", "queue", "compute_input", "compute_infer", "compute_output"):
            pair, old = after["inference_stats"][name], before["inference_stats"][name]
            self.assertEqual(pair["count"] - old["count"], 3, name)
            self.assertGreaterEqual(pair["ns"], old["ns"])
        sizes = {batch["batch_size"]: batch for batch in after["batch_stats"]}
        self.assertGreater(sizes[5]["compute_infer"]["ns"], 0)
        self.assertEqual(sum(batch["compute_infer"]["count"] for batch in sizes.values()), after["execution_count"])
        self.assertGreater(after["last_inference"], 1.7e12)
        self.assertIn("cache_miss", after["inference_stats"])

    def test_runs_of_nobody_s_request_are_not_counted(self):
        """Samples run after each load, and when an operator asks for it."""
        with Models() as models, models.serve() as server:
            models.publish(2, samples="right")
            server.until(2, "ready")
            self.assertEqual(server.admin("POST", "/demo/versions/2/verify").status, 200)
            for version in (1, 2):
                (stats,) = server.request("GET", "/v2/models/demo/versions/%d/stats" % version).json()["model_stats"]
                self.assertEqual((stats["inference_count"], stats["execution_count"], stats["batch_stats"]), (0, 0, []))
            self.assertEqual(server.predict([[1, 2, 3, 4]] * 3).status, 200)
            counts = [(one["inference_count"], one["execution_count"]) for one in server.request("GET", "/v2/models/demo/stats").json()["model_stats"]]
            self.assertEqual(sorted(counts), [(0, 0), (3, 1)])

    def test_they_are_found_by_version_and_for_all(self):
        self.assertEqual(self.stats("/v2/models/digits/versions/1/stats"), self.stats())
        self.assertEqual(self.stats("/v2/models/stats"), self.stats())
        for path, code in (("nope/stats", 404), ("digits/versions/7/stats", 404), ("digits/versions/x/stats", 400)):
            self.assertEqual(self.get("/v2/models/" + path).status, code)


class OpenApi(V2Case):
    def test_it_describes_what_is_loaded(self):
        answer = self.get("/openapi.json")
        self.assertEqual(answer.headers["content-type"], "application/json")
        document = answer.json()
        self.assertEqual(document["openapi"], "3.1.0")
        schemas = document["components"]["schemas"]
        row = schemas["digits.request"]["properties"]["instances"]["items"]
        self.assertEqual((row["type"], row["minItems"], row["maxItems"], row["items"]["type"]), ("array", 64, 64, "number"))
        for path in ("/predict", "/models/digits/predict", "/v1/models/digits:predict", "/v2/models/digits/infer"):
            operation = document["paths"][path]["post"]
            self.assertIn("503", operation["responses"])
            reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
            self.assertIn(reference.rsplit("/", 1)[1], schemas)
        for path in document["paths"]:
            self.assertNotEqual(self.get(path.replace("{version}", "1")).status, 404, path)


class Empty(unittest.TestCase):
    def test_a_server_without_a_model_is_not_ready(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder, Server(folder, model_name="digits", wait="not_ready") as server:
            server.host, server.port = server.address()
            self.assertEqual(server.request("GET", "/v2/health/live").status, 200)
            self.assertEqual(server.request("GET", "/v2/health/ready").status, 503)
            self.assertEqual(server.request("GET", "/v2/models/digits/ready").status, 503)


if __name__ == "__main__":
    unittest.main()
