"""Broken model files (tests/fuzz/mutated_models.py): each is refused, or loads, within bounds of time and memory, and a refusal
names the place. What loads also runs."""

import concurrent.futures
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy

from harness import ROOT, SANITIZER_REPORT, WEIR

sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "tests" / "conformance")]

import mutated_models  # noqa: E402
from network_process import Crashed, NetworkProcess, Refused  # noqa: E402

SECONDS, MEMORY_MIB = 2.0, 512
RUN_NETWORK = pathlib.Path(WEIR).parent / "tests" / "run_network"
# Where it is: a node, a tensor or value by name, a byte of the file, or what is wrong with the file as a whole.
PLACE = re.compile(r"node \d+|'[^']*'|\bbyte \d+|\bopset\b|it has \d+ bytes|no (?:graph|nodes|inputs?|outputs?)\b|"
                   r"input or output without a name|\d+ nodes|sparse initializers")


def environment():
    """Under AddressSanitizer an allocation that is too large must give NULL, as it does without."""
    options = "allocator_may_return_null=1:hard_rss_limit_mb=%d:max_allocation_size_mb=2048" % (2 * MEMORY_MIB)
    given = os.environ.get("ASAN_OPTIONS")
    return {**os.environ, "ASAN_OPTIONS": given + ":" + options if given else options}


def bound_memory():
    """In the child: no more address space than the bound, but where a sanitizer has reserved its own."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not IS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY_MIB << 20, 2 * MEMORY_MIB << 20))


def is_sanitized():
    return b"__asan_init" in pathlib.Path(WEIR).read_bytes()


IS_SANITIZED = is_sanitized()


def inspect(path):
    """(exit code, what it wrote, seconds, peak in MiB) of `weir inspect`."""
    with tempfile.TemporaryFile() as written:
        began = time.monotonic()
        process = subprocess.Popen([WEIR, "inspect", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=written, env=environment(), preexec_fn=bound_memory)
        killer = threading.Timer(10 * SECONDS, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        written.seek(0)
        text = written.read().decode("utf-8", "replace")
        return process.returncode, text, time.monotonic() - began, usage.ru_maxrss / 1024


def place_is_named(text):
    reason = text.partition("model.onnx: ")[2] or text
    return bool(PLACE.search(reason))


class MalformedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.paths = {}
        for name, data in mutated_models.models():
            path = pathlib.Path(cls.folder.name) / name / "1" / "model.onnx"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
            cls.paths[name] = path

    def test_each_is_refused_by_place_or_loads_within_bounds(self):
        self.assertGreaterEqual(len(self.paths), 200)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = dict(zip(self.paths, pool.map(inspect, self.paths.values())))
        faults = []
        for name, (code, text, seconds, mib) in results.items():
            if code not in (0, 3):
                faults.append("%s: ended with %d: %s" % (name, code, text[-400:]))
            elif SANITIZER_REPORT.search(text):
                faults.append("%s: %s" % (name, text[-400:]))
            elif seconds > SECONDS * (3 if IS_SANITIZED else 1):
                faults.append("%s: took %.1f s" % (name, seconds))
            elif mib > MEMORY_MIB:
                faults.append("%s: took %.0f MiB" % (name, mib))
            elif code == 3 and not place_is_named(text):
                faults.append("%s: names no place: %s" % (name, text.strip()[-300:]))
        self.assertEqual(faults, [], "\n".join(faults))
        self.assertGreater(sum(1 for code, *_ in results.values() if code == 3), 150)

    @unittest.skipUnless(RUN_NETWORK.exists(), "run_network is not built")
    def test_those_that_load_run_or_say_why_not(self):
        faults, ran = [], 0
        with NetworkProcess(RUN_NETWORK, environment=environment()) as process:
            for name, path in self.paths.items():
                try:
                    signature = process.signature(path)
                    arrays = [numpy.ones([3 if size < 0 else size for size in dims], dtype)
                              for dtype, dims, _ in signature.inputs if dtype != "bfloat16"]
                    if len(arrays) == len(signature.inputs) and sum(array.size for array in arrays) < 1 << 22:
                        process.run(path, arrays, "limit 20")
                        ran += 1
                except Refused:
                    continue
                except Crashed as crash:
                    faults.append("%s: %s" % (name, crash))
        self.assertEqual(faults, [], "\n".join(faults))
        self.assertGreater(ran, 5)
