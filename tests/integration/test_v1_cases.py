"""KServe V1 and TensorFlow Serving's REST API, as their clients send it."""

import gzip
import json
import os
import re
import tempfile
import unittest

import onnx_writer as onnx
import reference
import test_json_cases
from harness import Server, ServerCase, eventually, run_weir
from wire import ANSWER, BODY, post

DEMO = "/v1/models/demo:predict"


class Grammar(test_json_cases.Grammar):
    PATH = DEMO


class Printing(test_json_cases.Printing):
    PATH = DEMO


class Members(test_json_cases.Members):
    PATH = DEMO
    NOT_ROWS = ('{"instances":[[1,2,3,4]],"inputs":[[1,2,3,4]]}',)
    EXTRAS = ('"foo":1', '"foo":{"a":[1,{"b":null}]}', '"signature_name":"serving_default"', '"Inputs":[[9]]')


class Shapes(test_json_cases.Shapes):
    PATH = DEMO


class V1Case(ServerCase):
    OPTIONS = {"max_body_bytes": 1024 * 1024, "batch_size": 8}

    @classmethod
    def model(cls):
        return reference.demo()

    def ask(self, body, path=DEMO, **options):
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        return self.server.request("POST", path, body.encode() if isinstance(body, str) else body, **options)

    def get(self, path, status=200):
        answer = self.server.request("GET", path)
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/json")
        return answer.json()


