# SPDX-License-Identifier: MIT
"""check.py FILE...: each format of ms-report for other programs has the figures of --json, to the byte: totals and call stacks."""
import collections
import json
import os
import re
import subprocess
import sys

import formats

failures = []
FIGURES = ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "temporary")


def expect(what, good, seen=""):
    if not good:
        failures.append(f"{what}: {seen!r:.600}")


def same(what, got, want):
    if isinstance(want, dict) and isinstance(got, dict):
        got, want = ({k: v for k, v in a.items() if b.get(k) != v} for a, b in ((got, want), (want, got)))
    expect(what, got == want, (got, want))


def run(*words):
    r = subprocess.run(("ms-report", "--allow-partial", "-q", *words), capture_output=True, check=False)
    expect(f"ms-report {words}", r.returncode == 0 and not r.stderr, r)
    return r.stdout


def clean(s):
    """As names.c: what is no text for a line becomes \\xNN or \\u{...}."""
    def one(c):
        n = ord(c)
        bad = n < 32 or 127 <= n < 160 or n in (0xad, 0x61c, 0xfeff) or 0x200b <= n <= 0x200f or 0x2028 <= n <= 0x202e or 0x2060 <= n <= 0x206f \
            or 0xfff0 <= n <= 0xfffb or 0xe0000 <= n <= 0xe0fff
        return c if not bad else f"\\x{n:02x}" if n < 128 else f"\\u{{{n:x}}}"
    return "".join(map(one, s))


NOTES = {"cut": "frames left out by ms-record --depth", "truncated": "callers not found", "not taken": "stack not taken", "before": "allocated before the recording"}


class Truth:
    """What --json says: totals and figures by stack; a figure that is null is not there."""

    def __init__(self, *words):
        self.json = j = json.loads(run("--json", *words))
        self.several = len(j["processes"]) > 1
        t = j["totals"]

        def moment(label, key):
            of = [s[key] for s in j["snapshots"] if s["label"] == label]
            return sum(of) if of and None not in of else None
        values = (t["allocations"], t["allocated_bytes"], moment(j["at"], "live_blocks"), moment(j["at"], "live_bytes"), moment("peak", "live_blocks"),
                  moment("peak", "live_bytes"), t["temporary_allocations"])
        self.totals = {f: v for f, v in zip(FIGURES, values) if v is not None}
        self.unknown = set()  # not known of single sites
        self.stacks = {f: collections.Counter() for f in self.totals}
        for s in j["sites"]:
            for f in self.totals:
                if s[f] is None:
                    self.unknown.add(f)
                if s[f]:
                    self.stacks[f][self.stack(s)] += s[f]

    def stack(self, site):
        names = [self.name(f) for f in site["stack"]] or ["(no stack)"]
        if self.several:
            p = next(p for p in self.json["processes"] if p["id"] == site["process"])
            names.append(f"{os.path.basename(p['exe'] or 'process')} ({p['pid']})")
        return tuple(names)

    @staticmethod
    def name(frame):
        if frame.get("note"):
            return f"[{NOTES[frame['note']]}]"
        return clean(frame["function"]) if frame["function"] else None

    def compare(self, what, figure, stacks):
        """A name that --json does not know is in a format as it likes."""
        want = self.stacks[figure] if figure not in self.unknown else None
        got = collections.Counter()
        for stack, n in stacks:
            if n and stack not in (("[hidden by filters]",), ("[without a site]",)):
                got[tuple(None if re.fullmatch(r"0x[0-9a-f]+|[^ ]+\+0x[0-9a-f]+|\(unknown\)", x) else x for x in stack)] += n
        if want is not None:
            same(f"{what}: stacks of {figure}", got, want)
        same(f"{what}: sum of {figure}", sum(n for _, n in stacks), self.totals[figure])


PPROF = dict(zip(FIGURES, ("alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes", "peak_objects/count",
                           "peak_space/bytes", "temp_objects/count")))


def check_threads(db, truth, p):
    """What each thread allocated, and holds at the end."""
    for k, f in enumerate(("allocations", "allocated_bytes", "live_blocks", "live_bytes")):
        if k > 1 and truth.json["at"] != "end":
            continue
        got = collections.Counter()
        for s in p.samples:
            if "tid" in s["labels"] and s["values"][k]:
                got[s["labels"]["tid"], s["labels"].get("thread")] += s["values"][k]
        same(f"{db} pprof: {f} of threads", got, {(t["tid"], t["name"]): t[f] for t in truth.json["threads"] if t[f]})


