"""The CUDA module on a simulated GPU (tests/double), opened by the real server. Left out where it was not built."""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import onnx_writer
from harness import ROOT, WEIR, Server, eventually, run_weir
from test_ui_cases import Events

MODULE = pathlib.Path(WEIR).parent / "tests" / "weir_cuda_sim.so"
DIGITS = ROOT / "models" / "digits"
NVML = pathlib.Path(WEIR).parent / "tests" / "libnvml_double.so"
GPU = {"device": "cuda", "cuda_module": MODULE, "allow_simulated": 1}


def rows(count):
    lines = (DIGITS / "heldout.csv").read_text(encoding="ascii").splitlines()[1 : count + 1]
    return [[float(text) for text in line.split(",")[:64]] for line in lines]


class WithoutGpu(unittest.TestCase):
    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
    def test_cuda_is_refused_with_the_reason_and_auto_says_it_in_health_and_metrics(self):
        result = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda")
        self.assertEqual(result.returncode, 4)
        self.assertIn("no NVIDIA device", result.stderr)
        with Server(DIGITS, device="auto") as server:
            device = server.request("GET", "/health").json()["device"]
            self.assertTrue(device["fallback"])
            self.assertIn("no NVIDIA device", device["reason"])
            maps = pathlib.Path("/proc/%d/maps" % server.process.pid).read_text(encoding="ascii")
        self.assertNotRegex(maps, r"cuda|cublas|nvidia")

    def test_a_module_that_is_none_is_named(self):
        result = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda", "--cuda-module", ROOT / "README.md")
        self.assertEqual(result.returncode, 4)
        self.assertIn("README.md", result.stderr)


@unittest.skipUnless(MODULE.exists(), "built without the CUDA double")
class Simulated(unittest.TestCase):
    def test_it_serves_what_the_cpu_serves_and_names_itself(self):
        asked = {"instances": rows(40)}
        with Server(DIGITS, device="cpu") as server:
            wanted = server.request("POST", "/predict", asked).predictions
        with Server(DIGITS, invariance="bucket", **GPU) as server:
            health = server.request("GET", "/health").json()["device"]
            self.assertIn("SIMULATED", json.dumps(health))
            self.assertFalse(health["fallback"])
            self.assertRegex(server.events("model_on_device")[0], r"model=digits version=\d+ device=0 report=\"weights .*MiB")
            model = server.request("GET", "/health").json()["model"]
            self.assertRegex(model["on_devices"][0], r"^weights .*; tested: a row's bits do not depend on its batch$")
            for _ in range(3):
                given = server.request("POST", "/predict", asked).predictions
                for mine, theirs in zip(given, wanted):
                    for a, b in zip(mine, theirs):
                        self.assertAlmostEqual(a, b, delta=1e-5)

    def test_it_is_refused_unless_the_configuration_allows_it(self):
        result = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda", "--cuda-module", MODULE)
        self.assertEqual(result.returncode, 4)
        self.assertIn("simulates", result.stderr)
        with Server(DIGITS, device="auto", cuda_module=MODULE) as server:
            device = server.request("GET", "/health").json()["device"]
        self.assertTrue(device["fallback"])
        self.assertIn("simulates", device["reason"])

    def test_inspect_tells_what_a_gpu_lacks_without_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            path.write_bytes(onnx_writer.model(
                [onnx_writer.node("MatMulInteger", ["x", "w"], ["sums"], name="whole"),
                 onnx_writer.node("Cast", ["sums"], ["small"], to=onnx_writer.UINT8),
                 onnx_writer.node("MatMulInteger", ["small", "w"], ["y"])],
                [onnx_writer.tensor("w", [2, 2], bytes([1, 2, 3, 4]), onnx_writer.UINT8)],
                [onnx_writer.value("x", ["N", 2], onnx_writer.UINT8)], [onnx_writer.value("y", ["N", 2], onnx_writer.INT32)]))
            for arguments, env in ((("--cuda-module", MODULE), None), ((), {"WEIR_CUDA_MODULE": str(MODULE)})):
                result = run_weir("inspect", *arguments, path, env=env)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, r"\ncuda +lacks operators:\n  node 0 'whole' \(MatMulInteger.*\n"
                                 r"  node 2 .*MatMulInteger")
            result = run_weir("inspect", "--cuda-module", folder + "/none.so", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"\ncuda +cannot be told: .*none\.so")
            self.assertRegex(run_weir("inspect", "--cuda-module", MODULE, DIGITS).stdout, r"\ncuda +runs all steps\n")

    def test_more_gpus_than_there_are_is_a_fault(self):
        result = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda", "--cuda-module", MODULE,
                          "--allow-simulated", "1", "--gpu-count", "16")
        self.assertEqual(result.returncode, 4)
        self.assertIn("gpu_count is 16", result.stderr)

    def test_a_precision_that_the_device_lacks_is_its_fault(self):
        old = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda", "--cuda-module", MODULE, "--allow-simulated", "1",
                       "--precision", "bf16", env={"CUDA_DOUBLE": "major=7"})
        self.assertEqual(old.returncode, 4, old.stderr)
        self.assertIn("bf16 need compute capability 8.0", old.stderr)
        none = run_weir("serve", DIGITS, "--port", "0", "--precision", "tf32")
        self.assertEqual(none.returncode, 4, none.stderr)
        self.assertIn("precision tf32 and fp16 are for GPUs", none.stderr)


