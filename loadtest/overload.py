#!/usr/bin/python3
"""usage: overload.py [--part NAME,...] [--servers KEY,...] [--seconds 5] [--minutes 30] [--requests N] [--write] [--quick]

What happens when more is asked of weir than it can do. Each part stands alone; without --part all run but soak:

  curve      goodput against offered load, weir beside plain queues and other servers; draws overload.svg
  natural    the same with the digits model, whose refusals cost as much as its answers
  steps      from 0.8 times the capacity to 4 times and back
  burst      2,000 requests in 10 ms
  mixed      deadlines of 30, 100 and 400 ms, and priorities, beside a replay of the same arrivals
  health     /health and /metrics at 10 times the capacity, and while 1,000 connections dribble
  delay      what max_queue_delay_us costs and gains
  refusal    the CPU of a refusal against that of a bare server's answer
  accounts   clients that misbehave in every way: is every request in exactly one count?
  soak       the same for --minutes, with reloads: does memory grow?

Each part writes build/results/overload-PART.json, and with --write its section of loadtest/RESULTS.md. Exits with 1 if a goal
is missed.
"""

import pathlib
import tempfile

import overload_accounts
import overload_curve
import overload_delay
import overload_parts
from measure import MeasureError, Report, arguments, begin, conclude, own_command, raise_descriptor_limit, run_main, say
from overload_tools import Bench

PARTS = {
    "curve": overload_curve.curve,
    "natural": overload_curve.natural,
    "steps": overload_parts.steps,
    "burst": overload_parts.burst,
    "mixed": overload_parts.mixed,
    "health": overload_parts.health,
    "delay": overload_delay.delay,
    "refusal": overload_parts.refusal,
    "accounts": overload_accounts.accounts,
    "soak": overload_accounts.soak,
}


def names(text):
    return text.split(",")


def read_options():
    parser = arguments(__doc__)
    parser.add_argument("--part", type=names, default=[name for name in PARTS if name != "soak"])
    parser.add_argument("--servers", type=names, default=None, help="of the curve; the first must be weir")
    parser.add_argument("--multiples", type=lambda text: sorted(map(float, text.split(","))), default=[1, 1.4, 2, 4, 10])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each point")
    parser.add_argument("--hidden", type=int, default=4096, help="width of the slow model's two hidden layers")
    parser.add_argument("--minutes", type=float, default=30.0, help="of the soak")
    parser.add_argument("--requests", type=int, default=300000, help="of the accounts")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.requests = 1.5, 20000
    for name in options.part:
        if name not in PARTS:
            parser.error("no such part: %s (there are %s)" % (name, ", ".join(PARTS)))
    return options


def main():
    options = read_options()
    begin()
    raise_descriptor_limit()
    missed = []
    with tempfile.TemporaryDirectory(prefix="weir-overload-") as folder:
        bench = Bench(pathlib.Path(folder), options)
        for name in options.part:
            say("== %s" % name)
            part = PARTS[name]
            report = Report("overload-" + name, part.__doc__.split("\n")[0], own_command("load", "overload"))
            try:
                extra = part(bench, report)
            except MeasureError as error:
                say("*** the part %s could not be measured: %s" % (name, error))
                missed.append("%s: could not be measured" % name)
                continue
            print("%s\n\n%s" % (report.title, report.text()))
            report.save(options.write, extra)
            missed += ["%s: %s" % (name, what) for what in report.missed()]
    return conclude(missed)


if __name__ == "__main__":
    run_main("overload", main)
