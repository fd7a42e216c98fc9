# SPDX-License-Identifier: MIT
"""What a reader chooses in a page: its address, search, "only my code", callers and callees, colours. Each function takes the browser with the
page of run.db, and a function that notes differences."""
import json

FRAMES = "[...document.querySelectorAll('.flame .fr')]"
ZOOMED = "memscope.flame.name(memscope.flame.zoomed)"


def frame(name):
    """The element of a frame, as an expression."""
    return f"{FRAMES}.find((e) => e.getAttribute('aria-label').startsWith('{name},'))"


def labels(b):
    """All frames, from the top row down, as (name, what it says)."""
    return [tuple(v) for v in b.js(f"{FRAMES}.sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top) || parseFloat(a.style.left) - parseFloat(b.style.left))"
                                   ".map((e) => e.getAttribute('aria-label').split(/, (.*)/).slice(0, 2))")]


def fresh(b, fragment="", mine=False):
    """run.html as from a link, with all frames as from a page that has no other."""
    b.call("Page.navigate", url="about:blank")
    b.wait(lambda: b.js("location.href") == "about:blank")
    b.open("run.html" + fragment)
    if not mine and "mine=1" not in fragment:
        every_frame(b)


def every_frame(b):
    """As if "only my code" were not on at first."""
    b.js("memscope.model.mineFirst = false; memscope.mine?.setState('')")


def until(b, expect, what, expression, want):
    """Notes what an expression is in the end, if it does not become `want` soon."""
    for _ in range(150):
        got = b.js(expression)
        if got == want:
            return
        b.js("new Promise((done) => setTimeout(done, 20))")
    expect(what, got, want)


def find(b, text):
    """Searches, until that is over."""
    b.js(f"memscope.search.set({json.dumps(text)}); new Promise((done) => {{ const look = () => memscope.search.waiting ? setTimeout(look, 10) : done(); look(); }})")


def point(b, expression):
    """The middle of an element on the screen, once it is still there: a browser scrolls back after Back."""
    return b.js("(async () => { for (let i = 0; i < 300; i++) { const e = " + expression + "; e.scrollIntoView({block: 'center', behavior: 'instant'}); "
                "await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))); "
                "const r = e.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2; "
                "if (e.isConnected && e.contains(document.elementFromPoint(x, y))) return [x, y]; } throw new Error('never on the screen'); })()")


def click(b, expression, button="left"):
    """With the mouse, where the element is."""
    x, y = point(b, expression)
    for kind in ("mousePressed", "mouseReleased"):
        b.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


def tap(b, expression):
    """With a finger."""
    x, y = point(b, expression)
    b.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    b.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def choose(b, name, value):
    """In a list of the flame graph's controls."""
    b.js(f"((s) => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})([...document.querySelectorAll('#flame .choice')]"
         f".find((l) => l.textContent.startsWith('{name}')).querySelector('select'))")


