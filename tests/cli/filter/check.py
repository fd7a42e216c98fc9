# SPDX-License-Identifier: MIT
"""Runs ms-filter on the fixture: which sites stay, and that what stays plus what is hidden is what there was."""
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys

TOOL = os.path.join(os.environ["BIN"], "ms-filter")
# Older spellings, which are recorded as what they stand for: --min-live as --min=live
OLD = dict(re.match("(.*)\t([^:]*)", line).groups() for line in subprocess.run([TOOL, "--help=old"], capture_output=True, text=True, check=True).stdout.splitlines())
INPUT = sys.argv[1]
ALL = {1, 2, 3, 4, 5, 6, 7, 8}
# option words -> sites that stay; by hand from fixture.sql
TABLE = [
    (["--min", "5k"], {1, 2, 3, 7}),  # at the peak 30000, 30000, 8000, 9000
    (["--min", "3500"], {1, 2, 3, 7}),  # 3 by its peak; 8 has 3000
    (["--min", "3000"], {1, 2, 3, 7, 8}),
    (["--min", "0"], ALL),  # 5 holds nothing anywhere
    (["--min-live", "3000"], {1, 2, 3, 7}),
    (["--min-live", "5000"], {1, 2, 7}),
    (["--min-live", "5001"], {1, 7}),
    (["--min-peak", "8000"], {1, 2, 3, 7}),
    (["--min-peak", "8001"], {1, 2, 7}),
    (["--min-allocated", "20000"], {1, 2, 7}),
    (["--min-allocated", "10000"], {1, 2, 6, 7, 8}),
    (["--min-blocks", "20"], {2, 3, 7}),
    (["--min-blocks", "11"], {2, 3, 7}),
    (["--min-blocks", "10"], {1, 2, 3, 4, 6, 7, 8}),
    (["--function", "Parser::(dup|x)\\("], {1, 3}),
    (["--function", "^main$"], {1, 2, 3, 6, 7, 8}),  # any frame
    (["--not-function", "^main$"], {4, 5}),
    (["--file", "^src/"], {1, 2, 3, 6}),
    (["--not-file", "quote\\.c$"], {1, 2, 3, 4, 5, 6}),
    (["--module", "libfontconfig"], {2}),
    (["--not-module", "libfontconfig"], ALL - {2}),
    (["--not-module", "libc\\.so"], {5, 7, 8}),  # _start is there in all others
    (["--thread", "io-1"], {3, 5, 6}),
    (["--thread", "io-*"], {3, 5, 6}),
    (["--thread", "4118"], {3, 5, 6}),
    (["--not-thread", "4118"], {1, 2, 4, 7, 8}),
    (["--thread", "quoted"], {7, 8}),
    (["--process", "orderd"], {1, 2, 3, 4, 5, 6}),
    (["--process", "4202"], {7, 8}),
    (["--process", "/opt/*/quoted"], {7, 8}),
    (["--not-process", "quot*"], {1, 2, 3, 4, 5, 6}),
    (["--temporary"], {5, 8}),
    (["--not-temporary"], ALL - {5, 8}),
    (["--runtime"], {4, 6}),
    (["--not-runtime"], ALL - {4, 6}),  # 5 is not known; 6 is named
    (["--one-time"], {4, 6}),
    (["--not-one-time"], ALL - {4, 6}),
    (["--min-allocations", "200"], {1, 3, 6, 8}),
    (["--min-lifetime", "3ms"], {3, 5, 6, 7, 8}),  # nothing of 4 was freed
    (["--max-lifetime", "5ms"], {1, 2, 3, 5}),
    (["--min-age", "15ms"], {3, 4, 6, 7}),  # 3 at the mark
    (["--max-age", "20ms"], {1, 2, 4}),
    (["--size", "4k.."], {7}),
    (["--size", "..20"], ALL),
    (["--size", "5001.."], set()),
    (["--size", "32..63"], set()),
    (["--not-size", "4500..4600"], ALL - {7}),
    (["--first", "..3ms"], {1, 2, 3}),
    (["--first", "mark:warm.."], {4, 5, 6}),  # the other process has no such mark
    (["--not-first", "mark:warm..5ms"], ALL - {4, 5}),
    (["--last", "-30ms..end"], {7, 8}),
    (["--not-last", "start..50ms"], {6, 7, 8}),
    (["--verdict", "unreachable"], {1}),
    (["--verdict", "none"], {4, 5, 6, 8}),
    (["--not-verdict", "reachable"], ALL - {2}),
    (["--where", "live_bytes >= 5000 or file ~ 'log\\.cpp$'"], {1, 2, 6, 7}),
    (["--where", "not (pid = 4117 and lifetime < 4ms)"], {5, 6, 7, 8}),  # 4 has no lifetime
    (["--where", "frees is not null and frees < allocations and 1 <= live_blocks"], {1, 2, 3, 4, 6, 7}),
    (["--where", "stack ~ '^main$' && verdict != growing"], {1, 2, 7}),
    (["--not-where", "one_time is not null or 3 > id"], {3, 5, 7, 8}),
    (["--where", "(" * 98 + "id = 3" + ")" * 98], {3}), (["--where", "not " * 99 + "id = 3"], ALL - {3}),
    (["--where", "not (not verdict = unreachable)"], {1}),
    # as deep and as long as may be
    (["--where", "id = 3 or (id != 5 and (" * 49 + "id = 4" + "))" * 49], {3, 4}),
    (["--where", " or ".join(["id = 5", "not id = id"] * 3000)], {5}),
    (["--where", "function = 'it''s' or id = 3 and exe != \"it's\""], {3}),
    (["--where", "stack is null"], set()), (["--where", "stack != main"], {4}), (["--where", "'n' < stack"], {1, 3, 6}),
    (["--where", "live_bytes < 8388608T"], ALL), (["--where", "live_bytes > 8388608T"], set()),  # 2^63
    (["--first", "0s..9223372036.854776s"], ALL),  # 2^63 ns and more
    (["--suppress", "lsan.supp"], ALL - {1, 3, 7, 8}),
    (["--suppress", "valgrind.supp"], ALL - {1, 2, 8}),
    (["--not-function", "nothing like it"], ALL),
    (["--function", "nothing like it"], set()),
]
TOTALS = ["allocations", "frees", "reallocations", "failed_allocations", "allocated_bytes"]
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got!r}, not {wanted!r}")


