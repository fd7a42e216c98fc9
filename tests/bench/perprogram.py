# SPDX-License-Identifier: MIT
"""Section "programs": each program without a recorder, with heaptrack and with ours, in turn; then the files and their analysis."""
import os
import sqlite3

import figures
import meter
import place
import programs
import recorders
import tracefile
from figures import median
from section import Result, progress
from tables import number, span

RECORDERS = {"none": recorders.bare, "library": recorders.library, "raw": recorders.raw, "heaptrack": recorders.heaptrack, "ours": recorders.ours}
THEIRS = ("library", "raw", "heaptrack")
ADDED_KIB, ADDED_KIB_A_THREAD = 2048, 320  # what recording may add to the target's memory
SECONDS_A_PROGRAM = 30


class Measured:
    """All that was measured of one program; a recorder that failed has no runs, and `failed` says why."""

    def __init__(self, name, start=0.0):
        self.name, self.start, self.failed = name, start, {}  # start: CPU s of ms-record for a program that does nothing
        self.runs = {r: [] for r in RECORDERS}
        self.print, self.snap, self.report = [], [], []  # meter.Sample of heaptrack_print, ms-snap and ms-report
        self.full = self.with_addresses = self.threads = None

    def of(self, recorder, field):
        return [getattr(r, field) for r in self.runs[recorder]]

    # ---- figures: None when what they need is missing
    def times(self, recorder, field):
        """How many times what the bare run takes, round by round."""
        return figures.ratios(self.of(recorder, field), self.of("none", field))

    @property
    def events(self):
        return median([r.trace.events for r in self.runs["ours"]])

    def per_event(self, seconds):
        return None if seconds is None or not self.events else seconds / self.events * 1e9

    def target_ns(self, recorder):
        return self.per_event(median(figures.differences(self.of(recorder, "target"), self.of("none", "target"))))

    def recorder_ns(self, recorder):
        return self.per_event(median(self.of(recorder, "recorder")))

    def added_wall(self, than="raw"):
        return figures.added_fraction(self.of("ours", "wall"), self.of(than, "wall"), self.of("none", "wall"))

    def added_wall_spread(self):
        none = self.of("none", "wall")
        ours, raw = figures.differences(self.of("ours", "wall"), none), figures.differences(self.of("raw", "wall"), none)
        return figures.spread(figures.ratios(ours, raw))

    def added_cpu(self):
        return figures.added_fraction(self.of("ours", "cpu"), self.of("heaptrack", "cpu"), self.of("none", "cpu"))

    def recorder_ns_running(self):
        """ms-record's without what it takes to start and end."""
        return self.per_event(median([max(r.recorder - self.start, 0) for r in self.runs["ours"]]))

    def file_bytes(self, recorder):
        sizes = median(self.of(recorder, "size"))
        return sizes / self.events if sizes is not None and self.events else None

    def peak_times(self, recorder):
        return median(figures.ratios(self.of(recorder, "peak_kib"), self.of("none", "peak_kib")))

    def peak_added(self):
        return median(figures.differences(self.of("ours", "peak_kib"), self.of("none", "peak_kib")))

    def peak_allowed(self):
        return ADDED_KIB + ADDED_KIB_A_THREAD * self.threads if self.threads else None

    def analysis(self, field):
        """(heaptrack_print, ms-snap, ms-report)."""
        return [median([getattr(s, field) for s in samples]) for samples in (self.print, self.snap, self.report)]

    def report_ratio(self, field):
        """ms-report's of the trace / heaptrack_print's."""
        theirs, _, mine = self.analysis(field)
        return mine / theirs if mine and theirs else None

    def analysis_ratio(self, field):
        return median(figures.ratios([getattr(s, field) for s in self.print], [getattr(s, field) for s in self.snap]))

    def snap_rate(self):
        """Million events a second of CPU."""
        own = median([s.total for s in self.snap])
        return self.full.events / own / 1e6 if own and self.full else None


