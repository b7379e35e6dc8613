#!/usr/bin/python3
"""The framing table: raw bytes -> status code, and whether the connection closes. Runs against a running server.

    WEIR_HOST=127.0.0.1 WEIR_PORT=8000 tests/conformance/framing_table.py
    tests/conformance/framing_table.py 127.0.0.1 8000

Each row is sent twice on connections of its own: in one write, and byte by byte. A row that closes must get exactly one
answer, with `Connection: close`, a JSON error, and then the end of the stream; whatever stands behind the bad message must
never be answered. A row that stays open must answer one more request on the same connection.
Sources: RFC 9112 (2.2 to 7.1), RFC 9110 (5.5, 8.6, 10.1.1), CVE-2023-30589, CVE-2023-40225, CVE-2024-27982, CVE-2025-23167.
"""
import collections
import json
import os
import socket
import sys
import unittest

WAIT_SECONDS = 5  # below the server's own time limits: an early refusal must not need one
NEXT = b"GET /health/live HTTP/1.1\r\nHost: weir\r\n\r\n"
CLOSES, STAYS, EITHER = "closes", "stays", "either"

Row = collections.namedtuple("Row", "name sent status after")
ROWS = []


def row(name, sent, status, after):
    """sent: str (Latin-1) or bytes; status: one code or several."""
    sent = sent.encode("latin-1") if isinstance(sent, str) else sent
    ROWS.append(Row(name, sent, (status,) if isinstance(status, int) else status, after))


def head(*fields, line="GET /health/live HTTP/1.1", host="Host: weir\r\n"):
    return line + "\r\n" + host + "".join(field + "\r\n" for field in fields) + "\r\n"


def good(name, sent, after=STAYS, status=200):
    row(name, sent, status, after)


def bad(name, sent, status=400):
    row(name, (sent.encode("latin-1") if isinstance(sent, str) else sent) + NEXT, status, CLOSES)


def chunked(body, line="POST /predict HTTP/1.1"):
    return head("Transfer-Encoding: chunked", "Content-Type: application/json", line=line) + body


# Good messages, so that strictness costs nobody who writes HTTP.
good("a plain request", head())
good("an empty line in front of the request", "\r\n" + head())
good("white space around values", head("X-A: \t b \t ", "X-B:c", "X-C:"))
good("bytes above ASCII in a value", head("X-A: caf\xe9"))
good("a target in absolute form", head(line="GET http://weir:80/health/live HTTP/1.1"))
good("HTTP/1.0 without Host stays open on request",
     head("Connection: keep-alive", line="GET /health/live HTTP/1.0", host=""))
row("HTTP/1.0 closes by itself", head(line="GET /health/live HTTP/1.0", host=""), 200, CLOSES)
row("HTTP/1.1 closes on request", head("Connection: close"), 200, CLOSES)
good("Host with a port", head(host="Host: weir.example:8000\r\n"))
good("Host with an IPv6 address", head(host="Host: [::1]:8000\r\n"))
good("Content-Length with a leading zero", head("Content-Length: 025") + "x" * 25, EITHER)
good("Content-Length with spaces behind", head("Content-Length: 3   ") + "abc", EITHER)
good("Content-Length: 0", head("Content-Length: 0"))
good("a chunked body", chunked("5\r\nabcde\r\n0\r\n\r\n", "GET /health/live HTTP/1.1"), EITHER)
good("Transfer-Encoding in capitals", head("TRANSFER-ENCODING: CHUNKED") + "0\r\n\r\n", EITHER)
good("chunk extensions", chunked('5;a=b\r\nabcde\r\n0;x="y z"\r\n\r\n', "GET /health/live HTTP/1.1"), EITHER)
good("chunk size in capitals and with zeros", chunked("00A\r\nabcdefghij\r\n0\r\n\r\n", "GET /health/live HTTP/1.1"),
     EITHER)
good("trailers are ignored", chunked("0\r\nX-Sum: 1\r\nConnection: close\r\n\r\n", "GET /health/live HTTP/1.1"), EITHER)
good("Upgrade is ignored", head("Connection: Upgrade", "Upgrade: websocket"))
good("HTTP/2 upgrade is ignored", head("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"))
good("64 fields", head(*["X-%d: 1" % n for n in range(63)]))
good("Expect on HTTP/1.0 is ignored", head("Expect: 200-ok", "Connection: keep-alive", line="GET /health/live HTTP/1.0"))
good("OPTIONS *", head(line="OPTIONS * HTTP/1.1"), STAYS, (200, 204))
good("a known method that is not served", head("Content-Length: 0", line="PROPFIND /predict HTTP/1.1"), EITHER, 405)
good("CONNECT", head(line="CONNECT weir:443 HTTP/1.1", host="Host: weir:443\r\n"), EITHER, (405, 501))

