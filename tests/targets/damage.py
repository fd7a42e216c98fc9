#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads traces that are cut, damaged, growing, or whose recorder was killed: right numbers, or a clear word and status 2.

The numbers of a trace that ends early must be those of a replay up to there. That replay is made here, from the events that trace-dump
prints, and shares nothing with the tools' own. Arguments: cut, flip, growing, killed.
"""
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

BIN, TB = os.environ["BIN"], os.environ["TB"]
TARGET = os.path.join(TB, "targets", "slow")
EVENT = re.compile(r"  \d+ thread (\d+) (\S+)(?: #(\d+))?(?: frees #(\d+))?(?: size (\d+))?")
POSITIONS = 200
# A trace without its symbols is read a second time with every library's debug information: too slow to do it for each cut.
EVERY = 1 if os.environ.get("MS_CHECK_ALL") else 5


class Wrong(Exception):
    pass


def same(what, got, expected):
    if got != expected:
        raise Wrong("%s: %r, expected %r" % (what, got, expected))


def tool(*command):
    done = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True)
    if done.returncode < 0:
        raise Wrong("%s died by signal %d" % (" ".join(command), -done.returncode))
    return done


def events_of(trace):
    """(thread, kind, number, freed, size) of every event."""
    text = subprocess.run([os.path.join(TB, "trace-dump"), trace], capture_output=True, text=True).stdout
    for line in text.splitlines():
        m = EVENT.match(line)
        if m:
            yield (int(m[1]), m[2]) + tuple(None if g is None else int(g) for g in m.groups()[2:])


def replay(events):
    """Totals after each number of events: a list of dictionaries."""
    live, last = {}, {}
    t = dict(allocations=0, frees=0, reallocations=0, failed_allocations=0, allocated_bytes=0, temporary_allocations=0,
             peak_bytes=0, peak_blocks=0, unfreed_bytes=0, unfreed_blocks=0)
    out = [dict(t)]
    for thread, kind, number, freed, size in events:
        if freed is not None:
            t["frees"] += 1
            t["unfreed_bytes"] -= live.pop(freed)
            t["temporary_allocations"] += last.get(thread) == freed
        if number is not None:
            live[number], last[thread] = size, number
            t["allocations"] += 1
            t["allocated_bytes"] += size
            t["unfreed_bytes"] += size
            t["reallocations"] += kind == "realloc"
        t["failed_allocations"] += kind == "failed"
        t["unfreed_blocks"] = len(live)
        if t["unfreed_bytes"] > t["peak_bytes"]:
            t["peak_bytes"], t["peak_blocks"] = t["unfreed_bytes"], len(live)
        out.append(dict(t))
    return out


def record(milliseconds):
    done = tool("ms-record", "-q", "-o", "run.trace", TARGET, str(milliseconds))
    same("status of the recording", done.returncode, 0)


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def totals_of_db(path):
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    return db.execute("SELECT * FROM process").fetchone()


def against_replay(trace, expected, state):
    """The snapshot of a trace that may end early says what the replay says."""
    snap = tool("ms-snap", "--no-symbols", "--allow-partial", "-o", "part.db", trace)
    same("ms-snap --allow-partial", snap.returncode, 0)
    process = totals_of_db("part.db")
    same("state", process["state"], state)
    truth = expected[process["events"]]
    for key, value in truth.items():
        same("%s after %d events" % (key, process["events"]), process[key], value)
    return process["events"]


def blocks_of(trace):
    text = subprocess.run([os.path.join(TB, "trace-dump"), "-b", trace], capture_output=True, text=True).stdout
    return [int(m[1]) for m in re.finditer(r"  at (\d+), ", text)]


def part(data):
    with open("part.trace", "wb") as f:
        f.write(data)


def has_report(r):
    if not r.stdout:
        raise Wrong("no report; standard error: %r" % r.stderr[:200])


def cut():
    """Cut at any byte past the header. A cut in what was appended behind the end block leaves a whole recording."""
    record(1500)
    data = open("run.trace", "rb").read()
    starts = blocks_of("run.trace")
    expected = replay(events_of("run.trace"))
    # A cut right behind the first end block leaves a whole trace, without symbols.
    whole = starts[-2]
    part(data[:whole])
    same("ms-report without the symbols block", tool("ms-report", "part.trace").returncode, 0)
    against_replay("part.trace", expected, "complete")
    places = set(starts[1:]) - {whole} | {n - 1 for n in starts[1:]} | {len(data) - 1}
    choose = random.Random(5)
    while len(places) < POSITIONS:
        places.add(choose.randrange(starts[0], len(data)))
        places.discard(whole)
    places |= {whole + 1, whole + 47, whole + 48, (whole + len(data)) // 2}
    seen = set()
    for i, place in enumerate(sorted(places)):
        part(data[:place])
        ended = place > whole
        try:
            seen.add(against_replay("part.trace", expected, "complete" if ended else "no end"))
            if i % EVERY and not ended:
                continue
            report = tool("ms-report", "--json", "part.trace")
            same("ms-report's status", report.returncode, 0 if ended else 2)
            has_report(report)
            same("quality.complete", json.loads(report.stdout)["quality"]["complete"], ended)
            if ended:
                same("ms-snap --symbols=embed", tool("ms-snap", "--symbols=embed", "part.trace").returncode, 0)
                same("the trace with symbols again", open("part.trace", "rb").read() == data, True)
            elif i % 10 == 0:
                same("ms-report --allow-partial", tool("ms-report", "--allow-partial", "part.trace").returncode, 0)
                banner(tool("ms-report", "part.trace"))
        except Wrong as wrong:
            raise Wrong("cut at %d of %d: %s" % (place, len(data), wrong)) from None
    if len(seen) < 5:
        raise Wrong("only %d different ends in %d cuts: the trace has too few blocks" % (len(seen), len(places)))
    return "%d cuts of %d bytes, %d different ends" % (len(places), len(data), len(seen))


def banner(report):
    head = b"\n".join(report.stdout.splitlines()[:6]).lower()
    if b"incomplete" not in head:
        raise Wrong("no banner in %r" % head[:300])


def flip():
    """A flipped byte is reported, or means the same."""
    record(1500)
    data = open("run.trace", "rb").read()
    first = blocks_of("run.trace")[0]
    whole = tool("ms-report", "--json", "run.trace").stdout
    choose, reported = random.Random(6), 0
    for i in range(POSITIONS):
        place = choose.randrange(len(data))
        part(data[:place] + bytes([data[place] ^ 1 << choose.randrange(8)]) + data[place + 1:])
        try:
            report = tool("ms-report", "--json", "part.trace")
            if report.returncode == 0:
                same("report of a byte that means nothing", report.stdout.replace(b"part.trace", b"run.trace"), whole)
                continue
            same("ms-report's status", report.returncode, 2)
            reported += 1
            if place >= first:
                has_report(report)
                same("quality.complete", json.loads(report.stdout)["quality"]["complete"], False)
                if i % 10 == 0:
                    same("ms-report --allow-partial", tool("ms-report", "--allow-partial", "part.trace").returncode, 0)
                    banner(tool("ms-report", "part.trace"))
        except Wrong as wrong:
            raise Wrong("flipped at %d of %d: %s" % (place, len(data), wrong)) from None
    if reported < POSITIONS // 2:
        raise Wrong("only %d of %d flipped bytes were noticed" % (reported, POSITIONS))
    return "%d of %d flipped bytes reported" % (reported, POSITIONS)


def begun(before=0):
    """Until run.trace has more events than so many."""
    for _ in range(10000):
        if sum(1 for _ in events_of("run.trace")) > before:
            return
        time.sleep(0.05)
    raise Wrong("no more events than %d" % before)


def growing():
    """Read while it is being recorded: status 0, and the numbers of the moment."""
    remove("run.trace")
    recorder = subprocess.Popen([os.path.join(BIN, "ms-record"), "-q", "-o", "run.trace", TARGET, "60000"], stdout=subprocess.DEVNULL)
    looks = []
    try:
        for _ in range(4):
            begun(totals_of_db(looks[-1])["events"] if looks else 0)
            with open("run.trace", "rb") as f:
                part(f.read())
            report = tool("ms-report", "--json", "run.trace")
            same("status of a growing trace", report.returncode, 0)
            snap = tool("ms-snap", "-o", "grow%d.db" % len(looks), "run.trace")
            same("ms-snap of a growing trace", snap.returncode, 0)
            looks.append("grow%d.db" % len(looks))
    finally:
        recorder.terminate()  # hands it on, and ends as the program does
    same("status of the recording", recorder.wait(), -signal.SIGTERM)
    expected, seen = replay(events_of("run.trace")), []
    for look in looks:
        process = totals_of_db(look)
        same("state", (process["state"], process["complete"]), ("growing", 1))
        for key, value in expected[process["events"]].items():
            same("%s after %d events" % (key, process["events"]), process[key], value)
        seen.append(process["events"])
    if seen != sorted(set(seen)) or seen[0] == 0:
        raise Wrong("events seen while it grew: %r" % seen)
    return "events seen: %s of %d" % (" ".join(map(str, seen)), len(expected) - 1)


def killed():
    """The recorder dies: the target goes on, and the trace so far is good."""
    environment = dict(os.environ, TRUTH_FILE=os.path.abspath("truth"))
    remove("run.trace")
    recorder = subprocess.Popen([os.path.join(BIN, "ms-record"), "-q", "-o", "run.trace", TARGET, "4000"],
                                stdout=subprocess.PIPE, env=environment)
    begun()
    for _ in range(6000):
        if recorder.poll() is not None or sum(1 for _ in events_of("run.trace")) > 51000 / 4:
            break
        time.sleep(0.05)
    recorder.send_signal(signal.SIGKILL)
    same("what the target says at its end", recorder.stdout.read(), b"done\n")
    recorder.wait()
    with open("truth") as f:
        truth = json.load(f)
    same("ms-report's status", tool("ms-report", "run.trace").returncode, 2)
    banner(tool("ms-report", "run.trace"))
    n = against_replay("run.trace", replay(events_of("run.trace")), "no end")
    process = totals_of_db("part.db")
    # A part was recorded; all but the last blocks of 100 ms must be there.
    if not truth["allocations"] / 8 < process["allocations"] < truth["allocations"]:
        raise Wrong("%d of %d allocations" % (process["allocations"], truth["allocations"]))
    return "%d events kept" % n


def main():
    failures = 0
    for name in sys.argv[1:]:
        try:
            print("ok     %s: %s" % (name, globals()[name]()))
        except Wrong as wrong:
            print("FAILED %s: %s" % (name, wrong))
            failures += 1
    return failures != 0


sys.exit(main())
