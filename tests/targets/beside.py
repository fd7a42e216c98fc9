#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares what is recorded beside the heap (--mmap, --usable-size, --free-stacks) with the programs' own counting, byte for byte.

Arguments: targets, each NAME:SEED[:THREADS[:BLOCKS]], with :BLOCKS those whose traces have checkpoints. Works in the current folder, with BIN and TB from tests/run.
"""
import json
import os
import sqlite3
import subprocess
import sys

BIN = os.environ["BIN"]
TARGETS = os.path.join(os.environ["TB"], "targets")
OPTIONS = ["--mmap", "--usable-size", "--free-stacks"]
POINTS = ["peak", "mark:middle", "end"]
wrong = []


def same(what, got, expected):
    if got != expected:
        wrong.append("%s: %r, expected %r" % (what, got, expected))


def record(name, arguments, options):
    command = [os.path.join(TARGETS, name)] + arguments
    plain = subprocess.run(command, capture_output=True)
    environment = dict(os.environ, BESIDE_FILE="truth")
    run = subprocess.run([BIN + "/ms-record", "-q", "-o", "run.trace"] + options + command, env=environment, capture_output=True)
    for key in ("stdout", "stderr", "returncode"):
        same(key, getattr(run, key), getattr(plain, key))
    if os.path.exists("run.db"):
        os.unlink("run.db")
    snap = [BIN + "/ms-snap", "-o", "run.db", "run.trace"]
    if name == "mapfork":
        snap += ["run.trace.d"]
    for p in POINTS if name != "mapfork" else []:
        snap += ["--at", p]
    same("ms-snap", subprocess.run(snap, capture_output=True).returncode, 0)
    db = sqlite3.connect("run.db")
    db.row_factory = sqlite3.Row
    process = db.execute("SELECT * FROM process").fetchone()
    same("quality", [process[k] for k in ("complete", "events_lost", "inferred_frees", "unknown_frees")], [1, 0, 0, 0])
    if name == "mapfork":
        return db, process, None
    with open("truth") as f:
        return db, process, json.load(f)


def innermost(db):
    """The function that called, by site and by stack row."""
    function = {}
    for stack, name in db.execute("SELECT s.id, f.function FROM stack s JOIN frame f ON f.id = s.frame"):
        function[stack] = name
    sites = {r["id"]: function.get(r["stack"]) for r in db.execute("SELECT id, stack FROM site")}
    return sites, function


def sums(db, sites, column, label):
    out = {}
    for site, value in db.execute("SELECT c.site, c.%s FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE t.label = ?" % column, (label,)):
        out[sites[site]] = out.get(sites[site], 0) + value
    return out


def mapped(db, process, truth):
    sites, _ = innermost(db)
    for key in ("maps", "unmaps", "mapped_bytes", "mapped_peak_bytes", "mapped_end_bytes"):
        same(key, process[key], truth[key])
    now = {r["label"]: r["mapped_bytes"] for r in db.execute("SELECT * FROM snapshot")}
    same("at the mark", now["mark:middle"], truth["mark_bytes"])
    same("at the end", now["end"], truth["mapped_end_bytes"])
    last = db.execute("SELECT mapped_last FROM timeline ORDER BY time_ns DESC LIMIT 1").fetchone()[0]
    same("at the end of the timeline", last, truth["mapped_end_bytes"])
    got = {}
    for r in db.execute("SELECT * FROM site WHERE maps > 0"):
        a = got.setdefault(sites[r["id"]], [0, 0])
        a[0] += r["maps"]
        a[1] += r["mapped_bytes"]
    same("functions", {k: v for k, v in got.items()}, {k: v[:2] for k, v in truth["functions"].items() if v[0]})
    for label, column in (("end", 2), ("mark:middle", 3)):
        by = {k: v for k, v in sums(db, sites, "mapped_bytes", label).items() if v}
        same("functions at " + label, by, {k: v[column] for k, v in truth["functions"].items() if v[column]})
    for label, total in now.items():
        same("sites add up at " + label, sum(sums(db, sites, "mapped_bytes", label).values()), total)


def usable(db, process, truth):
    sites, stacks = innermost(db)
    # What the C library allocates for itself has the same columns and is set apart by its function.
    own = set(truth["functions"])
    for label in POINTS:
        for column, at in (("live_bytes", 0), ("usable_bytes", 1)):
            by = {k: v for k, v in sums(db, sites, column, label).items() if k in own and v}
            same("%s at %s" % (column, label), by, {k: v[label][at] for k, v in truth["functions"].items() if v[label][at]})
    # Nothing but what pthread_create and stdio made lives beside: the whole adds up.
    for r in db.execute("SELECT * FROM snapshot"):
        same("sites add up at " + r["label"], sum(sums(db, sites, "usable_bytes", r["label"]).values()), r["usable_bytes"])
    now = {r["label"]: r["usable_bytes"] for r in db.execute("SELECT * FROM snapshot")}
    same("process row", (process["peak_usable_bytes"], process["unfreed_usable_bytes"]), (now["peak"], now["end"]))
    freed = {}
    for r in db.execute("SELECT * FROM free_site"):
        if sites[r["site"]] in own:
            a = freed.setdefault((sites[r["site"]], stacks.get(r["stack"])), [0, 0])
            a[0] += r["frees"]
            a[1] += r["freed_bytes"]
    expected = {}
    for name, v in truth["functions"].items():
        for who in ("free_one", "free_other", "by_realloc"):
            if v[who][0]:
                expected[name, who] = v[who]
    same("freed by", freed, expected)
    got = db.execute("SELECT sum(frees) FROM free_site").fetchone()[0]
    same("all frees have a stack's row", got, process["frees"])


def moment(point, read):
    """What was live, usable and mapped at a point, by function."""
    if os.path.exists("at.db"):
        os.unlink("at.db")
    r = subprocess.run([BIN + "/ms-snap", "-q", "--read=" + read, "--at", point, "-o", "at.db", "run.trace"], capture_output=True)
    if r.returncode:
        wrong.append("ms-snap --read=%s --at %s: %s" % (read, point, r.stderr))
        return None
    db = sqlite3.connect("at.db")
    db.row_factory = sqlite3.Row
    sites, _ = innermost(db)
    total = db.execute("SELECT live_bytes, usable_bytes, mapped_bytes FROM snapshot").fetchone()
    by = {c: {k: v for k, v in sums(db, sites, c, point).items() if v} for c in ("live_bytes", "usable_bytes", "mapped_bytes")}
    return tuple(total), by, db.execute("SELECT whole FROM process").fetchone()[0]


def checkpoints(process):
    """A reader that begins at a checkpoint finds what one that read everything does."""
    skipped = 0
    for i in range(1, 8):
        point = "%.4fs" % (process["duration_ns"] / 1e9 * i / 8)
        whole, part = moment(point, "all"), moment(point, "part")
        if whole and part:
            same("the state at " + point, part[:2], whole[:2])
            skipped += part[2] == 0
    if skipped < 3:
        wrong.append("only %d of 7 moments were read from a checkpoint" % skipped)


def mapfork(process, rows):
    """What a forked child maps is its own; what it inherited is not known there."""
    same("parent", [process[k] for k in ("maps", "unmaps", "mapped_bytes", "mapped_end_bytes")], [2, 0, 1056768, 1056768])
    same("child", [tuple(r) for r in rows], [(1, 1, 3145728, 3145728, 2097152)])


def without(name, arguments):
    """Without the options nothing of it is there, and nothing is counted as heap."""
    db, process, _ = record(name, arguments, [])
    same("options", process["options"], None)
    for table in ("process", "snapshot", "site", "site_stat"):
        for r in db.execute("SELECT * FROM %s" % table):
            for k in r.keys():
                if "mapped" in k or "usable" in k or k in ("maps", "unmaps"):
                    same("%s.%s" % (table, k), r[k], None)
    same("free_site", db.execute("SELECT count(*) FROM free_site").fetchone()[0], 0)
    return [process[k] for k in ("allocations", "allocated_bytes", "peak_bytes", "unfreed_bytes")]


def main():
    failures = 0
    for argument in sys.argv[1:]:
        name, *arguments = argument.split(":")
        del wrong[:]
        db, process, truth = record(name, arguments, OPTIONS + (["--follow=all"] if name == "mapfork" else []))
        same("options", process["options"], "mmap,usable-size,free-stacks")
        if name == "mapfork":
            mapfork(process, db.execute("SELECT maps, unmaps, mapped_bytes, mapped_peak_bytes, mapped_end_bytes FROM process WHERE id > 1").fetchall())
        else:
            (mapped if name == "mapped" else usable)(db, process, truth)
        if len(arguments) == 3:
            checkpoints(process)
        if len(arguments) == 1:
            heap = [process[k] for k in ("allocations", "allocated_bytes", "peak_bytes", "unfreed_bytes")]
            same("figures of the heap without the options", without(name, arguments), heap)
        print("%s %s" % ("FAILED" if wrong else "ok    ", argument))
        for line in wrong[:20]:
            print("        " + line)
        failures += bool(wrong)
    return failures != 0


sys.exit(main())
