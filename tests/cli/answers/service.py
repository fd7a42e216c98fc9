# SPDX-License-Identifier: MIT
"""Asks of depot seven questions about its memory: each has its answer on the first screen after two commands, three to compare builds, as text,
as Markdown and on the page, with figures that depot's source gives. Words: cc or rs; BIN, TB and SRC as tests/run sets them."""
import os
import re
import subprocess
import sys

from answers import markdown_rows, page_rows, run, text_rows
from page import Page

HERE = os.path.dirname(os.path.abspath(__file__))
PARCELS, MICROSECONDS = 2000, 1000  # so that it lasts longer than what is done at its start


class Session:
    """Commands that a user types, how many, and what they show."""

    def __init__(self, name):
        self.name, self.typed = name, 0

    def record(self, *words, options=()):
        """Records; returns the trace."""
        self.typed += 1
        trace = f"{self.name}{self.typed}.trace"
        run("ms-record", "-q", *options, "-o", trace, *words)
        return trace

    def report(self, *words, compared=None):
        """Shows the first screen, a command whatever its format; what it says by format, and its rows."""
        self.typed += 1
        page = self.name + ".html"
        of = [page + ".db"] if compared else words
        if compared:  # for a user, on the line of ms-report: ms-diff OLD NEW | ms-report
            run("ms-diff", "-q", "-o", *of, *compared)
        text, markdown = run("ms-report", "-q", "--color=never", *of), run("ms-report", "-q", "--md", *of)
        run("ms-report", "-q", "--html=" + page, *of)
        said = {"text": text, "markdown": markdown, "page": Page(page).json}
        assert all(found["id"] for found in said["page"]["lists"]), f"{self.name}: a page is not shown where a list has no name"
        return said, {"text": text_rows(text), "markdown": markdown_rows(markdown), "page": page_rows(page)}


class Expected:
    """What depot's source gives, in one of its languages."""

    def __init__(self, language):
        self.file = f"depot.{language}"
        with open(os.path.join(HERE, self.file), encoding="utf-8") as f:
            self.lines = f.read().split("\n")

    def at(self, text):
        """file:line of a text that stands there once."""
        found = [n for n, line in enumerate(self.lines, 1) if text in line]
        assert len(found) == 1, f"{self.file}: '{text}' on lines {found}"
        return f"{self.file}:{found[0]}"


def size(count):
    """As a report says it."""
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


def has(row, words):
    """Are all of them in a row, each by itself?"""
    return all(re.search(rf"(?<![\w.,:+]){re.escape(w)}(?![\w.,]?\w)", row) for w in words)


def answer(question, rows, group, *each):
    """In all formats the first rows of a group have these words."""
    for name, found in rows.items():
        found = [row for heading, row in found if re.match(group, heading)]
        for row, words in zip(found + [""] * len(each), each):
            assert has(row, words), f"{question} as {name}: no {words} in '{row}' of {found}"
        print(f"{question:32}{name:10}{found[0].strip()[:110]}")


def main():
    """Each question."""
    language, program, slip = sys.argv[1:4]
    e = Expected(language)
    told, lost = PARCELS * 9 // 10, PARCELS // 10
    cc = language == "cc"
    run_it = [program, str(PARCELS), str(MICROSECONDS)]

    for wrapper in [], [os.path.join(HERE, "depot.sh")]:
        s = Session("wrapped" if wrapper else "plain")
        said, rows = s.report(s.record(*wrapper, *run_it))
        assert s.typed == 2
        answer("what leaks", rows, "UNREACHABLE", ["depot::parse", e.at("new Label" if cc else "Box::new(Label"), size(lost * (104 + 200)), f"{lost * 2:,}"])
        answer("what the peak is", rows, "PEAK", ["depot::Tariff::load", e.at("Bytes(400)" if cc else "vec![1u8; 400]"), size(20000 * 400), "20,000"])
        answer("what grows", rows, "KEPT|GROWING", [f"depot::Driver::{'Driver' if cc else 'hire'}", e.at("struct Driver" if cc else "vec![1u8; 2000]"), size(PARCELS * 2000), f"{PARCELS:,}"],
               ["depot::Routes::find" if cc else "depot::Route::plan", e.at("make_unique<Route>" if cc else "Box::new(Route"), size(told * (500 if cc else 528)), f"{told:,}"])
        answer("what is allocated for a moment", rows, "CHURN", ["depot::make_key", e.at("std::string key(40" if cc else "format!("), f"{told * 20:,}"])
        again = "ms-record --mmap --resident"
        assert re.search(r"^Where +of RSS .* in anonymous mappings", said["text"], re.M) and again in said["text"], said["text"]
        assert re.search(r"where it is \| \| of RSS .* in anonymous mappings", said["markdown"]) and again in said["markdown"], said["markdown"]
        assert " in anonymous mappings" in said["page"]["beside_heap"] and any(again in n for n in said["page"]["next"]), said["page"]["next"]

    s = Session("resident")
    said, rows = s.report(s.record(*run_it, options=["--mmap", "--resident"]))
    assert s.typed == 2
    answer("what RSS is but the heap", rows, "MAPPED", ["depot::map_index", e.at("mmap(nullptr" if cc else "unsafe { mmap("), "24.0 MiB", "1"])

    s = Session("builds")
    said, rows = s.report(compared=[s.record(*run_it), s.record(slip, *run_it[1:])])
    assert s.typed == 3
    answer("what is worse", rows, "CHANGED|Heap",  # the only table of a comparison as Markdown
           [f"depot::Route::{'Route' if cc else 'plan'}", e.at("struct Route {" if cc else "vec![1u8; size]"), f"+{told:,}", "+" + size(told * 300), "new" if cc else "grown"])


if __name__ == "__main__":
    sys.exit(main())
