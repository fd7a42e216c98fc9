# SPDX-License-Identifier: MIT
"""Section "sampling": -s 512k against an inert interposer (inert.c), which only forwards every call."""
import figures
import meter
import place
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

NAMES = ("churn", "python3", "perl", "sqlite3", "cc1", "cc1plus", "jq", "git", "threads2")
ROUNDS = 9
LONGER = 3  # times the work of the other sections: 3 ns an event are little of a program that does more than allocate
RARE = 2.0  # million events a second: below this the target is a fraction


def in_turn(work, settings):
    """CPU seconds of the program, by round."""
    runs = {"bare": [], "inert": [], "sampled": []}
    for i in settings.each_round(25, rounds=ROUNDS):
        progress("sampling: %s, round %d" % (work.command[0], i + 1))
        runs["bare"].append(recorders.bare(work).target)
        runs["inert"].append(recorders.bare(work, preload=[place.INERT]).target)
        runs["sampled"].append(recorders.ours(work, options=("--no-symbols", "-s", "512k")).target)
    return runs


def starting(settings):
    """What -s 512k adds to a program that hardly allocates, CPU s."""
    runs = in_turn(programs.micro("churn", 400, 10), settings)
    return median(figures.differences(runs["sampled"], runs["inert"]))


class Sampled:
    def __init__(self, name, settings, start):
        work = programs.PROGRAMS[name](settings.scale * LONGER)
        self.name, self.events = name, recorders.ours(work).trace.events
        runs = in_turn(work, settings)
        self.bare, self.inert = median(runs["bare"]), median(runs["inert"])
        added = figures.differences(runs["sampled"], runs["inert"])
        self.ns = [(d - start) / self.events * 1e9 for d in added]
        self.percent = [100 * d / b for d, b in zip(added, runs["bare"])]
        self.over_bare = median([100 * (r - 1) for r in figures.ratios(runs["sampled"], runs["bare"])])

    @property
    def rate(self):
        return self.events / self.bare / 1e6


def measure(settings):
    result = Result("sampling", "Sampling (-s 512k)")
    t = result.table("", ["program", "million events|a CPU second", "inert|ns/event", "-s 512k over inert|ns/event", "middle half", "over inert|%",
                          "middle half", "over bare|%"])
    done, start = [], starting(settings)
    for name in NAMES:
        try:
            one = Sampled(name, settings, start)
        except (meter.Trouble, OSError, ValueError) as error:
            result.notes.append("%s: FAILED: %s" % (name, error))
            continue
        done.append(one)
        t.add(name, number(one.rate, 1), number((one.inert - one.bare) / one.events * 1e9, 1), number(median(one.ns), 1),
              span(figures.spread(one.ns), 1), number(median(one.percent), 1), span(figures.spread(one.percent), 1), number(one.over_bare, 1))
    result.notes.append("CPU of the program, up to %d rounds in turn. Starting adds %.1f ms, which is in the percentages and not in ns/event." % (ROUNDS, start * 1e3))
    result.notes.append("A target is judged where the middle half is narrower than its limit; elsewhere the rounds differ by more than what is asked.")
    often = [(o.name, figures.told(o.ns, 3)) for o in done if o.rate >= RARE]
    rare = [(o.name, figures.told(o.percent, 1.5)) for o in done if o.rate < RARE]
    result.targets.append(figures.worst_target("5 -s 512k, ns an event over an inert interposer", often, 3, digits=1))
    result.targets.append(figures.worst_target("5 -s 512k, % over it where there are under 2 M events a second", rare, 1.5, digits=1))
    return result
