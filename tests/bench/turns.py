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

PAIRS, TURNS, WARM = 40, 16, 3
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
        for _ in range(WARM):
            for side in sides:
                side.turn()
        ratios = []
        for i in range(TURNS):
            order = sides if i % 2 else sides[::-1]
            used = {id(side): side.turn()[0] for side in order}
            ratios.append(used[id(sides[1])] / used[id(sides[0])])
        alone = [sides[1].turn() for _ in range(TURNS)]
        for side in sides:
            side.end()
    finally:
        for side in sides:
            side.stop()
    recorder = sum(r for _, r in alone) / sum(t for t, _ in alone) if "prefix" in ways[1] else 0.0
    return median(ratios), recorder


def compare(make, ways, rounds):
    """Of each pair how much more CPU the second way takes, %."""
    home, more = os.getcwd(), []
    try:
        for _ in rounds:
            base = tempfile.mkdtemp(dir=home)
            ratio, recorder = one_pair(make, base, ways)
            more.append(100 * (ratio - 1 + ratio * recorder))
            os.chdir(home)
            shutil.rmtree(base)
    finally:
        os.chdir(home)
    return more


def rate(make):
    """Events a second of CPU, in millions, as ms-record counts them; of the service without it."""
    side, home = None, os.getcwd()
    base = tempfile.mkdtemp(dir=home)
    try:
        side = Side(make, os.path.join(base, "0"), {})
        used = sum(side.turn()[0] for _ in range(WARM + TURNS)) / (WARM + TURNS)
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
