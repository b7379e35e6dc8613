"""HTTP on the wire: pipelining, limits, expectations, methods, paths, content types."""

import gzip
import socket
import struct
import threading
import time
import unittest
import zlib

import reference
from harness import Client, Server, eventually, run_at_once
from wire import ANSWER, BODY, MIB, HttpCase, get, post

class Pipelining(HttpCase):
    def test_three_predictions_and_a_probe_in_one_segment_are_answered_in_order(self):
        bodies = [BODY, b'{"instances":[[0,0,0,0]]}', b'{"instances":[[-1,0.5,2,1]]}']
        with self.server.client() as client:
            client.send(b"".join(post(body) for body in bodies) + get())
            answers = [client.answer() for _ in range(4)]
            self.assertEqual([answer.status for answer in answers], [200] * 4)
            self.assertEqual(
                [answer.predictions for answer in answers[:3]], [ANSWER, [[0, 0, 1.5]], [[0, 1.5, 4.5]]]
            )
            self.assertFalse(any(answer.closes for answer in answers))
            self.assertEqual(client.request("GET", "/health/live").status, 200)

    def test_two_hundred_pipelined_requests_come_back_in_order(self):
        with self.server.client() as client:
            data = b"".join(post(b'{"instances":[[%d,0,0,0]]}' % index) for index in range(200))
            sender = threading.Thread(target=client.send, args=(data,))
            sender.start()
            got = [client.answer().predictions[0][0] for _ in range(200)]
            sender.join()
            self.assertEqual(got, list(range(200)))

    def test_one_byte_a_segment_gives_the_same_answer(self):
        with self.server.client() as client:
            client.send(post())
            whole = client.answer()
            request = post() + get()
            for index in range(len(request)):
                client.send(request[index : index + 1])
                time.sleep(0.0005)  # each byte its own segment, not a wait for anything
            answer = client.answer()
            self.assertEqual((answer.status, answer.body), (200, whole.body))
            self.assertEqual(client.answer().status, 200)

    def test_a_request_split_at_any_offset_gives_the_same_answer(self):
        request = post()
        with self.server.client() as client:
            client.send(request)
            whole = client.answer()
            for cut in range(1, len(request)):
                client.send(request[:cut])
                time.sleep(0.0005)
                client.send(request[cut:])
                answer = client.answer()
                self.assertEqual((answer.status, answer.body), (200, whole.body), cut)

    def test_a_chunked_body_split_at_any_offset_gives_the_same_answer(self):
        chunks = b"5\r\n" + BODY[:5] + b"\r\n0014;name=value\r\n" + BODY[5:] + b"\r\n0\r\nX-Trailer: 1\r\n\r\n"
        request = post(chunks, headers=["Transfer-Encoding: chunked"])
        with self.server.client() as client:
            for cut in range(1, len(request)):
                client.send(request[:cut])
                time.sleep(0.0005)
                client.send(request[cut:])
                answer = client.answer()
                self.assertEqual((answer.status, answer.predictions), (200, ANSWER), cut)

    def test_a_half_closed_client_still_gets_its_answer(self):
        with self.server.client() as client:
            client.send(post())
            client.socket.shutdown(socket.SHUT_WR)
            answer = client.answer()
            while answer.status == 100:
                answer = client.answer()
            self.assertEqual((answer.status, answer.predictions), (200, ANSWER))


class Limits(HttpCase):
    def test_a_head_of_64_kib_is_refused_readably(self):
        self.assert_refused(get(headers=["X-Big: " + "a" * 65536]), 431)

    def test_a_target_of_64_kib_is_refused_readably(self):
        self.assert_refused(get("/health/live?" + "q" * 65536), 414)

    def test_a_hundred_thousand_tiny_headers_cost_little(self):
        before = self.server.resident_bytes()
        self.assert_refused(get(headers=["a:b"] * 100000), 431)
        self.assertLess(self.server.resident_bytes() - before, 8 * MIB)

    def test_a_head_just_under_the_limits_passes(self):
        with self.server.client() as client:
            answer = client.request("GET", "/health/live", headers=[("X-%d" % index, "v" * 200) for index in range(60)])
            self.assertEqual(answer.status, 200)

    def test_an_announced_body_over_the_limit_is_refused_before_it_is_sent(self):
        with self.server.client() as client:
            client.send(post(b"", ["Content-Length: %d" % (100 * 1000 * 1000)]))
            answer = client.answer()
            self.assert_error(answer, 413)
            self.assertTrue(answer.closes)

    def test_a_chunked_body_over_the_limit_is_refused(self):
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with self.server.client() as client:
            client.send(post(b"", ["Transfer-Encoding: chunked"]))
            try:
                for _ in range(40):
                    client.send(chunk)
            except ConnectionError:
                pass
            self.assert_error(client.answer(), 413)

    def test_a_body_of_exactly_the_limit_passes(self):
        with self.server.client() as client:
            client.send(post(BODY + b" " * (MIB - len(BODY))))
            self.assertEqual(client.answer().predictions, ANSWER)


