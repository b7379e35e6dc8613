"""What bench.py and load.py share: programs pinned to cores, models and bodies made from a fixed seed, readings of a
process, and the report. Server processes run on the first core we may use, load generators and this script on the second.
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import platform
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BENCH_BUILD") or ROOT / "build")
RESULTS = ROOT / "build" / "results"
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import numpy  # noqa: E402
import onnx_writer  # noqa: E402

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[min(1, len(CORES) - 1)]


class MeasureError(Exception):
    """A program that did not do its part."""


# ---------------------------------------------------------------- models and bodies


def dense_layers(sizes, seed, name):
    """(nodes, weights) from the value `name` to "y": Gemm and Relu for each layer, Softmax at the end."""
    random = numpy.random.default_rng(seed)
    nodes, tensors = [], []
    for index, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), start=1):
        weights = random.standard_normal((inputs, outputs), dtype=numpy.float32) / numpy.float32(numpy.sqrt(inputs))
        bias = random.standard_normal(outputs, dtype=numpy.float32) * numpy.float32(0.1)
        tensors.append(onnx_writer.tensor("w%d" % index, weights.shape, weights.tobytes()))
        tensors.append(onnx_writer.tensor("b%d" % index, bias.shape, bias.tobytes()))
        nodes.append(onnx_writer.node("Gemm", [name, "w%d" % index, "b%d" % index], ["s%d" % index], "fc%d" % index))
        if index < len(sizes) - 1:
            name = "h%d" % index
            nodes.append(onnx_writer.node("Relu", ["s%d" % index], [name], "relu%d" % index))
        else:
            nodes.append(onnx_writer.node("Softmax", ["s%d" % index], ["y"], "softmax"))
    return nodes, tensors


def write_model(path, nodes, tensors, source, result):
    """source and result: [name, columns]."""
    values = [[onnx_writer.value(name, ["N", columns])] for name, columns in (source, result)]
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(onnx_writer.model(nodes, tensors, *values))
    return path


def write_mlp(path, sizes, seed=1):
    """A dense network as ONNX, weights of a fixed seed."""
    return write_model(path, *dense_layers(sizes, seed, "x"), ["x", sizes[0]], ["y", sizes[-1]])


def write_passing_mlp(path, sizes, seed=1):
    """The same network behind a column that hands the first input on unchanged: y = [x[0], softmax(...)]. Whose row an
    answer carries can be read off it."""
    inputs = sizes[0]
    pick = numpy.zeros((inputs, 1), dtype=numpy.float32)
    rest = numpy.eye(inputs, dtype=numpy.float32)
    pick[0, 0], rest[0, 0] = 1, 0
    nodes, tensors = dense_layers(sizes, seed, "x0")
    tensors += [
        onnx_writer.tensor("pick", pick.shape, pick.tobytes()), onnx_writer.tensor("rest", rest.shape, rest.tobytes()),
    ]
    nodes = [
        onnx_writer.node("MatMul", ["x", "rest"], ["x0"], "rest"), *nodes,
        onnx_writer.node("MatMul", ["x", "pick"], ["id"], "pick"),
        onnx_writer.node("Concat", ["id", "y"], ["z"], "join", axis=1),
    ]
    return write_model(path, nodes, tensors, ["x", inputs], ["z", sizes[-1] + 1])


def pixel_texts(columns, seed=2):
    return ["%.4f" % (pixel / 255) for pixel in numpy.random.default_rng(seed).integers(0, 256, columns)]


def write_numbered_body(path, columns, rows=1):
    """Rows whose first value the load generator replaces by a number of its own for each request."""
    row = "[%s]" % ",".join(["########", *pixel_texts(columns)[1:]])
    pathlib.Path(path).write_text('{"instances":[%s]}' % ",".join([row] * rows), encoding="ascii")
    return path


def write_bodies(folder, columns, seed=2):
    """One row of pixels (0 to 255, scaled to 0 to 1 with four decimals) as JSON and as raw float32; returns the paths."""
    texts = pixel_texts(columns, seed)
    folder = pathlib.Path(folder)
    json_path, raw_path = folder / "row.json", folder / "row.f32"
    json_path.write_text('{"instances":[[%s]]}' % ",".join(texts), encoding="ascii")
    raw_path.write_bytes(numpy.array(texts, dtype="<f4").tobytes())
    return json_path, raw_path


# ---------------------------------------------------------------- programs


def program(name):
    path = BUILD / name
    if not path.exists():
        raise MeasureError("%s is missing: build it with ./dev build weir bench_programs" % path)
    return str(path)


def raise_descriptor_limit():
    """For this process and those it starts; returns the limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def client_run(command, seconds=120, fine=(0,)):
    """Runs a program on the client's core to its end and returns what it printed. fine: exit codes that are no failure."""
    command = ["taskset", "-c", str(CLIENT_CORE), *map(str, command)]
    done = subprocess.run(command, capture_output=True, timeout=seconds, encoding="utf-8", check=False)
    if done.returncode not in fine:
        raise MeasureError("%s ended with %d: %s%s" % (shlex.join(command), done.returncode, done.stderr, done.stdout))
    return done.stdout


