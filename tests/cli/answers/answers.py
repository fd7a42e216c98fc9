# SPDX-License-Identifier: MIT
"""Finds the guilty lines of the programs beside it in what ms-report shows first, and fails if fewer are found than before.

A guilty line ends with "// GUILTY: KIND, FINDING". A row names it when it, or its caller's line, has that file and line, or the function
that the line is in. Words limit the run to these programs. BIN, TB and SRC as tests/run sets them."""
import glob
import os
import re
import shutil
import subprocess
import sys

from chromium import Chromium, find
from page import Page

# How many of the programs must be named, by format: on the first row of all, on the first row of a group that is about such a finding,
# and on one of the first ROWS rows of such a group. These are what was measured, less one, since what metrics.c kept is
# judged by times; raise them with what is shown, never lower them.
FLOOR = {"text": (25, 25, 26), "markdown": (25, 25, 26), "html": (25, 25, 26)}
# By finding: headings of groups that are about it.
ABOUT = {"leak": "unreachable|leak|lost", "growth": "live|grow|peak", "churn": "busiest|churn|allocated", "temporary": "busiest|churn|temporar", "peak": "peak"}
# By finding: what heaptrack_print is asked for.
HEAPTRACK = {"leak": "-l", "growth": "-p", "churn": "-a", "temporary": "-T", "peak": "-p"}
EVERY = "-l", "-p", "-a", "-T"
ROWS = 10
ALL = bool(os.environ.get("MS_CHECK_ALL"))
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.environ["TB"], "cli/answers")


class Answer:
    """What a reader must be shown of a program."""

    def __init__(self, path):
        self.file = os.path.basename(path)
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().split("\n")
        marks = [(n, m) for n, text in enumerate(self.lines, 1) if (m := re.search(r"; // GUILTY: (.+), (\w+)$", text))]
        assert len(marks) == 1, f"{path}: {len(marks)} guilty lines"
        self.line, (self.kind, self.finding) = marks[0][0], marks[0][1].groups()
        self.function = self.function_of(self.line)
        self.program = self.file.split(".")[0].split("_")[0]  # NAME_part.c is a plugin of NAME

    def function_of(self, line):
        """The function that a line is in: heads stand at the margin, in classes one tab from it."""
        owner, above = None, self.lines[:line]
        for text in above:
            if m := re.match(r"(?:class|struct) (\w+)[^;]*$", text):
                owner = m[1]
            elif text.startswith("}"):
                owner = None
        head = r"\t(?!\t)[\w:<>&*~ ]*?(\w+)\(" if owner else r"(?!\s)[\w:<>&*~ ]*?(\w+)\("
        name = next((m[1] for text in reversed(above) if (m := re.match(head, text))), None)  # none for what constructs a global object
        return f"{owner}::{name}" if owner else name

    def named(self, row):
        """Does a row of a report name it?"""
        row = re.sub(r"\((anon|anonymous namespace)\)::", "", row)
        place = rf"(?<![\w.-]){re.escape(self.file)}:{self.line}(?!\d)"
        return bool(re.search(rf"{place}|(?<![\w:]){self.function}(?![\w:.])", row))

    def named_by_stack(self, stack):
        """Does a whole stack, by file and line, name it: with the line anywhere, or the function among the program's first two?"""
        own = [int(n) for n in re.findall(rf"(?<![\w.-]){re.escape(self.file)}:(\d+)", stack)]
        return self.line in own or any(self.function_of(n) == self.function for n in own[:2])


def run(*words, **more):
    """Standard output of a command that must end well."""
    r = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)
    if r.returncode:
        raise SystemExit(f"{' '.join(words)}: status {r.returncode}: {r.stderr[-2000:]}")
    return r.stdout


def text_rows(report):
    """[(heading, row with the lines below it)] of a report as text."""
    rows, heading, where = [], None, 0
    for line in report.split("\n"):
        if re.match(r"[A-Z]{4,}\b", line):
            heading = line
            if re.search(r"\.\w+:\d+", line):  # a group of one row
                rows.append((heading, line))
        elif not line.strip() or re.match(r"[A-Za-z]", line):
            heading = None
        elif heading and "where (" in line:
            where = line.index("where (")
        elif heading and not line[:where].strip():  # callers, and what a row says besides
            rows[-1] = (heading, rows[-1][1] + line)
        elif heading:
            rows.append((heading, line))
    return rows


def markdown_rows(report):
    """The same of one as Markdown: tables that say where."""
    rows, heading, where = [], "", False
    for line in report.split("\n"):
        if line.startswith("#"):
            heading, where = line.strip("# "), False
        elif line.startswith("|") and re.search(r"\| where \|$", line):
            where = True
        elif where and line.startswith("| "):
            rows.append((heading, line))
    return rows


def page_rows(path):
    """The same of a page: its lists of findings."""
    return [(found["title"], " ".join([*r["cells"], r["name"], r.get("place", ""), "#%d" % r["site"], *([f"< {r['caller']} {r.get('caller_place', '')}"] if "caller" in r else []),
                                       *r["apart"], r.get("called", ""), r.get("note", ""), *r["more"]]))
            for found in Page(path).json["lists"] for r in found["rows"]]


