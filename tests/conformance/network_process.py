"""Talks to run_network (run_network.c tells the protocol): models on inputs from files."""

import pathlib
import re
import subprocess
import tempfile

import numpy

DTYPES = {
    "float32": numpy.float32, "uint8": numpy.uint8, "int8": numpy.int8, "int32": numpy.int32, "int64": numpy.int64,
    "bool": numpy.bool_, "float16": numpy.float16, "float64": numpy.float64, "bfloat16": numpy.uint16,
}


class Refused(Exception):
    """The engine said no. `status` is its word for it."""

    def __init__(self, status, text):
        super().__init__("%s: %s" % (status, text))
        self.status, self.text = status, text


class Crashed(Exception):
    """The process ended otherwise than it should."""


class Bits(numpy.ndarray):
    """bfloat16 as the bits it has: numpy knows no such numbers."""


def as_bits(array):
    return numpy.ascontiguousarray(array, dtype=numpy.uint16).view(Bits)


def bits_to_float(array):
    return (numpy.asarray(array).astype(numpy.uint32) << 16).view(numpy.float32)


def dims_text(shape):
    return ",".join(map(str, shape)) or "-"


def dims_of(text):
    return () if text == "-" else tuple(map(int, text.split(",")))


class Answers:
    """What a block of lines gave. outputs: arrays, after a run."""

    def __init__(self):
        self.outputs, self.inputs, self.load_ns, self.peak_kib = [], [], None, None
        self.rows = self.reason = self.fixed = self.measured = self.refused = None
        self.output_specs = []


class NetworkProcess:
    """One run_network. In `cases` mode every run has a process of its own."""

    def __init__(self, program, mode="cases", environment=None, prefix=()):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-network-")
        self.mode = mode
        self.errors = open(pathlib.Path(self.folder.name) / "stderr", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [*map(str, prefix), str(program), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            encoding="utf-8", errors="replace", env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()
        self.folder.cleanup()

    def complaints(self):
        """What was written to stderr since the last call: a sanitizer's report, mostly."""
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.seek(0)
        self.errors.truncate()
        return text

    def input_lines(self, arrays):
        lines = ["inputs"]
        for index, array in enumerate(arrays):
            path = pathlib.Path(self.folder.name) / ("input.%d" % index)
            dtype = "bfloat16" if isinstance(array, Bits) else array.dtype.name
            path.write_bytes(numpy.asarray(array).tobytes())
            lines.append("input %s %s %s" % (dtype, dims_text(array.shape), path))
        return lines

    def ask(self, lines):
        """Sends a block; returns its answers. Raises Refused or Crashed."""
        try:
            self.process.stdin.write("".join(line + "\n" for line in [*lines, "end"]))
            self.process.stdin.flush()
            answers = self.read()
        except BrokenPipeError:
            raise Crashed("run_network has ended: %s" % self.complaints()[-2000:]) from None
        if answers.refused:
            raise answers.refused
        return answers

    def read(self):
        answers = Answers()
        prefix = pathlib.Path(self.folder.name) / "output"
        for line in self.process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            parts = rest.split(" ", 3)
            if word == "end":
                if rest != "0":
                    raise Crashed("ended with %s: %s" % (rest, self.complaints()[-2000:]))
                return answers
            if word == "refused":
                status, _, text = rest.partition(": ")
                answers.refused = answers.refused or Refused(status, text)
            elif word == "output" and len(parts) == 3:
                path = pathlib.Path("%s.%s" % (prefix, parts[0]))
                if not path.exists():  # a run without a prefix
                    continue
                array = numpy.frombuffer(path.read_bytes(), DTYPES[parts[1]]).reshape(dims_of(parts[2]))
                path.unlink()
                answers.outputs.append(as_bits(array) if parts[1] == "bfloat16" else array)
            elif word in ("input", "output"):
                specs = answers.inputs if word == "input" else answers.output_specs
                specs.append((parts[1], dims_of(parts[2]), parts[3] if len(parts) > 3 else ""))
            elif word == "loaded":
                answers.load_ns = int(rest)
            elif word == "ran":
                answers.peak_kib = int(rest)
            elif word == "rows":
                answers.rows, answers.reason = int(parts[0]), rest.partition(" ")[2]
            elif word == "fixed":
                answers.fixed = int(rest)
            elif word == "measured":
                runs, median, peak = map(int, parts)
                answers.measured, answers.peak_kib = (runs, median), peak
        raise Crashed("run_network ended: %s" % self.complaints()[-2000:])

    def run(self, model, arrays, *options):
        """Runs once; options are lines such as "by oracle"."""
        prefix = pathlib.Path(self.folder.name) / "output"
        return self.ask(["model %s" % model, *options, *self.input_lines(arrays), "run %s" % prefix])

    def signature(self, model):
        return self.ask(["model %s" % model, "signature"])


def node_of(text):
    """The operator that a refusal names, if it names one."""
    match = re.search(r"\((\w+)(?: -> [^,]*)?, domain ", text)
    return match.group(1) if match else None
