# SPDX-License-Identifier: MIT
"""soak.py SECONDS: a server under load is recorded into a file of limited size, and ms-top follows it.

The memory of ms-record and of ms-top stays where it was after five minutes, the file within its size; in the end the trace says what
tests/long/counting.c counted. Into memory.txt goes a line a look: seconds, KB of ms-record, ms-top and the server, bytes of the file.
SOAK_PAUSE: seconds between two runs of the load.
"""
import json
import os
import pty
import socket
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

BIN, TB = os.environ["BIN"], os.environ["TB"]
SIZE = 20 << 20 if int(sys.argv[1]) > 60 else 2 << 20
LOOK, SETTLED, FLAT_KB = 2, 300, 1024
wrong = []


def bad(text):
    wrong.append(text)
    print(f"soak: {text}", file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def kb(pid, what="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next((int(line.split()[1]) for line in f if line.startswith(what + ":")), 0)


def child(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return int(f.read().split()[0])


def counts():
    with open("counts", "rb") as f:
        return dict(zip(("allocations", "frees", "bytes"), struct.unpack("3Q", f.read(24))))


class Top:
    """ms-top on a terminal, whose screen somebody reads."""

    def __init__(self, trace):
        here, there = pty.openpty()
        termios.tcsetwinsize(there, (40, 120))
        self.process = subprocess.Popen([f"{BIN}/ms-top", trace], stdin=there, stdout=there, stderr=there, env={**os.environ, "TERM": "xterm"})
        os.close(there)
        self.fd, self.shown = here, 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while part := os.read(self.fd, 65536):
                self.shown += len(part)
        except OSError:  # it ended
            pass

    def end(self):
        os.write(self.fd, b"q")
        status = self.process.wait(60)
        if status:
            bad(f"ms-top: status {status}")


def load(port, stop):
    """Values that are set, found, replaced and thrown away; a new set of keys from time to time."""
    run, pause = 0, float(os.environ.get("SOAK_PAUSE", 0))
    while not stop.is_set():
        run += 1
        tests = ("set,get,hset", "lpush,lpop,sadd", "set,mset,incr")[run % 3]
        subprocess.run(["redis-benchmark", "-p", port, "-q", "-c", "5", "-n", "20000", "-r", "10000", "-d", str(20 + run % 7 * 30), "-t", tests],
                       stdout=subprocess.DEVNULL, check=False)
        if run % 10 == 0:
            subprocess.run(["redis-cli", "-p", port, "flushall"], stdout=subprocess.DEVNULL, check=False)
        stop.wait(pause)


def watch(seconds, recorder, top):
    """Seconds, KB of the three, bytes of the file, a row a look; and how many files there were, two at least."""
    begin, rows, files = time.monotonic(), [], set()
    server = child(recorder)
    with open("memory.txt", "w", encoding="utf-8", buffering=1) as out:
        while (now := time.monotonic() - begin) < seconds or (len(files) < 2 and now < seconds + 60):
            try:
                s = os.stat("run.trace")
                rows.append((now, kb(recorder), kb(top), kb(server), s.st_size))
            except (OSError, StopIteration) as e:
                bad(f"after {now:.0f} s: {e}")
                break
            files.add(s.st_ino)
            print(*(int(x) for x in rows[-1]), file=out)
            if s.st_size > SIZE:
                bad(f"after {now:.0f} s: the file has {s.st_size} bytes")
            time.sleep(LOOK)
    if len(files) < 2:
        bad("the file was never written anew")
    return rows, len(files)


def flat(name, rows, column):
    """After five minutes, the last third's median is not above the first third's: spans on their way to the file come and go."""
    late = [r[column] for r in rows if r[0] > SETTLED]
    tenths = [statistics.median(late[len(late) * i // 10:len(late) * (i + 1) // 10]) for i in range(10)]
    print(f"{name}: KB, the median of each tenth: {' '.join(f'{t:.0f}' for t in tenths)}; at most {max(late)}", file=sys.stderr)
    grown = statistics.median(late[len(late) * 2 // 3:]) - statistics.median(late[:len(late) // 3])
    if grown > FLAT_KB:
        bad(f"the memory of {name} grows by {grown:.0f} KB")


def compare(told):
    """What the trace says, against what was counted."""
    said, quality = told["totals"], told["quality"]
    print(f"counted {told['counted']}, recorded {said}", file=sys.stderr)
    if quality["complete"] is not True or quality["events_lost"]:
        bad(f"the trace: {quality}")
    for name, counted in (("allocations", "allocations"), ("frees", "frees"), ("allocated_bytes", "bytes")):
        if said[name] != told["counted"][counted]:
            bad(f"{name}: {said[name]}, but {told['counted'][counted]} were counted")


def main():
    seconds, port = int(sys.argv[1]), free_port()
    env = {**os.environ, "LD_PRELOAD": f"{TB}/long/counting.so", "COUNTING_PROGRAM": "redis-server", "COUNTING_FILE": "counts"}
    with subprocess.Popen([f"{BIN}/ms-record", "-q", "--max-size", str(SIZE), "--keep=live", "-o", "run.trace", "redis-server", "--port", port, "--bind",
                           "127.0.0.1", "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL, env=env) as recorder:
        while not os.path.exists("run.trace"):
            time.sleep(0.1)
        time.sleep(1)
        top, stop = Top("run.trace"), threading.Event()
        loader = threading.Thread(target=load, args=(port, stop))
        loader.start()
        rows, files = watch(seconds, recorder.pid, top.process.pid)
        stop.set()
        loader.join()
        if not top.shown:
            bad("ms-top shows nothing")
        top.end()
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], stdout=subprocess.DEVNULL, check=False)
        if recorder.wait(120):
            bad(f"ms-record: status {recorder.returncode}")
    if seconds >= 2 * SETTLED:
        flat("ms-record", rows, 1)
        flat("ms-top", rows, 2)
    if os.path.getsize("run.trace") > SIZE:
        bad(f"in the end the file has {os.path.getsize('run.trace')} bytes")
    r = subprocess.run([f"{BIN}/ms-report", "--json", "run.trace"], capture_output=True, text=True, check=False)
    if r.returncode:
        bad(f"ms-report gives {r.returncode}: {r.stderr}")
    else:
        compare({**json.loads(r.stdout), "counted": counts()})
    print(f"soak: runs {rows[-1][0] / 60:.0f} minutes, {files} files, found {len(wrong)}, left {len(wrong)}")
    sys.exit(bool(wrong))


main()
