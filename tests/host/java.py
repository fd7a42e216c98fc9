#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Java: the same with the recorder; where the virtual machine keeps frame pointers stacks are whole, with the methods of Work.java as that calls them, and
the guilty one in the first row; where it does not, stacks are cut at Java's code; attached to as it runs."""
import os
import re
import sqlite3
import subprocess
import sys

import programs

SRC = os.path.dirname(os.path.abspath(__file__))
JAVA = ["java", "-XX:MaxDirectMemorySize=1g", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Work.*"]
FRAMES = ["-XX:+PreserveFramePointer"]
NAMES = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
FIRST = ["-Xcomp", "-XX:TieredStopAtLevel=1"]  # every method is compiled before it runs
CALLS = ("Work.inner", "Work.middle", "Work.outer", "Work.round", "Work.main")


def methods(db, stack):
    """Those of Work, innermost first; None for code without a name."""
    found = []
    while stack:
        stack, name, note, path = db.execute(
            "SELECT stack.parent, frame.function, frame.note, module.path FROM stack JOIN frame ON frame.id = stack.frame "
            "LEFT JOIN module ON module.id = frame.module WHERE stack.id = ?", (stack,)).fetchone()
        method = re.search(r"Work\.\w+", name or "")
        if method or (not name and not note and path == "[anonymous code]"):
            found.append(method and method.group())
    return tuple(found)


def stubs(trace):
    """What stands outside of stubs that keep no frame: nothing may."""
    subprocess.run([programs.BIN + "/ms-snap", "-o", "run.db", trace], check=True, capture_output=True)
    db = sqlite3.connect("run.db")
    rows = db.execute("SELECT inside.function, coalesce(outside.note, outside.function, 'nameless'), count(*) FROM stack JOIN frame AS inside "
                      "ON inside.id = stack.frame JOIN stack AS caller ON caller.id = stack.parent JOIN frame AS outside ON outside.id = caller.frame "
                      "WHERE inside.function IN ('UncommonTrapBlob', 'ExceptionBlob') GROUP BY 1, 2").fetchall()
    db.close()
    os.remove("run.db")
    return rows


def blocks(trace):
    """How many blocks of 70000 bytes came from which methods."""
    subprocess.run([programs.BIN + "/ms-snap", "-o", "run.db", trace], check=True, capture_output=True)
    db, seen = sqlite3.connect("run.db"), {}
    for stack, n in db.execute("SELECT stack, allocations FROM site WHERE allocated_bytes = allocations * 70000").fetchall():
        found = methods(db, stack)
        seen[found] = seen.get(found, 0) + n
    (pid,) = db.execute("SELECT pid FROM process").fetchone()
    if os.path.exists("/tmp/perf-%d.map" % pid):
        os.remove("/tmp/perf-%d.map" % pid)
    db.close()
    os.remove("run.db")
    return seen


def record(check, options):
    """Runs it without and with the recorder: stacks compared, and not whole."""
    command = JAVA + options + ["Work", "3000", "0"]
    plain = subprocess.run(command, capture_output=True, text=True)
    recorded = subprocess.run([programs.BIN + "/ms-record", "--verify", "-o", "run.trace"] + command, capture_output=True, text=True)
    check.same("output and status", (recorded.stdout, recorded.returncode), (plain.stdout, 0))
    said = recorded.stderr
    if " stacks compared, 0 differ" not in said:
        check.wrong.append(said)
    return programs.number(said, "stacks compared"), programs.number(said, "truncated") + programs.number(said, "not taken")


def whole(check):
    compared, cut = record(check, FRAMES + NAMES + FIRST)
    if cut * 50 > compared:
        check.wrong.append("%d of %d stacks are not whole" % (cut, compared))
    check.same("methods", blocks("run.trace"), {CALLS: 3000})
    report = subprocess.run([programs.BIN + "/ms-report", "--width", "120", "run.trace"], capture_output=True, text=True).stdout
    first = re.search(r"^LIVE AT THE END.*\n.*\n(.*)", report, re.M)
    if not first or not re.match(r" *\d+\.\d MiB +[0-9,]+ +1 +Work\.inner ", first.group(1)):
        check.wrong.append("the first row: %s" % report)
    return "%d of %d stacks not whole" % (cut, compared)


def as_it_runs(check):
    """Methods are interpreted, compiled, inlined and left again meanwhile."""
    for _ in range(5):  # on a busy machine there may be no allocation below a stub in one run
        compared, cut = record(check, FRAMES + NAMES)
        if cut * 20 > compared:
            check.wrong.append("%d of %d stacks are not whole" % (cut, compared))
        outside = stubs("run.trace")
        if outside:
            break
    if not outside or [row for row in outside if row[1] != "truncated"]:
        check.wrong.append("outside of stubs: %r" % outside)
    for found in blocks("run.trace"):
        rest = iter(CALLS)
        if not all(name is None or name in rest for name in found):
            check.wrong.append("%r is not how they are called" % (found,))
    return "%d of %d stacks not whole" % (cut, compared)


def without(check):
    compared, cut = record(check, FIRST)
    if cut * 2 < compared:
        check.wrong.append("only %d of %d stacks are cut" % (cut, compared))
    return "%d of %d stacks not whole" % (cut, compared)


def attached(check):
    command = JAVA + FRAMES + NAMES + FIRST + ["Work", "400", "10"]
    plain = subprocess.run(command, capture_output=True, text=True)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begins = running.stdout.readline()
    recorded = subprocess.run([programs.BIN + "/ms-record", "-p", str(running.pid), "-d", "1s", "-o", "run.trace", "--no-symbols"],
                              capture_output=True, text=True)
    output = begins + running.communicate()[0]
    check.same("output and status", (output, running.returncode, recorded.returncode), (plain.stdout, 0, 0))
    seen = blocks("run.trace")
    cut = seen.pop((), 0)  # at the beginning, until it is known where Java's code lies
    if set(seen) != {CALLS} or not 20 < seen[CALLS] < 200 or cut > 9:
        check.wrong.append("methods: %r, %d cut" % (seen, cut))
    return "%d blocks" % sum(seen.values())


def main():
    failures = 0
    subprocess.run(["javac", "-d", ".", SRC + "/Work.java"], check=True)
    for run in (whole, as_it_runs, without, attached):
        check = programs.Check()
        summary = run(check)
        print("%s %s: %s" % ("FAILED" if check.wrong else "ok    ", run.__name__, summary))
        for line in check.wrong:
            print("        " + line)
        failures += bool(check.wrong)
    return failures != 0


sys.exit(main())