def attempt(measured, what, function):
    """Runs one step; a failure is noted once and that recorder left alone from then on."""
    if what in measured.failed:
        return None
    try:
        return function()
    except (meter.Trouble, OSError, ValueError, sqlite3.Error) as error:
        measured.failed[what] = str(error)
        return None


def skip_heaptrack(measured):
    for recorder in THEIRS:
        measured.failed[recorder] = "heaptrack is not installed (tests/deps bench)"


def rounds(measured, work, settings, which=RECORDERS):
    for i in settings.each_round(SECONDS_A_PROGRAM):
        progress("%s, round %d" % (measured.name, i + 1))
        for recorder in which:
            done = attempt(measured, recorder, lambda: RECORDERS[recorder](work))
            if done:
                measured.runs[recorder].append(done)


def files(measured, work):
    """With symbols, and without them but with addresses: once each, for their sizes."""
    full = attempt(measured, "full trace", lambda: recorders.ours(work, (), "full.trace"))
    extra = attempt(measured, "--addresses", lambda: recorders.ours(work, ("--no-symbols", "--addresses"), "addresses.trace"))
    measured.full, measured.with_addresses = full and full.trace, extra and extra.trace


def analyses(measured, settings):
    """Of files that lie in the page cache, symbols in both; the two tools in turn."""
    for i in settings.each_round(SECONDS_A_PROGRAM / 3):
        progress("%s, analysis %d" % (measured.name, i + 1))
        if measured.runs["heaptrack"]:
            done = attempt(measured, "heaptrack_print", lambda: meter.measure(["heaptrack_print", "heaptrack.zst"]))
            measured.print += [done] if done else []
        if measured.full:
            done = attempt(measured, "ms-snap", lambda: meter.measure([place.MS_SNAP, "-q", "-o", "snap.db", "full.trace"]))
            measured.snap += [done] if done else []
            done = attempt(measured, "ms-report", lambda: meter.measure([place.MS_REPORT, "--no-pager", "full.trace"]))
            measured.report += [done] if done else []
    if measured.snap:
        query = "SELECT count(*) FROM thread WHERE allocations > 0 OR frees > 0"
        measured.threads = attempt(measured, "threads", lambda: sqlite3.connect("snap.db").execute(query).fetchone()[0])


def starting():
    runs = [meter.measure([place.MS_RECORD, "-q", "--no-symbols", "-o", "true.trace", "--", "true"]).own for _ in range(9)]
    return median(runs)


def remove_files():
    for left in ("heaptrack.raw", "heaptrack.raw.zst", "heaptrack.zst", "run.trace", "full.trace", "addresses.trace", "snap.db"):
        if os.path.exists(left):
            os.unlink(left)


def measure_one(name, make, settings, start=0.0):
    measured = Measured(name, start)
    if not settings.heaptrack:
        skip_heaptrack(measured)
    work = attempt(measured, "input", lambda: make(settings.scale))
    if work and attempt(measured, "none", lambda: recorders.bare(work)):  # which also warms the file cache
        rounds(measured, work, settings)
        files(measured, work)
        analyses(measured, settings)
    remove_files()
    return measured


# ---- tables -------------------------------------------------------------------------------------
def cost_table(result, all_measured):
    t = result.table("What it costs the program", [
        "program", "events", "bare|CPU s", "CPU x|raw", "CPU x|heaptrack", "CPU x|ours", "middle half|of rounds", "wall x|raw", "wall x|heaptrack",
        "wall x|ours", "middle half|of rounds"])
    columns = [(r, f) for f in ("target", "wall") for r in ("raw", "heaptrack", "ours")]
    for m in all_measured:
        cells = [number(median(m.times(r, f))) for r, f in columns]
        cells.insert(3, span(figures.spread(m.times("ours", "target"))))
        cells.append(span(figures.spread(m.times("ours", "wall"))))
        t.add(m.name, number(m.events, 0), number(median(m.of("none", "target"))), *cells)
    t.rule()
    for word, mean in (("geometric mean", figures.geomean), ("median", median)):
        cells = [number(mean([median(m.times(r, f)) for m in all_measured])) for r, f in columns]
        t.add(word, "", "", *cells[:3], "", *cells[3:], "")
    t.notes.append("CPU x, wall x: times what the program takes without a recorder, medians of rounds paired in turn. CPU: of the program alone; "
                   "wall: until every file is written. raw: heaptrack --raw (a pipe to zstd).")


