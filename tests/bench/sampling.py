# SPDX-License-Identifier: MIT
"""Section "sampling": -s 512k against an inert interposer (inert.c), which only forwards every call, in runs of two seconds and more, and of five
for what one leaves sampled, where starting and ending count for little; and what jemalloc's and tcmalloc's own sampling costs at the same distance,
against the same allocator without it."""
import os
import subprocess

import figures
import long
import meter
import place
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

ROUNDS, ROUNDS_OTHERS = 20, 3
SERVICES = ("python3", "redis", *programs.SERVERS)  # what the limit is for
LIMIT = 1.5  # % of CPU
OTHERS = {  # column: the library, and its environment without and with sampling
    "jemalloc": (place.first("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2"),
                 {"MALLOC_CONF": ""}, {"MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:jeprof"}),
    "tcmalloc": (place.first("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4", "/usr/lib64/libtcmalloc.so.4"),
                 {"TCMALLOC_SAMPLE_PARAMETER": "0"}, {"TCMALLOC_SAMPLE_PARAMETER": "524288"}),
}


def over(more, less, field):
    """% by round."""
    return [100 * (r - 1) for r in figures.ratios([getattr(s, field) for s in more], [getattr(r, field) for r in less])]


class Sampled:
    """added, wall: % over the inert interposer by round, CPU of the program and of ms-record, and time until all is written; events a second of
    CPU, in millions; others: % of CPU by round of each other sampling."""

    def __init__(self, name, make, settings):
        self.name, self.others = name, {}
        service = name in SERVICES
        work = long.long_enough(make, (5 if service else long.SECONDS) * settings.scale)
        inert, sampled = [], []
        for i in settings.each_round(400, rounds=ROUNDS if service else ROUNDS_OTHERS):
            progress("sampling: %s, round %d" % (name, i + 1))
            inert.append(recorders.bare(work, preload=[place.INERT]))
            sampled.append(recorders.ours(work, options=("--no-symbols", "-s", "512k")))
        self.added, self.wall = over(sampled, inert, "cpu"), over(sampled, inert, "wall")
        self.rate = recorders.ours(work).trace.events / median([r.cpu for r in inert]) / 1e6
        for other, (library, *how) in OTHERS.items() if service else ():
            runs = [[], []]
            for i in settings.each_round(60, rounds=ROUNDS_OTHERS) if os.path.exists(library) else ():
                progress("sampling: %s, %s, round %d" % (name, other, i + 1))
                for environment, all_of_one in zip(how, runs):
                    all_of_one.append(recorders.bare(work, preload=[library], environment=environment))
            self.others[other] = over(runs[1], runs[0], "cpu")


def measure(settings):
    result = Result("sampling", "Sampling (-s 512k)")
    t = result.table("", ["program", "million events|a CPU second", "rounds", "CPU over inert|%", "95 %|interval", "wall over inert|%", "95 %|interval",
                          *[other + "'s own|%" for other in OTHERS]])
    done = []
    for name, make in {**{n: programs.PROGRAMS[n] for n in programs.REAL}, **programs.SERVERS}.items():
        try:
            one = Sampled(name, make, settings)
        except (meter.Trouble, OSError, ValueError, subprocess.SubprocessError) as error:
            result.notes.append("%s: FAILED: %s" % (name, error))
            continue
        done.append(one)
        t.add(name, number(one.rate, 1), number(len(one.added), 0), number(median(one.added)), span(figures.interval(one.added)),
              number(median(one.wall)), span(figures.interval(one.wall)), *[number(median(one.others.get(other, []))) for other in OTHERS])
    result.notes.append("CPU of the program and of ms-record, starting and ending included, paired by round; the interval is that of the median. "
                        "jemalloc's and tcmalloc's own: CPU of the program with their sampling over the same library without, medians of %d." % ROUNDS_OTHERS)
    result.targets.append(figures.worst_target("8 -s 512k, % of CPU over an inert interposer", [(o.name, median(o.added)) for o in done if o.name in SERVICES], LIMIT,
                                               aim=0.5))
    return result
