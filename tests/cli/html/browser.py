# SPDX-License-Identifier: MIT
"""Opens pages in Chromium and uses them as a reader would. With a folder as argument, pictures of them go there."""
import glob
import json
import os
import subprocess
import sys

from chromium import Chromium, find
from views import compared, every_frame, use_views

failures = []


def expect(what, got, want):
    """Notes a difference."""
    if got != want:
        failures.append(f"{what}: {got!r:.300}, not {want!r:.300}")


def make(name, *options):
    """The page of NAME.db, and what --json says."""
    subprocess.run(["ms-report", "-q", "--allow-partial", f"--html={name}.html", f"--json={name}.json", *options, name + ".db"], check=True)
    with open(name + ".json", "rb") as f:
        return json.load(f)


def quiet(b, name):
    """Nothing was said or asked for."""
    for c in b.complaints():
        failures.append(f"{name}: {str(c):.300}")
    expect(f"{name}: ready", b.js("document.documentElement.dataset.ready"), "yes")


def figures(b, name, report):
    """Cards, totals and rows are those of the report."""
    expect(f"{name}: totals", b.js("(({model}) => model.page.totals)(memscope)")["peak_bytes"], report["totals"]["peak_bytes"])
    got = b.js("(({model: m}) => Array.from({length: m.sites}, (_, i) => [m.columns.site_id[i], ...['live_bytes', 'peak_bytes', 'allocations', 'frees', "
               "'temporary'].map((f) => m.figure(f)[i])].map((v) => Number.isNaN(v) ? null : v)))(memscope)")
    want = [[s["id"], *(s[f] for f in ("live_bytes", "peak_bytes", "allocations", "frees", "temporary"))] for s in report["sites"]]
    expect(f"{name}: sites", sorted(got), sorted(want))


