#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs test targets with and without the recorder and compares MemScope's figures with the programs' own truth.

Arguments: targets, each NAME or NAME:ARG[:ARG]... Works in the current folder, with BIN and TB from tests/run. Every comparison is for
equality. What the C and C++ libraries allocate for themselves (thread control blocks, the dynamic loader's tables, the exception pool) is set
apart by its stack: between the allocation and the innermost frame of the target stands a frame of the dynamic loader or of one of FOREIGN.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys

BIN = os.environ["BIN"]
TARGETS = os.path.join(os.environ["TB"], "targets")
COUNTS = ["allocations", "frees", "reallocations", "failed", "allocated_bytes", "temporary",
          "live_bytes", "live_blocks", "peak_bytes", "peak_blocks"]
FOREIGN = {"pthread_create", "__pthread_create_2_1", "dlopen", "dlclose", "dlsym", "dlerror", "__cxa_thread_atexit",
           "__cxa_thread_atexit_impl", "pthread_exit", "__pthread_exit", "pthread_cancel", "__pthread_cancel",
           "pthread_getattr_np", "_Unwind_ForcedUnwind"}
ROOTS = {"_start", "_dl_start_user", "_dl_start", "clone3", "__clone3", "__GI___clone3", "clone", "start_thread", "thread_start",
         "__start_context", "__startcontext"}
# Stacks on memory of the program's own may end there, when they say so: the functions that run on it.
OWN_MEMORY = {"sigraise": {"handle", "handle_fault"}}


def base(function):
    """A function's bare name: without parameters, template arguments and scopes."""
    if function is None:
        return None
    if function.startswith("operator new"):
        return "operator new"
    name = function
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    name = re.sub(r"\(.*", "", name)
    name = re.sub(r"\.(constprop|part|isra|cold)\..*", "", name)
    return name.split("::")[-1].split(" ")[-1]


class Snapshot:
    """A snapshot's rows, with each site's stack as a list of (function, module, note, file), innermost first."""

    def __init__(self, path, process=None):
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        db.row_factory = sqlite3.Row
        self.db = db
        where = "" if process is None else " WHERE id = %d" % process
        rows = db.execute("SELECT * FROM process%s ORDER BY id" % where).fetchall()
        self.process = rows[0]
        self.id = self.process["id"]
        # What was live when it became another program was gone then.
        replaced = self.process["became"] is not None
        self.last, self.unfreed = ("exec", "exec") if replaced else ("end", "unfreed")
        self.modules = {r["id"]: r["path"] for r in db.execute("SELECT * FROM module")}
        self.frames = {r["id"]: (r["function"], self.modules.get(r["module"]), r["note"], r["file"])
                       for r in db.execute("SELECT * FROM frame")}
        self.nodes = {r["id"]: (r["parent"], r["frame"]) for r in db.execute("SELECT * FROM stack")}
        self.sites = db.execute("SELECT * FROM site WHERE process = ?", (self.id,)).fetchall()
        self.live = {}
        for label, site, size, blocks in db.execute(
                "SELECT s.label, c.site, c.live_bytes, c.live_blocks FROM site_stat c JOIN snapshot s ON s.id = c.snapshot"):
            self.live[label, site] = (size, blocks)

    def stack(self, site):
        node, out = site["stack"], []
        while node:
            node, frame = self.nodes[node]
            out.append(self.frames[frame])
        return out

    def counts(self, site):
        end, peak = (self.live.get((label, site["id"]), (0, 0)) for label in (self.last, "peak"))
        return [site["allocations"], site["frees"], site["reallocations"], site["failed_allocations"],
                site["allocated_bytes"], site["temporary"], *end, *peak]


def owner(stack, vias):
    """Whose allocation it is: ('own' | 'via' | 'foreign', name)."""
    for i, (function, module, _, file) in enumerate(stack):
        if not module or not module.startswith(TARGETS + "/"):
            continue
        # Library code that the headers put into the target is not its own.
        if base(function) != "_start" and "tests/targets/" not in (file or ""):
            continue
        name, inner = base(function), stack[:i]
        if name == "_start":
            return "foreign", "start-up"
        if inner and base(inner[0][0]) in vias:
            return "via", base(inner[0][0])
        for f, m, _, _ in inner:
            if f in FOREIGN or "/ld-linux" in (m or ""):
                return "foreign", f
        return "own", name
    return "foreign", "no frame of the target"


class Check:
    """One target: collects what differs."""

    def __init__(self, name, arguments):
        self.name, self.arguments, self.wrong = name, arguments, []

    def same(self, what, got, expected):
        if got != expected:
            self.wrong.append("%s: %r, expected %r" % (what, got, expected))

    def run(self, prefix, tag):
        truth = os.path.abspath("%s.truth" % tag)
        for f in (truth, truth + ".exec"):
            if os.path.exists(f):
                os.unlink(f)
        environment = dict(os.environ, TRUTH_FILE=truth)
        command = prefix + [os.path.join(TARGETS, self.name)] + self.arguments
        return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)

    def record(self):
        plain = self.run([], "plain")
        recorded = self.run([BIN + "/ms-record", "-q", "-o", "run.trace"], "run")
        self.same("standard output", recorded.stdout, plain.stdout)
        self.same("standard error", recorded.stderr, plain.stderr)
        self.same("exit status", recorded.returncode, plain.returncode)
        snap = subprocess.run([BIN + "/ms-snap", "-o", "run.db", "run.trace"], capture_output=True)
        self.same("ms-snap's status", snap.returncode, 0)
        self.same("ms-snap's words", snap.stderr, b"")
        return plain.returncode

    def quality(self, snapshot, status):
        p = snapshot.process
        for key in ("events_lost", "inferred_frees", "unknown_frees", "stacks_not_taken", "damaged_bytes"):
            self.same(key, p[key], 0)
        self.same("complete", p["complete"], 1)
        self.same("state", p["state"], "complete")
        if status is not None:
            self.same("exit", (p["exit_status"], p["exit_signal"]),
                      (status, None) if status >= 0 else (None, -status))
        for site in snapshot.sites:
            stack = snapshot.stack(site)
            if not self.rooted(stack):
                self.wrong.append("a stack ends in %r (%r): %s" % (stack[-1][0], stack[-1][2], " < ".join(str(f[0]) for f in stack)))

    def rooted(self, stack):
        names = [base(f[0]) for f in stack]
        if stack[-1][2] is None:
            return names[-1] in ROOTS
        # The dynamic linker's entry has no unwind information: nothing lies beyond it.
        if len(stack) > 1 and names[-2] in ROOTS:
            return True
        return stack[-1][2] == "truncated" and bool(OWN_MEMORY.get(self.name, set()) & set(names))

    def figures(self, snapshot, truth):
        vias = {v["function"]: v for v in truth["vias"]}
        groups, apart = {}, [0] * len(COUNTS)
        for site in snapshot.sites:
            kind, name = owner(snapshot.stack(site), vias)
            counts = snapshot.counts(site)
            if kind != "own":
                apart = [a + b for a, b in zip(apart, counts)]
            if truth["pure"] and kind == "foreign":
                self.wrong.append("an allocation that is not the program's: %s" % name)
            if kind != "foreign":
                old = groups.get((kind, name), [0] * len(COUNTS))
                groups[kind, name] = [a + b for a, b in zip(old, counts)]
        expected = {("own", s["function"]): s for s in truth["sites"]}
        for key in sorted(set(groups) | {k for k in expected if any(expected[k][c] for c in COUNTS)}, key=str):
            if key[0] == "via":
                self.same(key[1], (groups[key][0], groups[key][4]), (vias[key[1]]["allocations"], vias[key[1]]["allocated_bytes"]))
                continue
            self.compare(key[1], groups.get(key, [0] * len(COUNTS)),
                         [expected.get(key, {}).get(c, 0) for c in COUNTS], truth)
        own = [sum(v[i] for k, v in groups.items() if k[0] == "own") for i in range(len(COUNTS))]
        self.compare("total", own, [truth[c] for c in COUNTS], truth)
        self.totals(snapshot, [a + b for a, b in zip(own, apart)])
        for v in vias:
            if ("via", v) not in groups:
                self.wrong.append("no allocation by %s" % v)

    def compare(self, where, got, expected, truth):
        for key, g, e in zip(COUNTS, got, expected):
            if truth["peak_known"] or not key.startswith("peak"):
                self.same("%s: %s" % (where, key), g, e)

    def totals(self, snapshot, sums):
        p = snapshot.process
        got = [p[k] for k in ("allocations", "frees", "reallocations", "failed_allocations", "allocated_bytes",
                              "temporary_allocations", snapshot.unfreed + "_bytes", snapshot.unfreed + "_blocks", "peak_bytes", "peak_blocks")]
        self.same("process row against the sum of its sites", got, sums)

    def threads(self, snapshot, truth):
        vias = {v["function"] for v in truth["vias"]}
        own = {s["id"] for s in snapshot.sites if owner(snapshot.stack(s), vias)[0] == "own"}
        tids = {r["id"]: r["tid"] for r in snapshot.db.execute("SELECT * FROM thread WHERE process = ?", (snapshot.id,))}
        sums = {}
        for r in snapshot.db.execute("SELECT * FROM site_thread"):
            if r["site"] in own:
                old = sums.get(tids[r["thread"]], (0, 0))
                sums[tids[r["thread"]]] = (old[0] + r["allocations"], old[1] + r["allocated_bytes"])
        expected = {t["tid"]: (t["allocations"], t["allocated_bytes"]) for t in truth["threads"] if t["allocations"]}
        if expected:
            self.same("allocations and bytes by thread", sums, expected)

    def report(self, snapshot):
        """The JSON report agrees with the snapshot."""
        r = subprocess.run([BIN + "/ms-report", "--json", "run.db"], capture_output=True)
        self.same("ms-report's status", r.returncode, 0)
        totals = json.loads(r.stdout)["totals"]
        for key in ("allocations", "frees", "reallocations", "failed_allocations", "allocated_bytes",
                    "temporary_allocations", "peak_bytes", "peak_blocks", "peak_time_ns", "unfreed_bytes", "unfreed_blocks"):
            self.same("ms-report's %s" % key, totals[key], snapshot.process[key])

    def check(self):
        status = self.record()
        if not os.path.exists("run.db"):
            return
        count = sqlite3.connect("run.db").execute("SELECT count(*) FROM process").fetchone()[0]
        self.same("processes", count, 2 if self.name == "exec" else 1)
        snapshot = Snapshot("run.db")
        with open("run.truth") as f:
            truth = json.load(f)
        self.one(snapshot, truth, None if self.name == "exec" else status)
        if os.path.exists(BIN + "/ms-report") and count == 1:
            self.report(snapshot)
        special = globals().get("special_" + self.name)
        if special:
            special(self, snapshot)

    def one(self, snapshot, truth, status):
        self.same("pid", snapshot.process["pid"], truth["pid"])
        self.quality(snapshot, status)
        self.figures(snapshot, truth)
        self.threads(snapshot, truth)


