"""Versions that come, fail and are tried on a part of the traffic, on a simulated GPU (tests/double)."""

import os
import pathlib
import shutil
import tempfile
import threading
import unittest

from harness import Client, Server, eventually
from test_cuda_cases import DIGITS, GPU, MODULE, rows

ROW = rows(1)


@unittest.skipUnless(MODULE.exists(), "built without the CUDA double")
class Reload(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-reload-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.add(1)

    def add(self, number):
        shutil.copytree(DIGITS / "v1", os.path.join(self.folder, "digits", "v%d" % number))

    def server(self, plan="", **options):
        env = {"CUDA_DOUBLE": "when=%s/now %s" % (self.folder, plan)} if plan else None
        patient = {"queue_delay_target_ms": 20000, "timeout_ms": 20000}  # a busy machine refuses nobody
        return Server(os.path.join(self.folder, "digits"), env=env, **{"scan_ms": 50, **patient, **GPU, **options})

    def go_wrong(self):
        pathlib.Path(self.folder, "now").touch()

    @staticmethod
    def version(answer):
        return int(answer.headers["x-weir-version"])

    def under_load(self, server, act):
        """Eight clients ask while act runs. Returns the versions that each got, in order; every answer is 200."""
        over, seen, wrong = threading.Event(), [[] for _ in range(8)], []

        def ask(versions):
            with server.client(seconds=30) as client:
                while not over.is_set():
                    answer = client.predict(ROW)
                    if answer.status != 200:
                        wrong.append(answer)
                        return
                    versions.append(self.version(answer))

        threads = [threading.Thread(target=ask, args=(versions,)) for versions in seen]
        for thread in threads:
            thread.start()
        try:
            act(seen)
        except AssertionError as error:
            raise AssertionError("%s; wrong answers: %s" % (error, wrong)) from None
        finally:
            over.set()
            for thread in threads:
                thread.join(30)
        self.assertEqual(wrong, [])
        return seen

    def test_a_new_version_takes_over_under_load_and_nobody_notices(self):
        with self.server() as server:
            def act(seen):
                eventually(lambda: all(seen), what="answers of version 1")
                self.add(2)
                eventually(lambda: all(versions[-1] == 2 for versions in seen), 30, "version 2 for everybody")

            for versions in self.under_load(server, act):
                self.assertEqual(versions, sorted(versions))
                self.assertEqual(set(versions), {1, 2})
            self.assertRegex(server.events("model_on_device")[-1], r"version=2 device=0 report=\"weights")

    def test_a_version_for_which_there_is_no_memory_is_refused_and_the_old_one_serves(self):
        with self.server("fail_call=cudaMalloc:1:2") as server:
            def act(seen):
                eventually(lambda: all(seen), what="answers of version 1")
                self.go_wrong()
                self.add(2)
                lines = eventually(lambda: server.events("model_load_failed"), 30, "the refusal")
                self.assertRegex(lines[0], "weights 0.1 MiB .*taking the device's memory: cudaErrorMemoryAllocation")

            for versions in self.under_load(server, act):
                self.assertEqual(set(versions), {1})
            self.assertEqual(server.request("GET", "/health/ready").status, 200)

    def test_a_canary_gets_its_share(self):
        with self.server(new_versions="hold", admin_listen="127.0.0.1:0") as server:
            self.add(2)
            eventually(lambda: [line for line in server.events("model_loaded") if "version=2" in line], 30, "version 2")
            admin = self.admin(server)
            self.addCleanup(admin.close)

            def act(seen):
                answer = admin.request("POST", "/admin/models/digits/rollout",
                                       {"version": 2, "kind": "canary", "steps": "50% for 10m"})
                self.assertIn(answer.status, (200, 202), answer.body)
                eventually(lambda: all(2 in versions and 1 in versions[-50:] for versions in seen), 30, "both versions")

            self.under_load(server, act)

    @staticmethod
    def admin(server):
        line = next(line for line in server.events("listening") if "listener=admin" in line)
        host, port = line.split("address=")[1].split()[0].strip('"').rsplit(":", 1)
        return Client(host, int(port))

    def test_a_device_that_is_lost_while_a_version_loads_ends_the_process(self):
        with self.server("fail_operation=product:1:700") as server:
            server.expected_exit = 75
            self.go_wrong()
            self.add(2)
            self.assertEqual(server.wait_exit(20), 75)
            self.assertEqual(len(server.events("device_lost")), 1)
