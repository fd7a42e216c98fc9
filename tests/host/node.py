#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""node at work of several kinds: the same with the recorder, stacks that are whole and none that differs, and the functions of node.js in them as that
calls them, with their lines; attached to as it runs."""
import os
import re
import sqlite3
import subprocess
import sys

import programs

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node.js")
CALLS = (("inner", 7), ("middle", 8), ("outer", 9))
# Functions that are called are calls then, and all have names.
FLAGS = ["--no-turbo-inlining", "--perf-basic-prof", "--interpreted-frames-native-stack"]
DUMP = [flag.replace("basic-", "") for flag in FLAGS]  # a jitdump in the working folder instead
OF_BLOCKS = "SELECT stack, allocations FROM site WHERE allocated_bytes = allocations * 70001"


def functions(db, stack):
    """Those of node.js with the lines where they begin, innermost first."""
    names = []
    while stack:
        stack, name, file, line = db.execute("SELECT stack.parent, frame.function, frame.file, frame.line FROM stack "
                                             "JOIN frame ON frame.id = stack.frame WHERE stack.id = ?", (stack,)).fetchone()
        names += [(name, line)] if file == SCRIPT else []
    return names


def blocks():
    """How many blocks of 70001 bytes in run.trace came from which functions."""
    subprocess.run([programs.BIN + "/ms-snap", "-o", "run.db", "run.trace"], check=True, capture_output=True)
    db, seen = sqlite3.connect("run.db"), {}
    for stack, allocations in db.execute(OF_BLOCKS).fetchall():
        names = tuple(functions(db, stack)[:3])
        seen[names] = seen.get(names, 0) + allocations
    for (pid,) in db.execute("SELECT pid FROM process"):
        for left in ("/tmp/perf-%d.map" % pid, "jit-%d.dump" % pid):
            if os.path.exists(left):
                os.remove(left)
    db.close()
    os.remove("run.db")
    return seen


def one(kind, flags):
    check, command = programs.Check(), ["node"] + flags + [SCRIPT, kind]
    plain = subprocess.run(["node", SCRIPT, kind], capture_output=True)
    recorder = [programs.BIN + "/ms-record", "--verify", "-o", "run.trace"] + ([] if flags else ["--no-symbols"])
    recorded = subprocess.run(recorder + command, capture_output=True, text=True)
    check.same("output and status", (recorded.stdout, recorded.returncode), (plain.stdout.decode(), 0))
    said = recorded.stderr
    compared, cut = programs.number(said, "stacks compared"), programs.number(said, "truncated") + programs.number(said, "not taken")
    if " stacks compared, 0 differ" not in said or compared < 1000 or cut * 100 > compared:
        check.wrong.append("%d of %d stacks are not whole: %s" % (cut, compared, said))
    if flags:
        seen = blocks()
        # The code of a thread that begins may not be known yet: then the stack is cut in front of it.
        nameless = seen.pop((), 0)
        check.same("functions", (sum(seen.values()) + nameless, list(seen)), (800 if kind == "workers" else 200, [CALLS]))
        if nameless > 40:
            check.wrong.append("%d blocks without functions" % nameless)
    return check.wrong, "%d of %d stacks not whole" % (cut, compared)


def first_row():
    """What is kept until the end is in the first row, by the line that took it."""
    check, command = programs.Check(), ["node"] + FLAGS + [SCRIPT, "keeps"]
    subprocess.run([programs.BIN + "/ms-record", "-q", "-o", "run.trace"] + command, check=True, capture_output=True)
    report = subprocess.run([programs.BIN + "/ms-report", "--width", "120", "run.trace"], capture_output=True, text=True).stdout
    first = re.search(r"^LIVE AT THE END.*\n.*\n(.*)", report, re.M)
    if not first or not re.match(r" *13\.4 MiB +200 +1 +inner +node\.js:7 ", first.group(1)):
        check.wrong.append("the first row: %s" % report)
    blocks()
    return check.wrong, first and first.group(1).strip()


def attached():
    """Code that was made before is named, too, and the program does not notice."""
    check, command = programs.Check(), ["node"] + FLAGS + [SCRIPT, "serves"]
    plain = subprocess.run(command, capture_output=True, text=True)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begins = running.stdout.readline()
    recorded = subprocess.run([programs.BIN + "/ms-record", "--verify", "-p", str(running.pid), "-d", "1s", "-o", "run.trace"],
                              capture_output=True, text=True)
    output = begins + running.communicate()[0]
    check.same("output and status", (output, running.returncode, recorded.returncode), (plain.stdout, 0, 0))
    if " stacks compared, 0 differ" not in recorded.stderr:
        check.wrong.append(recorded.stderr)
    seen = blocks()
    cut = seen.pop((), 0)  # at the beginning, until it is known what is code
    if set(seen) != {CALLS} or not 10 < seen[CALLS] < 200 or cut > 9:
        check.wrong.append("functions: %r, %d cut" % (seen, cut))
    return check.wrong, "%d blocks" % sum(seen.values())


def say(what, wrong, summary):
    print("%s %s: %s" % ("FAILED" if wrong else "ok    ", what, summary))
    for line in wrong:
        print("        " + line)
    return bool(wrong)


def main():
    failures = say("first row", *first_row()) + say("attached", *attached())
    for kind, flags in (("json", FLAGS), ("sets", DUMP), ("sets", []), ("buffers", []), ("waits", []), ("workers", FLAGS), ("regexps", [])):
        wrong, summary = one(kind, flags)
        failures += say(kind + (", with names" if flags else ""), wrong, summary)
    return failures != 0


sys.exit(main())
