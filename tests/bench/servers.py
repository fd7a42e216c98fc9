# SPDX-License-Identifier: MIT
"""Servers that are measured while others load them: only what they do themselves counts, from when they answer."""
import glob
import os
import socket
import subprocess
import time

import meter
from workloads import Work, write


AT_ONCE = 50  # requests on a connection


class Server(Work):
    """On a socket in the current folder: `answers` tells whether it is ready, `load` asks it, `end` has it end."""

    stdout, user, turns = os.devnull, (), 1

    def wait(self):
        for _ in range(3000):
            try:
                if self.answers():
                    return
            except OSError:
                pass
            time.sleep(0.002)
        raise meter.Trouble("'%s' does not answer" % self.command[0])

    def drive(self, running):
        self.wait()
        ready = time.monotonic()
        for _ in range(self.turns):
            self.load()
        try:
            self.end()
        except OSError:
            pass
        return ready


class Redis(Server):
    """redis-server under redis-benchmark."""

    def __init__(self, scale):
        super().__init__(["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no", "--daemonize",
                          "no", "--dir", "."])
        self.requests = str(max(int(30000 * scale), 1000))

    def ask(self, line):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("redis.sock")
            s.sendall(line.encode() + b"\r\n")
            return s.recv(1000)

    def answers(self):
        return self.ask("PING") == b"+PONG\r\n"

    def load(self):
        subprocess.run(["redis-benchmark", "-s", "redis.sock", "-n", self.requests, "-r", "10000", "-P", "8", "-q", "-t",
                        "set,get,lpush,lpop,sadd,hset"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=300)

    def end(self):
        self.ask("SHUTDOWN NOSAVE")


class Web(Server):
    """One that answers on NAME.sock by HTTP, and has its number in NAME.pid."""

    def __init__(self, name, requests, asked, command, environment=None):
        if os.path.exists(name + ".sock"):
            os.unlink(name + ".sock")
        super().__init__(command, environment)
        self.name, self.requests, self.asked = name, max(int(requests), AT_ONCE), b"GET %s\r\nHost: localhost\r\n" % asked

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.name + ".sock")
        return True

    def load(self):
        for _ in range(self.requests // AT_ONCE):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.name + ".sock")
                s.sendall((self.asked + b"\r\n") * (AT_ONCE - 1) + self.asked + b"Connection: close\r\n\r\n")
                said = b"".join(iter(lambda: s.recv(1 << 20), b""))
            if said.count(b"HTTP/1.1 200 OK") != AT_ONCE:
                raise meter.Trouble("%s answered: %r" % (self.name, said[:200]))

    def end(self):
        with open(self.name + ".pid") as f:
            os.kill(int(f.read()), 15)


class Nginx(Web):
    """nginx, one process, that compresses what it answers."""

    def __init__(self, scale):
        write("nginx.conf", """daemon off; master_process off; pid nginx.pid; error_log nginx.log;
            events { worker_connections 64; }
            http { access_log off; client_body_temp_path .; fastcgi_temp_path .; proxy_temp_path .; scgi_temp_path .; uwsgi_temp_path .;
            server { listen unix:nginx.sock; gzip on; gzip_types *; location / { return 200 "%s"; } } }""" % ("some words that are compressed " * 60))
        super().__init__("nginx", 10000 * scale, b"/ HTTP/1.1\r\nAccept-Encoding: gzip", ["nginx", "-p", ".", "-c", "nginx.conf", "-e", "nginx.log"])


class Loop(Server):
    """The same as the program python3 does, so many times for each byte that is sent."""

    def __init__(self, scale, malloc="pymalloc"):
        write("loop.py", """
import json, os, re, socket, sys
def work(n):
    total = 0
    for i in range(n):
        d = {str(k): [k] * (k %% 13) for k in range(300)}
        text = json.dumps(d)
        total += len(re.findall(r'[0-9]+', text)) + len(sorted(json.loads(text)))
    return total
if os.path.exists("loop.sock"):
    os.unlink("loop.sock")
with socket.socket(socket.AF_UNIX) as s:
    s.bind("loop.sock")
    s.listen()
    while True:
        c = s.accept()[0]
        while said := c.recv(1):
            if said == b"e":
                sys.exit(0)
            if said == b"w":
                work(%d)
            c.sendall(said)
""" % max(int(240 * scale), 1))
        super().__init__(["/usr/bin/python3", "-S", "loop.py"], {"PYTHONHASHSEED": "0", "PYTHONMALLOC": malloc})

    def ask(self, what):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("loop.sock")
            s.sendall(what)
            return s.recv(1) == what

    def answers(self):
        return self.ask(b"?")

    def load(self):
        self.ask(b"w")

    def end(self):
        self.ask(b"e")


class Python(Web):
    """A service in Python, as users run it: each answer is made of a database in memory and sent as JSON."""

    def __init__(self, scale):
        write("server.py", """
import http.server, json, os, signal, socketserver, sqlite3, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE word(id INTEGER PRIMARY KEY, name TEXT, n INT)")
db.executemany("INSERT INTO word VALUES (?, ?, ?)", [(i, "word %d" % (i % 97), i * i % 1009) for i in range(2000)])
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        first = int(self.path[1:])
        rows = db.execute("SELECT name, n FROM word WHERE id >= ? AND id < ?", (first, first + 40)).fetchall()
        body = json.dumps({"rows": [{"name": name, "n": n} for name, n in rows], "sum": sum(n for _, n in rows)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self):
        return "client"
    def log_message(self, *what):
        pass
class Service(socketserver.UnixStreamServer):
    pass
with open("server.pid", "w") as f:
    f.write(str(os.getpid()))
Service("server.sock", Handler).serve_forever()
""")
        super().__init__("server", 4000 * scale, b"/500 HTTP/1.1", ["/usr/bin/python3", "-S", "server.py"], {"PYTHONHASHSEED": "0"})


class Postgres(Server):
    """PostgreSQL with one backend, which psql asks on a connection that stays. It does not run as root."""

    folder = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/bin")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []

    def __init__(self, scale):
        home = os.path.abspath("postgres.home")
        os.chmod(".", 0o777)
        folder = os.getcwd()
        while folder != "/":
            folder = os.path.dirname(folder)
            if not os.stat(folder).st_mode & 1:
                os.chmod(folder, 0o711)
        if not os.path.isdir(home):
            self.make_cluster(home)
        super().__init__([os.path.join(self.folder, "postgres"), "-F", "-D", home, "-k", os.path.abspath("."), "-c", "listen_addresses=",
                          "-c", "autovacuum=off"])
        self.psql, self.asked = None, []
        for i in range(max(int(40 * scale), 1)):
            self.asked += ["SELECT name, count(*), min(id), max(day) FROM word GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10",
                           "SELECT a.name, b.id FROM word a JOIN word b ON a.id = b.id * 2 WHERE b.id BETWEEN %d AND %d ORDER BY 2" % (i, i + 20),
                           "SELECT json_agg(t) FROM (SELECT id, regexp_replace(name, '(.)', '<>') AS x FROM word WHERE id %% 50 = %d) t" % (i % 50)]

    def make_cluster(self, home):
        os.mkdir(home)
        if self.user:
            subprocess.run(["chown", "postgres", home], check=True)
        subprocess.run([*self.user, os.path.join(self.folder, "initdb"), "-D", home, "-U", "owner", "-A", "trust", "--no-sync", "--locale=C.UTF-8"],
                       stdout=subprocess.DEVNULL, check=True)

    def ask(self, *statements):
        self.psql.stdin.write(";\n".join(statements) + ";\n\\echo all\n")
        self.psql.stdin.flush()
        for line in self.psql.stdout:
            if line == "all\n":
                return True
        raise OSError("psql ended")

    def answers(self):
        self.psql = subprocess.Popen(["psql", "-h", os.path.abspath("."), "-U", "owner", "-d", "postgres", "-qAt"], text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return self.ask("CREATE TABLE IF NOT EXISTS word(id int PRIMARY KEY, name text, day date)", "TRUNCATE word",
                        "INSERT INTO word SELECT i, 'word' || i % 97, date '2026-01-01' + i % 365 FROM generate_series(1, 5000) i")

    def load(self):
        self.ask(*self.asked)

    def end(self):
        self.psql.stdin.close()
        self.psql.wait(10)
        with open("postgres.home/postmaster.pid", encoding="ascii") as f:
            os.kill(int(f.readline()), 2)
