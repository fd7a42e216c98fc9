# SPDX-License-Identifier: MIT
"""ms-record --poll against what is known beforehand, and against pmap."""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

BIN, SRC = os.environ["BIN"], os.environ["SRC"]
RECORD, REPORT = BIN + "/ms-record", BIN + "/ms-report"
failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r} instead of {want!r}")


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=600, check=False, **more)


def poll(*args):
    return run(RECORD, "--poll", *args)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def stat_line(pid, name, state="S", start=77):
    fields = [pid, f"({name})", state, 1, 1, 1, 0, -1, 0, 10, 0, 2, 0, 100, 50, 0, 0, 20, 0, 3, 0, start,
              8192000, 300, 2 ** 64 - 1] + [0] * 27
    return " ".join(map(str, fields)) + "\n"


SMAPS = """55d000000000-55d000100000 rw-p 00000000 00:00 0 [heap]
Rss:                 100 kB
Pss:                 100 kB
Private_Dirty:       100 kB
Anonymous:           100 kB
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Rss:                 200 kB
Pss:                 150 kB
Shared_Dirty:        100 kB
Private_Dirty:       100 kB
Swap:                 12 kB
7f0000400000-7f0000500000 rw-s 00000000 00:01 9 /dev/zero (deleted)
Rss:                  40 kB
Pss:                  20 kB
Shared_Dirty:         40 kB
7f0000600000-7f0000700000 rw-p 00001000 fe:01 5 /lib/libc.so.6
Rss:                   8 kB
Pss:                   8 kB
Private_Dirty:         8 kB
Anonymous:             8 kB
7ffc00000000-7ffc00100000 rw-p 00000000 00:00 0 [stack]
Rss:                  16 kB
Pss:                  16 kB
Private_Dirty:        16 kB
"""


def made(pid, name="made", statm="2000 91 12 1 0 0 0\n", smaps=SMAPS, **stat):
    """A process of a /proc that is made: 364 kB of which 316 are anonymous by statm."""
    os.makedirs(f"proc/{pid}", exist_ok=True)
    files = {"stat": stat_line(pid, name, **stat), "statm": statm}
    if smaps is not None:
        files["smaps"] = smaps
    for file, text in files.items():
        with open(f"proc/{pid}/{file}", "w", encoding="utf-8") as f:
            f.write(text)


def check_made():
    made(41, name="a) R (b")
    r = poll("--proc-root", "proc", "-p", "41", "-i", "50ms", "-d", "800ms", "--csv")
    expect("made: status", r.returncode, 0)
    lines = rows(r.stdout)
    expect("made: the first time is the least", float(lines[0]["time_s"]) < float(lines[1]["time_s"]), True)
    want = {"rss_bytes": 364, "heap_bytes": 300, "vsz_bytes": 8000, "pss_bytes": 294, "private_bytes": 224,
            "shared_bytes": 140, "swap_bytes": 12}
    for key, kb in want.items():
        expect("made: " + key, lines[0][key], str(kb * 1024))
    for key, value in {"minor_faults": "10", "major_faults": "2", "user_s": "1.00", "system_s": "0.50",
                       "threads": "3"}.items():
        expect("made: " + key, lines[0][key], value)
    expect("made: between", {(x["heap_bytes"], x["pss_bytes"]) for x in lines[1:-1] if float(x["time_s"]) < 0.9}, {(str(300 * 1024), "")})
    expect("made: at the end", lines[-1]["pss_bytes"], str(294 * 1024))
    expect("made: name", bool(re.match(r"ms-record: a\) R \(b \(pid 41\) polled for [1-9][0-9.]* m?s", r.stderr)), True)
    expect("made: too short", "\nGrowth cannot be judged" in r.stderr, True)
    made(42, smaps=None)  # then all that is anonymous counts
    r = poll("--proc-root", "proc", "-p", "42", "-d", "20ms", "--csv")
    expect("no smaps: heap", rows(r.stdout)[0]["heap_bytes"], str(316 * 1024))
    for pid, state, statm, why in ((43, "Z", "0 0 0 0 0 0 0\n", "has ended"), (44, "S", "0 0 0 0 0 0 0\n", "kernel thread")):
        made(pid, statm=statm, state=state)
        r = poll("--proc-root", "proc", "-p", str(pid))
        expect(f"{why}: status", r.returncode, 125)
        expect(f"{why}: text", why in r.stderr and r.stderr.count("\n") == 1, True)
    r = poll("--proc-root", "proc", "-p", "45")
    expect("none", (r.returncode, r.stderr), (125, "ms-record: no process 45\n"))