class Expect(HttpCase):
    def test_the_interim_answer_comes_at_once(self):
        with self.server.client() as client:
            began = time.monotonic()
            client.send(post(b"", ["Expect: 100-continue", "Content-Length: %d" % len(BODY)]))
            self.assertEqual(client.answer().status, 100)
            self.assertLess(time.monotonic() - began, 0.5)
            client.send(BODY)
            self.assertEqual(client.answer().predictions, ANSWER)

    def test_a_body_over_the_limit_gets_the_final_status_and_no_100(self):
        with self.server.client() as client:
            client.send(post(b"", ["Expect: 100-continue", "Content-Length: 100000000"]))
            self.assertEqual(client.answer().status, 413)

    def test_another_expectation_is_417(self):
        with self.server.client() as client:
            client.send(post(BODY, ["Expect: 200-ok"]))
            self.assertEqual(client.answer().status, 417)

    def test_http_1_0_gets_no_100(self):
        with self.server.client() as client:
            client.send(post(BODY, ["Expect: 100-continue"], version="1.0"))
            self.assertEqual(client.answer().status, 200)

    def test_a_sender_that_does_not_wait_gets_at_most_one_100(self):
        with self.server.client() as client:
            client.send(post(BODY, ["Expect: 100-continue"]) + get())
            statuses = [client.answer().status]
            if statuses[0] == 100:
                statuses.append(client.answer().status)
            self.assertEqual(statuses[-1], 200)
            self.assertEqual(client.answer().status, 200)
            self.assertTrue(client.is_open())
            self.assertEqual(client.left, b"")

    def test_a_status_that_the_head_decides_comes_without_100(self):
        for path, status in (("/nope", 404), ("/health/live", 405)):
            with self.subTest(path=path), self.server.client() as client:
                client.send(post(b"", ["Expect: 100-continue", "Content-Length: 25"], path=path))
                self.assertEqual(client.answer().status, status)


class Methods(HttpCase):
    def test_options_names_the_methods_and_the_body_of_a_refused_put_is_skipped(self):
        with self.server.client() as client:
            client.send(
                get("/predict", ["Origin: https://app.example.com", "Access-Control-Request-Method: POST"], method="OPTIONS")
                + b"PUT /predict HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n{}"
                + get()
            )
            first, second = client.answer(), client.answer()
            self.assertEqual(first.status, 204)
            for answer in (first, second):
                self.assertEqual({word.strip() for word in answer.headers["allow"].split(",")}, {"POST", "OPTIONS"})
            self.assertFalse([name for name in first.headers if name.startswith("access-control-")])
            self.assert_error(second, 405)
            if not second.closes:
                self.assertEqual(client.answer().status, 200)

    def test_options_of_the_server_itself_is_answered(self):
        with self.server.client() as client:
            client.send(get("*", method="OPTIONS"))
            answer = client.answer()
            self.assertEqual(answer.status, 204)
            self.assertIn("allow", answer.headers)

    def test_head_has_the_length_and_no_body(self):
        with self.server.client() as client:
            for path, status in (("/health/live", 200), ("/health", 200), ("/metrics", 200), ("/nope", 404)):
                with self.subTest(path=path):
                    client.send(get(path, method="HEAD"))
                    answer = client.answer(no_body=True)
                    self.assertEqual(answer.status, status)
                    self.assertGreater(int(answer.headers["content-length"]), 0)
                    whole = client.request("GET", path)
                    self.assertEqual(whole.status, status)
                    self.assertEqual(whole.headers["content-type"], answer.headers["content-type"])

    def test_pipelined_heads_and_gets_stay_apart(self):
        with self.server.client() as client:
            client.send(get(method="HEAD") + get("/nope", method="HEAD") + get())
            first, second = client.answer(no_body=True), client.answer(no_body=True)
            third = client.answer()
            self.assertEqual((first.status, second.status, third.status), (200, 404, 200))
            self.assertEqual(int(first.headers["content-length"]), len(third.body))

    def test_a_get_with_a_large_body_on_predict_is_405_and_harmless(self):
        with self.server.client() as client:
            try:
                client.send(get("/predict", ["Content-Length: 307200"]) + b"x" * 307200 + get())
            except ConnectionError:
                pass
            answer = client.answer()
            self.assert_error(answer, 405)
            self.assertEqual({word.strip() for word in answer.headers["allow"].split(",")}, {"POST", "OPTIONS"})
            if not answer.closes:
                self.assertEqual(client.answer().status, 200)
        self.assertTrue(self.server.alive())

    def test_errors_are_json_with_a_code_and_a_reason(self):
        self.assert_error(self.server.request("GET", "/nope"), 404)
        self.assert_error(self.server.request("DELETE", "/predict"), 405)
        self.assert_error(self.server.request("POST", "/predict", b"{"), 400)


