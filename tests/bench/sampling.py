# SPDX-License-Identifier: MIT
"""Section "sampling": -s 512k against an inert interposer (inert.c), which only forwards every call, in runs of two seconds and more."""
import figures
import long
import meter
import place
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

ROUNDS = 20
LIMIT = 1.5  # % of CPU


class Sampled:
    """added, wall: % over the inert interposer by round, CPU of the program and of ms-record, and time until all is written; events a second of
    CPU, in millions."""

    def __init__(self, name, settings):
        work = long.long_enough(programs.PROGRAMS[name], long.SECONDS * settings.scale)
        inert, sampled = [], []
        for i in settings.each_round(180, rounds=ROUNDS, least=ROUNDS):
            progress("sampling: %s, round %d" % (name, i + 1))
            inert.append(recorders.bare(work, preload=[place.INERT]))
            sampled.append(recorders.ours(work, options=("--no-symbols", "-s", "512k")))
        self.name = name
        self.added, self.wall = ([100 * (r - 1) for r in figures.ratios([getattr(s, f) for s in sampled], [getattr(r, f) for r in inert])]
                                 for f in ("cpu", "wall"))
        self.rate = recorders.ours(work).trace.events / median([r.cpu for r in inert]) / 1e6


def measure(settings):
    result = Result("sampling", "Sampling (-s 512k)")
    t = result.table("", ["program", "million events|a CPU second", "rounds", "CPU over inert|%", "95 %|interval", "wall over inert|%", "95 %|interval"])
    done = []
    for name in programs.REAL:
        try:
            one = Sampled(name, settings)
        except (meter.Trouble, OSError, ValueError) as error:
            result.notes.append("%s: FAILED: %s" % (name, error))
            continue
        done.append(one)
        t.add(name, number(one.rate, 1), number(len(one.added), 0), number(median(one.added)), span(figures.interval(one.added)),
              number(median(one.wall)), span(figures.interval(one.wall)))
    result.notes.append("CPU of the program and of ms-record, starting and ending included, paired by round; the interval is that of the median.")
    result.targets.append(figures.worst_target("8 -s 512k, % of CPU over an inert interposer", [(o.name, median(o.added)) for o in done], LIMIT, aim=0.5))
    return result