def run(words, data=None):
    """Image, status and standard error of ms-filter with `words`."""
    source = [] if data is not None else [INPUT]
    r = subprocess.run([TOOL, *words, *source], input=data, capture_output=True, check=False)
    return r.stdout, r.returncode, r.stderr.decode()


def load(image):
    db = sqlite3.connect(":memory:")
    with open("image.db", "wb") as f:
        f.write(image)
    sqlite3.connect("image.db").backup(db)
    return db


def rows(db, sql):
    return db.execute(sql).fetchall()


def sites(db):
    return {i for (i,) in rows(db, "SELECT id FROM site")}


def add_up(what, db, stages=False):
    """Shown + hidden = total, in every process and moment; and nothing is left that nobody needs."""
    original = sqlite3.connect(INPUT)
    for table in ("process", "snapshot", "thread", "module"):
        expect(f"{what}: {table}", rows(db, f"SELECT * FROM {table}"),
               rows(original, f"SELECT * FROM {table}"))
    for column in TOTALS:
        expect(f"{what}: {column}", rows(db, f"""SELECT p.id, p.{column} - (SELECT coalesce(sum({column}), 0)
            FROM site WHERE process = p.id) - (SELECT coalesce(sum({column}), 0) FROM hidden WHERE process = p.id)
            FROM process p"""), [(1, 0), (2, 0)])
    expect(f"{what}: temporary", rows(db, """SELECT p.temporary_allocations - (SELECT coalesce(sum(temporary), 0)
        FROM site WHERE process = p.id) - (SELECT coalesce(sum(temporary), 0) FROM hidden WHERE process = p.id)
        FROM process p"""), [(0,), (0,)])
    for column in ("maps", "mapped_bytes"):
        expect(f"{what}: {column}", rows(db, f"""SELECT p.id, p.{column} - (SELECT coalesce(sum({column}), 0)
            FROM site WHERE process = p.id) - (SELECT coalesce(sum({column}), 0) FROM hidden
            WHERE process = p.id AND snapshot IS NULL) FROM process p"""), [(1, 0), (2, None)])
    for column in ("usable_bytes", "mapped_bytes"):
        expect(f"{what}: {column}", rows(db, f"""SELECT t.{column} - (SELECT coalesce(sum({column}), 0)
            FROM site_stat WHERE snapshot = t.id) - (SELECT coalesce(sum({column}), 0) FROM hidden
            WHERE snapshot = t.id AND process = t.process) FROM snapshot t"""), [(0,)] * 3 + [(None,)] * 2)
    expect(f"{what}: unknown stays unknown", rows(db, """SELECT count(*) FROM hidden
        WHERE process = 2 AND coalesce(maps, mapped_bytes, usable_bytes) IS NOT NULL"""), [(0,)])
    for column in ("live_bytes", "live_blocks"):
        expect(f"{what}: {column}", rows(db, f"""SELECT t.{column} - (SELECT coalesce(sum({column}), 0)
            FROM site_stat WHERE snapshot = t.id) - (SELECT coalesce(sum({column}), 0) FROM hidden
            WHERE snapshot = t.id AND process = t.process) FROM snapshot t"""), [(0,)] * 5)
    expect(f"{what}: number of sites", rows(db, """SELECT (SELECT count(*) FROM site) +
        (SELECT coalesce(sum(sites), 0) FROM hidden WHERE snapshot IS NULL)"""), [(8,)])
    expect(f"{what}: left over", rows(db, """
        WITH RECURSIVE up(id) AS (SELECT stack FROM site UNION SELECT stack FROM free_site UNION SELECT k.parent FROM stack k JOIN up USING (id))
        SELECT 'stack', id FROM stack WHERE id NOT IN (SELECT id FROM up WHERE id IS NOT NULL)
        UNION ALL SELECT 'frame', id FROM frame WHERE id NOT IN (SELECT frame FROM stack)
        UNION ALL SELECT 'site_stat', site FROM site_stat WHERE site NOT IN (SELECT id FROM site)
        UNION ALL SELECT 'free_site', site FROM free_site WHERE site NOT IN (SELECT id FROM site)
        UNION ALL SELECT 'site_thread', site FROM site_thread WHERE site NOT IN (SELECT id FROM site)
        UNION ALL SELECT 'site_size', site FROM site_size WHERE site NOT IN (SELECT id FROM site)
        UNION ALL SELECT 'site_lifetime', site FROM site_lifetime WHERE site NOT IN (SELECT id FROM site)"""), [])
    expect(f"{what}: sizes and lifetimes of what stays", rows(db, """SELECT id FROM site s WHERE
        (allocations, allocated_bytes, temporary) != (SELECT sum(allocations), sum(allocated_bytes), sum(temporary) FROM site_size WHERE site = s.id)
        OR 2 * frees != (SELECT sum(frees) FROM site_lifetime WHERE site = s.id)"""), [])
    expect(f"{what}: missing", rows(db, """SELECT id FROM site WHERE stack NOT IN (SELECT id FROM stack)
        UNION ALL SELECT id FROM site WHERE user_frame NOT IN (SELECT id FROM stack)
        UNION ALL SELECT site FROM free_site WHERE stack NOT IN (SELECT id FROM stack)
        UNION ALL SELECT id FROM stack WHERE parent NOT IN (SELECT id FROM stack)
        UNION ALL SELECT id FROM stack WHERE frame NOT IN (SELECT id FROM frame)"""), [])
    expect(f"{what}: integrity", rows(db, "PRAGMA integrity_check"), [("ok",)])


