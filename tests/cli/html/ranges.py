# SPDX-License-Identifier: MIT
"""The moments in a page of the trace in argv are those of ms-snap. With MS_CHECK_ALL ranges of time are chosen on its chart in Chromium, by keys
and by pointer, and rows of its lists opened."""
import os
import sqlite3
import subprocess
import sys

from chromium import Chromium, find
from page import Page

failures = []


def expect(what, got, want):
    """Notes a difference."""
    if got != want:
        failures.append(f"{what}: {got!r:.300}, not {want!r:.300}")


def table(b):
    """{site: [grown, at the end, at the beginning]} as the table has them."""
    return b.js("Object.fromEntries(memscope.sites.rows.map((row) => [memscope.sites.id(row), memscope.sites.columns.slice(0, 3).map((c) => c.value(row))]))")


def compare(b, live, a, z, what):
    """Table and flame graph are of the range between two moments."""
    expect(f"{what}: the table", table(b), {site: [v[z] - v[a], v[z], v[a]] for site, v in live.items()})
    expect(f"{what}: the flame graph", b.js("[memscope.flame.state.metric, memscope.flame.total()]"), ["range", sum(max(0, v[z] - v[a]) for v in live.values())])


def shift(b, key, code):
    """An arrow key with Shift."""
    for kind in ("keyDown", "keyUp"):
        b.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=8)


def use_range(b, live):
    """By keys, by pointer, by its string; and back."""
    last = len(next(iter(live.values()))) - 1
    b.js("memscope.timeline.svg.focus()")
    b.press("Home", 36)
    for _ in range(3):
        shift(b, "ArrowRight", 39)
    compare(b, live, 0, 3, "keys")
    shift(b, "ArrowLeft", 37)
    compare(b, live, 0, 2, "keys back")
    state = b.js("memscope.timeline.getState()")
    b.press("Escape", 27)
    expect("Escape", b.js("[memscope.timeline.getState(), memscope.flame.metrics.range ?? null, memscope.sites.columns === memscope.sites.usual, "
                          "document.querySelector('.range-chosen').hidden]"), [None, None, True, True])
    b.js(f"memscope.timeline.setState('{state}')")
    compare(b, live, 0, 2, "from its string")
    for bad in ("", "x", "5", "9-", "1-1", "-3-4"):
        b.js(f"memscope.timeline.setState('{bad}')")
        expect(f"state {bad!r}", b.js("memscope.timeline.getState()"), None)
    at = [b.js(f"(t => {{ t.svg.scrollIntoView({{block: 'center'}}); const box = t.svg.getBoundingClientRect(); return [box.left + t.x(t.moments.all[{i}].time_ns) * "
               "box.width / t.svg.viewBox.baseVal.width, box.top + 60]; })(memscope.timeline)") for i in (1, last)]
    for kind, (x, y), buttons in (("mousePressed", at[1], 1), ("mouseMoved", at[0], 1), ("mouseReleased", at[0], 0)):
        b.call("Input.dispatchMouseEvent", type=kind, x=x + 2, y=y, button="left", buttons=buttons, clickCount=1)
    compare(b, live, 1, last, "pointer")
    b.js("(s => { s.value = 'begin'; s.dispatchEvent(new Event('change')); })(document.querySelector('.range-chosen select'))")
    expect("another figure", b.js("memscope.flame.total()"), sum(v[1] for v in live.values()))
    b.js("document.querySelector('.range-chosen button').click()")
    expect("the button", b.js("memscope.timeline.getState()"), None)


