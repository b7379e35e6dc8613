"""loadtest/gpu_check.py: a part that hangs or breaks hurts no other, and every part runs through on the CUDA double."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest

from harness import ROOT, WEIR

sys.path.insert(0, str(ROOT / "loadtest"))
import gpu_check  # noqa: E402
import gpu_speed  # noqa: E402
from gpu_tools import NoGpu, Skip  # noqa: E402

ALONE = True

BUILD = pathlib.Path(WEIR).parent
QUESTIONS = 5


class Runner(unittest.TestCase):
    def run_parts(self, *parts, limit=60.0):
        options = types.SimpleNamespace(build=str(BUILD), simulated=True, quick=True, limit=limit, part=set())
        check = gpu_check.run(options, [(function.__name__, 0.5, function) for function in parts])
        return check, {part["part"]: part["outcome"] for part in check.parts}

    def test_a_part_that_hangs_is_cut_and_what_it_started_ends(self):
        pids = []

        def hanging(check):
            pids.append(check.start(["sleep", "600"]).pid)
            time.sleep(600)

        def waiting(check):
            check.run(["sleep", "600"])

        def telling(check):
            check.programs = pathlib.Path("/bin")
            check.measure("sh", "-c", 'echo \'{"row": "first", "value": 7, "unit": "us"}\'; sleep 600')

        def after(check):
            check.row("after", 1)

        began = time.monotonic()
        check, outcomes = self.run_parts(hanging, waiting, telling, after)
        self.assertLess(time.monotonic() - began, 30)
        self.assertRegex(outcomes["hanging"], "cut after")
        self.assertRegex(outcomes["waiting"], "cut after|took longer")
        self.assertEqual(outcomes["after"], "done")
        self.assertFalse(os.path.exists("/proc/%d" % pids[0]))
        self.assertEqual([row["verdict"] for row in check.rows], ["failed", "failed", "shown", "failed", "shown"])
        self.assertEqual((check.rows[2]["row"], check.rows[2]["value"]), ("until then: first", 7))

    def test_a_part_that_breaks_fails_alone_and_one_that_cannot_run_says_why(self):
        def broken(check):
            raise KeyError("a row that is not there")

        def missing(check):
            raise Skip("its tool is missing")

        def program(check):
            check.run([BUILD / "no-such-program"])

        def judged(check):
            check.most("too much", 2.0, 1.0)
            check.least("enough", 2.0, 1.0)
            check.equal("unknown", None, 1)

        check, outcomes = self.run_parts(broken, missing, program, judged)
        self.assertRegex(outcomes["broken"], "failed: KeyError")
        self.assertEqual(outcomes["missing"], "skipped: its tool is missing")
        self.assertRegex(outcomes["program"], "no-such-program is missing")
        self.assertEqual([row["verdict"] for row in check.rows], ["failed", "skipped", "failed", "missed", "good", "missed"])

    def test_torch_is_beaten_or_not_at_the_worst_batch_size(self):
        def beside(check):
            check.store["graph times"] = {("net", "fp32"): {1: 10.0, 4: 30.0}, ("net", "tf32"): {1: 10.0}}
            rows = {"graph, fp32, 1 rows": {"value": 20.0}, "graph, fp32, 4 rows": {"value": 20.0},
                    "graph, tf32, 1 rows": {"value": 9.0}, "error, fp32, 1 rows": {"value": 1e-7}}
            for precision in ("fp32", "tf32", "bf16"):
                gpu_speed.compare(check, "net", precision, rows)

        check, _ = self.run_parts(beside)
        judged = {row["row"]: (row["value"], row["verdict"]) for row in check.rows if "worst" in row["row"]}
        self.assertEqual(judged, {"net fp32: ours over torch's graph, worst batch size": (1.5, "missed"),
                                  "net tf32: ours over torch's graph, worst batch size": (10 / 9, "good")})

    def test_when_the_time_is_up_the_rest_is_left_out(self):
        def slow(check):
            time.sleep(0.3)

        def late(check):
            raise AssertionError("it must not run")

        check, outcomes = self.run_parts(slow, late, limit=3.2)
        self.assertEqual(outcomes, {"slow": "done", "late": "no time was left"})
        self.assertEqual(check.rows[-1]["verdict"], "skipped")

    def test_without_a_gpu_it_ends_at_once(self):
        def machine(check):
            raise NoGpu("there is none")

        def late(check):
            raise AssertionError("it must not run")

        self.assertTrue(self.run_parts(machine, late)[0].no_gpu)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
    def test_without_a_gpu_the_program_says_so(self):
        done = subprocess.run([sys.executable, ROOT / "loadtest" / "gpu_check.py", "--build", BUILD], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("no usable GPU", done.stdout)


    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
    @unittest.skipUnless((BUILD / "device" / "engine").exists(), "built without nvcc")
    def test_programs_linked_with_cuda_itself_end_cleanly_without_a_gpu(self):
        for name in ("floor", "fault", "products", "engine", "kernels", "moves", "layers"):
            arguments = ["oracle"] if name == "engine" else []
            done = subprocess.run([BUILD / "device" / name, *arguments], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 3, "%s: %s%s" % (name, done.stdout, done.stderr))
            self.assertRegex(done.stdout + done.stderr, "no usable GPU|no device")


    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
    @unittest.skipUnless((BUILD / "device" / "weir_cuda_fault.so").exists(), "built without nvcc")
    def test_the_module_that_breaks_passes_on_what_the_real_one_says(self):
        done = subprocess.run(
            [WEIR, "serve", ROOT / "models" / "digits", "--port", "0", "--device", "cuda", "--cuda-module",
             BUILD / "device" / "weir_cuda_fault.so"],
            env={**os.environ, "GPU_FAULT_MODULE": str(BUILD / "weir_cuda.so")}, capture_output=True, text=True, timeout=60,
            check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("no NVIDIA driver", done.stderr)


@unittest.skipUnless((BUILD / "device-simulated" / "engine").exists(), "built without the CUDA double")
class Simulated(unittest.TestCase):
    def test_every_part_runs_through_on_the_double(self):
        with tempfile.TemporaryDirectory(prefix="weir-gpu-check-") as folder:
            done = subprocess.run(
                [sys.executable, ROOT / "loadtest" / "gpu_check.py", "--simulated", "--quick", "--build", BUILD, "--out", folder],
                capture_output=True, text=True, timeout=240, check=False)
            said = done.stdout + done.stderr
            report = json.loads(pathlib.Path(folder, "gpu_check.json").read_text(encoding="utf-8"))
        self.assertEqual(done.returncode, 0, said)
        outcomes = {part["part"]: part["outcome"] for part in report["parts"]}
        self.assertEqual(list(outcomes), [name for name, _, _ in gpu_check.PARTS])
        for part, outcome in outcomes.items():
            if part == "sanitizer":
                self.assertRegex(outcome, "skipped")
            elif part == "torch":
                self.assertRegex(outcome, "done|skipped: torch is missing")
            else:
                self.assertEqual(outcome, "done", said)
        self.assertEqual({row["verdict"] for row in report["rows"]} & {"missed", "failed"}, set())
        self.assertGreater(sum(row["verdict"] == "good" for row in report["rows"]), 60)
        self.assertEqual(len(report["answers"]), QUESTIONS)
        for answer in report["answers"]:
            self.assertNotIn("not known", answer["answer"], answer["question"])
        split = [row["value"] for row in report["rows"] if row["row"].endswith("other bits than alone, fp32, any algorithm")]
        self.assertGreater(split[0], 0, "the double splits sums where it may: that must be seen")
        self.assertRegex(report["command"], re.compile("--simulated"))