def check(what, words, wanted, data=None, stages=1):
    image, status, message = run(words, data)
    expect(f"{what}: status", status, 0)
    if status != 0:
        failures.append(message)
        return image
    db = load(image)
    expect(f"{what}: sites", sites(db), wanted)
    # A warning exactly when the last of them went.
    expect(f"{what}: message", "are hidden by" in message, not wanted)
    add_up(what, db)
    expect(f"{what}: stages", rows(db, "SELECT count(DISTINCT stage), max(stage), count(*) FROM hidden"),
           [(stages, stages, 7 * stages)])
    return image


def alone_pairs_stages():
    alone = {}
    for words, wanted in TABLE:
        alone[tuple(words)] = check(" ".join(words), words, wanted)
    # Each option with each other one, and some twice
    firsts = [next(t for t in TABLE if t[0][0] == name) for name in dict.fromkeys(t[0][0] for t in TABLE)]
    again = [(a, b) for a, b in itertools.combinations(TABLE, 2) if a[0][0] == b[0][0]]
    for (a, keep_a), (b, keep_b) in [*itertools.combinations(firsts, 2), *again]:
        either = a[0] == b[0] and not a[0].startswith("--not") and a[0] != "--suppress"
        check(" ".join(a + b), a + b, keep_a | keep_b if either else keep_a & keep_b)
    # One stage after the other, on a sample of the pairs
    for (a, keep_a), (b, keep_b) in list(itertools.combinations(TABLE, 2))[::13]:
        if keep_a:
            words = " ".join(a + ["|"] + b)
            image = check(words, b, keep_a & keep_b, alone[tuple(a)], 2)
            expect(words, json.loads(rows(load(image), "SELECT value FROM meta WHERE key = 'filters'")[0][0]),
                   [text(a), text(b)])


