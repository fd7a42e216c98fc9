#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real programs recorded with --mmap, --usable-size and --free-stacks: same output and status, and figures that add up.

Arguments: names in workloads.py, or "pymalloc" (Python with its own allocator, which maps its arenas), "jemalloc" (sqlite3 with an
allocator that maps its heap; passed over where it is not installed). Runs in the current folder; BIN and TB as tests/run sets them.
"""
import glob
import os
import sqlite3
import subprocess
import sys

import programs
import workloads

BIN = programs.BIN
OPTIONS = ["--mmap", "--usable-size", "--free-stacks"]
PYTHON = """
import mmap, threading
def work(n):
    keep = [mmap.mmap(-1, 4096 * (i % 7 + 1)) for i in range(40)]
    keep[3].resize(1 << 20)
    keep[0][0:5] = b'hello'
    for k in keep[::2]: k.close()
    return sum(len(str(i)) for i in range(n)), len([k for k in keep if not k.closed])
out = {}
t = [threading.Thread(target=lambda n=n: out.__setitem__(n, work(n))) for n in range(2000, 2008)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(out.items()), sum(len(str(i)) for i in range(200000)), len([str(i) for i in range(50000)]))
"""
SUMS = [("maps", "SELECT sum(maps) FROM process", "SELECT sum(maps) FROM site"),
        ("mapped in all", "SELECT sum(mapped_bytes) FROM process", "SELECT sum(mapped_bytes) FROM site"),
        ("mapped now", "SELECT id, mapped_bytes FROM snapshot ORDER BY id",
         "SELECT t.id, coalesce(sum(c.mapped_bytes), 0) FROM snapshot t LEFT JOIN site_stat c ON c.snapshot = t.id GROUP BY t.id ORDER BY t.id"),
        ("usable now", "SELECT id, usable_bytes FROM snapshot ORDER BY id",
         "SELECT t.id, coalesce(sum(c.usable_bytes), 0) FROM snapshot t LEFT JOIN site_stat c ON c.snapshot = t.id GROUP BY t.id ORDER BY t.id"),
        ("at the end", "SELECT id, mapped_end_bytes, unfreed_usable_bytes FROM process ORDER BY id",
         "SELECT process, mapped_bytes, usable_bytes FROM snapshot WHERE label = 'end' ORDER BY process"),
        ("frees", "SELECT id, frees FROM process WHERE frees > 0 ORDER BY id",
         "SELECT process, sum(frees) FROM free_site GROUP BY process ORDER BY process"),
        ("frees by site", "SELECT id, frees FROM site WHERE frees > 0 ORDER BY id",
         "SELECT site, sum(frees) FROM free_site GROUP BY site ORDER BY site"),
        ("slack is never negative", "SELECT 0", "SELECT count(*) FROM site_stat WHERE usable_bytes < live_bytes"),
        ("peaks", "SELECT 0", "SELECT count(*) FROM process WHERE mapped_peak_bytes < mapped_end_bytes OR mapped_peak_bytes > mapped_bytes")]


def works(name):
    """Commands with the environment that they need."""
    if name == "pymalloc":
        work = workloads.Work(["/usr/bin/python3", "-S", workloads.write("work.py", PYTHON)], {"PYTHONHASHSEED": "0"})
        work.environment.pop("PYTHONMALLOC", None)
        return work
    if name == "jemalloc":
        found = glob.glob("/usr/lib/*/libjemalloc.so.2")
        if not found:
            return None
        work = workloads.make("sqlite3")
        work.environment["LD_PRELOAD"] = found[0]
        return work
    return workloads.make(name)


def one(name):
    check, work = programs.Check(), works(name)
    if not work:
        return [], "not installed"
    plain = work.run(capture_output=True)
    made = programs.contents(work)
    recorded = work.run([BIN + "/ms-record", "-q", "-o", "run.trace"] + OPTIONS, capture_output=True)
    check.same("standard output", recorded.stdout, plain.stdout)
    check.same("standard error", recorded.stderr, plain.stderr)
    check.same("status", (recorded.returncode, plain.returncode), (0, 0))
    check.same("file made", programs.contents(work), made)
    traces = ["run.trace"] + (["run.trace.d"] if os.path.isdir("run.trace.d") else [])
    snap = subprocess.run([BIN + "/ms-snap", "-o", "run.db"] + traces, capture_output=True)
    check.same("ms-snap", (snap.returncode, snap.stderr), (0, b""))
    db = sqlite3.connect("run.db")
    programs.quality(check, db)
    programs.roots(check, db)
    for what, whole, parts in SUMS:
        check.same(what, db.execute(parts).fetchall(), db.execute(whole).fetchall())
    maps, most, slack, frees = db.execute(
        "SELECT sum(maps), max(mapped_peak_bytes), max(peak_usable_bytes - peak_bytes), (SELECT count(*) FROM free_site) FROM process").fetchone()
    if name in ("pymalloc", "jemalloc") and maps < 3:
        check.wrong.append("only %d calls mapped anything" % maps)
    report = subprocess.run([BIN + "/ms-report", "run.db"], capture_output=True, text=True).stdout
    check.same("the report tells of slack", " + slack " in report, True)
    check.same("mapped is a part of RSS", " + mapped " in report, name != "jemalloc")
    return check.wrong, "%d calls mapped at most %d bytes, slack %d bytes at the peak, %d pairs of site and free" % (maps, most, slack, frees)


def main():
    failures = 0
    for name in sys.argv[1:]:
        os.makedirs(name)
        os.chdir(name)
        wrong, summary = one(name)
        os.chdir("..")
        print("%s %s: %s" % ("FAILED" if wrong else "ok    ", name, summary))
        for line in wrong[:20]:
            print("        " + line)
        failures += bool(wrong)
    return failures != 0


sys.exit(main())
