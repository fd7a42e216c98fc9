# SPDX-License-Identifier: MIT
"""Regions against /proc and pmap, the layout of memc, processes that come, go or cannot be read."""
import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

BIN, SRC = os.environ["BIN"], os.environ["SRC"]
SNAP, REPORT = BIN + "/ms-snap", BIN + "/ms-report"
failures = []
FIGURES = {"Rss": "rss", "Pss": "pss", "Shared_Clean": "shared_clean", "Shared_Dirty": "shared_dirty",
           "Private_Clean": "private_clean", "Private_Dirty": "private_dirty", "Swap": "swap"}
REGION_KEYS = ["start", "end", "type", "perm", "size_kb", "pathname"]
SMAPS_KEYS = REGION_KEYS + [v + "_kb" for v in FIGURES.values()]
ONE_KEYS = ["pid", "timestamp_ms", "total_rss_kb", "total_vsize_kb", "region_count", "regions"]
ALL_KEYS = ["timestamp_ms", "process_count", "skipped", "processes"]


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r} instead of {want!r}")


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=120, check=False, **more)


def snap(out, *args):
    r = run(SNAP, "-o", out, *args)
    expect(f"ms-snap {args}", (r.returncode, r.stderr), (0, ""))
    return out


def report(*args):
    r = run(REPORT, *args)
    expect(f"ms-report {args}", (r.returncode, r.stderr), (0, ""))
    return r.stdout


def memc(file, *args):
    return [json.loads(line) for line in report("--json", "--layout=memc", *args, file).splitlines()]


def kind(path, perms):
    """What a mapping is for, said another way than in the program."""
    if path.startswith("["):
        for start, word in (("[heap]", "heap"), ("[stack", "stack"), ("[vdso]", "vdso"), ("[vvar", "vvar"),
                            ("[vsyscall]", "vsyscall"), ("[anon", "anonymous")):
            if path.startswith(start):
                return word
        return "unknown"
    if not path:
        return "anonymous"
    if re.search(r"\.so($|[. ])", path.rsplit("/", 1)[-1]):
        return "shared_lib"
    return "code" if perms[2] == "x" else "mapped_file"


