# SPDX-License-Identifier: MIT
"""Services in six languages, three of them in Python, and servers of databases answer without end while ms-record attaches to them again and again: no answer is wrong or missing.

services.py CYCLES [NAME...]: each so often, for a second each, with as long before and after without it. A service whose language is not
there is left out, and that is said. What has other descriptors or threads at the end than at the beginning counts as wrong, too.
"""
import contextlib
import glob
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

BIN = os.environ["BIN"]
ANSWER = "all is well " * 50
PYTHON = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = ("all is well " * 50).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""
ASYNCIO = """
import asyncio, json, sys
async def lines(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield "all is well "
async def slow():
    await asyncio.sleep(60)
async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    late = asyncio.create_task(slow())
    body = json.loads(json.dumps({"said": [t async for t in lines(50)]}))["said"]
    await asyncio.sleep(0)
    late.cancel()
    text = "".join(body)
    writer.write(("HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n%s" % (len(text), text)).encode())
    await writer.drain()
    writer.close()
async def main():
    await (await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]))).serve_forever()
asyncio.run(main())
"""
DJANGO = """
import socketserver, sys, wsgiref.simple_server
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.template import Context, Engine
from django.urls import path
settings.configure(DEBUG=False, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=["django.middleware.common.CommonMiddleware"])
text = Engine().from_string("{% for i in n %}{{ what }} {% endfor %}")
urlpatterns = [path("", lambda q: HttpResponse(text.render(Context({"n": range(50), "what": "all is well"}))))]
class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *a):
        pass
wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), Server, Quiet).serve_forever()
"""
INTERPRETER = "/usr/bin/python3"
NODE = """require('http').createServer((q, r) => { const b = Buffer.alloc(100000, 'x'); r.end('all is well '.repeat(b[0] ? 50 : 0)); })
.listen(+process.argv[2], '127.0.0.1');"""
JAVA = """import com.sun.net.httpserver.*; import java.net.*; import java.util.concurrent.*;
public class S { public static void main(String[] a) throws Exception {
 HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(a[0])), 0);
 s.createContext("/", x -> { byte[] b = "all is well ".repeat(50).getBytes(); java.nio.ByteBuffer.allocateDirect(5000);
  x.sendResponseHeaders(200, b.length); x.getResponseBody().write(b); x.close(); });
 s.setExecutor(Executors.newFixedThreadPool(4)); s.start(); } }"""
GO = """package main
// #include <stdlib.h>
import "C"
import ("net/http"; "os"; "strings")
func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 20; i++ { C.free(C.malloc(C.size_t(100 + i))) }
		w.Write([]byte(strings.Repeat("all is well ", 50)))
	})
	http.ListenAndServe("127.0.0.1:" + os.Args[1], nil)
}"""
RUST = """use std::io::{Read, Write};
fn main() { let l = std::net::TcpListener::bind(format!("127.0.0.1:{}", std::env::args().nth(1).unwrap())).unwrap();
 for s in l.incoming() { let mut s = match s { Ok(s) => s, Err(_) => continue }; std::thread::spawn(move || { let mut b = vec![0u8; 4096];
  if s.read(&mut b).unwrap_or(0) == 0 { return; } let t = "all is well ".repeat(50);
  let _ = s.write_all(format!("HTTP/1.1 200 OK\\r\\nContent-Length: {}\\r\\nConnection: close\\r\\n\\r\\n{}", t.len(), t).as_bytes()); }); } }"""
NGINX = """daemon off; worker_processes 1; master_process off; pid nginx.pid; error_log nginx.log; events { worker_connections 64; }
http { access_log off; server { listen 127.0.0.1:PORT; gzip on; location / { return 200 "ANSWER"; } } }"""
SERVICES = {  # file, its text, how it is built, how it is run; each needs the program that is named first
    "nginx": ("nginx.conf", NGINX, None, ["nginx", "-p", ".", "-c", "nginx.conf", "-e", "nginx.log"]),
    "node": ("s.js", NODE, None, ["node", "s.js", "PORT"]),
    "java": ("S.java", JAVA, ["javac", "S.java"], ["java", "-cp", ".", "S", "PORT"]),
    "python3": ("s.py", PYTHON, None, [INTERPRETER, "s.py", "PORT"]),
    "asyncio": ("async.py", ASYNCIO, None, [INTERPRETER, "async.py", "PORT"]),
    "django": ("dj.py", DJANGO, None, [INTERPRETER, "dj.py", "PORT"]),
    "go": ("s.go", GO, ["go", "build", "-o", "gos", "s.go"], ["./gos", "PORT"]),
    "rustc": ("s.rs", RUST, ["rustc", "-O", "-o", "rusts", "s.rs"], ["./rusts", "PORT"]),
}