def server_core_run(command, seconds=120):
    """The same on the server's core, where nothing else may be busy meanwhile."""
    command = ["taskset", "-c", str(SERVER_CORE), *map(str, command)]
    done = subprocess.run(command, capture_output=True, timeout=seconds, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise MeasureError("%s ended with %d: %s" % (shlex.join(command), done.returncode, done.stderr))
    return done.stdout


def load_command(address, **options):
    """The load generator's command line; options are its own, with _ for -. A list repeats one."""
    command = [program("weir-load"), address]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                command.append("--" + name.replace("_", "-"))
            elif item is not None and item is not False:
                command += ["--" + name.replace("_", "-"), item]
    return list(map(str, command))


def run_load(address, **options):
    """Runs the load generator on the client's core; returns its report. An open loop may stay without any answer."""
    parts = re.findall(r"([\d.]+)(ms|s|m)(?:,|$)", options.get("schedule") or "")
    seconds = sum(float(length) * {"ms": 0.001, "s": 1, "m": 60}[unit] for length, unit in parts)
    seconds += (options.get("seconds") or 5) + (options.get("warm_up") or 0)
    fine = (0, 1) if options.get("rate") or options.get("schedule") else (0,)
    return json.loads(client_run(load_command(address, **options), 60 + seconds, fine))


class Scrape:
    """One reading of /metrics."""

    def __init__(self, text):
        self.series = []
        for line in text.splitlines():
            match = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", line)
            if match:
                labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2) or ""))
                self.series.append((match.group(1), labels, float(match.group(3))))

    def totals(self):
        totals = {}
        for name, _, value in self.series:
            totals[name] = totals.get(name, 0.0) + value
        return totals

    def sum(self, name, **wanted):
        """Over the series of that name that have these labels; None if there are none."""
        found = [value for have, labels, value in self.series if have == name and wanted.items() <= labels.items()]
        return sum(found) if found else None

    def by(self, name, label, **wanted):
        """{value of the label: sum}."""
        out = {}
        for have, labels, value in self.series:
            if have == name and wanted.items() <= labels.items():
                out[labels.get(label)] = out.get(labels.get(label), 0.0) + value
        return out


def histogram_quantile(before, after, share, name, **wanted):
    """The quantile of what a histogram took in between two readings, in its unit; a straight line within a bucket, as
    Prometheus draws it. Returns (quantile, count); None for the quantile if there was nothing."""
    early, late = (scrape.by(name + "_bucket", "le", **wanted) for scrape in (before, after))
    buckets = sorted((float(bound), count - early.get(bound, 0.0)) for bound, count in late.items())
    total = buckets[-1][1] if buckets else 0
    below, low = 0.0, 0.0
    for bound, count in buckets:
        if total > 0 and count >= share * total:
            if bound == float("inf"):
                return low, total
            return low + (bound - low) * (share * total - below) / max(1e-12, count - below), total
        below, low = count, bound
    return None, total


