#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to processes that check themselves (tests/host/attach.c), counts, refuses, and looks at what is left."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from attaching import (ALL, BIN, RECORD, STATIC, TARGET, TB, attach, begun, check, child_of, end, fail, failures, mapped,
                       records, start, state, wait_for)

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
    words = r.communicate(timeout=600)[1]
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


def refused(words, *options, pid=None):
    r = subprocess.run([RECORD, "-o", "refused.trace", *options, *(["-p", str(pid)] if pid else [])],
                       capture_output=True, text=True, timeout=600, check=False)
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
    for option in ("--mmap", "--with=usable-size", "--buffer=wait", "--env=A=B", "--follow=exec"):
        refused(option.removesuffix("=A=B") + " cannot be combined with -p", option, pid=pid)
    refused("with -p, --leak-check takes ", "--leak-check=yes", pid=pid)
    zombie = subprocess.Popen(["true"])
    while state(zombie.pid) != "Z":
        time.sleep(0.02)
    refused("zombie", pid=zombie.pid)
    zombie.wait()
    first = subprocess.Popen([RECORD, "-q", "-o", "first.trace", "-p", str(pid)])
    wait_for("first.trace")
    refused("already attached", pid=pid)
    first.send_signal(signal.SIGTERM)
    check(first.wait(timeout=600) == 0, "SIGTERM does not give 0")
    r = subprocess.run(["sh", "-c", "exec \"$0\" -o refused.trace -p $$", RECORD], capture_output=True, text=True, check=False)
    check(r.returncode == 125 and "that is ms-record itself" in r.stderr, f"itself: {r.stderr}")
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
    refused("shares its memory with its parent", pid=int(mother.stdout.readline()))
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


def recorder():
    """Another recorder is a program as any: what it shares with its own target is not what a recorder left."""
    p = start(TARGET, "churn", "2")
    for kind, command in (("attached", ["-p", str(p.pid)]), ("launched", [TARGET, "churn", "2"])):
        with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "inner.trace", *command], stdout=subprocess.PIPE) as inner:
            wait_for("inner.trace")
            r = subprocess.run([RECORD, "-q", "--no-symbols", "-d", "0.3", "-o", "outer.trace", "-p", str(inner.pid)],
                               capture_output=True, text=True, timeout=600, check=False)
            check(r.returncode == 0, f"a recorder ({kind}): {r.stderr}")
            check(inner.poll() is None, f"a recorder ({kind}) ended: {inner.returncode}")
            inner.send_signal(signal.SIGTERM)
            check(inner.wait(timeout=600) == 0, f"a recorder ({kind}): status {inner.returncode}")
    check(records(p.pid), "its target is not recorded afterwards")
    end(p, "recorder")


def ending():
    """It is killed while it is being attached to: that is what is said, whatever failed for it."""
    for i in range(40):
        with start(TARGET, "churn", "4") as p:
            with subprocess.Popen([RECORD, "-q", "--no-symbols", "-d", "0.01", "-o", "ending.trace", "-p", str(p.pid)],
                                  stderr=subprocess.PIPE, text=True) as r:
                time.sleep(0.0003 * i)
                p.kill()
                said = r.communicate(timeout=600)[1]
            p.wait()
        good = r"ms-record: cannot attach to process \d+( \('attach'\))?: (there is no such process|it has (since |just )?ended.*)\n"
        check(r.returncode == 0 or r.returncode == 125 and re.fullmatch(good, said), f"it ends: {r.returncode} {said}")


def has_child(pid):
    for _ in range(5000):
        if subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return
        time.sleep(0.02)
    fail(f"{pid} has no child")


def sharing():
    """Another process has the same memory: from the beginning, or since it is recorded."""
    p = start(TARGET, "share")
    p.send_signal(signal.SIGUSR1)
    has_child(p.pid)
    refused("shares its memory with its child", pid=p.pid)
    check("/memfd:memscope" not in mapped(p.pid), "refused, and something was mapped")
    end(p, "sharing")
    p = start(TARGET, "share")
    with subprocess.Popen([RECORD, "--no-symbols", "-o", "share.trace", "-p", str(p.pid)], stderr=subprocess.PIPE, text=True) as r:
        wait_for("share.trace")
        p.send_signal(signal.SIGUSR1)
        has_child(p.pid)
        r.send_signal(signal.SIGINT)
        said = r.communicate(timeout=600)[1]
    check(r.returncode == 0 and "the hooks could not be removed" in said, f"sharing while recorded: {r.returncode} {said}")
    end(p, "sharing while recorded")


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
    check(r.wait(timeout=600) == 0, "a stopped process: status")
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
        for seconds in ("0.1", "1", "10"):  # however busy the machine is
            rc, said = attach(child, "-d", seconds, trace="heir.trace")
            if rc or "nothing recorded" not in said:
                break
        check(rc == 0 and "nothing recorded" not in said, f"a forked child, {i}: {rc} {said}")
        r.send_signal(signal.SIGINT)
        check(r.wait(timeout=600) == 0, "the parent of a forked child: status")
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


