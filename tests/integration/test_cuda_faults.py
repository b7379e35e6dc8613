"""A simulated GPU (tests/double) that is slow, fails for good or hangs while the real server serves on it."""

import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time
import unittest

from harness import Closed, Server, eventually, run_at_once
from test_cuda_cases import DIGITS, GPU, MODULE, rows

ROW = rows(1)


@unittest.skipUnless(MODULE.exists(), "built without the CUDA double")
class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-fault-")
        self.addCleanup(shutil.rmtree, self.folder)

    def server(self, plan, expected_exit=0, model=DIGITS, **options):
        """The plan's failures wait for go_wrong."""
        words = "when=%s/now %s" % (self.folder, plan)
        server = Server(model, env={"CUDA_DOUBLE": words}, **{**GPU, **options})
        server.expected_exit = expected_exit
        return server

    def go_wrong(self):
        pathlib.Path(self.folder, "now").touch()

    def states(self, server):
        """As /health has them, and as /metrics has those of device 0."""
        page = server.metrics()
        values = {state: page.total("weir_device_state", device="0", state=state) for state in ("ok", "degraded", "lost")}
        return server.request("GET", "/health").json()["device"]["states"], values

    def health(self, server):
        """None where nobody listens any more."""
        try:
            return server.request("GET", "/health").json()
        except (OSError, Closed):
            return None

    def ready(self, server):
        """(status, body) of the readiness, or None where nobody listens any more."""
        try:
            answer = server.request("GET", "/health/ready")
            return answer.status, answer.body.decode()
        except (OSError, Closed):
            return None

    def ask_until_it_ends(self, server, begun):
        """Asks on one connection until an answer is the last on it. Returns all statuses."""
        statuses = []
        with server.client(seconds=30) as client:
            answer = None
            while answer is None or not answer.closes:
                answer = client.predict(ROW)
                if not statuses:
                    begun.release()
                statuses.append(answer.status)
        return statuses

    def test_overload_is_refused_or_in_time_and_nobody_is_left_without_an_answer(self):
        timeout_s = 1.0
        with self.server("delay_us=4000", batch_size=4, timeout_ms=int(timeout_s * 1000), max_concurrency=256) as server:
            server.predict(ROW)
            wanted = server.predict(ROW).predictions[0]

            def ask():
                answers = []
                for _ in range(4):
                    began = time.monotonic()
                    answers.append((server.predict(ROW), time.monotonic() - began))
                return answers

            answers = [pair for pairs in run_at_once([ask] * 80, 120) for pair in pairs]
            served = [(answer, took) for answer, took in answers if answer.status == 200]
            self.assertEqual(len(answers), 320)
            self.assertEqual({answer.status for answer, _ in answers} - {200, 503, 504}, set())
            self.assertGreater(len(served), 0)
            self.assertGreater(len([1 for answer, _ in answers if answer.status == 503]), 0)
            self.assertLess(len([1 for answer, _ in answers if answer.status == 504]), 32)
            for answer, _ in served:
                for mine, theirs in zip(answer.predictions[0], wanted):
                    self.assertAlmostEqual(mine, theirs, delta=1e-5)
            eventually(lambda: server.metrics().total("weir_in_flight_requests") == 0, what="an idle server")
            self.assertEqual(self.ready(server)[0], 200)

    def test_an_error_that_stays_is_told_at_once_and_ends_the_process(self):
        with self.server("fail_operation=product:1:700", 75, drain_delay_ms=5000) as server:
            clients, begun, over, seen = 16, threading.Semaphore(0), threading.Event(), []

            def watch():
                while not over.is_set() and (not seen or seen[-1]):
                    lost = bool(server.events("device_lost"))
                    seen.append(self.ready(server))
                    if lost and seen[-1]:
                        self.assertEqual(seen[-1][0], 503)

            def break_it():
                for _ in range(clients):
                    begun.acquire()
                self.go_wrong()

            asks = [lambda: self.ask_until_it_ends(server, begun)] * clients
            results = run_at_once([*asks, watch, break_it])
            over.set()
            self.assertIsNone(results[clients], results[clients])
            for statuses in results[:clients]:
                self.assertIsInstance(statuses, list, statuses)
                self.assertEqual(statuses[-1], 503)
                self.assertEqual(set(statuses[:-1]) - {200, 503}, set())
            self.assertTrue([1 for look in seen if look and look[0] == 503 and "device lost" in look[1]], seen[-5:])
            self.assertEqual(server.wait_exit(20), 75)
            self.assertEqual(len(server.events("device_lost")), 1)
            self.assertIn("cudaErrorIllegalAddress", server.log())

    def test_a_device_that_hangs_is_noticed_and_the_process_ends(self):
        with self.server("hang_operation=product:1", 75, watchdog_ms=1000, timeout_ms=700, drain_delay_ms=5000) as server:
            self.assertEqual(server.predict(ROW).status, 200)
            self.go_wrong()
            answers = run_at_once([lambda: server.predict(ROW)] * 8)
            self.assertEqual({answer.status for answer in answers} - {503, 504}, set())
            self.assertIn(504, [answer.status for answer in answers])
            looks = eventually(lambda: [look for look in [self.ready(server)] if look and look[0] == 503], what="not ready")
            self.assertIn("stuck", looks[0][1])
            seen = set()
            while answer := self.health(server):
                seen.add(tuple(answer["device"]["states"]))
            self.assertIn(("lost",), seen)
            self.assertLessEqual(seen, {("ok",), ("lost",)})
            self.assertEqual(server.wait_exit(20), 75)
            self.assertEqual(len(server.events("batch_stuck")), 1)
            self.assertEqual(len(server.events("device_lost")), 1)

    def test_a_device_that_hangs_while_the_first_version_loads_is_noticed_and_the_process_ends(self):
        for operation in ("copy_to_device:1", "product:1", "product:40"):  # weights, a first run, the warm-up
            self.go_wrong()
            with self.server("hang_operation=" + operation, 75, wait=None, watchdog_ms=200) as server:
                self.assertEqual(server.wait_exit(20), 75, operation)
                self.assertEqual(len(server.events("device_lost")), 1)
                self.assertIn("the device hangs, it has not ended this within 400 ms", server.log())

    def test_a_device_that_hangs_while_another_version_loads_is_noticed_and_the_process_ends(self):
        versions = os.path.join(self.folder, "digits")
        shutil.copytree(DIGITS / "v1", os.path.join(versions, "v1"))
        with self.server("hang_operation=copy_to_device:1", 75, versions, scan_ms=50, watchdog_ms=200) as server:
            self.assertEqual(server.predict(ROW).status, 200)
            self.go_wrong()
            shutil.copytree(DIGITS / "v1", os.path.join(versions, "v2"))
            self.assertEqual(server.wait_exit(20), 75)
            self.assertEqual(len(server.events("device_lost")), 1)

    def test_a_device_that_hangs_when_it_is_opened_is_refused(self):
        self.go_wrong()
        with self.server("hang_operation=*:1", 4, wait=None, watchdog_ms=200) as server:
            self.assertEqual(server.wait_exit(20), 4)
            self.assertIn("the device hangs: it has not ended a first kernel", server.log())

    def test_a_signal_ends_the_process_while_a_device_is_opened_that_hangs(self):
        self.go_wrong()
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.server("hang_operation=*:1", wait=None) as server:
                server.wait_for("starting")
                server.send_signal(number)
                self.assertEqual(server.wait_exit(10), 0)
                self.assertIn("while=opening", server.log())

    def test_a_signal_ends_the_process_while_the_first_version_loads_on_a_hanging_device(self):
        self.go_wrong()
        for signals in (1, 2):
            logs = ""
            while "while=loading" not in logs:  # else it came before the load had begun
                with self.server("hang_operation=product:1", wait=None) as server:
                    server.wait_for("listening")
                    for _ in range(signals):
                        server.send_signal(signal.SIGTERM)
                        server.wait_for("draining")
                    self.assertEqual(server.wait_exit(10), 0)
                    logs += server.log()
                self.assertLess(logs.count("draining"), 50, "no signal while it loads")

    def test_a_hanging_device_does_not_keep_the_process_from_stopping(self):
        for signals in (1, 2):
            with self.server("hang_operation=product:1", timeout_ms=300, drain_timeout_ms=600) as server:
                self.go_wrong()
                self.assertEqual(server.predict(ROW).status, 504)
                for _ in range(signals):
                    server.send_signal(signal.SIGTERM)
                    server.wait_for("draining")
                self.assertEqual(server.wait_exit(10), 0)
            os.remove(os.path.join(self.folder, "now"))

    def test_who_waits_longer_than_the_stop_may_take_is_answered(self):
        with self.server("hang_operation=product:1", timeout_ms=60000, drain_timeout_ms=600, admission="fifo") as server:
            self.go_wrong()

            def stop():
                eventually(lambda: server.metrics().total("weir_in_flight_requests") == 8, what="requests that wait")
                server.send_signal(signal.SIGTERM)

            *answers, stopped = run_at_once([*[lambda: server.predict(ROW)] * 8, stop])
            self.assertIsNone(stopped, stopped)
            self.assertEqual([(answer.status, answer.json()["reason"]) for answer in answers], [(503, "draining")] * 8)
            self.assertEqual(server.wait_exit(10), 0)

    def test_one_of_two_devices_is_lost_and_the_other_serves_the_queue(self):
        options = {"gpu_count": 2, "batch_size": 2, "admission": "fifo", "timeout_ms": 60000}
        with self.server("devices=2 delay_us=5000 fail_operation=product:1:719", 75, **options) as server:
            self.assertEqual(len(server.events("model_on_device")), 2)

            def break_it():
                eventually(lambda: server.request("GET", "/health").json()["queued_rows"] >= 20, what="a queue")
                self.go_wrong()

            *answers, broken = run_at_once([*[lambda: server.predict(ROW)] * 60, break_it])
            self.assertIsNone(broken, broken)
            late = [answer for answer in answers if isinstance(answer, ConnectionRefusedError)]  # came when it was over
            statuses = [answer.status for answer in answers if answer not in late]
            self.assertGreater(len(statuses), 20)
            self.assertEqual(set(statuses), {200, 503})
            self.assertLessEqual(statuses.count(503), 4)  # two slots of two rows
            self.assertEqual(server.wait_exit(20), 75)
            self.assertEqual(len(server.events("device_lost")), 1)

    def test_each_device_holds_its_own_weights_and_says_so(self):
        with self.server("devices=2", gpu_count=2) as server:
            lines = server.events("model_on_device")
            self.assertRegex(lines[0], r"device=0 report=\"weights 0\.1 MiB \+ 2 x \(activations .*free .* of 256\.0 MiB")
            self.assertRegex(lines[1], r"device=1 report=\"weights 0\.1 MiB \+ 2 x \(activations .*free .* of 256\.0 MiB")

    def test_a_model_that_does_not_fit_is_refused_with_its_memory_plan(self):
        for plan, options, device in (("memory_mib=60", {}, ""), ("devices=2 memory_mib=60", {"gpu_count": 2}, "device 0: ")):
            with self.server(plan, 4, wait=None, **options) as server:
                self.assertEqual(server.wait_exit(20), 4)
                self.assertRegex(server.log(), device + r"the model does not fit the device's memory: weights 0\.1 MiB \+ 2 x")
                self.assertRegex(server.log(), r"workspace 32\.0 MiB.*25 % to spare .*of 60\.0 MiB")

    def test_a_device_without_any_free_memory_is_refused(self):
        with self.server("memory_mib=2", 4, wait=None) as server:
            self.assertEqual(server.wait_exit(20), 4)
            self.assertIn("no free memory", server.log())

    def test_a_failure_that_passes_is_one_batchs_own(self):
        for error in (1, 2):  # cudaErrorInvalidValue, cudaErrorMemoryAllocation
            with self.server("fail_call=cudaGraphLaunch:1:%d" % error) as server:
                self.go_wrong()
                answer = server.predict(ROW)
                self.assertEqual((answer.status, answer.json()["reason"]), (500, "engine"))
                self.assertEqual(self.states(server), (["degraded"], {"ok": 0, "degraded": 1, "lost": 0}))
                self.assertEqual(server.predict(ROW).status, 200)
                self.assertEqual(self.states(server), (["ok"], {"ok": 1, "degraded": 0, "lost": 0}))
                self.assertEqual(self.ready(server)[0], 200)
            os.remove(os.path.join(self.folder, "now"))
