"""Start, ports, signals, drain, logs."""

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import reference
from harness import WEIR, Client, Closed, Server, eventually, run_at_once, run_weir
from test_batching_cases import ask_wide, wait_busy


def ready_status(server):
    try:
        return server.request("GET", "/health/ready").status
    except (OSError, Closed):
        return None


class Drain(unittest.TestCase):
    def test_requests_in_flight_survive_sigterm(self):
        with Server(reference.wide(), batch_size=256, timeout_ms=60000, drain_timeout_ms=60000) as server:
            blocker = threading.Thread(target=ask_wide, args=(server, 512))
            blocker.start()
            wait_busy(server)
            clients = [server.client(seconds=60) for _ in range(20)]
            for client in clients:
                client.send(
                    client.message(
                        "POST", "/predict", reference.wide_rows(8), content_type="application/octet-stream"
                    )
                )
            eventually(lambda: server.metrics().total("weir_in_flight_requests") >= 21 or not blocker.is_alive())
            server.send_signal(signal.SIGTERM)
            server.wait_for("signal")
            eventually(lambda: ready_status(server) in (503, None), what="not being ready")
            answers = [client.answer() for client in clients]
            blocker.join()
            self.assertEqual({answer.status for answer in answers}, {200})
            self.assertEqual({len(answer.body) for answer in answers}, {8 * 10 * 4})
            server.wait_exit(20)

    def test_during_the_drain_delay_new_connections_are_served_and_told_to_close(self):
        with Server(reference.demo(), drain_delay_ms=1500) as server:
            with server.client() as old:
                self.assertEqual(old.predict([[1, 2, 3, 4]]).status, 200)
                server.send_signal(signal.SIGTERM)
                server.wait_for("signal")
                eventually(lambda: ready_status(server) == 503, what="not being ready")
                answer = server.request("GET", "/health")
                self.assertEqual(answer.status, 503)
                self.assertIn("draining", answer.body.decode())
                answer = old.predict([[1, 2, 3, 4]])
                self.assertEqual((answer.status, answer.predictions), (200, [[5, 6, 8.5]]))
                self.assertTrue(answer.closes)
            answer = server.predict([[1, 2, 3, 4]])
            self.assertEqual((answer.status, answer.closes), (200, True))
            self.assertEqual(server.request("GET", "/health/live").status, 200)
            self.assertEqual(server.wait_exit(10), 0)
            with self.assertRaises(OSError):
                Client(server.host, server.port, seconds=2)

    def test_idle_connections_do_not_hold_up_the_end(self):
        with Server(reference.demo(), drain_delay_ms=0) as server:
            clients = [server.client() for _ in range(50)]
            for client in clients:
                self.assertEqual(client.request("GET", "/health/live").status, 200)
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(10), 0)
            self.assertLess(time.monotonic() - began, 3.0)
            for client in clients:
                self.assertEqual(client.rest(), b"")
                client.close()

    def test_sigint_skips_the_delay(self):
        with Server(reference.demo(), drain_delay_ms=30000) as server:
            server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait_exit(5), 0)

    def test_a_second_signal_cuts_the_drain_short(self):
        with Server(reference.demo(), drain_delay_ms=30000) as server:
            server.send_signal(signal.SIGTERM)
            server.wait_for("signal")
            server.send_signal(signal.SIGTERM)
            server.wait_exit(5)
            server.expected_exit = server.process.returncode

    def test_the_drain_limit_ends_a_connection_that_never_finishes(self):
        with Server(reference.demo(), drain_timeout_ms=500, body_timeout_ms=60000, timeout_ms=60000) as server:
            with server.client() as client:
                client.send(client.head("POST", "/predict", [("Content-Length", "1000")]) + b'{"inst')
                eventually(lambda: server.metrics().total("weir_connections") >= 1)
                server.send_signal(signal.SIGTERM)
                server.wait_exit(10)
                server.expected_exit = server.process.returncode