def execs():
    """It is not young any more, and becomes another program again and again, for a while: what is there in the end is attached to."""
    for i in range(6 if ALL else 3):
        p = subprocess.Popen([f"{TB}/host/attach_execs", "1200", "300", TARGET, "churn", "1"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        p.stdout.readline()
        time.sleep(1.2 + 0.02 * i)
        rc, said = attach(p.pid, "-d", "0.3")
        check(rc == 0, f"execs: {rc} {said}")
        begun(p.pid)
        end(p, "execs")


def execs_once():
    """It becomes another program at any moment of being attached to: that one is attached to."""
    for _ in range(100 if ALL else 20):
        p = subprocess.Popen([f"{TB}/host/attach_execs", str(random.randint(20, 160)), "0", TARGET, "churn", "1"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        p.stdout.readline()
        rc, said = attach(p.pid, "-d", "0.1")
        check(rc == 0, f"one exec: {rc} {said}")
        while os.readlink(f"/proc/{p.pid}/exe") != os.path.realpath(TARGET):
            time.sleep(0.01)
        begun(p.pid)
        end(p, "one exec")


def execs_beside():
    """So does each of two."""
    for _ in range(40 if ALL else 10):
        both = [subprocess.Popen([f"{TB}/host/attach_execs", str(random.randint(20, 160)), "0", TARGET, "churn", "1"], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT) for _ in range(2)]
        for p in both:
            p.stdout.readline()
        rc, said = attach(",".join(str(p.pid) for p in both), "-d", "0.1")
        check(rc == 0 and "not recorded" not in said and "cannot" not in said, f"two execs: {rc} {said}")
        for p in both:
            while os.readlink(f"/proc/{p.pid}/exe") != os.path.realpath(TARGET):
                time.sleep(0.01)
            begun(p.pid)
            end(p, "two execs")


def early():
    """Attached to in the moment that it begins, when no allocator is there yet."""
    for seconds in ("0.3", "3", "10"):  # however busy the machine is
        p = subprocess.Popen([f"{TB}/host/attach_early", TARGET, "churn", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        rc, said = attach(p.pid, "-d", seconds)
        end(p, "early")
        if rc or "nothing recorded" not in said:
            break
    check(rc == 0 and "nothing recorded" not in said, f"early: {rc} {said}")


def together():
    """Several ms-record at once: one of them gets it."""
    p = start(TARGET, "churn", "4")
    rounds = 20 if ALL else 3
    for i in range(200 * rounds):
        r = [subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", f"both{k}.trace", "-p", str(p.pid)],
                              stderr=subprocess.PIPE, text=True) for k in range(3)]
        for _ in range(30000):  # it is not to end before the others have come
            if sum(x.poll() is None for x in r) <= 1:
                break
            time.sleep(0.02)
        for k, x in enumerate(r):
            if x.poll() is None:
                wait_for(f"both{k}.trace")
                x.send_signal(signal.SIGINT)
        said = [x.communicate(timeout=600)[1] for x in r]
        if any("still run code of an earlier recorder; try again" in x for x in said):
            continue  # of the one before
        check(sorted(x.returncode for x in r) == [0, 125, 125], f"together, {i}: {said}")
        check(p.poll() is None, f"together, {i}: it died: {p.returncode}")
        rounds -= 1
        if not rounds:
            break
    check(not rounds, "together: its threads run code of an earlier recorder without end")
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
        refused("already attached", pid=p.pid)
        r.kill()
    for _ in range(600):  # a helper of the killed one may hold the process still
        if "is attaching to it" not in attach(p.pid, "-d", "0.05")[1]:
            break
        time.sleep(0.1)
    refused("another version of ms-record was attached before", pid=p.pid)
    check(subprocess.run([*other, "-d", "0.05"], check=False).returncode == 0, "another build does not attach again")
    rc, said = attach(p.pid, "-d", "0.05")
    check(rc == 0, f"another build detached again: {rc} {said}")
    end(p, "other version")


def told():
    """Words to the recorder of an attached process, and an end in the middle of one of them."""
    def tell(*words, says=None):
        r = subprocess.run([RECORD, "--tell", "told.trace", *words], capture_output=True, text=True, check=False, timeout=600)
        missed = words == ("leak-check",) and r.returncode == 1 and "not scanned: events were lost" in r.stdout
        good = says in r.stderr and r.returncode == 125 if says else r.returncode == 0 or missed
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
                check(r.wait(timeout=600) == 0, f"told, {i}: status {r.returncode}")
                scan.wait(timeout=600)
    check(records(p.pid), "told: nothing is recorded afterwards")
    end(p, "told")


def unwritten():
    """A trace that cannot be written: nobody waits for the end of the process."""
    p = start(TARGET, "churn", "2")
    with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "/dev/full", "-p", str(p.pid)]) as r:
        try:
            check(r.wait(timeout=600) == 125, f"unwritten: status {r.returncode}")
        except subprocess.TimeoutExpired:
            fail("unwritten: it goes on")
            r.kill()
    check(records(p.pid), "unwritten: nothing is recorded afterwards")
    end(p, "unwritten")


def other_program():
    """What the process becomes by exec has 200 MB, which it never had itself."""
    code = "import time; b = b'x' * 200000000; time.sleep(60)"
    with subprocess.Popen(["sh", "-c", f'read x; exec python3 -c "{code}"'], stdin=subprocess.PIPE) as p:
        begun(p.pid)
        with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "other.trace", "-p", str(p.pid)]) as r:
            wait_for("other.trace")
            p.stdin.write(b"\n")
            p.stdin.flush()
            check(r.wait(timeout=600) == 0, f"another program: status {r.returncode}")
        p.kill()
    said = subprocess.run([f"{BIN}/ms-report", "--json", "other.trace"], capture_output=True, text=True, check=False).stdout
    peak = json.loads(said)["totals"]["peak_rss_bytes"]
    check(peak < 50000000, f"another program's memory is taken for that of the process: {peak} bytes")


HOOK_BYTES, HOOK_ORIGINAL = 96, 52  # struct mg_hook


def halfway():
    """The recorder was killed while entries waited to be rewritten: who calls them waits there, and the next recorder mends them."""
    p = start(TARGET, "churn", "2")
    with subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "half.trace", "-p", str(p.pid)]) as r:
        wait_for("half.trace")
        r.kill()
    p.send_signal(signal.SIGSTOP)
    while state(p.pid) != "T":
        time.sleep(0.02)
    own = [line.split("-")[0:2] for line in mapped(p.pid).splitlines() if "/memfd:memscope-image" in line and " rw" in line]
    low, high = int(own[0][0], 16), int(own[0][1].split()[0], 16)
    with open(f"/proc/{p.pid}/mem", "r+b", buffering=0) as f:
        f.seek(low)
        hooks = f.read(high - low)
        hooks = hooks[hooks.index((0x317473654d4753d1).to_bytes(8, "little")) + 84:]  # struct mg_manifest: hook_count, hooks
        count = int.from_bytes(hooks[:4], "little")
        check(count >= 10, f"{count} hooks")
        for i in range(count):
            hook = hooks[4 + HOOK_BYTES * i:4 + HOOK_BYTES * (i + 1)]
            entry, size = int.from_bytes(hook[:8], "little"), int.from_bytes(hook[36:40], "little")
            f.seek(entry)
            check(f.read(1) == b"\xe9", f"hook {i} is not in place")
            f.seek(entry)
            f.write(b"\xeb\xfe")
            if i % 2:  # the bytes behind were not written yet
                f.seek(entry + 2)
                f.write(hook[HOOK_ORIGINAL + 2:HOOK_ORIGINAL + size])
    p.send_signal(signal.SIGCONT)
    check(records(p.pid), "nothing is recorded after a recorder was killed halfway")
    end(p, "halfway")


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
    stopped()
    heir()
    early()
    execs()
    execs_once()
    execs_beside()
    together()
    other_version()
    told()
    unwritten()
    other_program()
    refusals()
    recorder()
    ending()
    sharing()
    spoiled()
    halfway()
    sys.exit(bool(failures))


main()
