# SPDX-License-Identifier: MIT
"""Prometheus scrapes three servers under load, of which one leaks; go tool pprof reads the profile of that. Argument: for how many seconds."""
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

from served import BIN, SRC, Served, check, done, expect

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
TOKEN = "a-token-of-some-length"
RULES = """groups:
  - name: memscope
    rules:
      - alert: HeapGrows
        expr: memscope_live_trend{trend="growing"} == 1 and ignoring(trend) memscope_live_growth_confidence_ratio >= 0.8
        for: 10s
"""


def tool(*args, **more):
    r = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "HOME": os.getcwd()}, **more)
    expect(f"status of {args}: {r.stderr}", r.returncode, 0)
    return r.stdout


def record(what):
    trace = what + ".trace"
    process = subprocess.Popen([BIN + "/ms-record", "-q", "-o", trace, "./server", what], stdin=subprocess.DEVNULL)
    while not (os.path.exists(trace) and os.path.getsize(trace)):
        time.sleep(0.05)
    more = ["--token-file", "token"] if what == "leak" else []
    return process, Served("--listen", "0", *more, trace)


def configure(servers):
    with open("rules.yml", "w", encoding="ascii") as f:
        f.write(RULES)
    jobs = "".join(f"""  - job_name: {what}
    static_configs: [{{targets: ['127.0.0.1:{s.port}']}}]
""" + ("    authorization: {credentials_file: token}\n" if what == "leak" else "") for what, (_, s) in servers.items())
    with open("prometheus.yml", "w", encoding="ascii") as f:
        f.write(f"global: {{scrape_interval: 2s, evaluation_interval: 2s}}\nrule_files: [rules.yml]\nscrape_configs:\n{jobs}")
    tool("promtool", "check", "config", "prometheus.yml")


def ask(port, what):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{what}", timeout=30) as r:
        return json.load(r)["data"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def watch(port, began):
    """When the alert fired of which job, in seconds."""
    fired, down = {}, set()
    while time.monotonic() - began < SECONDS:
        time.sleep(2)
        try:
            alerts, targets = ask(port, "alerts")["alerts"], ask(port, "targets")["activeTargets"]
        except OSError:
            continue
        for a in alerts:
            if a["state"] == "firing":
                fired.setdefault(a["labels"]["job"], round(time.monotonic() - began))
        down |= {(t["labels"]["job"], t["lastError"]) for t in targets if t["health"] == "down"}
    expect("scrapes that failed", down, set())
    scrapes = ask(port, "query?query=count_over_time(up[1h])")["result"]
    print("scrapes:", {x["metric"]["job"]: x["value"][1] for x in scrapes}, "fired:", fired, flush=True)
    check("too few scrapes", len(scrapes) == 3 and all(int(x["value"][1]) > SECONDS / 2 * 0.8 for x in scrapes))
    return fired


def profile(served):
    """The leaking line, and the totals of the report of the same moment."""
    with open(SRC + "/tests/cli/listen/server.cc", encoding="ascii") as f:
        line = 1 + next(i for i, text in enumerate(f) if "// the leak" in text)
    url = f"http://any:{TOKEN}@127.0.0.1:{served.port}/debug/pprof/heap"
    for _ in range(5):  # until both are of the snapshot that is kept for a second
        report = json.loads(served.get("/report.json", Authorization="Bearer " + TOKEN)[2])
        top = tool("go", "tool", "pprof", "-top", "-lines", "-unit=B", "-nodefraction=0", "-edgefraction=0", "-nodecount=100000", "-trim=false", url)
        flat = sum(int(x) for x in re.findall(r"^ *(\d+)B? +[0-9.e-]+% ", top, re.M))
        if flat == report["totals"]["unfreed_bytes"]:
            break
    expect("what go tool pprof adds up to", flat, report["totals"]["unfreed_bytes"])
    own = [x.split() for x in top.splitlines() if f"keep_session {SRC}/tests/cli/listen/server.cc:{line}" in x]
    check(f"line {line} in {top}", len(own) == 1 and int(own[0][3].rstrip("B")) > flat / 2)
    print("\n".join(" ".join(x) for x in own))
    raw = tool("go", "tool", "pprof", "-raw", "-seconds=2", url)
    check(f"a difference: {raw[:300]}", "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes" in raw)


def main():
    with open("token", "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    os.chmod("token", 0o600)
    began = time.monotonic()
    servers = {what: record(what) for what in ("leak", "step", "plateau")}
    configure(servers)
    port = free_port()
    with open("prometheus.log", "w", encoding="ascii") as log:
        prometheus = subprocess.Popen(["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                                       f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    text = servers["plateau"][1].get("/metrics")[2].decode()
    expect("promtool", tool("promtool", "check", "metrics", input=text), "")
    fired = watch(port, began)
    expect("which fired", list(fired), ["leak"])
    check(f"when: {fired}", fired.get("leak", 999) <= 140)  # the leak begins in second 20
    profile(servers["leak"][1])
    prometheus.terminate()
    prometheus.wait(30)
    for process, served in servers.values():
        print(served.where, "resident", served.resident(), "KiB, trace", os.path.getsize(served.process.args[-1]))
        served.end()
        subprocess.run(["pkill", "-TERM", "-P", str(process.pid)], check=False)
        process.wait(60)
    done()


main()
