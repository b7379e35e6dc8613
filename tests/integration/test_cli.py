"""The commands beside `serve`: what they print, and what they end with."""

import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import reference
from harness import ROOT, WEIR, run_weir

COMMANDS = ("serve", "check", "inspect", "verify", "models", "health", "config")
KEYS = (
    "host port ops_port model_path model_name version_policy new_versions scan_ms state_dir admin_listen "
    "device gpu_count cuda_module allow_simulated cpu_threads precision invariance batch_size "
    "max_queue_delay_us admission queue_delay_target_ms workers "
    "max_concurrency max_body_bytes max_inflight_body_bytes max_request_rows max_connections timeout_ms head_timeout_ms body_timeout_ms "
    "write_timeout_ms idle_timeout_ms drain_delay_ms drain_timeout_ms watchdog_ms log_level "
    "access_log access_log_format access_log_sample traces_endpoint traces_sample traces_service server_timing metrics_triton_names ui health_path"
).split()


class Help(unittest.TestCase):
    def test_help_fits_eighty_columns_and_one_screen(self):
        for arguments in [("help",), ("--help",)] + [("help", name) for name in COMMANDS] + [(name, "-h") for name in COMMANDS]:
            with self.subTest(arguments=arguments):
                result = run_weir(*arguments)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                lines = result.stdout.splitlines()
                self.assertLessEqual(len(lines), 24)
                self.assertLessEqual(max(map(len, lines)), 80)
                self.assertIn("usage: weir", result.stdout)

    def test_help_names_every_command(self):
        for name in COMMANDS:
            self.assertRegex(run_weir("help").stdout, r"(?m)^  %s " % name)
            self.assertIn("usage: weir " + name, run_weir(name, "--help").stdout)

    def test_the_version_is_a_line(self):
        for form in ("version", "--version"):
            result = run_weir(form)
            self.assertRegex(result.stdout, r"^weir \d+\.\d+\.\d+\n$")
            self.assertEqual(result.returncode, 0)

    def test_misuse_is_told_on_stderr_with_exit_2(self):
        for arguments, words in (
            ((), "usage: weir"),
            (("serv",), "did you mean serve?"),
            (("xyzzy",), 'unknown command "xyzzy"'),
            (("help", "xyzzy"), "unknown command"),
            (("serve",), "model_path"),
            (("serve", "--prot", "1"), "--prot: unknown flag, did you mean --port?"),
            (("serve", "a", "b"), "model_path is given twice"),
            (("inspect",), "one MODEL"),
            (("inspect", "a", "b"), "one MODEL"),
            (("inspect", "--x"), "one MODEL"),
            (("config", "x"), "--markdown"),
            (("health", "--port", "0"), "--port"),
            (("health", "http://"), "HOST:PORT"),
            (("health", "https://a/"), "HOST:PORT"),
        ):
            with self.subTest(arguments=arguments):
                result = run_weir(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(words, result.stderr)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([WEIR, "config"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 5)
        self.assertIn(b"No space left", result.stderr)


class Config(unittest.TestCase):
    def test_every_key_is_listed(self):
        text = run_weir("config").stdout
        self.assertEqual(re.findall(r"(?m)^([a-z_]+): ", text), KEYS)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_the_table_of_the_folder_is_what_the_program_prints(self):
        table = run_weir("config", "--markdown").stdout
        self.assertEqual(re.findall(r"(?m)^\| `([a-z_]+)` \|", table), KEYS)
        self.assertIn(table, (ROOT / "config" / "README.md").read_text(encoding="utf-8"))


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        reference.write(self.folder / "demo/v2/model.onnx", b"")
        reference.write(self.folder / "demo/10/model.onnx", b"")
        (self.folder / "demo/notes").mkdir()

    def file(self, text):
        path = self.folder / "weir.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_every_value_is_shown_with_its_origin(self):
        path = self.file("model_path: %s/demo\nmax_body_bytes: 1048576\n" % self.folder)
        result = run_weir("check", "-c", path, "--workers", 2, env={"WEIR_PORT": "9000"})
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.split()}
        self.assertEqual([key for key in rows if key in KEYS], KEYS)
        self.assertEqual(rows["port"], ["9000", "WEIR_PORT"])
        self.assertEqual(rows["workers"], ["2", "--workers"])
        self.assertEqual(rows["max_body_bytes"], ["1MiB", "%s:2" % path])
        self.assertEqual(rows["batch_size"], ["32", "default"])
        self.assertEqual(rows["model_name"], ["-", "default"])
        self.assertEqual(result.stdout.splitlines()[-1], "ok: the configuration is valid")

    def test_the_versions_are_shown_newest_first(self):
        result = run_weir("check", self.folder / "demo")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"model demo: 2 versions\n  version 10: .*\n  version 2: .*\n  notes: ignored, ")

    def test_a_model_directory_without_versions_is_a_warning(self):
        (self.folder / "empty").mkdir()
        result = run_weir("check", self.folder / "empty")
        self.assertEqual(result.returncode, 0)
        self.assertIn("no version found", result.stderr)

    def test_a_model_that_is_not_there_is_a_fault(self):
        for arguments, words in (
            ((self.folder / "nothing",), "No such file or directory"),
            ((), "model_path: is not set"),
            (("--model-name", "a/b", self.folder / "demo"), "--model-name"),
        ):
            with self.subTest(arguments=arguments):
                result = run_weir("check", *arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr)
                self.assertTrue(result.stdout.splitlines()[-1].startswith("not ok: "))

    def test_faults_have_file_line_and_key(self):
        path = self.file("port: 1\n\nbatchsize: 8\nport: 2\n")
        result = run_weir("check", "-c", path)
        self.assertEqual(
            result.stderr.splitlines(),
            [
                "weir: %s:3: batchsize: unknown key, did you mean batch_size?" % path,
                "weir: %s:4: port: is given twice, on line 1 and on line 4" % path,
            ],
        )
        self.assertEqual(result.stdout, "not ok: 2 errors in the configuration\n")
        self.assertEqual(result.returncode, 2)

    def test_the_example_is_valid(self):
        result = run_weir("check", "-c", ROOT / "config" / "weir.yaml", "--model-path", self.folder / "demo")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Fake:
    """A server that takes one connection, keeps the request and gives a prepared answer; None leaves it waiting."""

    def __init__(self, answer, family=socket.AF_INET, host="127.0.0.1"):
        self.answer = answer
        self.request = b""
        self.listener = socket.socket(family)
        self.listener.bind((host, 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        client, _ = self.listener.accept()
        with client:
            while b"\r\n\r\n" not in self.request:
                self.request += client.recv(4096)
            if self.answer is None:
                self.done.wait(10)
            else:
                client.sendall(self.answer)
                self.done.wait(10 if b"Content-Length" in self.answer else 0)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.done.set()
        self.thread.join(10)
        self.listener.close()


def answer(status, body, head=""):
    return ("HTTP/1.1 %s\r\n%s\r\n%s" % (status, head, body)).encode()


class Health(unittest.TestCase):
    def ask(self, fake, *arguments, env=None):
        with fake:
            return run_weir("health", *arguments, env=env, seconds=10)

    def test_a_ready_server_is_exit_0(self):
        fake = Fake(answer("200 OK", '{"status":"ready"}\n'))
        result = self.ask(fake, "--port", fake.port)
        self.assertEqual((result.returncode, result.stdout), (0, 'ready: 200 {"status":"ready"}\n'), result.stderr)
        self.assertTrue(fake.request.startswith(b"GET /health/ready HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % fake.port))

    def test_a_whole_answer_is_enough_without_the_end_of_the_connection(self):
        fake = Fake(answer("200 OK", "{}", "Content-Length: 2\r\n"))
        began = time.monotonic()
        result = self.ask(fake, "--port", fake.port)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(time.monotonic() - began, 1.9)

    def test_a_server_that_is_not_ready_is_exit_1(self):
        fake = Fake(answer("503 Service Unavailable", '{"status":"draining"}\x1b[31m'))
        result = self.ask(fake, "http://127.0.0.1:%d" % fake.port)
        self.assertEqual((result.returncode, result.stdout), (1, 'not ready: 503 {"status":"draining"} [31m\n'))

    def test_it_finds_the_server_as_the_container_configures_it(self):
        fake = Fake(answer("200 OK", ""))
        env = {"WEIR_HOST": "0.0.0.0", "WEIR_OPS_PORT": str(fake.port), "WEIR_HEALTH_PATH": "/alive"}
        result = self.ask(fake, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(fake.request.startswith(b"GET /alive/ready "))

    def test_a_path_of_its_own_is_asked_for(self):
        fake = Fake(answer("200 OK", ""))
        self.assertEqual(self.ask(fake, "127.0.0.1:%d/health/live" % fake.port).returncode, 0)
        self.assertTrue(fake.request.startswith(b"GET /health/live "))

    def test_ipv6_hosts_stand_in_brackets(self):
        for form in (("--host", "::1", "--port"), ("--host", "[::]", "--port"), ()):
            try:
                fake = Fake(answer("200 OK", ""), socket.AF_INET6, "::1")
            except OSError:
                self.skipTest("this host has no IPv6")
            target = form + (fake.port,) if form else ("http://[::1]:%d/" % fake.port,)
            with self.subTest(target=target):
                result = self.ask(fake, *target)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(b"\r\nHost: [::1]:%d\r\n" % fake.port, fake.request)

    def test_silence_ends_after_two_seconds(self):
        fake = Fake(None)
        began = time.monotonic()
        result = self.ask(fake, "--port", fake.port)
        self.assertEqual(result.returncode, 1)
        self.assertIn("timed out", result.stderr)
        self.assertGreater(time.monotonic() - began, 1.9)
        self.assertLess(time.monotonic() - began, 5.0)

    def test_no_server_and_no_http_are_exit_1(self):
        fake = Fake(b"SSH-2.0-x\r\n\r\n")
        self.assertIn("does not speak HTTP", self.ask(fake, "--port", fake.port).stderr)
        result = run_weir("health", "--port", fake.port)
        self.assertEqual(result.returncode, 1)
        self.assertIn("refused", result.stderr)


class Inspect(unittest.TestCase):
    def test_the_operators_are_those_of_the_readme(self):
        listed = run_weir("inspect", "--operators").stdout.split()
        self.assertEqual(listed, sorted(set(listed)))
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        table = readme[readme.index("| kind | operators |") : readme.index("**Which dimension is the batch?**")]
        named = set(re.findall(r"\b[A-Z][A-Za-z0-9]*\b", table))
        self.assertEqual(named, set(listed))

    def test_a_model_is_described_by_its_newest_version(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(folder + "/demo/1/model.onnx", b"not a model")
            reference.write(folder + "/demo/2/model.onnx", reference.demo_bytes())
            result = run_weir("inspect", folder + "/demo")
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ("/demo/2/model.onnx", "x", "y", "float32", "4", "3"):
            self.assertIn(word, result.stdout)

    def test_what_cannot_be_served_is_exit_3_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(folder + "/model.onnx", b"not a model")
            for path, words in ((folder, "model.onnx"), (folder + "/nothing", "No such file")):
                result = run_weir("inspect", path)
                self.assertEqual(result.returncode, 3)
                self.assertIn(words, result.stderr)
