#!/usr/bin/python3
"""Runs the integration tests: all, or those whose module.class.test name holds one of the given words.

All of them run file by file, two at a time (most of a test is waiting); a file that measures something says ALONE = True
and runs by itself. The last line is `N passed, N failed`. Tests that take long run only with WEIR_TEST_ALL=1.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
JOBS = int(os.environ.get("WEIR_TEST_JOBS", "2"))
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


class Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        took = time.monotonic() - self.began
        if took > 3.0:
            self.stream.writeln("    (%s took %.1f s)" % (test.id(), took))


def run_file(path):
    """Runs one file of tests in a process of its own. Returns what it printed, and how many passed and failed."""
    done = subprocess.run(
        [sys.executable, __file__, "--file", path.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False
    )
    counts = COUNTS.findall(done.stdout)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    return done.stdout, passed, max(failed, int(done.returncode != 0))


def run_all():
    files = sorted(HERE.rglob("test_*.py"))
    alone = [path for path in files if re.search(r"(?m)^ALONE = True$", path.read_text(encoding="utf-8"))]
    together = [path for path in files if path not in alone]
    passed = failed = 0
    failures = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for group in (pool.map(run_file, together), map(run_file, alone)):
            for text, good, bad in group:
                print(text, flush=True)
                passed, failed = passed + good, failed + bad
                failures += [text] if bad else []
    for text in failures:
        print("=== failed above:", *text.splitlines()[-80:], sep="\n")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def main(words):
    if not words:
        return run_all()
    pattern, in_words = "test*.py", words
    if words[0] == "--file":
        pattern, in_words = words[1], []
    return run(pattern, in_words)


def run(pattern, words):
    sys.path.insert(0, str(HERE))
    tests = list(flatten(unittest.TestLoader().discover(str(HERE), pattern=pattern, top_level_dir=str(HERE))))
    unmatched = [word for word in words if not any(word in test.id() for test in tests)]
    if words:
        tests = [test for test in tests if any(word in test.id() for word in words)]
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2 if words else 1, resultclass=Result)
    result = runner.run(unittest.TestSuite(tests))
    for test, reason in result.skipped:
        print("skipped: %s: %s" % (test.id(), reason))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - len(result.skipped))
    for word in unmatched or ([] if tests else [pattern]):
        print("no test is named %s" % word)
        failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
