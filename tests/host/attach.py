#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to processes that check themselves (tests/host/attach.c), many times, and looks at what is left."""
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BIN, TB = os.environ["BIN"], os.environ["TB"]
RECORD = f"{BIN}/ms-record"
TARGET, STATIC, PLUG = (f"{TB}/host/attach{x}" for x in ("", "_static", "_plug.so"))
ALL = bool(os.environ.get("MS_CHECK_ALL"))
SECONDS = os.environ.get("MS_ATTACH_SECONDS", "0.1")  # of recording in a cycle; with 1 all of them take a quarter of an hour
CYCLES, KILLS = (100, 200) if ALL else (4, 12)
failures = []


def fail(text):
    print("FAILED:", text)
    failures.append(text)


def check(good, text):
    if not good:
        fail(text)


def start(*command):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    begun(p.pid)
    return p


def begun(pid):
    """Until it has done something, or sleeps: then it is past its beginning."""
    for _ in range(500):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        if fields[0] == "S" or int(fields[11]) + int(fields[12]) > 5:
            return
        time.sleep(0.02)


def attach(pid, *options, trace="a.trace", timeout=60):
    """One ms-record -p to its end: status and what it said."""
    r = subprocess.run([RECORD, "--no-symbols", "-v", "-o", trace, *options, "-p", str(pid)],
                       capture_output=True, text=True, timeout=timeout, check=False)
    return r.returncode, r.stderr


def records(pid):
    """Attaching works, and finds something in the end, however busy the machine is."""
    for duration in ("0.05", "0.5", "3"):
        rc, said = attach(pid, "-d", duration)
        check(rc == 0, f"status {rc}: {said}")
        if rc or "nothing recorded" not in said:
            return rc == 0
    return False


def end(p, name):
    """SIGTERM; the target says whether it found all as it should be."""
    p.send_signal(signal.SIGTERM)
    try:
        out = p.communicate(timeout=20)[0].decode()
    except subprocess.TimeoutExpired:
        p.kill()
        fail(f"{name}: it does not end")
        return
    check(p.returncode == 0, f"{name}: status {p.returncode}: {out[-300:]}")


def wait_for(trace):
    """Until the recorder that writes it answers: it has attached."""
    for _ in range(500):
        if subprocess.run([RECORD, "--tell", trace, "status"], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.02)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    """The child of a recorder, once it has the hooks."""
    for _ in range(500):
        said = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        if said and "/memfd:memscope" in mapped(said[0]):
            return int(said[0])
        time.sleep(0.02)
    sys.exit(f"{pid} has no child that is recorded")


def mapped(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return f.read()


def nanoseconds(text):
    n, unit = text.split()
    return float(n.replace(",", "")) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]


def stops(said):
    """Of -v: one thread, all to attach, all to detach; in ns."""
    m = re.search(r"stops +one thread for (\S+ \w+), to attach all \d+ for (\S+ \w+), to detach \d+ times?, at most (\S+ \w+)",
                  said)
    return [nanoseconds(x) for x in m.groups()] if m else None


def cycles(name, n, *command):
    n, duration = (n, SECONDS) if ALL else (max(2, n), "0.05")
    p = start(*command)
    seen = []
    for i in range(n):
        rc, said = attach(p.pid, "-d", duration)
        check(rc == 0, f"{name}, cycle {i}: status {rc}: {said}")
        check(p.poll() is None, f"{name}, cycle {i}: it died: {p.returncode}")
        if rc or p.poll() is not None:
            break
        check("gave up" not in said and "trouble" not in said, f"{name}, cycle {i}: {said}")
        check(stops(said), f"{name}: no line of stops: {said}")
        seen.append(stops(said) or [0, 0, 0])
    left = mapped(p.pid) if p.poll() is None else ""
    check(left.count("/memfd:memscope-image") == 2, f"{name}: not one image is left, but\n{left}")
    check("/memfd:memscope " not in left, f"{name}: buffers are left")
    end(p, name)
    if seen:
        one, to, back = ([statistics.median(x) / 1e6 for x in zip(*seen)])
        print(f"{name}: {len(seen)} cycles, stopped: one thread {one:.2f} ms, all {to:.2f} ms, to detach {back:.2f} ms (medians)")


