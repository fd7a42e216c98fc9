#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tracemalloc and the trace of one and the same run: bytes and blocks at a moment, by whole stack of Python frames, are equal.

What tracemalloc counts is told from its own memory, and from blocks that never went through Python's allocators, by where malloc was
called: the driver takes one block by each of Python's allocators, and what was taken from the same places counts. Objects from free lists
tracemalloc moves to the line that has them now, without a malloc; `tracing` in its configuration is 0 meanwhile, which switches off
that and nothing else."""
import json
import os
import sqlite3
import subprocess
import sys

PYTHON = "/usr/bin/python3"
BIN = os.environ["BIN"]
PROGRAMS = os.path.join(os.environ["SRC"], "tests/long/traced")
DEPTH = 25
DRIVER = """\
import ctypes, gc, json, os, sys, _tracemalloc, tracemalloc
api = ctypes.pythonapi
tracing = ctypes.c_int.from_address(ctypes.addressof(ctypes.c_int.in_dll(api, "_Py_tracemalloc_config")) + 4)
mark = ctypes.CDLL(None).memscope_v1_mark
mark.restype, mark.argtypes = None, [ctypes.c_char_p]
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
space = {"__name__": "__main__"}
def places():
    size = 700001
    for domain in ("Raw", "Mem", "Object"):
        name = "PyObject_" if domain == "Object" else "PyMem_Raw" if domain == "Raw" else "PyMem_"
        f = {k: getattr(api, name + k) for k in ("Malloc", "Calloc", "Realloc")}
        for x in f.values():
            x.restype = ctypes.c_void_p
            x.argtypes = [ctypes.c_size_t]
        f["Calloc"].argtypes = [ctypes.c_size_t] * 2
        f["Realloc"].argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        f["Malloc"](size)
        f["Calloc"](1, size + 1)
        f["Realloc"](None, size + 2)
        f["Realloc"](f["Malloc"](9), size + 3)
        size += 4
gc.collect()
mark(b"begin")
tracemalloc.start(25)
tracing.value = 0
places()
exec(code, space)
gc.collect()
gc.disable()
tracing.value = 1
mark(b"moment")
traces = _tracemalloc._get_traces()
open(sys.argv[2], "w").write(json.dumps(traces))
os._exit(0)
"""


def told(path):
    stacks = {}
    with open(path, encoding="utf-8") as f:
        for _, size, frames, _ in json.load(f):
            key = tuple((file, line) for file, line in frames)
            size = size or 1  # of nothing CPython asks malloc for one byte
            s = stacks.setdefault(key, [0, 0])
            s[0] += size
            s[1] += 1
    return stacks


def recorded(trace):
    """By stack what tracemalloc should have, and how many places of its allocators there are."""
    if os.path.exists("t.db"):
        os.remove("t.db")
    subprocess.run([BIN + "/ms-snap", "-q", "-o", "t.db", "--to", "mark:moment", "--at", "mark:moment", trace], check=True)
    db = sqlite3.connect("t.db")
    frames = {i: tuple(r) for i, *r in db.execute("SELECT f.id, f.module, f.address, f.file, f.line, m.kind FROM frame f LEFT JOIN module m ON m.id = f.module")}
    rows = {i: (p, f) for i, p, f in db.execute("SELECT id, parent, frame FROM stack")}

    def walk(row):
        c, python = None, []
        while row:
            row, f = rows[row]
            f = frames[f]
            if f[4] == "source":
                python.append((f[2], f[3]))
            elif not c:
                c = f[:2]
        return c, tuple(python[:DEPTH])
    places, sites = set(), []
    for stack, low, high, size, n in db.execute("""SELECT s.stack, s.min_size, s.max_size, t.live_bytes, t.live_blocks FROM site s JOIN site_stat t
            ON t.site = s.id JOIN snapshot p ON p.id = t.snapshot WHERE p.label = 'mark:moment' AND t.live_blocks > 0"""):
        c, python = walk(stack)
        if low and 700001 <= low <= high < 700020:
            places.add(c)
        sites.append((c, python, size, n))
    seen = {}
    for c, python, size, n in sites:
        if c in places:
            s = seen.setdefault(python, [0, 0])
            s[0] += size
            s[1] += n
    return seen, len(places)


def clean(stacks):
    """Without what the driver itself has at the moment; no frames are 'none' in both."""
    out = {}
    for k, v in stacks.items():
        k = () if k == (("<unknown>", 0),) else k
        if k and os.path.basename(k[0][0]) in ("driver.py",):
            continue
        x = out.setdefault(k, [0, 0])
        x[0] += v[0]
        x[1] += v[1]
    return out


def one(name):
    """False: not equal. Counts bytes and blocks."""
    for f, t in (("driver.py", DRIVER), ("program.py", open(os.path.join(PROGRAMS, name + ".py"), encoding="utf-8").read())):
        with open(f, "w", encoding="utf-8") as o:
            o.write(t)
    r = subprocess.run([BIN + "/ms-record", "-q", "--no-symbols", "--leak-check=no", "--follow=none", "--depth", "2000", "-o", "t.trace", "--start-after", "mark:begin",
                        PYTHON, "driver.py", "program.py", "told.json"], env=dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0"),
                       stdout=subprocess.DEVNULL, check=False)
    if r.returncode:
        print(f"{name}: status {r.returncode}", file=sys.stderr)
        return False
    a = clean(told("told.json"))
    seen, places = recorded("t.trace")
    b = clean(seen)
    differ = [k for k in a.keys() | b.keys() if a.get(k) != b.get(k)]
    for k in differ[:4]:
        print(f"{name}: {a.get(k)} by tracemalloc, {b.get(k)} recorded: {[(os.path.basename(f), n) for f, n in k][:6]}", file=sys.stderr)
    if len(a) < 3 or places < 3:
        print(f"{name}: {len(a)} stacks by tracemalloc, {places} places of its allocators", file=sys.stderr)
        return False
    return not differ


names = sys.argv[1:] or sorted(f[:-3] for f in os.listdir(PROGRAMS))
bad = sum(not one(name) for name in names)
print(f"tracemalloc: runs {len(names)}, found {bad}, left {bad}")
sys.exit(bool(bad))