def pmap_figures(pid):
    """RSS of all, and of brk and private anonymous memory, in bytes."""
    special = set()
    shared = set()
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            start, perms = int(line.split("-")[0], 16), line.split()[1]
            if re.search(r"\[(vdso|vvar|vsyscall)", line):
                special.add(start)
            if perms[3] == "s":
                shared.add(start)
    rss = heap = 0
    for line in run("pmap", "-x", str(pid)).stdout.splitlines():
        m = re.match(r"([0-9a-f]{8,16})\s+(\d+)\s+(\d+)\s+(\d+)\s+\S+\s+(.*)", line)
        if not m:
            continue
        start, kb, name = int(m.group(1), 16), int(m.group(3)), m.group(5).strip()
        rss += kb
        if name == "[ anon ]" and start not in special and start not in shared:
            heap += kb
    return rss * 1024, heap * 1024


def check_pmap():
    target = subprocess.Popen(["./series", "still"])
    os.waitid(os.P_PID, target.pid, os.WSTOPPED | os.WNOWAIT)
    want = pmap_figures(target.pid)
    r = poll("-p", str(target.pid), "-i", "100ms", "-d", "350ms", "--csv")
    for line in rows(r.stdout):
        expect("pmap at " + line["time_s"], (int(line["rss_bytes"]), int(line["heap_bytes"])), want)
    expect("pmap: some heap", 3 << 20 < want[1] < 5 << 20, True)
    expect("pmap: address space", int(rows(r.stdout)[0]["vsz_bytes"]) > 64 << 20, True)
    target.kill()
    target.wait()


SERIES = {  # what is said at the end
    "leak": r"Warning: linear heap growth detected: \+([6-9]\.\d+) MiB/s .*confidence (0\.9\d*|1\.?\d*)$",
    "step": r"No steady growth: the heap rose by 20\.0 MiB in one step$",
    "plateau": r"No steady growth: the heap rose by [\d.]+ MiB, levelling off$",
    "reserve": r"No growth: the heap is steady$",
    "slow": r"No growth of 100\.0 MiB/s or more: the heap grows by ",
}


def series_begin(kind):
    """Begins a program with that course, and its recorder."""
    more = ["--warn-rate", "100M/s"] if kind == "slow" else []
    return subprocess.Popen(
        [RECORD, "--poll", "-i", "100ms", "-o", kind + ".trace", *more, "--", "./series", "leak" if kind == "slow" else kind, "11500"],
        stderr=subprocess.PIPE, text=True)


def series_end(kind, p):
    """What its recorder says."""
    text = p.communicate(timeout=600)[1]
    expect(kind + ": status", p.returncode, 7)
    expect(kind + ": end", "; it exited with 7\n" in text, True)
    return text.splitlines()[-1]


def check_series():
    """All at once: 10 seconds are what the trend needs. Where nobody looked at a part of the course, as on a busy machine, it is run again."""
    running = {kind: series_begin(kind) for kind in SERIES}
    judged = growth_begin()
    said = {kind: series_end(kind, p) for kind, p in running.items()}
    for kind, pattern in SERIES.items():
        for _ in range(4):
            if re.match(pattern, said[kind]):
                break
            said[kind] = series_end(kind, series_begin(kind))
        expect(f"{kind}: {said[kind]!r}", bool(re.match(pattern, said[kind])), True)
    growth_end(judged)
    check_trace()
    check_budgets()


GROWTH = {  # what, its options, what ms-record says beside the diagnosis and its status
    "polled": (["--poll", "-i", "100ms", "--max-growth", "100MiB/min", "--openmetrics=polled.prom"], ["leak", "11500", "0"],
               r"ms-record: the heap grows by [45]\d\d\.\d MiB/min, faster than the 100\.0 MiB/min of --fail-on", 1),
    "slower": (["-q", "--poll", "-i", "100ms", "--max-growth", "20M/s"], ["leak", "11500", "0"], "", 0),
    "filled": (["-q", "--poll", "-i", "100ms", "--max-growth", "1k/h"], ["plateau", "11500", "0"], "", 0),
    "recorded": (["-q", "-o", "recorded.trace", "--max-growth", "100MiB/min"], ["leak", "11500", "0"],
                 r"ms-report: budget 'growth_bytes_per_minute > 100M' is broken: the figure is \d+ \(5\d\d\.\d MiB\)", 1),
    "handed on": (["-q", "-o", "fd:77", "--max-growth", "100MiB/min"], ["leak", "11500", "0"],
                  r"ms-report: budget 'growth_bytes_per_minute > 100M' is broken: the figure is \d+ \(5\d\d\.\d MiB\)", 1),
}