def added_table(result, all_measured):
    t = result.table("What recording adds", [
        "program", "added wall|ours / raw", "middle half|of rounds", "/ its|library", "added CPU in all|ours / heaptrack", "ns/event target|raw",
        "ns/event target|heaptrack", "ns/event target|ours", "ns/event|heaptrack rest", "ns/event|ms-record", "without|start-up", "waited|ms"])
    rows = [[m.added_wall(), m.added_wall("library"), m.added_cpu(), m.target_ns("raw"), m.target_ns("heaptrack"), m.target_ns("ours"),
             m.recorder_ns("heaptrack"), m.recorder_ns("ours"), m.recorder_ns_running()] for m in all_measured]
    for m, row in zip(all_measured, rows):
        waited = median([r.trace.waited_ns / 1e6 for r in m.runs["ours"]])
        t.add(m.name, number(row[0]), span(m.added_wall_spread()), number(row[1]), number(row[2]), *[number(v, 0) for v in row[3:]],
              number(waited, 0))
    t.rule()
    columns = list(zip(*rows))
    t.add("median", number(median(columns[0])), "", *[number(median(c)) for c in columns[1:3]], *[number(median(c), 0) for c in columns[3:]], "")
    t.notes.append("Added: recorded minus bare. Its library: heaptrack's alone, writing an uncompressed file, which its script has no way to ask for. In all: "
                   "the program and everything that records it (heaptrack_interpret and zstd; ms-record). "
                   "waited: by threads of the program for ms-record, together.")


def file_table(result, all_measured):
    t = result.table("Files and memory", [
        "program", "B/event|heaptrack", "B/event|ours", "with|symbols", "with|addresses", "limit", "", "peak RSS x|raw", "peak RSS x|ours",
        "added|KiB", "allowed|KiB", "ms-record|MiB"])
    for m in all_measured:
        theirs, mine, limit = m.file_bytes("heaptrack"), m.file_bytes("ours"), file_limit(m)
        word = "" if mine is None or limit is None else figures.judge(mine, limit)
        recorder = median(m.of("ours", "recorder_kib"))
        t.add(m.name, number(theirs, 3), number(mine, 3), number(per(m.full, "size"), 3), number(per(m.with_addresses, "size"), 3),
              number(limit, 3), word, number(m.peak_times("raw")), number(m.peak_times("ours")), number(m.peak_added(), 0),
              number(m.peak_allowed(), 0), number(recorder / 1024 if recorder else None, 0))
    t.rule()
    t.add("median", *[number(median([f(m) for m in all_measured]), 3) for f in (
        lambda m: m.file_bytes("heaptrack"), lambda m: m.file_bytes("ours"), lambda m: per(m.full, "size"),
        lambda m: per(m.with_addresses, "size"))], "", "", *[number(figures.geomean([m.peak_times(r) for m in all_measured]))
                                                          for r in ("raw", "ours")], "", "", "")
    t.notes.append("B/event: heaptrack's compressed file (with its symbols; no threads or times), ours without symbols, with them, and "
                   "with --addresses. Peak RSS of the program; its mean is geometric. allowed: 2 MiB + 320 KiB for each thread that allocates.")


def per(trace, field):
    return getattr(trace, field) / trace.events if trace and trace.events else None


def file_limit(m):
    theirs = m.file_bytes("heaptrack")
    return None if theirs is None else max(theirs, 0.25)


