#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records tests/host/reload.c: one site however often its plugin is opened, wherever it lies, and however short it is there."""
import os
import shutil
import sqlite3
import subprocess
import sys

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
RELOAD, HERE = f"{TB}/host/reload", os.getcwd()


def record(*args):
    """What ms-record's memory was at most, in KiB, and the bytes of the trace."""
    for name in ("a", "b"):
        shutil.copy(f"{TB}/host/reload_{name}.so", f"{HERE}/plugin_{name}.so")
    alone = subprocess.run([RELOAD, *args], capture_output=True, text=True, check=True).stdout
    for name in ("a", "b"):
        shutil.copy(f"{TB}/host/reload_{name}.so", f"{HERE}/plugin_{name}.so")
    with subprocess.Popen([f"{BIN}/ms-record", "-q", "--no-symbols", "-o", "run.trace", RELOAD, *args], stdout=subprocess.PIPE, text=True) as p:
        said = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
    check((said, status) == (alone, 0), f"{args}: {said!r}, {status}, not {alone!r}")
    subprocess.run([f"{BIN}/ms-snap", "-q", "-o", "run.db", "run.trace"], check=True)
    return usage.ru_maxrss, os.path.getsize("run.trace")


def rows(query):
    db = sqlite3.connect("run.db")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def sites(size):
    """(function, module, allocations, live blocks) of the sites of blocks of that size."""
    return rows(f"""SELECT f.function, replace(m.path, '{HERE}/', ''), s.allocations AS n,
        coalesce((SELECT c.live_blocks FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE t.label = 'end' AND c.site = s.id), 0)
        FROM site s JOIN stack k ON k.id = s.stack JOIN frame f ON f.id = k.frame JOIN module m ON m.id = f.module WHERE s.max_size = {size}
        ORDER BY m.id""")


def cycles(n, *args, files=1):
    figures = record(str(n), *args)
    halves = [("inner_a", "plugin_a.so", n, n // 10)]
    if files == 2:  # of the same path: the symbols of the one that went are gone
        halves = [(None, "plugin_a.so", n // 2, n // 20), ("inner_b", "plugin_a.so", n // 2, n // 20)]
    check(sites(1000) == halves, f"{args}: {sites(1000)}, not {halves}")
    check(sum(s[2] for s in sites(77)) == n and len(sites(77)) == files, f"{args}: constructor: {sites(77)}")
    modules = rows("SELECT loaded_ns, unloaded_ns FROM module WHERE path LIKE '%plugin%'")
    check(len(modules) == files and all(m[0] is not None and m[1] and m[1] > m[0] for m in modules), f"{args}: modules {modules}")
    quality = rows("SELECT complete, events_lost, damaged_places, stacks_truncated, stacks_not_taken, unknown_frees FROM process")
    check(quality == [(1, 0, 0, 0, 0, 0)], f"{args}: quality {quality}")
    return figures


def main():
    few = cycles(500, f"{HERE}/plugin_a.so")
    most = few[0] + 4500 * 512 // 1024, few[1] + 4500 * 20  # KiB that ms-record took, bytes of the trace
    least = cycles(5000, f"{HERE}/plugin_a.so")
    tries = 1
    while (least[0] >= most[0] or least[1] >= most[1]) and tries < 5:  # on a busy machine records wait, and it takes more samples
        least = tuple(map(min, least, cycles(5000, f"{HERE}/plugin_a.so")))
        tries += 1
    check(least[0] < most[0], f"ms-record took {few[0]} and {least[0]} KiB")
    check(least[1] < most[1], f"traces of {few[1]} and {least[1]} bytes")
    cycles(1500, f"{HERE}/plugin_a.so", "move")
    cycles(1500, "./plugin_a.so", "cd", HERE)
    cycles(1000, f"{HERE}/plugin_a.so", "swap", f"{HERE}/plugin_b.so", files=2)
    sys.exit(1 if failures else 0)


main()
