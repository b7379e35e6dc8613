"""The rows of tests/conformance/framing_table.py, against a server of our own."""

import sys

import reference
from harness import ROOT, Server

sys.path.insert(0, str(ROOT / "tests" / "conformance"))
import framing_table  # noqa: E402


class Framing(framing_table.FramingTable):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(reference.demo())
        cls.host, cls.port = cls.server.host, cls.server.port

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.stop()
        finally:
            cls.server.kill()
