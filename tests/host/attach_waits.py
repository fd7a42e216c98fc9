#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes whose threads wait in the kernel are attached to and let go: their system calls wait on.

usage: tests/host/attach_waits.py [-c CYCLES] [-a] [-s SECONDS] [KIND...]

  -c CYCLES   (default 3)
  -a          each kind alone in a process too, whose only thread has to do the recorder's work
  -s SECONDS  of recording in a cycle (default 0.02)
  KIND        those alone only, and no others
"""
import getopt
import os
import struct
import subprocess
import sys
import time

from attaching import TB, attach, check, failures

WAITS = f"{TB}/host/waits"
KINDS = subprocess.run([WAITS, "list"], capture_output=True, text=True, check=True).stdout.split()
# Alone these may return short, for they had done a part when they were stopped: see CAVEATS in ms-record(1).
IN_PARTS = {"write_pipe", "writev_pipe", "pwritev2_pipe", "write_tty", "write_socket", "send", "send_timed", "sendmsg", "recv_all",
            "recvmsg_all", "recvmmsg", "io_uring_submit", "vmsplice", "sendfile", "recvmmsg_timed", "sendmmsg"}


class Waits:
    """One process, and what the calls of its threads came to."""

    def __init__(self, *kind):
        self.kinds = kind or KINDS
        if os.path.exists("waits"):
            os.remove("waits")
        self.process = subprocess.Popen([WAITS, "waits", *kind], stdin=subprocess.PIPE)
        self.pid = self.process.pid
        for _ in range(10000):
            if self.process.poll() is not None or self.settled():
                break
            time.sleep(0.02)
        check(self.settled(), f"{' '.join(kind)}: it does not come to wait")

    def seen(self, kind):
        """Calls, returns, the last result and errno."""
        with open("waits", "rb") as f:
            return struct.unpack_from("QQqq", f.read(), 32 * KINDS.index(kind))

    def tasks(self):
        return sorted(os.listdir(f"/proc/{self.pid}/task"), key=int)

    def settled(self):
        """Have all been called, and sleep all threads?"""
        try:
            if not all(self.seen(k)[0] for k in self.kinds):
                return False
            was = self.switches()
            time.sleep(0.05)
            return was == self.switches()
        except (OSError, struct.error):
            return False

    def switches(self):
        """Of each thread, how often it came from a processor: once more if it was stopped."""
        found = {}
        for tid in self.tasks():
            with open(f"/proc/{self.pid}/task/{tid}/status", encoding="utf-8") as f:
                found[tid] = sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
        return found

    def early(self):
        """Those that came back: kind to (how often, result, errno)."""
        found = {k: self.seen(k)[1:] for k in self.kinds}
        return {k: v for k, v in found.items() if v[0]}

    def cycles(self, count, seconds):
        for i in range(count):
            rc, said = attach(self.pid, "-d", str(seconds))
            check(rc == 0, f"{' '.join(self.kinds)}, cycle {i}: status {rc}: {said}")
            check(self.process.poll() is None, f"{' '.join(self.kinds)}, cycle {i}: it ended")

    def end(self):
        self.process.stdin.close()
        if len(self.kinds) == 1:
            self.process.kill()
        rc = self.process.wait(timeout=600)
        check(rc == (0 if len(self.kinds) > 1 else -9), f"status {rc}")


def together(count, seconds):
    w = Waits()
    was = w.switches()
    w.cycles(count, seconds)
    now = w.switches()
    early, stopped = w.early(), [t for t in was if now.get(t) != was[t]]
    w.end()
    check(not early, f"together, of {count} cycles: {early}")
    # One that does the recorder's work; on a busy machine another one, when that does not come to a processor.
    check(1 <= len(stopped) < 10, f"{len(stopped)} threads of {len(was)} were stopped")
    print(f"together: {len(early)} of {len(KINDS)} kinds came back early in {count} cycles; {len(stopped)} of {len(was)} threads were stopped")


def alone(kind, count, seconds):
    w = Waits(kind)
    w.cycles(count, seconds)
    early = w.early().get(kind)
    w.end()
    check(not early or kind in IN_PARTS, f"{kind} alone came back early, (times, result, errno): {early}")
    if early:
        print(f"{kind} alone: came back early {early[0]} times in {count} cycles, the last time with {early[1]}, errno {early[2]}")
    return bool(early)


def main():
    options, words = getopt.getopt(sys.argv[1:], "c:as:h")
    options = dict(options)
    if "-h" in options:
        print(__doc__)
        return 0
    count, seconds = int(options.get("-c", 3)), float(options.get("-s", 0.02))
    if not words:
        together(count, seconds)
    one_by_one = words or (KINDS if "-a" in options else [])
    early = sum(alone(k, count, seconds) for k in one_by_one)
    if one_by_one:
        print(f"alone: {early} of {len(one_by_one)} kinds came back early in {count} cycles each")
    return bool(failures)


sys.exit(main())
