# SPDX-License-Identifier: MIT
"""Two ways to run a service, compared by turns: both are up at once, each is asked for some milliseconds of work, then the other. What else the
machine does, and how fast it is just then, is the same for both; what a process was lucky or unlucky with in its addresses is not, so pairs are begun
anew again and again. What counts is the processor time of the service while it works."""
import os
import shutil
import subprocess
import tempfile

import meter
import recorders
from figures import median

PAIRS, TURNS = 40, 16
LONG_NS = 200000000  # of CPU, in which memory that grows with use has grown, as in a service that is left on
ONE = ("taskset", "-c", str(max(os.sched_getaffinity(0))))  # both on one processor; a recorder has the others


def cpu_ns(pid):
    """Of all threads that are there."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


def family_ns(pid):
    """Of all processes that it has started besides."""
    total = cpu_ns(pid)
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as f:
            total += sum(family_ns(int(child)) for child in f.read().split())
    return total


class Side:
    """A service that is up, in a folder of its own."""

    def __init__(self, make, folder, how):
        self.folder = folder
        os.mkdir(folder)
        os.chdir(folder)
        self.work = make()
        environment = dict(self.work.environment, **how.get("environment", {}))
        if "preload" in how:
            environment["LD_PRELOAD"] = meter.preloadable(how["preload"])
        self.process = subprocess.Popen([*self.work.user, *how.get("prefix", ()), *ONE, *self.work.command], env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        try:
            self.work.wait()
            self.pid = self.child() if "prefix" in how else self.process.pid
        except BaseException:
            self.stop()
            raise

    def child(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            return int(f.read().split()[0])

    def turn(self):
        """CPU of one; and of its recorder, if it has one."""
        os.chdir(self.folder)
        before, beside = family_ns(self.pid), cpu_ns(self.process.pid)
        self.work.load()
        return family_ns(self.pid) - before, cpu_ns(self.process.pid) - beside

    def long(self):
        """CPU of turns for so long, and of the recorder."""
        used = beside = 0
        while used < LONG_NS:
            turn = self.turn()
            used += turn[0]
            beside += turn[1]
        return used, beside

    def end(self):
        os.chdir(self.folder)
        try:
            self.work.end()
        except OSError:
            pass
        if self.process.wait(60):
            raise meter.Trouble("'%s' ended with %d" % (self.work.command[0], self.process.returncode))

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def one_pair(make, base, ways):
    """How many times the first's CPU the second's is; what the second's recorder takes of that, while it is asked alone."""
    sides = []
    try:
        for i, how in enumerate(ways):
            sides.append(Side(make, os.path.join(base, str(i)), how))
        for side in sides:
            side.long()
        ratios = []
        for i in range(TURNS):
            order = sides if i % 2 else sides[::-1]
            used = {id(side): side.turn()[0] for side in order}
            ratios.append(used[id(sides[1])] / used[id(sides[0])])
        alone, beside = sides[1].long()
        for side in sides:
            side.end()
    finally:
        for side in sides:
            side.stop()
    recorder = beside / alone if "prefix" in ways[1] else 0.0
    return median(ratios), recorder


def compare(make, ways, rounds):
    """Of each pair how much more CPU the second way takes, %. A recorder does something some times a second only: it counts by its mean."""
    home, pairs = os.getcwd(), []
    try:
        for _ in rounds:
            base = tempfile.mkdtemp(dir=home)
            pairs.append(one_pair(make, base, ways))
            os.chdir(home)
            shutil.rmtree(base)
    finally:
        os.chdir(home)
    recorder = sum(r for _, r in pairs) / len(pairs) if pairs else 0.0
    return [100 * (ratio * (1 + recorder) - 1) for ratio, _ in pairs]


def rate(make):
    """Events a second of CPU, in millions, as ms-record counts them; of the service without it."""
    side, home = None, os.getcwd()
    base = tempfile.mkdtemp(dir=home)
    try:
        side = Side(make, os.path.join(base, "0"), {})
        side.long()
        used = sum(side.turn()[0] for _ in range(TURNS)) / TURNS
        side.end()
        os.mkdir(os.path.join(base, "1"))
        os.chdir(os.path.join(base, "1"))
        events = []
        for turns in (1, 1 + TURNS):
            work = make()
            work.turns = turns
            events.append(recorders.ours(work).trace.events)
    finally:
        if side:
            side.stop()
        os.chdir(home)
    return (events[1] - events[0]) / TURNS / (used / 1e9) / 1e6
