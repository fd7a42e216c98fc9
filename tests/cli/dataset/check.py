# SPDX-License-Identifier: MIT
"""Checks ms-snap --dataset and ms-diff --history; see dataset.sh."""
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

FILES = ("run", "site", "site_stat")
failures = 0


def fail(what):
    """Notes it."""
    global failures
    failures += 1
    print("FAILED:", what)


def equal(what, have, want):
    """Notes where these are not."""
    if have != want:
        fail(f"{what}: {have!r}, not {want!r}")


def run(*command):
    """Status, standard output and standard error; a crash is a failure of its own."""
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if r.returncode < 0 or "Sanitizer" in r.stderr or "runtime error" in r.stderr:
        fail(f"{command}: {r.returncode} {r.stderr[-2000:]}")
    return r.returncode, r.stdout, r.stderr


def must(*command):
    """Runs what must go well."""
    status, out, err = run(*command)
    if status:
        fail(f"{command}: {status} {err}")
    return out


def record(path, *arguments):
    """A trace of the program with these arguments."""
    must("ms-record", "-q", "--leak-check=yes", "-o", path, "--", "./app", *map(str, arguments))
    return path


def key_options(keys):
    """--key of each."""
    return [x for k in keys for x in ("--key", k)]


def append(folder, trace, *keys):
    """Appends a run that is not there yet."""
    must("ms-snap", "--dataset", folder, *key_options(keys), trace)


def partitions(folder):
    """Folders of runs, in order of their names."""
    return sorted(glob.glob(folder + "/v1-*"))


def unpack(path):
    """The bytes of a file."""
    return subprocess.run(["zstd", "-dqc", path], stdout=subprocess.PIPE, check=True).stdout


def rows(text):
    """Fields of each row: texts, numbers, None."""
    found, at = [], 0
    while at < len(text):
        fields, end = [], ","
        while end == ",":
            if text[at] == '"':
                s = ""
                while True:
                    close = text.index('"', at + 1)
                    s += text[at + 1:close]
                    at = close + 1
                    if text[at] != '"':
                        break
                    s += '"'
                fields.append(s)
            else:
                stop = min(x for x in (text.find(",", at), text.find("\n", at)) if x >= 0)
                word = text[at:stop]
                fields.append(None if word == "\\N" else float(word) if "." in word or "e" in word else int(word))
                at = stop
            end = text[at]
            at += 1
        found.append(fields)
    return found


