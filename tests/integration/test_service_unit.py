"""deploy/systemd/weir.service: weir runs under the filter of system calls that it sets. systemd is not needed: the calls
that the unit takes away are taken away by the same means, seccomp."""

import ctypes
import os
import pathlib
import platform
import re
import signal
import struct
import subprocess
import sys
import unittest

from harness import Server, eventually
from versions import Models

UNIT = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd/weir.service"
# systemd.exec(5), @resources, with their numbers on x86-64. Of @privileged, a program without rights has no use.
RESOURCES = {
    "ioprio_set": 251, "mbind": 237, "migrate_pages": 256, "move_pages": 279, "sched_setaffinity": 203,
    "sched_setattr": 314, "sched_setparam": 142, "sched_setscheduler": 144, "set_mempolicy": 238,
    "set_mempolicy_home_node": 450, "setpriority": 141, "setrlimit": 160,
}  # fmt: skip
KILL_PROCESS, REFUSE, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
EPERM = 1


def denied():
    """The numbers of the calls that the unit denies, and what becomes of one: (numbers, action)."""
    lines = re.findall(r"(?m)^SystemCallFilter=(.*)$", UNIT.read_text(encoding="utf-8"))
    names = set()
    for line in lines:
        words = line.lstrip("~").split()
        calls = {call for word in words for call in (RESOURCES if word == "@resources" else (word,))}
        names = names | calls if line.startswith("~") else names - calls
    refuses = re.search(r"(?m)^SystemCallErrorNumber=EPERM$", UNIT.read_text(encoding="utf-8"))
    return sorted(RESOURCES[name] for name in names & set(RESOURCES)), REFUSE | EPERM if refuses else KILL_PROCESS


def run_under_filter(numbers, action, command):
    """Becomes the command, which cannot make these calls."""
    rules = [(0x20, 0, 0, 0)]  # load the call's number
    for number in numbers:
        rules += [(0x15, 0, 1, number), (0x06, 0, 0, action)]  # if it is this one: the action
    rules += [(0x06, 0, 0, ALLOW)]
    program = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    text = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, head, 0, 0) != 0:  # no new rights; set the filter
        sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
    os.execvp(command[0], command)


def preload(numbers, action):
    return [sys.executable, __file__, ",".join(map(str, numbers)), str(action)]


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers are those of x86-64")
class Filter(unittest.TestCase):
    def test_the_filter_takes_calls_away(self):
        self.assertIn(RESOURCES["mbind"], denied()[0])
        command = ["sh", "-c", "umask 077; echo done"]
        for number, code in ((95, -signal.SIGSYS), (RESOURCES["mbind"], 0)):  # 95: umask
            result = subprocess.run(preload([number], KILL_PROCESS) + command, capture_output=True, timeout=30)
            self.assertEqual(result.returncode, code, result.stderr)

    def test_weir_starts_serves_and_loads_under_it(self):
        with Models() as models, Server(models.path, preload=preload(*denied()), access_log="/dev/null") as server:
            self.assertEqual(server.predict([[0.0] * 4]).status, 200)
            models.publish(2)
            eventually(lambda: server.predict([[0.0] * 4]).headers["x-weir-version"] == "2", 30, "version 2")
            eventually(lambda: server.metrics().total("weir_access_log_lines_total") > 0, what="lines of the access log")

    def test_there_is_a_folder_for_the_access_log(self):
        self.assertRegex(UNIT.read_text(encoding="utf-8"), r"(?m)^LogsDirectory=weir$")


if __name__ == "__main__":
    run_under_filter([int(number) for number in sys.argv[1].split(",")], int(sys.argv[2]), sys.argv[3:])
