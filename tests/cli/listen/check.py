# SPDX-License-Identifier: MIT
"""ms-top --listen: each answer, who gets one, clients that are slow, many, or broken, traces that end."""
import json
import os
import pty
import random
import resource
import select
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time

from served import BIN, TRACED, Recorded, Served, basic, check, done, expect, failures, until

from formats import Pprof, message  # of tests/cli/export

ASAN = os.environ["MODE"] != "release"
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
OPEN = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4"


def pprof(data):
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        return Pprof(f.name)


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def by_function(p):
    """innermost function -> sums of the values"""
    sums = {}
    for s in p.samples:
        old = sums.get(p.stack(s)[0], [0] * len(s["values"]))
        sums[p.stack(s)[0]] = [a + signed(b) for a, b in zip(old, s["values"])]
    return sums


def compare(data, report):
    """A profile has the totals of the JSON."""
    p, t = pprof(data), json.loads(report)["totals"]
    expect("types", p.columns, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"])
    expect("totals", [*p.totals().values()], [t["allocations"], t["allocated_bytes"], t["unfreed_blocks"], t["unfreed_bytes"]])
    return p


def answers(recorded, served):
    recorded.tell("hoard 100")
    recorded.tell("churn 50")
    recorded.tell("thread 40")
    until("metrics", lambda: served.value("live_blocks", None) == 141)
    m = served.metrics()
    until("names", lambda: ("memscope_site_live_bytes", 'site="work traced.c:61"') in served.metrics())
    m = served.metrics()
    for name, labels, want in [("up", None, 1), ("live_bytes", None, 120288), ("live_blocks", None, 141), ("allocations_total", None, 191),
                               ("frees_total", None, 50), ("allocated_bytes_total", None, 122688), ("live_trend", 'trend="too short"', 1),
                               ("site_live_bytes", 'site="hoard traced.c:26"', 100000), ("site_live_blocks", 'site="work traced.c:61"', 40),
                               ("site_live_bytes", 'site="[other]"', 0), ("recorder_lost_events_total", None, 0),
                               ("recorder_damaged_places", None, 0), ("recorder_sampled_bytes", None, 0)]:
        expect(name, m.get(("memscope_" + name, labels)), want)
    check("resident", 500_000 < m["memscope_resident_bytes", None] < 50_000_000)
    check("lag", m["memscope_recorder_lag_seconds", None] < 30)
    expect("sum of sites", sum(v for (name, _), v in m.items() if name == "memscope_site_live_bytes"), 120288)
    status, headers, text = served.get("/metrics")
    expect("older format", (status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    check("its counters", b"# TYPE memscope_allocations_total counter\n" in text and b"# EOF" not in text and b"# UNIT" not in text)
    status, headers, text = served.get("/metrics", Accept=OPEN)
    expect("OpenMetrics", (status, headers["content-type"]), (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
    check("its counters and end", b"# TYPE memscope_allocations counter\n" in text and text.endswith(b"# EOF\n"))

    # one moment in several formats, equal to the report's own totals
    status, headers, heap = served.get("/debug/pprof/heap")
    report = served.get("/report.json")
    expect("heap", (status, headers["content-type"], headers["content-disposition"], headers["x-content-type-options"]),
           (200, "application/octet-stream", 'attachment; filename="heap"', "nosniff"))
    expect("report.json", (report[0], report[1]["content-type"]), (200, "application/json"))
    p = compare(heap, report[2])
    expect("hoard", by_function(p)["hoard"], [100, 100000, 100, 100000])
    expect("churn", by_function(p)["churn"], [50, 2400, 0, 0])
    expect("default", p.strings[p.one[14]], "inuse_space")
    check("time of the profile", abs(p.one[9] / 1e9 - time.time()) < 30)
    status, headers, allocs = served.get("/debug/pprof/allocs")
    p = compare(allocs, served.get("/report.json")[2])
    expect("default of allocs", p.strings[p.one[14]], "alloc_space")
    status, headers, page = served.get("/")
    check("page", status == 200 and headers["content-type"] == "text/html; charset=utf-8" and b"<!doctype html>" in page and b"hoard" in page)
    status, headers, text = served.get("/debug/pprof/heap?debug=1")
    check("text", status == 200 and headers["content-type"] == "text/plain; charset=utf-8" and b"hoard" in text)

    # as Go's handler has the rest
    expect("cmdline", served.get("/debug/pprof/cmdline")[2].decode(), TRACED)
    inside = next(s["locations"][0] for s in p.samples if p.stack(s)[0] == "hoard")
    address = p.locations[inside][3]
    want = f"num_symbols: 1\n{address:#x} hoard\n".encode()
    expect("symbol", served.get(f"/debug/pprof/symbol?{address:#x}+0x1")[2], want)
    expect("symbol by POST", served.get("/debug/pprof/symbol", "POST", f"{address:#x}+0x1+x+")[2], want)
    expect("symbols", served.get("/debug/pprof/symbol")[2], b"num_symbols: 1\n")
    for name, types in [("block", 2), ("goroutine", 1), ("mutex", 2), ("profile", 2), ("threadcreate", 1)]:
        e = pprof(served.get(f"/debug/pprof/{name}?seconds=1")[2])
        expect(name, (len(e.types), len(e.samples)), (types, 0))
    check("index", b"heap?debug=1" in served.get("/debug/pprof/")[2])
    status, headers, data = served.get("/debug/pprof/heap", "HEAD")
    expect("HEAD", (status, data), (200, b""))


def retained(recorded, served):
    """What keeps blocks alive: nothing is known before a scan; then as ms-report --json --retained has it of the file."""
    report = json.loads(served.get("/retained.json")[2])
    expect("before a scan", ("retention" in report, report["views"][0]), (False, {"view": "retained", "rows": []}))
    subprocess.run([BIN + "/ms-record", "--tell", recorded.trace, "retention"], check=True, stdout=subprocess.DEVNULL)
    until("a scan", lambda: "retention" in json.loads(served.get("/retained.json")[2]))
    status, headers, text = served.get("/retained.json")
    expect("retained.json", (status, headers["content-type"]), (200, "application/json"))
    report = json.loads(text)
    scan = report["retention"]["scans"][0]
    expect("scan", [scan[k] for k in ("scan", "label", "state", "live_bytes", "kept_bytes", "unreachable_bytes")],
           [1, "request", "done", 120288, 120288, 0])
    first = report["retention"]["keepers"][0]
    expect("keeper", [first[k] for k in ("keeper", "name", "thread", "type", "retained_bytes", "retained_blocks", "observers")],
           ["variable", "kept", None, "void **", 120000, 140, 0])
    rows = report["views"][0]["rows"]
    below = {r["function"]: [r["bytes"], r["blocks"]] for r in rows if r["function"] in ("hoard", "work")}
    expect("rows", below, {"hoard": [100000, 100], "work": [20000, 40]})
    own = json.loads(subprocess.run([BIN + "/ms-report", "-q", "--json", "--retained", recorded.trace], stdout=subprocess.PIPE).stdout)
    expect("as ms-report", (report["retention"], rows), (own["retention"], own["views"][0]["rows"]))
    expect("report.json", json.loads(served.get("/report.json")[2])["retention"], own["retention"])


def differences(recorded, served):
    found = {}

    def ask(path):
        found[path] = served.get(path)
    paths = ["/debug/pprof/heap?seconds=7", "/debug/pprof/allocs?seconds=7"]
    threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
    for t in threads:
        t.start()
    time.sleep(2)
    recorded.tell("hoard 7")
    recorded.tell("churn 5")
    for t in threads:
        t.join()
    for path in paths:
        expect(path, found[path][0], 200)
        sums = by_function(pprof(found[path][2]))
        expect(path, sums, {"hoard": [7, 7000, 7, 7000], "churn": [5, 240, 0, 0]})


def refusals(served):
    for path, want in [("/debug/pprof/heap?seconds=0", 400), ("/debug/pprof/heap?seconds=-1", 400), ("/debug/pprof/heap?seconds=x", 400),
                       ("/debug/pprof/heap?seconds=1&debug=1", 400), ("/debug/pprof/heap?seconds=99999999999999999999", 400),
                       ("/debug/pprof/heap?debug=x", 400), ("/debug/pprof/heap?seconds=", 400), ("/debug/pprof/trace", 404), ("/x", 404),
                       ("/../../../etc/passwd", 404), ("/debug/pprof/../../../../etc/passwd", 404), ("//etc/passwd", 404),
                       ("/debug/pprof/%2e%2e/%2e%2e/etc/passwd", 404)]:
        status, headers, text = served.get(path)
        expect(path, status, want)
        check(f"{path}: {text[:80]}", b"root:" not in text and headers["content-type"] == "text/plain; charset=utf-8")
    for method, path in [("PUT", "/"), ("POST", "/debug/pprof/heap"), ("DELETE", "/metrics"), ("BREW", "/"), ("POST", "/x")]:
        expect(f"{method} {path}", served.status(path, method), 405)
    expect("large body", served.status("/debug/pprof/symbol", "POST", "0x1+" * 50000), 413)
    # a browser that was led here by a name of somebody else's
    for host, want in [("evil.example", 403), ("127.0.0.1.evil.example", 403), ("127.evil.example:80", 403), ("localhost:1", 200),
                       ("[::1]:80", 200), ("127.0.0.1", 200), ("LOCALHOST", 200), ("", 403)]:
        expect(f"Host: {host}", served.status("/metrics", Host=host), want)


def raw(served, data, seconds=5.0):
    """What comes back for these bytes, up to the end or so long."""
    with socket.create_connection(("127.0.0.1", served.port), 5) as s:
        s.settimeout(seconds)
        got = b""
        try:
            s.sendall(data)
            while part := s.recv(65536):
                got += part
        except (TimeoutError, ConnectionError):
            pass
        return got


def broken(served):
    for data in [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                 b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                 b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                 b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]:
        got = raw(served, data, 0.5)
        check(f"{data[:40]} got {got[:40]}", got == b"" or got.startswith(b"HTTP/1."))
    whole = b"GET /debug/pprof/symbol?0x1+0x2 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    dice = random.Random(22)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        raw(served, bytes(data[:dice.randrange(1, len(data) + 1)]), 0.02)
    expect("after broken requests", served.status("/metrics"), 200)


def slow(served):
    """One that stops in its request, and one that does not take its answer, keep nobody waiting."""
    one = socket.create_connection(("127.0.0.1", served.port))
    one.sendall(b"GET /metr")
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    other.connect(("127.0.0.1", served.port))
    other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    time.sleep(1.5)
    start = time.monotonic()
    expect("beside slow ones", served.status("/metrics"), 200)
    check("time beside slow ones", time.monotonic() - start < 30)
    one.sendall(b"ics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    check("the slow one", one.recv(100).startswith(b"HTTP/1.1 200"))
    one.close()
    other.close()


def crowd(served):
    idle = []
    for _ in range(1100):
        try:
            idle.append(socket.create_connection(("127.0.0.1", served.port), 5))
        except OSError as e:
            failures.append(f"connection {len(idle)}: {e}")
            break
    start = time.monotonic()
    expect("among 1,100", served.status("/metrics"), 200)
    check("time among 1,100", time.monotonic() - start < 30)
    check(f"memory: {served.resident()} KiB", served.resident() < 100_000 or ASAN)
    # when there are so many those that ask nothing are cut soon
    left = {s.fileno(): s for s in idle}
    poll = select.poll()
    for fd in left:
        poll.register(fd, select.POLLIN)
    end = time.monotonic() + 180
    while len(left) > 550 and time.monotonic() < end:
        for fd, _ in poll.poll(1000):
            poll.unregister(fd)
            left.pop(fd)
    check(f"{len(left)} of 1,100 idle ones are still there", len(left) <= 550)
    for s in idle:
        s.close()

    # so many wait for ms-report at once, the others are told to come again
    def ask(found):
        found.append(served.get("/debug/pprof/heap?seconds=7"))
    found = []
    threads = [threading.Thread(target=ask, args=(found,)) for _ in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    statuses = sorted(f[0] for f in found)
    expect("of 30 at once", statuses, [200] * 8 + [503] * 22)
    check("when to come again", all(f[1]["retry-after"] == "1" for f in found if f[0] == 503))
    # those that wait for time to pass keep nobody else out, nor do they when they are gone
    for _ in range(8):
        s = socket.create_connection(("127.0.0.1", served.port))
        s.sendall(b"GET /debug/pprof/heap?seconds=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle.append(s)
    until("a ninth is told to come again", lambda: served.status("/debug/pprof/heap?seconds=1") == 503)
    expect("beside those that wait", served.status("/debug/pprof/heap"), 200)
    for s in idle:
        s.close()
    until("their places", lambda: served.status("/debug/pprof/heap?seconds=1") == 200)


def tokens(trace):
    for text, mode, why in [("0123456789abcdef\n", 0o644, "others may read it"), ("short\n", 0o600, "its first line is the token"),
                            ("", 0o600, "its first line is the token"), ("x" * 300, 0o600, "its first line is the token")]:
        with open("token", "w", encoding="ascii") as f:
            f.write(text)
        os.chmod("token", mode)
        s = Served("--listen", "0", "--token-file", "token", trace, wait=False)
        expect("status of a bad token", s.process.wait(20), 2)
        check(f"bad token {text[:9]!r}", why in s.process.stderr.read())
    with open("token", "w", encoding="ascii") as f:
        f.write("0123456789abcdef-Ab\nmore\n")
    os.chmod("token", 0o600)
    s = Served("--listen", "0.0.0.0:0,remote,token-file:token", trace)
    right, wrong = "0123456789abcdef-Ab", "0123456789abcdef-Ac"
    for given, want in [(None, 401), ("Bearer " + wrong, 401), ("Bearer " + right[:-1], 401), ("Bearer " + right + "x", 401), ("Bearer", 401),
                        ("Bearer ", 401), (right, 401), (basic("any", wrong), 401), (basic("any", ""), 401), ("Basic !!!", 401), ("Basic ", 401),
                        ("Basic " + "A" * 5000, 401), ("Bearer " + right, 200), ("bearer " + right, 200), (basic("any", right), 200)]:
        more = {"Authorization": given} if given else {}
        status, headers, _ = s.get("/debug/pprof/cmdline", Host="any.example", **more)
        expect(f"Authorization: {given}", status, want)
        check("the challenge", status == 200 or headers["www-authenticate"].startswith("Basic "))
    expect("nothing without a token", {s.status(p) for p in ("/", "/metrics", "/report.json", "/x", "/debug/pprof/heap", "/debug/pprof/block")}, {401})
    s.end()


def unix(trace):
    s = Served("--listen", "unix:sock", trace)
    expect("mode", oct(stat.S_IMODE(os.stat("sock").st_mode)), "0o600")
    expect("by a Unix socket", s.status("/metrics", Host="anything"), 200)
    other = Served("--listen", "unix:sock", trace, wait=False)
    expect("two of one path", (other.process.wait(20), other.process.stderr.read()),
           (2, "ms-top: cannot listen on 'sock': Address already in use\n"))
    expect("the first of them", s.status("/metrics"), 200)
    s.process.kill()
    s.process.wait()
    check("what a killed one leaves", os.path.exists("sock"))
    s = Served("--listen", "unix:sock", trace)
    expect("after a killed one", s.status("/metrics"), 200)
    s.end()
    check("nothing is left", not os.path.exists("sock"))
    with open("file", "w", encoding="ascii") as f:
        f.write("kept")
    other = Served("--listen", "unix:file", trace, wait=False)
    expect("a file in the way", other.process.wait(20), 2)
    with open("file", encoding="ascii") as f:
        expect("the file", f.read(), "kept")


def misuse(trace):
    remote = "can be reached from other machines"
    form = "expected PORT, ADDRESS:PORT"
    for args, why in [(["--listen", "0"], "'--listen' needs a trace"), (["--listen", "0", "-b", trace], "choose one"),
                      (["--listen", "0", "--json", trace], "choose one"), (["--token-file", "x", trace], "'--listen=token-file' needs an address"),
                      (["--listen=remote", trace], "'--listen=remote' needs an address"), (["--listen", "", trace], "--listen"),
                      (["--listen", "0", "-p", "1"], "'--listen' needs a trace"),
                      (["--listen", "0.0.0.0:0", trace], remote), (["--listen", "[::]:0", trace], remote),
                      (["--listen", "0.0.0.0:0,remote", trace], remote),
                      *((["--listen", a, trace], form) for a in (":80", "x", "65536", "-1", "1.2.3:x", "evil.example:80", "::1:80", "[::1]", "127.0.0.1:",
                                                                "999.0.0.1:80", " 80")),
                      (["--listen", "unix:", trace], "a path of 1 to 107 bytes"), (["--listen", "unix:" + "x" * 200, trace], "a path of 1 to 107 bytes"),
                      (["--listen", "unix:no/such/sock", trace], "cannot listen on 'no/such/sock': No such file"),
                      (["--listen", "0", "--token-file", "none", trace], "cannot open 'none'"), (["--listen", "0", "none"], "cannot open 'none'")]:
        r = subprocess.run([BIN + "/ms-top", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        expect(f"status of {args}", r.returncode, 2)
        check(f"{args}: {r.stderr}", why in r.stderr and r.stderr.count("\n") == 1 and not r.stdout)
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    r = subprocess.run([BIN + "/ms-top", "--listen", str(port), trace], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    expect("a port that is taken", (r.returncode, r.stderr), (2, f"ms-top: cannot listen on '{port}': Address already in use\n"))


def screen(trace):
    """On a terminal there is a screen, too, and its keys are answered while others ask."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(BIN + "/ms-top", ["ms-top", "--listen", "unix:screen", trace])
    seen = bytearray()

    def sees(text):
        try:
            while select.select([fd], [], [], 0.05)[0]:
                seen.extend(os.read(fd, 65536))
        except OSError: # it has ended
            pass
        return text in seen
    until("the screen says where", lambda: sees(b"serving at unix:screen"))
    s = Served.__new__(Served)
    s.where = "unix:screen"
    expect("beside a screen", pprof(s.get("/debug/pprof/heap")[2]).columns[3], "inuse_space/bytes")
    check("the screen is still whole", not sees(b"cannot"))
    os.write(fd, b"?")
    until("a key", lambda: sees(b"this help") or sees(b"Keys"))
    # each page of the help takes a key, then q ends it
    until("the end", lambda: os.waitpid(pid, os.WNOHANG)[0] == pid or not os.write(fd, b"q"))
    os.close(fd)
    check("its socket is left", not os.path.exists("screen"))


def comparison(trace, live):
    """What ?seconds= is made by: a comparison as a profile, in which less is negative."""
    for old, new, sign in [("start", "end", 1), ("end", "start", -1)]:
        diff = subprocess.run([BIN + "/ms-diff", "-q", f"{trace}@{old}", f"{trace}@{new}"], capture_output=True, check=True).stdout
        p = pprof(subprocess.run([BIN + "/ms-report", "--pprof", "--layout=go"], input=diff, capture_output=True, check=True).stdout)
        expect(f"from {old} to {new}", [signed(v % 2 ** 64) for v in p.totals().values()], [0, 0, *(sign * x for x in live)])


def ends(recorded, served):
    recorded.finish()
    until("the end is seen", lambda: served.value("up", None) == 0)
    own = subprocess.run([BIN + "/ms-report", "--json", recorded.trace], capture_output=True, check=True).stdout
    until("the last moment", lambda: json.loads(served.get("/report.json")[2])["totals"] == json.loads(own)["totals"])
    compare(served.get("/debug/pprof/heap")[2], own)
    totals = json.loads(own)["totals"]
    comparison(recorded.trace, (totals["unfreed_blocks"], totals["unfreed_bytes"]))
    # another recording of that name is gone over to
    again = Recorded(recorded.trace)
    again.tell("hoard 3")
    until("another recording", lambda: served.value("site_live_blocks", 'site="hoard traced.c:26"') == 3)
    expect("it is up", served.value("up", None), 1)
    # an end while somebody waits
    c = served.connection()
    c.request("GET", "/debug/pprof/heap?seconds=100")
    time.sleep(0.5)
    start = time.monotonic()
    served.end()
    check("time of the end", time.monotonic() - start < 50)
    again.finish()


def main():
    recorded = Recorded("run.trace")
    recorded.tell("churn 0")
    served = Served("--listen", "0", "run.trace")
    answers(recorded, served)
    retained(recorded, served)
    differences(recorded, served)
    refusals(served)
    broken(served)
    slow(served)
    crowd(served)
    tokens("run.trace")
    unix("run.trace")
    misuse("run.trace")
    screen("run.trace")
    check("it is still there", served.works())
    check(f"memory: {served.resident()} KiB", served.resident() < 200_000 or ASAN)
    expect("it still answers", served.status("/report.json"), 200)
    ends(recorded, served)
    done()


main()
