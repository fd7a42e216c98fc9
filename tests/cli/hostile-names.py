# SPDX-License-Identifier: MIT
"""Records a program with hostile names and parses what every format makes of them."""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

failures = []
EVIL = "a\n\tp\x1b[31m\"x<b>&|`$'\\012"
FOLDER = "we\nird\t dir"
COMMAND = "::warning::p##[x]"
FUNCTION = b"ho\n\tile\x1b<b>&|`,\""


def expect(what, good, seen=""):
    if not good:
        failures.append(f"{what}: {seen!r:.300}")


def commands(text):
    """Lines that the log of a GitHub workflow would take for a command."""
    return [line for line in text.replace(b"\r", b"\n").splitlines() if line.lstrip().startswith(b"::") or b"##[" in line]


def run(*words, status=0, data=None):
    r = subprocess.run(words, input=data, capture_output=True, check=False)
    expect(f"{words}: status {r.returncode}", r.returncode == status, r.stderr)
    expect(f"{words}: its messages", not set(r.stderr) & set(b"\x1b\t\r") and b"\xc2\x9b" not in r.stderr, r.stderr)
    expect(f"{words}: a command in its messages", not commands(r.stderr), r.stderr)
    return r.stdout


def one_line(text, what, tabs=False):
    """Nothing that steers a terminal, and no line that a name broke."""
    bad = [c for c in text if (c < 32 and c != 10 and not (tabs and c == 9)) or c == 127]
    expect(f"{what}: control characters", not bad, text)
    return text.decode()


os.mkdir(FOLDER)
program = os.path.join(FOLDER, EVIL)
with open("app", "rb") as f:
    image = f.read()
assert len(FUNCTION) == len("hostile_function")
with open(program, "wb") as f:
    image = image.replace(b"hostile_function", FUNCTION).replace(b"github_command_", b"::error::f##[x]").replace(b"spreadsheet_sum", b"=1+1</script>@-")
    f.write(image)
os.chmod(program, 0o755)
run("ms-record", "--leak-check=no", "-o", "old.trace", program)
run("ms-record", "-q", "--leak-check=no", "-o", "new.trace", program, "2\n\t\x1b\"<b>")
for name in ("old", "new"):
    run("ms-snap", "-q", "-o", name + ".db", name + ".trace")
with open("diff.db", "wb") as f:
    f.write(run("ms-diff", "-q", "old.db", "new.db"))

# ---- commands, formulas and the end of a script ----
shutil.copy(program, COMMAND)
run("ms-record", "-o", "command.trace", "./" + COMMAND)
run("ms-snap", "-q", "-o", "command.db", "command.trace")
for words in ((), ("--md",), ("--folded",), ("--folded", "--full-names"), ("--csv",), ("--tree",), ("--tree=up",), ("--threads",), ("--timeline",), ("--sizes",), ("--modules",),
              ("--leaks",), ("--growth",), ("--site=1",), ("--site=2",), ("--events", "command.trace"), ("--explain", "peak"),
              *[("--by", k) for k in ("function", "file", "module", "thread", "process", "program", "stack")]):
    text = run("ms-report", *words, *([] if "command.trace" in words else ["command.db"]))
    expect(f"{words}: a command", not commands(text), commands(text))
text = run("ms-report", "--github", "--fail-on", "peak_bytes > 1", "command.db", status=1)
expect("--github: one command a finding", all(line.startswith(b"::") and b"##[" not in line for line in text.splitlines()), text)
for words in (("-b", "-n", "1"), ("-b", "-n", "1", "--sort", "blocks")):
    text = one_line(run("ms-top", *words, "command.trace"), "ms-top -b").encode()
    expect(f"ms-top {words}: a command", b"warning" in text and not commands(text), text)
json.loads(run("ms-top", "--json", "-n", "1", "command.trace"))
page = run("ms-report", "--html", "command.db")
expect("HTML: a script ends where a name says so", b"=1+1</script>" not in page and b"mark ##[x]</script>" not in page, "")
run("ms-diff", "-o", "other.db", "old.db", "command.db")  # of different programs, which it says
run("ms-report", "--fail-on", "peak_bytes > 1", "command.db", status=1)  # says where most of it is
cells = [c for r in csv.reader(io.StringIO(run("ms-report", "--csv", "command.db").decode())) for c in r]
expect("CSV: a formula", not [c for c in cells if c[:1] in "=+-@\t" and c != "" and not c[1:].isdigit()] and "'=1+1</script>@-" in cells, cells)
for form in ("--json", "--speedscope", "--chrome-trace", "--dhat", "--gprof2dot", "--sarif"):
    json.loads(run("ms-report", form, "command.db"))
for form in ("--callgrind", "--massif", "--heaptrack"):
    one_line(run("ms-report", form, "command.db"), form, tabs=True)
xml.fromstring(run("ms-report", "--svg=flame", "command.db"))
xml.fromstring(run("ms-report", "--junit", "--fail-on", "peak_bytes > 1", "command.db", status=1))