def address(b, expect):
    """Each choice is in the address; Back and Escape take back steps, small choices stay; a link opens the same view."""
    fresh(b)
    expect("times as the text report has them", b.js("[2.5e6, 9.96e6, 999.6e6, 59.9996e9, 97500e9].map(sayTime).join()"), "2.5 ms,10 ms,1.000 s,1m 00s,1d 3h 05m")
    expect("what rounds up is in the next unit", b.js("[sayTick(999.6e6), sayTick(999.6e3), sayBrief(999.7)].join()"), "1 s,1 ms,1 k")
    expect("nothing chosen", b.js("[location.hash, history.length]")[0], "")
    click(b, frame("main"))
    expect("zoomed with the mouse", b.js(ZOOMED), "main")
    z = b.js("memscope.flame.path.map((fn) => functionKey(memscope.model, fn)).join('.')")
    expect("functions in the address", [len(z.split(".")), b.js("location.hash")], [3, f"#flame&z={z}"])
    expect("keys of functions are the same in every page", z, "cakpgcee.2zdggaf8.ndfzybo4")
    click(b, frame("orderd::Arena::Arena"))
    expect("zoomed further", b.js("location.hash.split('.').length"), 4)
    choose(b, "Show", "live")
    until(b, expect, "the metric in the address", "location.hash.startsWith('#flame&m=live&z=')", True)
    b.js("history.back()")
    until(b, expect, "Back undoes a zoom, and nothing else", f"[{ZOOMED}, memscope.flame.state.metric, location.hash]", ["main", "live", f"#flame&m=live&z={z}"])
    b.js("history.forward()")
    until(b, expect, "Forward zooms again", f"[{ZOOMED}, memscope.flame.state.metric]", ["orderd::Arena::Arena", "live"])
    b.js("document.activeElement.blur()")
    b.press("Escape", 27)
    until(b, expect, "Escape undoes a zoom of the mouse", ZOOMED, "main")
    b.press("Escape", 27)
    until(b, expect, "and the one before", f"[{ZOOMED}, location.hash]", ["all", "#m=live"])
    b.press("Escape", 27)
    expect("and no more", b.js(f"[{ZOOMED}, location.pathname.endsWith('run.html')]"), ["all", True])
    click(b, frame("main"))
    click(b, "[...document.querySelectorAll('.crumbs .reset')].at(-1)")
    until(b, expect, "Reset goes back to the step before", f"[{ZOOMED}, location.hash]", ["all", "#m=live"])
    b.js("history.forward()")
    until(b, expect, "from which Forward leads on", ZOOMED, "main")
    b.js("history.back()")
    until(b, expect, "and Back again", ZOOMED, "all")

    click(b, "document.querySelector('[data-site=\"2\"]')")
    expect("an opened site", b.js("location.hash"), "#sites&m=live&o=2")
    b.js("history.back()")
    until(b, expect, "Back closes it", "[document.querySelectorAll('tr.detail').length, location.hash]", [0, "#m=live"])
    find(b, 'feed "a b" /x{2}/')
    until(b, expect, "what is searched for", "location.hash", "#q=feed%20%22a%20b%22%20%2Fx%7B2%7D%2F&m=live")
    find(b, "")
    b.js("document.querySelector('#nav a[href=\"#sizes\"]').click()")
    until(b, expect, "a section, with what is shown", "location.hash", "#sizes&m=live")
    expect("what is shown stays", b.js("memscope.flame.state.metric"), "live")

    for key, change in (("m", "{metric: 'temporary'}"), ("up", "{up: true}"), ("flame", "{hanging: false}"), ("rec", "{fold: false}")):
        fresh(b)
        b.js(f"memscope.flame.set({change})")
        until(b, expect, f"{key} in the address", "location.hash.length > 2", True)
        link, want = b.js("[location.hash, memscope.flame.state]")
        expect(f"{key}", link[1:len(key) + 2], key + "=")
        fresh(b, link)
        expect(f"{link}: the same view", b.js("memscope.flame.state"), want)
        expect(f"{link}: the same address", b.js("location.hash"), link)
    fresh(b)
    b.js("memscope.timeline.choose([0, 2]); memscope.timeline.changed()")
    until(b, expect, "a range of time in the address", "location.hash", "#timeline&m=range&t=1500000000-4000000000")
    range_ = "[memscope.timeline.ends, memscope.flame.state.metric, memscope.flame.total(), document.querySelector('#timeline .range-chosen p').textContent.slice(0, 40)]"
    want = b.js(range_)
    expect("a range of time", want[:3], [[0, 2], "range", 67220])
    fresh(b, "#timeline&m=range&t=1500000000-4000000000")
    expect("a range of time from a link", b.js(range_), want)
    b.js("memscope.timeline.choose([1, 2]); memscope.timeline.changed(); history.back()")
    until(b, expect, "the range before, by Back", "memscope.timeline.ends", [0, 2])
    fresh(b)
    b.js("memscope.timeline.choose([0, 1]); memscope.timeline.changed()")
    b.press("Escape", 27)
    until(b, expect, "without a range, by Escape", "[memscope.timeline.ends, memscope.flame.state.metric, location.hash]", [None, "peak", ""])
    link = f"#flame&q=feed%20-logger&mine=1&m=live&z={b.js('functionKey(memscope.model, 14)')}.{b.js('functionKey(memscope.model, 15)')}&o=3.2"
    fresh(b, link)
    expect("all at once", b.js(f"[memscope.search.input.value, memscope.mine.input.checked, memscope.flame.state.metric, {ZOOMED}, "
                               "document.querySelectorAll('tr.detail').length, memscope.sites.getState()]"),
           ["feed -logger", True, "live", "orderd::Feed::tick", 1, "3.2"])
    expect("it begins where it says", b.js("Math.round(document.getElementById('flame').getBoundingClientRect().top) < 200"), True)
    b.js("document.activeElement.blur()")
    b.press("Escape", 27)
    expect("Escape in a linked zoom", b.js(ZOOMED), "orderd::io::Worker::run")


