#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs real programs with and without the recorder: same output and status, stacks with roots, a report from the pipe.

Arguments: names in workloads.py. Runs in the current folder; BIN and TB as tests/run sets them.
"""
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

import workloads

BIN = os.environ["BIN"]
# Where stacks may end: the program's entry, the dynamic linker's, a thread's.
ROOTS = ("_start", "_dl_start_user", "_dl_start", "clone3", "__clone3", "__GI___clone3", "clone", "start_thread")
OUTERMOST = """
WITH RECURSIVE walk(site, node, parent, inner) AS (
	SELECT site.id, stack.id, stack.parent, NULL FROM site JOIN stack ON stack.id = site.stack
	UNION ALL SELECT walk.site, stack.id, stack.parent, walk.node FROM walk JOIN stack ON stack.id = walk.parent)
SELECT f.function, f.note, m.path, f.address - m.bias, g.function, count(*), sum(s.allocations) FROM walk w
JOIN site s ON s.id = w.site JOIN stack k ON k.id = w.node JOIN frame f ON f.id = k.frame LEFT JOIN module m ON m.id = f.module
LEFT JOIN stack i ON i.id = w.inner LEFT JOIN frame g ON g.id = i.frame
WHERE w.parent IS NULL OR w.parent = 0 GROUP BY 1, 2, 3, 4, 5
"""


class Check:
    def __init__(self):
        self.wrong = []

    def same(self, what, got, expected):
        if got != expected:
            self.wrong.append("%s: %.300r, expected %.300r" % (what, got, expected))


def number(text, what):
    """The one in front of these words of ms-record's."""
    found = re.search(r"([0-9,]+) " + what, text)
    return int(found.group(1).replace(",", "")) if found else 0


def contents(work):
    if not work.made:
        return None
    with open(work.made, "rb") as f:
        return f.read()


def entry_of(path):
    """The entry point in the header of an ELF file."""
    with open(path, "rb") as f:
        return struct.unpack_from("<Q", f.read(64), 24)[0]


def roots(check, db):
    """Every stack ends at a root, or says that it is not whole."""
    for function, note, module, address, inner, sites, allocations in db.execute(OUTERMOST):
        # The dynamic linker's entry has no unwind information: its caller is unknown, but nothing lies beyond it.
        if function in ROOTS or (note == "truncated" and inner in ROOTS):
            continue
        if function is None and inner == "__libc_start_main_impl" and 0 < address - entry_of(module) < 64:
            continue  # _start of a stripped program
        check.wrong.append("%d sites (%d allocations) end in %r (%r) of %r, within it %r" % (sites, allocations, function, note, module, inner))
    rootless = db.execute("SELECT count(*) FROM site WHERE stack IS NULL OR stack NOT IN (SELECT id FROM stack)").fetchone()[0]
    check.same("sites without a stack", rootless, 0)
    check.same("stacks not taken", db.execute("SELECT sum(stacks_not_taken) FROM process").fetchone()[0], 0)


def libc_lines(check, db):
    """libc6-dbg gives libc's functions their files and lines."""
    row = db.execute("SELECT count(*), count(f.file), count(f.line) FROM frame f JOIN module m ON m.id = f.module "
                     "WHERE m.path LIKE '%/libc.so.6' AND f.function = '__libc_start_main_impl'").fetchone()
    if row[0] == 0 or row[0] != row[1] or row[0] != row[2]:
        check.wrong.append("frames of __libc_start_main_impl, with file, with line: %r" % (row,))


def quality(check, db):
    for key in ("events_lost", "inferred_frees", "damaged_bytes"):
        check.same(key, db.execute("SELECT sum(%s) FROM process" % key).fetchone()[0], 0)
    check.same("states", db.execute("SELECT DISTINCT state, complete FROM process").fetchall(), [("complete", 1)])
    check.same("totals against sites", db.execute(
        "SELECT sum(allocations), sum(frees), sum(allocated_bytes), sum(temporary_allocations) FROM process").fetchone(),
        db.execute("SELECT sum(allocations), sum(frees), sum(allocated_bytes), sum(temporary) FROM site").fetchone())


def pipe(check, traces):
    """ms-snap | ms-filter | ms-report, as a user would type it."""
    snap = subprocess.Popen([BIN + "/ms-snap"] + traces, stdout=subprocess.PIPE)
    filtered = subprocess.Popen([BIN + "/ms-filter", "--min", "1k"], stdin=snap.stdout, stdout=subprocess.PIPE)
    snap.stdout.close()
    report = subprocess.run([BIN + "/ms-report", "--md"], stdin=filtered.stdout, capture_output=True)
    filtered.stdout.close()
    check.same("statuses of the pipe", (snap.wait(), filtered.wait(), report.returncode, report.stderr), (0, 0, 0, b""))
    if len(report.stdout.splitlines()) < 10:
        check.wrong.append("a report of %d lines" % len(report.stdout.splitlines()))


def one(name):
    check, work = Check(), workloads.make(name)
    plain = work.run(capture_output=True)
    made = contents(work)
    recorded = work.run([BIN + "/ms-record", "-q", "-o", "run.trace"], capture_output=True)
    check.same("standard output", recorded.stdout, plain.stdout)
    check.same("standard error", recorded.stderr, plain.stderr)
    check.same("status", recorded.returncode, plain.returncode)
    check.same("status without the recorder", plain.returncode, 0)
    check.same("file made", contents(work), made)
    traces = ["run.trace"] + (["run.trace.d"] if os.path.isdir("run.trace.d") else [])
    snap = subprocess.run([BIN + "/ms-snap", "-o", "run.db"] + traces, capture_output=True)
    check.same("ms-snap", (snap.returncode, snap.stderr), (0, b""))
    db = sqlite3.connect("run.db")
    quality(check, db)
    roots(check, db)
    if shutil.which("dpkg") and subprocess.run(["dpkg", "-s", "libc6-dbg"], capture_output=True).returncode == 0:
        libc_lines(check, db)
    pipe(check, traces)
    programs = sorted(os.path.basename(r[0] or "") for r in db.execute("SELECT exe FROM process"))
    if name == "gcc" and "cc1" not in programs:
        check.wrong.append("no trace of cc1 among %r" % programs)
    count, depth = db.execute("SELECT (SELECT sum(allocations) FROM process), (SELECT max(depth) FROM stack)").fetchone()
    return check.wrong, "%d allocations by %s, deepest stack %d" % (count, " ".join(programs), depth)


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


if __name__ == "__main__":
    sys.exit(main())