# Line ends and control characters (CVE-2023-30589, CVE-2025-23167).
bad("a CR that hides a coding", head("X-Abc:\rxTransfer-Encoding: chunked"))
bad("a bare CR in a value", head("X-A: b\rc"))
bad("a bare CR in a name", head("X-\rA: b"))
bad("CR CR LF", head("X-A: b\r"))
bad("an empty line that ends in another byte", head()[:-1] + "X")
bad("a bare LF after a value", "GET /health/live HTTP/1.1\r\nHost: weir\nX-A: b\r\n\r\n")
bad("a bare LF after the request line", "GET /health/live HTTP/1.1\nHost: weir\r\n\r\n")
bad("bare LFs only", "GET /health/live HTTP/1.1\nHost: weir\n\n")
bad("a NUL in a value", head("X-A: b\0c"))
bad("a NUL in a name", head("X-\0A: b"))
bad("a NUL in the request line", head(line="GET /health/\0live HTTP/1.1"))
bad("a control character in a value", head("X-A: b\x01c"))
bad("DEL in a value", head("X-A: b\x7fc"))
bad("two empty lines in front", "\r\n\r\n" + head())
bad("a bare LF in front", "\n" + head())

# Field syntax.
bad("a folded value", head("X-A: b", " c"))
bad("a length folded into Host (CVE-2024-27982)", "GET /health/live HTTP/1.1\r\nHost: weir\r\n Content-Length: 3\r\n\r\n")
bad("a value folded with a tab", head("X-A: b", "\tc"))
bad("a space before the first field", "GET /health/live HTTP/1.1\r\n Host: weir\r\n\r\n")
bad("a space before a colon", head("X-A : b"))
bad("a tab before a colon", head("Content-Length\t: 0"))
bad("an empty field name", head(": x"))
bad("a field without a colon", head("X-A"))
bad("a name that is no token", head("X(A): b"))
bad("a name above ASCII", head("X-\xe9: b"))

# Lengths.
for form in ("", "+25", "-1", "25, 25", "25,25", "0x19", "2 5", "25;", "1e1", "25\t", "18446744073709551616",
             "9223372036854775808", "99999999999999999999999"):
    bad("Content-Length: " + repr(form), head("Content-Length: " + form) + "x" * 25)
bad("two equal lengths", head("Content-Length: 25", "Content-Length: 25") + "x" * 25)
bad("two different lengths", head("Content-Length: 25", "Content-Length: 26") + "x" * 25)
bad("an empty length before a good one (CVE-2023-40225)", head("Content-Length:", "Content-Length: 25") + "x" * 25)
bad("a length before a coding", head("Content-Length: 4", "Transfer-Encoding: chunked") + "0\r\n\r\n")
bad("a coding before a length", head("Transfer-Encoding: chunked", "Content-Length: 4") + "0\r\n\r\n")
row("a length over the body limit", head("Content-Length: 999999999999", line="POST /predict HTTP/1.1"), 413, CLOSES)
row("a length over the body limit gets no 100",
    head("Content-Length: 999999999999", "Expect: 100-continue", line="POST /predict HTTP/1.1"), 413, CLOSES)