def damaged(b, expect):
    """Addresses that are not ours are as if they were not there."""
    plain = None
    for fragment in ("", "#%E0%A4%A", "#m=nothing", "#m=__proto__", "#m=constructor", "#z=zzz.yyy...", "#s=nobody", "#o=99.x.-1", "#=", "#&&&", "#z", "#flame&z=%FF&m=%",
                     "#up=yes&rec=2&w=sideways&mine=on", "#unknown=1&x", "#nosuchsection", "#<img src=x onerror=alert(1)>", "#t=5-1&l=?&f=%00", "#" + "z=a." * 5000):
        fresh(b, fragment)
        expect(f"{fragment:.40}: complaints", b.complaints(), [])
        got = b.js(f"[document.documentElement.dataset.ready, memscope.flame.state, {ZOOMED}, memscope.sites.getState(), memscope.model.mine]")
        plain = plain or got
        expect(f"{fragment:.40}: as opened", got, plain)
    b.js("location.hash = '#m=live'")
    until(b, expect, "an address that is typed", "memscope.flame.state.metric", "live")
    b.js("location.hash = '#m=%E0%A4%A'")
    until(b, expect, "a damaged one that is typed", "memscope.flame.state.metric", "peak")


def search(b, expect):
    """Words, phrases, exclusion, regular expressions; graph and tables follow; sums."""
    fresh(b)
    for text, sites, sum_, left in (("feed cache", [2], 256000, 0), ("cache feed", [2], 256000, 0), ("feed parser", [], 0, 0), ("main", [1, 3, 4, 5, 6, 7], 3149428, 0),
                                    ("main -arena", [3, 4, 5, 6, 7], 2100852, 1048576), ("-main", [2, 8], 256048, 3149428), ("-start_thread -walk", [1, 3, 4, 5, 7], 3149428, 256048),
                                    ('"Arena::Arena"', [1], 1048576, 0), ('"Arena Arena"', [], 0, 0), ("/orderd::.*(snap|ins)/", [2, 7], 2353152, 0),
                                    ("-/src\\/(book|arena)/ main", [3, 4, 5, 6], 3700, 3145728), ("src/book.cpp", [7], 2097152, 0), ("/home/ann", [1, 2, 3, 4, 5, 6, 7, 8], 3405476, 0),
                                    ("LIBZ", [4], 1000, 0), ("operator->", [], 0, 0), ("", [1, 2, 3, 4, 5, 6, 7, 8], None, 0)):
        find(b, text)
        if sum_ is not None:
            expect(f"{text}: sums", b.js("[memscope.flame.sums.found, memscope.flame.sums.left]"), [sum_, left])
        expect(f"{text}: sites", sorted(b.js("memscope.sites.rows.map((r) => memscope.sites.id(r))")), sites)
        expect(f"{text}: the graph's sum", b.js("memscope.flame.tree.root.sum"), 3405476 - left)
        expect(f"{text}: the functions' sum", b.js("(m => groupsOf(m.model, m.flame.metric.values, null, 'function', m.groups.hits).reduce((a, g) => a + g.self, 0))(memscope)"),
               3405476 if sum_ is None else sum_)
    find(b, "main -arena")
    expect("what is said", b.js("document.getElementById('found').textContent"), "Found in 5 sites: 2.0 MiB, 62 %; -arena leaves out 1 site: 1.0 MiB, 31 %")
    expect("marked", b.js("[...document.querySelectorAll('.fr.hit')].map((e) => e.textContent)"), ["__libc_start_main", "main"])
    expect("left out", b.js(f"!!{frame('orderd::Arena::Arena')}"), False)
    b.js("memscope.flame.set({metric: 'allocations'})")
    expect("of another metric", b.js("document.getElementById('found').textContent"), "Found in 5 sites: 136, 0.1 %; -arena leaves out 1 site: 1, <0.1 %")
    b.js("memscope.flame.set({metric: 'peak'})")
    slow = "a repeated group has repeats or alternatives in it"
    for text, error in (("/(/", "Unterminated group"), ("/a)/", "Unmatched ')'"), ("/[a/", "Unterminated character class"), ("/*/", "Nothing to repeat"),
                        ("/a{3,2}/", "numbers out of order in {} quantifier"), ("/((a{99}){99}){99}/", slow), ("/(((){9999}){9999}){9999}/", slow), ("/(a+)+x/", slow),
                        ("/(a|a)*x/", slow), ("/(.*a){12}x/", slow), ("/((?:b[a)]|a)c)+/", slow), ("/(\\(x+)*/", slow), ("/((a+)?)*b/", slow),
                        ("/" + "a" * 301 + "/", "it is longer than 300 characters")):
        find(b, text + " main")
        said = b.js("document.querySelector('#found .error').textContent")
        expect(f"{text:.30}: said", said, f". {text} is no regular expression: {error}")
        expect(f"{text:.30}: the rest is searched for", b.js("[memscope.flame.sums.found, memscope.search.input.getAttribute('aria-invalid')]"), [3149428, "true"])
    find(b, "")
    expect("nothing is said of nothing", b.js("document.getElementById('found').textContent"), "")