def text(words):
    """The words as a shell would have to read them, which is how they are recorded."""
    plain = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-,%@=^")
    quoted = [w if set(w) <= plain else "'" + w.replace("'", "'\\''") + "'" for w in words]
    return ":".join([OLD[words[0]], *quoted[1:]]) if words[0] in OLD else " ".join(quoted)


def tool(name, words, data):
    r = subprocess.run([os.path.join(os.environ["BIN"], name), *words, "-"], input=data, capture_output=True, check=False)
    expect(f"{name} {words}: {r.stderr.decode()}", r.returncode, 0)
    return r.stdout


def through_a_comparison():
    """ms-filter | ms-diff | ms-filter | ms-report: what is hidden on both sides still adds up, for each option."""
    names = dict.fromkeys(t[0][0] for t in TABLE)
    for name in names:
        words, wanted = next(t for t in TABLE if t[0][0] == name and t[1])
        what = " ".join(words) + " | ms-diff | "
        compared = tool("ms-diff", [], run(words)[0])
        for later in (["--min-delta", "1k"], words):
            db = load(tool("ms-filter", later, compared))
            add_up(what + " ".join(later), db, stages=True)
            expect(what + "stages", rows(db, "SELECT count(DISTINCT stage), max(stage) FROM hidden"), [(2, 2)])
            for figure in ("live_bytes", "live_blocks"):
                for side in ("old", "new"):
                    expect(what + f"{' '.join(later)}: {side} {figure}", rows(db, f"""SELECT t.{side} - (SELECT coalesce(sum({side}_{figure}), 0)
                        FROM site_diff) - (SELECT coalesce(sum({side}_{figure}), 0) FROM diff_hidden)
                        FROM diff_total t WHERE figure = '{figure}'"""), [(0,)])
            with open("image.db", "rb") as f:
                report = json.loads(tool("ms-report", ["--json"], f.read()))
            expect(what + "report", report["omitted"]["hidden_sites"] > 0, True)
        expect(what + "sites", sites(load(compared)) >= wanted, True)
    _, status, message = run(["--min-delta", "1k"])
    expect("no comparison", (status, message), (2, "ms-filter: option '--min=delta': the snapshot is not a comparison: ms-diff makes one\n"))


