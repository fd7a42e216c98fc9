# SPDX-License-Identifier: MIT
"""A recorded program that does what it is told, and ms-top --listen of its trace: for the tests of that."""
import atexit
import base64
import http.client
import os
import re
import socket
import subprocess
import sys
import time

BIN, TB, SRC = os.environ["BIN"], os.environ["TB"], os.environ["SRC"]
sys.path.insert(0, SRC + "/tests/cli/export")
TRACED = TB + "/cli/top/traced"
failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r} instead of {want!r}")


def check(what, good):
    if not good:
        failures.append(what)


def until(what, test, seconds=30):
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            failures.append(f"{what}: not within {seconds} s")
            return
        time.sleep(0.05)


class Recorded:
    """ms-record of tests/cli/top/traced."""

    def __init__(self, trace, *options):
        self.trace = trace
        self.process = subprocess.Popen([BIN + "/ms-record", "-q", "-o", trace, *options, TRACED], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def finish(self):
        self.process.stdin.close()
        self.process.stdout.close()
        expect("status of the recorder", self.process.wait(30), 0)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Served:
    """ms-top --listen without a screen."""

    def __init__(self, *args, wait=True):
        self.process = subprocess.Popen([BIN + "/ms-top", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # if a test ends early
        self.where = self.port = None
        if wait:
            said = self.process.stderr.readline()
            m = re.fullmatch(r"ms-top: serving '.*' at (http://(.*):(\d+)/|unix:(.*))\n", said)
            assert m, said + self.process.stderr.read()
            self.where, self.port = m[1], int(m[3]) if m[3] else None

    def connection(self):
        if self.where.startswith("unix:"):
            return UnixConnection(self.where[5:])
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path, method="GET", body=None, **headers):
        """(status, headers, body)"""
        c = self.connection()
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, data

    def status(self, path, method="GET", body=None, **headers):
        return self.get(path, method, body, **headers)[0]

    def metrics(self, **headers):
        """name{labels without pid and name} -> value"""
        values = {}
        for line in self.get("/metrics", **headers)[2].decode().splitlines():
            m = re.fullmatch(r'(\w+)\{pid="\d+",name="[^"]*"(?:,(.*))?\} (\S+)', line)
            if m:
                assert (m[1], m[2]) not in values, line
                values[m[1], m[2]] = float(m[3])
            else:
                assert line.startswith("# "), line
        return values

    def value(self, name, labels=None):
        return self.metrics().get(("memscope_" + name, labels))

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1])

    def works(self):
        return self.process.poll() is None

    def end(self):
        self.process.terminate()
        expect(f"status of {self.process.args}", self.process.wait(20), 0)
        expect("what it said", self.process.stderr.read() + self.process.stdout.read(), "")


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def done():
    for f in failures:
        print("FAILED:", f)
    sys.exit(1 if failures else 0)
