# SPDX-License-Identifier: MIT
"""Runs ms-diff on changed copies of the fixture of ms-filter: kinds, figures, sums, noise, per operation, what is hidden, budgets."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as xml

BIN = os.environ["BIN"]
SCHEMA = os.path.join(sys.argv[1], "man/memscope-report.schema.json")
VALIDATE = os.path.join(sys.argv[1], "tests/cli/report/validate.py")
FIGURES = {"live_bytes": "live_bytes", "live_blocks": "live_blocks", "peak_bytes": "own_peaks_bytes", "peak_blocks": "own_peaks_blocks",
           "allocations": "allocations", "frees": "frees", "allocated_bytes": "allocated_bytes", "temporary": "temporary_allocations"}
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def made(name, sql, of="old.db"):
    """A changed copy of a snapshot; its totals follow from its sites."""
    if name != of:
        shutil.copy(of, name)
    db = sqlite3.connect(name)
    db.executescript(f"PRAGMA synchronous = off; BEGIN; {sql}; COMMIT")
    for column, total in (("allocations", "allocations"), ("frees", "frees"), ("allocated_bytes", "allocated_bytes"),
                          ("temporary", "temporary_allocations")):
        db.execute(f"UPDATE process SET {total} = (SELECT sum({column}) FROM site s WHERE s.process = process.id)")
    for column in ("live_bytes", "live_blocks"):
        db.execute(f"UPDATE snapshot SET {column} = (SELECT sum({column}) FROM site_stat WHERE snapshot = snapshot.id)")
    for label, to in (("peak", "peak"), ("end", "unfreed")):
        for unit in ("bytes", "blocks"):
            db.execute(f"""UPDATE process SET {to}_{unit} = (SELECT live_{unit} FROM snapshot t
                WHERE t.process = process.id AND label = '{label}')""")
    db.execute("INSERT OR REPLACE INTO meta VALUES('sum_peak_bytes', (SELECT sum(peak_bytes) FROM process))")
    db.commit()
    db.close()
    return name


def run(*words, tool="ms-diff", data=None):
    """Output, status and standard error."""
    r = subprocess.run([os.path.join(BIN, tool), *words], input=data, capture_output=True, check=False)
    return r.stdout, r.returncode, r.stderr.decode()


def into(name, *words):
    """As run, with the output in a file that nobody waits for."""
    out, rc, err = run(*words)
    with open(name, "wb") as file:
        file.write(out)
    return rc, err


def diff(*words, status=0, said=""):
    rc, err = into("d.db", *words)
    expect(f"{words}: status", rc, status)
    if (said == "") != (err == "") or said not in err:
        failures.append(f"{words}: said {err!r}, not {said!r}")
    db = sqlite3.connect("file:d.db?mode=ro", uri=True)
    sums(str(words), db)
    return db


def rows(db, sql):
    return db.execute(sql).fetchall()


def sums(what, db):
    """Sites and what is hidden add up to the totals, on both sides; old + delta = new."""
    for figure, total in FIGURES.items():
        for side in ("old", "new"):
            got = rows(db, f"""SELECT (SELECT coalesce(sum({side}_{figure}), 0) FROM site_diff), (SELECT sum({side}_{figure}) FROM diff_hidden),
                (SELECT {side} FROM diff_total WHERE figure = '{total}'), (SELECT count(*) - count({side}_{figure}) FROM site_diff)""")[0]
            if got[2] is not None and got[3] == 0:
                expect(f"{what}: sum of {side} {figure}", got[0] + (got[1] or 0), got[2])
        expect(f"{what}: delta of {figure}", rows(db, f"""SELECT site FROM site_diff
            WHERE old_{figure} + delta_{figure} != new_{figure}"""), [])
    expect(f"{what}: totals", rows(db, "SELECT figure FROM diff_total WHERE old + delta != new"), [])
    expect(f"{what}: broken", rows(db, "PRAGMA quick_check"), [("ok",)])


# ---- nothing changed ----
made("old.db", "UPDATE site SET user_frame = user_frame")
made("same.db", "UPDATE site SET user_frame = user_frame")
d = diff("--exit-code", "old.db", "same.db")
expect("same", rows(d, "SELECT kind, matched, count(*) FROM site_diff GROUP BY 1, 2"), [("unchanged", "exact", 8)])
expect("same: deltas", rows(d, "SELECT figure FROM diff_total WHERE delta != 0 OR significant = 1"), [])
expect("same: the rest is the new one", rows(d, "SELECT * FROM site"), rows(sqlite3.connect("same.db"), "SELECT * FROM site"))

# ---- another build: lines, addresses, files; one site grew, one is gone, one new; a function has another name ----
SHIFT = """UPDATE frame SET line = line + 7 WHERE line > 5; UPDATE frame SET address = address + 4096; UPDATE frame SET file = 'source/' || file;
    UPDATE module SET path = '/new/bin/orderd' WHERE id = 1; UPDATE process SET exe = '/new/bin/orderd' WHERE id = 1;
    UPDATE module SET path = '/usr/lib64/libfontconfig.so.1.12' WHERE id = 3;"""
CHANGED = SHIFT + """
    UPDATE site_stat SET live_bytes = live_bytes + 70000, live_blocks = live_blocks + 7 WHERE site = 1 AND snapshot IN (1, 2);
    UPDATE site SET allocations = allocations + 7, allocated_bytes = allocated_bytes + 70000 WHERE id = 1;
    DELETE FROM site WHERE id = 6; DELETE FROM site_stat WHERE site = 6; DELETE FROM site_thread WHERE site = 6; DELETE FROM free_site WHERE site = 6;
    INSERT INTO frame(id, process, module, address, function, file, line, inlined, runtime) VALUES(11, 1, 1, 999, 'orderd::Cache::put(int)', 'c.cpp', 3, 0, 0);
    INSERT INTO stack VALUES(12, 1, 2, 11, 2);
    INSERT INTO site(id, process, stack, user_frame, allocations, frees, allocated_bytes, temporary) VALUES(9, 1, 12, 12, 4, 0, 9000, 0);
    INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES(2, 9, 9000, 4);
    UPDATE frame SET function = 'FcReadConfig' WHERE id = 5"""
made("new.db", CHANGED)
d = diff("--exit-code", "old.db", "new.db", status=1)
KINDS = dict((r[0], r[1:]) for r in rows(d, "SELECT site, kind, delta_live_bytes, delta_live_blocks, delta_allocations, significant FROM site_diff"))
expect("kinds", KINDS, {1: ("grown", 70000, 7, 7, 1), 2: ("unchanged", 0, 0, 0, 0), 3: ("unchanged", 0, 0, 0, 0), 4: ("unchanged", 0, 0, 0, 0),
                        5: ("unchanged", 0, 0, 0, 0), 7: ("unchanged", 0, 0, 0, 0), 8: ("unchanged", 0, 0, 0, 0), 9: ("new", 9000, 4, 4, 1),
                        10: ("gone", -1000, -10, -400, 1)})
expect("which figures", dict(rows(d, "SELECT site, figures FROM site_diff WHERE significant = 1")),
       {1: "live_bytes,peak_bytes,allocated_bytes", 9: "live_bytes", 10: "allocations,frees,temporary"})
expect("renamed", rows(d, "SELECT matched, evidence LIKE '%''FcConfigParse'' is now named ''FcReadConfig''%' FROM site_diff WHERE site = 2"), [("renamed", 1)])
expect("gone", rows(d, """SELECT s.allocations, f.function, d.old_site FROM site s JOIN stack k ON k.id = s.stack JOIN frame f ON f.id = k.frame
    JOIN site_diff d ON d.site = s.id WHERE s.id = 10"""), [(0, "orderd::Logger::fmt(int)", 6)])
expect("changes", rows(d, "SELECT site, delta_allocated_bytes FROM changes"), [(1, 70000), (9, 9000), (10, -10000)])
expect("total", rows(d, "SELECT old, new, delta, significant FROM diff_total WHERE figure = 'unfreed_bytes'"), [(59000, 137000, 78000, 1)])
diff("--exit-code", "new.db", "old.db", status=1)  # less is held, but the site that was gone allocates again
for count, frames in (("1 site has", "10"), ("3 sites have", "3, 10")):
    NO_NAME = f"UPDATE frame SET function = NULL WHERE id IN ({frames});"
    made("weak0.db", NO_NAME)
    made("weak1.db", NO_NAME + "UPDATE module SET build_id = 'other' WHERE id = 1; UPDATE site SET allocations = allocations * 2 + 1 WHERE id = 6")
    diff("weak0.db", "weak1.db", said=f"warning: {count} frames without names")
made("one.db", """UPDATE module SET build_id = 'other' WHERE id = 1; UPDATE frame SET function = NULL WHERE id = 3; DELETE FROM site WHERE id = 6;
    DELETE FROM site_stat WHERE site = 6; DELETE FROM site_thread WHERE site = 6; DELETE FROM free_site WHERE site = 6""")
diff("old.db", "one.db", said="cannot tell whether 1 site changed")
# names of Go that begin with a suffix of copies
GO = "UPDATE frame SET function = 'app.partition' WHERE id = 3; UPDATE frame SET function = 'app.parties' WHERE id = 10;"
made("go0.db", GO)
made("go1.db", GO + """UPDATE module SET build_id = 'other' WHERE id = 1; UPDATE frame SET line = 500 - line WHERE id IN (3, 10);
    UPDATE site SET allocations = 401 WHERE id = 3; UPDATE site SET allocations = 251 WHERE id = 6;""")
expect("no suffix", rows(diff("go0.db", "go1.db"), "SELECT site, old_allocations, new_allocations FROM site_diff WHERE site IN (1, 3, 6)"),
       [(1, 200, 200), (3, 250, 401), (6, 400, 251)])
# sites that allocated nothing, as those of mmap(): figures of 0 add up to 0, which is no evidence
NOTHING = "UPDATE site SET allocations = 0, frees = 0, allocated_bytes = 0, temporary = 0 WHERE id = 6;"
made("nothing0.db", NOTHING)
made("nothing1.db", NOTHING + """UPDATE module SET build_id = 'other' WHERE id = 1;
    INSERT INTO frame(id, process, module, address, function) VALUES(51, 1, 1, 900, 'one'), (52, 1, 1, 901, 'two');
    INSERT INTO stack VALUES(51, 1, 10, 51, 3), (52, 1, 10, 52, 3); UPDATE site SET stack = 51, user_frame = 51 WHERE id = 6;
    INSERT INTO site(id, process, stack, user_frame, allocations, frees, allocated_bytes, temporary) VALUES(9, 1, 52, 52, 0, 0, 0, 0);
    INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES(2, 9, 90000, 3)""")
expect("0 is no sum", rows(diff("nothing0.db", "nothing1.db"), "SELECT kind, old_live_bytes, new_live_bytes FROM site_diff WHERE matched IS NULL ORDER BY site"),
       [("new", 0, 1000), ("new", 0, 90000), ("gone", 1000, 0)])
# many of equal figures, and none of the names is there on both sides
MANY = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO "
for many in (1500, 6000):
    for name, call in (("many0.db", "before"), ("many1.db", "after")):
        made(name, f"UPDATE module SET build_id = '{call}' WHERE id = 1;" + "".join(MANY % (many + 99) + rest for rest in (
            f"frame(id, process, module, address, function) SELECT i, 1, 1, i, '{call}' || i FROM n;", "stack SELECT i, 1, 2, i, 2 FROM n;",
            "site(id, process, stack, user_frame, allocations, frees, allocated_bytes, temporary) SELECT i, 1, i, i, 1, 0, 24, 0 FROM n;")))
    began = os.times().children_user
    d = diff("many0.db", "many1.db")
    expect(f"{many} of equal figures: fast", os.times().children_user - began < 10, True)
    expect(f"{many} of equal figures", rows(d, "SELECT kind, count(*) FROM site_diff WHERE site NOT BETWEEN 1 AND 8 GROUP BY kind"),
           [("gone", many), ("new", many)])
made("less.db", "UPDATE site_stat SET live_bytes = live_bytes / 2 WHERE site < 4; UPDATE site SET allocated_bytes = allocated_bytes / 2 WHERE id < 4")
d = diff("--exit-code", "old.db", "less.db")  # less is no growth
expect("the largest loss first", rows(d, "SELECT site FROM changes"), [(1,), (2,)])
diff("--exit-code", "--min-change", "80k", "old.db", "new.db")
expect("a pipe and a file", run("old.db", "-", data=open("new.db", "rb").read())[0][:16], b"SQLite format 3\0")

# ---- churn: what is allocated, while nothing more is held ----
def churned(allocations, size, threads=False, held=0, sql="", words=()):
    """Site 3 of old.db with that many allocations and bytes more, and bytes at the peak; by one thread unless told."""
    one = "" if threads else "UPDATE thread SET allocations = 0 WHERE id != 1; DELETE FROM process WHERE id = 2; DELETE FROM site WHERE process = 2; " \
        "DELETE FROM snapshot WHERE process = 2; DELETE FROM site_stat WHERE snapshot > 3;"
    made("churn0.db", one + sql)
    made("churn1.db", f"""{one + sql} UPDATE site SET allocations = allocations + {allocations}, frees = frees + {allocations},
        allocated_bytes = allocated_bytes + {size} WHERE id = 3; UPDATE site_stat SET live_bytes = live_bytes + {held} WHERE site = 3 AND snapshot = 1""")
    rc = into("d.db", "-q", "--exit-code", *words, "churn0.db", "churn1.db")[0]
    db = sqlite3.connect("d.db")
    sums(f"churn {allocations} {size}", db)
    return rc, *rows(db, "SELECT kind, significant, figures FROM site_diff WHERE site = 3")[0]


expect("reserve(size + 1)", churned(500, 37000, held=-48), (1, "grown", 1, "allocations,frees,allocated_bytes"))
expect("bytes alone", churned(0, 70000), (1, "grown", 1, "allocated_bytes"))
expect("less churn", churned(-200, -5000), (0, "shrunk", 1, "allocations,frees,allocated_bytes"))
expect("less held, more churn", churned(500, 900000, held=-6000), (1, "grown", 1, "peak_bytes,allocations,frees,allocated_bytes"))
expect("more held, a little less churn", churned(-20, 0, held=50000), (1, "grown", 1, "peak_bytes,allocations,frees"))
BIG = "UPDATE site SET allocations = 5000 WHERE id = 2; UPDATE site SET allocated_bytes = 500000 WHERE id = 2;"
expect("1 % of the run", churned(58, 5000, sql=BIG), (0, "grown", 0, "frees"))  # of 5,900 and 585,000
expect("more than that", churned(62, 6000, sql=BIG), (1, "grown", 1, "allocations,frees,allocated_bytes"))
expect("threads", churned(100, 12000, threads=True), (0, "grown", 0, None))  # of 1,400 and 142,000
expect("threads, more than 10 %", churned(200, 22000, threads=True), (1, "grown", 1, "allocations,frees,allocated_bytes"))
expect("threads, totals", rows(sqlite3.connect("d.db"), "SELECT figure FROM diff_total WHERE significant = 1 AND figure LIKE 'alloc%' ORDER BY 1"),
       [("allocated_bytes",), ("allocations",)])
expect("--min-change", churned(0, 70000, words=("--min-change", "80k")), (0, "grown", 0, None))
churned(500, 37000, held=-48)
text = run("--text", "--ascii", "--width", "100", "d.db", tool="ms-report")[0].decode()
for words in ("CHANGED by more than noise: 1 site", " live   peak  calls  allocated  #", "  0 B  -48 B   +500  +36.1 KiB  3  grown  orderd::Parser::dup"):
    expect(f"churn as text: {words}", words in text, True)
text = run("--text", "--ascii", "--width", "60", "d.db", tool="ms-report")[0].decode()
expect("churn, narrow: what changed keeps its column", " calls  allocated  #" in text and "peak  " not in text.split("CHANGED")[1], True)
md = run("--md", "--fail-on", "delta_peak_bytes > 1M", "d.db", tool="ms-report")[0].decode()
for words in ("### Heap: :white_check_mark: allocated **+36.1 KiB (+37 %)**, allocations **+500 (+50 %)**", "| grown | 0 B | \u221248 B | +500 | +36.1 KiB | "):
    expect(f"churn as Markdown: {words}", words in md, True)
found = json.loads(run("--sarif", "d.db", tool="ms-report")[0])["runs"][0]["results"]
expect("churn as SARIF", [r["message"]["text"] for r in found if r["ruleId"] == "memscope/regression"],
       ["+36.1 KiB allocated, +500 allocations by orderd::Parser::dup: it grew by more than noise"])
# a little everywhere: in no place, but in all
made("spread.db", "UPDATE site SET allocations = allocations + 20, allocated_bytes = allocated_bytes + 2000")
diff("--exit-code", "--min-change", "3000", "old.db", "spread.db", status=1)
text = run("--text", "d.db", tool="ms-report")[0].decode()
expect("no single site", "NO SINGLE SITE CHANGED by more than noise, but the totals above did" in text, True)

# ---- verdicts that the old run has too are no errors of the change ----
SCAN = """INSERT INTO scan(process, scan, label, state, blocks, bytes, unreachable_blocks, unreachable_bytes, late_blocks, late_bytes)
    VALUES(1, 1, 'end', 'done', 4, 40, 1, 10, 0, 0); INSERT INTO site_verdict VALUES(1, 1, 'unreachable', '', 1, 10, 1, 10);
    UPDATE process SET unreachable_blocks = 1, unreachable_bytes = 10 WHERE id = 1"""
for name in ("old", "same", "new"):
    made(f"{name}-scan.db", SCAN, of=f"{name}.db")


def levels(old, new, *words):
    """Level and rule by site of what SARIF finds; what GitHub is told."""
    diff("--allow-partial", *words, old, new)
    found = json.loads(run("-q", "--sarif", "d.db", tool="ms-report")[0])["runs"][0]["results"]
    told = run("-q", "--github", "d.db", tool="ms-report")[0].decode()
    return {(r["properties"]["site"], r["ruleId"][9:]): r["level"] for r in found if r["ruleId"] != "memscope/regression"}, \
        [line.split(" ")[0] for line in told.split("\n") if line and "title=More memory" not in line]


expect("alone", {r["properties"]["site"]: r["level"] for r in json.loads(run("-q", "--sarif", "old-scan.db", tool="ms-report")[0])["runs"][0]["results"]},
       {1: "error", 3: "warning"})
expect("as before", levels("old.db", "same-scan.db"), ({(1, "unreachable"): "note", (3, "growing"): "note"}, ["::notice"]))
expect("more than before", levels("old.db", "new-scan.db"), ({(1, "unreachable"): "error", (3, "growing"): "note"}, ["::error", "::notice"]))
made("clean.db", "UPDATE site SET verdict = iif(verdict IS NULL, NULL, 'reachable')")
expect("reachable before", levels("clean.db", "same-scan.db"), ({(1, "unreachable"): "error", (3, "growing"): "warning"}, ["::error", "::warning"]))
made("unseen.db", "UPDATE site SET verdict = NULL")
expect("nobody looked", levels("unseen.db", "same-scan.db"), ({(1, "unreachable"): "warning", (3, "growing"): "warning"}, ["::warning", "::warning"]))
expect("nothing live before", levels("old.db@mark:warm", "same-scan.db@end"), ({(1, "unreachable"): "error", (3, "growing"): "warning"}, ["::error", "::warning"]))
diff("--old", "unseen.db", "--old", "old.db", "--new", "same-scan.db")
expect("one old run has it", rows(sqlite3.connect("d.db"), "SELECT * FROM diff_known ORDER BY 1"),
       [(1, "unreachable"), (2, "unknown"), (3, "growing"), (7, "unknown")])
junit = run("-q", "--junit", "d.db", tool="ms-report")[0].decode()
expect("JUnit", (junit.count("unreachable at the end, in the old runs too"), 'errors="0"' in junit), (1, True))
expect("a first night", levels("nothing.db", "new-scan.db", "--allow-missing-old", "-q")[0], {(1, "unreachable"): "error", (3, "growing"): "warning"})

# ---- what filters hide, before and after ----
for words in (["--function", "Parser"], ["--not-function", "^main$"], ["--min", "5k"], ["--function", "Logger|Cache"], ["--function", "nothing"]):
    diff("old.db", "new.db")
    out, rc, err = run(*words, "d.db", tool="ms-filter")
    expect(f"{words}: status", rc, 0)
    with open("f.db", "wb") as f:
        f.write(out)
    db = sqlite3.connect("f.db")
    sums(f"diff | filter {words}", db)
    expect(f"{words}: rows have sites", rows(db, "SELECT site FROM site_diff WHERE site NOT IN (SELECT id FROM site)"), [])
    again = json.loads(run("--json", "f.db", tool="ms-report")[0])["diff"]
    whole = sum(s["delta_live_bytes"] for s in again["sites"]) + again["omitted"]["delta_live_bytes"]
    expect(f"{words}: the report adds up", whole, again["totals"]["delta_live_bytes"])
    for name in ("old.db", "new.db"):
        with open("f-" + name, "wb") as f:
            f.write(run(*words, name, tool="ms-filter")[0])
    diff("f-old.db", "f-new.db")
expect("gone ones can be kept by function", rows(db, "SELECT count(*) FROM site_diff"), [(0,)])

# ---- points ----
d = diff("old.db@mark:warm", "old.db@end")
expect("points", rows(d, "SELECT site, kind, old_live_bytes, new_live_bytes, old_allocations FROM site_diff WHERE kind != 'unchanged' ORDER BY site"),
       [(1, "new", 0, 40000, None), (2, "new", 0, 5000, None), (3, "shrunk", 4000, 3000, None), (4, "new", 0, 1000, None), (6, "new", 0, 1000, None),
        (7, "new", 0, 9000, None)])
expect("points: what the whole run did", rows(d, "SELECT new FROM diff_total WHERE figure IN ('allocations', 'peak_bytes')"), [(None,), (None,)])
d = diff("old.db")
expect("one input", rows(d, "SELECT value FROM diff WHERE key IN ('old_point', 'new_point') ORDER BY key"), [("end",), ("mark:warm",)])

# ---- noise ----
def with_peak(name, v, threads=True):
    return made(name, f"""UPDATE site_stat SET live_bytes = {v} WHERE site = 1 AND snapshot = 1;
        {"" if threads else "UPDATE thread SET allocations = 0 WHERE id != 1; DELETE FROM process WHERE id = 2; DELETE FROM site WHERE process = 2; DELETE FROM snapshot WHERE process = 2; DELETE FROM site_stat WHERE snapshot > 3;"}""")


def judged(olds, news, threads=True, words=()):
    args = []
    for side, values in (("old", olds), ("new", news)):
        for i, v in enumerate(values):
            args += ["--" + side, with_peak(f"{side}{i}.db", v, threads)]
    rc = into("d.db", "-q", "--exit-code", *words, *args)[0]
    db = sqlite3.connect("d.db")
    sums(f"{olds} {news}", db)
    return rc, rows(db, "SELECT old_peak_bytes, new_peak_bytes, significant FROM site_diff WHERE site = 1")[0]


expect("threads, one run", judged([30000], [90000]), (0, (30000, 90000, 0)))
expect("no threads, one run", judged([30000], [90000], False), (1, (30000, 90000, 1)))
expect("no threads, too little", judged([30000], [34095], False), (0, (30000, 34095, 0)))
expect("no threads, just enough", judged([30000], [34096], False), (1, (30000, 34096, 1)))
expect("less than 1 %", judged([3000000], [3005000], False), (0, (3000000, 3005000, 0)))
expect("ranges meet", judged([30000, 40000, 50000], [49000, 60000, 70000]), (0, (40000, 60000, 0)))
expect("ranges apart by less than their width", judged([30000, 40000, 50000], [60000, 70000, 65000]), (0, (40000, 65000, 0)))
expect("ranges apart", judged([30000, 40000, 35000], [60000, 70000, 65000]), (1, (35000, 65000, 1)))
expect("ranges apart, downwards", judged([60000, 70000, 65000], [30000, 40000, 35000]), (0, (65000, 35000, 1)))
expect("least change", judged([30000, 30000, 30000], [33000, 33000, 33000]), (0, (30000, 33000, 0)))
expect("least change, set", judged([30000, 30000, 30000], [33000, 33000, 33000], words=("--min-change", "1k")), (1, (30000, 33000, 1)))
MANY = [30000 + i for i in range(11)] + [90000]
expect("ranks of twelve", judged(MANY, [v + 10000 for v in MANY]), (1, (30005, 40005, 1)))
expect("ranks of seven", judged(MANY[5:], [v + 10000 for v in MANY[5:]])[0], 0)
expect("ranges are told", rows(sqlite3.connect("d.db"), "SELECT old_low, old_high, new_low, new_high FROM site_diff_range WHERE site = 1 AND figure = 'peak_bytes'"),
       [(30005, 90000, 40005, 100000)])

# ---- per operation ----
MARKS = "INSERT INTO mark VALUES(1, 10{0}, 'request', {0}, 0, 1);"
made("few.db", "".join(MARKS.format(i) for i in range(1, 4)))
made("many.db", "".join(MARKS.format(i) for i in range(1, 7)) + "UPDATE site SET allocations = 2 * allocations, frees = 2 * frees,"
     " allocated_bytes = 2 * allocated_bytes, temporary = 2 * temporary")
d = diff("--per", "mark:request", "few.db", "many.db")
expect("per mark", rows(d, "SELECT sum(abs(delta_allocations)), sum(abs(delta_allocated_bytes)) FROM site_diff"), [(0, 0)])
expect("per mark: keys", rows(d, "SELECT value FROM diff WHERE key IN ('per', 'old_operations', 'new_operations') ORDER BY key"), [(6,), (3,), ("mark:request",)])
d = diff("--per", "mark:request", "many.db", "few.db")
expect("per mark, rounded", rows(d, "SELECT sum(abs(delta_allocations)) FROM site_diff"), [(0,)])
PART = "UPDATE process SET temporary_allocations = NULL WHERE id = 1; UPDATE site SET temporary = NULL WHERE process = 1;"
made("part.db", PART)
made("part2.db", PART + "UPDATE site SET allocations = allocations * 2, temporary = temporary * 2")
d = diff("--per", "allocations", "part.db", "part2.db")
expect("--per: what is known of other sites", rows(d, "SELECT site, old_temporary, new_temporary FROM site_diff WHERE new_temporary IS NOT NULL"),
       [(7, 0, 0), (8, 400, 400)])
d = diff("--per", "allocations", "few.db", "many.db")
expect("per allocation", rows(d, "SELECT delta FROM diff_total WHERE figure = 'allocations'"), [(0,)])
made("seven.db", "".join(MARKS.format(i) for i in range(1, 8)))
diff("--per", "mark:request", "seven.db", "few.db")  # rounding must not break the sums

# ---- a first night ----
out, rc, err = run("-o", "no.db", "nothing.db", "new.db")
expect("no old", (rc, "No such file" in err, os.path.exists("no.db")), (2, True, False))
diff("--allow-missing-old", "--old", "nothing.db", "--old", "old.db", "--new", "new.db", said="'nothing.db' does not exist: compared with the remaining old runs")
d = diff("--exit-code", "--allow-missing-old", "nothing.db", "new.db", said="'nothing.db' does not exist: everything counts as new")
expect("first night", rows(d, "SELECT kind, max(significant), sum(old_live_bytes), sum(new_live_bytes) FROM site_diff GROUP BY 1"), [("new", 0, 0, 137000)])
out, rc, err = run("--fail-on", "delta_unfreed_bytes > 1", "d.db", tool="ms-report")
expect("budget of a first night", (rc, "passes: there was no old run" in err), (0, True))

# ---- what is not whole ----
CUT = "UPDATE process SET complete = 0, state = 'no end' WHERE id = 1;"
made("cut.db", CUT)
for pair in (("cut.db", "new.db"), ("new.db", "cut.db")):
    diff(*pair, status=2, said="'cut.db' is incomplete")
    expect(f"{pair}: the report", run("d.db", tool="ms-report")[1], 2)
    expect(f"{pair}: a budget", run("--fail-on", "delta_frees > 1000000", "d.db", tool="ms-report")[1], 2)
    expect(f"{pair}: allowed", run("--allow-partial", "d.db", tool="ms-report")[1], 0)
made("lost.db", "UPDATE process SET events_lost = 5, temporary_allocations = NULL; UPDATE site SET temporary = NULL")
diff("lost.db", "new.db")
out, rc, err = run("--fail-on", "delta_frees > 1000000", "d.db", tool="ms-report")
expect("old lost events", (rc, "events were lost in 'lost.db'" in err), (2, True))
made("other.db", "UPDATE process SET exe = '/bin/other' WHERE id = 1")
diff("old.db", "other.db", said="are from different programs: '/usr/bin/orderd' and '/bin/other'")

# ---- sampled ----
SAMPLED = """UPDATE process SET sampled_bytes = 1000; UPDATE site SET temporary = NULL; DELETE FROM process WHERE id = 2; DELETE FROM site WHERE process = 2;
    DELETE FROM snapshot WHERE process = 2; DELETE FROM site_stat WHERE snapshot > 3;
    INSERT INTO estimate SELECT 1, snapshot, site, 0, 'live_bytes', live_bytes * 9 / 10, live_bytes * 11 / 10, 0, 0, 0, 0 FROM site_stat WHERE snapshot <= 3;
    INSERT INTO estimate SELECT 1, 0, id, 0, 'allocated_bytes', allocated_bytes * 9 / 10, allocated_bytes * 11 / 10, 0, 0, 0, 0 FROM site;"""
made("s1.db", SAMPLED)
made("s2.db", "UPDATE site_stat SET live_bytes = live_bytes * 9 / 8 WHERE site = 1;" + SAMPLED)
made("s3.db", "UPDATE site_stat SET live_bytes = live_bytes * 2 WHERE site = 1;" + SAMPLED)
d = diff("--exit-code", "s1.db", "s2.db")
expect("sampled, within the interval", rows(d, "SELECT delta_low, delta_high FROM site_diff_range WHERE site = 1 AND figure = 'live_bytes'"), [(-1021, 11021)])
d = diff("--exit-code", "s1.db", "s3.db", status=1)
expect("sampled, outside", rows(d, "SELECT delta_low, delta_high FROM site_diff_range WHERE site = 1 AND figure = 'live_bytes'"), [(31055, 48945)])
expect("sampled: not known", rows(d, "SELECT count(delta_temporary) FROM site_diff"), [(0,)])
made("s4.db", "UPDATE process SET events_lost = 3;" + SAMPLED)
diff("s1.db", "s4.db")
expect("sampled, and lost", b"sampled: changes are estimates, events LOST in 's4.db'" in run("d.db", tool="ms-report")[0], True)

# ---- what is incomplete, in JUnit: the recording, what was compared, or both ----
# of another build, where nothing but the shape of stacks is left, and that allocated otherwise
NAMELESS = """UPDATE frame SET function = NULL, file = NULL, line = NULL WHERE module = 1; UPDATE module SET build_id = 'other' WHERE id = 1;
    UPDATE site SET allocations = allocations * 2 + 1, allocated_bytes = allocated_bytes * 3 + 7;"""
for changes, want in (("", []), (NAMELESS, ["comparison is complete"]), (CUT, ["recording is complete"]),
                      (NAMELESS + CUT, ["recording is complete", "comparison is complete"])):
    made("i.db", changes)
    into("d.db", "-q", "--allow-partial", "old.db", "i.db")
    suites = xml.fromstring(run("-q", "--junit", "d.db", tool="ms-report")[0])
    expect("JUnit: incomplete", [c.get("name") for c in suites.iter("testcase") if c.find("error") is not None], want)
    expect("JUnit: errors", (int(suites.get("errors")), int(suites.get("tests"))), (len(want), len(list(suites.iter("testcase")))))

# ---- budgets on changes ----
diff("old.db", "new.db")
for budget, status, said in [
        ("delta_unfreed_bytes > 77999", 1, "is broken: the figure is +78000 (+76.2 KiB, +132 %), most of it at site 1: "),
        ("delta_unfreed_bytes > 78000", 0, ""), ("delta_unfreed_bytes > 64k", 1, "broken"), ("delta_unfreed_bytes > +77k", 0, ""),
        ("delta_allocations > 10 %", 0, ""), ("delta_allocations < -29%", 1, "is broken: the figure is -389 (-30 %)"), ("delta_frees < -391", 0, ""),
        ("delta_unfreed_bytes > 132.2 %", 1, "broken"), ("delta_unfreed_bytes > 132.3 %", 0, ""),
        ("new_sites > 0", 1, "is broken: the figure is 1, most of it at site 9: "), ("new_live_bytes > 9000", 0, ""), ("gone_sites == 1", 1, "broken"),
        ("gone_live_bytes > 999", 1, "broken"), ("grown_live_bytes >= 70000", 1, "broken"), ("renamed_sites != 1", 0, ""), ("unchanged_sites < 6", 0, ""),
        ("delta_live_bytes > 100k", 0, ""), ("delta_unreachable_bytes > 0", 2, "one or both of the runs were not scanned for leaks (ms-record --leak-check)"),
        ('site("orderd::Parser::*").delta_live_bytes > 69999', 1, "is broken: the figure is +70000 (+68.4 KiB"), ('site("*Parser*").delta_live_bytes > 70000', 0, ""),
        ('site("orderd::Parser::dup").delta_live_blocks >= 7', 1, "most of it at site 1: "), ('site("nobody").delta_live_bytes > 0', 0, "its pattern matches no site"),
        ('site("*").delta_live_bytes > 77999', 1, "is broken: the figure is +78000 (+76.2 KiB, +132 %), most of it at site 1: "), ('site("*").delta_live_bytes > 132.3 %', 0, ""),
        ('site("*").delta_frees < -389', 1, "is broken: the figure is -390"), ('site("*").delta_sites > 0', 2, "site() has no figure 'delta_sites'"),
        ('site("*").new_sites > 0', 2, "site() has no figure 'new_sites'"), ('site("*").delta_unfreed_bytes > 0', 2, "no figure"),
        ("unmatched_sites > 0", 0, ""), ("delta_nothing > 1", 2, "no figure 'delta_nothing'"), ("new_peak > 1", 2, "no figure"), ("new_sites > 1 %", 2, "only delta_"),
        ("new_sites > -1", 2, "bad budget"), ("delta_frees > - ", 2, "expected a number"), ("delta_frees > %", 2, "expected a percentage such as 5%"),
        ("delta_frees > 1k", 2, "bad budget"), ("delta_frees ~ 1", 2, "expected >"), ("delta_frees", 2, "expected >")]:
    out, rc, err = run("--fail-on", budget, "--json", "d.db", tool="ms-report")
    expect(f"{budget}: status", rc, status)
    if said not in err or (said == "") != (err == ""):
        failures.append(f"{budget}: said {err!r}, not {said!r}")
out, rc, err = run("--fail-on", "delta_frees > 1", "old.db", tool="ms-report")
expect("no comparison", (rc, "nothing was compared" in err), (2, True))

# filters hid sites that the budget may apply to; without a comparison there is no change
out, rc, err = run("--not-function", "Parser", "d.db", tool="ms-filter")
out, rc, err = run("-q", "--summary", "--fail-on", 'site("*Parser*").delta_live_bytes > 0', tool="ms-report", data=out)
expect("a budget on hidden sites", (rc, "filters hid sites" in err), (2, True))
out, rc, err = run("-q", "--summary", "--fail-on", 'site("*").delta_live_bytes > 0', "old.db", tool="ms-report")
expect("a change without a comparison", (rc, "nothing was compared" in err), (2, True))
for form in ("--sarif", "--junit", "--github", "--md", "--text"):
    out, rc, err = run("-q", form, "--fail-on", 'site("orderd::Parser::*").delta_live_bytes > 69999', "d.db", tool="ms-report")
    expect(f"{form}: a broken budget on a site's change", (rc, b"delta_live_bytes" in out or form == "--text"), (1, True))

# ---- reports ----
with open("d.json", "wb") as f:
    f.write(run("--json", "d.db", tool="ms-report")[0])
expect("schema", subprocess.run([sys.executable, VALIDATE, SCHEMA, "d.json"], check=False).returncode, 0)
report = json.load(open("d.json", encoding="utf-8"))["diff"]
expect("JSON: order", [s["id"] for s in report["sites"]][:3], [1, 9, 10])
expect("JSON: totals", [report["totals"][k] for k in ("delta_live_bytes", "new_live_bytes", "gone_live_bytes", "grown_sites")], [78000, 9000, 1000, 1])
text = run("--text", "--ascii", "d.db", tool="ms-report")[0].decode()
for words in ("old.db -> new.db", "live at end", "+76.2 KiB", "CHANGED by more than noise: 3 sites", "orderd::Parser::dup", "6 unchanged, 1 gone, 1 renamed"):
    expect(f"text: {words}", words in text, True)
NEXT = [(["old.db", "new.db"], "1 new.db"), (["old.db", "new.db@end"], "1 new.db"), (["new.db", "-"], "6 FILE")]
for words, what in NEXT:  # through a pipe, there is no file of the comparison: that of the run which has the site
    out = run(*words, data=open("old.db", "rb").read())[0]
    out = run("--text", tool="ms-report", data=out)[0].decode()
    expect(f"{words}: next", out.split("\n")[-2], f"Next     ms-report --site {what}")
made("lone.db", "DELETE FROM site WHERE id = 2; DELETE FROM site_stat WHERE site = 2; DELETE FROM site_thread WHERE site = 2")
out = run("--text", tool="ms-report", data=run("old.db", "lone.db")[0])[0].decode()
expect("next: gone", out.split("\n")[-2], "Next     ms-report --site 2 old.db")
md = run("--md", "--fail-on", "delta_unfreed_bytes > 64k", "--fail-on", "delta_peak_bytes > 1G", "d.db", tool="ms-report")[0].decode()
expect("Markdown: key", md.split("\n")[0], "<!-- memscope:orderd -->")
for words in ("### Heap: :x:", "1 of 2 budgets broken", ":x: \u2264 +64.0 KiB", ":white_check_mark: \u2264 +1.00 GiB", "| new | +8.8 KiB |", "<details><summary>"):
    expect(f"Markdown: {words}", words in md, True)
table = run("--csv", "d.db", tool="ms-report")[0].decode().split("\r\n")
expect("CSV", (len(table), table[0].split(",")[:4], table[1].split(",")[:3]), (11, ["site", "kind", "significant", "matched"], ["1", "grown", "1"]))

found = json.loads(run("--sarif", "d.db", tool="ms-report")[0])["runs"][0]["results"]
expect("SARIF", [r["ruleId"] for r in found].count("memscope/regression"), 2)
expect("GitHub", run("--github", "d.db", tool="ms-report")[0].count(b"this site is new"), 1)
for words, what in ((["old.db", "new.db"], "old.db new.db"), (["old.db"], "old.db@mark:warm old.db"), (["--per", "allocations", "old.db", "new.db"], "--per allocations old.db new.db"),
                    (["--old", "old.db", "--old", "same.db", "--new", "new.db"], "--old old.db --old same.db --new new.db")):
    md = run("--md", tool="ms-report", data=run(*words)[0])[0].decode()
    expect(f"Markdown: how to reproduce {words}", md.split("\n")[-2], f"Reproduce: `ms-diff {what}` \\| `ms-report`")

# a thousand changes still fit into a comment
many = "".join(f"""INSERT INTO frame(id, process, module, address, function, inlined, runtime) VALUES({i}, 1, 1, {i}, 'ns<int>::very::long::name::of::function_{i}(int)', 0, 0);
    INSERT INTO stack VALUES({i}, 1, 2, {i}, 2); INSERT INTO site(id, process, stack, user_frame, allocations, frees, allocated_bytes, temporary)
    VALUES({i}, 1, {i}, {i}, 1, 0, 90000, 0); INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES(2, {i}, 90000, 1);""" for i in range(100, 1100))
made("many.db", many)
diff("old.db", "many.db")
md = run("--md", "--limit", "0", "d.db", tool="ms-report")[0]
expect("Markdown: size", len(md) < 60000, True)

# two large programs that have nothing in common
LARGE = "".join(f"""INSERT INTO frame(id, process, module, address, function, inlined, runtime) VALUES({i}, 1, 1, {i}, 'SIDE_{i}(int)', 0, 0);
    INSERT INTO stack VALUES({i}, 1, 2, {i}, 2); INSERT INTO site(id, process, stack, user_frame, allocations, frees, allocated_bytes, temporary)
    VALUES({i}, 1, {i}, {i}, {i}, 0, BYTES, 0);""" for i in range(100, 2300))
made("left.db", LARGE.replace("SIDE", "left").replace("BYTES", "9000"))
made("right.db", LARGE.replace("SIDE", "right").replace("BYTES", "77"))
d = diff("left.db", "right.db")
expect("nothing in common", rows(d, "SELECT kind, count(*) FROM site_diff GROUP BY 1"), [("gone", 2200), ("new", 2200), ("unchanged", 8)])

# ---- tables from somebody else ----
diff("old.db", "new.db")
for sql in ("UPDATE site_diff SET site = site + 100", "UPDATE site_diff SET kind = x'ff00', delta_live_bytes = 'x', new_live_bytes = -5, evidence = x'41ff'",
            "UPDATE diff SET value = 9223372036854775807 WHERE key != 'old'", "DELETE FROM diff_total", "DELETE FROM diff_run",
            "UPDATE diff_total SET delta = -9223372036854775808, old = 9223372036854775807", "UPDATE diff_hidden SET old_live_bytes = 9223372036854775807",
            "UPDATE site_diff SET delta_live_bytes = 9223372036854775807, delta_peak_bytes = -9223372036854775807",
            "UPDATE diff_run SET name = char(27) || '[2J<script>`|', side = 'x'"):
    shutil.copy("d.db", "hostile.db")
    db = sqlite3.connect("hostile.db")
    db.executescript(sql)
    db.commit()
    db.close()
    for words in (["--text"], ["--md"], ["--json"], ["--csv"], ["--fail-on", "delta_live_bytes > 1", "--fail-on", "new_live_bytes > 1 "]):
        out, rc, err = run(*words, "hostile.db", tool="ms-report")
        expect(f"{sql} {words}: status", rc in (0, 1, 2), True)
        expect(f"{sql} {words}: steers no terminal", b"\x1b" in out, False)
    expect(f"{sql}: filter", run("--min", "1k", "hostile.db", tool="ms-filter")[1], 0)
    expect(f"{sql}: diff", run("-q", "hostile.db", "new.db")[1], 0)

# ---- wrong usage ----
for words, said in [([], "nothing to compare"), (["old.db", "new.db", "same.db"], "one input too many: 'same.db'"), (["--old", "old.db"], "no new run"),
                    (["--new", "old.db"], "no old run"), (["--old", "", "new.db"], "empty file name"), (["-", "-"], "standard input can be read only once"),
                    (["--per", "seconds", "old.db", "new.db"], "bad --per 'seconds'"), (["--per", "mark:", "old.db", "new.db"], "bad --per"),
                    (["--per", "mark:no", "old.db", "new.db"], "'old.db' has no such mark"), (["--min-change", "4x", "old.db", "new.db"], "bad size"),
                    (["old.db@peak"], "is a single point"), (["--per", "allocations", "old.db"], "needs two inputs"),
                    (["old.db@1.5s", "new.db"], "no point '1.5s' in 'old.db'"), (["--exit-code=1", "old.db", "new.db"], "takes no argument"),
                    (["--old", "old.db", "--new", "new.db", "x"], "one input too many")]:
    out, rc, err = run("-o", "no.db", *words)
    expect(f"{words}", (rc, out, err.count("\n"), said in err, os.path.exists("no.db")), (2, b"", 1, True, False))

print("\n".join(failures) or "all as expected")
sys.exit(len(failures) > 0)
