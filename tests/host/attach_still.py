#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with many threads that compute is attached to and let go on a busy machine: nothing else on it may stand still.

usage: tests/host/attach_still.py [-c CYCLES] [-g HOGS] [-s SECONDS] [THREADS...]

  -c CYCLES   for each number of threads (default 3)
  -g HOGS     threads beside it that compute only (default 2)
  -s SECONDS  of recording in a cycle (default 0.05)
  THREADS     of the program that is attached to (default 65)

Beside them runs a process that only sleeps: the longest time by which it came late is printed, for a while without and then with the
recorder. Times are not judged; that a real-time class and processors that never sleep are asked for only below a limit, and given
back, is.
"""
import getopt
import re
import signal
import shutil
import subprocess
import sys
import time

from attaching import RECORD, TARGET, attach, check, end, failures, start, stops


def slept(run):
    """By how many ms at most the sleeper came late while run() ran."""
    p = subprocess.Popen([TARGET, "nap"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.1)
    run()
    p.terminate()
    out = p.communicate(timeout=600)[0]
    found = re.search(r"at most (\d+) at a time", out)
    check(found and p.returncode == 0, f"the sleeper: {p.returncode}: {out}")
    return int(found.group(1)) / 1000 if found else 0


def cycles(target, count, seconds, windows):
    for i in range(count):
        rc, said = attach(target.pid, "-d", str(seconds), timeout=600)
        check(rc == 0, f"cycle {i}: status {rc}: {said}")
        windows.append(stops(said) or (0, 0, 0))


def asked(target):
    """What could keep the kernel's own threads from a processor is limited, and given back."""
    if not shutil.which("strace"):
        print("no strace: system calls of the recorder not seen")
        return
    calls = "sched_setscheduler,sched_setattr,openat,close,setrlimit,prlimit64"
    subprocess.run(["strace", "-f", "-qq", "-o", "calls", "-e", "trace=" + calls, RECORD, "-q", "--no-symbols", "-o", "s.trace",
                    "-d", "0.05", "-p", str(target.pid)], check=True, timeout=600)
    with open("calls", encoding="utf-8") as f:
        said = f.read()
    check("sched_policy=SCHED_OTHER" in said, "strace saw nothing of the part that stops threads")
    helpers = {}
    for pid, call in re.findall(r"^(\d+) +(.*)", said, re.M):
        of = helpers.setdefault(pid, [])
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", call)  # a call that another process's came between is on two lines
        if resumed:
            of[-1] += resumed.group(1)
        else:
            of.append(call.removesuffix(" <unfinished ...>"))
    asked_for = [c for c in helpers.values() if any("dma_latency" in s for s in c)]
    check(len(asked_for) >= 2, f"helpers that hurry: {len(asked_for)}")
    for calls_of in asked_for:
        in_order(calls_of)


def in_order(calls):
    """Those of one helper: the limit, the class, and both given back."""
    limited, awake, first, times = False, None, False, 0
    for call in calls:
        limited = limited or bool(re.match(r"(?:set|p)rlimit.*RLIMIT_RTTIME.*20000.*= 0", call))
        opened = re.match(r'openat.*dma_latency.*= (\d+)', call)
        awake = opened.group(1) if opened else None if re.match(rf"close\({awake}\)", call) else awake
        policy = re.match(r"sched_setscheduler\(0, 0x(\d+).*= 0", call)
        if policy:
            first = policy.group(1).endswith("1")
            times += first
            check(limited, f"a real-time class without a limit: {calls}")
    check(times and not first and not awake, f"not given back: {calls}")


def busy(threads, hogs, count, seconds):
    hog = start(TARGET, "hog", str(hogs))
    target = start(TARGET, "spin", str(threads))
    try:
        measure(target, hog, f"{threads} threads, {hogs} hogs", count, seconds)
    finally:
        target.kill()
        hog.kill()


def measure(target, hog, name, count, seconds):
    windows = []
    alone = slept(lambda: time.sleep(1))
    late = slept(lambda: cycles(target, count, seconds, windows))
    asked(target)
    end(target, name)
    end(hog, "the hogs")
    most = [max(w) / 1e6 for w in zip(*windows)]
    middle = [sorted(w)[len(w) // 2] / 1e6 for w in zip(*windows)]
    print(f"{name}, {count} cycles: a sleeper was late by {late:.1f} ms at most, by {alone:.1f} ms alone; stopped, "
          "median (longest) ms: " + ", ".join(f"{n} {a:.2f} ({b:.2f})" for n, a, b in zip(("one", "to attach", "to detach"), middle, most)))


def main():
    options, words = getopt.getopt(sys.argv[1:], "c:g:s:h")
    options = dict(options)
    if "-h" in options:
        print(__doc__)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for threads in words or ["65"]:
        busy(int(threads), int(options.get("-g", 2)), int(options.get("-c", 3)), float(options.get("-s", 0.05)))
    return bool(failures)


sys.exit(main())
