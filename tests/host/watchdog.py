#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whoever stopped a process's threads is stopped itself, killed, or gets no processor: the process goes on.

The moment is when a thread is seen to stand still, and some time later; what is hit is the recorder, its helper, its guard or all of them
but one."""
import os
import random
import signal
import subprocess
import sys
import time

from attaching import RECORD, Tally, attach, check, end, failures, wait_for

TIMES = int(os.environ.get("MS_STOPS", 0)) or 30  # in all: tests/long/watchdog.sh
GOES_ON_S = 20  # a guard looks each 50 ms; the rest is for a busy machine
KINDS = ("stop", "kill", "starve")


def children(pid):
    """All that it started, and what these did."""
    found = []
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for tid in tids:
        try:
            with open(f"/proc/{pid}/task/{tid}/children", encoding="utf-8") as f:
                for child in f.read().split():
                    found += [int(child), *children(child)]
        except OSError:
            pass
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


class Stats:
    """The states of a process's threads, read quickly."""

    def __init__(self, pid):
        self.files = [os.open(f"/proc/{pid}/task/{tid}/stat", os.O_RDONLY) for tid in os.listdir(f"/proc/{pid}/task")]

    def stands(self):
        return any(os.pread(f, 200, 0).rsplit(b")", 1)[1][1:2] == b"t" for f in self.files)

    def close(self):
        for f in self.files:
            os.close(f)


def victims(recorder, which):
    """The recorder, or its helper, or both; and the guards of both if `which` has them."""
    below = children(recorder.pid)
    helpers = [p for p in below if name_of(p) == "ms-record"]
    guards = [p for p in below if name_of(p) == "ms-guard"]
    return {"recorder": [recorder.pid], "helper": helpers or [recorder.pid], "both": [recorder.pid, *helpers],
            "guard": guards}[which]


def hit(pids, kind):
    """Only what needs no time of theirs."""
    for p in pids:
        try:
            if kind == "starve":
                os.sched_setaffinity(p, {0})
                os.sched_setscheduler(p, os.SCHED_IDLE, os.sched_param(0))
            else:
                os.kill(p, signal.SIGSTOP if kind == "stop" else signal.SIGKILL)
        except OSError:
            pass


def release(pids):
    for p in pids:
        try:
            os.kill(p, signal.SIGCONT)
            os.sched_setscheduler(p, os.SCHED_OTHER, os.sched_param(0))
        except OSError:
            pass


def ask_later(recorder, when):
    """What has threads stopped: attaching, a scan, or detaching."""
    if when == "scan":
        wait_for("w.trace")
        return subprocess.Popen([RECORD, "--tell", "w.trace", "leak-check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if when == "detach":
        wait_for("w.trace")
        recorder.send_signal(signal.SIGINT)
    return None


def meet(stats, recorder):
    """Until a thread stands still. False: none was seen to."""
    until = time.monotonic() + 5
    while time.monotonic() < until and recorder.poll() is None:
        if stats.stands():
            return True
    return False


def one(target, when, kind, which, delay):
    """Was a moment met in which it stood still?"""
    name = f"{when}, {kind} {which}, {delay * 1e6:.0f} us later"
    stats = Stats(target.process.pid)
    with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "w.trace", "-p", str(target.process.pid)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        teller = ask_later(recorder, when)
        met = meet(stats, recorder)
        if met and delay:
            time.sleep(delay)
        pids = victims(recorder, which)
        hit(pids, kind)
        goes = target.goes_on(GOES_ON_S)
        check(goes, f"{name}: it does not go on")
        release(pids)
        # So that it is as it was for the next one; detached if it can be, else what is left is found by that.
        recorder.send_signal(signal.SIGINT)
        try:
            recorder.wait(timeout=60)
        except subprocess.TimeoutExpired:
            check(False, f"{name}: the recorder does not end")
            recorder.kill()
        if teller:
            teller.kill()
            teller.wait()
    stats.close()
    check(target.process.poll() is None, f"{name}: it died: {target.process.returncode}")
    return met and goes


def attaches(pid):
    for _ in range(100):
        rc, said = attach(pid, "-d", "0.02")
        if rc == 0:
            return True
        time.sleep(0.1)
    check(False, f"afterwards attaching gives {rc}: {said}")
    return False


def main():
    random.seed(7)
    target = Tally("watchdog.tally")
    target.begin()
    spinners = [subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])]
    met, tries, by_kind = 0, 0, dict.fromkeys(KINDS, 0)
    whens, whiches = ("attach", "scan", "detach"), ("helper", "recorder", "both", "guard")
    while met < TIMES and tries < 4 * TIMES and not failures:
        kind, when = KINDS[met % 3], whens[tries // 3 % 3]
        which = whiches[tries % 4]
        delay = random.choice((0, 0, 0.0002, 0.001, 0.003)) * random.random()
        hits = one(target, when, kind, which, delay)
        met, tries = met + hits, tries + 1
        by_kind[kind] += hits
        if tries % 10 == 0 and not attaches(target.process.pid):
            break
    for s in spinners:
        s.kill()
        s.wait()
    attaches(target.process.pid)
    end(target.process, "in the end")
    check(met >= TIMES, f"only {met} moments of {tries} tries were met")
    print(f"it stood still {met} times, of {tries} tries, and went on: {by_kind}")
    if os.environ.get("MS_STOPS"):
        print(f"watchdog: runs {met}, found {len(failures)}, left {len(failures)}")
    sys.exit(bool(failures))


main()
