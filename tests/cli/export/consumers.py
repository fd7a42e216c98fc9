# SPDX-License-Identifier: MIT
"""consumers.py SPEEDSCOPE FILE...: the programs that the formats are for, each given its file; what they say is what --json has, to the byte."""
import base64
import collections
import json
import os
import re
import subprocess
import sys

import check
import chromium
from check import FIGURES, PPROF, expect, same

DH_VIEW = "/usr/libexec/valgrind/dh_view.html"


def tool(*words, quiet=True):
    """What a program prints; it has nothing to complain about."""
    r = subprocess.run(words, capture_output=True, check=False, timeout=300, env={**os.environ, "HOME": os.getcwd()})
    expect(f"{words}: status", r.returncode == 0, r.stderr)
    expect(f"{words}: complaints", not quiet or not r.stderr, r.stderr)
    return r.stdout.decode()


def go_pprof(db, truth):
    check.run("--pprof=x.pb.gz", db)
    raw = tool("go", "tool", "pprof", "-raw", "-symbolize=none", "x.pb.gz")
    lines = raw.split("Samples:\n")[1].split("Locations\n")[0].split("\n")
    columns = [c.removesuffix("[dflt]") for c in lines[0].split()]
    sums = [0] * len(columns)
    for line in lines[1:]:
        numbers = re.match(r"((?: +\d+)+):", line)
        if numbers:
            sums = [a + int(b) for a, b in zip(sums, numbers[1].split())]
    same(f"{db} go pprof: totals", {f: sums[columns.index(PPROF[f])] for f in truth.totals}, truth.totals)
    for f in ("allocated_bytes", "live_bytes", "peak_bytes"):
        if not truth.totals.get(f) or db not in ("run.db", "real.db"):
            continue
        top = tool("go", "tool", "pprof", "-top", "-unit=B", "-nodefraction=0", "-edgefraction=0", "-nodecount=100000", "-symbolize=none", "-trim=false",
                   "-sample_index=" + PPROF[f].split("/", maxsplit=1)[0], "x.pb.gz")
        own = re.findall(r"^ *(\d+)(?:B)? +[0-9.]+% +[0-9.]+% +(\d+)(?:B)? +[0-9.]+% +", top, re.M)
        same(f"{db} go pprof -top: {f}", sum(int(x) for x, _ in own), truth.totals[f])
    if db == "real.db":
        svg = tool("go", "tool", "pprof", "-svg", "-symbolize=none", "x.pb.gz", quiet=False)
        expect(f"{db} go pprof -svg", "</svg>" in svg, svg)
    return raw


def ms_print(db, truth):
    check.run("--massif=massif.out", db)
    text = tool("ms_print", "--threshold=0", "massif.out")
    rows = [[int(x.replace(",", "")) for x in m.groups()] for m in re.finditer(r"^ *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +0 +0$", text, re.M)]
    expect(f"{db} ms_print: rows", rows and [r[0] for r in rows] == list(range(len(rows))), rows)
    roots = [int(x.replace(",", "")) for x in re.findall(r"^100\.00% \(([\d,]+)B\) \(heap allocation functions\)", text, re.M)]
    if truth.several:
        same(f"{db} ms_print: the ends", roots, [truth.totals["live_bytes"]])
        return
    want = {s["live_bytes"] for s in truth.json["snapshots"]} - {None, 0}
    same(f"{db} ms_print: roots", set(roots), want)
    if truth.totals.get("peak_bytes"):
        same(f"{db} ms_print: the peak", max(r[2] for r in rows), truth.totals["peak_bytes"])
        expect(f"{db} ms_print: a peak", "(peak)" in text, text[:2000])


def heaptrack(db, truth):
    """Sums and stacks of its input for flame graphs, which has whole numbers."""
    check.run("--heaptrack=x.gz", db)
    costs = {"allocations": "allocations", "temporary": "temporary", "live_bytes": "leaked"}
    if not truth.several:
        costs["peak_bytes"] = "peak"
    for f, cost in costs.items():
        if f not in truth.totals:
            continue
        text = tool("heaptrack_print", "--disable-builtin-suppressions", "-F", "stacks.txt", "--flamegraph-cost-type", cost, "x.gz", quiet=False)
        with open("stacks.txt", encoding="utf-8") as stacks:
            lines = [line.rsplit(" ", 1) for line in stacks]
        same(f"{db} heaptrack: {cost}", sum(int(n) for _, n in lines), truth.totals[f])
        said = re.search(r"calls to allocation functions: (\d+) .*\n(?:temporary memory allocations: (\d+))?", text)
        expect(f"{db} heaptrack: what it says", said, text[-1000:])
        if said and "allocations" in truth.totals:
            same(f"{db} heaptrack: calls", int(said[1]), truth.totals["allocations"])
        got, want = collections.Counter(), collections.Counter()
        for stack, n in lines:
            got[tuple(sorted(re.sub(r" \([^()]*\.[^()]*\)$", "", x) for x in stack.split(";")[:-1]))] += int(n)
        for stack, n in truth.stacks[f].items():
            # it ends at main, leaves out operator new, turns inlined functions around, and what is in <> away
            names = stack[:stack.index("main") + 1 if "main" in stack else None]
            if not any(x is None or re.search("[;<>]", x) for x in names):
                want[tuple(sorted(x for x in names if not x.startswith("operator new")))] += n
        missing = {k: (got[k], v) for k, v in want.items() if got[k] != v}
        expect(f"{db} heaptrack: stacks of {cost}", not missing, (missing, got))