def place(answer, rows):
    """(row on the screen, heading, row of its group, is the group about it): the first that names it, in a group about it if there is one."""
    found, heading, n = [], None, 0
    for i, (group, row) in enumerate(rows, 1):
        n = n + 1 if group == heading else 1
        heading = group
        if answer.named(row):
            found.append((i, group, n, bool(re.search(ABOUT[answer.finding], group, re.I))))
    return min(found, key=lambda f: (not f[3], f[2], f[0]), default=None)


def cell(found):
    """As the table shows it: groups that are not about the finding in brackets."""
    if not found:
        return "-"
    said = f"{found[1].split()[0].rstrip(':')} {found[2]}"
    return said if found[3] else f"({said})"


def memcheck(answer, program):
    """The record of memcheck that names it, from the largest on, which is printed last."""
    if not ALL or not shutil.which("valgrind"):
        return "-"
    run("valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=20", "--log-file=memcheck", program)
    with open("memcheck", encoding="utf-8") as f:
        records = re.split(r"^.* in loss record .*$", f.read(), flags=re.M)[1:]
    return next((str(n) for n, r in enumerate(reversed(records), 1) if answer.named_by_stack(r)), "-")


def heaptrack(answer, program):
    """The backtrace of heaptrack_print that names it, in the list for such a finding."""
    if not ALL or not shutil.which("heaptrack_print"):
        return "-"
    for old in glob.glob("heaptrack.*"):
        os.remove(old)
    run("heaptrack", "-o", "heaptrack.out", program)
    wanted = [f"{o}{int(o == HEAPTRACK[answer.finding])}" for o in EVERY]
    said = run("heaptrack_print", "-m0", "-n1000", *wanted, *glob.glob("heaptrack.out*"))
    stacks = re.split(r"^\S.* (?:calls|temporary|leaked|consumed).* from:?$", said, flags=re.M)[1:]
    return next((str(n) for n, s in enumerate(stacks, 1) if answer.named_by_stack(s)), "-")


def reports(answer, browser):
    """By format: where the program's guilty line is found."""
    program, trace = os.path.join(PROGRAMS, answer.program), os.path.abspath(answer.program + ".trace")
    run("ms-record", "-q", "-o", trace, program, cwd=HERE)  # as its developer: files are said as seen from there
    run("ms-report", "-q", "--html=page.html", trace)
    rows = {"text": text_rows(run("ms-report", "--color=never", trace)), "markdown": markdown_rows(run("ms-report", "-q", "--md", trace)),
            "html": page_rows("page.html")}
    for name, found in rows.items():
        assert found, f"{answer.program}: no rows as {name}"
    if browser:
        browser.open("page.html")
        shown = browser.js("[...document.querySelectorAll('.finding')].flatMap((f) => [...f.querySelectorAll('tr.row')].map((r) => "
                           "[f.querySelector('h3').textContent, [...r.children].flatMap((c) => [...c.childNodes]).map((e) => e.textContent).join(' ')]))")
        assert [(h, answer.named(r)) for h, r in shown] == [(h, answer.named(r)) for h, r in rows["html"]], f"{answer.program}: a page lists {shown}"
    return {name: place(answer, r) for name, r in rows.items()}


def counted(places):
    """The figures of FLOOR, of one format."""
    about = [p for p in places if p and p[3] and p[2] <= ROWS]
    return sum(p[0] == 1 for p in places if p), sum(p[2] == 1 for p in about), len(about)


def main():
    """Every program, a line each, then the sums."""
    answers = [a for p in sorted(glob.glob(HERE + "/*.c*")) if "GUILTY" in open(p, encoding="utf-8").read()
               for a in [Answer(p)] if a.program in (sys.argv[1:] or [a.program])]
    browser = Chromium() if ALL and find() else None
    table, places = [], {name: [] for name in FLOOR}
    for a in answers:
        found = reports(a, browser)
        for name, p in found.items():
            places[name].append(p)
        program = os.path.join(PROGRAMS, a.program)
        table.append([a.program, f"{a.file}:{a.line}", a.function, a.finding, *map(cell, found.values()), memcheck(a, program), heaptrack(a, program)])
    if browser:
        browser.close()
    heads = ["program", "line", "function", "finding", "text", "markdown", "html", "memcheck", "heaptrack"]
    widths = [max(len(r[i]) for r in [heads, *table]) for i in range(len(heads))]
    for row in [heads, *table]:
        print("  ".join(v.ljust(w) for v, w in zip(row, widths)).rstrip())
    status = 0
    for name, floor in FLOOR.items():
        got = counted(places[name])
        print(f"{name}: of {len(answers)}, {got[0]} on the first row of all, {got[1]} on the first of a group about them, {got[2]} on one of its first {ROWS} rows")
        if len(sys.argv) == 1 and any(g < f for g, f in zip(got, floor)):
            print(f"{name}: fewer than {floor}: what is shown first became worse")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
