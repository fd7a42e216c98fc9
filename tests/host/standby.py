#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Wakes processes that are on standby (tests/host/standby.c), and compares traces with what they say that they did."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
TOOLS = tempfile.mkdtemp()  # where another user may come, other than to where the build is perhaps
for tool in f"{BIN}/ms-record", f"{BIN}/libmemscope-preload.so", f"{TB}/host/standby":
    shutil.copy(tool, TOOLS)
os.chmod(TOOLS, 0o755)
RECORD, TARGET = f"{TOOLS}/ms-record", f"{TOOLS}/standby"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
KILLS = 200 if os.environ.get("MS_CHECK_ALL") else 30


class Program:
    """The target under a holder, or whatever `command` is."""

    def __init__(self, *args, command=None, before=()):
        self.holder = subprocess.Popen([*before, RECORD, "--standby", *(command or [TARGET, *args])], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.pid = int(self.holder.stdout.readline())

    def ask(self, words):
        self.holder.stdin.write(words + "\n")
        self.holder.stdin.flush()
        return [int(x) for x in self.holder.stdout.readline().split()]

    def end(self, status=7):
        self.holder.stdin.close()
        self.holder.stdin = None
        rest = self.holder.communicate(timeout=600)
        check(self.holder.returncode == status and rest[1] == "", f"the end: {self.holder.returncode} {rest}")


class Recorder:
    """One that has woken a process."""

    def __init__(self, pid, *options, trace="run.trace", before=()):
        self.trace = trace
        self.process = subprocess.Popen([*before, RECORD, "-v", "--no-symbols", "-o", trace, *options, "-p", str(pid)],
                                        stderr=subprocess.PIPE, text=True)
        for _ in range(20000):
            if self.process.poll() is not None or not subprocess.run([*before, RECORD, "--tell", trace, "status"],
                                                                     capture_output=True, check=False).returncode:
                break
            time.sleep(0.01)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=600)[1]
        check(self.process.returncode == 0, f"{self.process.args}: {self.process.returncode} {said}")
        check("the process was on standby" in said, f"it was not woken, but attached to: {said}")
        return said


def report(trace):
    said = subprocess.run([f"{BIN}/ms-report", "--json", "--only-first", trace], capture_output=True, text=True, check=False)
    check(said.returncode == 0, f"{trace}: {said.stderr}")
    return json.loads(said.stdout) if not said.returncode else None


def compare(name, trace, want, unknown=0):
    r = report(trace)
    if not r:
        return
    t, q = r["totals"], r["quality"]
    got = [t["allocations"], t["frees"], t["reallocations"], t["failed_allocations"], t["unfreed_bytes"],
           t["unfreed_blocks"]]
    check(got == want, f"{name}: recorded {got}, it says {want}")
    check(q["complete"] is True and q["events_lost"] == 0, f"{name}: {q}")
    check(q["attached"] is True, f"{name}: the report does not say that it began in mid-run")
    check(q["unknown_frees"] == unknown, f"{name}: {q['unknown_frees']} unknown frees, not {unknown}")


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def again_and_again():
    for threads in (1, 8):
        p = Program(str(threads))
        before = os.listdir(f"/proc/{p.pid}/fd")
        p.ask("r 20")
        for i in range(4):
            r = Recorder(p.pid)
            want = add(p.ask("r 300"), p.ask("r 1"))
            r.stop()
            compare(f"{threads} threads, recording {i}", "run.trace", want)
            p.ask("r 30")
        r = Recorder(p.pid)
        n = p.ask("f")[0]
        r.stop()
        compare("what was there before", "run.trace", [0, 0, 0, 0, 0, 0], n)
        check(sorted(os.listdir(f"/proc/{p.pid}/fd")) == sorted(before), "it has other descriptors than before")
        p.end()


def of(pid):
    found = glob.glob(f"run.trace.d/*.{pid}.*.trace")
    check(len(found) == 1, f"traces of {pid}: {found}")
    return found[0] if found else "none"


