"""usage: gpu_torch.py FOLDER [--repetitions N] [--cpu]

A dense network in PyTorch, as gpu_check.py compares with it: errors against float64, times of eager runs and of CUDA graphs.
Both begin with the rows in pinned memory and end with the answers there. Prints one JSON object a line, as the programs of
tests/device do. FOLDER is what gpu_tools.write_mlp made.
"""

import argparse
import json
import pathlib
import time

import numpy
import torch

BATCHES = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256]
MODES = {"fp32": (torch.float32, False), "tf32": (torch.float32, True), "bf16": (torch.bfloat16, False),
         "fp16": (torch.float16, False)}


def row(name, value, unit="us", **more):
    print(json.dumps({"row": name, "value": value, "unit": unit, **more}), flush=True)


class Network:
    """The layers in one precision; rows come as float32 and answers leave so."""

    def __init__(self, arrays, mode, device):
        self.dtype, self.tf32 = MODES[mode]
        self.layers = [
            (torch.from_numpy(arrays["w%d" % index]).to(device, self.dtype),
             torch.from_numpy(arrays["b%d" % index]).to(device, self.dtype))
            for index in range(len(arrays.files) // 2)]

    def __call__(self, x):
        x = x.to(self.dtype)
        for index, (weights, bias) in enumerate(self.layers):
            x = torch.addmm(bias, x, weights)
            if index < len(self.layers) - 1:
                x = torch.relu(x)
        return x.float()


def times(run, wait, repetitions):
    taken = []
    for _ in range(10):
        run()
    wait()
    for _ in range(repetitions):
        began = time.perf_counter()
        run()
        wait()
        taken.append((time.perf_counter() - began) * 1e6)
    taken.sort()
    return {"value": taken[len(taken) // 2], "p99": taken[len(taken) * 99 // 100], "min": taken[0]}


def capture(run):
    """The run as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def capture_run(run, compute, copy_up, copy_down):
    """What replays the run; where its copies cannot be captured they stand around the graph."""
    try:
        return capture(run).replay
    except RuntimeError:
        torch.cuda.synchronize()
    graph = capture(compute)

    def replay():
        copy_up()
        graph.replay()
        copy_down()

    return replay


def measure(mode, options, arrays, rows, expected):
    device = "cpu" if options.cpu else "cuda"
    wait = (lambda: None) if options.cpu else torch.cuda.synchronize
    network, alone, others = Network(arrays, mode, device), None, 0
    torch.set_float32_matmul_precision("high" if network.tf32 else "highest")
    for count in [count for count in BATCHES if count <= len(rows)]:
        up, down = rows[:count].clone(), torch.empty(count, expected.shape[1])
        if not options.cpu:
            up, down = up.pin_memory(), down.pin_memory()
        x = torch.empty(count, rows.shape[1], device=device)

        def run():
            x.copy_(up, non_blocking=True)
            down.copy_(network(x), non_blocking=True)

        row("eager, %s, %d rows" % (mode, count), **times(run, wait, options.repetitions))
        error = (down.double() - expected[:count]).norm() / expected[:count].norm()
        row("error, %s, %d rows" % (mode, count), float(error), "")
        alone = down[0].clone() if alone is None else alone
        others += not torch.equal(alone, down[0])
        if not options.cpu:
            y = torch.empty(count, expected.shape[1], device=device)
            replay = capture_run(run, lambda: y.copy_(network(x)), lambda: x.copy_(up, non_blocking=True),
                                 lambda: down.copy_(y, non_blocking=True))
            row("graph, %s, %d rows" % (mode, count), **times(replay, wait, options.repetitions))
    row("batch sizes with other bits than alone, %s" % mode, others, "")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 1)[0].replace("usage: ", ""))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    arrays = numpy.load(options.folder / "weights.npz")
    inputs = arrays["w0"].shape[0]
    rows = torch.from_numpy(numpy.fromfile(options.folder / "x.f32", dtype=numpy.float32).reshape(-1, inputs))
    expected = torch.from_numpy(numpy.fromfile(options.folder / "y.f64", dtype=numpy.float64).reshape(len(rows), -1))
    torch.set_grad_enabled(False)
    for mode in ("fp32", "bf16") if options.cpu else MODES:
        try:
            measure(mode, options, arrays, rows, expected)
        except RuntimeError as error:  # the other modes may work
            row("failure, %s" % mode, str(error).splitlines()[0][:200], "")


if __name__ == "__main__":
    main()