def check_pprof(db, truth, words):
    run("--pprof=x.pb.gz", *words)
    p = formats.Pprof("x.pb.gz")
    same(f"{db} pprof: columns", p.columns, [c for i, c in enumerate(PPROF.values()) if i < 4 or FIGURES[i] in truth.totals])
    for f, column in PPROF.items():
        if f in truth.totals:
            i = p.columns.index(column)
            truth.compare(f"{db} pprof", f, [(p.stack(s), s["values"][i]) for s in p.samples])
        elif column in p.columns:
            same(f"{db} pprof: {column}, not known", p.totals()[column], 0)
    if db == "run.db":
        names = {p.strings[f[3]]: p.strings[f[2]] for f in p.functions.values()}
        same("pprof: a short name", names["orderd::PriceCache::insert(orderd::Symbol const&, orderd::Price)"], "orderd::PriceCache::insert")
        run("--pprof=full.pb.gz", "--full-names", *words)
        same("pprof: --full-names", {f[2] == f[3] for f in formats.Pprof("full.pb.gz").functions.values()}, {True})
    same(f"{db} pprof: default", p.strings[p.one[14]], "inuse_space")
    same(f"{db} pprof: duration", p.one.get(10, 0), max((x["duration_ns"] or 0) for x in truth.json["processes"]) or 0) if not truth.several else None
    if not truth.json["omitted"]["hidden_sites"] and "temporary" in truth.totals:
        check_threads(db, truth, p)
    for m in p.mappings.values():
        expect(f"{db} pprof: a mapping", m[2] < m[3] and p.strings[m[5]].startswith(("/", "[", "linux-vdso")), m)
    for where in p.locations.values():
        expect(f"{db} pprof: an address in no module", 2 not in where or where[2] in p.mappings, where)
    return p


def check_speedscope(db, truth, words):
    run("--speedscope=x.json", *words)
    j = formats.speedscope("x.json")
    titles = {"allocations": "allocations", "allocated_bytes": "bytes allocated", "peak_blocks": "blocks live at the peak",
              "peak_bytes": "bytes live at the peak", "temporary": "temporary allocations"}
    by_name = {p["name"]: p for p in j["profiles"]}
    live = [p for p in j["profiles"] if p["name"] not in titles.values()]
    found = {f: by_name[t] for f, t in titles.items() if t in by_name}
    found.update({("live_bytes" if p["unit"] == "bytes" else "live_blocks"): p for p in live})
    if truth.json["at"] == "peak":
        return j
    same(f"{db} speedscope: profiles", set(found), set(truth.totals))
    for f in truth.totals:
        truth.compare(f"{db} speedscope", f, list(zip(found[f]["stacks"], found[f]["weights"])))
    return j


def check_gprof2dot(db, truth, words):
    for metric, f in (("live", "live_bytes"), ("peak", "peak_bytes"), ("allocated", "allocated_bytes"), ("allocations", "allocations"),
                      ("temporary", "temporary")):
        if f in truth.totals:
            run("--gprof2dot=x.json", "--metric", metric, *words)
            j = formats.gprof2dot("x.json")
            truth.compare(f"{db} gprof2dot", f, [(e["stack"], e["cost"][0]) for e in j["events"]])


