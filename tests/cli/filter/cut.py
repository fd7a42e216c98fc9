# SPDX-License-Identifier: MIT
"""ms-filter --trace-out: a cut replays to the numbers of the span in the whole trace, and with conditions to those of the kept sites."""
import os
import sqlite3
import subprocess
import sys

BIN = os.environ["BIN"]
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def run(tool, *words):
    r = subprocess.run([os.path.join(BIN, tool), *words], capture_output=True, check=False)
    return r.returncode, r.stderr.decode()


def snap(out, *words, status=0):
    """Snapshot of a trace at the usual moments of a span."""
    if os.path.exists(out):
        os.remove(out)
    got = run("ms-snap", "--at", "start", "--at", "peak", "--at", "end", "-o", out, *words)
    expect(f"ms-snap {words}", got[0], status)
    return sqlite3.connect(out)


def cut(out, *words, status=0):
    if os.path.exists(out):
        os.remove(out)
    code, message = run("ms-filter", "--trace-out", out, *words)
    expect(f"ms-filter --trace-out {words}: {message}", code, status)


def rounded(row):
    return tuple(f"{v:.6g}" if isinstance(v, float) else v for v in row)


NOT_OURS = {"process": {"trace", "cut"}}


def same(what, a, b):
    for (table,) in a.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        if table in ("meta", "cohort"):  # parts of a span begin where those of its whole trace do
            continue
        skip = NOT_OURS.get(table, set())
        columns = ", ".join(f'"{c[1]}"' for c in a.execute(f"PRAGMA table_info({table})") if c[1] not in skip)
        one, other = (sorted(map(repr, map(rounded, db.execute(f"SELECT {columns} FROM {table}")))) for db in (a, b))
        if one != other:
            failures.append(f"{what}: {table}: {[r for r in one if r not in other][:2]} became {[r for r in other if r not in one][:2]}")


SPANS = [["--from", "3ms"], ["--from", "3ms", "--to", "8ms"], ["--to", "mark:late"], ["--from", "mark:warm", "--to", "mark:late"],
         ["--from", "peak"], ["--from", "2ms", "--to", "peak"], ["--from", "end"], ["--to", "start"], ["--from", "-5ms", "--to", "-2ms"], []]


def spans(trace, words):
    for span in words:
        whole = snap("whole.db", *span, trace)
        cut("cut.trace", *span, trace)
        part = snap("part.db", "cut.trace")
        same(f"{trace} {' '.join(span)}", whole, part)
        said = f"{trace} by {' '.join(span) or 'no options'}"
        expect(f"{span}: what it says", part.execute("SELECT cut FROM process").fetchall(), [(said,)])
        expect(f"{span}: complete", part.execute("SELECT complete, state FROM process").fetchall(), [(1, "complete")])


def again(trace):
    """A cut of a cut; and the whole span of one."""
    whole = snap("whole.db", "--from", "mark:warm", "--to", "mark:late", trace)
    cut("first.trace", "--from", "mark:warm", trace)
    cut("second.trace", "--to", "mark:late", "first.trace")
    part = snap("part.db", "second.trace")
    same("a cut of a cut", whole, part)
    expect("what it says", part.execute("SELECT cut FROM process").fetchall(),
           [(f"{trace} by --from mark:warm, then --to mark:late",)])
    for tool, words in (("ms-filter", ["--trace-out", "out.trace"]), ("ms-snap", ["-o", "out.db"])):
        code, message = run(tool, *words, "--from", "100us", "second.trace")
        expect(f"{tool} before the cut: {message}", (code, ", which begins " in message), (2, True))
    cut("third.trace", "second.trace")
    same("nothing more cut", whole, snap("part.db", "third.trace"))


LIVE = "(SELECT coalesce(sum(c.live_%s), 0) FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE label = 'end')"
SUMS = "SELECT " + ", ".join(f"coalesce(sum({c}), 0)" for c in ("allocations", "frees", "allocated_bytes", "failed_allocations")) + (
    f", {LIVE % 'bytes'}, {LIVE % 'blocks'} FROM site")


def conditions(trace):
    for words in (["--function", "^build$"], ["--not-function", "^build$"], ["--function", "^fail$"], ["--function", "^work$", "--not-function", "x"],
                  ["--file", "cut\\.c$"], ["--not-function", "^main$"], ["--invert", "--function", "^work$"], ["--process", "app", "--function", "build"]):
        cut("cut.trace", *words, trace)
        part = snap("part.db", "cut.trace")
        if os.path.exists("kept.db"):
            os.remove("kept.db")
        run("ms-filter", "-q", "-o", "kept.db", *words, trace)
        kept = sqlite3.connect("kept.db")
        expect(f"{words}", part.execute(SUMS).fetchall(), kept.execute(SUMS).fetchall())
        expect(f"{words}: totals", part.execute("SELECT allocations, frees, allocated_bytes, failed_allocations, unfreed_bytes, unfreed_blocks"
                                                " FROM process").fetchall(), part.execute(SUMS).fetchall())
        expect(f"{words}: what is between is not known", part.execute(
            "SELECT temporary_allocations, unknown_frees, (SELECT count(*) FROM site_lifetime) FROM process").fetchall(), [(None, 0, 0)])
    cut("cut.trace", "--size", "7777", trace)
    expect("--size", snap("part.db", "cut.trace").execute(SUMS).fetchall(), [(1000, 500, 7777000, 0, 3888500, 500)])
    cut("cut.trace", "--size", "7700..", "--size", "..20", "--not-size", "7777..7777", "--function", "build", trace)
    expect("nothing left", snap("part.db", "cut.trace").execute("SELECT allocations FROM process").fetchall(), [(0,)])
    whole = snap("whole.db", trace)
    for tid, made in whole.execute("SELECT tid, allocations FROM thread WHERE allocations > 0").fetchall():
        cut("cut.trace", "--thread", str(tid), trace)
        expect(f"--thread {tid}", snap("part.db", "cut.trace").execute("SELECT allocations FROM process").fetchall(), [(made,)])
    # From a mark on, with what was live before
    cut("cut.trace", "--from", "mark:warm", "--function", "^build$", trace)
    expect("from a mark", snap("part.db", "cut.trace").execute(
        """SELECT s.label, s.live_blocks, p.allocations, p.frees FROM snapshot s, process p ORDER BY s.id""").fetchall(),
        [("start", 1000, 0, 500), ("peak", 1000, 0, 500), ("end", 500, 0, 500)])


