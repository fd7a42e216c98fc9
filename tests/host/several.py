#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to several processes at once."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
RECORD, TARGET = f"{BIN}/ms-record", f"{TB}/host/attach"


def start(*mode):
    """A process of tests/host/attach.c, past its beginning."""
    p = subprocess.Popen([TARGET, *mode], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(10000):
        with open(f"/proc/{p.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        if fields[0] == "S" or int(fields[11]) + int(fields[12]) > 5:
            break
        time.sleep(0.02)
    return p


def end(p):
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=600)[0].decode()
    check(p.returncode == 0, f"{p.args}: status {p.returncode}: {out[-300:]}")


def recorder(*args):
    """One that has attached to all of them."""
    r = subprocess.Popen([RECORD, "--no-symbols", "-o", "run.trace", *args], stderr=subprocess.PIPE, text=True)
    for _ in range(10000):
        if r.poll() is not None or not subprocess.run([RECORD, "--tell", "run.trace", "status"], capture_output=True,
                                                      check=False).returncode:
            return r
        time.sleep(0.02)
    sys.exit("the recorder does not come to it")


def report(trace):
    said = subprocess.run([f"{BIN}/ms-report", "--json", trace], capture_output=True, text=True, check=False)
    check(said.returncode == 0, f"{trace}: {said.stderr}")
    return json.loads(said.stdout) if not said.returncode else None


def traces():
    return ["run.trace", *sorted(glob.glob("run.trace.d/*.trace"), key=lambda x: int(x.split(".")[-2]))]


def index():
    with open("run.trace.d/index", encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f][1:]


def counted():
    """Three processes, and one that there is not between them."""
    p = [start("count", "2", "100") for _ in range(3)]
    r = recorder("-p", f"{p[0].pid},2147483647", "-p", f"{p[1].pid}", "-p", f"{p[2].pid}")
    said = []
    for one in p:
        one.send_signal(signal.SIGUSR1)
        said.append([int(x) for x in one.stdout.readline().split()])
    r.send_signal(signal.SIGINT)
    words = r.communicate(timeout=600)[1]
    check(r.returncode == 125, f"one of four cannot be had: status {r.returncode}: {words}")
    check(words.startswith("ms-record: cannot attach to process 2147483647: there is no such process\n"), words)
    check(len(traces()) == 3, f"traces: {traces()}")
    for trace, want, one in zip(traces(), said, p):
        t = report(trace)["totals"]
        got = [t["allocations"], t["frees"], t["reallocations"], t["failed_allocations"], t["unfreed_bytes"],
               t["unfreed_blocks"]]
        check(got == want, f"{trace}: recorded {got}, it says {want}")
        check(trace == "run.trace" or f".{one.pid}." in trace, f"{trace} is not named after {one.pid}")
    rows = index()
    check(sorted(int(row[2]) for row in rows) == sorted([2147483647, *(x.pid for x in p)]), f"index: {rows}")
    check([row[11] for row in rows if row[2] == "2147483647"] ==
          ["not recorded: there is no such process"], f"index: {rows}")
    all_of_them = report("run.trace.d")
    check(all_of_them is not None, "the folder cannot be read")
    for one in p:
        end(one)


def crowded():
    """Four processes of 27 threads each: every one has buffers for all of its threads."""
    p = [start("count", "27", "20") for _ in range(4)]
    r = recorder("-p", ",".join(str(x.pid) for x in p))
    said = []
    for one in p:
        one.send_signal(signal.SIGUSR1)
        said.append([int(x) for x in one.stdout.readline().split()])
    r.send_signal(signal.SIGINT)
    words = r.communicate(timeout=600)[1]
    check(r.returncode == 0 and "lost" not in words, f"four processes of 27 threads: status {r.returncode}: {words}")
    for trace, want in zip(traces(), said):
        whole = report(trace)
        t = whole["totals"]
        got = [t["allocations"], t["frees"], t["reallocations"], t["failed_allocations"], t["unfreed_bytes"], t["unfreed_blocks"]]
        check(got == want, f"{trace}: 27 threads: recorded {got}, it says {want}")
        check(whole["quality"]["events_lost"] == 0, f"{trace}: {whole['quality']}")
    for one in p:
        end(one)


def one_ends():
    """The first is killed: the others are recorded on, and -d ends it with 0."""
    p = [start("churn", "1") for _ in range(3)]
    r = recorder("-p", ",".join(str(x.pid) for x in p))
    p[0].kill()
    p[0].wait()
    for _ in range(10000):
        said = subprocess.run([RECORD, "--tell", "run.trace", "status"], capture_output=True, text=True, check=False)
        if said.returncode or any(row[2] == str(p[0].pid) for row in index()):
            break
        time.sleep(0.02)
    check(r.poll() is None, "it ended with the first of its processes")
    for name in traces()[1:]:
        first = os.stat(name).st_size
        for _ in range(10000):
            if os.stat(name).st_size > first:
                break
            time.sleep(0.02)
        check(os.stat(name).st_size > first, f"{name} does not grow any more")
    subprocess.run([RECORD, "--tell", "run.trace", "mark:late"], check=False)
    r.send_signal(signal.SIGTERM)
    words = r.communicate(timeout=600)[1]
    check(r.returncode == 0, f"one of three was killed: status {r.returncode}: {words}")
    for trace in traces():
        check(report(trace)["quality"]["complete"] is True, f"{trace} is incomplete")
    for one in p[1:]:
        with open(f"/proc/{one.pid}/maps", encoding="utf-8") as f:
            check("/memfd:memscope " not in f.read(), "buffers are left")
        end(one)


def all_end():
    """All of them end by themselves: so does the recorder, with 0."""
    p = [start("churn", "1") for _ in range(2)]
    r = recorder("-p", f"{p[0].pid}", "-p", f"{p[1].pid}")
    for one in p:
        end(one)
    words = r.communicate(timeout=600)[1]
    check(r.returncode == 0, f"all ended: status {r.returncode}: {words}")


def refused():
    def run(words, lines, *args):
        r = subprocess.run([RECORD, "-o", "none.trace", *args], capture_output=True, text=True, check=False, timeout=600)
        check(r.returncode == 125 and words in r.stderr and r.stderr.count("\n") == lines, f"{args}: {r.returncode} {r.stderr}")
        check(not glob.glob("none.trace*"), f"{args}: {glob.glob('none.trace*')}")
    run("none of the 2 processes", 3, "-p", "2147483646,2147483647")
    run("given twice", 1, "-p", "77,77")
    run("a number is needed", 1, "-p", "77,")
    run("a number is needed", 1, "-p", "")
    run("--poll takes one process", 1, "--poll", "-p", "77,78")
    p = [start("churn", "1") for _ in range(2)]
    run("need a regular file", 1, "-o", "fd:2", "-p", f"{p[0].pid},{p[1].pid}")
    for one in p:
        end(one)


def main():
    if os.path.exists("/proc/sys/kernel/yama/ptrace_scope") and os.geteuid():
        print("skip: processes of others cannot be traced here")
        sys.exit(77)
    counted()
    crowded()
    one_ends()
    all_end()
    refused()
    sys.exit(bool(failures))


main()