# Databases: as above, then who asks: it prints the answer. None runs as root but where it says so.
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/bin")
USER = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
SERVICES |= {
    "redis-server": ("redis.conf", "bind 127.0.0.1\nport PORT\nsave \"\"\n", None, ["redis-server", "redis.conf"], ["redis-cli", "-p", "PORT", "echo", "ANSWER"]),
    "psql": ("empty", "", ["sh", "-ec", "mkdir pg; chmod 777 . pg; if [ $(id -u) = 0 ]; then chown postgres pg; fi; exec \"$@\"", "sh", *USER, f"{POSTGRES}/initdb",
                           "-D", "pg", "-U", "owner", "-A", "trust", "--no-sync", "--locale=C.UTF-8"],
             [*USER, f"{POSTGRES}/postgres", "-F", "-D", "pg", "-k", "FOLDER", "-p", "PORT", "-c", "listen_addresses="],
             ["psql", "-h", "FOLDER", "-p", "PORT", "-U", "owner", "-d", "postgres", "-qAtc", "SELECT repeat('all is well ', 50)"]),
    "mariadbd": ("empty", "", ["mariadb-install-db", "--no-defaults", "--datadir=FOLDER/my", "--auth-root-authentication-method=normal", "--skip-test-db"],
                 ["mariadbd", "--no-defaults", "--datadir=FOLDER/my", "--user=root", "--skip-networking", "--socket=FOLDER/my.sock"],
                 ["mariadb", "--no-defaults", "-S", "FOLDER/my.sock", "-uroot", "-Nse", "SELECT repeat('all is well ', 50)"]),
}


def is_here(name):
    if name in ("asyncio", "django"):
        return not subprocess.run([INTERPRETER, "-c", f"import {name}"], stderr=subprocess.DEVNULL, check=False).returncode
    return shutil.which(INTERPRETER if name == "python3" else name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


class Service:
    def __init__(self, name):
        file, text, build, command, *client = SERVICES[name]
        self.name, self.port, self.asked, self.over, self.wrong, self.said = name, free_port(), 0, threading.Event(), [], ""
        with open(file, "w", encoding="utf-8") as f:
            f.write(self.filled(text))
        self.client = [self.filled(w) for w in client[0]] if client else None
        if build:
            subprocess.run([self.filled(w) for w in build], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, GOCACHE=os.path.abspath("cache"), GOFLAGS="-mod=mod", GO111MODULE="off"))
        self.process = subprocess.Popen([self.filled(w) for w in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def filled(self, text):
        return text.replace("PORT", self.port).replace("ANSWER", ANSWER).replace("FOLDER", os.getcwd())

    def ask(self):
        if self.client:
            return subprocess.run(self.client, capture_output=True, text=True, timeout=60, check=False).stdout == ANSWER + "\n"
        c = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=30)
        try:
            c.request("GET", "/")
            r = c.getresponse()
            return (r.status, r.read().decode()) == (200, ANSWER)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            c.close()

    def ask_on(self):
        while not self.over.is_set():
            if not self.ask():
                self.wrong.append(f"a request failed after {self.asked}")
            self.asked += 1

    def held(self):
        """How many descriptors and threads it has, when that does not change any more."""
        was = now = None
        for _ in range(40):
            was, now = now, [len(os.listdir(f"/proc/{self.process.pid}/{what}")) for what in ("fd", "task")]
            if was == now:
                break
            time.sleep(0.5)
        return now

    def rate(self, work):
        """Requests a second meanwhile."""
        before, start = self.asked, time.monotonic()
        work()
        return (self.asked - before) / (time.monotonic() - start)

    @contextlib.contextmanager
    def load(self):
        self.over.clear()
        threads = [threading.Thread(target=self.ask_on) for _ in range(2)]
        for t in threads:
            t.start()
        yield
        self.over.set()
        for t in threads:
            t.join()

    def attached(self, n):
        for i in range(n):
            r = subprocess.run([f"{BIN}/ms-record", "-q", "-d", "1", "-o", f"{self.name}.trace", "-p", str(self.process.pid)],
                               capture_output=True, text=True, timeout=300, check=False)
            if r.returncode:
                self.wrong.append(f"cycle {i}: status {r.returncode}: {r.stderr}")
            if self.process.poll() is not None:
                self.wrong.append(f"cycle {i}: it ended: {self.process.returncode}")
                break

    def cycles(self, n):
        for _ in range(500):
            if self.ask():
                break
            time.sleep(0.05)
        with self.load():
            rates = [self.rate(lambda: time.sleep(min(n, 5)))]
        held = self.held()
        with self.load():
            rates.append(self.rate(lambda: self.attached(n)))
            rates.append(self.rate(lambda: time.sleep(min(n, 5))))
        if SERVICES[self.name][3][0] == INTERPRETER and self.process.poll() is None and (now := self.held()) != held:
            self.wrong.append(f"{held} descriptors and threads before, {now} after")
        self.said = f"{self.asked} requests; a second before, during and after {[round(r) for r in rates]}; descriptors and threads {held}"
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.wrong.append("it does not end")
            self.process.kill()


def main():
    cycles, names = int(sys.argv[1]), sys.argv[2:] or list(SERVICES)
    runs = requests = 0
    wrong = []
    for name in names:
        if not is_here(name):
            print(f"services: no {name} here", file=sys.stderr)
            continue
        service = Service(name)
        service.cycles(cycles)
        runs, requests = runs + cycles, requests + service.asked
        wrong += [f"{name}: {w}" for w in service.wrong]
        print(f"services: {name}: {service.said}; {len(service.wrong)} wrong", file=sys.stderr)
    for w in wrong[:20]:
        print(f"services: {w}", file=sys.stderr)
    print(f"services: {requests} requests, runs {runs}, found {len(wrong)}, left {len(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
