# SPDX-License-Identifier: MIT
"""engines.py: gives the dataset in ./history to the engines by the recipes of ms-dataset(5), and looks for what is planted in it.

Prints a line an engine: how long it took to load, and each query. MS_COMMITS is how many commits the dataset has."""
import csv
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import make

COMMITS = int(os.environ["MS_COMMITS"])
QUERIES = ("peak", "grown", "first")
failures = 0


def recipe(name):
    """The display of that name, without what mdoc needs."""
    with open(os.path.join(os.environ["SRC"], "man/ms-dataset.5"), encoding="utf-8") as f:
        text = f.read().split(f'.\\" recipe: {name}\n')[1].split("\n", 1)[1].split("\n.Ed\n")[0]
    return text.replace("\\e", "\\") + "\n"


def write(name, text):
    """A file of that text."""
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    return name


def must(command, **more):
    """What the command says; ends the test when it fails."""
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)
    if r.returncode:
        sys.exit(f"FAILED: {command}: {r.stdout[-500:]} {r.stderr[-3000:]}")
    return r.stdout


def rows_of(text, delimiter=","):
    """Rows of fields."""
    return list(csv.reader(text.splitlines(), delimiter=delimiter))


def until(what, ready, seconds=60):
    """Waits for it."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit(f"FAILED: {what}")
        time.sleep(0.1)


# ---- what is planted ----
PLANTED = [(kind, test, make.commit_name(at * COMMITS // 100), function) for test, (kind, at, function) in make.planted().items()]


def check(engine, query, rows):
    """Is what is planted in the answer, and first where the answer is in order of size?"""
    global failures
    if query == "peak":
        want = {(t, c) for kind, t, c, _ in PLANTED if kind == "peak"}
        have = {(r[0], r[1]) for r in rows[:len(want)]}
    elif query == "grown":
        want = {(t, f) for kind, t, _, f in PLANTED if kind == "growth"}
        have = {(r[0], r[3].split(" < ")[0]) for r in rows[:len(want)]}
    else:
        want = {(t, c, f) for _, t, c, f in PLANTED}
        have = {(r[1], r[0], r[3].split(" < ")[0]) for r in rows}
    if want != have:
        failures += 1
        print(f"FAILED: {engine}, {query}: {sorted(have - want)} too many, {sorted(want - have)} missing")


def engine(name, load, ask, variant=""):
    """One engine: `load` without arguments, `ask` of a query's text gives rows."""
    start = time.monotonic()
    load()
    said = [f"loaded in {time.monotonic() - start:.2f} s"]
    for query in QUERIES:
        text = recipe(f"{query}{variant}.sql")
        start = time.monotonic()
        rows = ask(text)
        said.append(f"{query} {time.monotonic() - start:.2f} s")
        check(name, query, rows)
    print(f"{name}: {', '.join(said)}", flush=True)


# ---- the engines ----
def sqlite():
    """As the page says, with zstdcat."""
    def load():
        must(["sqlite3", "sqlite.db"], input=recipe("tables.sql"))
        for t in ("run", "site", "site_stat"):
            must(["sh", "-c", f"printf '%s\\0' history/v1-*/{t}.csv.zst | xargs -0 zstdcat >{t}.csv"])
            must(["sqlite3", "sqlite.db", ".mode csv", f".import {t}.csv {t}"])
    engine("SQLite", load, lambda sql: json.loads(must(["sqlite3", "-json", "sqlite.db"], input=sql), object_pairs_hook=lambda p: [v for _, v in p]))