class Paths(HttpCase):
    def status(self, target):
        with self.server.client() as client:
            client.send(post(path=target))
            return client.answer().status

    def test_paths_are_decoded_once(self):
        self.assertEqual(self.status("/%70redict"), 200)
        self.assertEqual(self.status("/predict?x=1"), 200)
        self.assertEqual(self.status("/predict?"), 200)
        self.assertEqual(self.status("/%2570redict"), 404)
        self.assertEqual(self.status("/Predict"), 404)

    def test_broken_escapes_and_nul_are_bad_requests(self):
        for target in ("/predict%00", "/predict%zz", "/predict%", "/predict%7"):
            with self.subTest(target=target):
                self.assertEqual(self.status(target), 400)

    def test_doubled_slashes_and_dot_segments_are_not_found(self):
        for target in ("//predict", "/x/../predict", "/./predict", "/predict/../predict", "/%2e%2e/predict", "/predict/"):
            with self.subTest(target=target):
                self.assertEqual(self.status(target), 404)

    def test_the_absolute_form_works(self):
        self.assertEqual(self.status("http://test/predict"), 200)
        self.assertEqual(self.status("http://test:1/predict?x"), 200)

    def test_raw_high_bytes_are_refused(self):
        self.assertIn(self.status("/pr\xe9dict"), (400, 404))


class ContentTypes(HttpCase):
    def answer(self, content_type, headers=(), body=BODY):
        with self.server.client() as client:
            client.send(post(body, headers, content_type=content_type) + get())
            answer = client.answer()
            self.assertEqual(client.answer().status, 200)  # the framing held and the connection stayed
            return answer

    def test_json_in_any_spelling_is_taken(self):
        for name in (
            "application/json",
            "Application/JSON; charset=UTF-8",
            'application/json;odata="a;b"',
            "application/json; charset=utf-8",
            'application/json; charset="UTF-8"',
            None,
            "application/x-www-form-urlencoded",
        ):
            with self.subTest(name=name):
                answer = self.answer(name)
                self.assertEqual((answer.status, answer.predictions), (200, ANSWER))
                self.assertTrue(answer.headers["content-type"].startswith("application/json"))

    def test_other_types_and_charsets_are_415(self):
        for name in ("text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "text/json"):
            with self.subTest(name=name):
                self.assert_error(self.answer(name), 415)

    def test_gzip_and_deflate_bodies_are_inflated(self):
        for coding, body in (("gzip", gzip.compress(BODY)), ("deflate", zlib.compress(BODY)), ("x-gzip", gzip.compress(BODY))):
            with self.subTest(coding=coding):
                answer = self.answer("application/json", ["Content-Encoding: " + coding], body)
                self.assertEqual((answer.status, answer.predictions), (200, ANSWER))

    def test_other_codings_are_415_and_name_what_is_taken(self):
        for coding in ("br", "gzip, gzip", "zstd"):
            with self.subTest(coding=coding):
                answer = self.answer("application/json", ["Content-Encoding: " + coding], gzip.compress(BODY))
                self.assert_error(answer, 415)
                self.assertEqual(answer.headers["accept-encoding"].replace(" ", ""), "gzip,deflate")

    def test_identity_is_no_coding(self):
        self.assertEqual(self.answer("application/json", ["Content-Encoding: identity"]).status, 200)

    def test_a_bomb_stops_at_the_body_limit(self):
        bomb = gzip.compress(b" " * (64 * MIB))
        before = self.server.resident_bytes()
        with self.server.client() as client:
            client.send(post(bomb, ["Content-Encoding: gzip"]))
            self.assert_error(client.answer(), 413)
        self.assertLess(self.server.resident_bytes() - before, 16 * MIB)

    def test_broken_gzip_is_a_bad_request(self):
        whole = gzip.compress(BODY)
        for body in (BODY, whole[:-4], whole + b"x", whole[:10] + b"\xff" + whole[11:]):
            with self.subTest(body=body):
                self.assert_error(self.answer("application/json", ["Content-Encoding: gzip"], body), 400)

    def test_predictions_are_never_compressed(self):
        answer = self.answer("application/json", ["Accept-Encoding: gzip"])
        self.assertNotIn("content-encoding", answer.headers)
        self.assertEqual(answer.predictions, ANSWER)

    def test_raw_float32_in_and_out(self):
        raw = struct.pack("<4f", 1, 2, 3, 4)
        answer = self.answer("application/octet-stream", body=raw)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["content-type"], "application/octet-stream")
        self.assertEqual(struct.unpack("<3f", answer.body), (5, 6, 8.5))
        answer = self.answer("application/octet-stream", ["Accept: application/json"], raw)
        self.assertEqual(answer.predictions, ANSWER)
        answer = self.answer("application/json", ["Accept: application/octet-stream"])
        self.assertEqual(struct.unpack("<3f", answer.body), (5, 6, 8.5))
        self.assert_error(self.answer("application/octet-stream", body=raw[:-1]), 400)
        self.assert_error(self.answer("application/octet-stream", body=b""), 400)

    def test_binary_lets_non_finite_numbers_pass_and_json_does_not(self):
        raw = struct.pack("<8f", float("nan"), float("inf"), 3, 4, 1, 2, 3, 4)
        answer = self.answer("application/octet-stream", body=raw)
        self.assertEqual(answer.status, 200)
        numbers = struct.unpack("<6f", answer.body)
        self.assertNotEqual(numbers[0], numbers[0])
        self.assertEqual(numbers[3:], (5, 6, 8.5))
        answer = self.answer("application/octet-stream", ["Accept: application/json"], raw)
        self.assert_error(answer, 500)