def growth_begin():
    os.dup2(os.open("handed.trace", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC), 77)
    return {what: subprocess.Popen([RECORD, *options, "--", "./series", *args], stderr=subprocess.PIPE, text=True, pass_fds=(77,))
            for what, (options, args, _, _) in GROWTH.items()}


def growth_end(running):
    for what, p in running.items():
        text = p.communicate(timeout=600)[1]
        expect(f"max-growth, {what}: status", p.returncode, GROWTH[what][3])
        expect(f"max-growth, {what}: {text}", bool(re.search("(^|\n)" + GROWTH[what][2] + "\n?$", text)), True)
    r = poll("--max-growth", "1k/h", "-d", "100ms", "sleep", "0.3")
    expect("max-growth: too short", (r.returncode, r.stderr.splitlines()[-1]),
           (0, "ms-record: --fail-on: the run was too short to judge growth"))
    r = run(RECORD, "-o", "short.trace", "--max-growth", "1k/h", "true")
    expect("max-growth: recorded, too short", (r.returncode, "passes: the run was too short to judge growth" in r.stderr), (0, True))
    expect("max-growth: the command's own status stays", poll("-q", "--max-growth", "1k/h", "sh", "-c", "exit 3").returncode, 3)
    got = metrics("polled.prom")
    expect("metrics: it ended", got["memscope_up"], {(): 0})
    expect("metrics: growing", {k[0][1]: v for k, v in got["memscope_heap_trend"].items()},
           {t: int(t == "growing") for t in ("too short", "steady", "step", "filling", "falling", "growing", "doubling")})
    expect("metrics: rate", 6 < got["memscope_heap_growth_bytes_per_second"][()] / 2 ** 20 < 10, True)
    expect("metrics: for everybody", os.stat("polled.prom").st_mode & 0o777, 0o644)


def metrics(file, want={}):
    """The text as OpenMetrics 1.0 has it: families together, with type, unit (a suffix of the name) and help first, then samples."""
    with open(file, encoding="utf-8", newline="") as f:
        lines = f.read().split("\n")
    expect(f"{file}: its end", lines[-2:], ["# EOF", ""])
    out, seen = {}, []
    for line in lines[:-2]:
        m = re.fullmatch(r"# (TYPE|UNIT|HELP) ([a-z_]+) (.+)", line)
        if m:
            word, name, text = m.groups()
            if name not in out:
                out[name], seen = {}, []
            expect(f"{file}: {line}: in one place", list(out)[-1], name)
            expect(f"{file}: {line}: once, before samples", (word in seen, out[name]), (False, {}))
            expect(f"{file}: {line}", {"TYPE": text == "gauge", "UNIT": name.endswith("_" + text), "HELP": True}[word], True)
            seen.append(word)
            continue
        m = re.fullmatch(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,(?=[a-z])|(?=\})))+)\} (\d+(?:\.\d+)?)', line)
        expect(f"{file}: {line!r}: a sample", bool(m) and list(out)[-1:] == [m.group(1)] and {"TYPE", "HELP"} <= set(seen), True)
        if not m:
            continue
        labels = dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', m.group(2)))
        for key, value in want.items():
            expect(f"{file}: {line}: {key}", labels[key], value)
        rest = tuple((k, v) for k, v in labels.items() if k not in ("pid", "name"))
        expect(f"{file}: {line}: once", rest in out[m.group(1)], False)
        out[m.group(1)][rest] = float(m.group(3))
    if shutil.which("promtool"):
        with open(file, encoding="utf-8") as f:
            r = run("promtool", "check", "metrics", stdin=f)
        expect(f"{file}: promtool", (r.returncode, r.stdout + r.stderr), (0, ""))
    return out


