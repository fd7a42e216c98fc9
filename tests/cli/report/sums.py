# SPDX-License-Identifier: MIT
"""Every view of ms-report adds up: rows + what is left out + what is hidden = the totals in the database."""
import csv
import io
import json
import re
import sqlite3
import subprocess
import sys

failures = 0
checked = 0


def run(*args):
    return subprocess.run(["ms-report", "--allow-partial", *args], check=True, capture_output=True, text=True).stdout


def same(what, got, want):
    global failures, checked
    checked += 1
    if got != want:
        failures += 1
        print(f"FAILED: {what}: {got}, expected {want}")


def csv_sums(db, *args):
    rows = list(csv.DictReader(io.StringIO(run("--csv", *args, db), newline="")))
    return {k: sum(int(r[k]) for r in rows if r[k]) for k in rows[0] if k.endswith(("bytes", "blocks", "ions", "frees", "temporary"))} if rows else {}


def count(text):
    return int(text.replace(",", ""))


def text_rows(out, column):
    """Exact counts stand in one column of a list in text: the sum of it over all rows, callers' lines left out."""
    total = 0
    for line in out.splitlines()[2:]:
        if re.match(r"\s*(<?[\d.]+ %)?\s*[\d,.]+ ", line):
            figures = re.findall(r"(<?[\d.,]+) (?:%|B|KiB|MiB|GiB)?", line)
            total += count(figures[column])
    return total


def check(db):
    d = sqlite3.connect(db)
    one = lambda sql: d.execute(sql).fetchone()[0] or 0
    total = {k: one(f"SELECT sum({k}) FROM process") for k in
             ("allocations", "frees", "allocated_bytes", "temporary_allocations", "unfreed_bytes", "unfreed_blocks")}
    live = {p: {k: one(f"SELECT sum({k}) FROM snapshot WHERE label = '{p}'") for k in ("live_bytes", "live_blocks")} for p in ("end", "peak")}
    sampled = one("SELECT max(sampled_bytes) FROM process") > 0
    want = {"live_bytes": live["end"]["live_bytes"], "live_blocks": live["end"]["live_blocks"], "peak_bytes": live["peak"]["live_bytes"],
            "peak_blocks": live["peak"]["live_blocks"], "allocated_bytes": total["allocated_bytes"], "allocations": total["allocations"],
            "frees": total["frees"], "temporary": total["temporary_allocations"],
            "failed_allocations": one("SELECT sum(failed_allocations) FROM process")}
    same(f"{db}: the fixture itself", want["live_bytes"], total["unfreed_bytes"])
    views = ["--leaks", "--peak", "--allocated", "--temporary", "--threads", "--sizes", "--timeline", "--by=function", "--by=file",
             "--by=module", "--by=stack", "--by=thread", "--by=process", "--by=program", "--by=size", "--failed"]
    unknown = not one("SELECT count(allocations) FROM site") and one("SELECT count(*) FROM site")
    for view in views[:4] if unknown else views:  # then what other views have of the whole run is not known
        for limit in (1, 2, 3, 0):
            got = csv_sums(db, view, f"--limit={limit}")
            if view in ("--by=process", "--timeline"):  # levels there, not shares of a total
                got = {k: v for k, v in got.items() if not k.startswith(("peak", "live"))}
            if sampled:
                got.pop("temporary", None)
                if view in ("--threads", "--by=thread"):  # a thread's figures at the peak are not known
                    got = {k: v for k, v in got.items() if not k.startswith("peak")}
                if view == "--timeline":  # nor is what happened in a span
                    got = {}
            for k, v in got.items():
                if k in want:
                    same(f"{db} --csv {view} --limit {limit}: {k}", v, want[k])
    if unknown:
        return
    for limit in (1, 3, 0):
        j = json.loads(run("--json", f"--limit={limit}", db))
        same(f"{db} --json --limit {limit}: live bytes", sum(s["live_bytes"] for s in j["sites"]) + j["omitted"]["live_bytes"], want["live_bytes"])
        same(f"{db} --json --limit {limit}: live blocks", sum(s["live_blocks"] for s in j["sites"]) + j["omitted"]["live_blocks"], want["live_blocks"])
        same(f"{db} --json --limit {limit}: sites", len(j["sites"]) + j["omitted"]["sites"],
             one("SELECT count(*) FROM site") + one("SELECT sum(sites) FROM hidden WHERE snapshot IS NULL"))
        for k in ("allocations", "allocated_bytes", "unfreed_bytes"):
            same(f"{db} --json: {k}", j["totals"][k], total[k])
        tables = ("--sizes", "--threads", "--by=process" if limit == 1 else "--by=function")
        for view in json.loads(run("--json", f"--limit={limit}", *tables, db))["views"]:
            parts = view["rows"] + [view[k] for k in ("more", "hidden", "other") if k in view]
            for k, v in view.get("total", {}).items():
                unknown = [r for r in parts if r[k] is None] if not k.endswith(("_low", "_high")) else [k]
                if v is not None and k != "rows" and not unknown:
                    same(f"{db} --json --limit {limit}: {k} of {view['view']}", sum(r[k] for r in parts), v)
    for metric, key in (("live", "live_bytes"), ("peak", "peak_bytes"), ("allocated", "allocated_bytes"), ("allocations", "allocations")):
        lines = run("--folded", "--metric", metric, db).splitlines()
        same(f"{db} --folded --metric {metric}", sum(int(line.rsplit(" ", 1)[1]) for line in lines), want[key])
    for limit in (1, 4, 100):
        for way in ("down", "up"):
            out = run(f"--tree={way}", "--metric", "allocations", f"--limit={limit}", "--ascii", db)
            out = out[out.index("TREE of") :].splitlines()[1:]
            same(f"{db} --tree={way} --limit {limit}: has lines", bool(out), total["allocations"] > 0)
            rows = [re.match(r"\s*([\d,]+)\s+<?[\d.]+ %  (\S.*)", line) for line in out]
            top = [count(m.group(1)) for m in rows if m and re.match(r"[|`]- ", m.group(2))]
            if one("SELECT count(*) FROM process") > 1:
                same(f"{db} --tree={way} --limit {limit}: top level", sum(top), total["allocations"])
            out = run(f"--tree={way}", "--metric", "allocated", f"--limit={limit}", "--ascii", db)
            if not sampled:
                top = re.findall(r"^ *[\d.,]+ \w+ +([\d,]+)x +<?[\d.]+ %  [|`]- ", out, re.M)
                same(f"{db} --tree={way} --limit {limit}: calls at the top level", sum(map(count, top)), total["allocations"])
    if want["live_blocks"] and not sampled:  # else figures have intervals in text
        for limit in (1, 2, 0):
            args = (f"--limit={limit}", "--ascii", db)
            same(f"{db} --leaks in text: blocks", text_rows(run("--leaks", *args), 1), want["live_blocks"])
            same(f"{db} --peak in text: blocks", text_rows(run("--peak", *args), 2), want["peak_blocks"])
            same(f"{db} --allocated in text: calls", text_rows(run("--allocated", *args), 1), want["allocations"])
            if not sampled:
                same(f"{db} --temporary in text", text_rows(run("--temporary", *args), 0), want["temporary"])
            md = run("--md", "--leaks", f"--limit={limit}", db)
            cells = [line.split("|")[2].strip() for line in md.splitlines() if re.match(r"\| [\d.]+ \w*B ", line)]
            same(f"{db} --leaks in Markdown: blocks", sum(count(c) for c in cells), want["live_blocks"])


for name in sys.argv[1:]:
    check(name)
print(f"{checked} sums, {failures} wrong")
sys.exit(failures != 0)
