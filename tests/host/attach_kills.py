#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills ms-record, its helper, or the process, at random moments of attaching, recording and detaching."""
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time

from attaching import ALL, BIN, RECORD, TARGET, THREADS, Tally, attach, check, end, failures, left_behind, mapped, start, wait_for

LONG = int(os.environ.get("MS_KILLS", 0))  # kills in all: tests/long/kills.sh
KILLS = ENDS = LONG // 5 or (100 if ALL else 8)  # of each of three processes; ends
MIDWAY = LONG // 10 or (20 if ALL else 5)  # of each of two, while entries are being rewritten
LIVE = 8
JUMP_TO_ITSELF = b"\xeb\xfe"  # x86-64


class Churn:
    """One that computes without end, or wakes up without end; it is judged by itself at its end."""

    def __init__(self, mode):
        self.process = start(TARGET, mode, str(THREADS))

    def begin(self):
        pass

    def goes_on(self):
        def used():
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
                return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
        was = used()
        for _ in range(20000):
            if used() > was:
                return True
            time.sleep(0.01)
        return False


def helper_of(pid):
    """Number of the process that stops the threads, while there is one."""
    for _ in range(300):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
                children = f.read().split()
        except OSError:
            return None
        if children:
            return int(children[0])
        time.sleep(0.0005)
    return None


def kill_helper(pid):
    helper = helper_of(pid)
    time.sleep(random.random() * 0.002)
    if helper:
        try:
            os.kill(helper, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_somewhere(i, pid):
    """One ms-record, or its helper, is killed; what it said."""
    with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "killed.trace", "-p", str(pid)], stderr=subprocess.PIPE,
                          text=True) as r:
        if i % 4 == 0:  # attaching
            time.sleep(random.random() * 0.05)
        elif i % 4 == 1:  # recording, mostly
            time.sleep(random.random() * 0.2)
        elif i % 4 == 2:  # detaching
            wait_for("killed.trace")
            r.send_signal(signal.SIGINT)
            time.sleep(random.random() * 0.03)
        else:
            if i % 8 == 7:
                wait_for("killed.trace")
                r.send_signal(signal.SIGINT)
            kill_helper(r.pid)
            time.sleep(0.02)
        r.kill()
        return r.communicate()[1]


def attaches(pid):
    """It may be busy for a while with what the last one left."""
    for _ in range(1000):
        rc, said = attach(pid, "-d", "0.02")
        if rc == 0:
            return True
        time.sleep(0.1)
    check(False, f"after a kill, attaching gives {rc}: {said}")
    return False


def killed(name, target):
    p = target.process
    target.begin()
    again = answers = 0
    for i in range(KILLS):
        said = kill_somewhere(i, p.pid)
        check(not said or "still run code of an earlier" in said or "the helper process of ms-record" in said, f"{name}, {i}: {said}")
        check(p.poll() is None, f"{name}, {i}: it died: {p.returncode}")
        if p.poll() is not None:
            return
        answers += target.goes_on()
        again += attaches(p.pid)
    check(answers == KILLS, f"{name}: it went on {answers} times of {KILLS}")
    check("/memfd:memscope " not in mapped(p.pid), f"{name}: buffers of killed recorders are left")
    end(p, name)
    print(f"{name}: the recorder killed {KILLS} times, it goes on {answers} times, attached to afterwards {again} times")


def libc_of(pid):
    """Address of its C library; 0: it has none of that name."""
    return next((int(line.split("-")[0], 16) for line in mapped(pid).splitlines() if "/libc.so.6" in line), 0)


def kill_midway(target, entry, memory):
    """Both are killed as soon as callers of malloc would wait for its entry. Did it come to that, and what was said?"""
    with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "killed.trace", "-p", str(target.process.pid)],
                          stderr=subprocess.PIPE, text=True) as r:
        children = os.open(f"/proc/{r.pid}/task/{r.pid}/children", os.O_RDONLY)
        first = was = os.pread(memory, 2, entry)
        until = time.monotonic() + 5
        while first == was and time.monotonic() < until:
            first = os.pread(memory, 2, entry)
        helper = os.pread(children, 64, 0).split() if first == JUMP_TO_ITSELF else []
        try:
            if helper:
                os.kill(int(helper[0]), signal.SIGKILL)
        except ProcessLookupError:  # its work is done
            helper = []
        r.kill()
        os.close(children)
        return bool(helper), r.communicate()[1]