class Predict(V1Case):
    def test_rows_and_columns_are_answered_in_their_own_form(self):
        rows, named = [[1, 2, 3, 4], [0, 0, 0, 0]], [[5, 6, 8.5], [0, 0, 1.5]]
        for body, member in (
            ({"instances": rows}, "predictions"),
            ({"instances": [{"x": row} for row in rows]}, "predictions"),
            ({"inputs": rows}, "outputs"),
            ({"inputs": {"x": rows}}, "outputs"),
            ({"signature_name": "", "inputs": {"more": "x", "x": rows}}, "outputs"),
        ):
            with self.subTest(body=body):
                answer = self.ask(body)
                self.assertEqual(answer.json(), {member: named})
                self.assertEqual(answer.headers["content-type"], "application/json")
                self.assertEqual(answer.headers["x-weir-version"], "1")

    def test_versions_and_labels_are_chosen_by_the_path(self):
        for path in ("/versions/1", "/versions/0", "/versions/001", "/labels/stable"):
            self.assertEqual(self.ask(BODY, "/v1/models/demo%s:predict" % path).predictions, ANSWER)
        for path, status, word in (
            ("demo/versions/99", 404, '"99"'),
            ("demo/versions/99999999999999999999999", 404, "not loaded"),
            ("demo/versions/1.0.0", 400, "not a version number"),
            ("demo/versions/v1", 400, "not a version number"),
            ("demo/versions/-1", 400, "not a version number"),
            ("demo/versions/stable", 400, "not a version number"),
            ("demo/labels/canary", 404, "not loaded"),
            ("demo/labels/1", 404, "no label"),
            ("nope", 404, '"nope"'),
            ("nope/versions/1", 404, '"nope"'),
        ):
            with self.subTest(path=path):
                self.assert_error(self.ask(BODY, "/v1/models/%s:predict" % path), status, word)

    def test_the_path_may_be_encoded_and_have_a_query(self):
        for path in (
            "/v1/models/demo%3Apredict",
            "/v1/models/demo%3apredict",
            "/v1/models/demo:predict?x=1&y=%zz",
            "/v1/models/%64emo:%70redict",
            "/v1/models/demo/versions/1%3Apredict",
            "/v1/models/demo/labels/stable%3Apredict?a",
            "http://host/v1/models/demo:predict",
        ):
            with self.subTest(path=path):
                self.assertEqual(self.ask(BODY, path).predictions, ANSWER)
        for path, status in (
            ("/v1/models/a%2Fb:predict", 404),
            ("/v1/models/demo%253Apredict", 405),  # decoded once: the status of "demo%3Apredict", which is only read
            ("/v1/models/demo:classify", 404),
            ("/v1/models/demo%00:predict", 400),
            ("/v1/models/demo%zz:predict", 400),
            ("/v1/models/:predict", 404),
            ("/v1//models/demo:predict", 404),
            ("/v1/models/x/../demo:predict", 404),
            ("/v1/models/demo/versions/:predict", 404),
            ("/v1/models/demo:predict/", 404),
            ("/v1/models/demo/versions/00/", 404),
        ):
            with self.subTest(path=path):
                self.assert_error(self.ask(BODY, path), status)

    def test_no_content_type_is_refused_and_accept_is_ignored(self):
        for content_type in (None, "text/plain", "application/octet-stream", "application/x-npy", "multipart/form-data"):
            answer = self.ask(BODY, content_type=content_type, headers=[("Accept", "application/octet-stream")])
            self.assertEqual((answer.status, answer.predictions), (200, ANSWER))
            self.assertEqual(answer.headers["content-type"], "application/json")

    def test_gzip_and_other_codings(self):
        answer = self.ask(gzip.compress(BODY), headers=[("Content-Encoding", "gzip")])
        self.assertEqual(answer.predictions, ANSWER)
        self.assert_error(self.ask(BODY, headers=[("Content-Encoding", "br")]), 415)

    def test_other_methods_are_405(self):
        answer = self.server.request("GET", DEMO)
        self.assert_error(answer, 405)
        self.assertEqual(answer.headers["allow"], "POST, OPTIONS")
        self.assert_error(self.server.request("POST", "/v1/models/demo", b"{}"), 405)

    def test_requests_in_pieces_and_pipelined(self):
        bodies = [BODY, b'{"inputs":[[1,2,3,4]]}', b'{"inputs":{"x":[[1,2,3,4]]}}']
        data = b"".join(post(body, path=DEMO, content_type=None) for body in bodies)
        with self.server.client() as client:
            for size in (len(data), 1):
                for at in range(0, len(data), size):
                    client.send(data[at : at + size])
                answers = [client.answer().json() for _ in bodies]
                self.assertEqual(answers, [{"predictions": ANSWER}, {"outputs": ANSWER}, {"outputs": ANSWER}])

    def test_a_large_body_that_waits_for_100(self):
        body = json.dumps({"inputs": [[1, 2, 3, 4]] * 5000}).encode()
        with self.server.client() as client:
            client.send(post(b"", ["Content-Length: %d" % len(body), "Expect: 100-continue"], path=DEMO))
            self.assertEqual(client.answer().status, 100)
            client.send(body)
            self.assertEqual(client.answer().json()["outputs"], ANSWER * 5000)

    def test_wrong_members_are_named(self):
        for body, words in (
            ("{}", ["instances", "inputs"]),
            ('{"inputs":[[1,2,3,4]],"instances":[[1,2,3,4]]}', ["both"]),
            ('{"inputs":[[1,2,3,4]],"inputs":[[1,2,3,4]]}', ["inputs", "twice"]),
            ('{"signature_name":"other","inputs":[[1,2,3,4]]}', ['"other"', "serving_default"]),
            ('{"signature_name":1,"inputs":[[1,2,3,4]]}', ["signature_name", "a number"]),
            ('{"inputs":null}', ["inputs", "null"]),
            ('{"inputs":[]}', ["at least one row"]),
            ('{"inputs":{}}', ['"x" is missing']),
            ('{"inputs":{"x":[1,2,3,4]}}', ["row 0", "got a number"]),
            ('{"inputs":[[1,2,3,4],[1,2,3]]}', ["row 1", "3 values", "expected 4"]),
            ('{"inputs":[[1,2,NaN,4]]}', ["row 0", "column 2"]),
            ('{"inputs":[[1,2,3,1e39]]}', ["row 0", "column 3", "float32 range"]),
            ('{"instances":[{"x":[1,2,3,4],"z":1}]}', ["row 0", '"z"']),
            ('{"instances":[{}]}', ['"x" is missing']),
            ('{"instances":[{"b64":"AAAA"}]}', ["b64", "strings", "numbers"]),
            ('{"instances":[[1,2,{"b64":"AAAA"},4]]}', ["row 0", "column 2", "strings"]),
            ('{"inputs":{"b64":"AAAA"}}', ["b64", "strings"]),
            ('{"instances":["AAAA"]}', ["row 0", "a string"]),
        ):
            with self.subTest(body=body):
                self.assert_error(self.ask(body), 400, *words)

    def test_a_column_that_is_not_finite_fails_alone(self):
        self.assert_error(self.ask('{"inputs":[[0,0,0,0],[3e38,0,0,3e38]]}'), 500, "row 1", "column 0")
        self.assertEqual(self.ask('{"inputs":[[1,2,3,4]]}').json(), {"outputs": ANSWER})

    def test_the_metrics_know_the_route(self):
        self.ask(BODY)
        self.assertGreater(
            self.server.metrics().total("weir_requests_total", route="/v1/models/{model}:predict", code=200), 0
        )


