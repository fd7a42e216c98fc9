# SPDX-License-Identifier: MIT
"""Section "attach": a running process is recorded for a moment and let go, by ms-record and by heaptrack (with gdb)."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import figures
import place
from figures import median
from section import Result, progress
from tables import number

TARGET = os.path.join(place.TB, "host", "attach")
TARGETS = {"1 thread": ["watch", "1"], "4 threads": ["watch", "4"], "64 threads": ["watch", "64"], "idle": ["watch", "0"]}
MOMENT = 0.3  # s of recording
LIMIT = 15  # s for either to come to its end
sys.path.append(os.path.join(place.SRC, "tests", "host"))  # its other files have names that ours have
from attaching import stops  # noqa: E402


class Round:
    """What one attachment did: s until it recorded, ms in which the process stood still, whether it lives and does its work; what
    ms-record itself says of its stops, in ms."""

    def __init__(self):
        self.attach = self.still = self.longest = None
        self.lives, self.stops, self.why = False, None, ""


def ended(process, seconds):
    try:
        return process.communicate(timeout=seconds)[0] or ""
    except subprocess.TimeoutExpired:
        return None


def end_target(target, r):
    """What it says at SIGTERM; it may have died, or hang."""
    target.send_signal(signal.SIGTERM)
    said = ended(target, 20)
    if said is None:
        target.kill()
        target.communicate()
        r.why = r.why or "it hangs"
        return
    m = re.search(r"stood still for (\d+) us, at most (\d+)", said)
    r.lives = target.returncode == 0
    if m:
        r.still, r.longest = int(m.group(1)) / 1e3, int(m.group(2)) / 1e3
    if not r.lives:
        r.why = r.why or "it died of signal %d" % -target.returncode if target.returncode < 0 else said[-80:]


def end_group(process, r, what):
    said = ended(process, LIMIT)
    if said is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        r.why = what + " does not end"
    return said or ""


def ours(pid, r):
    start = time.monotonic()
    p = subprocess.Popen([place.MS_RECORD, "-v", "--no-symbols", "-o", "a.trace", "-p", str(pid)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, start_new_session=True)
    ask = [place.MS_RECORD, "--tell", "a.trace", "status"]
    while p.poll() is None and subprocess.run(ask, capture_output=True, check=False).returncode:
        time.sleep(0.02)
    r.attach = time.monotonic() - start
    time.sleep(MOMENT)
    p.send_signal(signal.SIGINT)
    found = stops(end_group(p, r, "ms-record"))
    r.stops = [ns / 1e6 for ns in found] if found else None


def heaptrack(pid, r):
    """By bash: with other shells SIGINT leaves the hooks in the process."""
    start = time.monotonic()
    with open("heaptrack.said", "w+", encoding="utf-8") as out:
        p = subprocess.Popen(["bash", shutil.which("heaptrack"), "-o", os.path.abspath("h"), "-p", str(pid)],
                             stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        while p.poll() is None and time.monotonic() - start < LIMIT:
            with open("heaptrack.said", encoding="utf-8") as f:
                if "injection finished" in f.read():
                    r.attach = time.monotonic() - start
                    break
            time.sleep(0.005)
        time.sleep(MOMENT)
        p.send_signal(signal.SIGINT)
        end_group(p, r, "heaptrack")


def nobody(_pid, _r):
    time.sleep(1)


def one(words, attach):
    r = Round()
    target = subprocess.Popen([TARGET, *words], stdout=subprocess.PIPE, text=True)
    time.sleep(0.3)
    attach(target.pid, r)
    end_target(target, r)
    return r


def row(table, name, how, rounds):
    known = [r.stops for r in rounds if r.stops]
    told = [number(median([s[i] for s in known])) for i in range(3)] if known else ["-", "-", "-"]
    why = "; ".join(sorted({r.why for r in rounds if r.why}))
    table.add(name, how, number(median([r.attach * 1e3 for r in rounds if r.attach]), 0), number(median([r.still for r in rounds]), 1),
              number(median([r.longest for r in rounds]), 1), *told, "%d of %d" % (sum(r.lives for r in rounds), len(rounds)), why)


def measure(settings):
    result = Result("attach", "Attaching to a running process")
    t = result.table("", ["target", "by", "to attach|ms", "stands still|in all, ms", "at a time|at most, ms", "one thread|ms", "all, to|attach ms",
                          "all, to|detach ms", "lives", ""])
    ways = {"nobody": nobody, "ms-record": ours}
    if settings.heaptrack and shutil.which("gdb"):
        ways["heaptrack"] = heaptrack
    windows = {}
    for name, words in TARGETS.items():
        rounds = {how: [] for how in ways}
        for _ in settings.each_round(60, rounds=settings.rounds + 2):
            for how, attach in ways.items():
                if how == "heaptrack" and any(r.why for r in rounds[how]):
                    continue  # it would be waited for in vain again
                progress("attach: %s, %s" % (name, how))
                rounds[how].append(one(words, attach))
        for how in ways:
            row(t, name, how, rounds[how])
        windows[name] = [r.stops for r in rounds["ms-record"] if r.stops]
        t.rule()
    result.notes.append("Medians. The target computes without end; a real-time thread of it sleeps for 0.1 ms, again and again, and says by how much it came "
                        "late by more than 0.2 ms: what it stood still. The last three are what ms-record -v says of its stops.")
    for name, limit in (("1 thread", 0.5), ("64 threads", 2)):
        result.targets.append(figures.target("6 all threads stopped to attach, " + name, median([s[1] for s in windows[name]]), limit, unit=" ms"))
    result.targets.append(figures.target("6 one thread stopped, idle", median([s[0] for s in windows["idle"]]), 1, unit=" ms"))
    return result