# ---- an image that followed by exec is named in a table ----
run("ms-record", "-q", "--leak-check=no", "--follow=all", "-o", "exec.trace", "sh", "-c", 'exec "$0"', program)
rows = [line for line in run("ms-report", "--md", "exec.trace").decode().splitlines() if "program 2 of 2" in line]
expect("Markdown: an image", len(rows) == 2 and all(line.count("|") == 4 and "<b>" not in line for line in rows), rows)

# ---- of processes that run ----
sleeper = os.path.join(FOLDER, "s\x1b[31m\n\t##[x]")
shutil.copy(shutil.which("sleep"), sleeper)
both = [subprocess.Popen([sleeper, "60"]) for _ in range(2)]
time.sleep(0.2)
doctor = subprocess.run(["ms-record", "--doctor", "-p", str(both[0].pid)], capture_output=True, check=False)
expect("--doctor: a command", not commands(one_line(doctor.stdout, "--doctor").encode()), doctor.stdout)
run("ms-record", "--poll", "-d", "300ms", "-p", str(both[0].pid))
if doctor.returncode == 0:
    run("ms-record", "-v", "-d", "200ms", "-o", "both.trace", "-p", f"{both[0].pid},{both[1].pid}")
for p in both:
    p.kill()
    p.wait()
shutil.copy(shutil.which("true"), "fd:a")
run("ms-record", "./fd:a")

db = sqlite3.connect("new.db")
exe = os.path.realpath(program)
expect("the module", db.execute("SELECT symbols FROM module WHERE path = ?", (exe,)).fetchall() == [("dwarf",)],
       db.execute("SELECT path, symbols FROM module").fetchall())
expect("the function", (FUNCTION.decode(),) in db.execute("SELECT function FROM place").fetchall(), db.execute("SELECT * FROM place").fetchall())
VIEWS = ["--summary", "--leaks", "--peak", "--allocated", "--threads", "--timeline", "--sizes", "--modules", "--tree", "--growth", "--site=1"]
for name in ("new.db", "diff.db"):
    for form in ("--text", "--md"):
        for view in [[], *[[v] for v in VIEWS], *[["--by", k] for k in ("function", "file", "module", "thread", "process", "program", "stack")]]:
            if form == "--md" and view == ["--tree"]:
                continue
            text = one_line(run("ms-report", form, "--width", "120", *view, name), f"{form} {view} {name}")
            expect(f"{form} {view} {name}: markup", form == "--text" or "<b>" not in text.replace("`", "").replace("\\<b", "") or "`" in text, text)
    site = json.loads(run("ms-report", "--json", name))
    expect(f"JSON {name}", any(f["function"] == FUNCTION.decode() and f["module"] == exe for s in site["sites"] for f in s["stack"]), site["sites"])
    expect(f"JSON {name}: the process", site["process"]["exe"] == exe, site["process"])
    rows = list(csv.reader(io.StringIO(one_line(run("ms-report", "--csv", name).replace(b"\r\n", b"\n"), f"CSV {name}")), strict=True))
    expect(f"CSV {name}", len({len(r) for r in rows}) == 1 and len(rows) > 1, rows)
    suite = xml.fromstring(one_line(run("ms-report", "--junit", "--fail-on", "peak_bytes > 1", name, status=1), f"JUnit {name}"))
    expect(f"JUnit {name}", suite.tag == "testsuites" and "\\x0a" in suite[0].get("name"), suite[0].attrib)
    sarif = json.loads(run("ms-report", "--sarif", "--fail-on", "peak_bytes > 1", name, status=1))
    expect(f"SARIF {name}", sarif["runs"][0]["results"], sarif)
    lines = one_line(run("ms-report", "--github", "--fail-on", "peak_bytes > 1", name, status=1), f"GitHub {name}").splitlines()
    expect(f"GitHub {name}", lines and all(line.startswith("::") for line in lines), lines)
    folded = one_line(run("ms-report", "--folded", name), f"folded {name}").splitlines()
    expect(f"folded {name}", folded and all(line.rsplit(" ", 1)[1].isdigit() for line in folded), folded)
    key = one_line(run("ms-report", "--md", name), "key").splitlines()[0]
    expect(f"the comment's key {name}", name != "diff.db" or (key.startswith("<!-- memscope:") and key.endswith(" -->") and key.count("-->") == 1), key)
# found by the names as they are, and by what was said
kept = run("ms-filter", "-q", "--function", "^ho\n\tile", "new.db")
expect("a filter for it", json.loads(run("ms-report", "--json", data=kept))["omitted"]["hidden_sites"] >= 0)
run("ms-report", "-q", "--summary", "--fail-on", 'site("ho*ile*").live_bytes > 1', "new.db", status=1)
run("ms-report", "-q", "--summary", "--fail-on", 'site("ho*ile*").delta_live_bytes > 1', "diff.db", status=1)
shutil.copy("new.db", "in\nput\t\x1b.db")
one_line(run("ms-report", "in\nput\t\x1b.db"), "an input's name")
one_line(run("ms-diff", "-q", "old.db", "in\nput\t\x1b.db") and run("ms-report", data=run("ms-diff", "-q", "old.db", "in\nput\t\x1b.db")), "a compared input's name")
one_line(run("ms-report", "--sql", "SELECT path FROM module", "new.db"), "--sql")
print("\n".join(failures[:25]))
print(f"{len(failures)} failures")
sys.exit(bool(failures))
