"""The CUDA module on a simulated GPU (tests/double), opened by the real server. Left out where it was not built."""

import json
import os
import pathlib
import unittest

from harness import ROOT, WEIR, Server, run_weir

MODULE = pathlib.Path(WEIR).parent / "tests" / "weir_cuda_sim.so"
DIGITS = ROOT / "models" / "digits"
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
        with Server(DIGITS, **GPU) as server:
            health = server.request("GET", "/health").json()["device"]
            self.assertIn("SIMULATED", json.dumps(health))
            self.assertFalse(health["fallback"])
            self.assertRegex(server.events("model_on_device")[0], r"model=digits version=\d+ device=0 report=\"weights .*MiB")
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

    def test_more_gpus_than_there_are_is_a_fault(self):
        result = run_weir("serve", DIGITS, "--port", "0", "--device", "cuda", "--cuda-module", MODULE,
                          "--allow-simulated", "1", "--gpu-count", "16")
        self.assertEqual(result.returncode, 4)
        self.assertIn("gpu_count is 16", result.stderr)
