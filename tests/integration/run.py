#!/usr/bin/python3
"""Runs the integration tests: all, or those whose module.class.test name holds one of the given words.

The last line is `N passed, N failed`. Tests that take long run only with WEIR_TEST_ALL=1.
"""

import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent


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


def main(words):
    sys.path.insert(0, str(HERE))
    tests = list(flatten(unittest.TestLoader().discover(str(HERE), top_level_dir=str(HERE))))
    if words:
        tests = [test for test in tests if any(word in test.id() for word in words)]
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2 if words else 1, resultclass=Result)
    result = runner.run(unittest.TestSuite(tests))
    for test, reason in result.skipped:
        print("skipped: %s: %s" % (test.id(), reason))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - len(result.skipped))
    if not tests:
        print("no test found")
        failed = 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