def regexes(b, expect):
    """The browser's own, but for those that can take it exponential time; a search that takes long leaves the page alive, and is given up."""
    fresh(b)
    for pattern in ("^std::", "vector<.*>$", r"\bmain\b", "[(*|]+x", r"\(a\|b\)+", "(foo|bar)?(?:baz)+", "((a|b)c+)?d", "a??b", "x(?=y)", "(a)\\1"):
        expect(f"{pattern} is taken", b.js(f"regexOf({json.dumps(pattern)}).source"), pattern)
    expect("upper case is as lower case", b.js("[regexOf('[A-Z]ain').test('main'), regexOf('ORDERD').test('orderd')]"), [True, True])
    b.js("window.ticks = 0; window.timer = setInterval(() => window.ticks++, 1); memscope.slow = new Search({ fns: Array.from({ length: 5000 }, (_, i) => ({ name: "
         "'a'.repeat(70) + i })), fnOf: [], parent: [], frame: [], sites: 0, columns: {}, node: [], noStack: 0, fileOf: () => null }, () => {}, () => ({})); "
         "memscope.slow.set('/a*a*a*a*a*x/')")
    expect("goes on later", b.js("[memscope.slow.result, memscope.slow.waiting > 0]"), [None, True])
    b.wait(lambda: b.js("!memscope.slow.waiting"))
    expect("given up", b.js("memscope.slow.result"), {"found": None, "errors": ["a regular expression was aborted: it takes too long"]})
    expect("the page lived on", b.js("clearInterval(timer), ticks > 10"), True)
    b.js("memscope.slow.set('/a*a*a*a*a*x/'); memscope.slow.set('a')")
    expect("a later search ends it", b.js("[memscope.slow.result.words, memscope.slow.waiting]"), ["a", 0])


def only_mine(b, expect):
    """Frames of the runtime are gone from graph, stacks and tables, sums are not."""
    fresh(b)
    click(b, frame("main"))
    click(b, "document.querySelector('[data-site=\"2\"]')")
    click(b, "memscope.mine.input")
    until(b, expect, "in the address", "/[#&]mine=1(&|$)/.test(location.hash)", True)
    expect("still zoomed", b.js(f"[{ZOOMED}, memscope.flame.zoomed.level]"), ["main", 1])
    b.js("memscope.flame.zoom(memscope.flame.tree.root)")
    expect("frames", labels(b), [("all", "3.2 MiB, 100 %"), ("main", "3.0 MiB, 92 %"), ("orderd::io::Worker::run", "250.0 KiB, 7.5 %"),
                                 ("orderd::OrderBook::snapshot<orderd::Level", "16>, 2.0 MiB, 62 %"), ("orderd::Arena::Arena", "1.0 MiB, 31 %"), ("orderd::Feed::tick", "250.0 KiB, 7.5 %"),
                                 ("orderd::PriceCache::insert", "250.0 KiB, 7.5 %")])
    expect("said", b.js("document.querySelector('#flame .readout').textContent.endsWith('; frames of the runtime are folded away')"), True)
    expect("the stack, with its numbers", b.js("[...document.querySelectorAll('.stack li')].map((e) => [e.value, e.querySelector('.fn').textContent.slice(0, 18)])"),
           [[2, "orderd::PriceCache"], [3, "orderd::Feed::tick"], [4, "orderd::io::Worker"]])
    expect("said of the stack", b.js("document.querySelector('.stack + p').textContent"), "3 frames of the runtime folded away")
    expect("what was called", b.js("document.querySelector('table.sites').textContent.includes('calls operator new')"), True)
    b.js("[...document.querySelectorAll('#functions th button')].find((e) => e.textContent.startsWith('anywhere')).click()")
    expect("functions", b.js("[...document.querySelectorAll('#functions .fn')].map((e) => e.textContent)"),
           ["main", "orderd::OrderBook::snapshot<orderd::Level, 16>", "orderd::Arena::Arena", "orderd::io::Worker::run", "orderd::Feed::tick", "orderd::PriceCache::insert", "orderd::Parser::dup",
            "orderd::Session::onFrame", "libz.so.1+0xabcd", 'evil|<img src=x>`;, "q"\\x0a\\x1b[31m\\u{202e}x = @all', "orderd::Logger::fmt"])
    click(b, "memscope.mine.input")
    expect("all again", [b.js(f"!!{frame('_start')}"), b.js("document.querySelectorAll('.stack li').length")], [True, 6])


