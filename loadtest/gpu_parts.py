"""Parts of gpu_check.py that ask whether everything is right: the machine, NVML, kernels, whole models, memory."""

import importlib.metadata
import math
import pathlib
import re
import shutil
import sys
import time

from gpu_tools import MIB, ROOT, TOLERANCES, Failed, NoGpu, Skip, first_line, models, most_rows, read_rows, write_mlp

KERNEL_PROGRAMS = ("kernels", "moves", "layers")
QUICK_KERNELS = ("softmax", "gather", "order")  # words of the sentences of those tests that --quick runs


def machine(check):
    """What is here. Ends the check if there is no GPU; begins the log of dmon."""
    there = (check.build / "weir").exists()
    check.row("the server", "%s/weir" % check.build.name, goal="it is there", good=there)
    try:
        check.run([check.build / "weir", "check", ROOT / "models" / "digits"], limit=15)
    except Failed as error:
        check.row("the server starts", None, verdict="failed", note=str(error))
    check.row("cuBLASLt found in", ", ".join(check.libraries) or "nowhere: the loader's own paths are left")
    for name in ("nvcc", "compute-sanitizer"):
        check.row(name, shutil.which(name) or "missing")
    try:
        check.row("torch", importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        check.row("torch", "missing")
    check.row("python", sys.version.split()[0])
    try:
        told = check.query_smi()
    except (Failed, Skip) as error:
        if pathlib.Path("/dev/nvidiactl").exists():
            raise  # a driver is there: what needs nvidia-smi fails alone
        raise NoGpu(str(error)) from None
    check.store["smi"] = told
    for name, value in told.items():
        check.row(name, value if value is not None else "not told")
    check.store["dmon"] = check.folder / "dmon.txt"
    with open(check.store["dmon"], "wb") as log:
        unbuffered = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []
        check.start([*unbuffered, check.smi, "dmon", "-s", "pucm", "-d", "1"], background=True, stdout=log, stderr=log)


def nvml(check):
    """The server's own reading beside nvidia-smi's."""
    told = check.store.get("smi") or check.query_smi()
    bus_id = told["pci.bus_id"]
    library = str(check.nvml_folder / "libnvidia-ml.so.1") if check.simulated else "-"
    out = check.run([check.build / "device" / "nvml", library, bus_id], limit=10)
    rows = {name: row["value"] for name, row in read_rows(out).items()}
    told = check.query_smi()
    check.equal("name", rows.get("name"), told["name"])
    check.equal("driver", rows.get("driver"), told["driver_version"])

    def near(what, own, other, tolerance, unit):
        if other is None or own is None:
            check.row(what, own, unit, goal="nvidia-smi: %s" % other, good=(other is None) == (own is None))
        else:
            check.row(what, own, unit, "%s by nvidia-smi, %g off" % (other, tolerance), abs(own - float(other)) <= tolerance)

    scaled = {name: value / MIB for name, value in rows.items() if name.startswith("memory ") and name != "memory activity"}
    near("memory total", scaled.get("memory total"), told["memory.total"], 1, "MiB")
    near("memory used", scaled.get("memory used"), told["memory.used"], 64, "MiB")
    near("temperature", rows.get("temperature"), told["temperature.gpu"], 4, "C")
    near("power", rows.get("power"), told["power.draw"], 60, "W")
    near("uncorrected ECC errors", rows.get("ecc uncorrected"), told["ecc.errors.uncorrected.volatile.total"], 0, "")
    check.row("one reading", rows.get("one reading"), "us")


def kernel_programs(check):
    if check.simulated:
        return [check.build / "tests" / ("double.cuda_" + name) for name in KERNEL_PROGRAMS]
    return [check.programs / name for name in KERNEL_PROGRAMS]


def kernels(check):
    """Every kernel of ours against the oracle."""
    programs = kernel_programs(check)
    for program, word in zip(programs, QUICK_KERNELS):
        out = check.run([program, *([word] if check.quick else [])], fine=(0, 1))
        failed = [line for line in out.splitlines() if line.startswith("FAIL")]
        good = sum(line.startswith("ok: ") for line in out.splitlines())
        check.row("%s: tests that pass" % program.name, good)
        check.row("%s: tests that fail" % program.name, len(failed), "", "0", not failed and good > 0, note="; ".join(failed)[:500])


def oracle(check):
    """Whole models, of every kind and in every precision, against the oracle."""
    for name, row in check.measure("engine", "oracle").items():
        mode = name.rsplit(", ", 1)[1]
        # The figure is the worst of all numbers, not the size of all errors: five times as much.
        check.most(name, row["value"], 5 * TOLERANCES[mode])


def life(check):
    """Two slots, loading and unloading, a full card."""
    name = "1024-1024-1024-256" if "1024-1024-1024-256" in models(check) else next(iter(models(check)))
    folder = write_mlp(check, name)
    repetitions = 20 if check.quick or check.simulated else 500

    def engine(command, *more):
        rest = more or ("fp32", "off", most_rows(check), repetitions)
        return check.measure("engine", command, folder / "1" / "model.onnx", folder, *rest)

    rows = engine("full")
    check.show(rows, only=("load into", "the plan"))
    check.equal("refused with a plan", rows["refused with a plan"]["value"], 1)
    check.equal("loaded once there was room", rows["loaded once there was room"]["value"], 1)
    rows = engine("leak")
    check.show(rows, only=("taken by", "a load"))
    name, lost = next((name, row["value"]) for name, row in rows.items() if name.startswith("lost over"))
    check.most(name, lost, 2048, "KiB")
    rows = engine("overlap")
    check.show(rows, only="a full batch")
    if check.simulated:
        check.show(rows, only="as many")
    else:
        check.least("as many batches with two slots", rows["as many batches with two slots"]["value"], 1.0, "times")
    check.show(engine("stall", "fp32", "off", 32, repetitions * 20 if not check.simulated else repetitions))


def sanitizer(check):
    """Our kernels under compute-sanitizer, where it takes this machine."""
    if check.simulated:
        raise Skip("the double has sanitizers of its own: ./dev test")
    tool_path = shutil.which("compute-sanitizer")
    if not tool_path:
        raise Skip("compute-sanitizer is missing")
    for tool in ("memcheck", "racecheck", "initcheck"):
        for program in reversed(kernel_programs(check)):
            name = "%s, %s" % (tool, program.name)
            left = check.part_end - time.monotonic() - 3
            if left < 5:
                check.row(name, None, verdict="skipped", note="no time was left")
                continue
            try:
                out = check.run([tool_path, "--tool", tool, program], limit=min(left, 30), fine=range(256))
            except Failed as error:
                check.row(name, None, verdict="skipped", note=str(error))
                continue
            if "Device not supported" in out:
                raise Skip("compute-sanitizer refuses this machine: Device not supported")
            summary = re.search(r"SUMMARY: (\d+)", out)
            check.equal(name, int(summary.group(1)) if summary else None, 0, "errors", note=first_line(out))


def load_seen(check):
    """What dmon saw meanwhile, and whether the clocks were held down."""
    path = check.store.get("dmon")
    if not path or not path.exists():
        raise Skip("there is no log of dmon")
    names, most = [], {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.lstrip("#").split()
        if line.startswith("#"):
            names = words if "sm" in words else names
            continue
        for name, word in zip(names, words):
            if name in ("sm", "pwr", "gtemp", "pclk", "fb") and re.fullmatch(r"-?\d+(\.\d+)?", word):
                most[name] = max(most.get(name, -math.inf), float(word))
    if not most:
        raise Skip("dmon told nothing: %s" % first_line(path.read_text(errors="replace")))
    for name, text, unit in (("pwr", "most power", "W"), ("gtemp", "highest temperature", "C"), ("pclk", "highest clock", "MHz"),
                             ("fb", "most memory", "MiB")):
        if name in most:
            check.row(text, most[name], unit)
    check.least("highest utilisation by dmon", most.get("sm"), 1, "%")