def verdicts(trace):
    """What a scan found of the blocks that are kept: exact where a stack's blocks are all kept or all alike, unknown else, never too much."""
    lost, held = ("unreachable", 10, 1000), ("reachable", 20, 6000)
    for words, wanted, unreachable in (
            (["--function", "^mixed$"], [("mixed", "reachable", 10, 2100), ("mixed", "unreachable", 10, 2090)], (2090, 10)),
            (["--not-function", "^mixed$"], [("held", *held), ("lost", *lost), ("lost", "unreachable", 5, 5000)], (6000, 15)),
            (["--size", "100..100"], [("lost", *lost)], (1000, 10)),
            (["--size", "205..1k"], [("held", *held), ("lost", "unreachable", 5, 5000), ("mixed", "unknown", 15, 3180)], (5000, 5)),
            (["--size", "300..300"], [("held", *held)], (0, 0)), (["--size", "1..2"], [], (0, 0)),
            (["--invert", "--size", "300..300"], [("lost", *lost), ("lost", "unreachable", 5, 5000), ("mixed", "reachable", 10, 2100),
                                                 ("mixed", "unreachable", 10, 2090)], (8090, 25))):
        cut("cut.trace", *words, trace)
        db = snap("part.db", "cut.trace")
        expect(f"{words}: verdicts", db.execute("""SELECT p.function, v.verdict, v.blocks, v.bytes FROM site_verdict v JOIN place p ON p.site = v.site
            ORDER BY 1, 2, 4""").fetchall(), wanted)
        expect(f"{words}: sums", db.execute("SELECT unreachable_bytes, unreachable_blocks FROM process").fetchall(), [unreachable])
        expect(f"{words}: the scan", db.execute("SELECT label, state, blocks, bytes FROM scan").fetchall(),
               [("end", "done", *[sum(v[i] for v in wanted) for i in (2, 3)])])
        expect(f"{words}: live", db.execute("SELECT live_blocks, live_bytes FROM snapshot WHERE label = 'end'").fetchall(),
               [tuple(sum(v[i] for v in wanted) for i in (2, 3))])
    # the cut of a cut; and a span that ends before the scan has none of it
    cut("first.trace", "--size", "100..1000", trace)
    cut("cut.trace", "--function", "^lost$", "first.trace")
    expect("again", snap("part.db", "cut.trace").execute("SELECT unreachable_bytes, unreachable_blocks FROM process").fetchall(), [(6000, 15)])
    cut("cut.trace", "--to", "start", "--size", "100..1000", trace)
    expect("before the scan", snap("part.db", "cut.trace").execute("SELECT count(*) FROM scan").fetchall(), [(0,)])


def incomplete(trace):
    with open(trace, "rb") as f:
        data = f.read()
    with open("torn.trace", "wb") as f:
        f.write(data[:len(data) * 2 // 3])
    cut("cut.trace", "--from", "2ms", "torn.trace", status=2)
    expect("torn", snap("part.db", "cut.trace", status=2).execute("SELECT complete, state FROM process").fetchall(), [(0, "no end")])
    cut("cut.trace", "--allow-partial", "--from", "2ms", "torn.trace")


def refused(trace):
    for words, part in ((["--min", "4k", trace], "option '--min' cannot be used with '--trace-out'"), (["--from", "1h", trace], "no point '1h'"),
                        (["--where", "id = 1", trace], "option '--where' cannot be used with '--trace-out'"), (["--from", "5ms", "--to", "3ms", trace], "later than"),
                        (["--from", "mark:no", trace], "no point 'mark:no'"), (["--process", "no", trace], "nothing is left of"),
                        (["."], "is a folder"), (["-"], "more than once"), (["whole.db"], "not a MemScope trace")):
        code, message = run("ms-filter", "--trace-out", "refused.trace", *words)
        expect(f"{words}: {message}", (code, part in message, message.count("\n"), os.path.exists("refused.trace")), (2, True, 1, False))
    code, message = run("ms-filter", "--trace-out", trace, "cut.trace")
    expect("over a trace", (code, "it is a trace and would be overwritten" in message), (2, True))
    code, message = run("ms-filter", "--from", "1ms", trace)
    expect("--from alone", (code, "needs '--trace-out'" in message), (2, True))
    code, message = run("ms-filter", "--trace-out", "x", "-o", "y", trace)
    expect("both", (code, "cannot be combined" in message), (2, True))


def main():
    spans("plain.trace", SPANS)
    spans("beside.trace", SPANS[1:6])
    spans("sampled.trace", SPANS[1:4])
    spans("ends.trace", [["--to", f"-{us}us"] for us in range(500, 12000, 500)])
    spans("live.trace", [["--from", "-2ms"], ["--from", "-3ms", "--to", "-1ms"]])
    again("beside.trace")
    conditions("plain.trace")
    conditions("beside.trace")
    verdicts("verdicts.trace")
    incomplete("plain.trace")
    refused("plain.trace")
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