def use_flame(b):
    """Zoom by mouse and keys, search, another metric, the table behind."""
    frames = "[...document.querySelectorAll('.flame .fr')]"
    expect("frames", b.js(f"{frames}.map((e) => e.getAttribute('aria-label')).filter((s) => s.startsWith('main,') || s.startsWith('all,'))"),
           ["all, 3.2 MiB, 100 %", "main, 3.0 MiB, 92 %"])
    b.js(f"{frames}.find((e) => e.textContent.includes('Arena::Arena')).click()")
    expect("zoomed", b.js("document.querySelector('#flame .readout').textContent"), "Live at the peak: 3.2 MiB in all; orderd::Arena::Arena: 1.0 MiB, 31 %")
    expect("ways back", b.js("[...document.querySelectorAll('.crumbs button')].length"), 7)
    b.js("[...document.querySelectorAll('.crumbs .reset')].at(-1).click()")
    b.js(f"{frames}[0].focus()")
    b.press("ArrowDown", 40)
    b.press("ArrowDown", 40)
    b.press("ArrowDown", 40)
    expect("by keys", b.js("document.activeElement.getAttribute('aria-label')"), "main, 3.0 MiB, 92 %")
    b.press("Enter", 13)
    expect("zoomed by keys", b.js("memscope.flame.name(memscope.flame.zoomed)"), "main")
    b.press("Escape", 27)
    b.wait(lambda: b.js("memscope.flame.name(memscope.flame.zoomed)") == "all")
    expect("the focus stays in the chart", b.js("document.activeElement.getAttribute('aria-label')"), "all, 3.2 MiB, 100 %")
    b.press("/", 191)
    expect("search has the keys", b.js("document.activeElement.id"), "search")
    for c in "pricecache":
        b.press(c)
    b.wait(lambda: b.js("document.querySelectorAll('.fr.hit').length") == 1)
    expect("found", b.js("document.querySelector('#flame .readout').textContent"), "Live at the peak: 3.2 MiB in all; found in 1 site: 250.0 KiB, 7.5 %")
    expect("sites found", b.js("document.querySelectorAll('table.sites tbody tr').length"), 1)
    b.js("(s => { s.value = ''; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    b.wait(lambda: b.js("document.querySelectorAll('.fr.hit').length") == 0)
    for metric, total in (("live", 1244756), ("allocated", 10368060), ("allocations", 105137), ("temporary", 94001), ("peak", 3405476)):
        for up in ("true", "false"):
            b.js(f"memscope.flame.set({{metric: '{metric}', up: {up}}})")
            expect(f"{metric} in all, up {up}", b.js("memscope.flame.total()"), total)
            expect(f"{metric} in the roots, up {up}", b.js("(f => f.tree.kids(f.tree.root).reduce((a, k) => a + k.sum, 0))(memscope.flame)"), total)
    b.js("memscope.flame.table.open = true")
    b.wait(lambda: b.js("document.querySelectorAll('#flame table tbody tr').length"))
    expect("the table behind", b.js("document.querySelector('#flame table tbody tr').textContent"), "_start3.0 MiB92 %0 B")


def own_figures(b):
    """A metric of figures by site is shown, replaced with the zoom kept, and taken away: the one before is there again."""
    b.js("memscope.flame.set({metric: 'live'})")
    b.js("memscope.flame.zoom(memscope.flame.tree.kids(memscope.flame.tree.root)[0])")
    chosen = "document.querySelector('#flame select').selectedOptions[0].textContent"
    for values, total in (("memscope.model.figure('id').map((id) => id === 7 ? 5 : id === 2 ? NaN : 1)", 12), ("memscope.model.figure('id').map((id) => id === 7 ? 8 : 0)", 9)):
        b.js(f"memscope.flame.setFigures('range', {values}, 'Allocated from 1 s to 2 s', {{rest: [0, 1, 0], say: sayCount}})")
        expect("own figures", b.js(f"[{chosen}, memscope.flame.total(), memscope.flame.metrics.range.total]"), ["Allocated from 1 s to 2 s", total, total])
        expect("zoomed among own figures", b.js("memscope.flame.name(memscope.flame.zoomed)"), "_start")
        expect("the functions follow", b.js("document.querySelector('#functions caption').textContent"), "Allocated from 1 s to 2 s, by function")
    b.js("memscope.flame.clearFigures()")
    expect("without own figures", b.js(f"[{chosen}, memscope.flame.total(), 'range' in memscope.flame.metrics]"), ["Live at the end", 1244756, False])
    expect("the functions follow back", b.js("document.querySelector('#functions caption').textContent"), "Live at the end, by function")
    b.js("memscope.flame.zoom(memscope.flame.tree.root); memscope.flame.set({metric: 'peak'})")


def use_sites(b):
    """Sorting, details, the stack."""
    rows = "[...document.querySelectorAll('table.sites > tbody > tr')]"
    expect("order", b.js(f"{rows}.map((r) => +r.querySelector('[data-site]').dataset.site)"), [7, 1, 2, 3, 4, 5, 8, 6])
    b.js("document.querySelectorAll('table.sites th button')[5].click()")
    expect("by another column", b.js(f"{rows}[0].textContent.includes('Logger::fmt')"), True)
    expect("said", b.js("document.querySelectorAll('table.sites th')[6].getAttribute('aria-sort')"), "descending")
    expect("the total", b.js("document.querySelector('table.sites tr.total').textContent").replace("\u00a0", " ").startswith("total3.2 MiB1.2 MiB3,1269.9 MiB105,137"), True)
    b.js("document.querySelector('[data-site=\"2\"]').click()")
    expect("open", b.js("document.querySelector('[data-site=\"2\"]').getAttribute('aria-expanded')"), "true")
    expect("the stack", b.js("[...document.querySelectorAll('.stack li .fn')].map((e) => e.textContent.slice(0, 30))")[1:4],
           ["std::_Rb_tree<Symbol, …>::_M_c", "orderd::PriceCache::insert", "orderd::Feed::tick"])
    expect("the focus stays", b.js("document.activeElement.dataset.site"), "2")
    b.js("document.querySelector('.site .buttons button').click()")
    expect("shown in the flame graph", b.js("memscope.flame.zoomed.level") > 3, True)


def use_timeline(b):
    """Keys move through time; a line can be hidden."""
    b.js("memscope.timeline.svg.focus()")
    b.press("Home", 36)
    b.press("End", 35)
    expect("at the end", b.js("memscope.timeline.svg.getAttribute('aria-valuetext')"), "3.998 s: Live heap 1.2 MiB, RSS 8.5 MiB, 0 allocations a second")
    b.js("document.querySelector('.legend .key.rss').click()")
    expect("without RSS", b.js("document.querySelectorAll('path.line.rss').length"), 0)
    b.js("document.querySelector('.legend .key.rss').click()")
    expect("with RSS", b.js("document.querySelectorAll('path.line.rss').length"), 1)


def intervals(b, report):
    """The intervals that the page adds up are those of --json: of each site, and of all."""
    b.js("memscope.flame.set({metric: 'peak', up: false})")
    got = b.js("(({model: m}) => Array.from({length: m.sites}, (_, i) => ['live_bytes', 'peak_bytes', 'allocated_bytes', 'allocations'].map((f) => {"
               "const s = new Spread(); s.add(...m.spreads(f)(i)); return [f, m.columns.site_id[i], ...s.interval(m.figure(f)[i]), m.columns['site_' + f + '_low'][i], "
               "m.columns['site_' + f + '_high'][i]]; })).flat())(memscope)")
    for f, site, low, high, want_low, want_high in got:  # thousandths of what they rest on were rounded
        if max(abs(low - want_low), abs(high - want_high)) > 1 + 1e-6 * want_high:
            failures.append(f"interval of {f} of site {site}: {low} to {high}, not {want_low} to {want_high}")
    expect("intervals compared", len(got), 4 * len(report["sites"]))
    want = report["totals"]["intervals"]["peak_bytes"]
    root = b.js("(f => f.model.page.metrics.peak.spread.total && (() => { const s = new Spread(); s.add(...f.model.page.metrics.peak.spread.total); "
                "return s.interval(f.total()); })())(memscope.flame)")
    if max(abs(root[0] - want["low"]), abs(root[1] - want["high"])) > 1 + 1e-6 * want["high"]:
        failures.append(f"interval of the peak: {root}, not {want}")
    expect("said of all", b.js("document.querySelector('#flame .readout').textContent"), "Live at the peak: 3.2 MiB in all (1.3 MiB to 6.9 MiB)")
    for name, want in (("main", ["3.0 MiB (92 %)", "1.1 MiB to 6.5 MiB"]), ("start_thread", ["250.0 KiB (7.5 %)", "2.7 KiB to 2.3 MiB"])):
        frame = f"[...document.querySelectorAll('.flame .fr')].find((e) => e.getAttribute('aria-label').startsWith('{name},'))"
        b.js(f"{frame}.dispatchEvent(new MouseEvent('mousemove', {{bubbles: true, clientX: 300, clientY: 300}}))")
        expect(f"the tip of {name}", b.js("[...document.querySelectorAll('#tip dd')].slice(0, 2).map((e) => e.textContent)"), want)
    expect("intervals of functions", b.js("document.querySelectorAll('#functions td .range').length > 5"), True)


def fits(b, name):
    """Nothing is wider than the window, wide or narrow; and on paper."""
    for width in (1400, 1280, 400):
        b.size(width, 900)
        expect(f"{name}: links cut at {width}", b.js("(ul => ul.scrollWidth > ul.clientWidth)(document.querySelector('#nav ul'))"), False)
        if width == 1400:
            for row in ("dl.cards > .card", "#nav .tools > *"):
                expect(f"{name}: {row} in one row", b.js(f"(all => !all.length || Math.max(...all) - Math.min(...all) < 8)([...document.querySelectorAll('{row}')]"
                       ".map((e) => (r => (r.top + r.bottom) / 2)(e.getBoundingClientRect())))"), True)
        expect(f"{name}: wider than {width}", b.js("document.documentElement.scrollWidth <= innerWidth"), True)
        expect(f"{name}: words broken at {width}", b.js("[...document.querySelectorAll('td.short')].filter((e) => { const r = document.createRange(); "
               "r.selectNodeContents(e); return r.getClientRects().length > 1; }).length"), 0)
    b.size(1280, 900)
    b.call("Emulation.setEmulatedMedia", media="print")
    expect(f"{name}: controls on paper", b.js("[...document.querySelectorAll('.controls, #nav')].filter((e) => e.offsetHeight).length"), 0)
    b.call("Emulation.setEmulatedMedia", media="")


def pictures(b, folder, name):
    """What it looks like: for a person to see."""
    for width, dark in ((1280, False), (1280, True), (400, False)):
        b.size(width, 900)
        b.dark(dark)
        b.js("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
        b.size(width, min(b.js("document.documentElement.scrollHeight"), 6000))
        b.picture(f"{folder}/{name}-{width}{'-dark' if dark else ''}.png")
    b.size(1280, 900)
    b.dark(False)


def use_kept(b):
    """What keeps blocks alive: the rows, and the icicle below them, zoomed by a click and taken back."""
    boxes = "[...document.querySelectorAll('#kept .icicle button')].map((e) => e.getAttribute('aria-label'))"
    whole = ["all that is kept: 1.2 MiB, 100 %", "thread 'io-1', frame orderd::Arena::run: 1.0 MiB, 84 %", "+16 orderd::Arena::Arena src/arena.cpp:19: 1.0 MiB, 84 %",
             "global orderd::g_cache (src/cache.cpp:12, map<Symbol, Price>); also reached from libz.so.1 .bss: 188.4 KiB, 16 %",
             "+8 orderd::PriceCache::insert src/cache.cpp:77, linked (3,000 of its own): 188.4 KiB, 16 %"]
    expect("kept: boxes", b.js(boxes), whole)
    expect("kept: rows", b.js("[...document.querySelectorAll('#kept > .scroll tbody tr')].map((e) => e.lastChild.textContent)"), ["1", "3,040", "81", ""])
    b.js("document.querySelectorAll('#kept .icicle button')[3].click()")
    expect("kept: zoomed", [s.split(":")[0] for s in b.js(boxes)], ["global orderd", "+8 orderd", "+40 orderd"])
    expect("kept: as high as all", b.js("document.querySelector('#kept .icicle button').style.height"), "100%")
    b.js("document.querySelector('#kept .crumbs button').click()")
    expect("kept: taken back", b.js(boxes), whole)
    b.js("document.querySelector('#kept details').open = true")
    b.wait(lambda: b.js("document.querySelectorAll('#kept details tbody tr').length"))
    expect("kept: table", b.js("document.querySelectorAll('#kept details tbody tr').length"), 10)


def main():
    """All pages in one browser."""
    if not find():
        print("no Chromium here")
        sys.exit(77)
    b = Chromium()
    try:
        b.call("Performance.enable", timeDomain="threadTicks")
        report = make("run")
        b.open("run.html")
        quiet(b, "run")
        figures(b, "run", report)
        every_frame(b)
        use_flame(b)
        own_figures(b)
        use_sites(b)
        use_timeline(b)
        quiet(b, "run, used")
        use_views(b, expect)
        for path in sorted(glob.glob("*.db")):
            name = path[:-3]
            report = make(name)
            before = {m["name"]: m["value"] for m in b.call("Performance.getMetrics")["metrics"]}["ThreadTime"]
            seconds = b.open(name + ".html")
            quiet(b, name)
            if name == "many":
                spent = {m["name"]: m["value"] for m in b.call("Performance.getMetrics")["metrics"]}["ThreadTime"]
                print(f"100,000 sites: ready after {seconds:.2f} s, {spent - before:.2f} s of CPU time")
                b.js("memscope.flame.set({up: true})")
                expect("many: total", b.js("memscope.flame.total()"), report["totals"]["peak_bytes"])
                continue
            if name == "seven":
                expect("all cards", b.js("document.querySelectorAll('.cards .card').length"), 7)
            if name == "kept":
                use_kept(b)
            if name == "beside":
                expect("what was mapped", b.js("memscope.timeline.data.series.map((s) => [s.id, Array.from(s.values).at(-1)])[2]"), ["mapped", 4750000])
            if name == "hostile":
                expect("no markup out of names", b.js("[document.images.length, document.scripts.length, document.querySelectorAll('iframe, b, object').length]"), [0, 2, 0])
                b.js("document.querySelectorAll('[data-site]').forEach((e) => document.querySelector(`[data-site='${e.dataset.site}']`).click())")
                expect("names as text", b.js("document.querySelector('.stack').textContent.includes('</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>')"),
                       True)
                quiet(b, "hostile, used")
            every_frame(b)
            figures(b, name, report)
            fits(b, name)
            if name in ("changes", "unchanged"):
                expect(f"{name}: the flame graph is not empty", b.js("[memscope.flame.total() > 0, memscope.flame.state.side]"),
                       [True, "change" if name == "changes" else "after"])
            if name == "changes":
                compared(b, expect)
                quiet(b, "changes, used")
            if name == "sampled":
                intervals(b, report)
                quiet(b, "sampled, used")
            if len(sys.argv) > 1:
                pictures(b, sys.argv[1], name)
        # samples of two processes: only what was read is drawn, and joined; a sum has the other one's between its samples
        rows = "[[1, 10, 100], [1, 20, null], [1, 30, 300], [2, 15, 8], [2, 40, 8]]"
        expect("polled figures", b.js(f"Array.from(sumOfKnown({rows}, [10, 15, 20, 30, 40, 50], 1, 0, 2), (v) => Number.isNaN(v) ? null : v)"),
               [100, 158, None, 308, 8, None])
        # without the browser's means for base64, in one that cannot unpack, and with no script at all
        script = b.call("Page.addScriptToEvaluateOnNewDocument", source="delete Uint8Array.fromBase64")
        b.open("many.html")
        quiet(b, "decoded by the page itself")
        expect("decoded by the page itself", b.js("memscope.model.sites"), 100000)
        b.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
        script = b.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.DecompressionStream")
        b.open("run.html")
        expect("an old browser", b.js("[document.documentElement.dataset.ready, document.querySelector('main [role=alert]').textContent.slice(0, 66)]"),
               ["failed", "This page cannot be shown: this browser cannot unpack its data; Ch"])
        b.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
        b.call("Emulation.setScriptExecutionDisabled", value=True)
        b.call("Page.navigate", url="file://" + os.path.abspath("run.html"))
        b.wait(lambda: b.js("document.querySelector('noscript pre')?.textContent.includes('PEAK at 2.500 s')"))
        expect("without scripts", b.js("getComputedStyle(document.querySelector('p.script')).display"), "none")
    finally:
        b.close()
    print("\n".join(failures[:25]))
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


main()