class Status(V1Case):
    AVAILABLE = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}

    def test_models_are_listed(self):
        self.assertEqual(self.get("/v1/models"), {"models": ["demo"]})

    def test_one_object_serves_both_families(self):
        for path in ("", "/versions/1", "/versions/0", "/labels/stable"):
            self.assertEqual(
                self.get("/v1/models/demo" + path),
                {"name": "demo", "ready": True, "model_version_status": [self.AVAILABLE]},
            )
        head = self.server.request("HEAD", "/v1/models/demo")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_metadata_describes_the_signature(self):
        for path in ("", "/versions/1", "/labels/stable"):
            data = self.get("/v1/models/demo%s/metadata" % path)
            self.assertEqual(data["model_spec"], {"name": "demo", "signature_name": "", "version": "1"})
            signature = data["metadata"]["signature_def"]["signature_def"]["serving_default"]
            self.assertEqual(signature["method_name"], "tensorflow/serving/predict")
            for side, name, size in (("inputs", "x", "4"), ("outputs", "y", "3")):
                tensor = signature[side][name]
                self.assertEqual(tensor["dtype"], "DT_FLOAT")
                self.assertEqual([dim["size"] for dim in tensor["tensor_shape"]["dim"]], ["-1", size])

    def test_what_is_not_there_is_404_and_no_number_400(self):
        for tail in ("", "/metadata"):
            for path, status in (
                ("nope", 404), ("demo/versions/9", 404), ("demo/labels/canary", 404), ("demo/labels/x", 404),
                ("demo/versions/1.0.0", 400), ("demo/versions/x", 400),
            ):  # fmt: skip
                with self.subTest(path=path + tail):
                    self.assert_error(self.server.request("GET", "/v1/models/" + path + tail), status)
        self.assert_error(self.server.request("GET", "/v1/models/demo/nothing"), 404)


class NotReady(unittest.TestCase):
    def test_a_model_without_a_version_is_not_ready(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "demo"))
            with Server(os.path.join(folder, "demo"), wait="listening") as server:
                eventually(lambda: server.request("GET", "/v1/models/demo").status == 503, 30, "503")
                answer = server.request("GET", "/v1/models/demo")
                self.assertEqual(answer.json(), {"name": "demo", "ready": False, "model_version_status": []})
                self.assertEqual(server.request("POST", DEMO, BODY).status, 503)
                self.assertEqual(server.request("GET", "/v1/models/demo/metadata").status, 503)

    def test_a_version_that_cannot_be_loaded_is_told_with_its_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(os.path.join(folder, "demo", "1", "model.onnx"), reference.demo_bytes(1))
            reference.write(os.path.join(folder, "demo", "2", "model.onnx"), b"not a model")
            with Server(os.path.join(folder, "demo")) as server:
                def both():
                    answer = server.request("GET", "/v1/models/demo")
                    return answer if len(answer.json()["model_version_status"]) == 2 else None

                answer = eventually(both, 30, "both versions")
                self.assertEqual((answer.status, answer.json()["ready"]), (200, True))
                states = {one["version"]: one for one in answer.json()["model_version_status"]}
                self.assertEqual((states["1"]["state"], states["2"]["state"]), ("AVAILABLE", "END"))
                self.assertNotEqual(states["2"]["status"]["error_code"], "OK")
                self.assertTrue(states["2"]["status"]["error_message"])
                answer = server.request("GET", "/v1/models/demo/versions/2")
                self.assertEqual((answer.status, answer.json()["ready"]), (503, False))


