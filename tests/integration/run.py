#!/usr/bin/python3
"""Runs the integration tests: all, or those whose module.class.test name holds one of the given words.

All of them run file by file, two at a time (most of a test is waiting); a file that measures something says ALONE = True
and runs by itself. The last line is `N passed, N failed`. Tests that take long run only with WEIR_TEST_ALL=1.
"""

import concurrent.futures
import inspect
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


def run_file(path, words=()):
    """Runs one file of tests, or those that the words name, in a process of its own. Returns what it printed, and how many
    passed and failed."""
    done = subprocess.run(
        [sys.executable, __file__, "--file", path.name, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False
    )
    counts = COUNTS.findall(done.stdout)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    return done.stdout, passed, max(failed, int(done.returncode != 0))


def run_files(files, words=()):
    """Runs files side by side, and those that want to be alone after that."""
    alone = [path for path in files if re.search(r"(?m)^ALONE = True$", path.read_text(encoding="utf-8"))]
    together = [path for path in files if path not in alone]
    passed = failed = 0
    failures = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for group in (pool.map(lambda path: run_file(path, words), together), (run_file(path, words) for path in alone)):
            for text, good, bad in group:
                print(text, flush=True)
                passed, failed = passed + good, failed + bad
                failures += [text] if bad else []
    for text in failures:
        print("=== failed above:", *text.splitlines()[-80:], sep="\n")
    return passed, failed


def load(pattern):
    sys.path.insert(0, str(HERE))
    return list(flatten(unittest.TestLoader().discover(str(HERE), pattern=pattern, top_level_dir=str(HERE))))


def named(test, words):
    return not words or any(word in test.id() for word in words)


def run_words(words):
    """Runs the tests whose names hold one of the words; a word that none holds fails."""
    tests = load("test*.py")
    unmatched = [word for word in words if not any(word in test.id() for test in tests)]
    files = sorted({pathlib.Path(inspect.getfile(type(test))) for test in tests if named(test, words)})
    passed, failed = run_files(files, words)
    for word in unmatched:
        print("no test is named %s" % word)
    return passed, failed + len(unmatched)


def run(pattern, words):
    """Runs the tests of one file here."""
    tests = [test for test in load(pattern) if named(test, words)]
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2 if words else 1, resultclass=Result)
    result = runner.run(unittest.TestSuite(tests))
    for test, reason in result.skipped:
        print("skipped: %s: %s" % (test.id(), reason))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - len(result.skipped))
    if not tests:
        print("no test in %s" % pattern)
        failed += 1
    return passed, failed


def main(words):
    if not words:
        passed, failed = run_files(sorted(HERE.rglob("test_*.py")))
    elif words[0] == "--file":
        passed, failed = run(words[1], words[2:])
    else:
        passed, failed = run_words(words)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
