#!/usr/bin/python3
"""usage: plant_bugs.py [--build build] [WORD...]

A test of the tests: puts one bug at a time into a copy of a source of the CUDA backend or its kernels, builds the programs
that should see it, in the folder where they were built already, and expects one of them to fail. The sources themselves stay
as they are. First it exchanges a source for itself, which none may see. With words: only the bugs whose names hold one of them. The last line is `N passed, N failed`.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKEND, KERNELS = "engine/device/cuda/", "kernels/cuda/"
SECONDS = 120

# (what is wrong, file, what stands there, what the bug puts in its place, the programs that should see it)
BUGS = (
    ("the output is read before its event", BACKEND + "cuda_model.c",
     "code = cudaEventSynchronize(at->event);", "code = cudaSuccess;", ["cuda_backend", "cuda_life"]),
    ("the end of a batch is never marked", BACKEND + "cuda_model.c",
     "cudaEventRecord(at->event, at->memory.stream), \"marking", "cudaSuccess, \"marking", ["cuda_backend", "cuda_life"]),
    ("both slots share their staging memory", BACKEND + "cuda_load.c",
     "slot->host = model->host + (size_t)i * memory->staging;", "slot->host = model->host;", ["cuda_backend", "cuda_life"]),
    ("both slots share their memory on the device", BACKEND + "cuda_load.c",
     "        at += memory->activations + memory->workspace;\n", "", ["cuda_backend", "cuda_life"]),
    ("staging for weights is refilled while its copy is pending", BACKEND + "cuda_constants.c",
     "status = cuda_wait(bounce->errors, bounce->stream, \"sending up weights\", err);", "status = WEIR_OK;",
     ["cuda_life", "cuda_backend"]),
    ("memory is taken during a capture", BACKEND + "cuda_graph.c",
     "    enum weir_status status = cuda_steps_run(lt, program, memory, err);\n    code = cudaStreamEndCapture",
     "    void *more = NULL;\n    (void)cudaMalloc(&more, 256);\n"
     "    enum weir_status status = cuda_steps_run(lt, program, memory, err);\n    code = cudaStreamEndCapture",
     ["cuda_backend"]),
    ("the host reads the device's memory", BACKEND + "cuda_model.c",
     "return at->memory.host + at->current->offsets[at->current->output_buffers[index]];",
     "return at->memory.device + at->current->offsets[at->current->output_buffers[index]];", ["cuda_backend"]),
    ("a graph is never destroyed", BACKEND + "cuda_graph.c",
     "(void)cudaGraphDestroy(graph);", "(void)graph;", ["cuda_backend"]),
    ("executable graphs are never destroyed", BACKEND + "cuda_graph.c",
     "(void)cudaGraphExecDestroy(program->graphs[slot]);", "program->used = 0;", ["cuda_backend"]),
    ("a workspace is smaller than its algorithm's", BACKEND + "cuda_lt.c",
     "operands->workspace, operands->workspace_bytes, operands->stream)", "operands->workspace, 0, operands->stream)",
     ["cuda_backend", "cuda_parts"]),
    ("asynchronous copies of memory that is not pinned", BACKEND + "cuda_load.c",
     "cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);",
     "memory = calloc(1, bytes);\n    cudaError_t code = cudaSuccess;", ["cuda_backend"]),
    ("the weights go up in the default stream", BACKEND + "cuda_load.c",
     "model->bounce.stream = model->slots[0].memory.stream;", "model->bounce.stream = NULL;", ["cuda_backend"]),
    ("an error that stays is taken for one that passes", BACKEND + "cuda_errors.c",
     "    case cudaErrorIllegalAddress:\n", "", ["cuda_backend", "cuda_parts"]),
    ("the memory plan forgets the second slot", BACKEND + "cuda_memory_plan.c",
     "(size_t)CUDA_SLOTS, &slots)", "(size_t)1, &slots)", ["cuda_backend", "cuda_parts"]),
    ("a failed load leaves its memory", BACKEND + "cuda_load.c",
     "    else\n        cuda_load_release(model);\n    return status;", "    return status;", ["cuda_sweep", "cuda_backend"]),
    ("shared memory is read without a barrier", KERNELS + "cuda_window.cu",
     "        __syncthreads();\n        for (size_t c = row;", "        for (size_t c = row;", ["cuda_moves"]),
    ("a barrier that only some threads reach", KERNELS + "cuda_reduce.cu",
     "        if (threadIdx.x == 0)\n            y[row] = (int64_t)best.place;\n        __syncthreads();",
     "        if (threadIdx.x == 0) {\n            y[row] = (int64_t)best.place;\n            __syncthreads();\n        }",
     ["cuda_kernels"]),
    ("a kernel writes past its output", KERNELS + "cuda_reduce.cu",
     "    CUDA_DEVICE_EACH(i, reduction.results) {\n        const float *from = x + cuda_walk_offset(&reduction.kept, i);\n"
     "        double value = start_of",
     "    CUDA_DEVICE_EACH(i, reduction.results + 1) {\n"
     "        const float *from = x + cuda_walk_offset(&reduction.kept, i % reduction.results);\n"
     "        double value = start_of", ["cuda_kernels"]),
    ("a recurrent step reads the state that it writes", KERNELS + "cuda_recurrent.cu",
     "        kept[i] = activated(cell, 0, reset[i]) * (linear ? kept[i] : cell->h[i]);\n    }\n    __syncthreads();",
     "        kept[i] = activated(cell, 0, reset[i]) * (linear ? kept[i] : cell->h[i]);\n    }", ["cuda_layers"]),
)


class Builder:
    """Compiles and links as the build did, with one source exchanged."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self.compilers = {(entry["file"], "weir_cuda_sim.dir" in entry["command"]): entry for entry in commands}

    def compile(self, path, text):
        entry = self.compilers[(str(ROOT / path), False)]
        source = self.folder / pathlib.Path(path).name
        source.write_text(text, encoding="utf-8")
        words = shlex.split(entry["command"])
        words[words.index(entry["file"])] = str(source)
        words[words.index("-o") + 1] = str(self.folder / "planted.o")
        words.insert(1, "-Wno-error")
        subprocess.run(words, cwd=entry["directory"], check=True, capture_output=True, encoding="utf-8", errors="replace")

    def link(self, program):
        """The object stands before the library that holds its original, which the linker then does not take."""
        listed = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", "double." + program], check=True,
                                capture_output=True, encoding="utf-8").stdout
        words = shlex.split(listed.splitlines()[-1])
        words = words[words.index("&&") + 1 :]
        words = words[: words.index("&&")] if "&&" in words else words
        at = words.index("-o") + 1
        words[at] = str(self.folder / program)
        words.insert(at + 1, str(self.folder / "planted.o"))
        subprocess.run(words, cwd=self.build, check=True, capture_output=True, encoding="utf-8", errors="replace")
        return self.folder / program


