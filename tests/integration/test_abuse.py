"""Clients that misbehave, with an exact book of every request: loadtest/abuse.c."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from harness import Server, eventually
from test_load_tool import FOLDER, write_passing_model

ALONE = True


@unittest.skipUnless((FOLDER / "abuse").exists(), "the misbehaving clients are not built (target bench_programs)")
class Abuse(unittest.TestCase):
    """Clients that leave, dribble and send nonsense: every request is in exactly one of the server's counts."""

    def play(self, server, folder, *options):
        (folder / "row.json").write_text('{"instances":[[########,1,2,3]]}', encoding="ascii")
        (folder / "big.json").write_text('{"instances":[%s]}' % ",".join(["[1,2,3,4.5]"] * 3000), encoding="ascii")
        done = subprocess.run(
            [str(FOLDER / "abuse"), "127.0.0.1:%d" % server.port, "--body", folder / "row.json", "--big",
             folder / "big.json", *map(str, options)],
            capture_output=True, timeout=120, encoding="utf-8", check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def test_the_books_of_clients_and_server_agree(self):
        for settings in ({}, {"max_concurrency": 2}):
            with self.subTest(settings), tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                write_passing_model(folder / "model.onnx")
                with Server(folder / "model.onnx", **settings) as server:
                    run = self.play(server, folder, "--requests", 3000, "--connections", 32)
                    eventually(
                        lambda: server.metrics().total("weir_requests_total", route="/predict") == run["heads"],
                        what="as many counts as requests (%d)" % run["heads"],
                    )
                    page = server.metrics()
                    heard = sum(run["codes"].values())
                    self.assertEqual(run["heads"] - heard, run["abandoned"])
                    for code, count in run["codes"].items():
                        self.assertGreaterEqual(
                            page.total("weir_requests_total", route="/predict", code=code), count, code
                        )
                    self.assertEqual(
                        page.total("weir_requests_total", route="other", code=499), run["scripts"]["left_in_head"]
                    )
                    self.assertGreater(run["numbers"]["right"], 0)
                    self.assertEqual(run["numbers"]["wrong"], 0)


if __name__ == "__main__":
    unittest.main()