def columns():
    """Of each file, from the manual page."""
    found, name = {}, None
    with open(os.path.join(os.environ["SRC"], "man/ms-dataset.5"), encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[:1] == [".Ss"]:
                name = words[1].removesuffix(".csv.zst") if words[1].endswith(".csv.zst") else None
            elif words[:1] == [".It"] and name:
                found.setdefault(name, []).append(words[2])
    return found


def table_columns():
    """Of each file, from the tables for other engines."""
    with open(os.path.join(os.environ["SRC"], "man/ms-dataset.5"), encoding="utf-8") as f:
        text = f.read().split('.\\" recipe: tables.sql\n')[1].split("\n.Ed\n")[0]
    return {t: [c.split()[0] for c in body.split(",")] for t, body in re.findall(r"CREATE TABLE (\w+)\(([^)]*)\)", text)}


def read(partition):
    """The rows of a partition by file, as dicts by the names of the page."""
    titles, all_rows = columns(), {}
    for name in FILES:
        fields = rows(unpack(f"{partition}/{name}.csv.zst").decode())
        for f in fields:
            equal(f"columns of {name}", len(f), len(titles[name]))
        all_rows[name] = [dict(zip(titles[name], f)) for f in fields]
    return all_rows


def query(path, sql):
    """Rows of a snapshot."""
    db = sqlite3.connect(path)
    found = db.execute(sql).fetchall()
    db.close()
    return found


equal("tables.sql", table_columns(), columns())

# ---- a partition says what the snapshot says ----
TRACE = record("a.trace", 4, 1000, 2000, 10000, "send_mail")
append("one", TRACE, "test=odd \"name\", 'x'", "commit=abc", "time=1790000000")
must("ms-snap", "-o", "a.db", TRACE)
equal("files", sorted(os.listdir(partitions("one")[0])), sorted(f + ".csv.zst" for f in FILES))
equal("left over", os.listdir("one/.new"), [])
p = read(partitions("one")[0])
r = p["run"][0]
equal("rows of run", len(p["run"]), 1)
equal("keys", (r["commit_id"], r["test"], r["time_s"]), ("abc", "odd \"name\", 'x'", 1790000000))
equal("keys as JSON", json.loads(r["keys"]), {"commit": "abc", "test": "odd \"name\", 'x'"})
equal("its folder", os.path.basename(partitions("one")[0]), "v1-" + r["run"])
h = 0x6C62272E07BB014262B821756295C58D
for c in r["keys"].encode() + b"\0":
    h = (h ^ c) * ((1 << 88) + 0x13B) & ((1 << 128) - 1)
equal("the id", r["run"], f"{h:032x}")
FIGURES = ("allocations", "frees", "reallocations", "failed_allocations", "allocated_bytes", "temporary_allocations", "peak_bytes", "peak_blocks",
           "unfreed_bytes", "unfreed_blocks", "unreachable_bytes", "unreachable_blocks", "duration_ns", "started_ns", "exe", "complete")
equal("figures", tuple(r[f] for f in FIGURES), query("a.db", f"SELECT {', '.join(FIGURES)} FROM process")[0])
# 50 words, 20 parts of an index, the three planted blocks and the buffer of stdout
equal("known", (r["allocations"], r["frees"], r["unfreed_blocks"], r["allocated_bytes"]), (74, 51, 23, 50 * 20 + 4 * 1225 + 20 * 400 + 13000 + 4096))
equal("mapped", r["mapped_peak_bytes"], None)
equal("sites", sorted((s["site"], s["sites"], s["allocations"], s["allocated_bytes"], s["function"], s["line"], s["entry"]) for s in p["site"]),
      query("a.db", "SELECT s.key, count(*), sum(s.allocations), sum(s.allocated_bytes), p.function, p.line, s.entry FROM site s JOIN place p ON p.site = s.id"
                    " GROUP BY s.key ORDER BY s.key"))
mail = [s for s in p["site"] if s["callers"].startswith("send_mail < main < ")]
equal("planted", [(s["sites"], s["allocated_bytes"], s["verdict"]) for s in mail], [(3, 13000, "reachable")])
equal("live", sorted((s["moment"], s["site"], s["live_bytes"], s["live_blocks"]) for s in p["site_stat"]),
      query("a.db", "SELECT t.label, s.key, sum(c.live_bytes), sum(c.live_blocks) FROM site_stat c JOIN snapshot t ON t.id = c.snapshot JOIN site s ON s.id = c.site"
                    " WHERE c.live_blocks > 0 GROUP BY 1, 2 ORDER BY 1, 2"))
equal("verdicts", {s["verdict"] for s in p["site"]}, {"reachable", None})
# nobody looked: not known, not 0
must("ms-record", "-q", "--leak-check=no", "-o", "b.trace", "--", "./app", "4", "0", "0", "0", "-")
append("two", "b.trace", "test=b")
q = read(partitions("two")[0])
equal("nobody looked", (q["run"][0]["unreachable_bytes"], {s["unreachable_bytes"] for s in q["site"]}, q["run"][0]["commit_id"]), (None, {None}, None))
equal("its own time", q["run"][0]["time_s"], q["run"][0]["started_ns"] // 10 ** 9)
# a moment of one's own beside the two that all runs have, and a snapshot as well
must("ms-snap", "--dataset", "two", "--key", "test=at", "--at", "start", "-o", "at.db", "b.trace")
equal("a snapshot as well", query("at.db", "SELECT label FROM snapshot ORDER BY label"), [("end",), ("peak",), ("start",)])
# calls of one function from two lines have one key, and are one row
with open("calls.c", "w", encoding="utf-8") as f:
    f.write("#include <stdlib.h>\nvoid *volatile kept[2];\nint main(void)\n{\n\tkept[0] = malloc(10);\n\tkept[1] = malloc(30);\n\treturn 0;\n}\n")
must("gcc", "-g", "-O0", "-o", "calls", "calls.c")
must("ms-record", "-q", "--leak-check=yes", "-o", "calls.trace", "--", "./calls")
append("lines", "calls.trace", "test=calls")
equal("two lines", [(s["sites"], s["allocations"], s["allocated_bytes"], s["line"]) for s in read(partitions("lines")[0])["site"]], [(2, 2, 40, 6)])
equal("their bytes", [(s["moment"], s["live_bytes"], s["live_blocks"]) for s in read(partitions("lines")[0])["site_stat"]], [("peak", 40, 2), ("end", 40, 2)])

# several processes are one run: sums, the peak of their sum, and one row for what they have in common
must("ms-record", "-q", "--follow=all", "--leak-check=yes", "-o", "tree.trace", "--", "sh", "-c", "./app 4 0 5000 0 keep_log; ./app 4 0 7000 0 keep_log; true")
must("ms-snap", "--dataset", "tree", "--key", "test=tree", "-o", "tree.db", "tree.trace", "tree.trace.d")
t = read(partitions("tree")[0])
equal("sums", tuple(t["run"][0][f] for f in ("processes", "allocations", "unfreed_bytes", "peak_bytes", "peak_blocks", "end_rss_bytes")),
      query("tree.db", "SELECT count(*), sum(allocations), sum(unfreed_bytes), (SELECT value FROM meta WHERE key = 'sum_peak_bytes'), NULL, NULL FROM process")[0])
equal("of two processes", [(s["sites"], s["allocations"], s["allocated_bytes"]) for s in t["site"] if (s["callers"] or "").startswith("keep_log <")], [(2, 2, 12000)])
# a sampled run says so
must("ms-record", "-q", "--sample=4k", "-o", "sampled.trace", "--", "./app", "4", "0", "500000", "0", "keep_log")
append("sampled", "sampled.trace", "test=sampled")
equal("sampled", read(partitions("sampled")[0])["run"][0]["sampled_bytes"], 4096)
compare_status = run("ms-diff", "-o", "diff.db", "--history", "sampled", "sampled.trace")[0]
equal("sampled against itself", (compare_status, query("diff.db", "SELECT sum(significant) FROM site_diff")), (0, [(0,)]))

# ---- what is refused ----
for keys in (["commit=abc", "test=odd \"name\", 'x'"], ["test=odd \"name\", 'x'", "commit=abc", "time=5"]):
    status, out, err = run("ms-snap", "--dataset", "one", *key_options(keys), TRACE)
    equal("the same run", (status, "already" in err, err.count("\n"), len(partitions("one"))), (2, True, 1, 1))
open("file", "w", encoding="utf-8").close()
for why, words in {"a file": ["--dataset", "file", "--key", "a=b"], "needs a --key": ["--dataset", "new"], "needs a --key ": ["--dataset", "new", "--key", "time=1"],
                   "NAME=VALUE": ["--dataset", "new", "--key", "a"], "one line": ["--dataset", "new", "--key", "a=x\ny"], "one line ": ["--dataset", "new", "--key", "a="],
                   "1970": ["--dataset", "new", "--key", "time=now"], "one value": ["--dataset", "new", "--key", "a=1", "--key", "a=2"],
                   "--dataset": ["--key", "a=1"], "keys of call stacks": ["--dataset", "new", "--key", "a=1", "--anonymize"]}.items():
    status, out, err = run("ms-snap", *words, TRACE)
    equal(f"refused: {why}", (status, err.count("\n"), os.path.exists("new")), (2, 1, False))
    if why.strip() not in err and why != "a file":
        fail(f"refused: {why}: {err}")
# a disk that is full half-way
status, out, err = run("sh", "-c", f"ulimit -f 0; exec ms-snap --dataset full --key a=1 {TRACE}")
equal("no room", (status, err.count("\n"), partitions("full"), os.listdir("full/.new")), (2, 1, [], []))
# a trace that is not whole is told, and no part of a history
with open(TRACE, "rb") as f, open("cut.trace", "wb") as g:
    g.write(f.read()[:2000])
status, out, err = run("ms-snap", "--dataset", "cut", "--key", "a=1", "cut.trace")
equal("incomplete", (status, read(partitions("cut")[0])["run"][0]["complete"]), (2, 0))
status, out, err = run("ms-diff", "-o", "x.db", "--history", "cut", TRACE)
equal("an incomplete run is no history", (status, "complete" in err), (2, True))

# ---- several writers, and killed ones ----
def start(*words):
    """A writer."""
    return subprocess.Popen(["ms-snap", "--dataset", "many", *words, TRACE], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(writers):
    """How many of them did it."""
    return [w.communicate() and w.returncode for w in writers].count(0)


equal("eight writers of one run", ended([start("--key", "test=same") for _ in range(8)]), 1)
equal("eight writers of eight runs", ended([start("--key", f"test={i}") for i in range(8)]), 8)
random.seed(1)
killed = [start("--key", f"test=killed{i}") for i in range(60)]
for w in killed:
    time.sleep(random.uniform(0, 0.004))
    w.send_signal(signal.SIGKILL)
    for partition in partitions("many"):  # what has its name is whole, at any moment
        equal("files while others write", sorted(os.listdir(partition)), sorted(f + ".csv.zst" for f in FILES))
done = ended(killed)
if not 9 + done <= len(partitions("many")) <= 69:  # one may be killed when its run is there
    fail(f"partitions: {len(partitions('many'))}, {done} ended well")
for partition in partitions("many"):
    equal("each is whole", [(len(p["run"]), len(p["site"]) > 3) for p in [read(partition)]], [(1, True)])
os.makedirs("many/.new/abandoned")
shutil.copy(partitions("many")[0] + "/run.csv.zst", "many/.new/abandoned/")
append("many", TRACE, "test=last")
equal("what killed writers left is gone", os.listdir("many/.new"), [])

# ---- history ----
def figure(path, what):
    """Of the comparison in a snapshot."""
    return query(path, f"SELECT old, new, delta, significant FROM diff_total WHERE figure = '{what}'")[0]


def compare(folder, trace, *more, status=0):
    """ms-diff with a history; the figures of live bytes."""
    have, out, err = run("ms-diff", "--exit-code", "-o", "diff.db", "--history", folder, *more, trace)
    if have != status:
        fail(f"ms-diff {folder} {trace} {more}: status {have}, not {status}: {err}")
    return figure("diff.db", "live_bytes") if have < 2 else err


# the peak of RSS is the kernel's, on both sides
HIGH = record("high.trace", 4, 100000000, 0, 0, "fill_cache")
append("high", HIGH, "test=x")
must("ms-snap", "-o", "high.db", HIGH)
peak, sampled = query("high.db", "SELECT peak_rss_bytes, (SELECT max(rss_bytes) FROM sample) FROM process")[0]
equal("a peak between samples", peak > sampled, True)
equal("peak of RSS", read(partitions("high")[0])["run"][0]["peak_rss_bytes"], peak)
compare("high", HIGH)
equal("peak of RSS, compared", figure("diff.db", "peak_rss_bytes"), (peak, peak, 0, 0))
DAY = 1790000000
for i in range(10):  # figures that go up and down by up to 400 bytes
    append("noisy", record(f"n{i}.trace", 4, 0, 60000 + (i * 7 % 5) * 100, 0, "fill_cache"), f"commit=c{i}", "test=x", f"time={DAY + i}")
append("noisy", record("other.trace", 9, 0, 10, 0, "fill_cache"), "commit=c9", "test=y", f"time={DAY + 99}")
BASE = 8000 + 4096
equal("within the noise", compare("noisy", "n4.trace", "--key", "test=x"), (BASE + 60300, BASE + 60300, 0, 0))
equal("the latest is shown", query("diff.db", "SELECT value FROM diff WHERE key = 'old'"), [("noisy/c9",)])
equal("how many", query("diff.db", "SELECT count(*), sum(reference) FROM diff_run WHERE side = 'old'"), [(10, 1)])
equal("all match", query("diff.db", "SELECT kind, matched, significant FROM site_diff GROUP BY 1, 2, 3"), [("unchanged", "exact", 0)])
record("grown.trace", 4, 0, 66000, 0, "fill_cache")
equal("beyond it", compare("noisy", "grown.trace", "--key", "test=x", status=1), (BASE + 60300, BASE + 66000, 5700, 1))
equal("where", query("diff.db", "SELECT p.function, d.kind, d.delta_live_bytes, d.old_live_bytes FROM site_diff d JOIN place p ON p.site = d.site WHERE significant"),
      [("get", "grown", 5700, 60300)])
record("new.trace", 4, 0, 60300, 9000, "fill_cache")
compare("noisy", "new.trace", "--key", "test=x", status=1)
equal("a range", query("diff.db", "SELECT old_low, old_high FROM site_diff_range r JOIN site s ON s.id = r.site WHERE figure = 'live_bytes'"), [(60000, 60400)])
must("ms-report", "diff.db")
said = must("ms-report", "--md", "diff.db")
if "`ms-diff --history noisy,last:10 --key test=x --new new.trace`" not in said or "noisy/c9" not in said:
    fail(f"Markdown: {said[-400:]}")
equal("another test", compare("noisy", "grown.trace", "--key", "test=y", status=1)[0], BASE - 8000 + 18000 + 10)
equal("two keys", compare("noisy", "n5.trace", "--key", "test=x", "--key", "commit=c5")[2], 0)
equal("the last three", query("diff.db", "SELECT value FROM diff WHERE key = 'old_runs'"), [(1,)])
compare("noisy", "n5.trace", "--key", "test=x", "--last", "3")
equal("the last three", query("diff.db", "SELECT name FROM diff_run WHERE side = 'old' ORDER BY id"), [(f"noisy/c{i}",) for i in (7, 8, 9)])
equal("no such key", "no complete run in" in compare("noisy", "n5.trace", "--key", "test=z", status=2), True)
compare("noisy", "n5.trace", "--key", "test=z", "--allow-missing-old")
equal("everything is new", query("diff.db", "SELECT DISTINCT kind, significant FROM site_diff"), [("new", 0)])
equal("no dataset", "No such" in compare("none", "n5.trace", status=2), True)
compare("none", "n5.trace", "--allow-missing-old")
# a step that was taken in the history is no noise: another like it is found, and staying there is not
for i in range(10):
    append("stepped", record(f"s{i}.trace", 4, 0, 60000 if i < 5 else 90000, 0, "fill_cache"), f"commit=c{i}", f"time={DAY + i}")
equal("as before", compare("stepped", "s9.trace"), (BASE + 90000, BASE + 90000, 0, 0))
record("again.trace", 4, 0, 110000, 0, "fill_cache")
equal("less than the step", compare("stepped", "again.trace", status=1), (BASE + 90000, BASE + 110000, 20000, 1))
# but what is mostly the same and sometimes far off is noise; and so are a few bytes beyond the range
for i in range(10):
    append("rare", record(f"r{i}.trace", 4, 0, 90000 if i in (2, 5, 8) else 60000, 0, "fill_cache"), f"commit=c{i}", f"time={DAY + i}")
equal("rarely far off", compare("rare", record("rare.trace", 4, 0, 95000, 0, "fill_cache")), (BASE + 60000, BASE + 95000, 35000, 0))
compare("rare", record("rarer.trace", 4, 0, 151000, 0, "fill_cache"), status=1)
equal("a few bytes beyond", compare("stepped", record("bit.trace", 4, 0, 93000, 0, "fill_cache"))[2:], (3000, 0))
# what is gone, and what was renamed, is told by the name that the history has
equal("gone", (compare("stepped", record("gone.trace", 4, 0, 0, 0, "-"))[2],
               query("diff.db", "SELECT p.function, d.old_live_bytes FROM site_diff d JOIN place p ON p.site = d.site WHERE kind = 'gone'")), (-90000, [("get", 90000)]))
for words, why in ((["--history", "stepped", "--old", TRACE, TRACE], "both"), (["--key", "a=b", TRACE, TRACE], "--history"), (["--last", "3", TRACE, TRACE], "--history"),
                   (["--history", "stepped", "--key", "time=1", TRACE], "last:N"), (["--history", "stepped", TRACE + "@peak"], "point"), (["--history", "stepped"], "new")):
    status, out, err = run("ms-diff", "-o", "x.db", *words)
    equal(f"refused: {words}", (status, why in err, err.count("\n")), (2, True, 1))
must("ms-snap", "--anonymize", "-o", "anonymous.db", TRACE)
status, out, err = run("ms-diff", "-o", "x.db", "--history", "stepped", "anonymous.db")
equal("no keys", (status, "its sites have no value in column 'key'" in err), (2, True))

# ---- any damage ----
shutil.copytree(partitions("stepped")[0], "damaged/" + os.path.basename(partitions("stepped")[0]))
status_of = {0: 0, 1: 0, 2: 0}
for name in FILES:
    path = partitions("damaged")[0] + f"/{name}.csv.zst"
    with open(path, "rb") as f:
        packed = f.read()
    plain = unpack(path)
    for i in range(120):
        data = bytearray(packed if i % 4 == 0 else plain)
        for _ in range(random.choice((1, 1, 3))):
            data[random.randrange(len(data))] = random.choice(b"\0\",\\\n9N-\xff" + bytes([random.randrange(256)]))
        if i % 3 == 1:
            del data[random.randrange(len(data)):]
        if i % 4:
            with open("plain", "wb") as f:
                f.write(data)
            data = subprocess.run(["zstd", "-qc", "plain"], stdout=subprocess.PIPE, check=True).stdout
        with open(path, "wb") as f:
            f.write(data)
        status, out, err = run("ms-diff", "-o", "x.db", "--history", "damaged", "a.db")
        status_of[status] += 1
        if status == 2 and err.count("\n") != 1:
            fail(f"damage: {err}")
    with open(path, "wb") as f:
        f.write(packed)
if status_of[2] < 120 or status_of[1]:
    fail(f"damage: {status_of}")
sys.exit(failures > 0)
