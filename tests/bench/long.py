# SPDX-License-Identifier: MIT
"""Section "long": the programs with so much work that they run for two seconds and more without a recorder.

Two ends: of the program itself, and of the last file. What a short run hides behind its start (a recorder that is behind, memory that fills) shows here.
"""
import figures
import meter
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

SECONDS = 2.0  # of a bare run, at least
SECONDS_A_PROGRAM = 50
SCALE_MOST = 4096


class Long:
    """All that was measured of one program; runs: recorder -> its runs by round."""

    def __init__(self, name):
        self.name, self.runs = name, {}

    def of(self, recorder, field):
        return [getattr(r, field) for r in self.runs.get(recorder, [])]

    def times(self, recorder, field):
        return figures.ratios(self.of(recorder, field), self.of("none", field))

    @property
    def events(self):
        return median([r.trace.events for r in self.runs["ours"]])

    @property
    def recorder_ns(self):
        return median(self.of("ours", "recorder")) / self.events * 1e9

    @property
    def added_wall(self):
        return figures.added_fraction(self.of("ours", "wall"), self.of("raw", "wall"), self.of("none", "wall"))


def long_enough(make, seconds):
    """The work at the smallest scale that takes so long: inputs do not grow the same way everywhere."""
    scale = 1.0
    while True:
        work = make(scale)
        wall = recorders.bare(work).wall
        if wall >= seconds or scale >= SCALE_MOST:
            return work
        scale *= min(max(1.1 * seconds / wall, 1.3), 8)


def measure_one(name, settings):
    one = Long(name)
    progress("long: %s" % name)
    work = long_enough(programs.PROGRAMS[name], SECONDS * settings.scale)
    how = {"none": recorders.bare, "raw": recorders.raw, "ours": recorders.ours}
    if not settings.heaptrack:
        del how["raw"]
    one.runs = {r: [] for r in how}
    for i in settings.each_round(SECONDS_A_PROGRAM):
        for recorder, run in how.items():
            progress("long: %s, %s, round %d" % (name, recorder, i + 1))
            one.runs[recorder].append(run(work))
    return one


def row(t, one):
    bare, waited = one.of("none", "wall"), median([r.trace.waited_ns / 1e6 for r in one.runs["ours"]])
    t.add(one.name, number(one.events, 0), number(median(bare)), *[number(median(one.times(r, "own"))) for r in ("raw", "ours")],
          span(figures.spread(one.times("ours", "own"))), *[number(median(one.times(r, "wall"))) for r in ("raw", "ours")], number(one.added_wall),
          number(one.recorder_ns, 0), number(waited, 0))


def means(t, what, some):
    def mean(recorder, field):
        return figures.geomean([median(one.times(recorder, field)) for one in some])

    own, complete = mean("ours", "own"), mean("ours", "wall")
    t.add("geometric mean, %s" % what, "", "", number(mean("raw", "own")), number(own), "", number(mean("raw", "wall")), number(complete), "", "", "")
    return own, complete


def measure(settings):
    result = Result("long", "Long runs")
    t = result.table("", ["program", "events", "bare|wall s", "own end x|raw", "own end x|ours", "middle half", "complete x|raw", "complete x|ours",
                          "added wall|ours / raw", "ms-record|ns/event", "waited|ms"])
    done = []
    for name in programs.PROGRAMS:
        try:
            done.append(measure_one(name, settings))
            row(t, done[-1])
        except (meter.Trouble, OSError, ValueError) as error:
            result.notes.append("%s: FAILED: %s" % (name, error))
    t.rule()
    real = means(t, "real programs", [one for one in done if one.name in programs.REAL])
    loops = means(t, "loops that only allocate", [one for one in done if one.name not in programs.REAL])
    result.notes.append("own end: until the program itself has ended; complete: until every file is written; times what it takes without a recorder, medians "
                        "of rounds in turn. raw: heaptrack --raw. waited: by threads of the program for ms-record, together.")
    add = result.targets.append
    add(figures.target("8 real programs, own end / bare, geometric mean", real[0], 1.25, aim=1.15))
    add(figures.target("8 the same until the file is complete", real[1], 1.35, aim=1.2))
    add(figures.target("8 loops that only allocate, own end / bare, geometric mean", loops[0], 3.0, aim=2.0))
    add(figures.worst_target("8 added wall / raw's, long runs, every program", [(one.name, one.added_wall) for one in done], 0.5, aim=0.25))
    add(figures.target("8 ms-record, ns an event, median of long runs", median([one.recorder_ns for one in done]), 45, aim=25, digits=0))
    return result