class Server:
    """A server on the server's core: its log goes to a file, its address is read from there once the event `wait` is in
    it. With wait None nothing is waited for."""

    def __init__(self, command, wait="ready", seconds=30, env=None):
        self.log_file = tempfile.NamedTemporaryFile(prefix="weir-bench-", suffix=".log")
        here = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {SERVER_CORE})  # inherited by all threads of the child, as taskset does it
        try:
            self.started = time.monotonic()
            self.process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=self.log_file,
                env={name: value for name, value in {**os.environ, **(env or {})}.items() if not name.startswith("WEIR_")},
            )
        finally:
            os.sched_setaffinity(0, here)
        self.pid = self.process.pid
        try:
            if wait:
                self.wait_for(wait, seconds)
                self.address = re.search(r" address=(\S+)", self.wait_for("listening", seconds)).group(1)
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    def log(self):
        with open(self.log_file.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, event, seconds):
        """The log line of an event."""
        end = time.monotonic() + seconds
        while True:
            for line in self.log().splitlines():
                if " %s " % event in line + " ":
                    return line
            if self.process.poll() is not None:
                raise MeasureError("the server ended with %s:\n%s" % (self.process.returncode, self.log()))
            if time.monotonic() > end:
                raise MeasureError("no event %s within %d s:\n%s" % (event, seconds, self.log()))
            time.sleep(0.002)

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        """Ends it; returns the exit code."""
        if self.alive():
            self.process.send_signal(2)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def request(self, method, path, body=None, **headers):
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=20)
        try:
            connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def scrape(self):
        return Scrape(self.request("GET", "/metrics")[1].decode())

    def metrics(self):
        """{name: sum over its series}."""
        return self.scrape().totals()

    def resident_bytes(self):
        with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024

    def load(self, body=None, content_type="application/json", **options):
        """Runs the load generator against it. Returns its report."""
        if body is not None:
            options = {"body": body, "content_type": content_type, **options}
        return run_load(self.address, watch=self.pid, **options)

    def place_threads(self):
        """Leaves the devices' threads on the server's core and moves all others to the client's: for models that keep a
        core busy by themselves."""
        for task in pathlib.Path("/proc/%d/task" % self.pid).iterdir():
            name = (task / "comm").read_text(encoding="utf-8")
            os.sched_setaffinity(int(task.name), {SERVER_CORE if name.startswith("dev-") else CLIENT_CORE})


def weir(model, wait="ready", env=None, **options):
    """`weir serve`; options become flags."""
    command = [program("weir"), "serve", model]
    for name, value in {"host": "127.0.0.1", "port": 0, "drain_delay_ms": 0, **options}.items():
        command += ["--" + name.replace("_", "-"), value]
    return Server(command, wait, env=env)


# ---------------------------------------------------------------- the report


def median(values):
    return statistics.median(values)


def machine():
    model = "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"model name\s*: (.*)", file.read()).group(1)
    except (OSError, AttributeError):
        pass
    return {
        "cpu": model,
        "cores": len(CORES),
        "server_core": SERVER_CORE,
        "client_core": CLIENT_CORE,
        "kernel": platform.release(),
        "load_average_before": os.getloadavg()[0],
    }


