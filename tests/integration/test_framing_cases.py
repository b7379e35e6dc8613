"""Where a message begins and ends: what two servers could read differently is refused."""

import time

from wire import ANSWER, BODY, HttpCase, get, post


class Smuggling(HttpCase):
    """What two servers in a row could read differently is refused once, and nothing behind it is read."""

    def test_content_length_and_transfer_encoding_together_are_refused(self):
        hidden = b'19\r\n{"instances":[[1,2,3,4]]}\r\n0\r\n\r\n' + get("/metrics")
        self.assert_refused(post(hidden, ["Content-Length: 4", "Transfer-Encoding: chunked"]), 400)
        self.assert_refused(post(hidden, ["Transfer-Encoding: chunked", "Content-Length: 4"]), 400)

    def test_odd_content_lengths_are_refused(self):
        forms = [
            ["Content-Length:", "Content-Length: 25"],
            ["Content-Length: +25"],
            ["Content-Length: 25, 25"],
            ["Content-Length: 0x19"],
            ["Content-Length: -1"],
            ["Content-Length: 25", "Content-Length: 25"],
            ["Content-Length: 25", "Content-Length: 26"],
            ["Content-Length: 18446744073709551616"],
            ["Content-Length: 2 5"],
            ["Content-Length:"],
        ]
        for form in forms:
            with self.subTest(form=form):
                self.assert_refused(post(BODY, form) + get("/metrics"), 400)

    def test_leading_zeros_and_trailing_spaces_of_a_length_are_fine(self):
        for form in ("Content-Length: 025", "Content-Length: 25  ", "Content-Length:25"):
            with self.subTest(form=form), self.server.client() as client:
                client.send(post(BODY, [form]))
                self.assertEqual(client.answer().predictions, ANSWER)

    def test_odd_chunk_sizes_are_refused(self):
        for size in (b"10000000000000000", b"-1", b"0x3", b" 3", b"", b"g", b"19 ", b"+19"):
            with self.subTest(size=size):
                self.assert_refused(
                    post(size + b"\r\n" + BODY + b"\r\n0\r\n\r\n", ["Transfer-Encoding: chunked"]) + get("/metrics"), 400
                )

    def test_chunk_data_without_its_line_end_is_refused(self):
        for body in (b"19\r\n" + BODY + b"\n0\r\n\r\n", b"19\r\n" + BODY + b"XX0\r\n\r\n", b"19\n" + BODY + b"\r\n0\r\n\r\n"):
            with self.subTest(body=body):
                self.assert_refused(post(body, ["Transfer-Encoding: chunked"]), 400)

    def test_other_transfer_codings_are_refused(self):
        chunks = b"19\r\n" + BODY + b"\r\n0\r\n\r\n"
        for coding in ("gzip, chunked", "chunked, chunked", "identity", "xchunked", "chunked;q=1"):
            with self.subTest(coding=coding):
                self.assert_refused(post(chunks, ["Transfer-Encoding: " + coding]), 400, 501)

    def test_transfer_encoding_on_http_1_0_is_refused(self):
        chunks = b"19\r\n" + BODY + b"\r\n0\r\n\r\n"
        self.assert_refused(post(chunks, ["Transfer-Encoding: chunked"], version="1.0"), 400)

    def test_empty_header_names_and_an_empty_transfer_encoding_are_refused(self):
        self.assert_refused(get(headers=[": x"]), 400)
        self.assert_refused(post(BODY, ["Transfer-Encoding:", "Content-Length: 25"]), 400)

    def test_folded_lines_and_spaces_around_names_are_refused(self):
        for line in ("X-A: 1\r\n folded", "X-A : 1", " X-A: 1", "\tX-A: 1", "X-A"):
            with self.subTest(line=line):
                self.assert_refused(get(headers=[line]), 400)

    def test_bare_line_ends_and_nul_are_refused(self):
        refused = [
            b"GET /health/live HTTP/1.1\nHost: test\n\n",
            b"GET /health/live HTTP/1.1\r\nHost: test\nX-A: 1\r\n\r\n",
            b"GET /health/live HTTP/1.1\r\nHost: test\r\nX-A: a\rb\r\n\r\n",
            b"GET /health/live HTTP/1.1\r\nHost: test\r\nX-A: a\0b\r\n\r\n",
            b"GET /health/live HTTP/1.1\r\nHost: test\r\nX-A:\rTransfer-Encoding: chunked\r\n\r\n",
            b"GET /health/live HTTP/1.1\r\nHost: test\r\n\rX: 1\r\n\r\n",
        ]
        for request in refused:
            with self.subTest(request=request):
                self.assert_refused(request, 400)


class HostAndVersion(HttpCase):
    def test_http_1_1_needs_exactly_one_host(self):
        self.assert_refused(b"GET /health/live HTTP/1.1\r\n\r\n", 400)
        self.assert_refused(b"GET /health/live HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400)

    def test_http_1_0_keeps_the_connection_only_if_asked(self):
        with self.server.client() as client:
            client.send(b"GET /health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /health/live HTTP/1.0\r\n\r\n")
            first, second = client.answer(), client.answer()
            self.assertEqual((first.status, second.status), (200, 200))
            self.assertEqual(first.headers["connection"].lower(), "keep-alive")
            self.assertIn("content-length", first.headers)
            self.assertNotIn("transfer-encoding", first.headers)
            self.assertNotEqual(second.headers.get("connection", "").lower(), "keep-alive")
            began = time.monotonic()
            self.assertEqual(client.rest(), b"")
            self.assertLess(time.monotonic() - began, 1.0)

    def test_connection_close_is_honoured(self):
        with self.server.client() as client:
            answer = client.request("GET", "/health/live", headers=[("Connection", "close")])
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.closes)
            self.assertEqual(client.rest(), b"")

    def test_other_protocols_are_refused(self):
        self.assert_refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505)
        self.assert_refused(get(version="2.0"), 400, 505)
        self.assert_refused(get(version="1.2"), 400, 505)
        self.assert_refused(bytes.fromhex("16030100f1010000ed0303") + b"\x11" * 240, 400)
        self.assert_refused(b"RTSP/1.0 200 OK\r\n\r\n", 400)
        self.assert_refused(b"GET /health/live RTSP/1.0\r\nHost: a\r\n\r\n", 400, 505)

    def test_connect_and_unknown_methods_are_refused(self):
        with self.server.client() as client:
            client.send(b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")
            self.assertIn(client.answer().status, (400, 405))
        with self.server.client() as client:
            client.send(get(method="BREW"))
            self.assertIn(client.answer().status, (400, 405, 501))

    def test_an_upgrade_is_ignored(self):
        with self.server.client() as client:
            client.send(get(headers=["Upgrade: websocket", "Connection: Upgrade"]) + get())
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
