"""Parts of gpu_check.py that ask how fast: the engine beside PyTorch, the runtime's own costs, products."""

import importlib.util
import sys

from gpu_tools import BATCHES, ROOT, TOLERANCES, Skip, models, most_rows, read_rows, write_mlp

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
TORCH_RATIO = 1.2


def repetitions(check):
    return 5 if check.simulated else 50 if check.quick else 300


def layers(check, name):
    return len(models(check)[name]) - 1


def run_rows(check, name, precision, invariance):
    folder = write_mlp(check, name)
    return check.measure("engine", "rows", folder / "1" / "model.onnx", folder, precision, invariance, most_rows(check),
                         repetitions(check))


def engine(check):
    """Dense networks by the backend: errors against float64, times with graphs and without, bits."""
    for name in models(check):
        for precision in PRECISIONS:
            rows = run_rows(check, name, precision, "off")
            errors = [row["value"] for what, row in rows.items() if what.startswith("error")]
            check.most("%s %s: largest error against float64" % (name, precision), max(errors),
                       TOLERANCES[precision] * layers(check, name) ** 0.5)
            check.show(rows, "%s %s: " % (name, precision), verdict="detail")
            for count in (1, 32, 256):
                if "graph, %d rows" % count in rows:
                    check.row("%s %s: %d rows" % (name, precision, count), rows["graph, %d rows" % count]["value"], "us",
                              note="without a graph %.1f us" % rows["no graph, %d rows" % count]["value"])
            check.store.setdefault("graph times", {})[name, precision] = {
                count: rows["graph, %d rows" % count]["value"] for count in BATCHES if "graph, %d rows" % count in rows}
            if precision == "fp32":
                others = rows["batch sizes with other bits than alone"]["value"]
                check.row("other bits than alone, %s fp32, off" % name, others, "of %d" % rows["batch sizes compared"]["value"])
    invariant(check)


def invariant(check):
    """strict: equal bits whatever the batch; bucket: equal within one. What the first costs at one row."""
    name = list(models(check))[min(1, len(models(check)) - 1)]
    for precision in ("fp32", "bf16"):
        rows = run_rows(check, name, precision, "bucket")
        check.row("other bits than alone, %s %s, bucket" % (name, precision), rows["batch sizes with other bits than alone"]["value"],
                  "of %d" % rows["batch sizes compared"]["value"])
        check.equal("self-test, %s, bucket" % precision, rows["self-test"]["value"], "passed")
        rows = run_rows(check, name, precision, "strict")
        check.equal("other bits than alone, %s %s, strict" % (name, precision), rows["batch sizes with other bits than alone"]["value"], 0)
        check.equal("self-test, %s, strict" % precision, rows["self-test"]["value"], "passed")
        usual = check.store["graph times"][name, precision][1]
        check.row("strict costs at one row, %s" % precision, rows["graph, 1 rows"]["value"] / usual, "times")
    folder = write_mlp(check, name)
    for precision, invariance in (("fp32", "off"), ("tf32", "bucket"), ("bf16", "bucket"), ("fp32", "bucket")):
        rows = check.measure("engine", "positions", folder / "1" / "model.onnx", folder, precision, invariance, most_rows(check), 1)
        tried = rows["places compared"]["value"]
        others = rows["places with other bits than the first"]["value"]
        what = "places with other bits, %s %s" % (precision, invariance)
        if invariance == "off":
            check.row(what, others, "of %d" % tried)
        else:
            check.equal(what, others, 0, "of %d" % tried)


def torch(check):
    """The same networks in PyTorch, eagerly and as CUDA graphs, copies included."""
    if not importlib.util.find_spec("torch"):
        raise Skip("torch is missing")
    for name in models(check):
        folder = write_mlp(check, name)
        command = [sys.executable, ROOT / "loadtest" / "gpu_torch.py", folder, "--repetitions", str(repetitions(check))]
        rows = read_rows(check.run(command + (["--cpu"] if check.simulated else [])))
        check.show(rows, "%s: " % name, verdict="detail")
        for precision in PRECISIONS:
            compare(check, name, precision, rows)


def compare(check, name, precision, rows):
    errors = [row["value"] for what, row in rows.items() if what.startswith("error, %s" % precision)]
    failure = rows.get("failure, %s" % precision)
    if failure:
        check.row("%s %s: torch" % (name, precision), None, verdict="skipped", note=failure["value"])
    if errors:
        check.row("%s %s: torch's largest error" % (name, precision), max(errors))
    ours = check.store.get("graph times", {}).get((name, precision), {})
    ratios = {count: time / rows["graph, %s, %d rows" % (precision, count)]["value"] for count, time in ours.items()
              if "graph, %s, %d rows" % (precision, count) in rows}
    for count, ratio in ratios.items():
        check.row("%s %s: %d rows, ours over torch's graph" % (name, precision, count), ratio, "times", verdict="detail")
    if ratios:
        worst = max(ratios, key=ratios.get)
        check.most("%s %s: ours over torch's graph, worst batch size" % (name, precision), ratios[worst], TORCH_RATIO, "times",
                   note="at %d rows" % worst)


def floor(check):
    """What the runtime costs, whatever runs on it."""
    check.show(check.measure("floor", 20 if check.simulated else 200 if check.quick else 2000))
    env = check.environment(CUDA_DOUBLE="fail_operation=*:1:700") if check.simulated else None
    check.show(check.measure("fault", env=env, limit=15))


def products(check):
    """cuBLASLt: times and bits of one layer by rows and precision."""
    rows = check.measure("products", *((256, 2) if check.simulated else (1024, 200)))
    check.show(rows, verdict="detail", only=PRECISIONS)
    for mode in PRECISIONS:
        for count in (1, 256):
            name = "%s, sums not split, %d rows" % (mode, count)
            check.row("%s, " % ("256 x 256" if check.simulated else "1024 x 1024") + name, rows[name]["value"], "us")
            check.most("error of " + name, rows["error of " + name]["value"], TOLERANCES[mode])
    check.show(rows, only=("batch sizes", "which", "choosing"))