@unittest.skipUnless(MODULE.exists(), "built without the CUDA double")
class Telemetry(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-nvml-")
        self.addCleanup(shutil.rmtree, self.folder)

    def server(self, double="", **options):
        """A server that finds the NVML double where it looks for the driver's library."""
        os.symlink(NVML, os.path.join(self.folder, "libnvidia-ml.so.1"))
        env = {"LD_LIBRARY_PATH": self.folder, "NVML_DOUBLE": double, "CUDA_DOUBLE": "devices=2"}
        return Server(DIGITS, env=env, **{**GPU, **options})

    @staticmethod
    def gpus(server):
        return server.request("GET", "/health").json()["device"]["gpus"]

    def known(self, server, member="memory_total_bytes"):
        return eventually(lambda: [gpu for gpu in self.gpus(server) if member in gpu], what=member)

    def test_health_and_metrics_tell_what_nvml_tells(self):
        with self.server("devices=2", gpu_count=2) as server:
            eventually(lambda: len(self.known(server)) == 2, what="both GPUs' numbers")
            gpu = self.gpus(server)[1]
            self.assertEqual(gpu["bus_id"], "0000:02:00.0")
            self.assertEqual(gpu["name"], "SIMULATED GPU 1")
            self.assertEqual(gpu["driver"], "580.00.double")
            self.assertEqual((gpu["utilization"], gpu["temperature_celsius"], gpu["power_watts"]), (0.37, 41, 98))
            self.assertFalse(gpu["lost"])
            page = server.metrics()
            for device in (0, 1):
                self.assertEqual(page.total("weir_gpu_utilization_ratio", device=device), 0.37)
                self.assertEqual(page.total("weir_gpu_memory_total_bytes", device=device), 256 << 20)
                self.assertEqual(page.total("weir_gpu_sm_clock_hertz", device=device), 1.98e9)
                self.assertEqual(page.total("weir_gpu_lost", device=device), 0)
            self.assertEqual(page.values("weir_gpu_info", "driver"), {"580.00.double"})
            threads = pathlib.Path("/proc/%d/task" % server.process.pid).glob("*/comm")
            self.assertEqual(sum(name.read_text(encoding="ascii").startswith("sampler") for name in threads), 1)

    def test_triton_s_names_are_there_for_who_asks(self):
        with self.server("devices=2", gpu_count=2, metrics_triton_names=1) as server:
            eventually(lambda: len(self.known(server)) == 2, what="both GPUs' numbers")
            page = server.metrics()
            uuids = page.values("weir_gpu_info", "uuid")
            self.assertEqual(len(uuids), 2)
            for name, value in (("utilization", 0.37), ("memory_total_bytes", 256 << 20), ("power_usage", 98), ("power_limit", 700)):
                self.assertEqual(page.values("nv_gpu_" + name, "gpu_uuid"), uuids)
                for uuid in uuids:
                    self.assertEqual(page.total("nv_gpu_" + name, gpu_uuid=uuid), value)
            self.assertEqual(page.values("nv_gpu_memory_used_bytes", "gpu_uuid"), uuids)

    def test_numbers_that_no_gpu_has_are_absent(self):
        with self.server("ones=1", metrics_triton_names=1) as server:
            eventually(lambda: self.gpus(server)[0].get("name"), what="the texts")
            page = server.request("GET", "/metrics").body.decode()
            self.assertIn("weir_gpu_info", page)
            self.assertEqual([line for line in page.splitlines() if line.startswith(("weir_gpu_", "nv_gpu_")) and "info" not in line and "lost" not in line and "ecc" not in line], [])

    def test_the_status_page_has_the_mean_and_the_sum_of_the_gpus(self):
        with self.server("devices=2", gpu_count=2) as server, Events(server) as events:
            point = events.until("points", lambda data: data["gpu_permille"] and data["gpu_permille"][-1] is not None)
            self.assertEqual(point["gpu_permille"][-1], 370)
            self.assertEqual(point["gpu_memory_total_mib"][-1], 512)
            self.assertEqual(len(events.until("health", lambda data: data["device"].get("gpus"))["device"]["gpus"]), 2)

    def test_what_cannot_be_read_is_absent_and_never_zero(self):
        with self.server("mig=1") as server:
            gpu = self.known(server)[0]
            self.assertNotIn("utilization", gpu)
            page = server.request("GET", "/metrics").body.decode()
        self.assertNotIn("weir_gpu_utilization_ratio", page)
        self.assertNotIn("nv_gpu", page)
        self.assertIn("weir_gpu_temperature_celsius", page)

    def test_a_driver_that_does_not_answer_is_named_and_the_server_serves(self):
        with self.server("error=18") as server:
            self.assertIn("upgraded", self.known(server, "unavailable")[0]["unavailable"])
            eventually(lambda: "upgraded" in self.gpus(server)[0]["unavailable"], what="the reason")
            self.assertEqual(server.request("POST", "/predict", {"instances": rows(1)}).status, 200)
            self.assertNotIn("weir_gpu_temperature", server.request("GET", "/metrics").body.decode())

    def test_without_the_library_health_says_so(self):
        with Server(DIGITS, **GPU) as server:
            eventually(lambda: "libnvidia-ml" in self.gpus(server)[0].get("unavailable", ""), what="the reason")

    def test_a_gpu_that_falls_off_the_bus_ends_the_service_with_its_own_exit_code(self):
        with self.server("lost=1") as server:
            server.expected_exit = 75
            server.process.wait(20)
            self.assertEqual(len(server.events("device_lost")), 1)
            self.assertRegex(server.log(), re.compile("device_lost.*GPU is lost"))

    def test_on_the_cpu_nothing_of_nvidia_is_opened(self):
        with self.server(device="cpu") as server:
            health = server.request("GET", "/health").json()["device"]
            self.assertNotIn("gpus", health)
            self.assertNotIn("weir_gpu_", server.request("GET", "/metrics").body.decode())
            process = pathlib.Path("/proc/%d" % server.process.pid)
            self.assertNotRegex(process.joinpath("maps").read_text(encoding="ascii"), r"nvml|nvidia|cuda")
            names = [name.read_text(encoding="ascii") for name in process.glob("task/*/comm")]
            self.assertFalse([name for name in names if name.startswith("sampler")])