SUPPRESSIONS = {
    "idle.supp": "{\n x\n Memcheck:Leak\n match-leak-kinds: none\n fun:x\n}\n",
    "lsan.supp": """# what the test hides
leak:Parser::dup
  leak:^/opt/quote*quoted$
leak:never_there
""",
    "valgrind.supp": """{
   parser, by malloc
   Memcheck:Leak
   match-leak-kinds: definite,indirect
   fun:malloc
   fun:strdup
   fun:orderd::Parser*
}
{
   not ours
   Memcheck:Cond
   anything goes here
   fun:x
}
# with the library's object and frames in between
{
   font
   Memcheck,Addrcheck:Leak
   obj:*/libfontconfig.so.?
   ...
   fun:_start
}
{
   quote, by line
   Memcheck:Leak
   fun:*alloc
   src:quote.c:5
}
{
   of a verdict that 3 does not have
   Memcheck:Leak
   match-leak-kinds: definite
   fun:malloc
   fun:orderd::Parser*
}
{
   unknown where 4 was not scanned
   Memcheck:Leak
   match-leak-kinds: reachable
   fun:calloc
   fun:init_cacheinfo
}
""",
}


def inverted():
    """--invert keeps what is hidden without it, for every condition; and sums add up."""
    for words, wanted in TABLE:
        check(" ".join(["--invert", *words]), ["--invert", *words], ALL - wanted)
    expect("said", rows(load(run(["--one-time", "--invert"])[0]), "SELECT DISTINCT filter FROM hidden"),
           [("--only=one-time --invert",)])


def suppressions():
    """What each line hid is said and written down; what cannot be judged, too."""
    image, _, message = run(["--suppress", "lsan.supp"])
    expect("lsan", rows(load(image), "SELECT * FROM suppression"), [
        (1, "lsan.supp", 2, "leak:Parser::dup", 2, 43000, 20, 450, 68000, 1, "some frames have no names", None, None),
        (1, "lsan.supp", 3, "leak:^/opt/quote*quoted$", 2, 9000, 40, 300, 30000, 1, "some frames have no names", None, None),
        (1, "lsan.supp", 4, "leak:never_there", 0, 0, 0, 0, 0, 1, "some frames have no names", None, None)])
    for part in ("'leak:Parser::dup' (lsan.supp, line 2) hides 2 sites: 42.0 KiB live at the end, 450 allocations",
                 "'leak:never_there' (lsan.supp, line 4) was not applied to 1 site: some frames have no names"):
        expect(f"lsan: '{part}' in {message!r}", part in message, True)
    image, _, message = run(["--suppress", "valgrind.supp"])
    expect("valgrind", rows(load(image), "SELECT line, rule, sites, live_bytes, not_applicable, note FROM suppression"), [
        (1, "parser, by malloc", 1, 40000, 0, None), (16, "font", 1, 5000, 0, None),
        (23, "quote, by line", 1, 0, 3, "some frames have no names"),
        (29, "of a verdict that 3 does not have", 0, 0, 1, "some frames have no names"),
        (36, "unknown where 4 was not scanned", 0, 0, 1, "no leak scan judged the blocks")])
    expect("valgrind: verdict", "line 36) was not applied to 1 site: no leak scan judged the blocks" in message, True)
    _, _, message = run(["--not-function", "^$", "--suppress", "idle.supp"])
    expect("idle", message, "ms-filter: 1 suppression matches nothing\n")
    for text, line in (("leak:a\nbad\n", 2), ("\n#\nleak:\n", 3), ("race:x\n", 1), ("leak:*\n", 1), ("{\n a\n Memcheck:Leak\n}\n", 1),
                       ("{\n a\n Memcheck:Leak\n fun:x\n", 1), ("{\n a\n Memcheck:Leak\n foo:x\n}\n", 4), ("{\n}\n", 1),
                       ("{\n a\n Leak\n fun:x\n}\n", 3), ("{\n a\n Memcheck:Leak\n fun:\n}\n", 4), ("{\n a\n M:L\n}\nfun:x\n", 5),
                       ("{\n a\n Memcheck:Leak\n match-leak-kinds: all,some\n fun:x\n}\n", 4), ("leak:a\nleak:\0\n", 2)):
        with open("bad.supp", "w", encoding="utf-8") as f:
            f.write(text)
        image, status, message = run(["--suppress", "bad.supp"])
        expect(f"{text!r}", (image, status, message.startswith(f"ms-filter: bad suppression in 'bad.supp', line {line}: "),
                             message.count("\n")), (b"", 2, True, 1))


