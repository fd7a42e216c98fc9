#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Totals of real programs against Valgrind memcheck's "total heap usage": allocations, frees and bytes, equal.

apart NAME...: two runs, one under each. Many programs copy their environment, and both tools add to it. So both runs get the same variables, with
values of the same length: each the other's, and an LD_PRELOAD that is filled up with colons, which mean nothing. python3 does three things more that
differ otherwise. It lists the folder in which it runs: the tools write elsewhere. It asks where in its standard files it stands: both runs have the
same. And its integers are 4 bytes longer from 2**30 on, and some are addresses, those of its objects and of its thread's descriptor, which it asks for at
each lock of an import. Valgrind gives addresses below, Linux a heap below and all else above: both are made to give only higher ones.

together NAME...: one run under both, for what no two runs have in common: cc1, whose tables grow by the hashes of addresses, and threads, whose
containers grow as they happen to meet. Memcheck replaces the C library's functions and leaves the guest's alone, which call them. It replaces operator
new of a shared libstdc++ too, which then calls no malloc that could be recorded: cxx_static brings its own.
"""
import glob
import os
import re
import sqlite3
import subprocess
import sys

import workloads

BIN = os.environ["BIN"]
VALGRIND = ["valgrind.bin", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--undef-value-errors=no",
            "--trace-children=no", "--log-file=../valgrind.log"]
NO_OUTPUT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# Started by the loader, a program that is not position independent has its heap behind the loader, and not behind its own data.
HIGH = {"python3": (["/lib64/ld-linux-x86-64.so.2"], ["--aspace-minaddr=0x100000000"])}
OURS, THEIRS = {"MEMSCOPE_SOCKET", "ASAN_OPTIONS"}, {"GLIBCPP_FORCE_NEW", "GLIBCXX_FORCE_NEW", "VALGRIND_LAUNCHER"}
KEEP = ("PATH", "HOME", "LC_ALL", "PYTHONMALLOC", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PERL_HASH_SEED",
        "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")


def environment_under(tool, environment):
    out = subprocess.run(tool + ["env"], env=environment, capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in out.splitlines())


def environments():
    """What to give each tool so that its program sees as much environment as the other's."""
    base = {k: v for k, v in os.environ.items() if k == "PATH"}
    base["LD_PRELOAD"] = ":"
    ours = environment_under([BIN + "/ms-record", "-q", "-o", "../run.trace"], base)
    theirs = environment_under(VALGRIND, base)
    length = max(len(ours["LD_PRELOAD"]), len(theirs["LD_PRELOAD"])) + 1
    return ({"LD_PRELOAD": ":" * (length - len(ours["LD_PRELOAD"])), **{k: theirs[k] for k in THEIRS & set(theirs)}},
            {"LD_PRELOAD": ":" * (length - len(theirs["LD_PRELOAD"])), **{k: ours[k] for k in OURS}})


def with_environment(work, more):
    work.environment = {**{k: v for k, v in work.environment.items() if k in KEEP}, **more}
    return work


def counted():
    with open("../valgrind.log") as f:
        m = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", f.read())
    return tuple(int(g.replace(",", "")) for g in m.groups())


def record(work, options=("-q",), stderr=subprocess.DEVNULL):
    work.run([BIN + "/ms-record", "-o", "../run.trace", *options], stdout=subprocess.DEVNULL, stderr=stderr, check=True)


def recorded(trace):
    subprocess.run([BIN + "/ms-snap", "-o", "../run.db", trace], check=True)
    return sqlite3.connect("../run.db").execute("SELECT allocations, frees, allocated_bytes FROM process").fetchall()[0]


def apart(name):
    for_ours, for_theirs = environments()
    loader, options = HIGH.get(name, ([], []))
    work = workloads.make(name)
    work.command = loader + work.command
    with_environment(work, for_theirs).run(VALGRIND + options, **NO_OUTPUT)
    record(with_environment(work, for_ours))
    return recorded("../run.trace"), counted()


def together(name):
    with open("../summary", "w") as summary:
        record(workloads.make(name), VALGRIND + ["--soname-synonyms=somalloc=nouserintercepts"], summary)
    # The first program is Valgrind's launcher. The second is linked statically, and loads ours and the guest itself, perhaps late.
    return recorded(*glob.glob("../run.trace.d/memcheck-*.trace")), counted()


def main():
    failures = 0
    how = {"apart": apart, "together": together}[sys.argv[1]]
    for name in sys.argv[2:]:
        os.makedirs(name + "/work")
        os.chdir(name + "/work")
        ours, theirs = how(name)
        os.chdir("../..")
        good = ours == theirs
        if not good and sys.argv[1] == "together":
            subprocess.run(["cat", name + "/summary", name + "/run.trace.d/index"])
        print("%s %s: recorded %r, memcheck %r, more %r" % ("ok    " if good else "FAILED", name, ours, theirs,
                                                             tuple(a - b for a, b in zip(ours, theirs))))
        failures += not good
    return failures != 0


sys.exit(main())
