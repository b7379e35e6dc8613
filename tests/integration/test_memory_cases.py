"""What loading a model may take: its weights once, and the largest of them twice while it is packed."""

import os
import pathlib
import re
import tempfile
import unittest

import numpy

import onnx_writer as onnx
import reference
from harness import ROOT, WEIR, Server, run_weir

ALONE = True

COLUMNS, ROWS = 2048, 32
MIB = 1 << 20


def is_sanitized():
    data = pathlib.Path(WEIR).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def peak_bytes(server):
    text = pathlib.Path("/proc/%d/status" % server.process.pid).read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", text).group(1)) * 1024


def write_model(path, layers, kind):
    """A chain of square layers, as Gemm with transposed weights or as MatMul; returns the bytes of all weights."""
    random = numpy.random.default_rng(7)
    nodes, tensors, before = [], [], "x"
    for number in range(layers):
        weights = (random.standard_normal((COLUMNS, COLUMNS)) / 64).astype(numpy.float32)
        name, after = "w%d" % number, "y" if number == layers - 1 else "t%d" % number
        tensors.append(onnx.tensor(name, weights.shape, weights.tobytes()))
        nodes.append(onnx.node("Gemm", [before, name], [after], transB=1) if kind == "Gemm"
                     else onnx.node("MatMul", [before, name], [after]))
        before = after
    port = ["N", COLUMNS]
    reference.write(path, onnx.model(nodes, tensors, [onnx.value("x", port)], [onnx.value("y", port)]))
    return layers * COLUMNS * COLUMNS * 4


@unittest.skipIf(is_sanitized(), "a sanitizer's own memory would be measured")
class Loading(unittest.TestCase):
    def peak_over_base(self, kind):
        """(peak of a server with the model over that with a small one, weights, largest tensor, arena and staging)."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model", "1", "model.onnx")
            weights = write_model(path, 4, kind)
            arena = int(re.search(r"(\d+) for %d" % ROWS, run_weir("inspect", path).stdout).group(1))
            with Server(os.path.join(folder, "model")) as server:
                peak = peak_bytes(server)
        with Server(ROOT / "models" / "digits") as server:
            peak -= peak_bytes(server)
        return peak, weights, weights // 4, arena + 2 * ROWS * COLUMNS * 4

    def test_weights_are_in_memory_once_while_a_model_is_loaded(self):
        for kind in ("Gemm", "MatMul"):
            with self.subTest(kind):
                peak, weights, largest, plan = self.peak_over_base(kind)
                self.assertGreater(peak, 0.9 * weights, "the weights are resident at all")
                self.assertLessEqual(peak, 1.1 * (weights + largest) + plan + 2 * MIB)

    def test_after_loading_no_copy_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model", "1", "model.onnx")
            weights = write_model(path, 4, "MatMul")
            with Server(os.path.join(folder, "model")) as server:
                server.request("POST", "/predict", {"instances": [[0.5] * COLUMNS]})
                text = pathlib.Path("/proc/%d/status" % server.process.pid).read_text(encoding="ascii")
        resident = int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024
        self.assertLessEqual(resident, 1.1 * weights + 40 * MIB)
