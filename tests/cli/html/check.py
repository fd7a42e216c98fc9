# SPDX-License-Identifier: MIT
"""The pages that ms-report --html makes of the databases in argv: whole, safe, and with the figures of --json."""
import json
import re
import sqlite3
import subprocess
import sys

from page import Page

FIGURES = ["live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "allocated_bytes", "allocations", "frees", "temporary", "reallocations",
           "failed_allocations", "usable_bytes", "maps", "mapped_bytes"]
METRICS = {"live": ("live_bytes", "live_blocks"), "peak": ("peak_bytes", "peak_blocks"), "allocated": ("allocated_bytes", "allocations"),
           "allocations": ("allocations", "allocated_bytes"), "temporary": ("temporary", "allocations"), "failed": ("failed_allocations", "allocations")}
failures = []


def expect(what, got, want):
    """Notes a difference."""
    if got != want:
        failures.append(f"{what}: {got!r:.300}, not {want!r:.300}")


def report(*words):
    """What ms-report prints."""
    r = subprocess.run(["ms-report", "-q", "--allow-partial", *words], capture_output=True, check=False)
    expect(f"status of {words}", r.returncode, 0)
    return r.stdout


def hostile(s):
    """Is it a text that the page shows in other characters?"""
    return s is not None and (not s.isprintable() or "\ufffd" in s)


def check_sites(name, page, sites):
    """Every site of the page is the one of the report."""
    c, by_id = page.columns, {s["id"]: s for s in sites}
    expect(f"{name}: sites and those left out", len(c["site_id"]) + page.json["omitted_sites"], len(sites))
    for row, number in enumerate(c["site_id"]):
        s = by_id[number]
        for f in FIGURES:
            expect(f"{name}: {f} of site {number}", c["site_" + f][row], s[f])
        expect(f"{name}: verdict of site {number}", page.string(c["site_verdict"][row]), s.get("verdict"))
        expect(f"{name}: user frame of site {number}", c["site_user"][row], s["user_frame"])
        stack = page.stack(row)
        expect(f"{name}: depth of site {number}", len(stack), len(s["stack"]))
        for got, want in zip(stack, s["stack"]):
            if want["function"] and not hostile(want["function"]) and "note" not in want:
                expect(f"{name}: function", got[0], want["function"])
            if not hostile(want["file"]):
                expect(f"{name}: file", got[1:3], (want["file"], want["line"]))
            expect(f"{name}: flags", got[4:], (want["inlined"], want["runtime"]))


def check_sums(name, page):
    """Sites + left out + hidden + other = total, for each metric of which all is known."""
    for metric, m in page.json["metrics"].items():
        if metric not in METRICS:
            continue
        for i, figure in enumerate(METRICS[metric]):
            values = page.columns["site_" + figure]
            parts = [m[k][i] for k in ("omitted", "hidden", "other")]
            if None in values or None in parts or m["total"][i] is None:
                continue
            expect(f"{name}: sum of {figure} in {metric}", sum(values) + sum(parts), m["total"][i])


def squeezed(text):
    """With single blanks."""
    return " ".join(text.split())


def check_lists(name, page, options):
    """The page's lists are the groups of the first screen of text: in its order, with its titles, figures, names and numbers."""
    text = [" ".join(line.split()) for line in report("--text", "--width", "400", "--color=never", *options, name).decode().split("\n")]
    titles = [i for i, line in enumerate(text) if re.match(r"(UNREACHABLE|ALLOCATED AFTER|GROWING|KEPT ALL|LIVE AT|LIVE SO FAR|PEAK|CHANGED by|NOTHING CH|NO SINGLE)", line)]
    lists = [x for x in page.json["lists"] if x["id"] in ("unreachable", "late", "growing", "live", "peak", "changed")]
    expect(f"{name}: titles of lists", [x["title"] for x in lists], [text[i] for i in titles])
    for found, start in zip(lists, titles):
        said = text[start + 2:min([i for i in titles if i > start], default=len(text))]
        for r in found["rows"]:
            figures = [] if found["id"] == "changed" else r["cells"]
            want = " ".join([*figures, str(r["site"])]) + " "
            line = next((s for s in said if (s if found["id"] != "peak" else s.split(" % ", 1)[-1]).startswith(want)), None) if figures else next(
                (s for s in said if f" {r['site']} {r['more'][0]} {r['name']}" in s), None)
            expect(f"{name}: row {want!r} of {found['title']}", line is not None and all(" ".join(r.get(k, "").split()) in line for k in ("name", "place")), True)
        for r in found["rest"]:
            expect(f"{name}: rest {r} of {found['title']}", any(r["words"] in line and all(c in line for c in r["cells"]) for line in said), True)


def check_kept(name, page, full):
    """What keeps blocks alive: the rows of --json, and below them lines that retain no more than those above them."""
    done = [s for s in full.get("retention", {"scans": []})["scans"] if s["state"] == "done"]
    if "diff" in full or not full.get("retention"):
        expect(f"{name}: kept", "kept" in page.json, bool(full.get("diff", {}).get("kept") and page.json.get("kept")))
        return
    lines = page.json["kept"]["lines"]
    top = [line for line in lines if line[0] is None]
    expect(f"{name}: keepers", [line[2:4] for line in top], [[k["retained_bytes"], k["retained_blocks"]] for k in full["retention"]["keepers"]])
    if all(s["kept_bytes"] == sum(line[2] for line in top) for s in done):
        below = [0] * len(lines)
        for i, line in enumerate(lines):
            if line[0] is not None:
                expect(f"{name}: line {i} is below an earlier one", line[0] < i, True)
                below[line[0]] += line[2]
        for i, line in enumerate(lines):
            expect(f"{name}: what {line[1]} retains", below[i] + line[4] <= line[2], True)
    rows = page.json["kept"]["tables"][0]["rows"]
    if done and name == "kept.db":
        expect(f"{name}: sum of the first rows", sum(r[1] for r in rows), done[0]["live_bytes"])
        expect(f"{name}: lines", len(lines), 10)