def hidden_exactly():
    """The rows of one stage, figure by figure."""
    db = load(run(["--min", "5k"])[0])
    expect("hidden of --min 5k", rows(db, "SELECT * FROM hidden ORDER BY process, snapshot"), [
        (1, "--min 5k", 1, None, 3, None, None, 450, 430, 0, 2, 12000, 430, 15, 15000, None),
        (1, "--min 5k", 1, 1, 2, 2000, 20, None, None, None, None, None, None, None, 1000, 2160),
        (1, "--min 5k", 1, 2, 2, 2000, 20, None, None, None, None, None, None, None, 1000, 2160),
        (1, "--min 5k", 1, 3, 0, 0, 0, None, None, None, None, None, None, None, 700, 0),
        (1, "--min 5k", 2, None, 1, None, None, 200, 200, 0, 0, 10000, 200, None, None, None),
        (1, "--min 5k", 2, 4, 1, 3000, 10, None, None, None, None, None, None, None, None, None),
        (1, "--min 5k", 2, 5, 0, 0, 0, None, None, None, None, None, None, None, None, None),
    ])
    db = load(run(["--function", "it's"])[0])
    expect("quoting", rows(db, "SELECT value FROM meta WHERE key = 'filters'"),
           [(json.dumps(["--function 'it'\\''s'"], separators=(",", ":")),)])


def points():
    """INPUT@POINT restricts --min and --min-blocks to that moment."""
    for point, words, wanted in (("mark:warm", ["--min", "1"], {3}), ("end", ["--min", "5k"], {1, 7}),
                                 ("end", ["--min-blocks", "11"], {7})):
        r = subprocess.run([TOOL, *words, f"{INPUT}@{point}"], capture_output=True, check=False)
        expect(f"{words} at {point}", (r.returncode, sites(load(r.stdout))), (0, wanted))


def without_a_stack():
    """A site without a stack is neither one of the runtime nor of a function; what a comparison finds in its stack is not known."""
    db = load(run([])[0])
    db.execute("UPDATE site SET stack = NULL, user_frame = NULL WHERE id = 5")
    db.commit()
    for words, wanted in ((["--runtime"], {4, 6}), (["--function", ".*"], ALL - {5}), (["--not-module", "libc"], {5, 7, 8}),
                          (["--where", "stack is null"], {5}), (["--where", "not stack ~ main"], {4}), (["--where", "frames is not null"], ALL - {5})):
        image, _, message = run(words, db.serialize())
        expect(f"no stack: {words}: {message}", sites(load(image)), wanted)


def same_bytes():
    """The same from a file, a pipe and with -o; twice; and smaller than before."""
    words = ["--min-live", "5001"]
    image = run(words)[0]
    with open(INPUT, "rb") as f:
        expect("from a pipe", run(words, f.read())[0] == image, True)
    subprocess.run([TOOL, *words, "-o", "out.db", INPUT], check=True)
    with open("out.db", "rb") as f:
        expect("with -o", f.read() == image, True)
    expect("again", run(words)[0] == image, True)
    whole = run([])[0]
    expect("no condition, no stage", rows(load(whole), "SELECT count(*) FROM hidden"), [(0,)])
    expect("in place", subprocess.run([TOOL, *words, "-o", "out.db", "out.db"], check=False).returncode, 0)


def main():
    for name, content in SUPPRESSIONS.items():
        with open(name, "w", encoding="utf-8") as f:
            f.write(content)
    alone_pairs_stages()
    through_a_comparison()
    inverted()
    suppressions()
    hidden_exactly()
    points()
    without_a_stack()
    same_bytes()
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