def commit():
    """The commit that is measured; "+changes" when files differ from it."""
    try:
        name = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        dirty = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no", "--", ":!loadtest/RESULTS.md"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout.strip()
        return name + ("+changes" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


class Report:
    """Lines of figures with goals and verdicts; tables beside them."""

    def __init__(self, name, title, command):
        self.name, self.title, self.command = name, title, command
        self.machine, self.commit = machine(), commit()
        self.date = datetime.date.today().isoformat()
        self.lines, self.tables, self.notes = [], [], []

    def add(self, text, value, unit, goal=None, digits=2, samples=None, skipped=None):
        """goal: ("<=" | "<" | ">" | "==", number) or None for a figure that is only told; skipped: why there is none."""
        compare = {
            "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
            "==": lambda a, b: a == b,
        }
        verdict = "-" if goal is None else "pass" if not skipped and compare[goal[0]](value, goal[1]) else "MISSED"
        if skipped:
            verdict = "skipped: " + skipped
        line = {"what": text, "value": value, "unit": unit, "goal": goal and "%s %g" % goal, "verdict": verdict}
        if samples is not None:
            line["samples"] = samples
        self.lines.append({**line, "digits": digits})

    def add_samples(self, text, samples, unit, goal=None, digits=2):
        self.add(text, median(samples), unit, goal, digits, samples)

    def missed(self):
        return [line["what"] for line in self.lines if line["verdict"] == "MISSED"]

    def rows(self):
        yield ["what", "value", "goal", "verdict"]
        for line in self.lines:
            shown = "-" if line["value"] is None else "%.*f %s" % (line["digits"], line["value"], line["unit"])
            yield [line["what"], shown.strip(), line["goal"] or "-", line["verdict"]]

    def text(self):
        parts = [render(list(self.rows()))]
        for title, rows in self.tables:
            parts += [title, render(rows)]
        return "\n\n".join(parts + self.notes) + "\n"

    def section(self):
        """The report as Markdown."""
        machine_text = (
            "%(cpu)s, %(cores)d cores, kernel %(kernel)s; server on core %(server_core)d, client on core %(client_core)d"
        )
        about = "%s, commit %s, %s.\nCommand: `%s`" % (self.date, self.commit, machine_text % self.machine, self.command)
        return "%s\n\n%s" % (about, self.text())

    def save(self, write, extra=None):
        """build/results/NAME.json, and with write the section of RESULTS.md."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        lines = [{key: value for key, value in line.items() if key != "digits"} for line in self.lines]
        data = {
            "title": self.title, "date": self.date, "commit": self.commit, "command": self.command,
            "machine": self.machine, "lines": lines, "notes": self.notes,
            "tables": [{"title": title, "rows": rows} for title, rows in self.tables], **(extra or {}),
        }
        path = RESULTS / (self.name + ".json")
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print("written: build/results/%s.json" % self.name)
        if write:
            write_section(ROOT / "loadtest" / "RESULTS.md", self.name, self.section())
            print("written: loadtest/RESULTS.md")

    def finish(self, write, extra=None):
        """Shows and saves it; returns the exit code."""
        print("%s\n\n%s" % (self.title, self.text()))
        self.save(write, extra)
        return conclude(self.missed())


def render(rows):
    """A Markdown table that reads well as plain text."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| %s |" % " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join([lines[0], "|%s|" % "|".join("-" * (width + 2) for width in widths), *lines[1:]])


def write_section(path, name, text):
    """Replaces what stands between the markers <!-- NAME:begin --> and <!-- NAME:end -->."""
    begin, end = "<!-- %s:begin -->" % name, "<!-- %s:end -->" % name
    page = path.read_text(encoding="utf-8")
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise MeasureError("%s lacks the markers %s and %s" % (path, begin, end))
    path.write_text("%s%s\n%s\n%s%s" % (before, begin, text.strip(), end, after), encoding="utf-8")


def conclude(missed):
    """Tells the goals that were missed; returns the exit code."""
    print("missed goals:\n  %s" % "\n  ".join(missed) if missed else "all goals met")
    return 1 if missed else 0


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments(doc):
    """A parser that knows --write and --quick. doc is the script's own text and begins with "usage: "."""
    usage, description = doc.split("\n\n", 1)
    parser = argparse.ArgumentParser(
        usage=usage.removeprefix("usage: "), description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the results into loadtest/RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="short, to see that it runs")
    return parser


def own_command(*words):
    """How this script was called, through ./dev."""
    return shlex.join(["./dev", *words, *sys.argv[1:]])


def warn_if_busy():
    if os.getloadavg()[0] > 0.7:
        say("warning: the machine is busy (load average %.1f): figures will vary" % os.getloadavg()[0])


def begin():
    """Moves this script to the client's core and says what may spoil the figures."""
    os.sched_setaffinity(0, {CLIENT_CORE})
    if len(CORES) < 2:
        say("warning: one core only; server and client share it, and the goals do not apply")
    warn_if_busy()


def run_main(name, main):
    """Ends the process as main says, or with the reason why nothing could be measured."""
    try:
        sys.exit(main())
    except MeasureError as error:
        sys.exit("%s: %s" % (name, error))