def is_seen(program):
    """Does the program end otherwise than well?"""
    try:
        return subprocess.run([str(program)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS,
                              check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def try_bug(build, bug):
    """The program that sees it, or what is wrong with the bug."""
    _, path, there, planted, programs = bug
    text = (ROOT / path).read_text(encoding="utf-8")
    if text.count(there) != 1:
        return None, "its place occurs %d times in %s" % (text.count(there), path)
    with tempfile.TemporaryDirectory(prefix="weir-bug-") as folder:
        builder = Builder(build, pathlib.Path(folder))
        try:
            builder.compile(path, text.replace(there, planted))
            for program in programs:
                if is_seen(builder.link(program)):
                    return program, ""
        except subprocess.CalledProcessError as error:
            return None, error.stderr[-1500:]
    return None, "no program saw it: %s" % ", ".join(programs)


def try_nothing(build, bugs):
    """What is wrong where sources are exchanged for copies of themselves: every program that is to see a bug must pass."""
    for program in sorted({program for *_, programs in bugs for program in programs}):
        path = next(path for _, path, _, _, programs in bugs if program in programs)
        with tempfile.TemporaryDirectory(prefix="weir-bug-") as folder:
            builder = Builder(build, pathlib.Path(folder))
            builder.compile(path, (ROOT / path).read_text(encoding="utf-8"))
            if is_seen(builder.link(program)):
                return "%s fails with %s as it is" % (program, path)
    return ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "tests" / "double.cuda_backend").exists():
        print("built without the CUDA double\n0 passed, 0 failed")
        return 0
    bugs = [bug for bug in BUGS if not options.words or any(word in bug[0] for word in options.words)]
    fault = try_nothing(build, bugs)
    if fault:
        print("nothing planted: %s\n0 passed, 1 failed" % fault)
        return 1
    good = bad = 0
    for bug in bugs:
        program, fault = try_bug(build, bug)
        good, bad = good + bool(program), bad + (not program)
        print("%s: %s" % (bug[0], "seen by %s" % program if program else "MISSED: %s" % fault), flush=True)
    print("%d passed, %d failed" % (good, bad))
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