def regions_of(pid):
    """/proc/PID/smaps as memc writes it."""
    out = []
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)\n", line)
            if m:
                start, end = int(m.group(1), 16), int(m.group(2), 16)
                out.append({"start": hex(start), "end": hex(end), "type": kind(m.group(4), m.group(3)),
                            "perm": m.group(3), "size_kb": (end - start) // 1024, "pathname": m.group(4)})
            else:
                key, value = line.split(":", 1)
                if key in FIGURES:
                    out[-1][FIGURES[key] + "_kb"] = int(value.split()[0])
    return out


def stopped(*command):
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if command[0] != "./many":
        while "sleep" not in open(f"/proc/{p.pid}/comm", encoding="utf-8").read():
            time.sleep(0.01)
        time.sleep(0.02)
        p.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
    return p


def end(processes):
    for p in processes:
        p.kill()
        p.wait()


def firm(region):
    """What other processes that map the same file cannot change: not PSS, and not which pages are shared."""
    if region["type"] not in ("shared_lib", "mapped_file", "code", "vdso"):
        return region
    soft = ("pss_kb", "shared_clean_kb", "private_clean_kb")
    out = {k: v for k, v in region.items() if k not in soft}
    out["clean_kb"] = region["shared_clean_kb"] + region["private_clean_kb"]
    return out


def check_one(what, pid, got):
    want = regions_of(pid)
    expect(what + ": keys", list(got), ONE_KEYS)
    expect(what + ": pid", got["pid"], pid)
    expect(what + ": count", got["region_count"], len(want))
    expect(what + ": keys of regions", {tuple(r) for r in got["regions"]}, {tuple(SMAPS_KEYS)})
    for a, b in zip(got["regions"], want):
        expect(f"{what}: {b['start']} {b['pathname']}", firm(a), firm(b))
    expect(what + ": RSS", got["total_rss_kb"], sum(r["rss_kb"] for r in want))
    with open(f"/proc/{pid}/statm", encoding="utf-8") as f:
        expect(what + ": VSZ", got["total_vsize_kb"], int(f.read().split()[0]) * os.sysconf("SC_PAGESIZE") // 1024)


def pmap_rows(pid):
    """pmap -XX: (start, Size, Rss, Private_Dirty, Swap) of each mapping."""
    lines = run("pmap", "-XX", str(pid)).stdout.splitlines()
    head = next(line for line in lines if "Address" in line).split()
    at = {name: head.index(name) for name in ("Size", "Rss", "Private_Dirty", "Swap")}
    out = []
    for line in lines:
        words = line.split()
        if len(words) > at["Swap"] and re.match(r"[0-9a-f]{6,16}$", words[0]) and words[1][0] in "r-":
            out.append((int(words[0], 16), *(int(words[at[k]]) for k in ("Size", "Rss", "Private_Dirty", "Swap"))))
    return out


def check_live():
    processes = [stopped("sleep", "100") for _ in range(99 if os.environ.get("MS_CHECK_ALL") else 24)]
    processes.append(stopped("./many", "10"))
    for p in processes[-2:]:
        file = snap("one.db", "--smaps", "-p", str(p.pid))
        got = memc(file)
        expect("one: objects", len(got), 1)
        check_one("one", p.pid, got[0])
        want = pmap_rows(p.pid)
        if want:
            expect("pmap -XX", [(int(r["start"], 16), r["size_kb"], r["rss_kb"], r["private_dirty_kb"], r["swap_kb"])
                                for r in got[0]["regions"]], want)
    start = int(time.time() * 1000)
    file = snap("all.db", "--smaps", "--all", "--skip-kernel")
    got = memc(file, "--regions")
    expect("all: objects", len(got), 1)
    expect("all: keys", list(got[0]), ALL_KEYS)
    expect("all: time", start <= got[0]["timestamp_ms"] <= start + 60000, True)
    expect("all: count", got[0]["process_count"], len(got[0]["processes"]))
    by_pid = {p["pid"]: p for p in got[0]["processes"]}
    for p in processes:
        expect("all: keys of a process", list(by_pid[p.pid]), ["pid", "name", "snapshot"])
        check_one(f"all: {p.pid}", p.pid, by_pid[p.pid]["snapshot"])
    expect("all: name", by_pid[processes[0].pid]["name"], "sleep")
    kernel = False
    if os.path.exists("/proc/2/comm"):  # there is none in a namespace
        with open("/proc/2/comm", encoding="utf-8") as f:
            kernel = f.read() == "kthreadd\n"
    if kernel:
        expect("--skip-kernel", 2 in by_pid, False)
        with_kernel = memc(snap("all.db", "--maps", "--all"))[0]
        thread = next(p for p in with_kernel["processes"] if p["pid"] == 2)
        expect("a kernel thread", (thread["name"], thread["snapshot"]["region_count"], thread["snapshot"]["regions"]),
               ("kthreadd", 0, []))
        own = next(p for p in with_kernel["processes"] if p["pid"] == processes[0].pid)
        expect("--maps: keys", list(own["snapshot"]["regions"][0]), REGION_KEYS)
    ours = json.loads(report("--json", "--regions", "all.db"))
    expect("our JSON: skipped", [sorted(s) for s in ours["skipped_processes"] if not s["reason"].startswith("ended")],
           [["name", "pid", "reason", "time_ns"]] * with_kernel["skipped"] if kernel else [])
    end(processes)


def check_formats():
    p = stopped("./many", "40")
    file = snap("one.db", "--smaps", "-p", str(p.pid))
    compact = report("--json", "--layout=memc", file)
    pretty = report("--json", "--layout=memc", "--pretty", file)
    expect("compact is a line", compact.count("\n"), 1)
    expect("pretty", (pretty.count("\n") > 100, json.loads(pretty)), (True, json.loads(compact)))
    expect("our JSON is the same pretty", json.loads(report("--json", "--pretty", file)),
           json.loads(report("--json", file)))
    rows = list(csv.DictReader(io.StringIO(report("--csv", "--regions", file))))
    want = regions_of(p.pid)
    expect("csv", [(r["start"], r["kind"], int(r["rss_bytes"]) // 1024, r["path"]) for r in rows],
           [(r["start"], r["type"], r["rss_kb"], r["pathname"]) for r in want])
    text = report("--text", "--width", "120", file)
    expect("text: kinds", "REGIONS by kind" in text and "REGIONS of address space" in text, True)
    expect("markdown", report("--md", "--regions", file).count("|") > 100, True)
    n = len(want)
    expect("text: what is left out is said",
           f"{n - 5} more regions" in report("--regions", "--limit", "5", file), True)
    expect("SQL", report("--csv", "--sql", "SELECT kind, count(*) AS n FROM region WHERE kind = 'stack'", file),
           "kind,n\nstack,1\n")
    r = run(REPORT, "--fail-on", "unfreed_bytes > 0", file)
    expect("a budget on what is not known", r.returncode, 2)
    end([p])


def check_many():
    p = stopped("./many", "20000")
    file = snap("many.db", "--smaps", "-p", str(p.pid))
    got = memc(file)[0]
    expect("20,000 mappings", got["region_count"] > 20000, True)
    expect("20,000: as /proc", [firm(r) for r in got["regions"]] == [firm(r) for r in regions_of(p.pid)], True)
    expect("20,000: text", "more regions" in report(file), True)
    end([p])


def looked(pid, times):
    """Waits until this ms-snap has gone to sleep so often after a look."""
    first, until = None, time.monotonic() + 60
    while time.monotonic() < until:
        with open(f"/proc/{pid}/syscall", encoding="utf-8") as f:
            waits = f.read().startswith("128 ")  # rt_sigtimedwait
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            slept = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M).group(1))
        if waits and first is None:
            first = slept
        if waits and slept >= first + times - 1:
            return
        time.sleep(0.01)
    failures.append(f"process {pid} does not look {times} times")


def check_times():
    p = subprocess.Popen(["sleep", "100"])
    with subprocess.Popen([SNAP, "--maps", "-p", str(p.pid), "--every", "200ms", "--count", "1000", "-o", "times.db"]) as s:
        looked(s.pid, 3)
        p.kill()
    p.wait()
    expect("times: status", s.returncode, 0)
    with sqlite3.connect("times.db") as db:
        labels = [r[0] for r in db.execute("SELECT label FROM snapshot ORDER BY time_ns")]
        expect("it ended meanwhile", labels[0] == "start" and labels[-1] == "end" and 2 <= len(labels) < 1000, True)
        expect("its times", [r[0] for r in db.execute("SELECT DISTINCT time_ns % 200000000 FROM snapshot")], [0])
        expect("samples too", db.execute("SELECT count(*) FROM sample WHERE vsz_bytes > 0").fetchone()[0], len(labels))
    expect("an object for each time", len(memc("times.db")), len(labels))
    expect("--at", len(memc("times.db", "--at", "start")), 1)
    p = subprocess.Popen([SNAP, "--maps", "-p", str(os.getpid()), "--every", "50ms", "-o", "until.db"])
    looked(p.pid, 3)
    p.send_signal(signal.SIGINT)
    expect("until SIGINT", p.wait(timeout=30), 0)
    expect("until SIGINT: objects", len(memc("until.db")) > 1, True)


def check_stopped():
    """ms-snap is stopped for three times that it should have looked at: none of them is made up."""
    p = subprocess.Popen([SNAP, "--maps", "-p", str(os.getpid()), "--every", "500ms", "--count", "6", "-o", "stopped.db"])
    looked(p.pid, 1)
    p.send_signal(signal.SIGSTOP)
    time.sleep(2)
    p.send_signal(signal.SIGCONT)
    expect("stopped: status", p.wait(timeout=60), 0)
    with sqlite3.connect("stopped.db") as db:
        times = [r[0] for r in db.execute("SELECT time_ns FROM snapshot ORDER BY time_ns")]
    expect("stopped: times", (len(times), times[-1] >= 4000000000, {t % 500000000 for t in times}), (6, True, {0}))


def check_unreadable():
    """Processes of a /proc that is made: one that is whole, one that ended, one that may not be read."""
    tail = " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 4096 1 0" + " 0" * 27 + "\n"
    for pid, state, smaps in ((5, "S", "1000-2000 rw-p 00000000 00:00 0 [heap]\nRss: 4 kB\n"), (6, "S", None), (7, "Z", ""), (8, "S", "")):
        os.makedirs(f"made/{pid}", exist_ok=True)
        for name, text in (("stat", f"{pid} (p {pid}) {state}{tail}"), ("statm", "1 1 0\n"), ("smaps", smaps)):
            if text is not None:
                with open(f"made/{pid}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
    os.makedirs("made/9", exist_ok=True)  # nothing in it any more
    got = memc(snap("made.db", "--smaps", "--all", "--proc-root", "made"))[0]
    expect("made: read", [p["pid"] for p in got["processes"]], [5, 8])
    expect("made: skipped", (got["process_count"], got["skipped"]), (2, 0))
    ours = json.loads(report("--json", "made.db"))
    expect("made: why", [(s["pid"], s["name"], s["reason"]) for s in ours["skipped_processes"]],
           [(6, "p 6", "ended meanwhile"), (7, "p 7", "ended, but not yet reaped by its parent"),
            (9, None, "ended meanwhile")])
    expect("made: said", "could not be read; 3 more processes ended during the snapshot" in report("made.db"), True)
    storm = subprocess.Popen(["sh", "-c", "while :; do /bin/true & /bin/true; done"])
    for i in range(5):
        got = memc(snap("storm.db", "--smaps", "--all"))[0]
        expect(f"storm {i}", got["process_count"], len(got["processes"]))
    end([storm])


def lines(*args, status=0, said=""):
    """What ms-snap streams, and that its lines came when they should."""
    r = run(SNAP, *args)
    expect(f"lines {args}", (r.returncode, r.stderr), (status, said))
    return [json.loads(line) for line in r.stdout.splitlines()]


def without_time(processes):
    return [{**p, "timestamp_ms": 0, "regions": [firm(r) if "rss_kb" in r else r for r in p["regions"]]} for p in processes]


def check_lines():
    """The layout is that of ms-report --layout=memc, of processes that stand still, with times that do not drift."""
    a, b = sorted((stopped("./many", "30"), stopped("sleep", "100")), key=lambda p: p.pid)
    for how in ("--maps", "--smaps"):
        for _ in range(20):  # a time that a busy machine left out is not made up: then once more
            got = lines(how, "--every", "100ms", "--count", "4", str(a.pid))
            times = [p["timestamp_ms"] - got[0]["timestamp_ms"] for p in got]
            expect(f"lines {how}: times", ({t % 100 for t in times}, sorted(set(times))), ({0}, times))
            if times[-1] <= 300:
                break
        expect(f"lines {how}: one", (without_time(got)), without_time(memc(snap("line.db", how, str(a.pid)))) * 4)
        expect(f"lines {how}: 100 ms", times, [0, 100, 200, 300])
    check_one("lines", a.pid, got[-1])
    got = lines("--smaps", "--count", "1", "-p", f"{b.pid},{a.pid}", str(a.pid))
    expect("lines: several", [list(t) for t in got], [["timestamp_ms", "process_count", "skipped", "ended", "processes"]])
    expect("lines: several as a snapshot", without_time(p["snapshot"] for p in got[0]["processes"]),
           without_time(p["snapshot"] for p in memc(snap("line.db", "--smaps", str(a.pid), str(b.pid)))[0]["processes"]))
    expect("lines: their names", [(p["pid"], p["name"]) for p in got[0]["processes"]],
           [(p.pid, n) for p, n in ((a, "many" if a.args[0] == "./many" else "sleep"), (b, "many" if b.args[0] == "./many" else "sleep"))])
    start = time.monotonic()
    got = lines("--maps", "--count", "2", "-q", "--all")
    expect("lines: --count alone is every second", (len(got), 1 <= time.monotonic() - start < 30), (2, True))
    expect("lines: all", {p.pid for p in (a, b)} <= {p["pid"] for p in got[1]["processes"]}, True)
    with subprocess.Popen([SNAP, "--maps", "--every", "10s", str(a.pid)], stdout=subprocess.PIPE, text=True) as p:
        expect("lines: at once", json.loads(p.stdout.readline())["pid"], a.pid)
        p.send_signal(signal.SIGINT)
        expect("lines: until SIGINT", (p.wait(timeout=30), p.stdout.read()), (0, ""))
    p = subprocess.Popen([SNAP, "--maps", "--every", "1h", str(a.pid)], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()  # long before the next line is due
    expect("lines: unread", p.wait(timeout=30), -signal.SIGPIPE)
    r = run(SNAP, "--maps", "--count", "2", "-o", "-", "-p", str(a.pid), errors="replace")
    expect("-o -: a snapshot", (r.returncode, r.stdout[:6]), (0, "SQLite"))
    end([a, b])


def check_lines_ended():
    """Who ends is not skipped: it is said once that it ended."""
    stays, goes = stopped("sleep", "100"), stopped("sleep", "100")
    none = 2 ** 22 - 1
    p = subprocess.Popen([SNAP, "--maps", "--every", "100ms", str(stays.pid), str(goes.pid), str(none)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    got = [json.loads(p.stdout.readline())]
    end([goes])
    while not got[-1]["ended"]:
        got.append(json.loads(p.stdout.readline()))
    end([stays])
    got += [json.loads(line) for line in p.stdout]  # not communicate(), which loses what readline() has read ahead
    said = p.stderr.read()
    p.wait(timeout=30)
    expect("ended: status", p.returncode, 2)
    expect("ended: said", said.splitlines(), [f"ms-snap: no process {none}", f"ms-snap: process {goes.pid} ('sleep') ended",
                                              f"ms-snap: process {stays.pid} ('sleep') ended"])
    expect("ended: each once, in order", [e for t in got for e in t["ended"]],
           [{"pid": p.pid, "name": "sleep"} for p in (goes, stays)])
    expect("ended: the last line", (got[-1]["process_count"], got[-1]["ended"][0]["pid"]), (0, stays.pid))
    expect("ended: none was skipped", {t["skipped"] for t in got}, {0})
    p = stopped("sleep", "100")
    r = subprocess.Popen([SNAP, "--maps", "--every", "100ms", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = [r.stdout.readline()]
    end([p])
    out += list(r.stdout)
    said = r.stderr.read()
    r.wait(timeout=30)
    expect("one that ends", (r.returncode, said, {json.loads(line)["pid"] for line in out}),
           (0, f"ms-snap: process {p.pid} ('sleep') ended\n", {p.pid}))
    lines("--maps", "--count", "1", str(none), status=2, said=f"ms-snap: no process {none}\n")
    r = run(SNAP, "--maps", "--count", "1", "--anonymize", str(os.getpid()))
    expect("--anonymize", (r.returncode, r.stdout, "--anonymize needs -o FILE" in r.stderr), (2, "", True))


def check_forbidden():
    """Another user sees the others, but not their regions."""
    if os.getuid() != 0:
        return
    p = stopped("sleep", "100")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    os.makedirs("nobody", exist_ok=True)
    os.chmod(".", 0o755)
    os.chown("nobody", 65534, 65534)
    shutil.copy(SNAP, "nobody/ms-snap")  # where the build is, others may not come
    r = run(*nobody, "nobody/ms-snap", "--smaps", "-p", str(p.pid), "-o", "nobody/one.db")
    expect("forbidden: one", (r.returncode, r.stderr), (2, f"ms-snap: cannot read process {p.pid} ('sleep'): permission denied\n"))
    r = run(*nobody, "nobody/ms-snap", "--smaps", "--all", "-o", "nobody/all.db")
    expect("forbidden: all", (r.returncode, r.stderr), (0, ""))
    got = memc("nobody/all.db")[0]
    ours = json.loads(report("--json", "--regions", "nobody/all.db"))["skipped_processes"]
    expect("forbidden: counted", got["skipped"], sum(not s["reason"].startswith("ended") for s in ours))
    mine = subprocess.Popen([*nobody, "sleep", "100"])
    while os.stat(f"/proc/{mine.pid}/smaps").st_uid == 0:  # the folder's is another one before it is sleep, when nobody may read it
        time.sleep(0.01)
    r = run(*nobody, "nobody/ms-snap", "--smaps", "--every", "50ms", "--count", "3", str(p.pid), str(mine.pid))
    expect("forbidden: one of two", (r.returncode, r.stderr), (2, f"ms-snap: cannot read process {p.pid} ('sleep'): permission denied\n"))
    expect("forbidden: the other", [(t["process_count"], t["skipped"], t["ended"], t["processes"][0]["pid"])
                                    for t in map(json.loads, r.stdout.splitlines())], [(1, 1, [], mine.pid)] * 3)
    r = run(*nobody, "nobody/ms-snap", "--smaps", "--count", "1", "--allow-partial", "-q", str(p.pid), str(mine.pid))
    expect("forbidden: --allow-partial", (r.returncode, r.stderr), (0, ""))
    end([mine])
    hides = subprocess.Popen([*nobody, "python3", "-c", """if True:
        import ctypes, time
        print(flush=True)
        time.sleep(0.5)
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
        time.sleep(100)"""], stdout=subprocess.PIPE)
    hides.stdout.readline()
    r = run(*nobody, "nobody/ms-snap", "--smaps", "--every", "50ms", "--count", "100", "-p", str(hides.pid), "-o", "nobody/hides.db")
    expect("forbidden: after a while", (r.returncode, r.stderr),
           (2, f"ms-snap: cannot read process {hides.pid} ('python3') any more: permission denied\n"))
    expect("forbidden: what was read", len(memc("nobody/hides.db")) > 1, True)
    end([hides])
    expect("forbidden: why", [(s["name"], s["reason"]) for s in ours if s["pid"] == p.pid], [("sleep", "permission denied")])
    end([p])


def check_filter():
    r = run(BIN + "/ms-filter", "--min", "4k", "one.db")
    expect("ms-filter", (r.returncode, r.stdout, "has only figures from /proc" in r.stderr), (2, "", True))
    r = subprocess.run([BIN + "/ms-filter", "one.db"], capture_output=True, timeout=60, check=False)
    expect("ms-filter without a condition", (r.returncode, r.stdout[:6]), (0, b"SQLite"))


def check_diff():
    """A process of which one kind of region grew, one came and one went."""
    def write(heap, more):
        tail = " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 4096 1 0" + " 0" * 27 + "\n"
        os.makedirs("grown/5", exist_ok=True)
        smaps = f"1000-{0x1000 + heap * 1024:x} rw-p 00000000 00:00 0 [heap]\nRss: {heap} kB\nPrivate_Dirty: {heap} kB\n{more}"
        for name, text in (("stat", f"5 (app) S{tail}"), ("statm", "1 1 0\n"), ("smaps", smaps), ("maps", smaps)):
            with open(f"grown/5/{name}", "w", encoding="utf-8") as f:
                f.write(text)

    write(40, "7000000-7002000 r--p 00000000 fe:01 7 /old file\nRss: 8 kB\n")
    snap("old.db", "--smaps", "-p", "5", "--proc-root", "grown")
    write(100, "8000000-8004000 r--p 00000000 fe:01 8 /new\nRss: 12 kB\n")
    snap("new.db", "--smaps", "-p", "5", "--proc-root", "grown")
    snap("maps.db", "--maps", "-p", "5", "--proc-root", "grown")
    r = run(BIN + "/ms-diff", "--exit-code", "-o", "diff.db", "old.db", "new.db")
    expect("diff: status", (r.returncode, r.stderr), (1, ""))
    for least, status in (("61440", 1), ("61441", 0)):
        r = run(BIN + "/ms-diff", "--exit-code", "--min-change", least, "-o", "least.db", "old.db", "new.db")
        expect(f"diff: a change of --min-change {least}", r.returncode, status)
    rows = list(csv.DictReader(io.StringIO(report("--csv", "--regions", "diff.db"))))
    expect("diff", [(r["change"], r["kind"], r["path"], r["old_rss_bytes"], r["new_rss_bytes"], r["delta_rss_bytes"], r["delta_bytes"])
                    for r in rows],
           [("grown", "heap", "[heap]", "40960", "102400", "61440", "61440"),
            ("new", "mapped_file", "/new", "0", "12288", "12288", "16384"),
            ("gone", "mapped_file", "/old file", "8192", "0", "-8192", "-8192")])
    expect("diff: text", "REGIONS that changed" in report("diff.db"), True)
    expect("diff: markdown", "+60.0 KiB" in report("--md", "diff.db"), True)
    r = run(BIN + "/ms-diff", "--exit-code", "--min-change", "0", "-o", "same.db", "new.db", "new.db")
    expect("diff of one with itself", (r.returncode, "no region changed" in report("same.db")), (0, True))
    run(BIN + "/ms-diff", "-o", "diff.db", "old.db", "maps.db")
    rows = list(csv.DictReader(io.StringIO(report("--csv", "--regions", "diff.db"))))
    expect("diff: not known is not 0", {(r["new_rss_bytes"], r["delta_rss_bytes"]) for r in rows}, {("", "")})


def check_refused():
    for args, why in ((["-p", "1"], "'ms-snap --smaps -p 1 | ms-report --regions'"), (["-p", "1"], "'ms-record --poll -p 1'"),
                      (["--maps"], "no process given"), (["--maps", "--all", "-p", "1"], "choose one"),
                      (["--maps", "--smaps", "--all"], "choose one"), (["--all"], "need --maps or --smaps"),
                      (["--maps", "-p", "x"], "-p"), (["--maps", "-p", "1", "--skip-kernel"], "is for -p all"),
                      (["--maps", "--all", "a.trace"], "'a.trace' is no PID"), (["--maps", "-p", "1,"], "bad -p ''"),
                      (["--maps", "1", "2x"], "'2x' is no PID"), (["--maps", "--all", "1"], "choose one"),
                      (["--maps", "-p", str(2 ** 22)], f"no process {2 ** 22}")):
        r = run(SNAP, "-o", "never.db", *args)
        expect(f"{args}: status", r.returncode, 2)
        expect(f"{args}: {why}", why in r.stderr and r.stderr.count("\n") == 1, True)
    expect("nothing was written", os.path.exists("never.db"), False)
    r = run(REPORT, "--layout=memc", "made.db")
    expect("--layout without --json", (r.returncode, "are for --json" in r.stderr), (2, True))
    run(BIN + "/ms-record", "-q", "--poll", "-i", "10ms", "-o", "p.trace", "true")
    r = run(REPORT, "--json", "--layout=memc", "p.trace")
    expect("--layout of a trace", (r.returncode, "needs a snapshot of regions" in r.stderr), (2, True))


def main():
    built = run("gcc", "-O1", "-o", "many", SRC + "/tests/cli/regions/many.c")
    if built.returncode:
        sys.exit(built.stderr)
    for check in (check_live, check_formats, check_many, check_times, check_stopped, check_lines, check_lines_ended, check_unreadable, check_forbidden, check_filter,
                  check_diff, check_refused):
        check()
    print("\n".join(f[:300] for f in failures[:12]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
