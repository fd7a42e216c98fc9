# SPDX-License-Identifier: MIT
"""The benchmark's arithmetic, its tables and its view of a trace, with values known beforehand."""
import os
import sys

SRC = os.environ["SRC"]
sys.path.insert(0, os.path.join(SRC, "tests", "bench"))
import figures  # noqa: E402
import perprogram  # noqa: E402
import results  # noqa: E402
import tables  # noqa: E402
import tracefile  # noqa: E402

wrong = 0


def same(what, got, want):
    global wrong
    near = isinstance(got, float) and isinstance(want, (int, float)) and abs(got - want) < 1e-9
    if not near and got != want:
        print("%s: %r, not %r" % (what, got, want))
        wrong += 1


def means():
    same("median", figures.median([3, 1, None, 2]), 2)
    same("median of none", figures.median([None]), None)
    same("spread of few", figures.spread([3, 1, 2]), (1, 3))
    same("told", (figures.told([3, 4, 3.5], 2), figures.told([3, 5, 4], 2), figures.told([], 2)), (3.5, None, None))
    same("interval of 20", figures.interval(range(1, 21)), (6, 15))
    same("interval of 6", figures.interval([3, 1, 2, 6, 5, 4]), (1, 6))
    same("interval of few", figures.interval([1, 2, 3, 4, 5]), None)
    same("quartiles", figures.spread([1, 2, 3, 4, 5]), (2, 4))
    same("geometric mean", figures.geomean([1, 4, None, 16]), 4)
    same("geometric mean of a zero", figures.geomean([1, 0]), None)
    same("ratios are paired", figures.ratios([2, 9, None, 8], [1, 3, 5, 0]), [2, 3])
    same("differences", figures.differences([5, 7], [1, None]), [4])
    same("slope", figures.slope([(10, 25), (20, 45), (40, 85)]), 2)
    same("slope of one", figures.slope([(10, 25)]), None)


def fractions():
    base = [1.0, 1.1, 0.9, 1.0, 1.0]
    same("added", figures.added_fraction([b + 0.5 for b in base], [b + 2 for b in base], base), 0.25)
    same("added to nothing", figures.added_fraction([b + 0.5 for b in base], base, base), None)
    same("added within noise", figures.added_fraction([2.0, 2.0], [1.1, 1.1], [0.5, 1.5]), None)


def verdicts():
    same("at the limit", figures.judge(1.5, 1.5), "met")
    same("over it", figures.judge(1.51, 1.5), "missed")
    same("at least", figures.judge(5, 5, at_least=True), "met")
    same("less", figures.judge(4.9, 5, at_least=True), "missed")
    same("nothing", figures.judge(None, 5), "not measured")
    same("no limit", figures.judge(1, None), "not measured")
    t = figures.worst_target("x", [("a", 1), ("b", 3), ("c", None), ("d", 2.5)], 2)
    same("worst", (t["figure"], t["verdict"]), (3, "missed"))
    same("who misses", t["note"], "worst: b; 2 of 3 miss: b, d; 1 not told: c")
    t = figures.worst_target("x", [("a", 1), ("b", 3)], 1, at_least=True)
    same("least", (t["figure"], t["verdict"], t["note"]), (1, "met", "worst: a"))
    same("none", figures.worst_target("x", [("a", None)], 1)["verdict"], "not measured")


def layout():
    t = tables.Table("T", ["what", "ns|each"])
    t.add("a", "1")
    t.rule()
    t.add("bcdefg", "22,000")
    same("text", t.text(), "T\n            ns\nwhat      each\n--------------\na            1\n--------------\nbcdefg  22,000")
    same("markdown", t.markdown(), "### T\n\n| what | ns each |\n|---|--:|\n| a | 1 |\n| bcdefg | 22,000 |")
    same("number", (tables.number(1234.5), tables.number(None), tables.number(0.126, 1)), ("1,234.50", "-", "0.1"))
    one = figures.target("9 speed", 2, 3, aim=1, unit=" x")
    same("targets", tables.targets_table("", [one]).rows, [["9 speed", "at most 3.00 x (aim 1.00)", "2.00 x", "met", ""]])


class Fake:
    """A run with round numbers."""

    def __init__(self, wall, target, recorder=0.0, peak=1000, size=None, trace=None):
        self.wall, self.target, self.recorder, self.cpu, self.peak_kib, self.size = wall, target, recorder, target + recorder, peak, size
        self.trace, self.recorder_kib = trace, 2048


class Trace:
    events, lost, waited_ns, size, bytes = 1000000, 0, 0, 500000, {"events.op": 500000}


def program():
    m = perprogram.Measured("p", start=0.01)
    m.runs = {"none": [Fake(1, 1)] * 5, "library": [Fake(2, 2)] * 5, "raw": [Fake(3, 2)] * 5, "heaptrack": [Fake(5, 2, 3, 1200, 300000)] * 5,
              "ours": [Fake(1.5, 1.1, 0.06, 1100, 500000, Trace)] * 5}
    m.threads = 2
    same("CPU x", figures.median(m.times("ours", "target")), 1.1)
    same("added wall", (m.added_wall(), m.added_wall("library")), (0.25, 0.5))
    same("added CPU", m.added_cpu(), 0.04)
    same("ns in the program", m.target_ns("ours"), 100)
    same("ns of ms-record", m.recorder_ns("ours"), 60)
    same("without start-up", m.recorder_ns_running(), 50)
    same("bytes", (m.file_bytes("ours"), m.file_bytes("heaptrack")), (0.5, 0.3))
    same("memory", (m.peak_times("ours"), m.peak_added(), m.peak_allowed()), (1.1, 100, 2688))
    result = results.section.Result("x", "X")
    perprogram.targets(result, [m])
    verdicts_by_name = {t["what"]: t["verdict"] for t in result.targets}
    same("file", verdicts_by_name["2 bytes an event / larger of heaptrack's and 0.25"], "missed")
    same("wall", verdicts_by_name["1 added wall / raw's, median"], "met")


def trace():
    """A file from the golden set: all of its bytes are somewhere, and the end block was read."""
    path = os.path.join(SRC, "tests", "golden", "v1", "full.trace")
    totals = tracefile.Totals(path)
    same("size", totals.size, os.path.getsize(path))
    same("all bytes", sum(totals.bytes.values()) + 48, totals.size)
    with open(path[:-6] + ".txt") as f:
        events = sum(1 for row in f if row.startswith("  ") and " thread " in row and row.split()[0].isdigit())
    same("events", totals.events, events)


for test in (means, fractions, verdicts, layout, program, trace):
    test()
sys.exit(wrong != 0)