def check_massif(db, truth, words):
    run("--massif=massif.out", *words)
    head, snapshots = formats.massif("massif.out")
    j = truth.json
    same(f"{db} massif: remarks", head["desc"][0].startswith("written by ms-report"), True)
    if truth.several:
        trees = [s for s in snapshots if s["tree"]]
        same(f"{db} massif: ends", [s["mem_heap_B"] for s in trees], [truth.totals["live_bytes"]] if "live_bytes" in truth.totals else [])
        return
    want = sorted((s["time_ns"] // 1000000, s["live_bytes"], "peak" if s["label"] == "peak" else "detailed") for s in j["snapshots"]
                  if None not in (s["time_ns"], s["live_bytes"]))
    got = sorted((s["time"], s["mem_heap_B"], s["heap_tree"]) for s in snapshots if s["tree"])
    same(f"{db} massif: moments", got, want)
    expect(f"{db} massif: all is at most the peak", "peak_bytes" not in truth.totals or max(s["mem_heap_B"] for s in snapshots) <= truth.totals["peak_bytes"])
    for s in snapshots:
        if s["heap_tree"] == "peak" and not any(x["hidden"] for x in [{"hidden": j["omitted"]["hidden_sites"]}]):
            sums = collections.Counter()
            for stack, n in truth.stacks["peak_bytes"].items():
                sums[stack[0]] += n
            for c in s["tree"]["children"]:
                found = re.fullmatch(r"0x[0-9A-F]+: (.*) \((?:in )?[^()]*\)", c["text"])
                if found and found[1].replace("\\x23", "#") in sums and "+0x" not in found[1]:
                    name = found[1].replace("\\x23", "#")
                    sums[name] -= c["bytes"]
            expect(f"{db} massif: first level of the peak", all(n is None or 0 <= v < max(1000, s["mem_heap_B"] // 100) for n, v in sums.items()), sums)


def check_dhat(db, truth, words):
    run("--dhat=x.json", *words)
    j = formats.dhat("x.json")
    for f, key in (("allocated_bytes", "tb"), ("allocations", "tbk"), ("peak_bytes", "gb"), ("peak_blocks", "gbk"), ("live_bytes", "eb"),
                   ("live_blocks", "ebk")):
        if f in truth.totals:
            truth.compare(f"{db} dhat", f, [(p["stack"], p[key]) for p in j["pps"]])
        else:
            same(f"{db} dhat: {f}, not known", sum(p[key] for p in j["pps"]), 0)


def check_heaptrack(db, truth, words):
    run("--heaptrack=x.gz", *words)
    plain = run("--heaptrack", *words)
    with open("x.txt", "wb") as f:
        f.write(plain)
    h = formats.heaptrack("x.gz")
    same(f"{db} heaptrack: compressed or not", h, formats.heaptrack("x.txt"))
    keys = {"allocations": "allocations", "allocated_bytes": "allocated", "live_bytes": "leaked", "temporary": "temporary"}
    if not truth.several:
        keys["peak_bytes"] = "peak"
    if truth.json["at"] != "end":
        del keys["live_bytes"]
    for f, key in keys.items():
        if f in truth.totals:
            truth.compare(f"{db} heaptrack", f, [(c["stack"], c[key]) for c in h["traces"]])
            same(f"{db} heaptrack: total {key}", h["total"].get(key, h["allocated"]), truth.totals[f])
    return h


CALLGRIND = dict(zip(FIGURES, ("totBk", "totB", "curBk", "curB", "peakBk", "peakB", "tmpBk")))


def check_callgrind(db, truth, words):
    run("--callgrind=x.callgrind", *words)
    c = formats.callgrind("x.callgrind")
    same(f"{db} callgrind: totals", c["totals"], {CALLGRIND[f]: v for f, v in truth.totals.items()})
    for f, v in truth.totals.items():
        e = CALLGRIND[f]
        same(f"{db} callgrind: own {e}", sum(x[e] for x in c["own"].values()), v)
        own, inclusive = collections.Counter(), collections.Counter()
        for stack, n in truth.stacks[f].items():
            own[stack[0]] += n
            for name in set(stack):
                inclusive[name] += n
        got_own, got_all = collections.Counter(), collections.Counter()
        for (_, _, name), x in c["own"].items():
            got_own[name] += x[e]
        for (_, _, name), x in c["inclusive"].items():
            got_all[name] += x[e]
        for want, got, what in ((own, got_own, "own"), (inclusive, got_all, "inclusive")):
            bad = {n: (got[n], v) for n, v in want.items() if n and got[n] != v}
            # functions of one name in several files are apart there, and a stack may have both
            expect(f"{db} callgrind: {what} {e}", not {n for n in bad if what == "own" or got[n] < want[n]}, bad)


def check_chrome(db, truth, words):
    run("--chrome-trace=x.json", *words)
    j = formats.chrome("x.json")
    events = j["traceEvents"]
    for p in truth.json["processes"]:
        live = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "live" and e["pid"] == p["pid"]]
        peak = p["totals"]["peak_bytes"]
        if live and peak is not None and p["totals"]["peak_time_ns"] is not None:
            same(f"{db} chrome: peak", max(live), peak)
        if live and p["totals"]["unfreed_bytes"] is not None and db not in ("part.db", "span.db"):
            expect(f"{db} chrome: end", db == "two.db" or live[-1] == p["totals"]["unfreed_bytes"], (live[-1], p["totals"]["unfreed_bytes"]))
    times = [(e["name"], e["ts"]) for e in events if e["ph"] == "C"]
    by_name = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "C":
            by_name[e["pid"], e["name"]].append(e["ts"])
    expect(f"{db} chrome: order", all(v == sorted(v) for v in by_name.values()), times)
    same(f"{db} chrome: notes", j["otherData"]["notes"][0].startswith("written by ms-report"), True)


def check(db, *more):
    words = (*more, db)
    truth = Truth(*words)
    check_pprof(db, truth, words)
    check_speedscope(db, truth, words)
    check_gprof2dot(db, truth, words)
    check_massif(db, truth, words)
    check_dhat(db, truth, words)
    check_heaptrack(db, truth, words)
    check_callgrind(db, truth, words)
    check_chrome(db, truth, words)
    for f in ("pprof", "speedscope", "gprof2dot", "massif", "dhat", "heaptrack", "callgrind", "chrome-trace"):
        expect(f"{db} {f}: the same bytes again", run("--" + f, *words) == run("--" + f, *words))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        db, _, at = name.partition("@")
        check(db, *(("--at", at) if at else ()))
    print("\n".join(failures[:40]))
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))