def check_metrics():
    """Of a process that is made, with a name that has to be escaped: figures to the byte."""
    made(46, name='a"b\\c\nd\x01é')
    open("old.prom", "w", encoding="utf-8").close()
    os.chmod("old.prom", 0o640)
    before = time.time()
    for file in ("made.prom", "old.prom"):
        r = poll("-q", "--proc-root", "proc", "-p", "46", "-i", "20ms", "-d", "60ms", "--openmetrics", file)
        expect(f"{file}: status", (r.returncode, r.stderr), (0, ""))
    got = metrics("made.prom", {"pid": "46", "name": 'a\\"b\\\\c\\nd?é'})
    want = {"resident": 364, "heap": 300, "heap_peak": 300, "virtual": 8000, "proportional": 294, "private": 224, "swapped": 12}
    for key, kb in want.items():
        expect(f"metrics: {key}", got[f"memscope_{key}_bytes"], {(): kb * 1024})
    expect("metrics: too short", (got["memscope_heap_trend"][(("trend", "too short"),)], "memscope_heap_growth_bytes_per_second" in got),
           (1, False))
    expect("metrics: time", before <= got["memscope_sample_timestamp_seconds"][()] <= time.time(), True)
    expect("metrics: a mode that was there stays", os.stat("old.prom").st_mode & 0o777, 0o640)
    expect("metrics: nothing else is left", [f for f in os.listdir() if ".prom" in f and f not in ("made.prom", "old.prom")], [])
    os.makedirs("later", exist_ok=True)
    p = subprocess.Popen([RECORD, "--poll", "-q", "-i", "100ms", "--openmetrics=later/x.prom", "sleep", "3.5"])
    while not os.path.exists("later/x.prom"):
        time.sleep(0.01)
    os.rename("later", "gone")
    time.sleep(1.5)
    os.rename("gone", "later")
    expect("metrics: tried again", (p.wait(timeout=30), metrics("later/x.prom")["memscope_up"]), (0, {(): 0}))
    r = poll("--openmetrics=none/x.prom", "./series", "leak", "100")
    expect("metrics: no such folder", (r.returncode, r.stderr.count("\n"), "none/x.prom" in r.stderr), (125, 1, True))
    expect("metrics: nobody has room", poll("-q", "--openmetrics=/dev/full", "sleep", "0.3").returncode, 125)


def check_budgets():
    """Of the polled leak and of the recorded one, 9.5 MiB/s: 572 MiB a minute."""
    for file in ("leak.trace", "recorded.trace"):
        for budget, status in (("growth_bytes_per_minute > 350M", 1), ("growth_bytes_per_minute > 700M", 0),
                               ("growing_sites > 0", int(file[0] == "r")), ("growing_sites > 1", 0)):
            r = run(REPORT, "--summary", "--fail-on", budget, file)
            expect(f"{file}: {budget}", (r.returncode, r.stderr.count("is broken")), (status, status))
    r = run(REPORT, "--summary", "--fail-on", "growth_bytes_per_minute > 0", "plateau.trace")
    expect("what filled does not grow", (r.returncode, r.stderr), (0, ""))
    r = run(REPORT, "--junit", "--fail-on", "growing_sites > 0", "recorded.trace")
    expect("junit", (r.returncode, 'failures="1" errors="0"' in r.stdout), (1, True))
    r = run(REPORT, "--junit", "--fail-on", "growing_sites > 0", "short.trace")
    expect("junit, too short", (r.returncode, 'failures="0" errors="0"' in r.stdout), (0, True))
    r = run(BIN + "/ms-snap", "--maps", "-o", "regions.db", str(os.getpid()))
    r = run(REPORT, "--fail-on", "growing_sites > 0", "regions.db")
    expect("growth is not known of regions", (r.returncode, "the figure is not available" in r.stderr), (2, True))
    r = run(REPORT, "--fail-on", "delta_growing_sites > 0", "leak.trace")
    expect("no change of growth", (r.returncode, "no figure 'delta_growing_sites'" in r.stderr), (2, True))
    expect("no totals", "growing_sites" in run(REPORT, "--json", "leak.trace").stdout, False)


def minute_begin():
    """A minute of each, at the usual interval; check-all has the time."""
    if not os.environ.get("MS_CHECK_ALL"):
        return {}
    return {kind: subprocess.Popen([RECORD, "--poll", "-i", "1s", "-d", "61s", "--", "./series", kind, "62000"],
                                   stderr=subprocess.PIPE, text=True) for kind in ("drip", "step", "plateau", "reserve")}