class Rollout(unittest.TestCase):
    def test_labels_follow_the_rollout(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "demo")
            reference.write(os.path.join(model, "1", "model.onnx"), reference.demo_bytes(1))
            with Server(model, admin_listen="127.0.0.1:0", state_dir=folder, new_versions="hold") as server:
                admin = re.search(r"listener=admin address=(\S+)", server.log()).group(1)
                reference.write(os.path.join(model, "2", "model.onnx"), reference.demo_bytes(2))
                for command in (["promote", "demo", "1"], ["canary", "demo", "2", "--steps", "1% for 1h"]):
                    result = run_weir("models", *command, "--admin", admin)
                    self.assertEqual(result.returncode, 0, result.stderr)
                for path, version in (
                    ("/labels/stable", 1), ("/labels/canary", 2), ("/versions/1", 1), ("/versions/2", 2),
                ):  # fmt: skip
                    answer = server.request("POST", "/v1/models/demo%s:predict" % path, b'{"inputs":[[0,0,0,0]]}')
                    self.assertEqual(answer.json(), {"outputs": [[0, 0, version + 0.5]]})
                    status = server.request("GET", "/v1/models/demo" + path).json()
                    self.assertEqual([one["version"] for one in status["model_version_status"]], [str(version)])
                    metadata = server.request("GET", "/v1/models/demo%s/metadata" % path).json()
                    self.assertEqual(metadata["model_spec"]["version"], str(version))
                status = server.request("GET", "/v1/models/demo").json()
                self.assertEqual({one["version"] for one in status["model_version_status"]}, {"1", "2"})


class Several(ServerCase):
    """Inputs and outputs by name, of other types, with a free dimension."""

    OPTIONS = {"batch_size": 8}
    PATH = "/v1/models/text:predict"

    @classmethod
    def model(cls):
        return reference.text()

    def test_rows_and_columns_give_the_same_numbers(self):
        ids, mask = [[1, 2, 3], [49, 0, 7]], [[1, 1, 0], [1, 1, 1]]
        rows = self.server.request("POST", self.PATH, {
            "instances": [{"input_ids": one, "attention_mask": other} for one, other in zip(ids, mask)]})  # fmt: skip
        columns = self.server.request("POST", self.PATH, {"inputs": {"attention_mask": mask, "input_ids": ids}})
        self.assertEqual((rows.status, columns.status), (200, 200))
        outputs = columns.json()["outputs"]
        self.assertEqual(list(outputs), ["pooled", "tokens", "best"])
        for index, prediction in enumerate(rows.predictions):
            self.assertEqual(prediction, {name: values[index] for name, values in outputs.items()})
            self.assert_near(prediction["pooled"], reference.text_answer(ids[index], mask[index])["pooled"])

    def test_faults_name_the_input(self):
        for body, words in (
            ({"inputs": [[1, 2]]}, ['"input_ids", "attention_mask"']),
            ({"inputs": {"input_ids": [[1]]}}, ['"attention_mask" is missing']),
            ({"inputs": {"input_ids": [[1], [2]], "attention_mask": [[1]]}}, ["has 1 rows", "has 2"]),
            ({"inputs": {"input_ids": [[1, 2]], "attention_mask": [[1]]}}, ['"attention_mask"', "row 0", "expected 2"]),
            ({"inputs": {"input_ids": [[1.5]], "attention_mask": [[1]]}}, ['"input_ids"', "an integer"]),
            ({"instances": [{"input_ids": [1], "attention_mask": [1], "more": 1}]}, ['"more"']),
            ({"instances": [{"input_ids": [1]}]}, ['"attention_mask" is missing']),
            ({"instances": [[1]]}, ["an object"]),
        ):
            with self.subTest(body=body):
                self.assert_error(self.server.request("POST", self.PATH, body), 400, *words)

    def test_metadata_names_types_and_free_sizes(self):
        data = self.server.request("GET", "/v1/models/text/metadata").json()
        inputs = data["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
        self.assertEqual(list(inputs), ["input_ids", "attention_mask"])
        self.assertEqual(inputs["input_ids"]["dtype"], "DT_INT64")
        self.assertEqual([dim["size"] for dim in inputs["input_ids"]["tensor_shape"]["dim"]], ["-1", "-1"])

    def test_sixty_three_bits_survive(self):
        with tempfile.TemporaryDirectory() as folder:
            data = onnx.model(
                [onnx.node("Identity", ["x"], ["y"], "same")], [], [onnx.value("x", ["N", 2], onnx.INT64)],
                [onnx.value("y", ["N", 2], onnx.INT64)],
            )  # fmt: skip
            reference.write(os.path.join(folder, "model", "1", "model.onnx"), data)
            with Server(os.path.join(folder, "model")) as server:
                rows = [[2**63 - 1, -(2**63)]]
                for member, answer in (("instances", "predictions"), ("inputs", "outputs")):
                    got = server.request("POST", "/v1/models/model:predict", {member: rows}).json()
                    self.assertEqual(got, {answer: rows})


if __name__ == "__main__":
    unittest.main()
