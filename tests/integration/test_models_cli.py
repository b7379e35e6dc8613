"""`weir models` against a real server, and where there is none."""

import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import numpy

import reference
from harness import WEIR, Server, eventually, run_weir


def answers_of(rows, version):
    return numpy.array([reference.demo_answer(row, version) for row in rows], dtype=numpy.float32)


def write_version(folder, version, answers=None, data=None):
    """A version of the demo model with two samples; answers: what it is said to answer, by default what it does."""
    rows = [[1, 2, 3, 4], [0, 0, 0, 0]]
    place = pathlib.Path(folder) / str(version)
    (place / "samples").mkdir(parents=True, exist_ok=True)
    numpy.save(place / "samples" / "input.x.npy", numpy.array(rows, dtype=numpy.float32))
    numpy.save(place / "samples" / "output.y.npy", answers_of(rows, version) if answers is None else answers)
    reference.write(place / "model.onnx", reference.demo_bytes(version) if data is None else data)
    return place


class Running(unittest.TestCase):
    """A server of demo with versions 1 to 3: 1 serves, 3 is held back, and 2 only lies there."""

    FLAGS = {"new_versions": "hold"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = os.path.join(folder.name, "demo")
        write_version(self.model, 1)
        self.server = Server(
            self.model, admin_listen="127.0.0.1:0", state_dir=folder.name, **self.FLAGS
        )
        self.addCleanup(self.server.kill)
        self.admin = re.search(r"listener=admin address=(\S+)", self.server.log()).group(1)
        for version in (2, 3):
            write_version(self.model, version)
        held = {3: "ready", 2: "found", 1: "serving  100%"}
        eventually(lambda: self.rows() == held, 30, "version 3 that waits")

    def tearDown(self):
        self.server.stop()

    def run_models(self, *arguments, **options):
        options.setdefault("env", {"WEIR_ADMIN_LISTEN": self.admin})
        return run_weir("models", *arguments, **options)

    def do(self, *arguments):
        result = self.run_models(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def refuse(self, code, *arguments):
        result = self.run_models(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        return result.stderr

    def rows(self):
        """{version: the rest of its line} of the table."""
        lines = self.do("list").splitlines()
        self.assertRegex(lines[0], r"^MODEL +VERSION +STATE +REQUESTS +REASON$")
        return {int(line.split()[1]): line.split(None, 2)[2] for line in lines[1:] if line.startswith("demo* ")}

    def answer(self, **headers):
        return self.server.predict([[0, 0, 0, 0]], headers=[(name.replace("_", "-"), value) for name, value in headers.items()])


class Orders(Running):
    def test_the_table_says_which_version_gets_what(self):
        self.assertEqual(self.do("list", "demo"), self.do("list"))
        self.do("canary", "demo", "v2", "--steps", "10% for 1h, 100%")
        eventually(lambda: "step 1 of 2 is held for another" in self.rows()[2], what="what the rollout waits for")
        self.assertRegex(self.rows()[2], r"^canary +10%, step 1 of 2 +step 1 of 2 is held for another")
        self.assertRegex(self.rows()[1], r"^serving +90%$")
        self.do("pause", "demo")
        paused = re.compile(r"^canary +10%, step 1 of 2, paused +step 1 of 2 is paused$")
        eventually(lambda: paused.match(self.rows()[2]), what="the pause")

    def test_json_is_the_servers_answer(self):
        listed = json.loads(self.do("list", "--json"))
        self.assertEqual([model["name"] for model in listed["models"]], ["demo"])
        one = json.loads(self.do("list", "demo", "--json"))
        self.assertEqual((one["name"], one["stable"]), ("demo", 1))
        self.assertEqual(json.loads(self.do("status", "demo", "--json"))["name"], "demo")
        self.assertEqual(json.loads(self.do("load", "demo", 2, "--json"))["action"], "load")

    def test_versions_are_loaded_verified_promoted_and_unloaded(self):
        self.assertEqual(self.do("load", "demo", 2), "demo v2: loaded; 2 samples agree in 4 batches\n")
        self.assertEqual(self.rows()[2], "ready")
        self.assertEqual(self.do("verify", "demo", "v2"), "demo v2: verified; 2 samples agree in 4 batches\n")
        self.assertEqual(self.do("promote", "demo", 2), "demo v2: promoted; 2 samples agree in 4 batches\n")
        self.assertEqual(self.do("promote", "demo", 2), "demo v2: serves already\n")
        self.assertEqual(self.answer().headers["x-weir-version"], "2")
        self.do("load", "demo", 3)
        self.assertEqual(self.do("unload", "demo", 3), "demo v3: unloaded\n")
        self.assertEqual(self.do("unload", "demo", 3), "demo v3: was not loaded\n")
        self.assertEqual(self.rows()[3], "found")

    def test_a_canary_goes_its_way(self):
        text = self.do("canary", "demo", 2, "--steps=50% for 1h", "--sticky-header", "X-User", "--max_drift", "off",
                       "--min-agreement=0.5", "--shadow-percent", "0", "--max-p99-ratio", "off",
                       "--max-compute-ratio", "off")
        self.assertEqual(text, "demo v2: canary of version 2 beside 1: 50% for 1h\n")
        seen = {self.answer(X_User="user %d" % user).headers["x-weir-version"] for user in range(60)}
        self.assertEqual(seen, {"1", "2"})
        eventually(lambda: "is held for another" in self.do("status", "demo"), 30, "the step with enough requests")
        shown = self.do("status", "demo")
        for pattern in (
            r"^demo: version 1 serves, version 2 is a canary: 50%, step 1 of 1\n",
            r"\n  steps         50% for 1h\n",
            r"\n  sticky header x-user\n",
            r"\n  waits for     step 1 of 1 is held for another ",
            r"\n +stable 1 +canary 2\n",
            r"\n  requests +\d+ +\d+\n  errors +0 +0\n",
            r"\n  p99 +\S+ ms +\S+ ms\n",
            r"\n  compared ",
        ):
            self.assertRegex(shown, pattern)
        self.assertEqual(self.do("pause", "demo"), "demo v2: paused\n")
        self.assertEqual(self.do("resume", "demo"), "demo v2: goes on\n")
        self.assertEqual(self.do("rollback", "demo", "--reason", "a whim"), "demo v2: rolled back: a whim\n")
        self.assertIn("demo: the last rollout: version 2 was rolled back: a whim\n", self.do("list"))
        self.assertIn("was rolled back", self.rows()[2])
        self.assertEqual(self.do("rollback", "demo"), "demo v2: is rolled back already\n")
        self.assertIn("no rollout is under way", self.do("status", "demo"))

    def test_the_candidate_is_promoted_without_being_named(self):
        self.do("canary", "demo", 3, "--steps", "5%")
        self.assertRegex(self.do("promote", "demo"), r"^demo v3: promoted")
        self.assertRegex(self.rows()[3], r"^serving +100%$")

    def test_a_shadow_gets_copies(self):
        self.assertEqual(
            self.do("shadow", "demo", 2, "--percent", "50%"), "demo v2: shadow of version 2 beside 1: until it is ended\n"
        )
        self.assertRegex(self.rows()[2], r"^shadow +copies of 50%")
        for _ in range(20):
            self.assertEqual(self.answer().headers["x-weir-version"], "1")

        def compared():
            found = re.search(r"compared +(\d+) requests, .* differ, by at most 1 ", self.do("status", "demo"))
            return found and int(found.group(1)) >= 5

        eventually(compared, 30, "five comparisons")

    def test_every_flag_of_a_rollout_reaches_it(self):
        flags = ("--steps 1% --shadow-percent 2 --compare-percent 3 --sticky-header X-Id --auto-promote --may-shrink "
                 "--max-error-rate 0.5 --max-p99-ratio 9 --max-compute-ratio 8 --max-non-finite 0.25 "
                 "--min-agreement 0.125 --max-drift 7").split()
        self.do("canary", "demo", 2, *flags)
        with open(os.path.join(self.folder, "rollout.json"), encoding="utf-8") as file:
            plan = json.load(file)["models"][0]["rollout"]["plan"]
        self.assertEqual((plan["shadow_ppm"], plan["compare_ppm"], plan["sticky_header"]), (20000, 30000, "x-id"))
        self.assertEqual((plan["auto_promote"], plan["may_shrink"]), (True, True))
        self.assertEqual(list(plan["checks"].values()), [0.5, 9, 8, 0.25, 0.125, 7])

    def test_a_scan_finds_what_is_new(self):
        write_version(self.model, 9)
        self.assertIn("being looked at", self.do("scan"))
        eventually(lambda: 9 in self.rows(), 30, "version 9")

    def test_many_versions_that_only_lie_there_take_one_line(self):
        for version in range(10, 60):
            reference.write(os.path.join(self.model, str(version), "model.onnx"), reference.demo_bytes(version))
        self.do("promote", "demo", 59)
        expected = {59: "serving  100%", 58: "found, and 51 more down to 1"}
        eventually(lambda: self.rows() == expected, 30, "one version that is loaded")


class Watching(Running):
    def watch(self):
        environment = {**os.environ, "WEIR_ADMIN_LISTEN": self.admin}
        return subprocess.Popen(
            [WEIR, "models", "status", "demo", "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )

    def end_of(self, watching):
        out, err = watching.communicate(timeout=10)
        self.assertEqual(err, b"")
        return watching.returncode, out.decode()

    def test_it_ends_with_the_rollout(self):
        for order, code, words in (("promote", 0, "was promoted"), ("rollback", 1, "was rolled back")):
            stable = json.loads(self.do("status", "demo", "--json"))["stable"]
            self.do("canary", "demo", 5 - stable if stable > 1 else 2, "--steps", "5%")
            watching = self.watch()
            first = watching.stdout.readline().decode()
            self.assertIn("is a canary", first)
            self.do(order, "demo")
            ended, shown = self.end_of(watching)
            self.assertEqual(ended, code, shown)
            self.assertIn(words, shown)
            self.assertIn("no rollout is under way", shown)

    def test_without_a_rollout_it_ends_at_once(self):
        self.assertEqual(self.end_of(self.watch())[0], 0)

    def test_it_ends_when_nobody_reads(self):
        self.do("canary", "demo", 2, "--steps", "5%")
        watching = self.watch()
        watching.stdout.readline()
        watching.stdout.close()
        self.assertNotEqual(watching.wait(10), 0)
        watching.stderr.close()

    def test_a_pipe_that_is_closed_early_is_no_fault(self):
        command = '"%s" models list --admin %s | head -n 1' % (WEIR, self.admin)
        result = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=10)
        self.assertEqual(result.stderr, b"")
        self.assertTrue(result.stdout.startswith(b"MODEL"))


class Refusals(Running):
    def test_what_is_not_there_is_told(self):
        self.assertIn('there is no model "nothing"', self.refuse(1, "status", "nothing"))
        self.assertIn('there is no model "nothing"', self.refuse(1, "load", "nothing", 1))
        self.assertIn("there is no version 77 of demo", self.refuse(1, "load", "demo", 77))
        self.assertIn("version 2 of demo is not loaded", self.refuse(1, "verify", "demo", 2))

    def test_what_the_state_does_not_allow_is_told(self):
        self.assertIn("no rollout of demo is under way", self.refuse(1, "promote", "demo"))
        self.assertIn("no rollout of demo is under way", self.refuse(1, "pause", "demo"))
        self.assertIn("promote another first", self.refuse(1, "unload", "demo", 1))
        self.do("canary", "demo", 2, "--steps", "5%")
        self.assertIn("is under way", self.refuse(1, "canary", "demo", 3, "--steps", "5%"))
        self.assertIn("at \"x\"", self.refuse(1, "canary", "demo", 3, "--steps", "5x"))

    def test_a_version_that_fails_its_samples_is_told_and_listed(self):
        write_version(self.model, 4, answers=numpy.zeros((2, 3), numpy.float32))
        self.assertIn("sample", self.refuse(1, "load", "demo", 4))
        self.assertRegex(self.rows()[4], r"^failed +.*sample")
        write_version(self.model, 5, data=b"not a model")
        self.refuse(1, "promote", "demo", 5)
        self.assertEqual(self.answer().headers["x-weir-version"], "1")

    def test_half_a_copy_is_incomplete(self):
        place = write_version(self.model, 6)
        self.assertEqual(run_weir("models", "seal", place).returncode, 0)
        os.truncate(place / "model.onnx", 10)
        self.assertIn("incomplete: model.onnx has 10 of", self.refuse(1, "load", "demo", 6))
        self.assertRegex(self.rows()[6], r"^incomplete +.*has 10 of")

    def test_the_data_port_is_told_from_the_admin_port(self):
        result = self.run_models("list", "--admin", "%s:%d" % (self.server.host, self.server.port))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("is this the port of admin_listen?", result.stderr)

    def test_two_orders_at_once_are_one_and_a_conflict(self):
        """A slow load keeps a second order back."""
        wide = pathlib.Path(reference.wide()) / "1" / "model.onnx"
        place = pathlib.Path(self.model) / "8"
        place.mkdir()
        os.link(wide, place / "model.onnx") if os.stat(wide).st_dev == os.stat(place).st_dev else os.symlink(
            wide, place / "model.onnx"
        )
        results = []
        slow = threading.Thread(target=lambda: results.append(self.run_models("load", "demo", 8)))
        slow.start()
        eventually(lambda: self.rows().get(8, "").startswith("loading"), 30, "the load")
        self.assertIn("another change is under way: load of demo", self.refuse(1, "load", "demo", 3))
        slow.join(30)
        self.assertEqual(results[0].returncode, 0, results[0].stderr)


class Fake:
    """Gives every connection a prepared answer and closes it."""

    def __init__(self, answer, delay=0.0):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.answer, self.delay, self.requests = answer, delay, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += client.recv(4096)
                self.requests.append(request)
                time.sleep(self.delay)
                client.sendall(self.answer)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.listener.close()


class NoServer(unittest.TestCase):
    def ask(self, answer, *arguments, delay=0.0):
        with Fake(answer, delay) as fake:
            return run_weir("models", *arguments, "--admin", fake.address)

    def test_nobody_there_is_exit_5(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % unused.getsockname()[1]
            result = run_weir("models", "list", "--admin", address)
        self.assertEqual((result.returncode, result.stdout), (5, ""))
        self.assertIn("%s: Connection refused" % address, result.stderr)
        self.assertIn("admin_listen", result.stderr)

    def test_other_servers_are_exit_5(self):
        for text in (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>hello</html>",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        ):
            result = self.ask(text, "list")
            self.assertEqual((result.returncode, result.stdout), (5, ""))
            self.assertIn("none of weir's: is this the port of admin_listen?", result.stderr)
        result = self.ask(b"SSH-2.0-x\r\n\r\n", "list")
        self.assertEqual(result.returncode, 5)
        self.assertIn("does not speak HTTP", result.stderr)

    def test_an_answer_that_ends_early_is_exit_5(self):
        for text, words in (
            (b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"models":[]}', "ends early"),
            (b"HTTP/1.1 200 OK\r\nConte", "reset"),
            (b"", "reset"),
        ):
            result = self.ask(text, "list")
            self.assertEqual((result.returncode, result.stdout), (5, ""))
            self.assertIn(words, result.stderr)

    def test_members_of_other_types_do_no_harm(self):
        for body in (
            '{"models":7}',
            '{"models":[7,null,[]]}',
            '{"models":[{"name":1,"versions":{"a":1},"rollout":[]}]}',
            '{"models":[{"name":"a","versions":[1,{"version":"x","state":3},{"version":1e300,"state":"\\u001b[2J"}]}]}',
            '{"models":[{"name":"%s","versions":[]}]}' % ("n" * 5000),
        ):
            text = ("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode()
            result = self.ask(text, "list")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertNotIn("\x1b", result.stdout)
            for arguments in (("status", "a"), ("pause", "a")):
                inner = json.dumps(json.loads(body)["models"][0] if isinstance(json.loads(body)["models"], list) else {})
                inner = inner if inner.startswith("{") else "{}"
                text = ("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(inner), inner)).encode()
                self.assertEqual(self.ask(text, *arguments).returncode, 0)

    def test_an_order_may_take_its_time(self):
        body = b'{"action":"verify","model":"a","version":2,"result":"verified"}'
        text = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        result = self.ask(text, "verify", "a", "2", delay=6.0)
        self.assertEqual((result.returncode, result.stdout), (0, "a v2: verified\n"), result.stderr)

    def test_the_requests_are_those_of_the_admin_interface(self):
        text = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
        for arguments, line, body in (
            ("list", "GET /admin/models", ""),
            ("list a", "GET /admin/models/a", ""),
            ("load a v2", "POST /admin/models/a/versions/2/load", ""),
            ("promote a", "POST /admin/models/a/rollout/promote", ""),
            ("promote a 2", "POST /admin/models/a/versions/2/promote", ""),
            ("rollback a --reason=x", "POST /admin/models/a/rollout/rollback", '{"reason":"x"}'),
            ("scan", "POST /admin/scan", ""),
            ("shadow a 2 --percent 20%", "POST /admin/models/a/rollout",
             '{"shadow_percent":20,"version":"2","kind":"shadow"}'),
            ("canary a 18446744073709551615 --steps 5% --max-drift off", "POST /admin/models/a/rollout",
             '{"steps":"5%","max_drift":null,"version":"18446744073709551615","kind":"canary"}'),
        ):
            with Fake(text) as fake:
                result = run_weir("models", *arguments.split(), "--admin", fake.address)
                self.assertEqual(result.returncode, 0, result.stderr)
                request = fake.requests[0].decode()
            self.assertTrue(request.startswith(line + " HTTP/1.1\r\n"), request)
            self.assertTrue(request.endswith("\r\n\r\n" + body), request)

    def test_the_server_is_found_as_the_help_says(self):
        text = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"models":[]}'
        with Fake(text) as one, Fake(text) as other, tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("admin_listen: %s\n" % one.address)
            file.flush()
            self.assertEqual(run_weir("models", "list", "-c", file.name).returncode, 0)
            self.assertEqual((len(one.requests), len(other.requests)), (1, 0))
            env = {"WEIR_ADMIN_LISTEN": other.address}
            self.assertEqual(run_weir("models", "list", "-c", file.name, env=env).returncode, 0)
            self.assertEqual((len(one.requests), len(other.requests)), (1, 1))
            self.assertEqual(run_weir("models", "list", "--admin", one.address, env=env).returncode, 0)
            self.assertEqual((len(one.requests), len(other.requests)), (2, 1))
        self.assertIn("127.0.0.1:8001", run_weir("models", "list").stderr)
        result = run_weir("models", "list", env={"WEIR_ADMIN_LISTEN": "10.0.0.1:1"})
        self.assertEqual(result.returncode, 2)
        self.assertIn("loopback", result.stderr)


class Usage(unittest.TestCase):
    def test_misuse_is_told_with_exit_2(self):
        for arguments, words in (
            ("", "needs a command"),
            ("lst", "did you mean list?"),
            ("rolback a", "did you mean rollback?"),
            ("xyzzy", '"xyzzy" is no command'),
            ("load a", "takes NAME VERSION"),
            ("load a b", '"b" is not a version number'),
            ("load a 1 2", '"2" is too much'),
            ("load a/b 1", "cannot be the name of a model"),
            ("list --jsn", "did you mean --json?"),
            ("list --watch", "has no such flag"),
            ("list -x", "-x: unknown flag"),
            ("list --json --json", "given twice"),
            ("list --json=1", "takes no value"),
            ("list --admin", "--admin: needs a value"),
            ("list --admin nowhere:x", "ADDRESS:PORT"),
            ("list --admin 127.0.0.1:0", "ADDRESS:PORT"),
            ("list --admin 127.0.0.1:99999", "ADDRESS:PORT"),
            ("list -c /nowhere.yaml", "No such file"),
            ("canary a 1", "needs --steps"),
            ("shadow a 1", "needs --percent"),
            ("shadow a 1 --percent many", '"many" is not a number'),
            ("shadow a 1 --percent 1 --shadow-percent 1", "given twice"),
            ("canary a 1 --steps 1% --max-drift nan", "not a number or off"),
            ("canary a 1 --steps 1% --min-agreemnt 1", "did you mean --min-agreement?"),
            ("seal", "takes DIR"),
            ("seal . --admin a:1", "has no such flag"),
        ):
            with self.subTest(arguments=arguments):
                result = run_weir("models", *arguments.split())
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(words, result.stderr)

    def test_the_help_of_rollouts_fits_a_screen_and_names_every_flag(self):
        for arguments in (("help", "models", "canary"), ("models", "shadow", "--help")):
            result = run_weir(*arguments)
            lines = result.stdout.splitlines()
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertLessEqual(len(lines), 24)
            self.assertLessEqual(max(map(len, lines)), 80)
            for flag in ("steps", "sticky-header", "shadow-percent", "compare-percent", "auto-promote", "may-shrink",
                         "max-error-rate", "max-p99-ratio", "max-compute-ratio", "max-non-finite", "min-agreement",
                         "max-drift"):
                self.assertIn("  --%s " % flag, result.stdout)


class Seal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "demo"
        self.place = write_version(self.folder, 1)

    def test_a_seal_is_written_checked_and_shown(self):
        result = run_weir("models", "check-seal", self.place)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("not sealed", result.stderr)
        result = run_weir("models", "seal", self.place)
        self.assertRegex(result.stdout, r"^%s: sealed, \d+ bytes\n$" % self.place)
        self.assertEqual(subprocess.run(["sha256sum", "--quiet", "-c", "manifest.sha256"], cwd=self.place).returncode, 0)
        result = run_weir("models", "check-seal", self.place)
        self.assertRegex(result.stdout, r"^%s: is as it was sealed, \d+ bytes\n$" % self.place)
        self.assertIn("1/model.onnx (sealed)\n", run_weir("check", self.folder).stdout)
        self.assertIn("1/model.onnx (sealed)\n", run_weir("inspect", self.folder).stdout)

    def test_what_is_not_whole_is_a_fault(self):
        run_weir("models", "seal", self.place)
        os.truncate(self.place / "samples" / "input.x.npy", 5)
        result = run_weir("models", "check-seal", self.place)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("incomplete: samples/input.x.npy has 5 of ", result.stderr)
        self.assertIn("model.onnx (incomplete: samples/input.x.npy has 5 of ", run_weir("check", self.folder).stdout)

    def test_a_directory_of_versions_is_not_sealed(self):
        result = run_weir("models", "seal", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("name the directory of a version", result.stderr)
        self.assertFalse((self.folder / "manifest.sha256").exists())
        self.assertEqual(run_weir("models", "seal", self.folder / "nothing").returncode, 1)

    def test_a_manifest_that_cannot_be_written_is_exit_5(self):
        (self.place / "manifest.sha256" / "x").mkdir(parents=True)
        result = run_weir("models", "seal", self.place)
        self.assertEqual(result.returncode, 5)
        self.assertIn("manifest.sha256 cannot be written", result.stderr)
