"""`weir verify`: known samples against the device path, from the command line."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy
import reference
import versions
from harness import ROOT, WEIR, run_weir

SHAPE = {
    "model": str, "version": int, "file": str, "samples_directory": str, "device": dict, "samples": int,
    "samples_alone": int, "batches": list, "agree": bool, "first_difference": (str, type(None)),
}
LINE = {"rows": int, "batches": int, "output": str, "worst_error": (int, float), "allowed": (int, float), "elements_off": int}


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = pathlib.Path(folder.name) / "demo"
        reference.write(str(self.model / "v2" / "model.onnx"), reference.demo_bytes(2))

    def samples(self, wrong=False):
        versions.write_samples(str(self.model / "v2"), 2, wrong)
        return self.model / "v2" / "samples"

    def verify(self, *arguments, code=0):
        result = run_weir("verify", self.model, "--device", "cpu", *arguments)
        self.assertEqual(result.returncode, code, result)
        return result

    def report(self, *arguments, code=0):
        report = json.loads(self.verify("--json", *arguments, code=code).stdout)
        self.check_shape(report, SHAPE)
        for line in report["batches"]:
            self.check_shape(line, LINE)
        self.check_shape(report["device"], {"name": str, "precision": str, "description": str})
        return report

    def check_shape(self, value, shape):
        self.assertEqual(list(value), list(shape))
        for name, kinds in shape.items():
            self.assertIsInstance(value[name], kinds, name)

    def test_samples_that_agree(self):
        self.samples()
        text = self.verify().stdout
        self.assertRegex(text, r"(?m)^model    demo, version 2: .*/demo/v2/model\.onnx$")
        self.assertRegex(text, r"(?m)^device   cpu, fp32: .+$")
        self.assertRegex(text, r"(?m)^samples  5 in .*/v2/samples$")
        self.assertRegex(text, r"(?m)^rows  batches  worst error  allowed    off  output$")
        for rows, batches in ((1, 5), (7, 1), (32, 1)):
            self.assertRegex(text, r"(?m)^ *%d +%d +\S+ +\S+ +0  y$" % (rows, batches))
        self.assertEqual(text.splitlines()[-1], "ok: 5 samples agree in 7 batches")

    def test_samples_that_do_not(self):
        self.samples(wrong=True)
        result = self.verify(code=1)
        self.assertRegex(result.stdout.splitlines()[-1], r'^not ok: sample 3 at batch 1: output "y"\[2\]: got \S+, expected ')
        self.assertEqual(result.stderr, "")
        report = self.report(code=1)
        self.assertFalse(report["agree"])
        self.assertIn("sample 3 at batch 1", report["first_difference"])
        self.assertEqual([line["elements_off"] for line in report["batches"]], [1, 1, 6])
        for line in report["batches"]:
            self.assertAlmostEqual(line["worst_error"], 0.25, places=4)

    def test_the_settings_are_those_of_the_server(self):
        self.samples()
        report = self.report("--batch-size", "4", "--cpu-threads", "2")
        self.assertEqual([line["rows"] for line in report["batches"]], [1, 3, 4])
        self.assertTrue(report["agree"])
        config = self.model.parent / "weir.yaml"
        config.write_text("model_path: %s\nbatch_size: 2\ndevice: cpu\n" % self.model)
        result = run_weir("verify", "-c", config, "--json")
        self.assertEqual([line["rows"] for line in json.loads(result.stdout)["batches"]], [1, 2])

    def test_what_is_recorded_agrees_and_is_what_the_device_gives(self):
        folder = self.samples(wrong=True)
        shutil.rmtree(folder)
        folder.mkdir()
        rows = numpy.arange(20, dtype="<f4").reshape(5, 4)
        numpy.save(folder / "input.x.npy", rows)
        self.assertIn("output.y.npy: is missing", self.verify(code=3).stderr)
        report = self.report("--record")
        self.assertTrue(report["agree"])
        self.assertEqual(report["batches"][0]["worst_error"], 0, "each was recorded alone")
        expected = [reference.demo_answer(row, 2) for row in rows.tolist()]
        numpy.testing.assert_allclose(numpy.load(folder / "output.y.npy"), expected, rtol=1e-5)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["input.x.npy", "output.y.npy"])

    def test_what_cannot_be_verified(self):
        self.assertRegex(self.verify(code=3).stderr, r"/v2/samples: there is no such directory")
        self.assertRegex(self.verify("--samples", "/nowhere", code=3).stderr, r"^weir: /nowhere: there is no such directory")
        self.assertRegex(run_weir("verify").stderr, r"one MODEL")
        self.assertEqual(run_weir("verify").returncode, 2)
        self.assertIn("--samples: expected a directory", self.verify("--samples", code=2).stderr)
        self.assertIn("--bach-size: unknown flag, did you mean --batch-size?", self.verify("--bach-size", "3", code=2).stderr)
        (self.model / "v3").mkdir()
        (self.model / "v3" / "model.onnx").write_bytes(b"nonsense")
        self.assertRegex(self.verify(code=3).stderr, r"/v3/model\.onnx: ")
        result = run_weir("verify", self.model, "--device", "cuda", "--cuda-module", "/nowhere/weir_cuda.so")
        self.assertEqual(result.returncode, 4, result)

    def test_an_output_that_cannot_be_written_is_an_error(self):
        self.samples()
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([WEIR, "verify", self.model, "--device", "cpu"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 5, result)
        self.assertIn("the output cannot be written", result.stderr)

    def test_the_example_agrees_also_on_a_simulated_gpu(self):
        module = pathlib.Path(WEIR).parent / "tests" / "weir_cuda_sim.so"
        self.model = ROOT / "models" / "digits"
        self.assertTrue(self.report()["agree"])
        if not module.exists():
            self.skipTest("no simulated GPU in this build")
        report = json.loads(run_weir("verify", self.model, "--json", "--device", "cuda", "--allow-simulated", "1", "--cuda-module", module).stdout)
        self.assertTrue(report["agree"], report)
        self.assertEqual(report["device"]["name"], "cuda")
        self.assertIn("SIMULATED", report["device"]["description"])


if __name__ == "__main__":
    unittest.main()