def at_first(b, expect):
    """A page opens on the reader's own code; its links are called as the headings are and stand on one line; Enter in the search goes to a hit."""
    fresh(b, mine=True)
    expect("only my code", b.js("[memscope.mine.input.checked, memscope.model.mine, location.hash]"), [True, True, ""])
    expect("frames of my code", labels(b)[:3], [("all", "3.2 MiB, 100 %"), ("main", "3.0 MiB, 92 %"), ("orderd::io::Worker::run", "250.0 KiB, 7.5 %")])
    click(b, "memscope.mine.input")
    until(b, expect, "all frames, in the address", "/[#&]mine=0(&|$)/.test(location.hash)", True)
    click(b, "memscope.mine.input")
    until(b, expect, "as at first", "location.hash", "")
    expect("links are called as headings", b.js("[...document.querySelectorAll('#nav a')].map((e) => e.textContent)"),
           b.js("[...document.querySelectorAll('main h2')].map((e) => e.textContent)"))
    b.size(1400, 900)
    expect("links on one line", b.js("new Set([...document.querySelectorAll('#nav li')].map((e) => e.offsetTop)).size"), 1)
    b.size(1280, 900)
    b.press("/", 191)
    for c in "pricecache":
        b.press(c)
    b.press("Enter", 13)
    expect("Enter goes to a frame", b.js("document.activeElement.getAttribute('aria-label')"), "orderd::PriceCache::insert, 250.0 KiB, 7.5 %")
    until(b, expect, "which comes onto the screen", "(r => r.top >= 0 && r.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())", True)
    b.js("memscope.flame.sandwich(-1)")
    find(b, "logger")
    b.js("memscope.search.input.focus()")
    b.press("Enter", 13)
    expect("or to a row, where no frame is so wide", b.js("document.activeElement.dataset.site"), "8")
    find(b, "")
    b.js("document.querySelector('[data-site=\"2\"]').click()")
    expect("short names with places in a stack", b.js("[...document.querySelectorAll('.stack li')].map((e) => [e.querySelector('.fn').textContent, e.querySelector('.place').textContent])"),
           [["orderd::PriceCache::insert", "src/cache.cpp:77"], ["orderd::Feed::tick", "src/feed.cpp:130"], ["orderd::io::Worker::run", "src/io/worker.cpp:48"]])
    b.js(f"{frame('orderd::Feed::tick')}.dispatchEvent(new MouseEvent('mousemove', {{bubbles: true, clientX: 300, clientY: 300}}))")
    expect("and in the tip", b.js("[...document.querySelectorAll('#tip strong, #tip .place')].map((e) => e.textContent)"), ["orderd::Feed::tick", "src/feed.cpp:130"])
    fits = "(room) => fitName('ns::Cache<a::b>::insert_or_assign', room, (s) => s.length)"
    expect("names are cut at their left", b.js(f"[33, 32, 22, 19, 18, 12, 3, 2].map({fits})"),
           ["ns::Cache<a::b>::insert_or_assign", "…::Cache<a::b>::insert_or_assign", "…::insert_or_assign", "…::insert_or_assign", "…insert_or_assign", "…t_or_assign", "ns::Cache<a::b>::insert_or_assign", "ns::Cache<a::b>::insert_or_assign"])


