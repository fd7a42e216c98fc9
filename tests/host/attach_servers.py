# SPDX-License-Identifier: MIT
"""Servers to attach to while they are under load: redis-server and nginx."""
import http.client
import os
import re
import signal
import socket
import statistics
import subprocess
import threading
import time

from attach_targets import Said, Target
from attaching import check, wait_for

EDGE = 10  # cycles at the beginning, and at the end, that are compared


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def until(done, what):
    for _ in range(10000):
        if done():
            return
        time.sleep(0.02)
    raise TimeoutError(what)


class Redis(Target):
    """redis-benchmark runs before each recording, and during it."""

    def __init__(self, name):
        super().__init__(name)
        self.port, self.requests = free_port(), 2000
        self.before, self.during = [], []

    def pong(self):
        r = subprocess.run(["redis-cli", "-p", self.port, "ping"], capture_output=True, text=True, timeout=600, check=False)
        return r.stdout == "PONG\n"

    def load(self):
        """Requests a second."""
        begin = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", self.port, "-q", "-r", "1000", "-n", str(self.requests), "-t", "set,lpush"],
                       capture_output=True, timeout=600, check=True)
        return 2 * self.requests / (time.monotonic() - begin)

    def begin(self, seconds):
        self.process = subprocess.Popen(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                                         "no"], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        until(self.pong, "redis-server does not answer")
        self.load()
        self.requests = max(1000, int(self.load() * seconds / 2))

    def cycle(self, _seconds):
        self.before.append(self.load())
        with subprocess.Popen(self.recorder(), stderr=subprocess.PIPE, text=True) as r:
            wait_for(self.trace)
            self.during.append(self.load())
            r.send_signal(signal.SIGINT)
            text = r.communicate(timeout=600)[1]
        return Said(r.returncode, text)

    def trouble(self):
        return super().trouble() or (None if self.pong() else "it does not answer")

    def end(self):
        subprocess.run(["redis-cli", "-p", self.port, "shutdown", "nosave"], capture_output=True, timeout=600, check=False)
        check(self.process.wait(60) == 0, f"{self.name}: status {self.process.returncode}")
        first, last = statistics.median(self.before[:EDGE]), statistics.median(self.before[-EDGE:])
        during = statistics.median(d / b for d, b in zip(self.during, self.before))
        return (f"PONG after each; requests a second before {first:,.0f}, in the end {last:,.0f} ({last / first:.0%}); "
                f"during {during:.0%} of the same cycle's before")


CONFIG = """daemon off; worker_processes 1; pid nginx.pid; error_log nginx.log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server { listen 127.0.0.1:%s; gzip on; gzip_min_length 1; gzip_types *; location / { return 200 "%s"; } } }
"""
ANSWER = "all is well " * 20


class Nginx(Target):
    """Its worker is attached to while a client asks without end."""

    def __init__(self, name):
        super().__init__(name)
        self.port, self.over, self.asked, self.client = free_port(), threading.Event(), 0, None

    def ask(self):
        c = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=600)
        try:
            c.request("GET", "/")
            r = c.getresponse()
            return r.status == 200 and r.read().decode() == ANSWER
        except OSError:
            return False
        finally:
            c.close()

    def ask_on(self):
        while not self.over.is_set():
            check(self.ask(), f"{self.name}: a wrong answer")
            self.asked += 1

    def begin(self, _seconds):
        folder = os.path.abspath("nginx")
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/nginx.conf", "w", encoding="utf-8") as f:
            f.write(("user root; " if not os.geteuid() else "") + CONFIG % (self.port, ANSWER))
        self.process = subprocess.Popen(["nginx", "-p", folder, "-c", "nginx.conf", "-e", "nginx.log"])
        until(self.ask, "nginx does not answer")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as f:
            self.pid = int(re.match(r"\d+", f.read()).group())
        self.client = threading.Thread(target=self.ask_on)
        self.client.start()

    def trouble(self):
        if not os.path.exists(f"/proc/{self.pid}"):
            return "the worker died"
        return super().trouble() or (None if self.ask() else "it does not answer")

    def end(self):
        self.over.set()
        self.client.join()
        self.process.send_signal(signal.SIGQUIT)
        check(self.process.wait(60) == 0, f"{self.name}: status {self.process.returncode}")
        return f"answered after each, and {self.asked:,} requests meanwhile"

    def kill(self):
        self.over.set()
        super().kill()