def analysis_table(result, all_measured):
    t = result.table("Analysis of the file", [
        "program", "events", "heaptrack_print|s", "ms-snap|s", "times|faster", "ms-snap|M events/s/core", "ms-report|s", "/ heaptrack_|print",
        "heaptrack_print|MiB", "ms-snap|MiB", "/ heaptrack_|print", "ms-report|MiB", "/ heaptrack_|print"])
    for m in all_measured:
        walls, mib = m.analysis("wall"), [kib and kib / 1024 for kib in m.analysis("rss_kib")]
        t.add(m.name, number(m.full and m.full.events, 0), *[number(s, 3) for s in walls[:2]], number(m.analysis_ratio("wall"), 1),
              number(m.snap_rate(), 1), number(walls[2], 3), number(m.report_ratio("wall")), *[number(v, 0) for v in mib[:2]],
              number(memory_fraction(m)), number(mib[2], 0), number(m.report_ratio("rss_kib")))
    t.notes.append("Both files with symbols and in the page cache. ms-snap writes peak and end; ms-report TRACE is the first screen; a core is a second of "
                   "ms-snap's CPU time.")


def memory_fraction(m):
    theirs, mine, _ = m.analysis("rss_kib")
    return mine / theirs if theirs and mine else None


def columns_table(result, all_measured):
    """Bytes per event by column, the dearest first."""
    total = {}
    shares = {}
    for m in all_measured:
        if not m.runs["ours"]:
            continue
        trace = m.runs["ours"][-1].trace
        shares[m.name] = {k: v / max(trace.events, 1) for k, v in trace.bytes.items()}
        for k, v in shares[m.name].items():
            total[k] = total.get(k, 0) + v
    names = sorted(total, key=total.get, reverse=True)
    shown = [n for n in names if total[n] / max(len(shares), 1) >= 0.0005]
    t = result.table("Bytes per event by column", ["program", *[n.replace("events.", "") for n in shown], "all"])
    for name, share in shares.items():
        t.add(name, *[number(share.get(n, 0.0), 3) for n in shown], number(sum(share.values()), 3))
    t.notes.append("Stored (compressed) bytes of the trace without symbols; op to address are the columns of event blocks, the others whole blocks.")


def targets(result, all_measured):
    def mean_of(mean, function):
        return mean([function(m) for m in all_measured])

    def named(function):
        return [(m.name, function(m)) for m in all_measured]

    def named_over_a_million(function):
        return [(m.name, function(m)) for m in all_measured if m.full and m.full.events > 1e6]

    add = result.targets.append
    add(figures.target("1 CPU of the program, geometric mean", mean_of(figures.geomean, lambda m: median(m.times("ours", "target"))), 1.5, aim=1.3,
                       unit=" x"))
    add(figures.target("1 wall time, geometric mean", mean_of(figures.geomean, lambda m: median(m.times("ours", "wall"))), 1.5, aim=1.3, unit=" x"))
    add(figures.worst_target("1 added wall / raw's, every program", named(Measured.added_wall), 0.5, aim=0.25))
    add(figures.target("1 added wall / raw's, median", mean_of(median, Measured.added_wall), 0.25, aim=0.125))
    add(figures.worst_target("1 added CPU in all / heaptrack's", named(Measured.added_cpu), 0.5))
    add(figures.worst_target("1 ms-record, ns an event, without start-up", named(Measured.recorder_ns_running), 50, aim=25, digits=0))
    over = [(m.name, m.file_bytes("ours") / file_limit(m)) for m in all_measured if file_limit(m) and m.file_bytes("ours")]
    add(figures.worst_target("2 bytes an event / larger of heaptrack's and 0.25", over, 1))
    add(figures.target("2 bytes an event, median", mean_of(median, lambda m: m.file_bytes("ours")),
                       mean_of(median, lambda m: m.file_bytes("heaptrack")), digits=3, note="limit: heaptrack's median"))
    add(figures.worst_target("3 ms-snap, million events a second and core", named_over_a_million(Measured.snap_rate), 20, at_least=True, digits=1))
    add(figures.worst_target("3 ms-snap times faster than heaptrack_print, over 1 M events",
                             named_over_a_million(lambda m: m.analysis_ratio("wall")), 5, at_least=True, digits=1))
    for what, field in (("time", "wall"), ("memory", "rss_kib")):
        some = [(m.name, m.report_ratio(field)) for m in all_measured if m.full and m.full.events > 1e5]
        add(figures.worst_target("8 ms-report TRACE / heaptrack_print, %s, over 100,000 events" % what, some, 0.5, aim=0.2))
    add(figures.worst_target("3 memory of ms-snap / heaptrack_print", named(memory_fraction), 0.2))
    add(figures.target("6 peak RSS of the program, geometric mean", mean_of(figures.geomean, lambda m: m.peak_times("ours")), 1.15, unit=" x"))
    allowed = [(m.name, m.peak_added() / m.peak_allowed()) for m in all_measured if m.peak_allowed() and m.peak_added() is not None]
    add(figures.worst_target("6 added memory / (2 MiB + 320 KiB a thread)", allowed, 1))