class Ports(unittest.TestCase):
    def test_a_taken_port_ends_the_second_instance_and_spares_the_first(self):
        with Server(reference.demo()) as server:
            began = time.monotonic()
            second = run_weir("serve", reference.demo(), "--port", server.port)
            self.assertLess(time.monotonic() - began, 5.0)
            self.assertEqual(second.returncode, 5, second.stderr)
            self.assertIn(str(server.port), second.stderr)
            self.assertIn("in use", second.stderr)
            self.assertEqual(server.predict([[1, 2, 3, 4]]).status, 200)

    def test_a_restart_takes_the_port_at_once(self):
        with Server(reference.demo()) as server:
            port = server.port
            client = server.client()
            self.assertEqual(client.request("GET", "/health/live").status, 200)
        client.close()
        with Server(reference.demo(), port=port) as server:
            self.assertEqual(server.port, port)

    def test_ipv6_and_ipv4_forms(self):
        with socket.socket(socket.AF_INET6) as probe:
            try:
                probe.bind(("::1", 0))
            except OSError:
                self.skipTest("this host has no IPv6")
        for host, reach in (("::1", "::1"), ("[::1]", "::1"), ("::", "::1"), ("0.0.0.0", "127.0.0.1")):
            with self.subTest(host=host), Server(reference.demo(), host=host) as server:
                with Client(reach, server.port) as client:
                    self.assertEqual(client.request("GET", "/health/live").status, 200)

    def test_an_address_that_this_host_has_not_is_named(self):
        result = run_weir("serve", reference.demo(), "--host", "192.0.2.1", "--port", 0)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("192.0.2.1", result.stderr)
        result = run_weir("serve", reference.demo(), "--host", "no such host", "--port", 0)
        self.assertIn(result.returncode, (2, 5), result.stderr)

    def test_an_ops_port_takes_health_and_metrics_off_the_data_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ops = probe.getsockname()[1]
        with Server(reference.demo(), ops_port=ops) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]]).status, 200)
            for path in ("/health", "/metrics"):
                self.assertEqual(server.request("GET", path).status, 404)
                with Client(server.host, ops) as client:
                    self.assertEqual(client.request("GET", path).status, 200)
            with Client(server.host, ops) as client:
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 404)


