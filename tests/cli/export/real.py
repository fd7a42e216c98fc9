# SPDX-License-Identifier: MIT
"""A recorded program in each format: its stacks, modules, threads and hostile names are there; and what cannot be had is refused."""
import json
import subprocess
import sys

import check
import formats
from check import expect, same

HOSTILE = "ho\\x0a\\x09le\\x1b<b>&|`,\""


def sqlite(sql):
    return subprocess.run(("sqlite3", "real.db", sql), capture_output=True, check=True, text=True).stdout.strip()


def ours(values):
    """Of the program itself: the C library has sites of its own."""
    return {k: v for k, v in values.items() if v}


def pprof():
    p = formats.Pprof("real.pb.gz")
    by_stack = {}
    for s in p.samples:
        stack = p.stack(s)
        at = by_stack.setdefault(stack[:stack.index("main") + 1] if "main" in stack else stack[:1], {})
        for c, v in zip(p.columns, s["values"]):
            at[c] = at.get(c, 0) + v
        if stack[0] == "work" and s["values"][0]:
            same("pprof: a size", s["labels"]["bytes"], 20000)
            expect("pprof: a thread", s["labels"]["tid"] > 0, s)
    recursion = ("inlined",) + 6 * ("recurse",) + ("main",)
    same("pprof: recursion", ours(by_stack[recursion]), {"alloc_objects/count": 10, "alloc_space/bytes": 10000, "inuse_objects/count": 10,
                                                         "inuse_space/bytes": 10000, "peak_objects/count": 10, "peak_space/bytes": 10000})
    same("pprof: temporary", ours(by_stack[("main",)]), {"alloc_objects/count": 1000, "alloc_space/bytes": 64000, "temp_objects/count": 1000})
    same("pprof: a hostile name", ours(by_stack[("inlined", HOSTILE, "main")])["inuse_space/bytes"], 12345)
    same("pprof: a thread", ours(by_stack[("work",)])["peak_space/bytes"], 100000)
    same("pprof: locations with two lines", sorted(len(x["many"]) for x in p.locations.values())[-1], 2)
    first = p.mappings[1]
    same("pprof: the program", p.strings[first[5]], sqlite("SELECT path FROM module WHERE path LIKE '%/program'"))
    same("pprof: its build-id", p.strings[first[6]], sqlite("SELECT build_id FROM module WHERE path LIKE '%/program'"))
    same("pprof: when", p.one[9], int(sqlite("SELECT started_ns + time_ns FROM process, snapshot WHERE label = 'end'")))
    same("pprof: not shown", p.strings[p.one[7]], "operator new.*")
    same("pprof: how long", p.one[10], int(sqlite("SELECT duration_ns FROM process")))
    for where in p.locations.values():
        if 2 in where:
            m = p.mappings[where[2]]
            expect("pprof: an address is in its module", m[2] <= where[3] < m[3], where)
    same("pprof: the command is a remark", p.comments[0].endswith("program an argument"), True)


def heaptrack():
    """With more moments the curve is the snapshot's."""
    with open("every.db", "wb") as f:
        f.write(subprocess.run(("ms-snap", "-q", "--at", "peak", "--at", "end", "--at", "mark:warm", "real.trace"), capture_output=True, check=True).stdout)
    truth = check.Truth("every.db")
    check.check_heaptrack("every.db", truth, ("every.db",))
    check.check_massif("every.db", truth, ("every.db",))
    _, snapshots = formats.massif("massif.out")
    same("massif: trees", sum(s["tree"] is not None for s in snapshots), 3)
    tree = max((s for s in snapshots if s["heap_tree"] == "peak"), key=lambda s: s["mem_heap_B"])["tree"]
    names = [c["text"].split(": ")[1] for c in tree["children"]]
    same("massif: the largest at the peak", names[0].startswith("work (program.c:"), True)


def callgrind():
    """Recursion counts once; lines are there."""
    c = formats.callgrind("real.callgrind")
    inclusive = {name: x for (_, _, name), x in c["inclusive"].items()}
    same("callgrind: recursion", inclusive["recurse"]["totB"], 10000)
    same("callgrind: main", inclusive["main"]["totB"], 64000 + 10000 + 12345 + (inclusive["main"]["totB"] - 86345))
    own = {name: x for (_, _, name), x in c["own"].items()}
    same("callgrind: inlined functions are functions", own["inlined"]["curB"], 22345)
    with open("real.callgrind", encoding="utf-8") as f:
        expect("callgrind: a hostile name", f") {HOSTILE}\n" in f.read())


def chrome():
    j = formats.chrome("real.trace.json")
    names = {e["args"]["name"] for e in j["traceEvents"] if e["ph"] == "M"}
    expect("chrome: names", "program" in names, names)
    expect("chrome: marks", {"warm", "peak"} <= {e["name"] for e in j["traceEvents"] if e["ph"] == "i"})


def compared():
    """--folded of a comparison: two figures a line, whose sums are those of the rows."""
    diff = json.loads(subprocess.run(("ms-report", "--json", "diff.db"), capture_output=True, check=True).stdout)["diff"]
    text = subprocess.run(("ms-report", "--folded", "--metric", "live", "diff.db"), capture_output=True, check=True, text=True).stdout
    lines = [line.rsplit(" ", 2) for line in text.splitlines()]
    for k, column in (("old", 1), ("new", 2)):
        same(f"folded, compared: {k}", sum(int(x[column]) for x in lines), sum(s[k + "_live_bytes"] for s in diff["sites"]))
    same("folded, compared: by what", text, subprocess.run(("ms-report", "--folded", "diff.db"), capture_output=True, check=True, text=True).stdout)
    gone = [x for x in lines if ";work" in x[0]]
    same("folded, compared: at the peak alone", [x[1:] for x in gone], [["100000", "0"]])


for one in (pprof, heaptrack, callgrind, chrome, compared):
    one()
check.check("real.db")
print("\n".join(check.failures[:40]))
print(f"{len(check.failures)} failures")
sys.exit(bool(check.failures))
