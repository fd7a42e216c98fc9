# SPDX-License-Identifier: MIT
"""What every section of the benchmark is given and gives back, and where it is stored between runs."""
import json
import os
import subprocess
import sys
import time

import place
from tables import Table


class Settings:
    """scale: amount of work (1 = `make bench`); rounds: of each recorder, in turn; heaptrack: False when it is not
    installed; minutes: what all sections together should take."""

    def __init__(self, scale=1.0, rounds=5, heaptrack=True, only=None, minutes=60):
        self.scale, self.rounds, self.heaptrack, self.only = scale, rounds, heaptrack, only
        self.deadline = time.monotonic() + minutes * 60

    def each_round(self, seconds, rounds=None, least=3):
        """Counts rounds: as many as were asked for, but on a slow machine no more than `least` beyond so many seconds, and one when the
        time for all is over."""
        start, rounds = time.monotonic(), rounds or self.rounds
        for i in range(rounds):
            now = time.monotonic()
            if (i >= least and now - start > seconds) or (i >= 1 and now > self.deadline):
                return
            yield i

    @property
    def late(self):
        return time.monotonic() > self.deadline


def used_by_others(seconds=0.5):
    """Part of the processors that is in use while the benchmark does nothing."""
    def ticks():
        with open("/proc/stat") as f:
            values = [int(v) for v in f.readline().split()[1:9]]
        return values[3] + values[4], sum(values)

    idle, total = ticks()
    time.sleep(seconds)
    idle_after, total_after = ticks()
    return 1 - (idle_after - idle) / max(total_after - total, 1)


def revision():
    """Of the checkout; "" = it is none."""
    try:
        return subprocess.run(["git", "-C", place.SRC, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


class Result:
    def __init__(self, name, title):
        self.name, self.title, self.tables, self.targets, self.notes, self.short = name, title, [], [], [], {}
        self.others = used_by_others()
        self.losses = []  # what heaptrack does better, in words
        self.revision = revision()
        self.load, self.when, self.start = os.getloadavg(), time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), time.monotonic()

    def table(self, title, head):
        self.tables.append(Table(title, head))
        return self.tables[-1]

    def store(self, scale):
        os.makedirs(place.STORE, exist_ok=True)
        data = {"name": self.name, "title": self.title, "tables": [t.plain() for t in self.tables], "targets": self.targets,
                "notes": self.notes, "losses": self.losses, "short": self.short, "load": self.load, "others": self.others, "when": self.when, "revision": self.revision, "scale": scale,
                "seconds": time.monotonic() - self.start}
        path = os.path.join(place.STORE, self.name + ".json")
        with open(path + ".new", "w") as f:
            json.dump(data, f, indent=1)
        os.rename(path + ".new", path)


def stored(name):
    """What `store` wrote of a section, or None."""
    try:
        with open(os.path.join(place.STORE, name + ".json")) as f:
            data = json.load(f)
    except (OSError, ValueError):
        return None
    data["tables"] = [Table(**t) for t in data["tables"]]
    return data


def progress(text):
    """One line on a terminal that the next one replaces; nothing in a log."""
    if sys.stderr.isatty():
        print("\r\033[K%s" % text, end="", file=sys.stderr, flush=True)