def losses(all_measured):
    """Where ours is worse than heaptrack."""
    pairs = {
        "CPU of the program (against heaptrack --raw)": lambda m: (median(m.times("ours", "target")), median(m.times("raw", "target"))),
        "wall time (against heaptrack --raw)": lambda m: (median(m.times("ours", "wall")), median(m.times("raw", "wall"))),
        "wall time (against heaptrack)": lambda m: (median(m.times("ours", "wall")), median(m.times("heaptrack", "wall"))),
        "bytes an event": lambda m: (m.file_bytes("ours"), m.file_bytes("heaptrack")),
        "peak memory of the program": lambda m: (m.peak_times("ours"), m.peak_times("raw")),
        "time of the analysis": lambda m: m.analysis("wall")[1::-1],
        "memory of the analysis": lambda m: m.analysis("rss_kib")[1::-1],
    }
    found = []
    for what, both in pairs.items():
        worse = [(m.name, *both(m)) for m in all_measured if None not in both(m) and both(m)[0] > both(m)[1]]
        if worse:
            found.append("%s: %s" % (what, ", ".join("%s (%.2f times)" % (name, mine / theirs) for name, mine, theirs in worse)))
    return found


def short(all_measured):
    """What README shows of it."""
    rows = []
    for m in all_measured:
        cpu = [number(median(m.times(r, "target"))) for r in ("raw", "heaptrack", "ours")]
        wall = [number(median(m.times(r, "wall"))) for r in ("raw", "heaptrack", "ours")]
        size = [number(m.file_bytes(r)) for r in ("heaptrack", "ours")]
        after = [number(s) for s in m.analysis("wall")[::2]]
        rows.append([m.name, number(m.events, 0), *[" / ".join(c) for c in (cpu, wall, size, after)]])
    return {"head": ["program", "events", "CPU x raw / heaptrack / ours", "wall x raw / heaptrack / ours", "bytes per event heaptrack / ours",
                     "analyse s heaptrack / ours"], "rows": rows}


def report(result, all_measured, settings):
    complete = [m for m in all_measured if m.runs["none"] and m.runs["ours"]]
    for m in all_measured:
        failed = {what: why for what, why in m.failed.items() if settings.heaptrack or what not in THEIRS}
        result.notes += ["%s: %s FAILED: %s" % (m.name, what, why) for what, why in failed.items()]
    for make_table in (cost_table, added_table, file_table, analysis_table, columns_table):
        make_table(result, complete)
    fewest = min([len(m.runs["none"]) for m in complete] or [0])
    result.notes.append("%d rounds (fewest of a program: %d)." % (settings.rounds, fewest))
    if not settings.heaptrack:
        result.notes.append("heaptrack is not installed (tests/deps bench): no ratio to it.")
    targets(result, complete)
    result.short, result.losses = short(complete), losses(complete)


def measure(settings):
    result = Result("programs", "Programs")
    chosen = {n: f for n, f in programs.PROGRAMS.items() if not settings.only or n in settings.only}
    start = starting()
    all_measured = [measure_one(name, make, settings, start) for name, make in chosen.items()]
    result.notes.append("ms-record's start-up and end, CPU for a program that does nothing: %.1f ms." % (start * 1e3))
    report(result, all_measured, settings)
    return result
