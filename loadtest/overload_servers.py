"""The servers that overload.py compares: weir, weir with a plain queue, and three from PyPI on ONNX Runtime. All compute on
the server's core, and do everything else on the client's core, which they share with the load generator."""

import hashlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

from measure import CLIENT_CORE, ROOT, SERVER_CORE, MeasureError, run_load, weir

PEERS = ROOT / "loadtest" / "peers"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weir" / "peers"


class Weir:
    """key: how it is asked for on the command line."""

    def __init__(self, key, label, **options):
        self.key, self.label, self.options = key, label, options

    def start(self, model):
        self.server = weir(pathlib.Path(model).parents[1], **self.options)
        self.server.place_threads()
        self.address, self.pid = self.server.address, self.server.pid

    def stop(self):
        return self.server.stop()

    def scrape(self):
        return self.server.scrape()

    def load(self, body, **options):
        return self.server.load(body, **options)


class Peer:
    """A program of peers/ in a virtual environment of its own."""

    def __init__(self, key, label, *arguments):
        self.key, self.label, self.arguments = key, label, arguments

    def start(self, model):
        python = peers_python()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = "127.0.0.1:%d" % port
        environment = {
            **os.environ, "MODEL": str(model), "COMPUTE_CORE": str(SERVER_CORE), "OTHER_CORE": str(CLIENT_CORE),
            "BATCH_SIZE": "32", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        }
        arguments = [argument.replace("PORT", str(port)) for argument in self.arguments]
        self.log = tempfile.NamedTemporaryFile(prefix="weir-peer-", suffix=".log")
        self.process = subprocess.Popen(
            [python, str(PEERS / (self.key + "_app.py")), *arguments], env=environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True,
        )
        self.pid = self.process.pid

    def wait(self, body):
        """Until it answers a prediction; loading takes these servers seconds."""
        end = time.monotonic() + 60
        while not answers(self.address, body):
            if self.process.poll() is not None or time.monotonic() > end:
                text = pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")
                self.stop()
                raise MeasureError("%s does not answer:\n%s" % (self.label, text[-2000:]))
            time.sleep(0.2)

    def stop(self):
        for name in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, name)
                self.process.wait(5)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        return 0

    def scrape(self):
        return None

    def load(self, body, **options):
        return run_load(self.address, body=body, **options)


def answers(address, body, seconds=2.0):
    """How long a prediction took, or 0 if there was no 200."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    began = time.monotonic()
    try:
        connection.request("POST", "/predict", pathlib.Path(body).read_bytes(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return time.monotonic() - began if answer.status == 200 else 0
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def settle(address, body, seconds=20.0):
    """Waits until the server has worked off what the last load left behind: a lone request is answered at once, thrice."""
    end, quick = time.monotonic() + seconds, 0
    while quick < 3 and time.monotonic() < end:
        took = answers(address, body)
        quick = quick + 1 if 0 < took < 0.03 else 0
        time.sleep(0.05)
    return quick == 3


def run_pip(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", timeout=900, check=False)
    if done.returncode != 0:
        raise MeasureError("%s failed:\n%s" % (" ".join(map(str, command)), (done.stderr + done.stdout)[-2000:]))
    return done.stdout


def peers_python():
    """The interpreter of the virtual environment; makes it when it is not there or requirements.txt has changed."""
    wanted = PEERS / "requirements.txt"
    stamp = CACHE / "requirements.sha256"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    python = CACHE / "bin" / "python"
    if not python.exists() or not stamp.exists() or stamp.read_text() != digest:
        print("making %s from %s" % (CACHE, wanted.relative_to(ROOT)), file=sys.stderr, flush=True)
        run_pip("/usr/bin/python3", "-m", "venv", CACHE)
        run_pip(python, "-m", "pip", "install", "--quiet", "-r", wanted)
        stamp.write_text(digest)
    return str(python)


CONTESTANTS = [
    Weir("weir", "weir"),
    Weir("weir-1024", "weir, max_concurrency 1024", max_concurrency=1024),
    Weir("fifo-64", "FIFO of 64 with expiry", admission="fifo"),
    Weir("fifo-1024", "FIFO of 1024 with expiry", admission="fifo", max_concurrency=1024),
    Peer("mosec", "mosec", "--address", "127.0.0.1", "--port", "PORT", "--timeout", "100"),
    Peer("fastapi", "FastAPI", "PORT"),
    Peer("litserve", "LitServe", "PORT"),
]
