"""Configuration files: refused as a whole, with the file, the line and the key, or taken as they are."""

import os
import signal
import tempfile
import time
import unittest

import reference
from harness import Server, eventually, run_weir


class ConfigCase(unittest.TestCase):
    def check(self, text, command="check"):
        """Runs `weir check -c FILE` (or `weir serve -c FILE`) and returns its result."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weir.yaml")
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
            return run_weir(command, "-c", path)

    def refuse(self, text, *words, command="check"):
        with self.subTest(text=text[:80]):
            began = time.monotonic()
            result = self.check(text, command)
            self.assertLess(time.monotonic() - began, 5.0)
            said = result.stdout + result.stderr
            self.assertEqual(result.returncode, 2, said)
            self.assertIn("weir.yaml", said)
            for word in words:
                self.assertIn(word, said)


def settings(*lines):
    return "model_path: %s\nport: 0\n%s\n" % (reference.demo(), "\n".join(lines))


class Refusals(ConfigCase):
    def test_a_misspelt_key_is_named_with_its_line_and_the_nearest_key(self):
        text = settings("batchsize: 8        # misspelt", "max_concurrency: 64", "timeout_ms: 2000", "device: cpu")
        for command in ("check", "serve"):
            self.refuse(text, "batchsize", ":3", "batch_size", command=command)
        self.refuse("service:\n  batchsize: 8\n", "batchsize", ":2", "batch_size")
        self.refuse(settings("server:", "  port: 1"), "server", ":3")

    def test_a_repeated_key_is_named_with_both_lines(self):
        text = "model_path: x\nport: 8080\nbatch_size: 8\ntimeout_ms: 2000\nbatch_size: 64\ndevice: cpu\n"
        for command in ("check", "serve"):
            self.refuse(text, "batch_size", "3", "5", command=command)
        self.refuse("batch_size: 8\nservice:\n  batch_size: 64\n", "batch_size", "1", "3")

    def test_values_out_of_range_are_refused_with_the_range(self):
        cases = [
            ("port", "70000", "65535"),
            ("port", "-1", "65535"),
            ("batch_size", "0", "1"),
            ("batch_size", "-1", "1"),
            ("batch_size", "2147483648", "1"),
            ("batch_size", "4294967297", "1"),
            ("timeout_ms", "-5", "1"),
            ("timeout_ms", "0", "1"),
            ("max_concurrency", "0", "1"),
            ("gpu_count", "99", "16"),
            ("version_policy", "latest:0", "latest:0"),
            ("version_policy", '"1, 0"', "1, 0"),
            ("health_path", "health", "/"),
            ("health_path", "/predict", "/predict"),
            ("device", "gpu0", "cuda"),
            ("batch_size", "8.5", "8.5"),
            ("batch_size", "eight", "eight"),
            ("batch_size", '"8"', "quotes"),
            ("batch_size", "[8]", "batch_size"),
            ("batch_size", "0x10", "0x10"),
            ("batch_size", "1e3", "1e3"),
        ]
        for key, value, word in cases:
            line = "%s: %s" % (key, value)
            text = line + "\n" if key == "port" else "port: 0\n" + line + "\n"
            self.refuse(text, key, word)

    def test_all_offenders_are_reported_in_one_run(self):
        self.refuse("port: 70000\nbatch_size: 0\ndevice: gpu0\n", "port", "batch_size", "device")

    def test_file_level_oddities_are_refused(self):
        for text in (
            "- port: 1\n",
            "port: 1\n---\nport: 2\n",
            "port:\n\t1: 2\n",
            b"port: 1\nhost: caf\xe9\n",
            b"port: 1\0\n",
            "port: &a 1\nops_port: *a\n",
            "port: [1\n",
            "[" * 5000,
            "host: " + "x" * (10 * 1000 * 1000) + "\n",
            "just text\n",
        ):
            self.refuse(text)

    def test_a_byte_order_mark_and_crlf_are_accepted(self):
        text = settings("batch_size: 4").replace("\n", "\r\n").encode()
        for form in (text, b"\xef\xbb\xbf" + text):
            result = self.check(form)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_file_that_cannot_be_read_is_named(self):
        for path in ("/nonexistent/weir.yaml", "/"):
            result = run_weir("check", "-c", path)
            self.assertIn(result.returncode, (2, 5))
            self.assertIn(path, result.stdout + result.stderr)

    def test_few_slots_for_a_large_batch_is_a_warning(self):
        result = self.check(settings("batch_size: 64", "max_concurrency: 8"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        said = result.stdout + result.stderr
        self.assertIn("max_concurrency", said)
        self.assertIn("batch_size", said)


class Precedence(unittest.TestCase):
    def test_flags_beat_environment_beats_file_beats_defaults(self):
        text = settings("batch_size: 4", "max_concurrency: 5", "timeout_ms: 6")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weir.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            environment = {"WEIR_MAX_CONCURRENCY": "50", "WEIR_TIMEOUT_MS": "60"}
            result = run_weir("check", "-c", path, "--timeout_ms", "600", env=environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = {line.split()[0].rstrip(":"): line for line in result.stdout.splitlines() if line.split()}
        for key, value in (("batch_size", "4"), ("max_concurrency", "50"), ("timeout_ms", "600"), ("workers", "1")):
            self.assertIn(value, lines[key].replace(key, ""), lines[key])

    def test_the_service_block_is_the_same_as_the_top_level(self):
        with Server(config="service:\n  model_path: %s\n  batch_size: 3\n" % reference.demo()) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]]).status, 200)

    def test_the_environment_starts_a_server(self):
        with Server(env={"WEIR_MODEL_PATH": reference.demo(), "WEIR_BATCH_SIZE": "2"}) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]] * 5).predictions, [[5, 6, 8.5]] * 5)

    def test_a_kubernetes_service_link_is_ignored_with_a_notice(self):
        with Server(reference.demo(), env={"WEIR_PORT": "tcp://10.0.0.1:80", "WEIR_NOSUCHKEY": "1"}) as server:
            self.assertIn("WEIR_PORT", server.log())
            self.assertIn("WEIR_NOSUCHKEY", server.log())

    def test_a_bad_environment_value_is_refused_by_name(self):
        result = run_weir("serve", reference.demo(), env={"WEIR_BATCH_SIZE": "many"})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("WEIR_BATCH_SIZE", result.stderr)


class Reload(unittest.TestCase):
    def rewrite(self, server, text):
        path = server.config_path
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)
        server.send_signal(signal.SIGHUP)

    def test_a_bad_file_changes_nothing_and_a_repaired_one_applies(self):
        good = "model_path: %s\nmax_body_bytes: %d\n"
        with Server(config=good % (reference.demo(), 4096)) as server:

            def limit():
                return 413 == server.predict([[1, 2, 3, 4]] * 100).status

            self.assertFalse(limit())
            self.rewrite(server, "model_path: %s\nmax_body_bytes: 200\nbatchsize: 3\n" % reference.demo())
            eventually(lambda: "batchsize" in server.log(), what="the refusal in the log")
            self.assertFalse(limit())
            self.rewrite(server, good % (reference.demo(), 200))
            eventually(limit, what="the new limit")
            self.assertTrue(server.alive())

    def test_counters_survive_a_reload(self):
        with Server(config="model_path: %s\nlog_level: info\n" % reference.demo()) as server:
            server.predict([[1, 2, 3, 4]])
            before = server.metrics()
            self.rewrite(server, "model_path: %s\nlog_level: debug\nmax_body_bytes: 200\n" % reference.demo())
            eventually(lambda: server.predict([[1, 2, 3, 4]] * 100).status == 413, what="the reload")
            after = server.metrics()
            self.assertGreaterEqual(
                after.total("weir_requests_total", code=200), before.total("weir_requests_total", code=200)
            )
            self.assertGreaterEqual(after.total("weir_batch_rows_sum"), before.total("weir_batch_rows_sum"))

    def test_sighup_without_a_file_does_no_harm(self):
        with Server(reference.demo()) as server:
            for _ in range(3):
                server.send_signal(signal.SIGHUP)
            self.assertTrue(server.alive())
            self.assertEqual(server.predict([[1, 2, 3, 4]]).status, 200)