def count(name, program, threads, rounds, env=None):
    """The trace has exactly what the program says that it did between two points."""
    p = subprocess.Popen([program, "count", str(threads), str(rounds)], stdout=subprocess.PIPE,
                         env={**os.environ, **(env or {})})
    begun(p.pid)
    r = subprocess.Popen([RECORD, "--no-symbols", "--verify", "-o", "count.trace", "-p", str(p.pid)],
                         stderr=subprocess.PIPE, text=True)
    wait_for("count.trace")
    p.send_signal(signal.SIGUSR1)
    said = p.stdout.readline().decode().split()
    r.send_signal(signal.SIGINT)
    words = r.communicate(timeout=60)[1]
    check(r.returncode == 0, f"{name}: status {r.returncode}: {words}")
    end(p, name)
    report = json.loads(subprocess.run([f"{BIN}/ms-report", "--json", "count.trace"], capture_output=True,
                                       check=True).stdout)
    t, q = report["totals"], report["quality"]
    got = [t["allocations"], t["frees"], t["reallocations"], t["failed_allocations"], t["unfreed_bytes"],
           t["unfreed_blocks"]]
    check(got == [int(x) for x in said], f"{name}: recorded {got}, it says {said}; lost {q['events_lost']}")
    check(q["attached"] is True, f"{name}: the report does not say that it was attached")
    check(q["complete"] is True, f"{name}: the trace is incomplete")
    m = re.search(r"verify +([\d,]+) stacks compared, (\d+) differ", words)
    check(m and m.group(2) == "0" and m.group(1) != "0", f"{name}: stacks differ: {words}")


def killed():
    """ms-record is killed at random moments of attaching, recording and detaching."""
    random.seed(11)
    p = start(TARGET, "churn", "4")
    again = 0
    for i in range(KILLS):
        r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "killed.trace", "-p", str(p.pid)],
                             stderr=subprocess.PIPE, text=True)
        time.sleep(random.random() * (0.05, 0.05, 0.2)[i % 3])
        if i % 3 == 2:
            r.send_signal(signal.SIGINT)
            time.sleep(random.random() * 0.03)
        r.kill()
        said = r.communicate()[1]
        check(not said or "busy with what an earlier" in said, f"after a kill: {said}")
        check(p.poll() is None, f"killed, {i}: the target died: {p.returncode}")
        if p.poll() is not None:
            return
        if i % 6 == 5:
            for _ in range(100):  # it may be busy with what the last one left
                rc, said = attach(p.pid, "-d", "0.1")
                if rc == 0:
                    break
                time.sleep(0.1)
            check(rc == 0, f"after a kill, attaching gives {rc}: {said}")
            again += rc == 0
    check("/memfd:memscope " not in mapped(p.pid), "buffers of killed recorders are left")
    end(p, "killed")
    print(f"killed: {KILLS} times, {again} attachments afterwards")


def target_killed():
    """The target is killed while it is recorded: the trace is whole up to then."""
    for _ in range(3):
        p = start(TARGET, "churn", "2")
        r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "gone.trace", "-p", str(p.pid)])
        wait_for("gone.trace")
        time.sleep(0.05)
        p.kill()
        p.wait()
        check(r.wait(timeout=30) == 0, f"the target was killed: status {r.returncode}")
        report = subprocess.run([f"{BIN}/ms-report", "--json", "gone.trace"], capture_output=True, check=False)
        check(report.returncode == 0, f"the target was killed: ms-report says {report.stderr}")
        if report.returncode == 0:
            check(json.loads(report.stdout)["totals"]["allocations"] > 0, "the target was killed: nothing is in the trace")


def refused(words, *options, pid=None):
    r = subprocess.run([RECORD, "-o", "refused.trace", *options, *(["-p", str(pid)] if pid else [])],
                       capture_output=True, text=True, timeout=30, check=False)
    check(r.returncode == 125 and words in r.stderr and r.stderr.count("\n") == 1,
          f"'{words}' is not what {options} {pid} gives: {r.returncode} {r.stderr}")
    check(not os.path.exists("refused.trace"), f"{words}: a trace is left")


