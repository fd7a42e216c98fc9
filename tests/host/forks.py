#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the traces of `forks` with what each of its processes says of itself. Arguments: TRUTH DATABASE [ms-record's options]."""
import sqlite3
import sys

FIELDS = ("allocations", "allocated_bytes", "frees", "inherited_frees", "inherited_freed_bytes", "unfreed_blocks", "unfreed_bytes", "inherited_blocks")


def rows(path):
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    return [dict(r) for r in db.execute("SELECT *, (SELECT pid FROM process q WHERE q.id = p.parent) AS parent_pid FROM process p")]


def main():
    bad = 0

    def wrong(*what):
        nonlocal bad
        bad += 1
        print(*what)

    with open(sys.argv[1]) as f:
        truth = [line.split() for line in f]
    # Threads bring blocks of the C library's own, and the parent's threads of no account allocate as long as it takes.
    threaded = any(t[0] == "first" for t in truth) or any(t[0] == "thread" for t in truth)
    found = rows(sys.argv[2])
    seen = set()
    for name, pid, ppid, *numbers in truth:
        forked = None if name in ("main", "leaf") else 1
        mine = [r for r in found if r["pid"] == int(pid) and r["forked"] == forked]
        if len(mine) != 1:
            wrong(name, pid, "has", len(mine), "traces")
            continue
        r = mine[0]
        seen.add(r["id"])
        expected = dict(zip(FIELDS, map(int, numbers)))
        if not forked:
            expected.update(inherited_frees=None, inherited_freed_bytes=None, inherited_blocks=None)
        for unit in ("bytes", "blocks"):  # what it held when it became another program was gone then
            r["unfreed_" + unit] += r["exec_" + unit]
        got = {k: r[k] for k in FIELDS}
        if expected["inherited_blocks"] == -1:
            got["inherited_blocks"] = -1
        # What a handler interrupted is the parent's in part: a block that it made may be freed here, or one more made and freed.
        if name == "timer":
            made = got["allocations"] - expected["allocations"]
            freed = got["frees"] - expected["frees"]
            inherited = got["inherited_frees"] - expected["inherited_frees"]
            if made != freed or min(made, inherited, r["unknown_frees"]) < 0 or made + inherited + r["unknown_frees"] > 1:
                wrong(name, pid, made, freed, inherited, r["unknown_frees"])
            for field, n in (("allocations", made), ("allocated_bytes", 500 * made), ("frees", freed), ("inherited_frees", inherited), ("inherited_freed_bytes", 500 * inherited)):
                got[field] -= n
        elif name == "first" or (threaded and name == "main"):
            more = got["allocations"] - expected["allocations"]
            if more < 0 or (name == "first" and more > 8):
                wrong(name, pid, more, "allocations too many")
            for field in ("allocations", "allocated_bytes", "frees", "unfreed_blocks", "unfreed_bytes"):
                expected[field] = got[field]
        if name != "timer" and r["unknown_frees"]:
            wrong(name, pid, "unknown frees", r["unknown_frees"])
        for field in FIELDS:
            if got[field] != expected[field]:
                wrong(name, pid, field, got[field], "not", expected[field])
        if r["events_lost"] and name != "timer":
            wrong(name, pid, r["events_lost"], "events lost")
        if r["stacks_truncated"]:
            wrong(name, pid, r["stacks_truncated"], "stacks without a root")
        if not r["complete"] or r["state"] != "complete":
            wrong(name, pid, "is", r["state"])
        if forked and name != "daemon" and r["parent_pid"] != int(ppid) and name != "twice":
            wrong(name, pid, "has the parent", r["parent_pid"], "not", ppid)
    for r in found:
        if r["id"] not in seen:
            wrong("unexpected trace", r["trace"], r["pid"], r["allocations"])
    print(len(truth), "processes compared")
    return bad != 0


sys.exit(main())
