# SPDX-License-Identifier: MIT
"""Section "mimalloc": the programs of mimalloc-bench, when MIMALLOC_BENCH names the folder in which it was built.

Arguments are those of its bench.sh; programs that are not there are left out. What runs for a fixed time prints how fast it was: of these, only that
can be compared.
"""
import os
import re

import figures
import meter
import perprogram
import recorders
from figures import median
from programs import Work
from section import Result, Settings, progress
from tables import number

ROUNDS = 3
# Arguments (@: processors, @@: twice as many) and standard input; the current folder is out/bench.
FIXED_WORK = {
    "cfrac": ("17545186520507317056371138836327483792789528", None),
    "espresso": ("../../bench/espresso/largest.espresso", None),
    "barnes": ("", "../../bench/barnes/input"),
    "alloc-test": ("1", None),
    "cache-scratch": ("1 1000 1 2000000 @", None),
    "cache-thrash": ("1 1000 1 2000000 @", None),
    "glibc-simple": ("", None),
    "malloc-large": ("", None),
    "mleak": ("5", None),
    "mstress": ("@ 50 25", None),
    "rptest": ("@ 0 1 2 500 1000 100 8 16000", None),
    "sh6bench": ("@@", None),
    "sh8bench": ("@@", None),
}
# Also: what in its output is the time for a fixed amount of work, and whether it is work in a fixed time instead.
FIXED_TIME = {
    "larson": ("5 8 1000 5000 100 4141 @", r" time: ([0-9.]+)", False),
    "larson-sized": ("5 8 1000 5000 100 4141 @", r" time: ([0-9.]+)", False),
    "xmalloc-test": ("-w @ -t 5 -s 64", r"rtime: ([0-9.]+)", False),
    "glibc-thread": ("@", r"^([0-9.]+)", True),
}


class Its(Work):
    """A program of out/bench; files that it is given are named from there."""

    def __init__(self, folder, name, arguments, stdin=None):
        cores = os.cpu_count()
        words = arguments.replace("@@", str(2 * cores)).replace("@", str(cores)).split()
        words = [os.path.join(folder, w) if w.startswith("../") else w for w in words]
        super().__init__([os.path.join(folder, name), *words], stdin=os.path.join(folder, stdin) if stdin else os.devnull)


def relative_time(work, pattern, inverse):
    with open(work.stdout) as f:
        found = re.search(pattern, f.read(), re.MULTILINE)
    if not found or float(found[1]) <= 0:
        raise meter.Trouble("'%s' did not say how fast it was" % work.command[0])
    return 1 / float(found[1]) if inverse else float(found[1])


def timed(result, t, folder, name, settings):
    arguments, pattern, inverse = FIXED_TIME[name]
    work = Its(folder, name, arguments)
    work.stdout = "said.txt"
    how = {"none": recorders.bare, "ours": recorders.ours}
    if settings.heaptrack:
        how.update({"raw": recorders.raw, "heaptrack": recorders.heaptrack})
    times = {r: [] for r in how}
    try:
        for i in settings.each_round(30, rounds=2, least=1):
            for recorder, run in how.items():
                progress("%s, %s, round %d" % (name, recorder, i + 1))
                done = run(work)
                times[recorder].append(relative_time(work, pattern, inverse))
    except (meter.Trouble, OSError, ValueError) as error:
        result.notes.append("%s: FAILED: %s" % (name, error))
        return
    slower = {r: number(median(figures.ratios(times.get(r, []), times["none"]))) for r in ("raw", "heaptrack", "ours")}
    done = recorders.ours(work)
    t.add(name, number(done.trace.events, 0), slower["raw"], slower["heaptrack"], slower["ours"], number(done.size / done.trace.events),
          number(done.recorder / done.trace.events * 1e9, 0))


def measure(settings):
    result = Result("mimalloc", "mimalloc-bench's programs")
    root = os.environ.get("MIMALLOC_BENCH")
    folder = os.path.join(root or "", "out", "bench")
    if not root or not os.path.isdir(folder):
        result.notes.append("not measured: MIMALLOC_BENCH names no folder with out/bench in it")
        return result
    folder = os.path.abspath(folder)
    few = Settings(settings.scale, min(settings.rounds, ROUNDS), settings.heaptrack)
    there = [n for n in FIXED_WORK if os.access(os.path.join(folder, n), os.X_OK)]
    makers = {n: lambda scale, n=n: Its(folder, n, *FIXED_WORK[n]) for n in there}
    start = perprogram.starting()
    perprogram.report(result, [perprogram.measure_one(n, make, few, start) for n, make in makers.items()], few)
    result.targets, result.short = [], {}  # the targets are about the other programs
    there = [n for n in FIXED_TIME if os.access(os.path.join(folder, n), os.X_OK)]
    if there:
        t = result.table("Programs that run for a fixed time: how many times slower", ["program", "events", "raw", "heaptrack", "ours", "B/event|ours",
                                                                                 "ns/event|ms-record"])
        for name in there:
            timed(result, t, folder, name, few)
    return result