def refusals():
    p = start(TARGET, "spin")
    pid = p.pid
    refused("there is no such process", pid=4194303)
    refused("a whole number", "-p", "x")
    refused("given twice", "-p", f"{pid},{pid}")
    refused("'ls' is not run", "-p", str(pid), "ls")
    for option in ("--mmap", "--usable-size", "--overflow=wait", "--env=A=B", "--follow=exec", "--leak-check=yes"):
        refused("-p: " + option.split("=")[0], option, pid=pid)
    zombie = subprocess.Popen(["true"])
    while state(zombie.pid) != "Z":
        time.sleep(0.02)
    refused("zombie", pid=zombie.pid)
    zombie.wait()
    first = subprocess.Popen([RECORD, "-q", "-o", "first.trace", "-p", str(pid)])
    wait_for("first.trace")
    refused("attached already", pid=pid)
    first.send_signal(signal.SIGTERM)
    check(first.wait(timeout=30) == 0, "SIGTERM does not give 0")
    r = subprocess.run(["sh", "-c", f"exec {RECORD} -o refused.trace -p $$"], capture_output=True, text=True, check=False)
    check(r.returncode == 125 and "that is this program itself" in r.stderr, f"itself: {r.stderr}")
    if not os.geteuid():
        with tempfile.TemporaryDirectory() as tools:  # where another user may come
            os.chmod(tools, 0o755)
            shutil.copy(RECORD, tools)
            r = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tools + "/ms-record", "-o",
                                "/dev/null", "-p", str(pid)], capture_output=True, text=True, check=False)
        check(r.returncode == 125 and "it belongs to user" in r.stderr, f"nobody: {r.stderr}")
    small = start("prlimit", "--as=60000000", TARGET, "churn", "1")
    refused("its memory is limited (ulimit -v)", pid=small.pid)
    end(small, "small")
    mother = subprocess.Popen([TARGET, "vfork"], stdout=subprocess.PIPE)
    refused("in common with its parent", pid=int(mother.stdout.readline()))
    end(mother, "vfork")
    launched = subprocess.Popen([RECORD, "-q", "-o", "launched.trace", "sleep", "60"])
    child = child_of(launched.pid)
    refused("it was started by ms-record", pid=child)
    os.kill(child, signal.SIGTERM)
    launched.wait()
    stripped = "./stripped"
    subprocess.run(["strip", "-o", stripped, STATIC], check=True)
    s = start(stripped, "spin")
    refused("no allocator was found", pid=s.pid)
    end(s, "stripped")
    end(p, "refusals")


def stopped():
    """A stopped process stays stopped, and is recorded when it goes on."""
    p = start(TARGET, "churn", "2")
    p.send_signal(signal.SIGSTOP)
    r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "stopped.trace", "-p", str(p.pid)])
    wait_for("stopped.trace")
    check(state(p.pid) == "T", "a stopped process was set going")
    p.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    r.send_signal(signal.SIGINT)
    check(r.wait(timeout=30) == 0, "a stopped process: status")
    end(p, "stopped")


def heir():
    """A child that was forked while its parent is recorded has the hooks too, which do nothing; it can be attached to."""
    p = start(TARGET, "churn", "2")
    r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "parent.trace", "-p", str(p.pid)])
    wait_for("parent.trace")
    p.send_signal(signal.SIGUSR1)
    child = int(p.stdout.readline())
    time.sleep(0.1)
    for i in range(2):
        rc, said = attach(child, "-d", "0.1", trace="heir.trace")
        check(rc == 0 and "nothing recorded" not in said, f"a forked child, {i}: {rc} {said}")
        r.send_signal(signal.SIGINT)
        check(r.wait(timeout=30) == 0, "the parent of a forked child: status")
    os.kill(child, signal.SIGTERM)
    end(p, "heir")


def spoiled():
    """What an earlier recorder left was written over by the process: it is not believed."""
    p = start(TARGET, "churn", "1")
    attach(p.pid, "-d", "0.05")
    own = [line.split("-")[0:2] for line in mapped(p.pid).splitlines() if "/memfd:memscope-image" in line and " rw" in line]
    check(len(own) == 1, "there is no memory of the image")
    low, high = int(own[0][0], 16), int(own[0][1].split()[0], 16)
    with open(f"/proc/{p.pid}/mem", "r+b", buffering=0) as f:
        f.seek(low)
        at = low + f.read(high - low).index((0x317473654d4753d1).to_bytes(8, "little"))
        f.seek(at + 88 + 36)  # struct mg_manifest: hooks[0].bytes
        was = f.read(4)
        f.seek(at + 88 + 36)
        f.write((4000).to_bytes(4, "little"))
        refused("another version of ms-record was attached before", pid=p.pid)
        f.seek(at + 88 + 36)
        f.write(was)
    rc, said = attach(p.pid, "-d", "0.05")
    check(rc == 0, f"mended: {rc} {said}")
    end(p, "spoiled")


def together():
    """Several ms-record at once: one of them gets it."""
    p = start(TARGET, "churn", "4")
    for i in range(20 if ALL else 3):
        r = [subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", f"both{k}.trace", "-d", "0.2", "-p", str(p.pid)],
                              stderr=subprocess.PIPE, text=True) for k in range(3)]
        said = [x.communicate(timeout=60)[1] for x in r]
        check(sorted(x.returncode for x in r) == [0, 125, 125], f"together, {i}: {said}")
        check(p.poll() is None, f"together, {i}: it died: {p.returncode}")
    check(mapped(p.pid).count("/memfd:memscope-image") == 2, "together: not one image is left")
    end(p, "together")