def duckdb():
    """DuckDB, and its Parquet."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "duckdb.js")
    env = dict(os.environ, NODE_PATH=os.path.abspath("node_modules"))

    def ask(sql, database="duck.db"):
        return json.loads(must(["node", script, database, write("q.sql", sql)], env=env))
    engine("DuckDB", lambda: ask(recipe("tables.sql") + recipe("load-duckdb.sql")), ask)
    views = "".join(f"CREATE VIEW {t} AS SELECT * FROM '{t}.parquet';" for t in ("run", "site", "site_stat"))
    print("Parquet:", " ".join(f"{t} {os.path.getsize(t + '.parquet')}" for t in ("run", "site", "site_stat")), "bytes")
    engine("DuckDB on Parquet", lambda: ask(views, "views.db"), lambda sql: ask(sql, "views.db"))


def postgresql():
    """A server of its own, which does not run as root."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    home = must(["mktemp", "-d", "/tmp/memscope-dataset.XXXXXX"]).strip()
    who = []
    if os.geteuid() == 0:
        shutil.chown(home, "nobody")
        who = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
    psql = [programs + "/psql", "-X", "-q", "-t", "-v", "ON_ERROR_STOP=1", "-h", home, "-U", "owner", "-d", "postgres"]
    must(who + [programs + "/initdb", "-D", home + "/data", "-U", "owner", "-A", "trust", "--locale=C.UTF-8"], cwd=home)
    with subprocess.Popen(who + [programs + "/postgres", "-D", home + "/data", "-c", "listen_addresses=", "-c", f"unix_socket_directories={home}"],
                          cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until("PostgreSQL does not start", lambda: subprocess.run(psql + ["-c", "SELECT 1"], capture_output=True, check=False).returncode == 0)
            engine("PostgreSQL", lambda: must(psql + ["-f", write("load.sql", recipe("tables.sql") + recipe("load-postgresql.sql"))]),
                   lambda sql: rows_of(must(psql + ["--csv", "-c", sql])))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
            shutil.rmtree(home)


CONFIG = """<yandex><logger><level>warning</level><log>{home}/log</log></logger><tcp_port>{port}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{home}/</path><tmp_path>{home}/tmp/</tmp_path><users_config>{home}/users.xml</users_config><mark_cache_size>100000000</mark_cache_size>
<default_profile>default</default_profile><default_database>default</default_database><remote_servers><runs>{shards}</runs></remote_servers></yandex>"""
USERS = """<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default></default></quotas></yandex>"""


def free_ports(n):
    """So many ports of loopback that nobody has."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def clickhouse(shards):
    """One server, or several that share the runs; the client in PATH is the real one, at the first server's port."""
    ports = free_ports(shards)
    of_all = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in ports)
    os.makedirs("clickhouse", exist_ok=True)
    write("clickhouse/clickhouse-client", f'#!/bin/sh\ncase " $*" in *" --port "*) exec /usr/bin/clickhouse-client "$@" ;; esac\n'
                                          f'exec /usr/bin/clickhouse-client --port {ports[0]} "$@"\n')
    os.chmod("clickhouse/clickhouse-client", 0o755)
    env = dict(os.environ, PATH=os.path.abspath("clickhouse") + ":" + os.environ["PATH"], SHARDS=" ".join(map(str, ports)))
    servers = []
    try:
        for port in ports:
            home = os.path.abspath(f"clickhouse/{port}")
            os.makedirs(home)
            write(home + "/users.xml", USERS)
            write(home + "/config.xml", CONFIG.format(home=home, port=port, shards=of_all))
            servers.append(subprocess.Popen(["clickhouse-server", f"--config-file={home}/config.xml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for port in ports:
            until("ClickHouse does not start",
                  lambda p=port: subprocess.run(["clickhouse-client", "--port", str(p), "--query", "SELECT 1"], capture_output=True, check=False).returncode == 0)
        version = must(["clickhouse-client", "--query", "SELECT version()"], env=env).strip()
        script = "load-shards.sh" if shards > 1 else "load-clickhouse.sh"
        engine(f"ClickHouse {version}, {shards} server{'s' * (shards > 1)}", lambda: must(["sh", "-e", write("load.sh", recipe(script))], env=env),
               lambda sql: rows_of(must(["clickhouse-client", "--query", sql], env=env), "\t"), "-clickhouse")
        if shards > 1:
            parts = [int(must(["clickhouse-client", "--port", str(p), "--query", "SELECT count() FROM run_shard"])) for p in ports]
            print("runs by shard:", parts)
            if min(parts) < sum(parts) // 4:
                sys.exit("FAILED: the shards do not share")
    finally:
        for s in servers:
            s.terminate()
        for s in servers:
            s.wait()


write("tables.sql", recipe("tables.sql"))
for which in sys.argv[1:]:
    {"sqlite": sqlite, "duckdb": duckdb, "postgresql": postgresql, "clickhouse": lambda: clickhouse(1), "shards": lambda: clickhouse(2)}[which]()
sys.exit(failures > 0)