def killed_midway(name, target):
    """As above; by chance it takes hundreds of kills to meet the moment."""
    p, met, tries = target.process, 0, 0
    target.begin()
    libc = libc_of(p.pid)
    malloc = ctypes.cast(ctypes.CDLL("libc.so.6").malloc, ctypes.c_void_p).value - libc_of("self")
    memory = os.open(f"/proc/{p.pid}/mem", os.O_RDONLY)
    while libc and met < MIDWAY and tries < 10 * MIDWAY:
        hit, said = kill_midway(target, libc + malloc, memory)
        met, tries = met + hit, tries + 1
        check(not said, f"{name}, killed midway: {said}")
        if not target.goes_on():
            check(False, f"{name}, killed midway: it does not go on")
            break
        if not attaches(p.pid):
            break
    os.close(memory)
    end(p, f"{name}, killed midway")
    print(f"{name}: the recorder and its helper killed {met} times midway, of {tries} tries")


def report(trace):
    r = subprocess.run([f"{BIN}/ms-report", "--json", trace], capture_output=True, text=True, check=False)
    check(r.returncode == 0, f"the process was killed: ms-report gives {r.returncode}: {r.stderr}")
    return json.loads(r.stdout) if r.returncode == 0 else None


def right(said, counts, whole):
    """What is recorded is what was done: of each thread, the last call may not have come to be counted."""
    totals, lost = said["totals"], said["quality"]["events_lost"]
    allocations, frees = (sum(x) for x in zip(*counts))
    recorded, most = totals["allocations"] + totals["frees"], allocations + frees + THREADS
    check(said["quality"]["complete"] is True, "the process was killed: the trace is not complete")
    check(recorded + lost <= most, f"the process was killed: {recorded} events and {lost} lost, it made {most} at most")
    check(lost or totals["unfreed_blocks"] <= THREADS * LIVE, f"the process was killed: {totals['unfreed_blocks']} blocks live")
    if whole:
        check(recorded + lost >= most - THREADS,
              f"the process was killed: {recorded} events and {lost} lost, it made {most - THREADS} at least")
    if whole and not lost:
        check(0 <= totals["allocations"] - allocations <= THREADS and 0 <= totals["frees"] - frees <= THREADS,
              f"the process was killed: {totals['allocations']} and {totals['frees']}, it counted {allocations} and {frees}")


def process_killed():
    """While it is recorded from its first allocation on, or while it is being attached to."""
    opened = exact = 0
    for i in range(ENDS):
        if os.path.exists("gone.trace"):
            os.unlink("gone.trace")
        target, whole = Tally("gone.tally"), i % 2 == 0
        if not whole:
            target.begin()
        with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "gone.trace", "-p", str(target.process.pid)],
                              stderr=subprocess.PIPE, text=True) as r:
            if whole:
                wait_for("gone.trace")
                target.begin()
                time.sleep(random.random() * 0.2)
            else:
                time.sleep(random.random() * 0.04)
            target.process.kill()
            target.process.wait()
            said = r.communicate(timeout=600)[1]
        if r.returncode == 0:
            read = report("gone.trace")
            if read:
                right(read, target.counts(), whole)
                opened += 1
                exact += whole
        else:
            check(not whole and r.returncode == 125 and said.count("\n") == 1, f"the process was killed: {r.returncode} {said}")
            check(not os.path.exists("gone.trace"), "the process was killed: a trace of nothing is left")
    print(f"the process killed {ENDS} times: {opened} traces, all of them right; {exact} from the first event to the last")


def main():
    random.seed(11)
    killed("churn", Churn("churn"))
    killed("doze", Churn("doze"))
    killed("tally", Tally("killed.tally"))
    killed_midway("tally", Tally("midway.tally"))
    killed_midway("breed", Churn("breed"))
    process_killed()
    left = left_behind()
    check(not left, f"children of targets do not end: {left}")
    if LONG:
        print(f"kills: runs {3 * KILLS + 2 * MIDWAY + ENDS}, found {len(failures)}, left {len(failures)}")
    sys.exit(bool(failures))


main()
