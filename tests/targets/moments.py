#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random moments of three real programs' traces. Each is asked of ms-snap with --read=part and --read=all, every site compared,
and its totals are compared with a plain replay of what trace-dump prints, which shares nothing with the tools. Then spans:
what --from and --to count at each site is the difference of what was counted up to the one and up to the other.

100 moments a trace with MS_CHECK_ALL=1, else 8. BIN and TB as tests/run sets them."""
import os
import random
import sqlite3
import subprocess
import sys

BIN, TB = os.environ["BIN"], os.environ["TB"]
MOMENTS = 100 if os.environ.get("MS_CHECK_ALL") == "1" else 8

PERL = """
my %kept;
for my $i (1 .. 100000) {
    $kept{$i % 70} = { name => "item $i", list => [1 .. $i % 9], text => 'x' x ($i % 300) };
    delete $kept{($i * 7) % 700} if $i % 3 == 0;
}
"""
SQL = """
create table t(a integer primary key, b text, c blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
    insert into t select i, hex(randomblob(i % 50)), zeroblob(i % 200) from n;
""" + "".join("select count(*), group_concat(substr(b, 1, %d)) from t where a %% %d = 0 or b like '%%%d%%';\n" % (i % 7, i % 13 + 2, i) for i in range(450))
# How much SQLite allocates depends on its version: this is enough for each.
SQL += """with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select max(length(hex(zeroblob(1500 + i % 700)))) from n;
"""

DOCUMENTS = "".join('{"name": "item %d", "tags": ["a%d", "b"], "value": %d.5}\n' % (i, i, i) for i in range(26000))

PATHS = """
with recursive up(site, parent, path) as (
    select s.id, s.stack, '' from site s
    union all select up.site, k.parent, up.path || ';' || coalesce(m.path, '') || '+' || f.address
    from up join stack k on k.id = up.parent join frame f on f.id = k.frame left join module m on m.id = f.module)
"""
LIVE = PATHS + """select p.label, up.path, t.live_bytes, t.live_blocks from site_stat t join snapshot p on p.id = t.snapshot
join up on up.site = t.site where up.parent is null order by 1, 2, 3, 4"""
COUNTS = PATHS + """select up.path, sum(s.allocations), sum(s.allocated_bytes), sum(s.frees), sum(s.temporary) from site s
join up on up.site = s.id where up.parent is null group by 1"""

wrong = []


def same(what, got, expected):
    if got != expected:
        wrong.append("%s: %.400r, expected %.400r" % (what, got, expected))


def snap(trace, *options):
    subprocess.run([os.path.join(BIN, "ms-snap"), "-q", "--no-symbols", "-o", "moment.db", *options, trace], check=True)
    db = sqlite3.connect("moment.db")
    db.execute("pragma mmap_size = 0")
    return db


def record(name, command, stdin=None):
    env = dict(os.environ, PERL_HASH_SEED="1")
    with open("input", "w") as f:
        f.write(stdin or "")
    with open("input") as f:
        subprocess.run([os.path.join(BIN, "ms-record"), "-q", "--no-symbols", "-o", name, *command], stdin=f, stdout=subprocess.DEVNULL, env=env, check=True)
    return name


def lines_of(trace):
    dump = subprocess.Popen([os.path.join(TB, "trace-dump"), trace], stdout=subprocess.PIPE, text=True)
    yield from dump.stdout
    dump.wait()


def plain_replay(trace, ticks):
    """Live bytes and blocks after the events of each tick."""
    sizes, states, checkpoints = {}, [], 0
    due, total, kind = sorted(ticks), 0, ""
    for line in lines_of(trace):
        if line.startswith("block"):
            kind = line.split()[2]
            checkpoints += kind == "checkpoint"
            continue
        if kind != "events" or line.startswith("  from"):
            continue
        f = line.split()
        while due and int(f[0]) > due[0]:
            states.append((due.pop(0), total, len(sizes)))
        if "frees" in f:
            total -= sizes.pop(int(f[f.index("frees") + 1][1:]), 0)
        if f[4:] and f[4][0] == "#":
            sizes[int(f[4][1:])] = size = int(f[f.index("size") + 1])
            total += size
    states += [(tick, total, len(sizes)) for tick in due]
    return {tick: (size, blocks) for tick, size, blocks in states}, checkpoints


def check_moments(trace, points, states):
    every = [word for p in points for word in ("--at", p)]
    db = snap(trace, "--read=all", *every)
    want = {p: ([], []) for p in points}
    for label, *row in db.execute("select label, time_ns, live_bytes, live_blocks from snapshot"):
        want[label][0].append(tuple(row))
    for label, *row in db.execute(LIVE):
        want[label][1].append(tuple(row))
    for p in points:
        db = snap(trace, "--read=part", "--at", p)
        same("%s at %s: whole" % (trace, p), db.execute("select whole from process").fetchone(), (0,))
        got = db.execute("select time_ns, live_bytes, live_blocks from snapshot").fetchall()
        same("%s at %s" % (trace, p), got, want[p][0])
        same("%s at %s: plain replay" % (trace, p), got[0][1:], states[got[0][0] // 100000])
        same("%s at %s: sites" % (trace, p), [tuple(r[1:]) for r in db.execute(LIVE)], want[p][1])


def counts(db):
    return {row[0]: row[1:] for row in db.execute(COUNTS)}


def check_span(trace, first, last):
    before, after = counts(snap(trace, "--to", first)), counts(snap(trace, "--to", last))
    none = (0, 0, 0, 0)
    for read in "all", "part":
        db = snap(trace, "--read=" + read, "--from", first, "--to", last)
        got = counts(db)
        for site in after:
            difference = tuple(a - b for a, b in zip(after[site], before.get(site, none)))
            same("%s from %s to %s, %s: %s" % (trace, first, last, read, site), got.get(site, none), difference)
        same("%s: sites" % trace, set(got) - set(after), set())
        live = dict(db.execute("select label, live_bytes from snapshot"))
        for label, point in ("start", first), ("end", last):
            same("%s: %s of the span" % (trace, label), live[label], snap(trace, "--at", point).execute("select live_bytes from snapshot").fetchone()[0])


def check(trace):
    length, allocations = snap(trace).execute("select duration_ns, allocations from process").fetchone()
    points = ["%.4fs" % (random.random() * (length // 100000) / 10000) for _ in range(MOMENTS)]
    points = [p for p in dict.fromkeys(points) if float(p[:-1]) * 1e9 < length]
    states, checkpoints = plain_replay(trace, [round(float(p[:-1]) * 10000) for p in points])
    same("%s: no checkpoint in %d allocations" % (trace, allocations), checkpoints == 0, False)
    check_moments(trace, points, states)
    for _ in range(1 + MOMENTS // 20):
        first, last = sorted(random.sample(points, 2), key=lambda p: float(p[:-1]))
        check_span(trace, first, last)
    # What the recorder counted is what the events say.
    totals = "select events, allocations, frees, reallocations, failed_allocations, allocated_bytes, temporary_allocations, peak_bytes,"
    totals += " peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks, inferred_frees, unknown_frees from process"
    part, whole = snap(trace, "--read=part", "--at", points[0]).execute(totals).fetchone(), snap(trace).execute(totals).fetchone()
    same("%s: totals" % trace, part, whole)
    print("%-14s %9d allocations, %d checkpoints, %d moments" % (trace, allocations, checkpoints, len(points)))


def main():
    random.seed(11)
    check(record("jq.trace", ["/usr/bin/jq", "-c", "[.tags[], (.value * 2 | tostring), (.name | length)]"], DOCUMENTS))
    check(record("perl.trace", ["/usr/bin/perl", "-e", PERL]))
    check(record("sqlite.trace", ["/usr/bin/sqlite3", ":memory:"], SQL))
    for line in wrong[:20]:
        print(line)
    return bool(wrong)


sys.exit(main())