def special_deep(check, snapshot):
    """Stacks beyond 512 frames keep leaf and root, with one row that says where the middle is missing."""
    cut = 0
    for site in snapshot.sites:
        stack = snapshot.stack(site)
        notes = [f[2] for f in stack if f[2]]
        names = [base(f[0]) for f in stack]
        check.same("innermost frame", names[0], "bottom")
        check.same("outermost frames", names[-2:], ["__libc_start_main_impl", "_start"])
        if notes:
            check.same("notes", notes, ["cut"])
            # Where the leaf part begins moves in steps of 64.
            check.same("a cut stack has 449 to 512 frames", 449 <= len(stack) - 1 <= 512, True)
            cut += site["allocations"]
    # Two blocks at 10,000 down one way; eleven times two the other, of which all but the first lie deeper than 512.
    check.same("blocks with a cut stack", cut, 2 + 2 * 10)
    check.same("stacks_cut", snapshot.process["stacks_cut"], cut)


def special_peak(check, snapshot):
    marks = dict(reversed([(r["name"], r["time_ns"]) for r in snapshot.db.execute("SELECT * FROM mark ORDER BY seq")]))
    at = snapshot.process["peak_time_ns"]
    if not marks.get("before", 0) <= at <= marks.get("after", -1):
        check.wrong.append("the peak at %r is not between its marks %r" % (at, marks))