def check_moments(name, page):
    """What was live in each site at each moment is what the database says."""
    c, moments = page.columns, page.json["moments"]
    known = {m["time_ns"] for m in moments if m["time_ns"] is not None and m["live_bytes"] is not None}
    if len(page.json["processes"]) > 1 or "diff" in page.json or len(known) < 2 or not c["site_id"]:
        expect(f"{name}: no moments", "moment_at" in c, False)
        return
    times = [moments[i]["time_ns"] for i in c["moment_at"]]
    expect(f"{name}: moments", times, sorted(known))
    expect(f"{name}: sites at moments", c["moment_site"], list(range(len(c["site_id"]))))
    db = sqlite3.connect(name)
    for k, i in enumerate(c["moment_at"]):
        live = dict(db.execute("SELECT site, live_bytes FROM site_stat WHERE snapshot = (SELECT id FROM snapshot ORDER BY id LIMIT 1 OFFSET ?)", (i,)))
        expect(f"{name}: live at {moments[i]['label']}", c[f"moment_{k}"], [live.get(s, 0) for s in c["site_id"]])
    db.close()


def check_diff(name, page, diff):
    """Every place that was compared."""
    c = page.columns
    by_id = {s["id"]: s for s in diff["sites"]}
    for row, site in enumerate(c.get("diff_site", [])):
        s = by_id[c["site_id"][site]]
        expect(f"{name}: kind", page.json["diff"]["kinds"][c["diff_kind"][row]], s["kind"])
        expect(f"{name}: significant", bool(c["diff_flags"][row] & 1), s["significant"])
        for key in s:
            if key.startswith(("old_", "new_")) and f"diff_{key}" in c:
                expect(f"{name}: {key} of place {s['id']}", c[f"diff_{key}"][row], s[key])
    expect(f"{name}: places", page.json["diff"]["places"], len(diff["sites"]))
    left = page.json["diff"]["left_out"]
    expect(f"{name}: places left out", left["places"], len(diff["sites"]) - len(c["diff_site"]))
    for figure, v in left["new"].items():
        if all(s[f"new_{figure}"] is not None for s in diff["sites"]):
            expect(f"{name}: {figure} left out", v + sum(c[f"diff_new_{figure}"]), sum(s[f"new_{figure}"] for s in diff["sites"]))


def check_opening():
    """A comparison opens on what changed most, and calls noise what the text calls so."""
    for name, options, metric in (("diff4.db", (), "allocated"), ("diff4.db", ("--metric=peak",), "peak"), ("diff3.db", (), "live"), ("diff.db", (), "peak")):
        with open("page.html", "wb") as f:
            f.write(report("--html", *options, name))
        expect(f"{name} {options}: opens on", Page("page.html").json["metric"], metric)
    for name in ("diff4.db", "diff5.db"):
        with open("page.html", "wb") as f:
            f.write(report("--html", name))
        text = [line.split("  ")[0] for line in report("--text", name).decode().split("\n") if line.endswith("  noise")]
        expect(f"{name}: noise", [x["title"] for x in Page("page.html").json["diff"]["lines"] if x["noise"]], text)
        expect(f"{name}: some noise", text != [], name == "diff5.db")


def check(name, *options, limit=()):
    """One database; `limit` is for the page alone."""
    text = report("--html", *options, *limit, name)
    expect(f"{name}: the same again", report("--html", *options, *limit, name) == text, True)
    with open("page.html", "wb") as f:
        f.write(text)
    page, full = Page("page.html"), json.loads(report("--json", "--threads", "--sizes", "--modules", *options, name))
    for fault in page.faults():
        failures.append(f"{name}: {fault}")
    for figure, v in full["totals"].items():
        if figure != "intervals":
            expect(f"{name}: {figure}", page.json["totals"][figure], v)
    expect(f"{name}: complete", page.json["complete"], full["quality"]["complete"])
    check_sites(name, page, full["sites"])
    check_sums(name, page)
    check_moments(name, page)
    if not page.json["watched"] and name != "hostile.db":
        check_lists(name, page, options)
    tables = {t["id"]: t for t in page.json["tables"]}
    for view in full.get("views", []):
        table = tables[view["view"]]
        names = [c[1] for c in table["columns"]]
        rows = [dict(zip(names, r[1:])) for r in table["rows"] if r[0] == ""]
        expect(f"{name}: rows of {view['view']}", len(rows), len(view["rows"]))
        for got, want in zip(rows, view["rows"]):
            for key, v in want.items():
                if key in got and not isinstance(got[key], list) and not (isinstance(v, str) and hostile(v)):
                    expect(f"{name}: {key} in {view['view']}", got[key], v)
    check_kept(name, page, full)
    if "diff" in full:
        check_diff(name, page, full["diff"])
    return page


if __name__ == "__main__":
    for database in sys.argv[1:]:
        check(database)
    check("run.db", "--at", "1.5s")
    check("run.db", limit=("--limit", "3"))
    check("diff3.db", limit=("--limit", "2"))
    check_opening()
    print("\n".join(failures[:25]))
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))
