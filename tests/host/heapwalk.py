#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what is found on a heap (tests/host/heapwalk_list.c) with what its process has (tests/host/heapwalk.c)."""
import json
import os
import signal
import subprocess
import sys
import time

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]


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


def walk(p, *args):
    r = subprocess.run([f"{TB}/host/heapwalk_list", str(p.pid), *args], capture_output=True, text=True, timeout=600, check=False)
    check(r.returncode == 0, f"status {r.returncode} {r.stderr}")
    head, *lines = r.stdout.splitlines()
    used, cached = {}, {}
    for line in lines:
        kind, address, size = line.split()
        (used if kind == "used" else cached)[int(address, 16)] = int(size)
    return head, used, cached


def tables(p):
    """KiB of its page tables."""
    with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmPTE:"))


def end(p):
    p.stdin.close()
    check(p.wait(timeout=600) == 0, f"it ended with {p.returncode}")


def still(name, program, threads, blocks):
    p, stays, went = begin(program, threads, blocks, "still")
    before = tables(p)
    head, used, cached = walk(p)
    more = tables(p) - before
    check(more <= 0, f"{name}: its page tables grew by {more} KiB")
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


def reads(head):
    words = head.split()
    return int(words[words.index("reads") - 1])


def table(name, program):
    """A table of pointers costs next to no reads, nor what lies in it: it has 100,000 words."""
    p, *_ = begin(program, 1, 1000, "still")
    head, used, _ = walk(p)
    check(head.startswith("whole") and len(used) > 600, f"{name}: {head}")
    check(reads(head) < 3000, f"{name}: {head}")
    # Told to stop at any time it stops, and says so: nothing is damaged.
    for most in (0, 1, 10, 30):
        head, *_ = walk(p, str(most))
        check("damaged" not in head and head.endswith("the recording ended before the whole heap was walked"), f"{name}, stopped: {head}")
        check(reads(head) <= most + 200, f"{name}, stopped after {most} reads: {head}")
    end(p)


def until(done):
    for _ in range(20000):
        if done():
            return True
        time.sleep(0.01)
    return False


def report():
    r = subprocess.run([f"{BIN}/ms-report", "--json", "w.trace"], capture_output=True, check=False)
    return json.loads(r.stdout)["quality"] if r.returncode == 0 else {}


def recorded(name, program, threads, blocks):
    """What is there when ms-record attaches is in the trace, and what is given back of it, exactly."""
    p, _, _ = begin(program, threads, blocks, "still")
    head, used, _ = walk(p)
    check(head.startswith("whole"), f"{name}: {head}")
    if os.path.exists("w.trace"):
        os.unlink("w.trace")
    r = subprocess.Popen([f"{BIN}/ms-record", "-q", "--no-symbols", "-o", "w.trace", "-p", str(p.pid)])
    check(until(lambda: report().get("before")), f"{name}: the trace does not say what was there: {report()}")
    p.stdin.write("f")
    p.stdin.flush()
    freed = [int(x) for x in p.stdout.readline().split()[1:]]
    r.send_signal(signal.SIGINT)
    check(r.wait(timeout=600) == 0, f"{name}: ms-record ended with {r.returncode}")
    end(p)
    q = report()
    got = [q.get(k) for k in ("before", "before_blocks", "before_bytes", "before_largest", "before_frees",
                              "before_freed_bytes", "unknown_frees", "inferred_frees", "attached")]
    want = ["whole", len(used), sum(used.values()), max(used.values()), *freed, 0, 0, True]
    check(got == want, f"{name}: {got}, not {want}")
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "w.db", "w.trace"], check=True)
    rows = subprocess.run(["sqlite3", "w.db", "SELECT low, high, blocks, bytes FROM before_size"], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    for low, high, count, size in ([int(x) for x in row.split("|")] for row in rows):
        of = [x for x in used.values() if low <= x <= high]
        check([len(of), sum(of)] == [count, size], f"{name}: {count} blocks of {low} to {high}, not {len(of)}")
    check(sum(int(row.split("|")[2]) for row in rows) == len(used), f"{name}: {rows}")


def unknown():
    """Of another allocator than glibc's that is said."""
    p = subprocess.Popen([f"{TB}/host/inject_own", "1", "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    r = subprocess.run([f"{BIN}/ms-record", "--no-symbols", "-o", "w.trace", "-d", "0.1", "-p", str(p.pid)], capture_output=True,
                       text=True, timeout=600, check=False)
    p.kill()
    p.communicate()
    q = report()
    check(r.returncode == 0 and "not known (the process's allocator is not glibc's)" in r.stderr, f"unknown: {r.stderr}")
    check(q.get("before") == "unknown" and q.get("before_blocks") is None, f"unknown: {q}")


still("one thread", "heapwalk", 1, 5000)
still("nine threads", "heapwalk", 9, 5000)
still("static", "heapwalk_static", 3, 5000)
still("table", "heapwalk_table", 2, 5000)
table("table", "heapwalk_table")
table("table, static", "heapwalk_table_static")
churn("churn", "heapwalk", 5, 5000, 20 if os.environ.get("MS_CHECK_ALL") else 4)
broken()
recorded("recorded", "heapwalk", 3, 4000)
recorded("recorded, static", "heapwalk_static", 2, 3000)
recorded("recorded, table", "heapwalk_table", 1, 2000)
unknown()
print("ok" if not failures else f"{len(failures)} failed")
sys.exit(1 if failures else 0)