def sandwich(b, expect):
    """Callers and callees of a function: reached in four ways, their sums, recursion, and the way back."""
    fresh(b)
    new = b.js("memscope.model.fns.findIndex((f) => f.brief === 'operator new')")
    key = b.js(f"functionKey(memscope.model, {new})")
    click(b, frame("operator new"), "right")
    expect("a menu", b.js("[...document.querySelectorAll('.menu [role=menuitem]')].map((e) => e.textContent)"),
           ["Zoom to this frame", "Callers and callees", "Search for it", "Exclude stacks that contain it"])
    expect("which has the focus", b.js("document.activeElement.textContent"), "Zoom to this frame")
    b.press("ArrowDown", 40)
    b.press("Enter", 13)
    expect("from the menu, by keys", b.js("[document.querySelectorAll('.menu').length, location.hash]"), [0, f"#flame&s={key}"])
    want = [("_start", "1.0 MiB, 31 %"), ("__libc_start_main", "1.0 MiB, 31 %"), ("start_thread", "250.0 KiB, 7.5 %"), ("main", "1.0 MiB, 31 %"),
            ("orderd::io::Worker::run", "250.0 KiB, 7.5 %"), ("orderd::Feed::tick", "250.0 KiB, 7.5 %"), ("orderd::PriceCache::insert", "250.0 KiB, 7.5 %"),
            ("orderd::Arena::Arena", "1.0 MiB, 31 %"), ("std::_Rb_tree<Symbol", "…>::_M_create_node, 250.0 KiB, 7.5 %"), ("operator new", "1.2 MiB, 38 %")]
    expect("callers above", sorted(labels(b)), sorted(want))
    expect("the function below all of them", labels(b)[-1], want[-1])
    expect("the sum is what the function has in all", b.js("(f => [f.centre.sum, f.halves.callers.root.sum, f.halves.callers.kids(f.halves.callers.root).reduce((a, k) => a + k.sum, 0), "
           f"groupsOf(f.model, f.metric.values, null, 'function').find((g) => f.model.fnOf[g.frame] === {new}).total])(memscope.flame)"), [1304576] * 4)
    b.js("document.activeElement.blur()")
    b.press("Escape", 27)
    until(b, expect, "Escape leaves it", "[memscope.flame.state.around, location.hash]", [-1, ""])
    for name in b.js("memscope.model.fns.map((f, i) => f.kind ? -1 : i).filter((i) => i >= 0)"):
        for metric in ("peak", "allocations"):
            b.js(f"memscope.flame.set({{metric: '{metric}'}}); memscope.flame.sandwich({name})")
            whole, *sums = b.js("(f => [f.metric.values.filter((v, s) => f.model.stack(s).some((x) => f.model.fnOf[x] === f.state.around)).reduce((a, v) => a + v, 0), "
                                "...['callers', 'callees'].flatMap((h) => { const t = f.halves[h], k = t.kids(t.root); return [t.root.sum, t.root.own + k.reduce((a, n) => a + n.sum, 0)]; })])"
                                "(memscope.flame)")
            expect(f"function {name}, {metric}: sums", sums, [whole] * 4)
    b.js("memscope.flame.sandwich(memscope.model.fns.findIndex((f) => f.brief === 'walk'))")
    expect("recursion counts once", labels(b), [("_start", "1, <0.1 %"), ("__libc_start_main", "1, <0.1 %"), ("main", "1, <0.1 %"), ("walk", "1, <0.1 %"),
                                                ("[frames left out by ms-record --depth]", "1, <0.1 %"), ("walk", "1, <0.1 %")])
    b.js(f"{frame('main')}.focus()")
    b.press("ArrowDown", 40)
    expect("down to the function", b.js("document.activeElement.classList.contains('centre')"), True)
    b.press("ArrowUp", 38)
    b.press("Enter", 13)
    expect("another in the middle", b.js("memscope.flame.name(memscope.flame.centre)"), "main")
    b.js("history.back()")
    until(b, expect, "Back to the one before", "memscope.flame.centre && memscope.flame.name(memscope.flame.centre)", "walk")
    fresh(b)
    b.js(f"{frame('main')}.focus()")
    b.press("s", 83)
    expect("by its key", b.js("memscope.flame.name(memscope.flame.centre)"), "main")
    fresh(b)
    click(b, "[...document.querySelectorAll('#functions button.fn')].find((e) => e.textContent === 'orderd::Arena::Arena')")
    expect("from the functions", b.js("memscope.flame.name(memscope.flame.centre)"), "orderd::Arena::Arena")
    b.js("memscope.flame.table.open = true")
    until(b, expect, "as tables", "[...document.querySelectorAll('#flame table')].map((e) => e.textContent)",
          ["What orderd::Arena::Arena is called byfunctionwith what it callsshareitselfmain1.0 MiB31 %0 B",
           "What orderd::Arena::Arena callsfunctionwith what it callsshareitselfoperator new1.0 MiB31 %1.0 MiB"])
    b.js("history.back()")
    until(b, expect, "Back leaves it", "[memscope.flame.state.around, location.hash]", [-1, ""])
    fresh(b, f"#s={key}")
    expect("from a link", b.js("[memscope.flame.name(memscope.flame.centre), memscope.flame.centre.sum]"), ["operator new", 1304576])
    b.size(390, 800, True)
    b.call("Emulation.setTouchEmulationEnabled", enabled=True)
    fresh(b)
    tap(b, frame("main"))
    until(b, expect, "zoomed with a finger", ZOOMED, "main")
    tap(b, "document.querySelector('.crumbs .reset')")
    until(b, expect, "and then", "memscope.flame.centre && memscope.flame.name(memscope.flame.centre)", "main")
    expect("nothing too wide", b.js("document.documentElement.scrollWidth <= innerWidth"), True)
    b.call("Emulation.setTouchEmulationEnabled", enabled=False)
    b.size(1280, 900)