def children():
    """One that was forked before, one while it is recorded, and one of theirs; and all of them once more."""
    p = Program("2")
    first = p.ask("k")[0]
    p.ask("c 0 5")
    r = Recorder(p.pid)
    mine = p.ask("r 200")
    second = p.ask("k")[0]
    wants = {first: p.ask("c 0 2000"), second: p.ask("c 1 1500")}
    third = p.ask("g 1 2")[0]
    wants[third] = p.ask("c 2 1700")
    r.stop()
    compare("the parent", "run.trace", mine)
    for pid, want in wants.items():
        t = report(of(pid))["totals"]
        check([t["allocations"], t["frees"], t["reallocations"], t["failed_allocations"]] == want[:4],
              f"child {pid}: recorded {t}, it says {want}")
    compare("a child from before", of(first), wants[first])
    for _ in range(3):
        p.ask("c 0 3")
        p.ask("r 2")
        r = Recorder(p.pid)
        wants = {third: p.ask("c 2 1600"), first: p.ask("c 0 1400"), second: p.ask("c 1 1300")}
        mine = p.ask("r 100")
        r.stop()
        compare("the parent, again", "run.trace", mine)
        for pid, want in wants.items():
            compare(f"child {pid}, again", of(pid), want)
    said = subprocess.run([RECORD, "-o", "no.trace", "-p", str(first)], capture_output=True, text=True, check=False, timeout=600)
    check(said.returncode == 125 and f"it was forked by process {p.pid}, with which it is recorded" in said.stderr, said.stderr)
    said = subprocess.run([RECORD, "-o", "no.trace", "-p", str(p.holder.pid)], capture_output=True, text=True, check=False, timeout=600)
    check(said.returncode == 125 and "that is ms-record --standby itself" in said.stderr, said.stderr)
    p.end()


def gone(record):
    for _ in range(5000):
        if subprocess.run(["pgrep", "-f", f"^{record} --standby"], capture_output=True, check=False).returncode:
            return True
        time.sleep(0.01)
    return False


def programs():
    """A program that another one runs, by its own number; and the one that goes on in the background, also of a holder without standard files."""
    p = Program(command=["sh", "-c", f"{TARGET} 1; exit 9"])
    r = Recorder(p.pid)
    want = p.ask("r 100")
    r.stop()
    compare("a further program", "run.trace", want)
    p.end(9)
    for closed, out in ("", ""), ("4>&1 <&- >&- 2>&-", ">&4"):
        p = Program(command=["sh", "-c", f"{TARGET} 1 <&3 {out} & exit 5", "sh"], before=["bash", "-c", f'exec "$@" 3<&0 {closed}', "bash"])
        while subprocess.run(["pgrep", "-P", str(p.holder.pid), "sh"], capture_output=True, check=False).returncode == 0:
            time.sleep(0.01)
        r = Recorder(p.pid)
        want = p.ask("r 100")
        r.stop()
        compare(f"one that goes on in the background {closed}", "run.trace", want)
        if closed:  # the holder there ends when it is told to, and the program runs on
            subprocess.run(["pkill", "-f", f"^{RECORD} --standby"], check=False)
            check(gone(RECORD), "the holder in the background goes on after SIGTERM")
            p.ask("r 1")
        p.end(5)


def killed():
    """The recorder is killed at random moments, and nothing comes of it."""
    random.seed(5)
    p = Program("4")
    for i in range(KILLS):
        r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "killed.trace", "-p", str(p.pid)])
        time.sleep(random.random() * 0.04)
        p.ask("r 20")
        if i % 3 == 0:
            r.send_signal(signal.SIGINT)
            time.sleep(random.random() * 0.01)
        r.kill()
        r.wait()
        p.ask("r 1")
    r = Recorder(p.pid)
    want = p.ask("r 200")
    r.stop()
    compare("after the kills", "run.trace", want)
    # The holder, too: then it runs on, and cannot be woken.
    r = Recorder(p.pid)
    p.holder.kill()
    want = p.ask("r 50")
    r.stop()
    compare("without its holder", "run.trace", want)
    p.ask("r 50")
    said = subprocess.run([RECORD, "-o", "no.trace", "-p", str(p.pid)], capture_output=True, text=True, check=False, timeout=600)
    check(said.returncode == 125 and "it was started by ms-record" in said.stderr, f"without a holder: {said.stderr}")
    p.holder.stdin.close()
    p.holder.wait()