def other_version():
    """What another build of ms-record left does not matter once that has detached."""
    image = f"{TB}/../ms-record/guest/image/memscope-image.so"
    with open(image, "rb") as f:
        at = f.read()
    at = at[at.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"):][:36]
    with open(RECORD, "rb") as f:
        other = f.read()
    check(other.count(at) == 1, "the build-id of the image is not in ms-record once")
    with open("other", "wb") as f:
        f.write(other.replace(at, at[:16] + bytes(b ^ 255 for b in at[16:])))
    os.chmod("other", 0o755)
    p = start(TARGET, "churn", "2")
    other = ["./other", "-q", "--no-symbols", "-o", "other.trace", "-p", str(p.pid)]
    check(subprocess.run([*other, "-d", "0.05"], check=False).returncode == 0, "another build does not attach")
    check(records(p.pid), "another build detached before: nothing is recorded")
    with subprocess.Popen(other) as r:
        wait_for("other.trace")
        refused("attached already", pid=p.pid)
        r.kill()
    refused("another version of ms-record was attached before", pid=p.pid)
    check(subprocess.run([*other, "-d", "0.05"], check=False).returncode == 0, "another build does not attach again")
    rc, said = attach(p.pid, "-d", "0.05")
    check(rc == 0, f"another build detached again: {rc} {said}")
    end(p, "other version")


def told():
    """Words to the recorder of an attached process, and an end in the middle of one of them."""
    def tell(*words, says=None):
        r = subprocess.run([RECORD, "--tell", "told.trace", *words], capture_output=True, text=True, check=False, timeout=30)
        good = says in r.stderr and r.returncode == 125 if says else r.returncode == 0
        check(good, f"--tell {words}: {r.returncode} {r.stderr}")
    p = start(TARGET, "churn", "2")
    for i in range(3):
        with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "told.trace", "-p", str(p.pid)]) as r:
            wait_for("told.trace")
            for words in (["mark:here"], ["flush"], ["pause"], ["resume"], ["status"]):
                tell(*words)
            tell("leak-check")
            with subprocess.Popen([RECORD, "--tell", "told.trace", "flush"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as scan:
                time.sleep(0.004 * i)
                if i:
                    r.send_signal(signal.SIGINT)
                else:
                    tell("stop")
                check(r.wait(timeout=60) == 0, f"told, {i}: status {r.returncode}")
                scan.wait(timeout=30)
    check(records(p.pid), "told: nothing is recorded afterwards")
    end(p, "told")


def main():
    if os.path.exists("/proc/sys/kernel/yama/ptrace_scope") and os.geteuid():
        print("skip: processes of others cannot be traced here")
        sys.exit(77)
    count("count 1", TARGET, 1, 500)
    count("count 4", TARGET, 4, 200)
    count("count 64", TARGET, 64, 20)
    count("count static", STATIC, 4, 100)
    for lib in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        path = "/usr/lib/x86_64-linux-gnu/" + lib
        if os.path.exists(path):
            count("count " + lib, TARGET, 4, 100, {"LD_PRELOAD": path})
    n = CYCLES
    cycles("churn 1", n, TARGET, "churn", "1")
    cycles("churn 4", n // 2, TARGET, "churn", "4")
    many = "64" if ALL else "16"  # as many that never rest take minutes on a small machine
    cycles("churn " + many, n // 7, TARGET, "churn", many)
    cycles("spin", n // 2, TARGET, "spin")
    cycles("short", n // 4, TARGET, "short", "4")
    cycles("blocked", n, TARGET, "blocked")
    cycles("fork", n // 4, TARGET, "fork")
    cycles("plug", n // 4, TARGET, "plug", PLUG)
    cycles("filter", n // 4, TARGET, "filter")
    cycles("static", n // 4, STATIC, "churn", "4")
    cycles("python3", n // 4, "python3", "-c", "import signal, sys\nsignal.signal(15, lambda *a: sys.exit(0))\n"
           "while True: d = {str(i): [i] for i in range(1000)}")
    cycles("trap", n, TARGET, "trap")
    cycles("storm", n // 2, TARGET, "storm", "4")
    cycles("uring", n // 4, TARGET, "uring")
    cycles("close", n // 2, TARGET, "close", "file")
    cycles("small files", 2, "prlimit", "--fsize=4096", TARGET, "churn", "1")
    stopped()
    heir()
    together()
    other_version()
    told()
    target_killed()
    killed()
    refusals()
    spoiled()
    sys.exit(bool(failures))


main()
