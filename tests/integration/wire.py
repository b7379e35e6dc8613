"""Requests as bytes, and the server that the HTTP tests share."""

import reference
from harness import ServerCase

BODY = b'{"instances":[[1,2,3,4]]}'
ANSWER = [[5, 6, 8.5]]
MIB = 1024 * 1024


def post(body=BODY, headers=(), path="/predict", version="1.1", content_type="application/json"):
    """A request as bytes, with a Host that is always right."""
    lines = ["POST %s HTTP/%s" % (path, version), "Host: test"]
    if content_type:
        lines.append("Content-Type: " + content_type)
    lines += list(headers)
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append("Content-Length: %d" % len(body))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def get(path="/health/live", headers=(), version="1.1", method="GET"):
    return ("\r\n".join(["%s %s HTTP/%s" % (method, path, version), "Host: test", *headers]) + "\r\n\r\n").encode(
        "latin-1"
    )


class HttpCase(ServerCase):
    OPTIONS = {"max_body_bytes": MIB, "batch_size": 8}

    @classmethod
    def model(cls):
        return reference.demo()
