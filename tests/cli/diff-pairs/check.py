# SPDX-License-Identifier: MIT
"""Compares two builds of each program of the corpus: what ms-diff takes for the same site must be what the program's head says.

A head has a sentence that says what changed, `old:` and `new:` with options of the compiler (default: -O1, and -O1 -DNEW; "library": the part
under PART is a library of its own), and `sites:` with a pair for each site: how often it allocates in the old and in the new build ("-" =
not there) and, where only one way to match is right, its name in column `matched`.
"""
import glob
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["BIN"]
ENV = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))


def run(*words, env=None):
    r = subprocess.run(words, capture_output=True, text=True, check=False, env=env or ENV)
    if r.returncode:
        raise RuntimeError("%s: status %d: %s" % (" ".join(words), r.returncode, r.stderr))


def build(path, side, options):
    """Returns the trace of a program that is built with these options."""
    name = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.join(name, side)
    os.makedirs(folder)
    compiler = ["g++" if path.endswith(".cc") else "gcc", "-g", *[o for o in options if o != "library"]]
    program, libraries = os.path.join(folder, name), []
    if "library" in options:
        libraries = [os.path.join(folder, "libpart.so")]
        run(*compiler, "-DPART", "-shared", "-fPIC", "-o", libraries[0], path)
    run("gcc", "-c", "-O1", "-fPIC", "-o", program + ".o", os.path.join(HERE, "kept.c"))
    run(*compiler, "-rdynamic", "-o", program, path, program + ".o", *libraries, "-Wl,-rpath,$ORIGIN")
    run(os.path.join(BIN, "ms-record"), "-q", "-o", program + ".trace", program)
    return program + ".trace"


def matches(old, new):
    """Returns what was matched, as the heads have it: ("3=5", "lines") each."""
    db = os.path.join(os.path.dirname(old), "diff.db")
    run(os.path.join(BIN, "ms-diff"), "-o", db, old, new)
    rows = sqlite3.connect(db).execute("SELECT old_allocations, new_allocations, matched FROM site_diff").fetchall()
    return sorted(("%s=%s" % (a or "-", b or "-"), how) for a, b, how in rows)


def check(path):
    head = dict(re.findall(r"^// (old|new|sites): (.*)", open(path, encoding="utf-8").read(), re.M))
    wanted = sorted((p.split() + [None])[:2] for p in head["sites"].split(", "))
    try:
        got = matches(build(path, "old", head.get("old", "-O1").split()), build(path, "new", head.get("new", "-O1 -DNEW").split()))
    except RuntimeError as e:
        return "%s: %s" % (os.path.basename(path), e)
    if [p for p, _ in got] == [p for p, _ in wanted] and all(how in (None, got[i][1]) for i, (_, how) in enumerate(wanted)):
        return None
    return "%s: %s" % (os.path.basename(path), ", ".join("%s %s" % g for g in got))


paths = sorted(glob.glob(os.path.join(HERE, "*.c")) + glob.glob(os.path.join(HERE, "*.cc")))
paths = [p for p in paths if not p.endswith("/kept.c")]
with ThreadPoolExecutor(2) as pool:
    failures = [f for f in pool.map(check, paths) if f]
print("%d pairs" % len(paths))
for f in failures:
    print("FAILED: " + f)
sys.exit(bool(failures))
