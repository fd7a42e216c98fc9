#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the options that each tool takes, its --help and its manual page; then those that README and all pages mention."""
import os
import re
import subprocess
import sys

SRC, BIN = os.environ["SRC"], os.environ["BIN"]
TOOLS = ["ms-record", "ms-snap", "ms-filter", "ms-diff", "ms-report", "ms-top"]
# Rows of a table of getopt_long, and the macros that stand for some.
ROW = re.compile(r'\{\s*"([a-z0-9-]+)",\s*(\w+)_argument|BOTH\("([a-z-]+)", (\w+)_argument|\b(MS_CLI_[A-Z_]*LONGS|POLL_LONGS)\b')
WORD = re.compile(r"(?<![\w.-])(--[a-z][a-z0-9-]*[a-z0-9]|-[a-zA-Z])(?![\w-])")
failures = 0


def fail(what):
    global failures
    failures += 1
    print(what)


def read(path):
    with open(os.path.join(SRC, path), encoding="utf-8") as f:
        return f.read()


def macro(name):
    """The rows that a macro stands for."""
    for path in ("libcommon/base/cli.h", "ms-record/session/poll_options.h"):
        m = re.search(r"#define %s\b((?:.*\\\n)*.*)" % name, read(path))
        if m:
            return rows(m.group(1).replace("\\\n", " "))
    raise SystemExit(f"no macro {name}")


def rows(table):
    """Option -> whether it takes an argument."""
    found = {}
    for name, argument, both, both_argument, shared in ROW.findall(table):
        if shared:
            found.update(macro(shared))
        elif both:
            found["--" + both] = found["--not-" + both] = both_argument
        else:
            found["--" + name] = argument
    return found


def taken(tool):
    """What the tool's own table has."""
    room = "/cli" if os.path.isdir(os.path.join(SRC, tool, "cli")) else ""
    m = re.search(r"static const struct option longs\[\] = \{(.*?)\n\};", read(f"{tool}{room}/options.c"), re.S)
    return rows(m.group(1))


def helped(tool):
    """Options in --help: (all of them, pairs of a letter and a long one)."""
    text = subprocess.run([os.path.join(BIN, tool), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    text = re.sub(r" ms-[a-z]+( (or )?--[a-z]+)+", "", text)  # of another tool
    return set(WORD.findall(text)), set(re.findall(r"(?<![\w-])(-[a-zA-Z]), (--[a-z0-9-]+)", text))


def page(tool):
    """Options that the manual page has an item for, and the pairs of its items."""
    found, pairs = set(), set()
    for line in re.findall(r"^\.It (.*\bFl .*)$", read(f"man/{tool}.1"), re.M):
        names = ["-" + n for n in re.findall(r"(?:Fl|^,| ,) (-[a-z][a-z0-9-]*|[a-zA-Z])(?= |$)", line)]
        found.update(names)
        if len(names) == 2 and len(names[0]) == 2 and len(names[1]) > 2:
            pairs.add((names[0], names[1]))
    return found, pairs


def compare(tool):
    table = set(taken(tool))
    text, text_pairs = helped(tool)
    items, item_pairs = page(tool)
    if tool == "ms-filter":  # both say "--not-..."
        opposites = {o for o in table if o.startswith("--not-")}
        text |= {o for o in opposites if "--" + o[6:] in text}
        items |= {o for o in opposites if re.search(rf"^\.Fl -{o[2:]}$", read(f"man/{tool}.1"), re.M)}
    longs = {o for o in text if o.startswith("--")}
    for option in sorted(table - longs):
        fail(f"{tool}: {option} is not in --help")
    for option in sorted(table - items):
        fail(f"{tool}: {option} is not in man/{tool}.1")
    for option in sorted(longs - table):
        fail(f"{tool}: --help has {option}, which is no option")
    for option in sorted({o for o in items if o.startswith("--")} - table):
        fail(f"{tool}: man/{tool}.1 has {option}, which is no option")
    for pair in sorted(text_pairs ^ item_pairs):
        fail(f"{tool}: {', '.join(pair)} is in {'--help' if pair in text_pairs else 'the manual page'} only")
    for option, argument in sorted(taken(tool).items()):
        try_it(tool, option, argument)
    return table | {letter for letter, _ in text_pairs}


def try_it(tool, option, argument):
    """The program takes the option as the table says: what follows is about its argument, or it is done."""
    given = option if argument == "required" else option + "=x"
    r = subprocess.run([os.path.join(BIN, tool), given], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    want = {"required": f"option '{option}' needs an argument", "no": f"option '{option}' takes no argument"}.get(argument)
    if want and want not in r.stderr or "unknown option" in r.stderr:
        fail(f"{tool} {given}: {r.stderr.strip()}")


def mentioned(known):
    """What is typed in README and on all pages: the options of a command of ours, up to the end of the command."""
    texts = [("README.md", read("README.md"))]
    for name in sorted(os.listdir(os.path.join(SRC, "man"))):
        if re.search(r"\.[1-9]$", name):
            text = read("man/" + name)
            texts.append(("man/" + name, re.sub(r"\\&|\\", "", text)))
    for name, text in texts:
        for line in text.split("\n"):
            if not name.endswith(".md"):  # .Nm ms-report Fl -growth is typed too
                line = re.sub(r"\bFl (?=-)", "-", line)
            for command in re.split(r"[|;&`()<>]|  # ", line):
                m = re.search(r"\b(ms-[a-z]+) (.*)", command)
                if not m or m.group(1) not in known:
                    continue
                words = m.group(2).split(" -- ")[0]
                for option in re.findall(r"(?<![\w'\"-])--[a-z][a-z0-9-]*[a-z0-9]", words):
                    if option not in known[m.group(1)] and option != "--its-args":
                        fail(f"{name}: {m.group(1)} has no {option}: {line.strip()}")


mentioned({tool: compare(tool) for tool in TOOLS})
sys.exit(failures > 0)
