#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""node at work of several kinds: the same with the recorder, stacks that are whole and none that differs, and the functions of node.js in them as that
calls them."""
import os
import re
import sqlite3
import subprocess
import sys

import programs

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node.js")
# Functions that are called are calls then, and all have names.
FLAGS = ["--no-turbo-inlining", "--perf-basic-prof", "--interpreted-frames-native-stack"]
OF_BLOCKS = "SELECT stack, allocations FROM site WHERE allocated_bytes = allocations * 70001"


def number(text, what):
    found = re.search(r"([0-9,]+) " + what, text)
    return int(found.group(1).replace(",", "")) if found else 0


def functions(db, stack):
    """Those of node.js, innermost first."""
    names = []
    while stack:
        stack, name = db.execute("SELECT stack.parent, frame.function FROM stack JOIN frame ON frame.id = stack.frame WHERE stack.id = ?",
                                 (stack,)).fetchone()
        found = re.search(r"[:*~^+](\w+) .*node\.js", name or "")
        names += [found.group(1)] if found else []
    return names


def one(kind, flags):
    check, command = programs.Check(), ["node"] + flags + [SCRIPT, kind]
    plain = subprocess.run(["node", SCRIPT, kind], capture_output=True)
    recorder = [programs.BIN + "/ms-record", "--verify", "-o", "run.trace"] + ([] if flags else ["--no-symbols"])
    recorded = subprocess.run(recorder + command, capture_output=True, text=True)
    check.same("output and status", (recorded.stdout, recorded.returncode), (plain.stdout.decode(), 0))
    said = recorded.stderr
    compared, cut = number(said, "stacks compared"), number(said, "end before their root") + number(said, "not taken")
    if " stacks compared, 0 differ" not in said or compared < 1000 or cut * 100 > compared:
        check.wrong.append("%d of %d stacks are not whole: %s" % (cut, compared, said))
    if flags:
        subprocess.run([programs.BIN + "/ms-snap", "-o", "run.db", "run.trace"], check=True, capture_output=True)
        db = sqlite3.connect("run.db")
        seen = {}
        for stack, allocations in db.execute(OF_BLOCKS).fetchall():
            names = tuple(functions(db, stack)[:3])
            seen[names] = seen.get(names, 0) + allocations
        for (pid,) in db.execute("SELECT pid FROM process"):
            os.remove("/tmp/perf-%d.map" % pid)
        # The code of a thread that begins may not be known yet: then the stack is cut in front of it.
        nameless = seen.pop((), 0)
        check.same("functions", (sum(seen.values()) + nameless, list(seen)), (800 if kind == "workers" else 200, [("inner", "middle", "outer")]))
        if nameless > 40:
            check.wrong.append("%d blocks without functions" % nameless)
    return check.wrong, "%d of %d stacks not whole" % (cut, compared)


def main():
    failures = 0
    for kind, flags in (("json", FLAGS), ("sets", []), ("buffers", []), ("waits", []), ("workers", FLAGS), ("regexps", [])):
        wrong, summary = one(kind, flags)
        print("%s %s%s: %s" % ("FAILED" if wrong else "ok    ", kind, ", with names" if flags else "", summary))
        for line in wrong:
            print("        " + line)
        failures += bool(wrong)
    return failures != 0


sys.exit(main())