def refusals():
    p = Program("1")
    r = Recorder(p.pid)
    for words, *options in (("records it already", ), ("--sample cannot be combined with --standby", "-s", "64k"),
                            ("--with=free-stacks cannot be combined", "--free-stacks"), ("--with=verify cannot be combined", "--verify")):
        said = subprocess.run([RECORD, "-o", "no.trace", *options, "-p", str(p.pid)], capture_output=True, text=True,
                              check=False, timeout=600)
        check(said.returncode == 125 and words in said.stderr and said.stderr.count("\n") == 1, f"{options}: {said.stderr}")
        check(not os.path.exists("no.trace"), f"{words}: a trace is left")
    want = p.ask("r 10")
    r.stop()
    compare("recorded while others asked", "run.trace", want)
    for options in (["-o", "x"], ["-d", "1"], ["--mmap"], ["--follow=all"]):
        said = subprocess.run([RECORD, "--standby", *options, "true"], capture_output=True, text=True, check=False, timeout=600)
        check(said.returncode == 125 and "is for the ms-record -p that records the command later" in said.stderr, f"{options}: {said.stderr}")
    for options in (["-s", "4k"], ["--free-stacks"], ["--verify"]):
        said = subprocess.run([RECORD, "--standby", *options, "true"], capture_output=True, text=True, check=False, timeout=600)
        check(said.returncode == 125 and "--standby cannot be combined with --" in said.stderr, f"{options}: {said.stderr}")
    for command, status in ((["true"], 0), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], -9), (["./none"], 127),
                            (["/"], 126)):
        said = subprocess.run([RECORD, "--standby", *command], capture_output=True, check=False, timeout=600)
        check(said.returncode == status, f"{command}: status {said.returncode}, not {status}")
    if not os.geteuid():
        ask_as_nobody(p)
    p.end()


STRANGER = """
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\\0memscope-standby-" + sys.argv[1])
try:
    s.send(struct.pack("<QII", int(sys.argv[2], 16), 2, 1))
except BrokenPipeError:
    pass  # the answer is there already
try:
    data, control, flags, where = s.recvmsg(4096, 100)
except ConnectionResetError:
    data, control, flags, where = s.recvmsg(4096, 100)
print(struct.unpack_from("<I", data, 12)[0], len(control), data[16:].split(b"\\0")[0].decode())
"""


def ask_as_nobody(p):
    """The socket is there for everybody to find; the memory is not."""
    with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
        inode = [line.split()[4] for line in f if "/memfd:memscope (deleted)" in line][0]
    said = subprocess.run([*NOBODY, "python3", "-c", STRANGER, f"{int(inode):x}", "32747365754753d0"], capture_output=True,
                          text=True, check=False, timeout=600)
    check(said.stdout == "0 0 it belongs to user 'root'; run this as that user or as root\n", f"a stranger: {said}")


def unprivileged():
    """A user's own process under a seccomp filter, which could not be attached to."""
    where = tempfile.mkdtemp()
    os.chmod(where, 0o777)
    here = os.getcwd()
    os.chdir(where)
    try:
        p = Program("2", "filter", before=NOBODY)
        r = Recorder(p.pid, before=NOBODY)
        want = p.ask("r 100")
        r.stop()
        compare("a user's, under a filter", "run.trace", want)
        r = Recorder(p.pid)  # root may, too
        want = p.ask("r 100")
        r.stop()
        compare("a user's, by root", "run.trace", want)
        p.end()
    finally:
        os.chdir(here)
        shutil.rmtree(where)


def run():
    again_and_again()
    children()
    programs()
    killed()
    refusals()
    if not os.geteuid():
        unprivileged()


def main():
    try:
        run()
    finally:
        shutil.rmtree(TOOLS)
    sys.exit(bool(failures))


main()