class Start(unittest.TestCase):
    def test_a_model_file_needs_no_configuration(self):
        with Server(reference.demo() + "/1/model.onnx") as server:
            answer = server.predict([[1, 2, 3, 4]])
            self.assertEqual(answer.predictions, [[5, 6, 8.5]])
            self.assertEqual(answer.headers["x-weir-version"], "1")

    def test_file_version_directory_and_model_directory_are_the_same_model(self):
        for path in (reference.demo(), reference.demo() + "/1"):
            with self.subTest(path=path), Server(path) as server:
                answer = server.predict([[1, 2, 3, 4]])
                self.assertEqual(answer.headers["x-weir-model"], "demo")
                self.assertEqual(answer.headers["x-weir-version"], "1")

    def test_the_highest_number_is_served(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, version in (("2", 2), ("9", 9), ("v10", 10), ("model", 77), ("1.5", 77), ("-1", 77), (".tmp-12", 77)):
                reference.write("%s/demo/%s/model.onnx" % (folder, name), reference.demo_bytes(version))
            with Server(folder + "/demo") as server:
                answer = server.predict([[0, 0, 0, 0]])
                self.assertEqual(answer.predictions, [[0, 0, 10.5]])
                self.assertEqual(answer.headers["x-weir-version"], "10")

    def test_an_empty_model_directory_is_alive_but_not_ready(self):
        with tempfile.TemporaryDirectory() as folder, Server(folder, wait="listening") as server:
            self.assertEqual(server.request("GET", "/health/live").status, 200)
            for path in ("/health/ready", "/health"):
                answer = server.request("GET", path)
                self.assertEqual(answer.status, 503)
                self.assertTrue(answer.json())
            answer = server.predict([[1, 2, 3, 4]])
            self.assertEqual(answer.status, 503, answer)
            self.assertEqual(answer.json()["reason"], "not_ready")
            self.assertRegex(answer.headers["retry-after"], r"^[1-9][0-9]*$")

    def test_a_broken_model_ends_the_start_with_its_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            reference.write(folder + "/bad/1/model.onnx", b"\x08\x08not a model")
            result = run_weir("serve", folder + "/bad", "--port", 0)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("model.onnx", result.stderr)

    def test_cuda_without_a_gpu_fails_and_auto_says_that_it_took_the_cpu(self):
        result = run_weir("serve", reference.demo(), "--port", 0, "--device", "cuda")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("cuda", result.stderr.lower())
        with Server(reference.demo(), device="auto") as server:
            self.assertIn(" warn ", server.log())
            health = server.request("GET", "/health").body.decode()
            self.assertIn("cpu", health)
            self.assertEqual(server.metrics().total("weir_device_info", device="cpu"), 1)
            self.assertEqual(server.predict([[1, 2, 3, 4]]).headers["x-weir-device"], "cpu")

    def test_the_health_path_is_configurable(self):
        with Server(reference.demo(), health_path="/healthz") as server:
            for path in ("/healthz", "/healthz/live", "/healthz/ready"):
                self.assertEqual(server.request("GET", path).status, 200)
            self.assertEqual(server.request("GET", "/health").status, 404)

    def test_health_names_model_version_and_device(self):
        with Server(reference.demo()) as server:
            text = server.request("GET", "/health").body.decode()
            for word in ("demo", "1", "cpu"):
                self.assertIn(word, text)


class Log(unittest.TestCase):
    def serve_with_stderr(self, sink):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [WEIR, "serve", reference.demo(), "--port", str(port), "--log-level", "debug", "--drain-delay-ms", "0"],
            stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=environment,
        )

        def up():
            try:
                with Client("127.0.0.1", port) as client:
                    return client.request("GET", "/health/ready").status == 200
            except OSError:
                return False

        try:
            eventually(up, 30, "the server to be ready")
        except AssertionError:
            process.kill()
            raise
        return process, port

    def finish(self, process):
        process.terminate()
        try:
            self.assertEqual(process.wait(20), 0)
        finally:
            process.kill()

    def hammer(self, port):
        for _ in range(200):
            with Client("127.0.0.1", port) as client:
                self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)
            with Client("127.0.0.1", port) as client:
                client.send(b"nonsense\r\n\r\n")
                client.rest()

    def test_a_log_reader_that_stopped_reading_does_not_stop_the_service(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ: the smallest pipe
        process, port = self.serve_with_stderr(writer)
        os.close(writer)
        try:
            os.set_blocking(reader, False)
            self.hammer(port)
        finally:
            self.finish(process)
            os.close(reader)

    def test_a_log_reader_that_is_gone_does_not_end_the_service(self):
        reader, writer = os.pipe()
        process, port = self.serve_with_stderr(writer)
        os.close(writer)
        os.close(reader)
        try:
            self.hammer(port)
        finally:
            self.finish(process)

    @unittest.skipUnless(os.path.exists("/dev/full"), "/dev/full is missing")
    def test_a_full_disk_does_not_end_the_service(self):
        with open("/dev/full", "wb") as sink:
            process, port = self.serve_with_stderr(sink)
            try:
                self.hammer(port)
            finally:
                self.finish(process)

    def test_no_request_writes_a_line_at_info(self):
        with Server(reference.demo()) as server:
            before = len(server.log().splitlines())
            for _ in range(50):
                server.predict([[1, 2, 3, 4]])
            self.assertLessEqual(len(server.log().splitlines()) - before, 2)


class Trouble(unittest.TestCase):
    def test_aborted_clients_leave_no_descriptor(self):
        with Server(reference.demo()) as server:
            folder = "/proc/%d/fd" % server.process.pid
            server.predict([[1, 2, 3, 4]])
            before = len(os.listdir(folder))
            whole = b'{"instances":[[1,2,3,4]]}'
            for index in range(400):
                client = server.client()
                message = client.message("POST", "/predict", whole)
                client.send(message[: len(message) * (index % 4 + 1) // 4])
                if index % 2:
                    client.reset()
                else:
                    client.close()
            eventually(lambda: len(os.listdir(folder)) <= before, 30, "the descriptors to be closed")
            self.assertTrue(server.alive())

    def test_two_loops_answer_while_clients_come_and_go(self):
        with Server(reference.demo(), workers=2) as server:

            def come_and_go():
                for _ in range(40):
                    with server.client() as client:
                        self.assertEqual(client.predict([[1, 2, 3, 4]]).status, 200)

            results = run_at_once([come_and_go] * 8)
            self.assertEqual(results, [None] * 8)
