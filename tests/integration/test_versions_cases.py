"""Files of versions: what comes, changes and goes under a running server, and what the operators' interface says."""

import errno
import os
import pathlib
import re
import resource
import shutil
import signal
import tempfile
import time
import unittest

import onnx_writer as onnx
import reference
import versions
from harness import Client, Server, eventually, run_weir
from versions import AdminServer, Models, Traffic

FAST = {"new_versions": "serve", "scan_ms": 50}


def flips(answers):
    """The versions in the order in which they answered one connection, each once."""
    order = []
    for answer in answers:
        if not order or order[-1] != answer[0]:
            order.append(answer[0])
    return order


class Files(unittest.TestCase):
    def swap(self, change, *expected, serve=None, first=None):
        """What a change of the files brings under load: no failure, and these versions one after the other."""
        with Models(first) as models, models.serve(**{**FAST, **(serve or {})}) as server:
            with Traffic(server, connections=1) as traffic:
                traffic.wait(20)
                change(models, server)
                eventually(lambda: traffic.answers[-1][0] == expected[-1], 30, "version %d" % expected[-1])
                traffic.wait(50)
            self.assertEqual(traffic.not_ok(), [])
            self.assertEqual(flips(traffic.answers), list(expected))
            return server.log()

    def test_a_new_version_takes_over_under_load(self):
        self.swap(lambda models, server: models.publish(2), 1, 2)

    def test_a_version_that_is_copied_slice_by_slice_serves_when_it_is_whole(self):
        data = reference.demo_bytes(2) + onnx.bytes_field(6, b"doc" * 100000)

        def copy(models, server):
            os.mkdir(models.at(2))
            with open(models.at(2) + "/model.onnx", "wb") as file:
                for i in range(10):
                    file.write(data[i * len(data) // 10 : (i + 1) * len(data) // 10])
                    file.flush()
                    self.request_scan(server)
                    time.sleep(0.05)  # the copying takes its time

        log = self.swap(copy, 1, 2, serve={"scan_ms": 200})
        self.assertEqual(log.count(" model_load_failed "), 0, log)

    def request_scan(self, server):
        with Client("127.0.0.1", server.admin_port) as client:
            self.assertEqual(client.request("POST", "/admin/scan").status, 200)

    def test_ten_comes_after_nine_and_odd_names_are_told_once(self):
        odd = ("x11", "model", ".tmp-12", "-1", "1.5", "99999999999999999999", "12abc", "00000010", "v10")

        def told(server, name):
            return sum('remark="%s: ' % name in line for line in server.events("entry_ignored"))

        def publish(models, server):
            for number in (10, 2, 9):
                models.publish(number)
            for name in odd:
                reference.write(models.at(name) + "/model.onnx", reference.demo_bytes(77))
            eventually(lambda: all(told(server, name) for name in odd), 30, "the odd names in the log")
            for _ in range(5):
                self.request_scan(server)
                server.view()

        with Models() as models, models.serve(**FAST) as server, Traffic(server, connections=1) as traffic:
            publish(models, server)
            eventually(lambda: traffic.answers[-1][0] == 10, 30, "version 10")
            self.assertEqual({name: told(server, name) for name in odd}, {name: 1 for name in odd})
        self.assertEqual(traffic.not_ok(), [])
        self.assertEqual({answer[0] for answer in traffic.answers} - {1, 2, 9, 10}, set())
        self.assertEqual(traffic.wrong(10), [])

    def test_the_data_link_of_a_config_map_may_be_swapped(self):
        with Models() as models:
            volume = pathlib.Path(models.folder) / "volume"

            def generation(name, version):
                reference.write(str(volume / name / "model.onnx"), reference.demo_bytes(version))
                os.utime(volume / name / "model.onnx", (1e9, 1e9))
                os.symlink(name, volume / "..tmp")
                os.rename(volume / "..tmp", volume / "..data")

            generation("..1", 21)
            os.symlink("..data/model.onnx", volume / "model.onnx")
            with models.serve(**FAST) as server:
                os.symlink(volume, models.at(21))
                server.until(21, "serving")
                rows = [(0, 0, 0, 0)]
                with Traffic(server, connections=1, rows=rows) as traffic:
                    traffic.wait(10)
                    generation("..2", 22)
                    shutil.rmtree(volume / "..1")
                    eventually(lambda: b"22.5" in traffic.answers[-1][4], 30, "the new generation")
                    traffic.wait(20)
                self.assertEqual(traffic.not_ok(), [])
                bodies = [body for _, _, _, _, body in traffic.answers]
                self.assertEqual(sum(a != b for a, b in zip(bodies, bodies[1:])), 1)
                loads = server.view()["loads"]
                for _ in range(3):
                    self.request_scan(server)
                self.assertEqual(server.view()["loads"], loads)

    def test_the_files_of_the_version_that_serves_may_be_deleted(self):
        with Models() as models, models.serve(**FAST) as server, Traffic(server) as traffic:
            shutil.rmtree(models.path)
            eventually(lambda: server.view()["problem"] or not server.version(1)["on_disk"], 30, "the loss to be seen")
            traffic.wait(200)
            self.assertEqual(server.request("GET", "/health/ready").status, 200)
            self.assertEqual(server.version(1)["state"], "serving")
            models.publish(2)
            server.until(2, "serving")
            traffic.wait(50)
        self.assertEqual(traffic.not_ok(), [])
        self.assertEqual(traffic.wrong(1) + traffic.wrong(2), [])

    def test_a_live_file_may_be_overwritten_in_place(self):
        """Truncated and written again, many times: whole models answer, old or new."""
        with Models() as models, models.serve(**FAST) as server, Traffic(server, rows=[(0, 0, 0, 0)]) as traffic:
            for turn in range(30):
                with open(models.at(1) + "/model.onnx", "wb") as file:
                    data = reference.demo_bytes(turn % 2 + 1)
                    file.write(data[: len(data) // 2])
                    file.flush()
                    time.sleep(0.01)  # half of it is there
                    file.write(data[len(data) // 2 :])
            with open(models.at(1) + "/model.onnx", "wb") as file:
                file.write(reference.demo_bytes(3))
            eventually(lambda: b"3.5" in traffic.answers[-1][4], 30, "the last content")
        self.assertEqual(traffic.not_ok(), [])
        thirds = {body[body.index(b"[[") :] for _, _, _, _, body in traffic.answers}
        self.assertLessEqual(thirds, {b'[[0,0,%d.5]]}\n' % n for n in (1, 2, 3)} | {b"[[0,0,%d.5]]}" % n for n in (1, 2, 3)})

    def test_each_change_of_what_serves_has_its_audit_line(self):
        with Models() as models, models.serve(**FAST) as server:
            self.assertEqual(server.events("audit"), [])
            models.publish(2)
            server.until(2, "serving")
            lines = eventually(lambda: server.audit("takeover"))
            for word in ("actor=scan", "model=demo", "version=2", 'outcome="ok"', "from version 1"):
                self.assertIn(word, lines[0])
            shutil.rmtree(models.at(2))
            models.publish(2)
            self.assertIn("version=2", eventually(lambda: server.audit("reload"))[0])
            self.assertEqual(len(server.events("audit")), 2)

    def test_a_model_file_in_a_version_directory_is_proven_like_the_directory(self):
        with Models() as models:
            models.publish(3, samples="wrong")
            models.publish(4, samples="right", sealed=True)
            for path in (models.at(3), models.at(3) + "/model.onnx"):
                with Server(path, wait=None) as server:
                    server.expected_exit = server.wait_exit(10)
                    self.assertEqual(server.expected_exit, 3, path)
                    self.assertIn("sample", server.log())
            with Server(models.at(4) + "/model.onnx") as server:
                self.assertEqual(server.predict([[0, 0, 0, 0]]).headers["x-weir-version"], "4")
            for name, words in (("more", "more is not in manifest.sha256"), ("samples/output.y.npy", "incomplete: samples/output.y.npy has 0 of 188 bytes")):
                file = pathlib.Path(models.at(4), name)
                before = file.read_bytes() if file.exists() else None
                file.write_bytes(b"")
                with Server(models.at(4) + "/model.onnx", wait=None) as server:
                    server.expected_exit = server.wait_exit(10)
                    self.assertEqual(server.expected_exit, 3, name)
                    self.assertIn(words, server.log())
                if before is None:
                    file.unlink()
                else:
                    file.write_bytes(before)
            for name in ("model.onnx", "4/other.onnx"):  # a file elsewhere, or of another name, is served by itself
                lone = os.path.join(models.folder, "lone", name)
                reference.write(lone, reference.demo_bytes(3))
                versions.write_samples(os.path.dirname(lone), 3, True)
                with Server(lone) as server:
                    self.assertEqual(server.predict([[0, 0, 0, 0]]).predictions, [[0, 0, 3.5]])

    def test_a_newer_broken_file_leaves_the_older_content_serving(self):
        def overwrite(models, server):
            with open(models.at(1) + "/model.onnx", "wb") as file:
                file.write(b"nothing that is a model")
            eventually(lambda: server.version(1)["reason"], 30, "a reason")
            models.publish(2)

        self.swap(overwrite, 1, 2)

    def test_model_directories_may_be_read_only(self):
        with Models() as models:
            models.publish(2, samples="right", sealed=True)
            for folder, _, files in os.walk(models.path):
                for name in files:
                    os.chmod(os.path.join(folder, name), 0o444)
                os.chmod(folder, 0o555)
            try:
                with models.serve(**FAST) as server:
                    self.assertEqual(server.predict([[0, 0, 0, 0]]).predictions, [[0, 0, 2.5]])
                    server.order("versions/1/promote")
                    self.assertEqual(server.predict([[0, 0, 0, 0]]).predictions, [[0, 0, 1.5]])
            finally:
                for folder, _, _ in os.walk(models.path):
                    os.chmod(folder, 0o755)

    def test_a_thousand_versions_are_looked_at_and_one_is_loaded(self):
        with Models() as models:
            data = reference.demo_bytes(5)
            for number in range(2, 1001):
                reference.write(models.at(number) + "/model.onnx", data if number < 1000 else reference.demo_bytes(1000))
            with models.serve(**{**FAST, "scan_ms": 1000}) as server:
                server.until(1000, "serving")
                view = server.view()
                self.assertEqual((view["stable"], len(view["versions"])), (1000, 1000))
                self.assertLessEqual(view["loads"], 2)  # an older one that is at rest sooner may come first
                before, began = server.cpu_seconds(), time.monotonic()
                for _ in range(10):
                    self.request_scan(server)
                    server.view()
                self.assertLess(server.cpu_seconds() - before, 3.0 + (time.monotonic() - began) / 10)
                models.publish(1001)
                self.request_scan(server)
                server.until(1001, "serving")
                self.assertEqual(server.predict([[0, 0, 0, 0]]).predictions, [[0, 0, 1001.5]])

    def test_signals_and_requests_make_it_look_at_once(self):
        with Models() as models, models.serve(new_versions="serve", scan_ms=600000) as server:
            models.publish(2, samples="right", sealed=True)  # sealed: it need not come to rest
            server.send_signal(signal.SIGHUP)
            server.until(2, "serving")
            models.publish(3, samples="right", sealed=True)
            self.request_scan(server)
            server.until(3, "serving")

    def test_a_version_that_cannot_be_loaded_is_not_a_storm(self):
        with Models() as models, models.serve(**FAST) as server:
            models.publish(2, b"nothing that is a model")
            server.until(2, "failed")
            for _ in range(10):
                self.request_scan(server)
                server.view()
            self.assertEqual(server.view()["load_failures"], 1)
            self.assertEqual(len(server.events("model_load_failed")), 1)
            shutil.rmtree(models.at(2))
            models.publish(2)
            server.until(2, "serving")

    def test_sigterm_while_a_version_is_loaded_ends_in_time(self):
        with Models() as models:
            models.publish(1000, versions.deep(1, 1000, 2048))
            big = versions.deep(24, 2, 1536)
            with AdminServer(models.path, **FAST) as server:
                models.publish(1001, big)
                eventually(lambda: server.version(1001).get("state") == "loading", 30, "the load to begin")
                server.send_signal(signal.SIGTERM)
                self.assertEqual(server.wait_exit(10), 0)


class Several(unittest.TestCase):
    CONFIG = "models:\n  one: %(folder)s/one\n  two:\n    path: %(folder)s/two\n    version_policy: all\n"

    def test_models_have_their_paths_and_the_first_is_the_default(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(folder + "/one/1/model.onnx", reference.demo_bytes(1))
            for number in (5, 6):
                reference.write("%s/two/%d/model.onnx" % (folder, number), reference.demo_bytes(number))
            with AdminServer(config=self.CONFIG % {"folder": folder}) as server:
                for path, model, version in (
                    ("/predict", "one", 1), ("/models/one/predict", "one", 1), ("/models/two/predict", "two", 6),
                ):
                    answer = server.request("POST", path, {"instances": [[0, 0, 0, 0]]})
                    self.assertEqual(answer.predictions, [[0, 0, version + 0.5]])
                    self.assertEqual(answer.headers["x-weir-model"], model)
                    self.assertEqual(answer.headers["x-weir-version"], str(version))
                answer = server.request(
                    "POST", "/models/two/predict", {"instances": [[0, 0, 0, 0]]}, headers=[("X-Weir-Version", "5")]
                )
                self.assertEqual(answer.predictions, [[0, 0, 5.5]])
                for path in ("/models/three/predict", "/models//predict", "/models/one%2f/predict", "/models/one/predict/x"):
                    self.assertEqual(server.request("POST", path, {"instances": [[0, 0, 0, 0]]}).status, 404, path)
                listed = server.admin("GET").json()["models"]
                self.assertEqual([(m["name"], m["default"]) for m in listed], [("one", True), ("two", False)])
                page = server.metrics()
                self.assertEqual(page.total("weir_requests_total", model="two", version=6, code=200), 1)
                self.assertEqual(page.total("weir_requests_total", model="one", version=1, code=200), 2)

    def test_a_rollout_of_one_model_leaves_the_other_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(folder + "/one/1/model.onnx", reference.demo_bytes(1))
            for number in (5, 6):
                reference.write("%s/two/%d/model.onnx" % (folder, number), reference.demo_bytes(number))
            with AdminServer(config=self.CONFIG % {"folder": folder}) as server:
                with Traffic(server) as one, Traffic(server, path="/models/two/predict") as two:
                    server.order("versions/5/promote", model="two")
                    server.roll_out(6, "50% for 1h", model="two", min_agreement=None)
                    two.wait(100)
                    server.order("rollout/rollback", model="two")
                    two.wait(20)
                    one.wait(1)
                self.assertEqual({answer[0] for answer in one.answers}, {1})
                self.assertEqual(one.not_ok() + two.not_ok(), [])
                self.assertEqual({answer[0] for answer in two.answers}, {5, 6})


class State(unittest.TestCase):
    def begin(self, models, **options):
        server = models.serve(**options)
        self.addCleanup(server.kill)
        return server

    def test_a_restart_goes_on_with_what_was_chosen(self):
        with Models() as models:
            models.publish(2)
            models.publish(3)
            with models.serve(new_versions="serve") as server:
                self.assertEqual(server.view()["stable"], 3)
                server.order("versions/1/promote")
                server.roll_out(2, "10% for 1h, 20%", sticky_header="x-user")
                server.order("rollout/pause")
            with models.serve(new_versions="serve") as server:
                self.assertEqual(server.view()["stable"], 1)
                rollout = eventually(lambda: server.view()["rollout"], 30, "the rollout")
                self.assertEqual(
                    (rollout["phase"], rollout["candidate"], rollout["weight_percent"], rollout["sticky_header"]),
                    ("paused", 2, 10, "x-user"),
                )
                server.order("rollout/rollback", {"reason": "too slow"})
            with models.serve(new_versions="serve") as server:
                view = server.view()
                self.assertEqual((view["stable"], view["rollout"]), (1, None))
                self.assertIn("too slow", view["last_rollout"])
                self.assertTrue(server.version(2)["rejected"])
                models.publish(4)
                server.until(4, "serving")  # newer than all that were there when the choice was made

    def test_versions_that_are_gone_leave_their_series_to_others(self):
        with Models() as models:
            for number in range(2, 131):
                models.publish(number)
            with models.serve() as server:
                serving = server.view()["stable"]
                others = [number for number in range(1, 131) if number != serving]
                for number in others:
                    server.order("versions/%d/load" % number)
                    answer = server.predict([[0, 0, 0, 0]], headers=[("X-Weir-Version", str(number))])
                    self.assertEqual(answer.status, 200, answer)
                    server.order("versions/%d/unload" % number)
                page = server.request("GET", "/metrics").body.decode()
        counted = set(re.findall(r'weir_requests_total{model="demo",version="(\w+)",route="/predict"', page))
        self.assertLessEqual(len(counted), 32)
        self.assertLessEqual({str(number) for number in others[-16:]}, counted)
        self.assertNotIn("1", counted)
        self.assertNotIn('version="other"', page)

    def test_a_state_directory_without_room_changes_nothing_and_says_so(self):
        """A limit on the size of files stands for a full disk; it holds for root too."""
        with Models() as models:
            models.publish(2)
            with models.serve() as server:
                server.order("versions/1/promote")
            kept = pathlib.Path(models.state_dir, "rollout.json").read_bytes()
            with models.serve() as server, Traffic(server) as traffic:
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (64, 1 << 40))
                for path, body in (("versions/2/promote", b""), ("rollout", {"version": 2, "steps": "5%"})):
                    answer = server.admin("POST", "/demo/" + path, body)
                    self.assertEqual(answer.status, 500, answer)
                    self.assertIn(os.strerror(errno.EFBIG), answer.error)
                    self.assertEqual((server.view()["stable"], server.view()["rollout"]), (1, None))
                traffic.wait(100)
                self.assertEqual({answer[0] for answer in traffic.answers}, {1})
                self.assertEqual(pathlib.Path(models.state_dir, "rollout.json").read_bytes(), kept)
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))
                server.roll_out(2)  # there is room again
                server.order("rollout/rollback")
                server.order("versions/1/promote")
            self.assertEqual(traffic.not_ok(), [])
            self.assertEqual(sorted(os.listdir(models.state_dir)), ["rollout.json", "rollout.lock"])

    def test_a_rollback_holds_even_if_it_cannot_be_kept(self):
        with Models() as models, models.serve() as server:
            models.publish(2)
            server.until(2, "ready")
            server.roll_out(2, "50% for 1h", min_agreement=None)
            shutil.rmtree(models.state_dir)
            for _ in range(2):
                answer = server.admin("POST", "/demo/rollout/rollback")
                self.assertEqual(answer.status, 500, answer)
                for words in ("rolled back", "could not be kept", "tried again"):
                    self.assertIn(words, answer.error)
            result = run_weir("models", "rollback", "demo", "--admin", "127.0.0.1:%d" % server.admin_port)
            self.assertNotEqual(result.returncode, 0, result)
            self.assertIn("could not be kept", result.stderr)
            for _ in range(20):
                self.assertEqual(server.predict([[0, 0, 0, 0]]).headers["x-weir-version"], "1")
            os.mkdir(models.state_dir)
            eventually(lambda: server.audit("keep"), 30, "the state on the disk")
            server.order("rollout/rollback")

    def test_a_version_that_was_rolled_back_comes_again_when_its_files_change(self):
        for mode, state in (("hold", "ready"), ("serve", "serving")):
            with self.subTest(mode), Models() as models:
                with models.serve() as server:
                    models.publish(2)
                    server.until(2, "ready")
                    server.roll_out(2)
                    server.order("rollout/rollback")
                with models.serve(new_versions=mode, scan_ms=50) as server:
                    self.assertTrue(server.version(2)["rejected"])
                    time.sleep(0.5)
                    self.assertEqual((server.view()["stable"], server.version(2)["state"]), (1, "found"))
                    shutil.rmtree(models.at(2))
                    models.publish(2)  # the same, copied anew
                    time.sleep(0.5)
                    self.assertEqual((server.view()["stable"], server.version(2)["state"]), (1, "found"))
                    self.assertTrue(server.version(2)["rejected"])
                    shutil.rmtree(models.at(2))
                    models.publish(2, samples="wrong")
                    server.until(2, "failed")
                    shutil.rmtree(models.at(2))
                    models.publish(2, samples="right")
                    server.until(2, state)
                    self.assertFalse(server.version(2)["rejected"])
                    self.assertEqual(server.view()["stable"], 1 if mode == "hold" else 2)

    def test_a_broken_state_file_ends_the_start_and_is_named(self):
        with Models() as models:
            for text in ("", "{", "[]", '{"format":1}', "\0" * 100, '{"models": 7}'):
                pathlib.Path(models.state_dir, "rollout.json").write_text(text)
                with Server(models.path, state_dir=models.state_dir, wait=None) as server:
                    code = server.wait_exit(10)
                    server.expected_exit = code
                    self.assertNotEqual(code, 0, text)
                    self.assertIn("rollout.json", server.log())
