#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes of all kinds are attached to, recorded and let go, again and again; each says itself whether it is what it was.

usage: tests/host/attach_cycles.py [-c CYCLES] [-s SECONDS] [-j JOBS] [TARGET...]

  -c CYCLES   of each target; given, or with -s, all have as many
  -s SECONDS  of recording in a cycle
  -j JOBS     targets at a time
  TARGET      a word of its name: "redis", "churn 64"
"""
import concurrent.futures
import getopt
import os
import shutil
import statistics
import subprocess
import sys
import traceback

from attach_servers import Nginx, Redis
from attach_targets import Apart, Blocked, Chroot, Stopped, Target
from attaching import ALL, PLUG, SRC, STATIC, TARGET, check, failures

CHECKED_EVERY = 10  # cycles whose whole report is read, too
INSIDE = ("--pid", "--mount")
LIB = "/usr/lib/x86_64-linux-gnu/"
PYTHON = ("import signal, sys\nsignal.signal(15, lambda *a: sys.exit(0))\n"
          "while True: d = {str(i): [i] for i in range(1000)}")


def built(name, *command):
    """A program of attach.c by another compiler, or with other libraries; None when that is not installed."""
    if not shutil.which(command[0]) or not all(os.path.exists(w) for w in command if w.startswith("/usr/lib")):
        return None
    subprocess.run([*command, "-g", "-O2", "-w", "-fno-builtin", "-std=gnu11", "-o", name], check=True)
    return os.path.abspath(name)


def with_musl(name, *options):
    sources = [f"{SRC}/tests/host/attach{part}.c" for part in ("", "_counts", "_odd")]
    return built(name, "musl-gcc", *options, "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu", *sources)


def apart(name, program, **more):
    return Apart(name, program, "churn", "4", share=4, blocks=256, mean=150.5, **more)


def churn(name, threads, program=TARGET, **more):
    return Target(name, program, "churn", str(threads), blocks=64 * threads, mean=150.5, **more)


def programs():
    """Those of tests/host alone."""
    yield churn("churn 1", 1)
    yield churn("churn 4", 4, share=2)
    yield Target("spin", TARGET, "spin", blocks=1, mean=24, share=2)
    yield Target("short", TARGET, "short", "4", share=4)
    yield Blocked("blocked", least=0)
    yield Stopped("stopped", TARGET, "churn", "2", share=4, least=0, blocks=128)
    yield Target("doze", TARGET, "doze", "8")
    yield Target("fork", TARGET, "fork", share=4)
    yield Target("plug", TARGET, "plug", PLUG, share=4)
    yield churn("static", 4, STATIC, share=4)
    yield Target("python3", "python3", "-c", PYTHON, share=4)
    yield Target("trap", TARGET, "trap", least=0)
    yield Target("storm", TARGET, "storm", "4", share=2)
    yield Target("moving", TARGET, "moving", blocks=64, mean=150.5, share=2)
    yield Target("spawn", TARGET, "spawn", "4", share=4)
    yield Target("uring", TARGET, "uring", blocks=64, mean=150.5, share=4)
    yield Target("close", TARGET, "close", "file", share=2, least=0)
    yield Target("small files", "prlimit", "--fsize=4096", TARGET, "churn", "1", blocks=64, exe="attach", share=50)
    if not os.geteuid():
        yield Target("filter", TARGET, "filter", share=4, least=0)
        yield Chroot("chroot", share=4, blocks=128, exe="attach")
        yield apart("PID namespace", TARGET)
        # Not where / is no mount point, as after chroot alone: nsenter goes to where one is.
        if not subprocess.run(["nsenter", f"--mount=/proc/{os.getpid()}/ns/mnt", "test", "-e", TARGET], check=False).returncode:
            yield apart("PID namespace, inside", TARGET, inside=INSIDE)
        musl = with_musl("musl-there")
        if musl:
            yield apart("musl, PID namespace", musl)


def namespaces():
    """Of each kind, with each C library; from outside and from inside."""
    users = ("--user", "--map-root-user")
    all_kinds = (*users, "--ipc", "--net", "--uts", "--cgroup")
    for name, program in (("glibc", TARGET), ("glibc static", STATIC), ("musl", with_musl("musl-apart")),
                          ("musl static", with_musl("musl-apart-static", "-static"))):
        if not program:
            continue
        yield apart(f"{name}, namespaces", program, more=all_kinds)
        yield apart(f"{name}, inside", program, inside=INSIDE)
        yield apart(f"{name}, inside user's", program, more=users, inside=("--user", *INSIDE))
        if "static" in name:
            yield apart(f"{name}, chroot in all", program, more=all_kinds, alone=True)


def others():
    """What needs more packages, or more time."""
    for threads, share in ((64, 10), (200, 33)):
        yield churn(f"churn {threads}", threads, share=share)
    if not os.geteuid():
        yield from namespaces()
    sources = [f"{SRC}/tests/host/attach{part}.c" for part in ("", "_counts", "_odd")]
    musl = with_musl("musl", "-static")
    jemalloc = built("jemalloc", "gcc", *sources, LIB + "libjemalloc.a", "-lpthread", "-lm", "-ldl", "-lstdc++")
    for name, program in (("musl, static", musl), ("jemalloc linked in", jemalloc)):
        if program:
            yield churn(name, 4, program, share=4)
    for name, file in (("libjemalloc", "libjemalloc.so.2"), ("libtcmalloc", "libtcmalloc_minimal.so.4"),
                       ("libmimalloc", "libmimalloc.so.2")):
        if os.path.exists(LIB + file):
            yield churn(name, 4, share=4, env={"LD_PRELOAD": LIB + file})
    if shutil.which("redis-server"):
        yield Redis("redis")
    if shutil.which("nginx"):
        yield Nginx("nginx")


def targets(full):
    """All; or those that every machine has, and that are done soon."""
    return [*programs(), *(others() if full else [churn("churn 16", 16, share=2)])]


class Seen:
    """What the cycles of one target had."""

    def __init__(self):
        self.cycles = self.losing = 0
        self.allocations, self.stops = [], []

    def add(self, said):
        self.cycles += 1
        self.losing += said.lost > 0 or "gave up" in said.text
        self.allocations.append(said.allocations)
        self.stops.append(said.stops or (0, 0, 0))

    def words(self):
        one, to, back = (statistics.median(x) / 1e6 for x in zip(*self.stops))
        return (f"{self.cycles:6} {min(self.allocations):11,} {statistics.median(self.allocations):13,.0f} {self.losing:7} "
                f"{one:9.2f} {to:9.2f} {back:9.2f}")


HEAD = (f"{'target':24} {'cycles':>6} {'allocations':>25} {'cycles':>7} {'stopped, median ms':>29}\n"
        f"{'':24} {'':6} {'least':>11} {'median':>13} {'lossy':>7} {'one':>9} {'to attach':>9} {'to detach':>9}  and then")


def runs_at_all(target):
    """However busy the machine is, it is recorded in the end."""
    return any(target.cycle(seconds).allocations >= target.least for seconds in (0.5, 3, 10))


def run(target, cycles, seconds):
    """All cycles of one target; a line of what was seen."""
    seen = Seen()
    target.begin(seconds)
    for i in range(cycles):
        said = target.cycle(seconds)
        name = f"{target.name}, cycle {i}"
        check(said.status == 0, f"{name}: status {said.status}: {said.text}")
        why = target.trouble()
        check(not why, f"{name}: {why}")
        if said.status or why:
            break
        check(said.stops and "the hooks could not be taken out" not in said.text, f"{name}: {said.text}")
        target.judge(said, name)
        if i % CHECKED_EVERY == 0 or i == cycles - 1:
            target.judge_report(name)
        seen.add(said)
    check(max(seen.allocations, default=0) >= target.least or runs_at_all(target),
          f"{target.name}: nothing was recorded in {seen.cycles} cycles")
    left = target.mapped()
    check(left.count("/memfd:memscope-image") == 2, f"{target.name}: not one image is left, but\n{left}")
    check("/memfd:memscope " not in left, f"{target.name}: buffers are left")
    then = target.end()
    return f"{target.name:24} {seen.words() if seen.cycles else 'no cycle'}  {then}"


def safely(target, cycles, seconds):
    try:
        return run(target, cycles, seconds)
    except Exception:  # one target must not hide the others
        check(False, f"{target.name}: {traceback.format_exc()}")
        return f"{target.name:24} failed"
    finally:
        target.kill()


def main():
    options, words = getopt.getopt(sys.argv[1:], "c:s:j:h")
    options = dict(options)
    if "-h" in options:
        print(__doc__)
        return 0
    if os.path.exists("/proc/sys/kernel/yama/ptrace_scope") and os.geteuid():
        print("processes of others cannot be traced here")
        return 77
    given = "-c" in options or "-s" in options
    full = ALL or given
    cycles, seconds = int(options.get("-c", 100 if full else 4)), float(options.get("-s", 0.1 if full else 0.05))
    chosen = [t for t in targets(full) if not words or any(w in t.name for w in words)]
    print(HEAD, flush=True)
    with concurrent.futures.ThreadPoolExecutor(int(options.get("-j", 2))) as pool:
        work = [pool.submit(safely, t, cycles if given else max(2, cycles // t.share), seconds) for t in chosen]
        for done in concurrent.futures.as_completed(work):
            print(done.result(), flush=True)
    return bool(failures)


sys.exit(main())