def colours(b, expect):
    """One module has a hue for each of its functions, the same in every page; several have one each; words on them can be read."""
    fresh(b)
    classes = dict(b.js(f"{FRAMES}.map((e) => [e.getAttribute('aria-label').split(',')[0], e.className])"))
    expect("hues", [classes[n] for n in ("main", "orderd::Arena::Arena", "orderd::OrderBook::snapshot<orderd::Level", "_start")], ["fr m10 v3", "fr m11 v0", "fr m2 v1", "fr runtime"])
    b.js("memscope.flame.set({metric: 'live'})")
    expect("the same of another metric", b.js(f"{frame('main')}.className"), "fr m10 v3")
    expect("hues of modules", b.js("[huesOf({fns: [...'aaab'].map((module) => ({module}))}), huesOf({fns: [...'aaaaaaaaab'].map((module) => ({module}))})].map((h) => h && [...h])"),
           [[["a", 0], ["b", 1]], None])
    for dark in (False, True):
        b.dark(dark)
        worst = b.js("""(() => { const box = document.createElement('div'), light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map((v) => v / 255)
            .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            document.querySelector('.flame').append(box); let worst = 99;
            for (let m = 0; m < 12; m++) for (let v = 0; v < 4; v++) { box.className = `fr m${m} v${v}`; const s = getComputedStyle(box), a = light(s.backgroundColor), b = light(s.color);
            worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); } box.remove(); return worst; })()""")
        expect(f"contrast {worst:.2f}, dark {dark}", worst >= 4.5, True)
    b.dark(False)


def compared(b, expect):
    """A comparison: what changed is seen at once; what changed in all and in a function is the same whatever the widths show and the search leaves out."""
    for width in (1400, 400):
        b.size(width, 900)
        b.js("scrollTo(0, 0)")
        expect(f"rows that changed at {width}", b.js("[...document.querySelectorAll('#changes tr.row')].slice(0, 2).every((e) => e.getBoundingClientRect().bottom < innerHeight)"), True)
    b.size(1280, 900)
    for side in ("change", "before", "after"):
        b.js(f"memscope.flame.set({{side: '{side}'}}); memscope.flame.sandwich(memscope.model.fns.findIndex((f) => f.brief === 'main'))")
        expect(f"changed, by {side}", b.js("document.querySelector('#flame .readout').textContent"),
               "Live at the end: -1021.2 KiB in all; main: -1021.2 KiB (1.0 MiB to 6.9 KiB)")
        b.js("memscope.flame.sandwich(-1)")
    b.js("memscope.flame.set({side: 'change'})")
    find(b, "main -parser")
    expect("without what grew", b.js("document.querySelector('#flame .readout').textContent"),
           "Live at the end: -1021.2 KiB in all; found in 5 places: 1.0 MiB, 100 %; -parser leaves out 1 place: 2.8 KiB, 0.3 %")
    find(b, "")


def use_views(b, expect):
    """All of them."""
    for use in (at_first, address, damaged, search, regexes, only_mine, sandwich, colours):
        use(b, expect)
        expect(f"{use.__name__}: complaints", b.complaints(), [])
