# SPDX-License-Identifier: MIT
"""Section "startup": what recording costs a program that does nothing, and one that sleeps."""
import os
import shutil

import figures
import meter
import place
import programs
import recorders
from figures import median
from section import Result, progress
from tables import number, span

ROUNDS = 15
AWAKE, ASLEEP = 1, 5  # s; the difference of two runs leaves start-up and end out


def idle_share():
    """Part of a core that ms-record uses while its target sleeps."""
    own = [recorders.ours(programs.micro("idle", seconds)).recorder for seconds in (AWAKE, ASLEEP)]
    return (own[1] - own[0]) / (ASLEEP - AWAKE)


def greetings():
    """Wall ms of the smallest C++ program: alone, recorded with symbols that nobody has asked for before, and again."""
    cache = os.path.abspath("cache")
    record = ["env", "XDG_CACHE_HOME=" + cache, place.MS_RECORD, "-q", "-o", "hello.trace", "--", place.HELLO]
    found = {"hello": [], "first time": [], "again": []}
    for _ in range(ROUNDS):
        shutil.rmtree(cache, ignore_errors=True)
        os.mkdir(cache)
        for what, command in zip(found, ([place.HELLO], record, record)):
            progress("hello, " + what)
            found[what].append(meter.measure(command).wall * 1e3)
    return found


def measure(settings):
    result = Result("startup", "Start-up, and an idle target")
    true = shutil.which("true")
    commands = {"true": [true], "ms-record true": [place.MS_RECORD, "-q", "-o", "true.trace", "--", true],
                "ms-record --no-symbols true": [place.MS_RECORD, "-q", "--no-symbols", "-o", "true.trace", "--", true]}
    if settings.heaptrack:
        commands["heaptrack true"] = ["heaptrack", "-o", "true.heaptrack", true]
    walls, own = {c: [] for c in commands}, []
    for _ in range(ROUNDS):
        for name, command in commands.items():
            progress(name)
            sample = meter.measure(command)
            walls[name].append(sample.wall * 1e3)
            if name == "ms-record --no-symbols true":
                own.append(sample.own * 1e3)
    t = result.table("", ["command", "wall ms", "over bare", "middle half"])
    for name, values in walls.items():
        over = figures.differences(values, walls["true"])
        t.add(name, number(median(values), 1), number(median(over), 1), span(figures.spread(over), 1))
    hello = greetings()
    for what, values in hello.items():
        over = figures.differences(values, hello["hello"])
        t.add("hello in C++" if what == "hello" else "ms-record hello, " + what, number(median(values), 1), number(median(over), 1),
              span(figures.spread(over), 1))
        if what != "hello":
            limit, aim = (40, 20) if what == "first time" else (15, 8)
            result.targets.append(figures.target("8 hello in C++ with symbols over bare, " + what, median(over), limit, aim=aim, unit=" ms", digits=1))
    share = idle_share() * 100
    result.notes.append("%d rounds. CPU of ms-record itself for `ms-record --no-symbols true`: %.1f ms." % (ROUNDS, median(own)))
    result.notes.append("While its target sleeps for %d s, ms-record uses %.3f %% of a core." % (ASLEEP - AWAKE, share))
    over = median(figures.differences(walls["ms-record true"], walls["true"]))
    result.targets.append(figures.target("6 `ms-record true` over `true`", over, 30, unit=" ms", digits=1))
    result.targets.append(figures.target("6 ms-record while the target is idle, % of a core", share, 0.1, digits=3))
    return result