def use_lists(b):
    """A row opens to its stack; all of a list are in the table below."""
    b.js("document.querySelector('.finding .link[data-row]').click()")
    key = b.js("memscope.lists.getState()")
    expect("open", b.js("[document.activeElement.dataset.row, document.querySelectorAll('.finding .stack li').length > 0]"), [key, True])
    b.js("memscope.lists.setState('')")
    expect("shut", b.js("document.querySelectorAll('.finding .stack').length"), 0)
    b.js(f"memscope.lists.setState('{key}_peak.9999_<b>_x.1')")
    expect("opened by its string", b.js("memscope.lists.getState()"), key)
    b.js("memscope.sites.showAll('allocations')")
    expect("all of a list", b.js("[memscope.sites.list.getState(), memscope.sites.getState()]"), ["allocations-", None])
    b.js("memscope.sites.list.setState('peak+')")
    expect("the other way", b.js("(s => s.rows.map((r) => s.sort.value(r)).every((v, i, a) => i === 0 || a[i - 1] <= v))(memscope.sites)"), True)
    b.js("memscope.sites.list.setState('toString-')")
    expect("no such column", b.js("memscope.sites.list.getState()"), None)


def moments(trace, page):
    """{site: [live bytes by moment]} as ms-snap has them; the page's are the same."""
    c, all_moments = page.columns, page.json["moments"]
    at = [all_moments[i] for i in c["moment_at"]]
    labels = [m["label"] for m in at]
    expect("peak and end", [label for label in labels if label in ("peak", "end")], ["peak", "end"])
    steps = [m["time_ns"] for m in at if m["label"] not in ("peak", "end")]
    step, taken = min(b - a for a, b in zip(steps, steps[1:])), {m["time_ns"] for m in at}  # each time once: the peak's may be one of them
    expect("evenly", [t for t in range(0, steps[-1], step) if t not in taken] + [t for t in steps if t % step], [])
    expect("so many", (steps[0], 12 <= len(steps) <= 31), (0, True))
    subprocess.run(["ms-snap", "-q", "-o", "moments.db", *(f"--at={label}" for label in labels), trace], check=True)
    db = sqlite3.connect("moments.db")
    live = {site: [0] * len(labels) for site in c["site_id"]}
    for label, site, size in db.execute("SELECT label, site, c.live_bytes FROM site_stat c JOIN snapshot t ON t.id = c.snapshot"):
        live[site][labels.index(label)] = size
    db.close()
    got = {site: [c[f"moment_{k}"][row] for k in range(len(labels))] for row, site in enumerate(c["site_id"])}
    expect("live bytes", got, live)
    expect("some", len({tuple(v) for v in live.values()}) > 3, True)
    return live


def browse(live):
    """The page, wide and narrow."""
    b = Chromium()
    try:
        b.open("ranges.html")
        use_range(b, live)
        use_lists(b)
        failures.extend(map(str, b.complaints()))
        b.size(390, 900)
        b.js("memscope.timeline.choose([0, 1])")
        expect("wider than a narrow window", b.js("document.documentElement.scrollWidth"), 390)
    finally:
        b.close()


def main():
    """Without a browser, then in one."""
    subprocess.run(["ms-report", "-q", "--html=ranges.html", sys.argv[1]], check=True)
    live = moments(sys.argv[1], Page("ranges.html"))
    # who asks for data besides gets no moments that nobody asked for
    subprocess.run(["ms-report", "-q", "--html=both.html", "--json=both.json", sys.argv[1]], check=True)
    expect("beside JSON", len(Page("both.html").json["moments"]), 2)
    # of many moments some are kept, the first and the last among them; 2000 at most, however long the run took
    db = sqlite3.connect("moments.db")
    ticks = db.execute("SELECT duration_ns FROM process").fetchone()[0] // 100000 // 2000 + 1
    db.close()
    subprocess.run(["ms-snap", "-q", f"--every={ticks * 100}us", "-o", "every.db", sys.argv[1]], check=True)
    subprocess.run(["ms-report", "-q", "--html=every.html", "every.db"], check=True)
    every = Page("every.html")
    times = [every.json["moments"][i]["time_ns"] for i in every.columns["moment_at"]]
    expect("of many moments", (len(times), times[0], times[-1]), (64, 0, max(m["time_ns"] for m in every.json["moments"])))
    expect("in their order", times, sorted(set(times)))
    if os.environ.get("MS_CHECK_ALL") and find():
        browse({str(site): v for site, v in live.items()})
    print("\n".join(failures))
    sys.exit(bool(failures))


main()