# Codings.
bad("an empty coding", head("Transfer-Encoding:"))
bad("an empty coding and a length", head("Transfer-Encoding:", "Content-Length: 25") + "x" * 25)
bad("the coding twice", head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n")
bad("a coding on HTTP/1.0", head("Transfer-Encoding: chunked", line="GET /health/live HTTP/1.0") + "0\r\n\r\n")
for form in ("gzip, chunked", "chunked, chunked", "chunked, gzip", "identity", "xchunked", '"chunked"', "chunked;a=b",
             ",chunked", "chunked,", "chunked\t"):
    bad("Transfer-Encoding: " + repr(form), head("Transfer-Encoding: " + form) + "0\r\n\r\n", 501)

# Host.
bad("no Host", head(host=""))
bad("two Hosts", head("Host: weir"))
bad("two different Hosts", head("Host: other"))
bad("two Hosts on HTTP/1.0", head("Host: weir", line="GET /health/live HTTP/1.0"))
for form in ("", "a b", "a/b", "a@b", "a,b", "a:b", "a:123456", "[::1", "::1", "a\\b", "%zz", "caf\xe9"):
    bad("Host: " + repr(form), head(host="Host: " + form + "\r\n"))

# Request lines.
bad("two spaces before the target", head(line="GET  /health/live HTTP/1.1"))
bad("two spaces before the version", head(line="GET /health/live  HTTP/1.1"))
bad("a space behind the version", head(line="GET /health/live HTTP/1.1 "))
bad("a space in front of the method", head(line=" GET /health/live HTTP/1.1"))
bad("a tab for a space", head(line="GET\t/health/live HTTP/1.1"))
bad("no version", head(line="GET /health/live"))
bad("no target", head(line="GET HTTP/1.1"))
bad("a method alone", head(line="GET"))
bad("a space in the target", head(line="GET /health/li ve HTTP/1.1"))
bad("a raw UTF-8 byte in the target", head(line="GET /health/\xc3\xa9 HTTP/1.1"))
bad("DEL in the target", head(line="GET /health/\x7f HTTP/1.1"))
bad("a fragment in the target", head(line="GET /health/live#x HTTP/1.1"))
bad("a target that is no path", head(line="GET health/live HTTP/1.1"))
bad("an asterisk for a path", head(line="GET * HTTP/1.1"))
bad("an address of another scheme", head(line="GET ftp://weir/health/live HTTP/1.1"))
bad("an address without a host", head(line="GET http:///health/live HTTP/1.1"))
bad("an address with a user", head(line="GET http://user@weir/health/live HTTP/1.1"))
bad("CONNECT to a path", head(line="CONNECT /health/live HTTP/1.1"))
bad("CONNECT with a body", head("Content-Length: 3", line="CONNECT weir:443 HTTP/1.1") + "abc")
bad("HTTP/2.0", head(line="GET /health/live HTTP/2.0"), 505)
bad("HTTP/0.9", head(line="GET /health/live HTTP/0.9"), 505)
bad("HTTP/1.2", head(line="GET /health/live HTTP/1.2"), 505)
bad("a version of two digits", head(line="GET /health/live HTTP/1.10"))
bad("a version in small letters", head(line="GET /health/live http/1.1"))
bad("a version without a minor part", head(line="GET /health/live HTTP/1"))
bad("the HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505))
bad("RTSP", head(line="DESCRIBE rtsp://weir/a RTSP/1.0"))
bad("OPTIONS of RTSP", head(line="OPTIONS * RTSP/1.0"))
bad("ICE", head(line="SOURCE /a ICE/1.0"))
bad("a method nobody knows", head(line="BREW /health/live HTTP/1.1"), 501)
bad("a method in small letters", head(line="get /health/live HTTP/1.1"), 501)
bad("a method of RTSP", head(line="DESCRIBE /health/live HTTP/1.1"), 501)
bad("a method that never ends", "A" * 4096, 501)
bad("a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(64)))
bad("a byte that begins no method", b"\xff\xfe")
bad("another expectation", head("Expect: 200-ok"), 417)
bad("an empty expectation", head("Expect:"), 417)

# Limits; the last ones never send an end.
bad("65 fields", head(*["X-%d: 1" % n for n in range(64)]), 431)
bad("a head of 17 KiB", head("X-A: " + "a" * 17000), 431)
row("a head that never ends", head()[:-2] + "X-A: " + "a" * 20000, 431, CLOSES)
row("fields that never end", head()[:-2] + "a:b\r\n" * 4000, 431, CLOSES)
bad("a target of 9 KiB", head(line="GET /%s HTTP/1.1" % ("a" * 9000)), 414)
row("a target that never ends", "GET /" + "a" * 9000, 414, CLOSES)
row("a NUL in a head that never ends", "GET /health/live HTTP/1.1\r\nHost: we\0ir", 400, CLOSES)

# Chunks. Their data is blank, which no body format refuses before the framing does.
for name, body in (
        ("an empty chunk size", "\r\n\r\n"),
        ("a signed chunk size", "+3\r\n   \r\n0\r\n\r\n"),
        ("a negative chunk size", "-1\r\n   \r\n0\r\n\r\n"),
        ("a chunk size with 0x", "0x3\r\n   \r\n0\r\n\r\n"),
        ("a space before a chunk size", " 3\r\n   \r\n0\r\n\r\n"),
        ("a space after a chunk size", "3 \r\n   \r\n0\r\n\r\n"),
        ("a chunk size that wraps 64 bits", "10000000000000000\r\n\r\n"),
        ("a chunk size of 64 bits", "8000000000000000\r\n   \r\n0\r\n\r\n"),
        ("a chunk size of 17 digits", "00000000000000003\r\n   \r\n0\r\n\r\n"),
        ("a chunk size that is no number", "3g\r\n   \r\n0\r\n\r\n"),
        ("a chunk size with a bare LF", "3\n   \r\n0\r\n\r\n"),
        ("a chunk size with a bare CR", "3\r   \r\n0\r\n\r\n"),
        ("chunk data longer than its size", "2\r\n  XX0\r\n\r\n"),
        ("chunk data ended by LF", "3\r\n   \n0\r\n\r\n"),
        ("chunk data ended by CR", "3\r\n   \r0\r\n\r\n"),
        ("a CR in a chunk extension", "3;a\rb\r\n   \r\n0\r\n\r\n"),
        ("a LF in a chunk extension", "3;a\n   \r\n0\r\n\r\n"),
        ("a NUL in a chunk extension", "3;a=\0\r\n   \r\n0\r\n\r\n"),
        ("300 bytes of chunk extension", "3;" + "a" * 300 + "\r\n   \r\n0\r\n\r\n"),
        ("a folded trailer", "0\r\nX-A: b\r\n c\r\n\r\n"),
        ("a trailer without a name", "0\r\n: b\r\n\r\n"),
        ("a trailer with a NUL", "0\r\nX-A: \0\r\n\r\n"),
        ("a trailer with a bare LF", "0\r\nX-A: b\n\r\n"),
        ("a coding in a trailer", "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("a length in a trailer", "0\r\nContent-Length: 5\r\n\r\n"),
        ("last line ended by LF", "0\r\n\n")):
    bad(name, chunked(body))
bad("5 KiB of trailers", chunked("0\r\n" + "X-A: aaaaaaaaaa\r\n" * 320 + "\r\n"), 431)
row("a chunk over the body limit", chunked("7fffffffffffffff\r\nabc"), 413, CLOSES)


class Reader:
    """Answers off one connection."""

    def __init__(self, connection):
        self.connection, self.held, self.ended = connection, b"", False

    def fill(self):
        try:
            piece = self.connection.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.held += piece
        self.ended = not piece
        return not self.ended

    def answer(self):
        """(status, fields, body) of the next final answer; None at the end of the stream."""
        while True:
            while b"\r\n\r\n" not in self.held:
                if not self.fill():
                    assert not self.held, "cut off answer: %r" % self.held[:200]
                    return None
            raw, self.held = self.held.split(b"\r\n\r\n", 1)
            lines = raw.decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ")[1])
            fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
            if status >= 200:
                break
        size = int(fields.get("content-length", 0))
        while len(self.held) < size:
            assert self.fill(), "body cut off"
        body, self.held = self.held[:size], self.held[size:]
        return status, fields, body


def send(connection, data, one_by_one):
    try:
        if not one_by_one:
            connection.sendall(data)
        else:
            for n in range(len(data)):
                connection.sendall(data[n:n + 1])
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before the end: what counts is what it answered


class FramingTable(unittest.TestCase):
    host = os.environ.get("WEIR_HOST", "127.0.0.1")
    port = int(os.environ.get("WEIR_PORT", "0"))

    def setUp(self):
        if not self.port:
            self.skipTest("SKIPPED: no server; set WEIR_HOST and WEIR_PORT")

    def check(self, entry, one_by_one):
        with socket.create_connection((self.host, self.port), timeout=WAIT_SECONDS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = Reader(connection)
            send(connection, entry.sent, one_by_one)
            answer = reader.answer()
            self.assertIsNotNone(answer, "closed without an answer")
            status, fields, body = answer
            self.assertIn(status, entry.status, body[:200])
            closes = entry.after == CLOSES or (entry.after == EITHER and fields.get("connection", "").lower() == "close")
            if entry.after == CLOSES:
                self.assertEqual(fields.get("connection", "close" if entry.status == (200,) else "").lower(), "close")
            if status >= 400:
                self.assertTrue(json.loads(body)["error"], "the error has no text")
            if not closes:
                self.assertNotEqual(fields.get("connection", "").lower(), "close")
                send(connection, NEXT, False)
                following = reader.answer()
                self.assertIsNotNone(following, "the connection was closed")
                self.assertEqual(following[0], 200)
            else:
                self.assertIsNone(reader.answer(), "a second answer")


def add(number, entry):
    def in_one_write(self):
        self.check(entry, False)

    def byte_by_byte(self):
        self.check(entry, True)

    for test in (in_one_write, byte_by_byte):
        test.__doc__ = "%s, %s" % (entry.name, test.__name__.replace("_", " "))
        setattr(FramingTable, "test_%03d_%s" % (number, test.__name__), test)


assert len(ROWS) == len({entry.name for entry in ROWS}) >= 60
for index, described in enumerate(ROWS):
    add(index, described)

if __name__ == "__main__":
    arguments = sys.argv[1:]
    if len(arguments) >= 2 and not arguments[0].startswith("-"):
        FramingTable.host, FramingTable.port = arguments[0], int(arguments[1])
        arguments = arguments[2:]
    unittest.main(argv=[sys.argv[0]] + arguments)
