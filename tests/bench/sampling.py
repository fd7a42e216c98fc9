# SPDX-License-Identifier: MIT
"""Section "sampling": -s 512k against an inert interposer (inert.c), which only forwards every call: of services by turns (turns.py), of other
programs in whole runs of two seconds and more; and what jemalloc's and tcmalloc's own sampling costs at the same distance, against the same allocator
without it."""
import os
import subprocess

import figures
import long
import meter
import place
import programs
import recorders
import servers
import turns
from figures import median
from section import Result, progress
from tables import number, span

ROUNDS, ROUNDS_OTHERS = 3, 9
# Each with a turn of some milliseconds.
SERVICES = {
    "python3": lambda: servers.Loop(0.034, "malloc"),
    "pymalloc": lambda: servers.Loop(0.034),
    "pyserver": lambda: servers.Python(0.03),
    "redis": lambda: servers.Redis(0.034),
    "nginx": lambda: servers.Nginx(0.05),
    "postgres": lambda: servers.Postgres(0.1),
}
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
        self.name, self.others, self.wall = name, {}, []
        inert, sampled = [], []
        work = long.long_enough(make, long.SECONDS * settings.scale)
        for i in settings.each_round(400, rounds=ROUNDS):
            progress("sampling: %s, round %d" % (name, i + 1))
            inert.append(recorders.bare(work, preload=[place.INERT]))
            sampled.append(recorders.ours(work, options=("--no-symbols", "-s", "512k")))
        self.added, self.wall = over(sampled, inert, "cpu"), over(sampled, inert, "wall")
        self.rate = recorders.ours(work).trace.events / median([r.cpu for r in inert]) / 1e6


class Service:
    """The same of a service, by turns: added by pair, and no wall."""

    def __init__(self, name, make, settings):
        self.name, self.others, self.wall = name, {}, []
        progress("sampling: %s" % name)
        # With the interval that it comes to after 20 seconds.
        prefix = [place.MS_RECORD, "-q", "--no-symbols", "-s", "512k", "-i", "1s", "-o", "run.trace", "--"]
        self.added = turns.compare(make, [{"preload": place.INERT}, {"prefix": prefix}], settings.each_round(120, rounds=turns.PAIRS, least=6))
        self.rate = turns.rate(make)
        for other, (library, *how) in OTHERS.items():
            if os.path.exists(library):
                progress("sampling: %s, %s" % (name, other))
                self.others[other] = turns.compare(make, [{"preload": library, "environment": e} for e in how],
                                                   settings.each_round(40, rounds=ROUNDS_OTHERS))


def measure(settings):
    result = Result("sampling", "Sampling (-s 512k)")
    t = result.table("", ["program", "million events|a CPU second", "rounds", "CPU over inert|%", "95 %|interval", "wall over inert|%", "95 %|interval",
                          *[other + "'s own|%" for other in OTHERS]])
    done = []
    runs = {n: programs.PROGRAMS[n] for n in programs.REAL if n not in SERVICES}
    for name, make in {**SERVICES, **runs}.items():
        try:
            one = (Service if name in SERVICES else Sampled)(name, make, settings)
        except (meter.Trouble, OSError, ValueError, subprocess.SubprocessError) as error:
            result.notes.append("%s: FAILED: %s" % (name, error))
            continue
        done.append(one)
        t.add(name, number(one.rate, 1), number(len(one.added), 0), number(median(one.added)), span(figures.interval(one.added)),
              number(median(one.wall)), span(figures.interval(one.wall)), *[number(median(one.others.get(other, []))) for other in OTHERS])
    result.notes.append("CPU of the program and of ms-record. The first %d are services, which are asked by turns with and without, on one processor, in "
                        "pairs that are begun anew; starting and ending do not count, and /proc is looked at every second, as it is by default from the "
                        "twentieth second on. The others are whole runs, with starting and ending, paired by round. The "
                        "interval is that of the median. jemalloc's and tcmalloc's own: CPU of the service with their sampling over the same library without, "
                        "medians of %d pairs." % (len(SERVICES), ROUNDS_OTHERS))
    result.targets.append(figures.worst_target("8 -s 512k, % of CPU over an inert interposer", [(o.name, median(o.added)) for o in done if o.name in SERVICES], LIMIT,
                                               aim=0.5))
    return result