def minute_end(running):
    said = {}
    for kind, p in running.items():
        said[kind] = p.communicate(timeout=600)[1].splitlines()[-1]
        expect(f"a minute, {kind}: status", p.returncode, 7)
    if not said:
        return
    m = re.match(r"Warning: linear heap growth detected: \+(\S+) MiB/s .*confidence (\S+)$", said["drip"])
    expect("a minute: 1 MiB/s is warned of", bool(m), True)
    if m:
        expect("a minute: rate", 0.8 < float(m.group(1)) < 1.2, True)
        expect("a minute: confidence", float(m.group(2)) > 0.9, True)
    for kind in ("step", "plateau", "reserve"):
        expect(f"a minute: {kind}", said[kind].startswith(("No growth", "No steady growth")), True)


def check_trace():
    """The trace of the leak, and what ms-report says of it."""
    report = json.loads(run(REPORT, "--json", "--growth", "--timeline", "--limit", "10", "leak.trace").stdout)
    growth, timeline = (v["rows"] for v in report["views"])
    expect("trace: growth", [(g["trend"], g["site"]) for g in growth], [("growing", None)])
    expect("trace: rate", 6 < growth[0]["bytes_per_minute"] / 60 / 2 ** 20 < 10, True)
    expect("trace: confidence", growth[0]["confidence"] > 0.9, True)
    expect("trace: timeline", len(timeline) in (8, 9, 10), True)  # where a busy machine left us no time, none
    heap = [t["heap_bytes"] for t in timeline]
    for form, begins in (("--text", "Growth   the heap grows by "), ("--md", "**Growth**: the heap grows by ")):
        expect(f"trace: {form} begins with the verdict", run(REPORT, form, "leak.trace").stdout[:len(begins)], begins)
    expect("trace: it rises", heap, sorted(heap))
    expect("trace: live at the end", growth[0]["live_bytes"], heap[-1])
    # both at most of a span, but of one sample: what is private has the heap in it
    expect("trace: private beside the heap", [t for t in timeline if t["private_bytes"] is not None and t["private_bytes"] < t["heap_bytes"]], [])
    expect("trace: exit", report["process"]["exit"], {"status": 7})
    expect("trace: not known", {k: v for k, v in report["totals"].items() if v is not None and "rss" not in k}, {})
    expect("trace: quality", report["quality"]["complete"], True)
    expect("trace: step", json.loads(run(REPORT, "--json", "--growth", "step.trace").stdout)["views"][0]["rows"][0]["trend"],
           "step")
    text = run(REPORT, "leak.trace").stdout
    expect("trace: text", "NOTHING" not in text and "figures from /proc only: allocations were not recorded" in text, True)
    expect("trace: a budget", run(REPORT, "--fail-on", "peak_bytes > 0", "leak.trace").returncode, 2)


