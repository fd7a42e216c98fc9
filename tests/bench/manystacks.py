# SPDX-License-Identifier: MIT
"""Section "stacks": programs that recurse over trees, and so allocate from ten thousand to a million different call stacks."""
import shutil
import sqlite3

import figures
import perprogram
import place
import programs
import recorders
from figures import median
from perprogram import Measured, attempt
from section import Result
from tables import number, span

EVENTS = 4000000
RECORDERS = ("none", "raw", "heaptrack", "ours")


def tree(stacks):
    return lambda scale: programs.Work([place.STACKS, str(stacks), str(programs.many(scale, EVENTS))])


PROGRAMS = {"tree 10 K": tree(10000), "tree 100 K": tree(100000), "tree 1 M": tree(1000000), "openscad": programs.openscad, "clang": programs.clang}
INSTALLED = ("openscad", "clang")  # from packages that the benchmark does not ask for


class Many(Measured):
    """All that was measured of one program."""

    sites = None

    def own_times(self, recorder):
        return figures.ratios(self.of(recorder, "own"), self.of("none", "own"))

    def added_ns(self, recorder):
        """CPU ns an event that recording adds, of the program and its recorder together."""
        return self.per_event(median(figures.differences(self.of(recorder, "cpu"), self.of("none", "cpu"))))


def measure_one(name, settings):
    one = Many(name)
    if not settings.heaptrack:
        perprogram.skip_heaptrack(one)
    work = attempt(one, "input", lambda: PROGRAMS[name](settings.scale))
    if work and attempt(one, "none", lambda: recorders.bare(work)):
        perprogram.rounds(one, work, settings, RECORDERS)
        full = attempt(one, "full trace", lambda: recorders.ours(work, (), "full.trace"))
        one.full = full and full.trace
        perprogram.analyses(one, settings)
        one.sites = attempt(one, "sites", lambda: sqlite3.connect("snap.db").execute("SELECT count(*) FROM site").fetchone()[0])
    perprogram.remove_files()
    return one


def recording_table(result, done):
    t = result.table("Recording", [
        "program", "events", "sites", "bare|wall s", "own end x|raw", "own end x|heaptrack", "own end x|ours", "middle half", "complete x|ours",
        "added CPU|ns/event|raw", "added CPU|ns/event|heaptrack", "added CPU|ns/event|ours", "ms-record|ns/event", "waited|ms", "B/event|heaptrack",
        "B/event|ours", "ms-record|MiB"])
    for one in done:
        waited, recorder = median([r.trace.waited_ns / 1e6 for r in one.runs["ours"]]), median(one.of("ours", "recorder_kib"))
        t.add(one.name, number(one.events, 0), number(one.sites, 0), number(median(one.of("none", "wall"))),
              *[number(median(one.own_times(r))) for r in ("raw", "heaptrack", "ours")], span(figures.spread(one.own_times("ours"))),
              number(median(one.times("ours", "wall"))), *[number(one.added_ns(r), 0) for r in ("raw", "heaptrack", "ours")],
              number(one.recorder_ns("ours"), 0), number(waited, 0), *[number(one.file_bytes(r)) for r in ("heaptrack", "ours")],
              number(recorder and recorder / 1024, 0))
    t.notes.append("own end: until the program itself has ended; complete: until every file is written; times what it takes without a recorder, medians of "
                   "rounds in turn. Added CPU: of the program and all that records it, over bare. raw: heaptrack --raw. waited: by threads of the program for "
                   "ms-record, together. B/event of ours: without symbols.")


def targets(result, done):
    def worst(what, function, limit, **more):
        result.targets.append(figures.worst_target(what, [(one.name, function(one)) for one in done], limit, **more))

    worst("9 many stacks, own end / bare", lambda one: median(one.own_times("ours")), 4, aim=2.5)
    worst("9 many stacks, CPU of program and recorder, ns an event over bare", lambda one: one.added_ns("ours"), 150, aim=100, digits=0)
    worst("9 many stacks, ms-report TRACE / heaptrack_print, time", lambda one: one.report_ratio("wall"), 0.5, aim=0.25)
    worst("9 many stacks, ms-report TRACE / heaptrack_print, memory", lambda one: one.report_ratio("rss_kib"), 1, aim=0.5)


def measure(settings):
    result = Result("stacks", "Many call stacks")
    absent = [name for name in INSTALLED if not shutil.which(name)]
    result.notes += ["%s is not installed: not measured." % name for name in absent]
    tried = [measure_one(name, settings) for name in PROGRAMS if name not in absent]
    for one in tried:
        failed = {what: why for what, why in one.failed.items() if settings.heaptrack or what not in perprogram.THEIRS}
        result.notes += ["%s: %s FAILED: %s" % (one.name, what, why) for what, why in failed.items()]
    done = [one for one in tried if one.runs["none"] and one.runs["ours"]]
    recording_table(result, done)
    perprogram.analysis_table(result, done)
    targets(result, done)
    return result