class Identity(HttpCase):
    def test_answers_name_model_version_and_device(self):
        answer = self.server.predict([[1, 2, 3, 4]])
        self.assertEqual(answer.headers["x-weir-model"], "demo")
        self.assertEqual(answer.headers["x-weir-version"], "1")
        self.assertEqual(answer.headers["x-weir-device"], "cpu")

    def test_the_root_says_alive(self):
        answer = self.server.request("GET", "/")
        self.assertEqual((answer.status, answer.json()), (200, {"status": "alive"}))


class RequestId(HttpCase):
    def test_every_kind_of_answer_has_the_id_of_its_request(self):
        given = ["X-Request-Id: 0f/a-7_!~"]
        with self.server.client() as client:
            for request, status in (
                (post(headers=given), 200), (get(headers=given), 200), (get("/nope", given), 404), (get("/predict", given), 405),
                (post(b"{", given), 400), (post(headers=given, content_type="text/html"), 415), (get("/bad%", given), 400),
                (get(headers=given, method="OPTIONS"), 204), (get("/v2/models/demo", given), 200),
            ):
                client.send(request)
                answer = client.answer()
                self.assertEqual((answer.status, answer.headers["x-request-id"]), (status, "0f/a-7_!~"), request)

    def test_ids_belong_to_one_request(self):
        with self.server.client() as client:
            client.send(post(headers=["x-request-id: a"]) + post() + get(headers=["X-REQUEST-ID: b"]) + get())
            self.assertEqual([client.answer().headers.get("x-request-id") for _ in range(4)], ["a", None, "b", None])
            client.send(get(headers=["X-Request-Id: c"]))
            self.assertEqual(client.answer().headers["x-request-id"], "c")
            client.send(b"nonsense\r\n\r\n")
            answer = client.answer()
            self.assertEqual((answer.status, answer.headers.get("x-request-id")), (400, None))

    def test_an_id_has_128_visible_characters_at_most(self):
        for text, echoed in (("x" * 128, True), ("x" * 129, False), ("a b", False), ("a\tb", False), ("\xe9", False), ("", False)):
            with self.server.client() as client:
                client.send(get(headers=["X-Request-Id: " + text]))
                answer = client.answer()
                self.assertEqual((answer.status, answer.headers.get("x-request-id")), (200, text if echoed else None))


class Burst(unittest.TestCase):
    def test_two_thousand_connects_at_once_are_all_answered(self):
        with Server(reference.demo()) as server:
            clients = []
            try:
                for _ in range(2000):
                    clients.append(Client(server.host, server.port, seconds=30))
                request = post()
                for client in clients:
                    client.send(request)
                statuses = [client.answer().status for client in clients]
            finally:
                for client in clients:
                    client.close()
            self.assertEqual(set(statuses) - {200, 503}, set())
            self.assertTrue(server.alive())

    def test_more_connects_than_descriptors_do_not_spin_and_do_not_kill(self):
        with Server(reference.demo(), preload=["prlimit", "--nofile=64:64"]) as server:
            clients = [Client(server.host, server.port, seconds=5) for _ in range(150)]
            before = server.cpu_seconds()
            time.sleep(1.0)  # the time over which the processor use is measured
            self.assertLess(server.cpu_seconds() - before, 0.3)
            for client in clients:
                client.close()
            eventually(lambda: server.request("GET", "/health/live").status == 200, what="room for connections again")

    def test_clients_on_many_connections_each_get_their_own_answer(self):
        with Server(reference.demo(), workers=2) as server:

            def ask(number):
                return lambda: server.predict([[number, 0, 0, 0]])

            answers = run_at_once([ask(number) for number in range(50)])
            for number, answer in enumerate(answers):
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.predictions[0][0], number)
