#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""redis-server under redis-benchmark, on loopback with a free port: started, loaded, shut down, with and without the recorder."""
import os
import socket
import sqlite3
import subprocess
import sys
import time

import programs


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def serve(prefix, port):
    """Runs the load; the server's status and what it holds at the end."""
    server = subprocess.Popen(prefix + ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                        "--daemonize", "no", "--dir", os.getcwd()], stdout=subprocess.DEVNULL)
    try:
        for _ in range(2000):
            if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True).stdout == b"PONG\n":
                break
            time.sleep(0.05)
        subprocess.run(["redis-benchmark", "-p", port, "-n", "20000", "-r", "1000", "-q", "-t", "set,get,lpush,sadd,hset"],
                       stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["redis-cli", "-p", port, "flushall"], capture_output=True, check=True)
        for i in range(50):
            subprocess.run(["redis-cli", "-p", port, "set", "key%d" % i, "v" * i], capture_output=True, check=True)
        keys = subprocess.run(["redis-cli", "-p", port, "dbsize"], capture_output=True).stdout
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
        return server.wait(30), keys
    finally:
        if server.poll() is None:
            server.kill()


def main():
    check = programs.Check()
    plain = serve([], free_port())
    recorded = serve([programs.BIN + "/ms-record", "-q", "-o", "run.trace"], free_port())
    check.same("status and keys", recorded, plain)
    snap = subprocess.run([programs.BIN + "/ms-snap", "-o", "run.db", "run.trace"], capture_output=True)
    check.same("ms-snap", (snap.returncode, snap.stderr), (0, b""))
    db = sqlite3.connect("run.db")
    programs.quality(check, db)
    programs.roots(check, db)
    programs.pipe(check, ["run.trace"])
    allocator, count = db.execute("SELECT allocator, allocations FROM process").fetchone()
    print("%d allocations, allocator %s" % (count, allocator))
    for line in check.wrong:
        print(line)
    return bool(check.wrong)


sys.exit(main())
