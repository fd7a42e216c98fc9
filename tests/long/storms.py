# SPDX-License-Identifier: MIT
"""A storm of Python frames (tests/host/python_storm.py) goes on, and ends as it should, with the descriptors and threads that it had, whatever becomes of those that record it: storms.py SECONDS."""
import collections
import os
import random
import signal
import subprocess
import sys
import time

BIN, TB, SRC = os.environ["BIN"], os.environ["TB"], os.environ["SRC"]
RECORD = [f"{BIN}/ms-record", "-q", "--no-symbols"]
STORM = ["/usr/bin/python3", f"{SRC}/tests/host/python_storm.py", f"{TB}/host/python_probe.so", "1000000000", "3", "expected"]
done, wrong = collections.Counter(), []


def bad(text):
    wrong.append(text)
    print(f"storms: {text}", file=sys.stderr)


def used(pid):
    """Processor time of the process, in ticks."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])


def goes_on(pid):
    was = used(pid)
    for _ in range(1000):
        if used(pid) > was + 1:
            return True
        time.sleep(0.01)
    return False


def attached(pid):
    """What an earlier one left may have to come to its end first."""
    for _ in range(100):
        r = subprocess.run([*RECORD, "-d", "0.2", "-o", "a.trace", "-p", str(pid)], capture_output=True, text=True, timeout=120, check=False)
        if r.returncode == 0:
            return
        time.sleep(0.1)
    bad(f"attaching gives {r.returncode}: {r.stderr}")


def disturbed(pid, what):
    """One ms-record, and what becomes of it."""
    with subprocess.Popen([*RECORD, "-o", "b.trace", "-p", str(pid)], stderr=subprocess.PIPE, text=True) as r:
        time.sleep(random.random() * 0.6)
        if what == "stopped":
            os.kill(pid, signal.SIGSTOP)
            time.sleep(random.random() * 0.1)
            os.kill(pid, signal.SIGCONT)
        r.send_signal(signal.SIGKILL if what == "recorder killed" else signal.SIGINT)
        said = r.communicate(timeout=120)[1]
    if what != "recorder killed" and r.returncode not in (0, -signal.SIGINT) and "nothing recorded" not in said and "still run code" not in said:
        bad(f"{what}: status {r.returncode}: {said}")


def ended(p, what):
    p.send_signal(signal.SIGTERM)
    try:
        status = p.wait(60)
    except subprocess.TimeoutExpired:
        p.kill()
        status = "none"
    if status != 0:
        bad(f"{what}: it ended with {status}")


def live_one(end):
    """One process, attached to again and again."""
    with subprocess.Popen([*STORM, str(random.randrange(10**6))]) as p:
        if not goes_on(p.pid):
            bad("it does not begin")
        while p.poll() is None and time.monotonic() < end:
            what = random.choice(("attached", "attached", "recorder killed", "interrupted", "stopped"))
            if what == "attached":
                attached(p.pid)
            else:
                disturbed(p.pid, what)
            done[what] += 1
            if p.poll() is not None or not goes_on(p.pid):
                bad(f"{what}: it does not go on: {p.poll()}")
                break
            if random.random() < 0.1:
                break
        if p.poll() is None:
            attached(p.pid)
            ended(p, "attached to")


def launched_one():
    """One that is launched; it or its recorder is killed."""
    what = random.choice(("program killed", "recorder of a command killed", "ended"))
    with open("said", "w+", encoding="utf-8") as said, \
         subprocess.Popen([*RECORD, "--leak-check=no", "-o", "c.trace", *STORM, str(random.randrange(10**6))], stderr=said) as r:
        pid = None
        for _ in range(3000):
            with open(f"/proc/{r.pid}/task/{r.pid}/children", encoding="utf-8") as f:
                pid = next(iter(f.read().split()), None)
            if pid and used(int(pid)) > 10:
                break
            time.sleep(0.02)
        pid = int(pid)
        time.sleep(random.random())
        if what == "recorder of a command killed":
            r.kill()
            r.wait()
            if not goes_on(pid):
                bad(f"{what}: it does not go on")
            os.kill(pid, signal.SIGTERM)
            for _ in range(3000):
                if not os.path.exists(f"/proc/{pid}"):
                    break
                time.sleep(0.02)
            else:
                bad(f"{what}: it does not end")
        else:
            os.kill(pid, signal.SIGKILL if what == "program killed" else signal.SIGTERM)
            if r.wait(120) != (-signal.SIGKILL if what == "program killed" else 0):
                said.seek(0)
                bad(f"{what}: status {r.returncode}: {said.read()}")
            s = subprocess.run([f"{BIN}/ms-report", "--json", "c.trace"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            if s.returncode:
                bad(f"{what}: its trace gives {s.returncode}: {s.stderr}")
    done[what] += 1


def main():
    end = time.monotonic() + int(sys.argv[1])
    while time.monotonic() < end and len(wrong) < 20:
        live_one(end)
        launched_one()
    print("storms:", ", ".join(f"{k} {n}" for k, n in sorted(done.items())), file=sys.stderr)
    print(f"storms: runs {sum(done.values())}, found {len(wrong)}, left {len(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
