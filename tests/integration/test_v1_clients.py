"""The clients of the V1 protocols that people install by package: kserve's and OpenVINO's. They take long to install, so
only WEIR_TEST_ALL=1 runs them."""

import os
import pathlib
import subprocess
import unittest

import reference
from clients import environment
from harness import ServerCase

CALLS = pathlib.Path(__file__).resolve().parent / "clients" / "v1_calls.py"


@unittest.skipUnless(os.environ.get("WEIR_TEST_ALL"), "installs packages: WEIR_TEST_ALL=1 runs it")
class Packages(ServerCase):
    @classmethod
    def model(cls):
        return reference.demo()

    def test_kserve_and_ovmsclient(self):
        address = "%s:%d" % (self.server.host, self.server.port)
        done = subprocess.run(
            [environment.python("v1"), str(CALLS), address], capture_output=True, text=True, timeout=300, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("ok "), 14, done.stdout)


if __name__ == "__main__":
    unittest.main()
