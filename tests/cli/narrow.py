# SPDX-License-Identifier: MIT
"""Measures the lines of every text view at several widths."""
import os
import shutil
import sqlite3
import subprocess
import sys
import unicodedata

failures = []
VIEWS = ["--summary", "--leaks", "--peak", "--allocated", "--temporary", "--failed", "--mapped", "--threads", "--timeline", "--sizes", "--modules",
         "--growth", "--tree", "--tree=up", "--site=1", "--site=2", "--site=5"]
BY = ["function", "file", "module", "stack", "thread", "process", "program", "size"]


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def measure(what, width, arguments, data=None, locale="C.UTF-8"):
    r = subprocess.run(["ms-report", "--allow-partial", f"--width={width}", *arguments], input=data, capture_output=True, check=False,
                       env={**os.environ, "LC_ALL": locale})
    text = r.stdout.decode("utf-8")
    if r.returncode != 0 or not text.strip():
        failures.append(f"{what} at {width}: status {r.returncode}, {r.stderr.decode()!r:.300}")
    wide = [line for line in text.split("\n") if columns(line) > width]
    if wide:
        failures.append(f"{what} at {width}: {len(wide)} lines are wider, such as {max(wide, key=columns)!r:.300}")
    return text


def compare(old, new, name):
    with open(name, "wb") as out:
        subprocess.run(["ms-diff", "-q", old, new], stdout=out, check=True)


def changed(name, sql):
    shutil.copy("long.db", name)
    db = sqlite3.connect(name)
    db.executescript(sql)
    db.close()


changed("grown-long.db", """UPDATE site_stat SET live_bytes = live_bytes + 123456789, live_blocks = live_blocks + 123456 WHERE site IN (1, 2, 3);
    UPDATE site SET verdict = 'unreachable', allocations = allocations + 9876543210""")
compare("run.db", "grown-long.db", "diff1.db")
compare("long.db", "grown-long.db", "diff2.db")
compare("grown-long.db", "run.db", "diff3.db")
shutil.copy("long.db", "a-name-of-an-input-that-is-longer-than-the-forty-columns-of-a-narrow-terminal.db")
INPUTS = ["run.db", "two.db", "sampled.db", "lost.db", "cut.db", "damaged.db", "hidden.db", "allhidden.db", "nothing.db", "beside.db", "own-heap.db",
          "grown.db", "young.db", "leaky.db", "headless.db", "span.db", "dropped.db", "part.db", "growing.db", "killed.db", "mended.db", "long.db", "diff1.db",
          "diff2.db", "diff3.db", "a-name-of-an-input-that-is-longer-than-the-forty-columns-of-a-narrow-terminal.db"]
for name in INPUTS:
    for width in (40, 60, 80, 120):
        measure(name, width, [name])
        if width in (40, 60):
            measure(f"all views of {name}", width, [*(v for v in VIEWS if v != "--tree=up" and "site" not in v), name])
for width in (40, 47):
    for name in ("two.db", "long.db", "sampled.db", "beside.db", "diff2.db"):
        for v in VIEWS:
            if "site" in v or name in ("long.db", "diff2.db"):
                measure(f"{v} {name}", width, [v, name])
        if name in ("two.db", "long.db", "sampled.db"):
            for key in BY:
                measure(f"--by {key} {name}", width, ["--by", key, name])
        measure(f"--reach {name}", width, ["--growth", "--reach", "900G", name])
    for locale in ("C", "C.UTF-8"):
        for name in ("long.db", "diff1.db", "grown.db"):
            measure(f"{locale} {name}", width, ["--leaks", "--growth", name], locale=locale)
            measure(f"{locale} {name}", width, [name], locale=locale)
    measure("--sql", width, ["--sql", "SELECT * FROM site", "long.db"])
    measure("--sql of one column", width, ["--sql", "SELECT printf('%.300c', 'x') AS a", "long.db"])
with open("long.db", "rb") as f:
    measure("a pipe", 40, [], data=f.read())
# nothing is left out for want of room: a paragraph says what a row says
text = measure("--growth", 40, ["--growth", "--reach", "2G", "grown.db"])
for words in ("at end 187.5 KiB", "per minute +37.1 KiB", "trend growing", "confidence 0.81", "#2"):
    if words not in text:
        failures.append(f"narrow growth: no {words!r} in {text!r}")
text = measure("comparison", 40, ["diff1.db"])
for words in ("peak live", "live at end", "+117.7 MiB live", "new, LEAK"):
    if words not in " ".join(text.split()):
        failures.append(f"narrow comparison: no {words!r} in {text!r}")
print("\n".join(failures[:40]))
print(f"{len(failures)} failures")
sys.exit(bool(failures))