def check_ends():
    r = poll("-i", "10ms", "--", "sh", "-c", "exit 3")
    expect("status", r.returncode, 3)
    r = poll("-q", "sh", "-c", "kill -9 $$")
    expect("signal", r.returncode, -9)
    expect("quiet", r.stderr, "")
    expect("SIGPIPE is as it was", poll("-q", "sh", "-c", "kill -PIPE $$; exit 5").returncode, -13)
    expect("not found", poll("no-such-command").returncode, 127)
    expect("not executable", poll("./check.txt").returncode, 126)
    target = subprocess.Popen(["sleep", "60"])
    watch = subprocess.Popen([RECORD, "--poll", "-p", str(target.pid), "--csv"], stderr=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    watch.stdout.readline()
    watch.stdout.readline()
    target.kill()
    target.wait()
    text = watch.communicate(timeout=20)[1]
    expect("the target's end", watch.returncode, 0)
    expect("the target's end is said", "; it ended\n" in text, True)
    target = subprocess.Popen(["sleep", "30"])
    watch = subprocess.Popen([RECORD, "--poll", "-p", str(target.pid), "-i", "10ms", "--csv"], stderr=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    watch.stdout.readline()
    watch.stdout.readline()
    watch.send_signal(signal.SIGINT)
    text = watch.communicate(timeout=20)[1]
    expect("interrupted", (watch.returncode, "; it goes on\n" in text), (0, True))
    expect("the target lives", target.poll(), None)
    target.kill()
    target.wait()
    r = run(RECORD, "--poll", "-d", "50ms", "--", "sh", "-c", "sleep 0.5; exit 4")
    expect("-d waits for the command", (r.returncode, "; it goes on\n" in r.stderr), (4, True))


def check_unread():
    target = subprocess.Popen(["sleep", "60"])
    for how in (["--csv"], ["-o", "-"]):
        watch = subprocess.Popen([RECORD, "--poll", "-p", str(target.pid), "-i", "20ms", *how],
                                 stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        watch.stdout.read(20)
        watch.stdout.close()
        try:
            watch.wait(timeout=20)
        except subprocess.TimeoutExpired:
            failures.append(f"{how}: goes on although nobody reads")
            watch.kill()
        text = watch.stderr.read().decode()
        watch.stderr.close()
        expect(f"{how}: nobody reads", (watch.wait(), "roken pipe" in text), (-signal.SIGPIPE, False))
    target.kill()
    target.wait()


def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def check_ignored():
    """SIGCHLD is ignored, as below some servers: then nobody is told how a child ended."""
    command = ["grep", "SigIgn", "/proc/self/status"]
    want = run(*command, preexec_fn=ignore_children).stdout
    for how in (["--poll"], ["-o", "ignored.trace"], ["--standby"]):
        try:
            r = subprocess.run([RECORD, *how, *command], capture_output=True, text=True, timeout=20,
                               check=False, preexec_fn=ignore_children)
            expect(f"{how} with SIGCHLD ignored", (r.returncode, r.stdout), (0, want))
        except subprocess.TimeoutExpired:
            failures.append(f"{how} with SIGCHLD ignored: does not end")


def check_max_heap():
    start = time.monotonic()
    with open("said", "w", encoding="utf-8") as f:  # no pipe: the command has it too, and goes on
        r = subprocess.run([RECORD, "--poll", "-q", "-i", "20ms", "--max-heap", "4M", "./series", "leak", "8000"],
                           stderr=f, check=False, timeout=600)
    expect("max-heap at once", time.monotonic() - start < 7, True)
    with open("said", encoding="utf-8") as f:
        expect("max-heap", (r.returncode, "its heap is over 4.0 MiB" in f.read()), (1, True))
    expect("max-heap not reached", poll("--max-heap", "1G", "true").returncode, 0)


def check_refused():
    for args, why in (
            ([], "no process to poll"), (["-p", "1", "true"], "not both"), (["-p", "x"], "bad --pid 'x'"),
            (["--mmap", "true"], "--mmap cannot be combined with --poll"), (["--csv", "true"], "use --poll=csv:FILE"),
            (["-o", "-", "true"], "use 'fd:N'"), (["--max-heap", "1x", "true"], "bad size"),
            (["--warn-rate", "1M", "true"], "bad --poll=growth"), (["--max-growth", "1M/mins", "true"], "bad --fail-on"),
            (["--openmetrics=-", "true"], "needs a regular file"), (["-z", "3", "true"], "-o FILE"),
            (["--proc-root", "proc", "true"], "needs -p"), (["-p", "41", "-o", "-", "--csv"], "cannot both"),
            (["-p", str(2 ** 22), "--csv=none.csv"], f"no process {2 ** 22}")):
        r = poll(*args)
        expect(f"{args}: status", r.returncode, 125)
        expect(f"{args}: one line with {why}", why in r.stderr and r.stderr.count("\n") == 1, True)
    start = time.monotonic()
    r = run(RECORD, "--poll", "-o", "none/x.trace", "sleep", "40", preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    expect("a command that SIGTERM does not end", (r.returncode, "No such file" in r.stderr, time.monotonic() - start < 20), (125, True, True))


def main():
    with open("check.txt", "w", encoding="utf-8") as f:
        f.write("no program\n")
    built = run("gcc", "-O0", "-o", "series", SRC + "/tests/cli/poll/series.c")
    if built.returncode:
        sys.exit(built.stderr)
    minute = minute_begin()
    check_refused()
    check_made()
    check_pmap()
    check_ends()
    check_unread()
    check_ignored()
    check_max_heap()
    check_metrics()
    check_series()
    minute_end(minute)
    print("\n".join(failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
