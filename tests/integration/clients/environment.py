"""Virtual environments with the clients that the tests run, each made once in a folder outside the repository:
$XDG_CACHE_HOME/weir/clients/NAME (or ~/.cache/...) from requirements-NAME.txt beside this file."""

import hashlib
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weir" / "clients"


def python(name):
    """The interpreter of the environment, which is made if it is not there or its requirements have changed."""
    requirements = HERE / ("requirements-%s.txt" % name)
    folder = CACHE / name
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    program = folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text(encoding="ascii") == digest):
        shutil.rmtree(folder, ignore_errors=True)
        for command in (["/usr/bin/python3", "-m", "venv", folder], [program, "-m", "pip", "install", "-q", "-r", requirements]):
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=1800, check=False)
            if done.returncode != 0:
                raise RuntimeError("%s failed:\n%s" % (command, done.stderr[-2000:]))
        stamp.write_text(digest, encoding="ascii")
    return str(program)