def special_mark(check, snapshot):
    rows = snapshot.db.execute("SELECT name, event FROM mark ORDER BY seq").fetchall()
    check.same("marks", [tuple(r) for r in rows],
               [("start", 0), ("phase", 20), ("phase", 60), ("a name with blanks, and of more than eight bytes", 77)])


def special_exec(check, snapshot):
    """The successor has a trace of its own, which is shown along, with a truth of its own."""
    names = [f for f in os.listdir("run.trace.d") if f.endswith(".trace")]
    check.same("further traces", [n.split(".")[0] for n in names], ["churn"])
    check.same("how it ended", snapshot.process["end_reason"], "exec")
    with open("run.truth.exec") as f:
        check.one(Snapshot("run.db", snapshot.id + 1), json.load(f), 0)


def special_dlopen(check, snapshot):
    """Stacks keep the module that was there at their time."""
    for site in snapshot.sites:
        names = [base(f[0]) for f in snapshot.stack(site)]
        modules = [os.path.basename(f[1] or "") for f in snapshot.stack(site)]
        for letter in "ab":
            if names[0] == "inner_" + letter:
                check.same("callers of " + names[0], (names[1:3], modules[0]), (["outer", "use"], "module_%s.so" % letter))


def main():
    failures = 0
    for argument in sys.argv[1:]:
        name, *arguments = argument.split(":")
        for f in ("run.trace", "run.db", "next.db"):
            if os.path.exists(f):
                os.unlink(f)
        check = Check(name, arguments)
        check.check()
        print("%s %s" % ("FAILED" if check.wrong else "ok    ", argument))
        for line in check.wrong[:20]:
            print("        " + line)
        if len(check.wrong) > 20:
            print("        and %d more" % (len(check.wrong) - 20))
        failures += bool(check.wrong)
    return failures != 0


sys.exit(main())
