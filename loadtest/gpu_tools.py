"""What the parts of gpu_check.py share: programs with time limits, rows with goals, models with known answers."""

import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

MIB = 1 << 20
# Relative error of one layer, by precision (relative to all numbers, Frobenius); several layers: times their root.
TOLERANCES = {"fp32": 1e-5, "tf32": 1e-3, "fp16": 1e-3, "bf16": 1e-2}
BATCHES = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256]


class NoGpu(Exception):
    """There is none that can be used: the check ends."""


class Skip(Exception):
    """This part cannot run here, and why."""


class Failed(Exception):
    """A program that did not do its part; out is what it printed until then."""

    def __init__(self, text, out=""):
        super().__init__(text)
        self.out = out


class OutOfTime(BaseException):
    """The part's limit has passed. No Exception, so that no handler in between keeps it."""


def first_line(text):
    lines = [line for line in str(text).strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


class Check:
    """The check under way: where things are, what has been found."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.began = time.monotonic()
        self.build = pathlib.Path(options.build).resolve()
        self.simulated, self.quick = options.simulated, options.quick
        self.rows, self.parts, self.store = [], [], {}
        self.part, self.part_end = "", 0.0
        self.children, self.background = [], []
        self.no_gpu = False
        self.programs = self.build / ("device-simulated" if self.simulated else "device")
        self.module = self.build / ("tests/weir_cuda_sim.so" if self.simulated else "weir_cuda.so")
        # The NVML double stands where the driver's library would be looked for.
        self.nvml_folder = folder / "nvml"
        self.nvml_folder.mkdir()
        if self.simulated:
            (self.nvml_folder / "libnvidia-ml.so.1").symlink_to(self.build / "tests" / "libnvml_double.so")
        self.smi = str(ROOT / "tests" / "fakes" / "nvidia-smi") if self.simulated else shutil.which("nvidia-smi")
        self.libraries = [str(self.build / "lib")] if (self.build / "lib").is_dir() else []
        if self.simulated:
            self.libraries.append(str(self.nvml_folder))
        else:
            self.libraries += find_cublaslt()

    def elapsed(self):
        return time.monotonic() - self.began

    def close(self):
        for child in self.children + self.background:
            end_group(child)
        self.children, self.background = [], []

    # ------------------------------------------------------------ parts

    def run_part(self, name, limit, function):
        """Runs it within its limit and what is left of all; whatever happens in it stays in it."""
        left = self.options.limit - self.elapsed()
        self.part, outcome, began = name, "done", time.monotonic()
        if left < 3:
            self.row("the part", None, verdict="skipped", note="no time was left")
            self.parts.append({"part": name, "seconds": 0, "outcome": "no time was left"})
            return
        seconds = min(limit, left)
        self.part_end = began + seconds

        def over(*unused):
            raise OutOfTime()

        before = signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            try:
                function(self)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except NoGpu:
            raise
        except OutOfTime:
            outcome = "cut after %.0f s" % seconds
            self.row("the part", None, verdict="failed", note=outcome)
        except Skip as error:
            outcome = "skipped: %s" % error
            self.row("the part", None, verdict="skipped", note=str(error))
        except Exception as error:  # a part that fails, fails alone
            outcome = "failed: %s: %s" % (type(error).__name__, error)
            self.row("the part", None, verdict="failed", note=outcome)
        finally:
            signal.signal(signal.SIGALRM, before)
            for child in self.children:
                end_group(child)
            self.children = []
        if outcome != "done":
            print("         %s" % outcome, flush=True)
        self.parts.append({"part": name, "seconds": round(time.monotonic() - began, 1), "outcome": outcome})

    def row(self, name, value, unit="", goal="", good=None, verdict=None, note="", **more):
        """One line of the result. good: was the goal met? detail: in the file, not in the table."""
        verdict = verdict or ("shown" if good is None else "good" if good else "missed")
        if note and verdict in ("failed", "skipped", "missed") and not goal:
            goal = note[:90]
        self.rows.append({"part": self.part, "row": name, "value": value, "unit": unit, "goal": goal, "verdict": verdict,
                          "note": note, **more})

    def most(self, name, value, limit, unit="", **more):
        """A row whose figure must not be above the limit."""
        good = value is not None and value <= limit
        self.row(name, value, unit, "at most %.4g" % limit, good, **more)

    def least(self, name, value, limit, unit="", **more):
        good = value is not None and value >= limit
        self.row(name, value, unit, "at least %.4g" % limit, good, **more)

    def equal(self, name, value, wanted, unit="", **more):
        self.row(name, value, unit, "%s" % (wanted,), value == wanted, **more)

    def figure(self, name, value, limit, unit=""):
        """A figure with a goal, on a GPU; on the double it is only shown."""
        if self.simulated:
            self.row(name, value, unit)
        else:
            self.most(name, value, limit, unit)

    # ------------------------------------------------------------ programs

    def environment(self, program=None, **more):
        """For our own programs; libraries that were carried would only confuse those of the machine."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        own = program is None or self.build in pathlib.Path(str(program)).parents
        if not own:
            return env
        paths = self.libraries + [path for path in env.get("LD_LIBRARY_PATH", "").split(":") if path]
        env["LD_LIBRARY_PATH"] = ":".join(paths)
        env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        env.update({name: str(value) for name, value in more.items()})
        return env

    def start(self, command, env=None, background=False, **options):
        """A child in a session of its own; it ends with the part at the latest, or in the background with the check."""
        child = subprocess.Popen([str(item) for item in command], stdin=subprocess.DEVNULL, start_new_session=True,
                                 env=env or self.environment(command[0]), **options)
        (self.background if background else self.children).append(child)
        return child

    def run(self, command, env=None, limit=None, fine=(0,)):
        """Runs a program to its end; returns its standard output."""
        if not pathlib.Path(str(command[0])).exists() and not shutil.which(str(command[0])):
            raise Failed("%s is missing" % command[0])
        child = self.start(command, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        left = max(0.1, self.part_end - time.monotonic() - 0.3)  # before the part is cut, to keep what it printed
        seconds = min(limit or left, left)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_group(child)
            name = pathlib.Path(str(command[0])).name
            raise Failed("%s took longer than %.0f s" % (name, seconds), child.communicate()[0]) from None
        finally:
            if child in self.children:
                self.children.remove(child)
            end_group(child)
        if child.returncode == 3 and "no usable GPU" in err:
            raise NoGpu(first_line(err))
        if child.returncode not in fine:
            raise Failed("%s ended with %d: %s" % (
                pathlib.Path(str(command[0])).name, child.returncode, first_line(err) or first_line(out)), out)
        return out

    def measure(self, name, *arguments, **options):
        """Runs a program of tests/device; returns {row: {"value", "unit", ...}}."""
        try:
            return read_rows(self.run([self.programs / name, *arguments], **options))
        except Failed as error:
            self.show(read_rows(error.out), "until then: ")
            raise

    def show(self, rows, prefix="", verdict=None, only=None):
        """Rows of a program, as they are."""
        for name, row in rows.items():
            if only is None or name.startswith(only):
                more = {key: row[key] for key in ("p99", "min") if key in row}
                self.row(prefix + name, row["value"], row["unit"], verdict=verdict, **more)

    # ------------------------------------------------------------ the card

    def query_smi(self):
        """{name: text} of the first GPU, None where it is not told."""
        if not self.smi:
            raise Skip("nvidia-smi is missing")
        names = ["name", "driver_version", "pci.bus_id", "memory.total", "memory.used"]
        more = ["utilization.gpu", "temperature.gpu", "power.draw", "clocks.sm", "ecc.errors.uncorrected.volatile.total",
                "mig.mode.current", "persistence_mode"]
        try:
            line = self.ask_smi(names + more)
            names += more
        except Failed:  # it knows one of these by another name
            line = self.ask_smi(names)
        values = [text.strip() for text in line.splitlines()[0].split(",")]
        told = {name: None if "N/A" in text or "Not Supported" in text else text for name, text in zip(names, values)}
        return {name: told.get(name) for name in dict.fromkeys(names + more)}

    def ask_smi(self, names):
        return self.run([self.smi, "--query-gpu=" + ",".join(names), "--format=csv,noheader,nounits"], limit=15)

    def memory_used(self):
        """MiB of the card that are in use, by nvidia-smi; None if it does not tell."""
        try:
            return float(self.query_smi()["memory.used"])
        except (Skip, Failed, TypeError, ValueError, IndexError):
            return None


def read_rows(out):
    """{row: the rest} of what a program of tests/device printed."""
    rows = {}
    for line in out.splitlines():
        if line.startswith("{") and line.endswith("}"):
            row = json.loads(line)
            rows[row.pop("row")] = row
    return rows


def end_group(child):
    """Ends a child and everything it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        pass


def find_cublaslt():
    """Folders that hold libcublasLt.so.13: the toolkit's, else that of a Python package."""
    found = []
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    if nvcc:
        homes.insert(0, str(pathlib.Path(os.path.realpath(nvcc)).parents[1]))
    for home in filter(None, homes):
        found += glob.glob(home + "/lib*/libcublasLt.so.13") + glob.glob(home + "/targets/*/lib/libcublasLt.so.13")
    for path in filter(None, sys.path):
        found += glob.glob(path + "/nvidia/*/lib/libcublasLt.so.13")
    return [os.path.dirname(found[0])] if found else []


# ---------------------------------------------------------------- models


def models(check):
    """{name: sizes} of the dense networks that are measured."""
    if check.quick or check.simulated:
        return {"64-48-10": [64, 48, 10]}
    return {"784-512-256-10": [784, 512, 256, 10], "1024-1024-1024-256": [1024, 1024, 1024, 256],
            "64-4096-4096-10": [64, 4096, 4096, 10]}


def most_rows(check):
    return 16 if check.quick or check.simulated else 256


def write_mlp(check, name):
    """The network as FOLDER/1/model.onnx with x.f32 (rows), y.f64 (their answers in float64) and weights.npz beside it.
    Returns the folder."""
    import numpy
    import onnx_writer

    folder = check.folder / "models" / name
    if (folder / "weights.npz").exists():
        return folder
    (folder / "1").mkdir(parents=True)
    sizes = models(check)[name]
    random = numpy.random.default_rng(7)
    rows = random.standard_normal((most_rows(check), sizes[0]), dtype=numpy.float32)
    nodes, tensors, arrays, value = [], [], {}, rows.astype(numpy.float64)
    for index, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        weights = random.standard_normal((inputs, outputs), dtype=numpy.float32) * numpy.float32((2 / inputs) ** 0.5)
        bias = random.standard_normal(outputs, dtype=numpy.float32) * numpy.float32(0.1)
        arrays["w%d" % index], arrays["b%d" % index] = weights, bias
        tensors.append(onnx_writer.tensor("w%d" % index, weights.shape, weights.tobytes()))
        tensors.append(onnx_writer.tensor("b%d" % index, bias.shape, bias.tobytes()))
        last = index == len(sizes) - 2
        sums = "y" if last else "s%d" % index
        source = "x" if index == 0 else "h%d" % index
        nodes.append(onnx_writer.node("Gemm", [source, "w%d" % index, "b%d" % index], [sums], "fc%d" % index))
        value = value @ weights.astype(numpy.float64) + bias.astype(numpy.float64)
        if not last:
            nodes.append(onnx_writer.node("Relu", [sums], ["h%d" % (index + 1)], "relu%d" % index))
            value = numpy.maximum(value, 0)
    values = [[onnx_writer.value(key, ["N", columns])] for key, columns in (("x", sizes[0]), ("y", sizes[-1]))]
    (folder / "1" / "model.onnx").write_bytes(onnx_writer.model(nodes, tensors, *values))
    (folder / "x.f32").write_bytes(rows.tobytes())
    (folder / "y.f64").write_bytes(value.tobytes())
    numpy.savez(folder / "weights.npz", **arrays)
    return folder
