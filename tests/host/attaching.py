# SPDX-License-Identifier: MIT
"""Running processes, what attaches to them, and what is found then: for attach.py and attach_cycles.py."""
import os
import re
import signal
import struct
import subprocess
import sys
import time

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("BIN") or f"{SRC}/build/release/bin"
TB = os.environ.get("TB") or f"{SRC}/build/release/tests"
RECORD = f"{BIN}/ms-record"
TARGET, STATIC, PLUG = (f"{TB}/host/attach{x}" for x in ("", "_static", "_plug.so"))
THREADS = 4  # of a tally
ALL = bool(os.environ.get("MS_CHECK_ALL"))
failures = []
os.environ["MS_TARGET_OF"] = str(os.getpid())  # of all that start() starts, and of their children


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
    for _ in range(5000):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        if fields[0] == "S" or int(fields[11]) + int(fields[12]) > 5:
            return
        time.sleep(0.02)


def attach(pid, *options, trace="a.trace", timeout=600):
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
        out = p.communicate(timeout=600)[0].decode()
    except subprocess.TimeoutExpired:
        p.kill()
        fail(f"{name}: it does not end")
        return
    check(p.returncode == 0, f"{name}: status {p.returncode}: {out[-300:]}")


def left_behind():
    """Processes that targets have forked and that do not end though their parents have."""
    mark = f"MS_TARGET_OF={os.getpid()}".encode()
    def is_one(pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                return mark in f.read().split(b"\0") and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(TARGET)
        except OSError:
            return False
    for _ in range(3000):
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_one(pid)]
        if not left:
            return []
        time.sleep(0.02)
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    return left


def wait_for(trace):
    """Until the recorder that writes it answers: it has attached."""
    for _ in range(5000):
        if subprocess.run([RECORD, "--tell", trace, "status"], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.02)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    """The child of a recorder, once it has the hooks."""
    for _ in range(5000):
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
    m = re.search(r"stops +to attach: one thread for (\S+ \w+), then all \d+ for (\S+ \w+); to detach: \d+ stops? of at most (\S+ \w+)",
                  said)
    return [nanoseconds(x) for x in m.groups()] if m else None


class Tally:
    """A process that counts in a file what it does: see tests/host/attach.c."""

    def __init__(self, name):
        self.file = name
        self.process = start(TARGET, "tally", name, str(THREADS))

    def begin(self):
        self.process.send_signal(signal.SIGUSR1)

    def counts(self):
        """(allocations, frees) of each thread."""
        with open(self.file, "rb") as f:
            return [struct.unpack("QQ", f.read(64)[:16]) for _ in range(THREADS)]

    def goes_on(self, seconds=20):
        was, until = self.counts(), time.monotonic() + seconds
        while time.monotonic() < until:
            if all(now > old for (now, _), (old, _) in zip(self.counts(), was)):
                return True
            time.sleep(0.01)
        return False