def callgrind(db, truth):
    check.run("--callgrind=x.callgrind", db)
    columns = [check.CALLGRIND[f] for f in truth.totals]
    for more in ((), ("--inclusive=yes",), ("--tree=both",)):
        text = tool("callgrind_annotate", "--auto=no", "--threshold=100", *more, "x.callgrind")
        line = re.search(r"^(.*) PROGRAM TOTALS$", text, re.M)
        expect(f"{db} callgrind_annotate {more}: totals", line, text[:1500])
        if line:
            got = [int(x.replace(",", "")) for x in re.findall(r"([\d,]+) \(", line[1])]
            order = re.search(r"^Events shown: +(.*)$", text, re.M)[1].split()
            same(f"{db} callgrind_annotate {more}: totals", dict(zip(order, got)), {c: v for c, v in zip(columns, truth.totals.values())})


def speedscope(db, truth, browser, page):
    """Its table of functions. Bytes are given once as bare numbers too, which it does not round."""
    titles = {"allocations": "allocations", "allocated_bytes": "bytes allocated", "live_blocks": "blocks live at the end",
              "live_bytes": "bytes live at the end", "peak_blocks": "blocks live at the peak", "peak_bytes": "bytes live at the peak",
              "temporary": "temporary allocations"}
    file = json.loads(check.run("--speedscope", db))
    for i, profile in enumerate(file["profiles"]):
        f = next(k for k, v in titles.items() if v == profile["name"])
        for unit in ("bytes", "none") if f == "live_bytes" else ("none",):
            profile["unit"] = unit
            file["activeProfileIndex"] = i
            text = base64.b64encode(json.dumps(file).encode()).decode()
            with open("profile.js", "w", encoding="ascii") as out:
                out.write(f"speedscope.loadFileFromBase64('profile', '{text}')")
            browser.events.clear()
            browser.call("Page.navigate", url="about:blank")
            browser.call("Page.navigate", url=f"file://{page}#localProfilePath={os.path.abspath('profile.js')}")
            name = f"{profile['name']} ({i + 1}/{len(file['profiles'])})"
            browser.wait(lambda shown=name: shown in (browser.js("document.body?.innerText ?? ''") or ""))
            browser.press("3")
            browser.wait(lambda: "Symbol Name" in browser.js("document.body.innerText"))
            rows = browser.wait(lambda: re.findall(r"^\t([^\t\n]+) \([<>]?[0-9.]+%\)\n\t(.*)$", browser.js("document.body.innerText"), re.M))
            if unit == "none":
                own = collections.Counter()
                for n, function in rows:
                    own[function] += int(n.replace(",", ""))
                same(f"{db} speedscope: {name}", sum(own.values()), truth.totals[f])
                want = collections.Counter()
                for stack, n in truth.stacks[f].items():
                    want[stack[0]] += n
                same(f"{db} speedscope: {name} by function", {k: own[k] for k in want if k}, {k: v for k, v in want.items() if k})
            else:
                expect(f"{db} speedscope: {name} in bytes", any(re.search(r"(?:[KMG]|\b)B$", n) for n, _ in rows), rows)
    bad = [x for x in browser.complaints() if x[0] == "exception"]
    expect(f"{db} speedscope: exceptions", not bad, bad)
    browser.picture(f"speedscope-{db}.png")


def dh_view(db, truth, browser):
    check.run("--dhat=dhat.json", db)
    browser.events.clear()
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url="file://" + DH_VIEW)
    browser.wait(lambda: browser.js("document.querySelector('input[type=file]') !== null"))
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    node = browser.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
    browser.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.abspath("dhat.json")])
    browser.wait(lambda: re.search("Allocated at|Error|error", browser.js("document.body.innerText")))
    text = browser.js("document.body.innerText")
    for words, size, blocks in (("Total: ", "allocated_bytes", "allocations"), ("At t-gmax:", "peak_bytes", "peak_blocks"),
                                ("At t-end: ", "live_bytes", "live_blocks")):
        found = re.search(re.escape(words) + r" *([\d,]+) bytes \([^)]*\) in ([\d,]+) blocks", text)
        expect(f"{db} dh_view: {words}", found, text[:2000])
        if found:
            same(f"{db} dh_view: {words}", [int(x.replace(",", "")) for x in found.groups()], [truth.totals.get(size, 0), truth.totals.get(blocks, 0)])
    bad = [x for x in browser.complaints() if x[0] != "network"]
    expect(f"{db} dh_view: complaints", not bad, bad)
    browser.picture(f"dhat-{db}.png")


def main():
    page, *files = sys.argv[1:]
    browser = chromium.Chromium()
    try:
        browser.call("DOM.enable")
        check_all(os.path.abspath(page), files, browser)
    finally:
        browser.close()
    print("\n".join(check.failures[:40]))
    print(f"{len(check.failures)} failures")
    return bool(check.failures)


def check_all(page, files, browser):
    for db in files:
        truth = check.Truth(db)
        assert set(truth.totals) <= set(FIGURES)
        go_pprof(db, truth)
        ms_print(db, truth)
        heaptrack(db, truth)
        callgrind(db, truth)
        if db in ("run.db", "two.db"):
            speedscope(db, truth, browser, page)
        dh_view(db, truth, browser)


sys.exit(main())
