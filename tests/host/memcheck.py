#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Totals of real programs against Valgrind memcheck's "total heap usage": allocations, frees and bytes, equal.

Many programs copy their environment, and both tools add to it. So both runs get the same variables, with values of the same length: each the
other's, and an LD_PRELOAD that is filled up with colons, which mean nothing.
"""
import os
import re
import sqlite3
import subprocess
import sys

import workloads

BIN = os.environ["BIN"]
VALGRIND = ["valgrind.bin", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--trace-children=no", "--log-file=valgrind.log"]
OURS, THEIRS = {"MEMSCOPE_SOCKET"}, {"GLIBCPP_FORCE_NEW", "GLIBCXX_FORCE_NEW", "VALGRIND_LAUNCHER"}
KEEP = ("PATH", "HOME", "LC_ALL", "PYTHONMALLOC", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PERL_HASH_SEED",
        "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")


def environment_under(tool, environment):
    out = subprocess.run(tool + ["env"], env=environment, capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in out.splitlines())


def environments():
    """What to give each tool so that its program sees as much environment as the other's."""
    base = {k: v for k, v in os.environ.items() if k == "PATH"}
    base["LD_PRELOAD"] = ":"
    ours = environment_under([BIN + "/ms-record", "-q", "-o", "run.trace"], base)
    theirs = environment_under(VALGRIND, base)
    length = max(len(ours["LD_PRELOAD"]), len(theirs["LD_PRELOAD"])) + 1
    return ({"LD_PRELOAD": ":" * (length - len(ours["LD_PRELOAD"])), **{k: theirs[k] for k in THEIRS & set(theirs)}},
            {"LD_PRELOAD": ":" * (length - len(theirs["LD_PRELOAD"])), **{k: ours[k] for k in OURS}})


def with_environment(work, more):
    work.environment = {**{k: v for k, v in work.environment.items() if k in KEEP}, **more}
    return work


def memcheck(work):
    work.run(VALGRIND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open("valgrind.log") as f:
        m = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", f.read())
    return tuple(int(g.replace(",", "")) for g in m.groups())


def recorded(work):
    work.run([BIN + "/ms-record", "-q", "-o", "run.trace"], stdout=subprocess.DEVNULL, check=True)
    subprocess.run([BIN + "/ms-snap", "-o", "run.db", "run.trace"], check=True)
    db = sqlite3.connect("run.db")
    return db.execute("SELECT allocations, frees, allocated_bytes FROM process").fetchone()


def main():
    failures = 0
    for_ours, for_theirs = environments()
    for name in sys.argv[1:]:
        os.makedirs(name, exist_ok=True)
        os.chdir(name)
        theirs = memcheck(with_environment(workloads.make(name), for_theirs))
        ours = recorded(with_environment(workloads.make(name), for_ours))
        os.chdir("..")
        good = ours == theirs
        print("%s %s: recorded %r, memcheck %r, more %r" % ("ok    " if good else "FAILED", name, ours, theirs,
                                                             tuple(a - b for a, b in zip(ours, theirs))))
        failures += not good
    return failures != 0


sys.exit(main())
