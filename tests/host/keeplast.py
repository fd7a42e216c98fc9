#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what ms-record --keep=last leaves of tests/host/keeplast.c with the whole trace of it: event by event, by site, in sum."""
import json
import os
import re
import sqlite3
import subprocess
import sys

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
BATCHES, SPAN = 800, 0.15  # seconds


def run(*command, status=0):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    check(r.returncode == status, f"{command}: {r.returncode} {r.stderr}")
    return r.stdout + r.stderr


def record(name, *options):
    """What was said, and the program's own output, which is the same as without."""
    # at the same addresses each time
    command = ["setarch", "-R", f"{BIN}/ms-record", "-o", name, *options, f"{TB}/host/keeplast", str(BATCHES)]
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    check(r.returncode == 0, f"{options}: {r}")
    return r.stderr, r.stdout


def events(name):
    """Without their times: the last field of a mark and of an event is what it is about."""
    dump = run(f"{TB}/trace-dump", name)
    return [line.split(None, 1)[1] for line in dump.splitlines() if re.match(r" +\d+ thread \d+ (alloc|free|realloc)", line)]


def figures(db):
    """Every figure of the process and by site: (function, ...)."""
    c = sqlite3.connect(db)
    process = c.execute("""SELECT allocations, frees, reallocations, allocated_bytes, peak_bytes, peak_blocks, unfreed_bytes, unfreed_blocks,
        temporary_allocations FROM process""").fetchall()
    sites = c.execute("""SELECT p.function, s.allocations, s.frees, s.allocated_bytes, s.min_size, s.max_size, s.max_live_bytes, s.max_live_blocks,
        (SELECT group_concat(t.label || c.live_bytes || '/' || c.live_blocks) FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE c.site = s.id)
        FROM site s JOIN place p ON p.site = s.id WHERE p.function IN ('early', 'always') ORDER BY 1""").fetchall()
    c.close()
    return process, sites


def main():
    alone = run(f"{TB}/host/keeplast", str(BATCHES))
    _, out = record("full.trace")
    check(out == alone, f"output {out} is not {alone}")
    whole = json.loads(run(f"{BIN}/ms-report", "--json", "full.trace"))["totals"]
    every = events("full.trace")
    for options in ((), ("--no-addresses",)):
        said, out = record("last.trace", f"--keep=last:{int(SPAN * 1000)}ms", *options)
        check(out == alone, f"output {out} is not {alone}")
        check("(--keep=last)" in said, f"said at the end: {said}")
        report = json.loads(run(f"{BIN}/ms-report", "--json", "last.trace"))
        dropped, until = (report["quality"][k] for k in ("dropped_events", "dropped_until_ns"))
        kept = report["process"]["duration_ns"] - until
        check(dropped and dropped < len(every) and kept >= SPAN * 1e9, f"dropped {dropped} events, kept {kept} ns")
        check(report["quality"]["complete"] and report["quality"]["unknown_frees"] == 0, f"{report['quality']}")
        check("dropped (--keep=last), but not the blocks live at that time" in re.sub(r"\s+", " ", run(f"{BIN}/ms-report", "last.trace")), "the report does not speak of it")
        # Counters of the whole run stay true.
        for key in ("allocations", "frees", "reallocations", "allocated_bytes", "temporary_allocations", "peak_bytes", "peak_blocks", "unfreed_bytes",
                    "unfreed_blocks", "unreachable_blocks"):
            check(report["totals"][key] == whole[key], f"{key}: {report['totals'][key]}, not {whole[key]}")
        # What is there is event for event what the whole trace has, addresses too, after as many as were dropped.
        there = events("last.trace")
        if options:
            check(len(there) == len(every) - dropped, f"{len(there)} events of {len(every)}, {dropped} dropped")
        else:
            check(there == every[dropped:], f"{len(there)} events of {len(every)}, {dropped} dropped: {there[:2]}, not {every[dropped:dropped + 2]}")
        # Live at the end, by site, and from a moment of the kept span on every figure.
        run(f"{BIN}/ms-snap", "-q", "-o", "last.db", "last.trace")
        run(f"{BIN}/ms-snap", "-q", "-o", "full.db", "full.trace")
        live = [[(site[0], re.findall(r"end\d+/\d+", site[-1] or "")) for site in figures(db)[1]] for db in ("last.db", "full.db")]
        check(live[0] == live[1] and len(live[0]) == 2, f"live at the end: {live}")
        c = sqlite3.connect("last.db")
        marks = [name for name, in c.execute("SELECT name FROM mark WHERE time_ns > ? ORDER BY time_ns LIMIT 6", (until,))]
        mark = marks[-1]  # on a busy machine there are few
        c.close()
        for trace in ("last", "full"):
            run(f"{BIN}/ms-snap", "-q", "--from", f"mark:{mark}", "-o", f"{trace}.db", f"{trace}.trace")
        check(figures("last.db") == figures("full.db"), f"from {mark} on: {figures('last.db')}, not {figures('full.db')}")
        size = [os.path.getsize(f"{t}.trace") for t in ("last", "full")]
        check(size[0] < size[1] / 2 or options, f"files of {size} bytes")
        check([f for f in os.listdir(".") if f.endswith(".new")] == [], f"left over: {os.listdir('.')}")
    # Too short for anything to be dropped: nothing is.
    record("short.trace", "--keep=last:1h")
    check(events("short.trace") == every, "events of a run shorter than the span")
    sys.exit(1 if failures else 0)


main()
