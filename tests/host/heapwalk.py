#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what is found on a heap (tests/host/heapwalk_list.c) with what its process has (tests/host/heapwalk.c)."""
import os
import subprocess
import sys

TB = os.environ["TB"]
failures = []


def check(good, text):
    if not good:
        print("FAILED:", text)
        failures.append(text)


def begin(program, *args):
    p = subprocess.Popen([f"{TB}/host/{program}", *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stays, went = {}, set()
    for line in p.stdout:
        word, *rest = line.split()
        if word == "ready":
            break
        if word == "stays":
            stays[int(rest[0], 16)] = int(rest[1])
        else:
            went.add(int(rest[0], 16))
    return p, stays, went - set(stays)


def walk(p):
    r = subprocess.run([f"{TB}/host/heapwalk_list", str(p.pid)], capture_output=True, text=True, timeout=60, check=False)
    check(r.returncode == 0, f"status {r.returncode} {r.stderr}")
    head, *lines = r.stdout.splitlines()
    used, cached = {}, {}
    for line in lines:
        kind, address, size = line.split()
        (used if kind == "used" else cached)[int(address, 16)] = int(size)
    return head, used, cached


def end(p):
    p.stdin.close()
    check(p.wait(timeout=30) == 0, f"it ended with {p.returncode}")


def still(name, program, threads, blocks):
    p, stays, went = begin(program, threads, blocks, "still")
    head, used, cached = walk(p)
    end(p)
    check(head.startswith("whole"), f"{name}: {head}")
    missing = [a for a in stays if used.get(a) != stays[a]]
    check(not missing, f"{name}: {len(missing)} of {len(stays)} not found: {[hex(a) for a in missing[:5]]}")
    # One may be the buffer of its output now.
    wrong = [a for a in went if a in used and used[a] != 1032]
    check(len(wrong) <= 1 + threads, f"{name}: {len(wrong)} that went are there: {[hex(a) for a in wrong[:5]]}")
    more = [(hex(a), used[a]) for a in used if a not in stays]
    # What the C library has for itself: buffers of output, and of each thread.
    check(len(more) <= 8 + 2 * threads, f"{name}: {len(more)} more: {more[:20]}")
    check(cached, f"{name}: no thread's cache was found")


def churn(name, program, threads, blocks, rounds):
    p, stays, _ = begin(program, threads, blocks, "churn")
    for _ in range(rounds):
        head, used, _ = walk(p)
        check(head.startswith("whole"), f"{name}: {head}")
        missing = [a for a in stays if used.get(a) != stays[a]]
        check(not missing, f"{name}: {len(missing)} of {len(stays)} not found: {[hex(a) for a in missing[:5]]}")
    end(p)


def broken():
    p, stays, _ = begin("heapwalk", 2, 3000, "broken")
    head, used, _ = walk(p)
    p.kill()
    p.wait()
    check(head.startswith("part") and "damaged" in head, f"broken: {head}")
    check(0 < len([a for a in stays if a in used]) < len(stays), f"broken: {len(used)} of {len(stays)}")


still("one thread", "heapwalk", 1, 5000)
still("nine threads", "heapwalk", 9, 5000)
still("static", "heapwalk_static", 3, 5000)
churn("churn", "heapwalk", 5, 5000, 20 if os.environ.get("MS_CHECK_ALL") else 4)
broken()
print("ok" if not failures else f"{len(failures)} failed")
sys.exit(1 if failures else 0)
