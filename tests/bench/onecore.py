# SPDX-License-Identifier: MIT
"""Section "onecore": program and recorder share one core (taskset)."""
import os

import figures
import meter
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

SECONDS_A_PROGRAM = 9


def runs_of(work, settings):
    runs = {"none": [], "ours": [], **({"heaptrack": []} if settings.heaptrack else {})}
    how = {"none": recorders.bare, "heaptrack": recorders.heaptrack, "ours": recorders.ours}
    for _ in settings.each_round(SECONDS_A_PROGRAM, rounds=3, least=2):
        for recorder in runs:
            runs[recorder].append(how[recorder](work))
    return {r: [one.wall for one in done] for r, done in runs.items()}


def measure(settings):
    result = Result("onecore", "Program and recorder on one core")
    t = result.table("", ["program", "bare|wall s", "wall x|heaptrack", "wall x|ours", "ours /|heaptrack", "smallest-|largest"])
    cores, fractions = os.sched_getaffinity(0), []
    os.sched_setaffinity(0, {min(cores)})
    try:
        for name, make in programs.PROGRAMS.items():
            progress("one core: " + name)
            try:
                walls = runs_of(make(settings.scale / 2), settings)
            except (meter.Trouble, OSError) as error:
                result.notes.append("%s: FAILED: %s" % (name, error))
                continue
            against = figures.ratios(walls["ours"], walls.get("heaptrack", []))
            fractions.append((name, median(against)))
            t.add(name, number(median(walls["none"])), number(median(figures.ratios(walls.get("heaptrack", []), walls["none"]))),
                  number(median(figures.ratios(walls["ours"], walls["none"]))), number(fractions[-1][1]), span(figures.spread(against)))
    finally:
        os.sched_setaffinity(0, cores)
    t.rule()
    t.add("median", "", "", "", number(median([f for _, f in fractions])), "")
    result.notes.append("2 or 3 rounds of half the work. redis-benchmark shares the core too.")
    result.targets.append(figures.worst_target("1 wall time on one core / heaptrack's", fractions, 0.5))
    return result
