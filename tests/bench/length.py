# SPDX-License-Identifier: MIT
"""Section "length": recording and analysis at 1, 10 and 100 million events with 10,000 live blocks."""
import os

import figures
import meter
import place
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number

MILLIONS = (1, 10, 100)
LIVE, DEPTH = 10000, 12
LIMIT = 256 << 20
FLAT = 1.25


def snap(path, **limits):
    return meter.measure([place.MS_SNAP, "-q", "-o", "length.db", path], **limits)


def repeats(millions):
    return 1 if millions >= 50 else 3


class Length:
    """One number of events: recorded, then analysed."""

    def __init__(self, millions, settings, limit):
        self.millions = millions
        work = programs.micro("churn", int(millions * 1e6), DEPTH, LIVE)
        self.bare, self.ours, self.heaptrack = [], [], []
        for i in range(repeats(millions)):
            progress("%g million events, round %d" % (millions, i + 1))
            self.bare.append(recorders.bare(work))
            self.ours.append(recorders.ours(work, output="length.trace"))
            if settings.heaptrack and not (settings.late and millions >= 50):
                self.heaptrack.append(recorders.heaptrack(work))
        self.events = self.ours[-1].trace.events
        meter.measure([place.MS_SNAP, "--symbols=embed", "length.trace"])  # heaptrack's file has its symbols too
        self.snaps, self.prints, self.reports = [], [], []
        snap("length.trace")
        for _ in range(repeats(millions) + 1):
            self.snaps.append(snap("length.trace"))
            self.reports.append(meter.measure([place.MS_REPORT, "--no-pager", "length.trace"]))
        for _ in range(repeats(millions) if self.heaptrack else 0):
            self.prints.append(meter.measure(["heaptrack_print", "heaptrack.zst"]))
        self.limited = snap("length.trace", address_space=LIMIT) if limit else None

    def ns(self, runs, part):
        return median([part(r) for r in runs]) / self.events * 1e9

    @property
    def target_ns(self):
        return self.ns(self.ours, lambda r: r.target) - self.ns(self.bare, lambda r: r.target)

    @property
    def recorder_ns(self):
        return self.ns(self.ours, lambda r: r.recorder)

    @property
    def rate(self):
        return self.events / median([s.total for s in self.snaps]) / 1e6

    @property
    def report_ns(self):
        return self.ns(self.reports, lambda s: s.total)

    def faster(self):
        return median([s.wall for s in self.prints]) / median([s.wall for s in self.snaps]) if self.prints else None

    def memory(self):
        """MiB of heaptrack_print and of ms-snap."""
        theirs, mine = median([s.rss_kib for s in self.prints]), median([s.rss_kib for s in self.snaps])
        return theirs and theirs / 1024, mine / 1024


def measure(settings):
    result = Result("length", "From 1 to 100 million events")
    record = result.table("Recording", ["million events", "added ns/event|program", "ns/event|ms-record", "wall x|heaptrack", "wall x|ours",
                                        "B/event|heaptrack", "B/event|ours", "ms-record|MiB"])
    analyse = result.table("Analysis (ms-snap: peak and end)", ["million events", "heaptrack_print|s", "ms-snap|s", "times faster",
                                                                "M events/s/core", "heaptrack_print|MiB", "ms-snap|MiB", "ms-report|CPU s", "ms-report|ns/event"])
    done = []
    for millions in MILLIONS:
        try:
            one = Length(millions * settings.scale, settings, millions == max(MILLIONS))
        except (meter.Trouble, OSError, ValueError) as error:
            result.notes.append("%g million events: FAILED: %s" % (millions * settings.scale, error))
            continue
        done.append(one)
        bare = median([r.wall for r in one.bare])
        theirs = one.heaptrack[-1] if one.heaptrack else None
        label = "%g" % one.millions
        record.add(label, number(one.target_ns, 0), number(one.recorder_ns, 0), number(theirs and median([r.wall for r in one.heaptrack]) / bare),
                   number(median([r.wall for r in one.ours]) / bare), number(theirs and theirs.size / one.events),
                   number(one.ours[-1].size / one.events), number((one.ours[-1].recorder_kib or 0) / 1024, 0))
        memory = one.memory()
        analyse.add(label, number(median([s.wall for s in one.prints])), number(median([s.wall for s in one.snaps])), number(one.faster(), 1),
                    number(one.rate, 1), number(memory[0], 0), number(memory[1], 0), number(median([s.total for s in one.reports])),
                    number(one.report_ns, 0))
        if one.limited:
            result.notes.append("%s million events under ulimit -v of %d MiB: %.2f s, %.0f MiB." % (label, LIMIT >> 20, one.limited.wall,
                                                                                               one.limited.rss_kib / 1024))
    result.notes.append("%d live blocks, %d frames, random sizes; 3 runs, of the longest one. Both files with symbols." % (LIVE, DEPTH))
    for left in ("length.trace", "length.db", "heaptrack.zst"):
        if os.path.exists(left):
            os.unlink(left)
    judge(result, done)
    return result


def judge(result, done):
    def named(function):
        return [("%g M" % one.millions, function(one)) for one in done]

    add = result.targets.append
    add(figures.worst_target("3 ms-snap at 1, 10, 100 M events: million events a second and core", named(lambda o: o.rate), 20, at_least=True, digits=1))
    over = [("%g M" % one.millions, one.faster()) for one in done if one.events > 1e6]
    add(figures.worst_target("3 ms-snap times faster than heaptrack_print there, over 1 M", over, 5, at_least=True, digits=1))
    memory = [one.memory()[1] for one in done]
    complete = len(done) == len(MILLIONS)
    add(figures.target("3 memory of ms-snap, most events / fewest", memory[-1] / memory[0] if complete else None, 1.1))
    limited = next((one.limited for one in done if one.limited), None)
    add(figures.target("3 most events, address space within which ms-snap worked", LIMIT >> 20 if limited else None, 256, unit=" MiB", digits=0))
    costs = [one.target_ns + one.recorder_ns for one in done]
    add(figures.worst_target("9 first screen (ms-report TRACE) at 1, 10, 100 M events, CPU ns an event", named(lambda o: o.report_ns), 100, digits=0))
    add(figures.target("7 cost of an event, most events / fewest", costs[-1] / costs[0] if complete else None, FLAT))
