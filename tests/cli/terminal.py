# SPDX-License-Identifier: MIT
"""Runs tools on a pseudo terminal: pager, progress, Ctrl-C."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

failures = 0
SLOWLY = rb"ms-(report|filter): reading the trace took \d+ s: [^\n]*\n$"  # what a tool says on a busy machine
TRACE = open("run.trace", "rb").read()


def check(what, good, seen=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED: {what}: {seen!r:.2000}")


def terminal(command, env=None, rows=24, on=(0, 1, 2), type_at=None, type_what=b"", limit=60, made=None):
    """What a command on a terminal of 80 columns shows there, and its status. `on`: which of its streams are the terminal; the
    others are empty or discarded. Once `type_at` was seen, `type_what` is typed, or the file `made` is made."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    streams = [slave if fd in on else subprocess.DEVNULL for fd in range(3)]
    full = {k: v for k, v in os.environ.items() if k not in ("PAGER", "MEMSCOPE_PAGER", "LESS")}
    full.update({"TERM": "dumb", "LC_ALL": "C.UTF-8"}, **(env or {}))

    def own_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    p = subprocess.Popen(command, stdin=streams[0], stdout=streams[1], stderr=streams[2], env=full, preexec_fn=own_terminal,
                         shell=isinstance(command, str), executable="/bin/bash" if isinstance(command, str) else None)
    os.close(slave)
    seen, end = b"", time.monotonic() + limit
    while time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
            if type_at and type_at in seen:
                time.sleep(0.1)
                if made:
                    open(made, "w").close()
                else:
                    os.write(master, type_what)
                type_at = None
    if time.monotonic() >= end:
        p.kill()
    os.close(master)
    return seen.replace(b"\r\n", b"\n"), p.wait()


def test_pager():
    plain = subprocess.run(["ms-report", "--width", "80", "run.db"], capture_output=True, check=True,
                           env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    report = ["ms-report", "run.db"]
    seen, rc = terminal(report, {"MEMSCOPE_PAGER": "cat >paged; echo me", "PAGER": "cat >not-me"})
    check("the pager gets the text", (rc, seen) == (0, b"me\n") and open("paged", "rb").read() == plain, (rc, seen))
    seen, rc = terminal(report, {"PAGER": "cat >paged2"})
    check("PAGER", rc == 0 and seen == b"" and open("paged2", "rb").read() == plain, (rc, seen))
    for name, env, options in (("an empty MEMSCOPE_PAGER", {"MEMSCOPE_PAGER": "", "PAGER": "false"}, []),
                               ("cat", {"PAGER": "cat"}, []),
                               ("no less there", {"PATH": os.environ["BIN"]}, []),
                               ("--no-pager", {"PAGER": "false"}, ["--no-pager"])):
        seen, rc = terminal(report + options, env)
        check(f"{name}: no pager", (rc, seen) == (0, plain), (rc, seen))
    seen, rc = terminal(report, {"PAGER": "false"}, rows=60)
    check("what fits on the screen needs no pager", (rc, seen) == (0, plain), (rc, seen))
    seen, rc = terminal(report, {"PAGER": "no-such-pager-anywhere"})
    check("a pager that is not there", rc == 0 and seen.endswith(plain), (rc, seen))
    seen, rc = terminal(report, {"PAGER": "cat >not-me"}, on=(0, 2))
    check("no pager for a pipe", (rc, seen) == (0, b""), (rc, seen))
    seen, rc = terminal(["ms-report", "--csv=-", "run.db"], {"PAGER": "cat >not-me"})
    check("no pager for CSV", rc == 0 and seen.startswith(b"site,"), (rc, seen))
    check("no pager was run in vain", not os.path.exists("not-me"))
    rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 50000) SELECT x FROM c"
    seen, rc = terminal(["ms-report", "--limit", "0", "--sql", rows, "run.db"], {"PAGER": "head -n 2"})
    check("a pager that is left early", (rc, seen) == (0, b"    x\n    1\n"), (rc, seen))
    seen, rc = terminal(report, {"PAGER": "cat >/dev/null; false"})
    check("the pager's status is not ours", (rc, seen) == (0, b""), (rc, seen))
    seen, rc = terminal(report + ["--fail-on", "peak_bytes > 1"], {"PAGER": "cat"})
    check("ours is", rc == 1 and b"is broken" in seen, (rc, seen))
    seen, rc = terminal(report + ["--fail-on", "peak_bytes > 1"], {"PAGER": "cat >/dev/null"})
    check("ours is, after a pager", rc == 1 and seen.startswith(b"ms-report: budget"), (rc, seen))
    seen, rc = terminal(["env", "--ignore-signal=CHLD", *report], {"PAGER": "cat >/dev/null; echo over"}, limit=10)
    check("with SIGCHLD ignored", (rc, seen) == (0, b"over\n"), (rc, seen))
    seen, rc = terminal(report, {"PAGER": "trap 'echo stays; exit 0' INT; echo ready; cat >/dev/null; sleep 9 & wait"}, type_at=b"ready",
                        type_what=b"\x03")
    check("Ctrl-C is the pager's", rc == 0 and b"stays" in seen, (rc, seen))


UNTIL = "for _ in {1..1200}; do if [ -e more ]; then rm more; break; fi; sleep 0.05; done"
SLOW = "(head -c 500 run.trace; sleep 1.8; tail -c +501 run.trace) | "
LINE = rb"(\r\x1b\[K(replaying|reading|filling|looking|filtering|writing)[^\r\n]*)*"  # what work of more than a second shows, and no more


def test_progress():
    for tool in ("ms-report --summary", "ms-filter", "ms-snap"):
        seen, rc = terminal(f"{SLOW.replace('sleep 1.8', UNTIL)}{tool} - >out", on=(2,), type_at=b"replaying", made="more")
        seen = re.sub(SLOWLY, b"", seen)
        check(f"{tool}: progress", rc == 0 and re.fullmatch(rb"\r\x1b\[Kreplaying the trace: [0-9.]+ [^\r]*" + LINE + rb"\r\x1b\[K", seen), (rc, seen))
        seen, rc = terminal(f"{SLOW}{tool} -q - >out", on=(2,))
        check(f"{tool} -q: no progress", (rc, seen) == (0, b""), (rc, seen))
        p = subprocess.run(["bash", "-c", f"{SLOW}{tool} - >out"], stderr=subprocess.PIPE, check=False)
        check(f"{tool}: none without a terminal", (p.returncode, re.sub(SLOWLY, b"", p.stderr)) == (0, b""), p.stderr)
    seen, rc = terminal(f"(head -c 500 run.trace; {UNTIL}; head -c 1000 run.trace | tail -c +501) | ms-snap -o out.db - ", on=(2,),
                        type_at=b"replaying", made="more")
    check("a message after progress has the line for itself", rc == 2 and b"\r\x1b[Kms-snap: " in seen, (rc, seen))


def test_progress_folder():
    """Of a folder that takes more than a second: how many traces, how much is done and left; wiped at the end; none off a terminal."""
    os.mkdir("many.d")
    data = open("run.trace", "rb").read()
    for i in range(3000):
        with open(f"many.d/run.{i}.{i}.trace", "wb") as f:
            f.write(data)
    report = ["ms-report", "--by", "process", "many.d"]
    started = time.monotonic()
    p = subprocess.run(report, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.monotonic() - started
    seen, rc = terminal(report, on=(2,))
    if took < 2:
        print(f"a folder takes {took:.1f} s only: nothing to be seen")
        return
    check("a folder: none without a terminal", b"\r" not in p.stderr, p.stderr)
    # Nothing is said in the first second: which of the two is seen depends on the machine.
    check("a folder: progress", rc == 0 and re.search(rb"\r\x1b\[K(replaying 3000 traces: \d+ % of [0-9.]+ MiB|summing up traces: \d+ % of 3,000 traces)(, \d+ s left)?", seen), (rc, seen))
    check("a folder: what is left", re.search(rb"traces: \d+ % of [^\r]*, \d+ s left", seen), seen)
    check("a folder: wiped", seen.rfind(b"\r\x1b[K") > seen.rfind(b" % of ") and b"\n" not in seen[:seen.rfind(b"\r")], seen)


def test_progress_record():
    """At the end of a recording: a line that the program left open stays."""
    with open("held.c", "w") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n\tfor (int i = 0; i < 2500000; i++)\n\t\tif (!malloc(200))\n"
                "\t\t\treturn 1;\n\tprintf(\"no end\");\n\tfflush(stdout);\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-O0", "-o", "held", "held.c"], check=True)
    started = time.monotonic()
    seen, rc = terminal(["ms-record", "--leak-check=yes", "-o", "held.trace", "./held"])
    took = time.monotonic() - started
    check("ms-record: what the program wrote stays", rc == 0 and seen.startswith(b"no end"), (rc, seen))
    if b"looking for leaks" in seen:
        check("ms-record: the line below it", re.match(rb"no end {79}\r\x1b\[Klooking for leaks", seen), seen)
        check("ms-record: wiped before the summary", re.search(rb"(looking|writing) [^\r]*\r\x1b\[Kms-record: ", seen), seen)
    else:
        print(f"the end came soon, after {took:.1f} s in all: {seen!r:.200}")
    seen, rc = terminal(["ms-record", "-q", "--leak-check=yes", "-o", "held.trace", "./held"])
    check("ms-record -q: no progress", (rc, seen) == (0, b"no end"), (rc, seen))


def shown(command):
    """What is left on the terminal: without progress, which a busy machine shows of a small trace, too."""
    seen, rc = terminal(command)
    return re.sub(SLOWLY, b"", re.sub(rb"(\r\x1b\[K[^\r\n]*)*\r\x1b\[K", b"", seen)), rc


def test_own_names():
    """What is no text for people goes to a file of its own name, and what was there is not lost."""
    os.mkdir("named")
    os.chdir("named")
    for options, name in ((["--html"], "run.html"), (["--json"], "run.json"), (["--json=full"], "run.json"), (["--csv"], "run.csv"),
                          (["--sarif"], "run.sarif"), (["--junit"], "run.xml"), (["--svg=flame"], "run.svg"), (["--pprof"], "run.pb.gz"),
                          (["--folded"], "run.folded"), (["--export=speedscope"], "run.speedscope.json"), (["--export=svg-flame"], "run.svg"), (["--events", "--json"], "run.json")):
        want = subprocess.run(["ms-report", *options, "../run.trace"], capture_output=True, check=True).stdout
        seen, rc = shown(["ms-report", *options, "../run.trace"])
        check(f"{options}: said", (rc, seen) == (0, f"ms-report: wrote '{name}'\n".encode()), (rc, seen))
        check(f"{options}: the file", open(name, "rb").read() == want, name)
        again = ["--html", "--json", "--csv", "--sarif", "--junit", "--svg=flame", "--export=speedscope"]
        if options[0] in again:
            seen, rc = shown(["ms-report", *options, "../run.trace"])
            check(f"{options}: ours is replaced", (rc, seen, os.listdir(".")) == (0, f"ms-report: wrote '{name}'\n".encode(), [name]), (rc, seen))
        os.remove(name)
    for options, begins in ((["--json=-"], b'{"format"'), (["--github"], b""), (["--md"], b"### ")):
        seen, rc = shown(["ms-report", "--no-pager", *options, "../run.trace"])
        check(f"{options}: shown", rc == 0 and seen.startswith(begins) and not os.listdir("."), (rc, seen[:99], os.listdir(".")))
    with open("run.json", "w") as f:
        f.write("mine")
    seen, rc = shown(["ms-report", "--json", "../run.trace"])
    check("FILE~", (rc, seen) == (0, b"ms-report: wrote 'run.json'; the previous file is now 'run.json~'\n"), (rc, seen))
    check("FILE~ has it", open("run.json~").read() == "mine")
    with open("run.json", "w") as f:
        f.write("mine, too")
    for name in ("run.json", "run.html"):
        if name == "run.html":
            os.symlink("elsewhere", name)
        seen, rc = shown(["ms-report", "--" + name[4:], "../run.trace"])
        check(f"{name}: refused", rc == 2 and seen.startswith(f"ms-report: cannot write '{name}': ".encode()) and seen.count(b"\n") == 1, (rc, seen))
    check("nothing is lost", (open("run.json~").read(), open("run.json").read(), os.path.lexists("elsewhere"), sorted(os.listdir("."))) ==
          ("mine", "mine, too", False, ["run.html", "run.json", "run.json~"]), os.listdir("."))
    os.symlink("elsewhere", "run.dhat.json")
    seen, rc = shown(["ms-report", "--export=dhat", "../run.trace"])
    check("--export: refused", rc == 2 and seen.endswith(b"; use --export=dhat:FILE for another name, or --export=dhat:- for the terminal\n"), (rc, seen))
    os.remove("run.dhat.json")
    seen, rc = shown("cat ../run.db | ms-report --svg=timeline")
    check("of a pipe", (rc, seen, os.path.exists("report.svg")) == (0, b"ms-report: wrote 'report.svg'\n", True), (rc, seen))
    os.chdir("..")


def leftovers():
    return sorted(f for f in os.listdir(".") if "result" in f)


def test_interrupt():
    """While the input is read, by the terminal's key; and while a file is written, by each signal."""
    for tool, option in (("ms-report", "--json=result"), ("ms-filter", "-o result"), ("ms-snap", "-o result")):
        seen, rc = terminal(f"exec {tool} {option} - < <(head -c 500 run.trace; echo ready >&2; sleep 9)", on=(0, 2), type_at=b"ready",
                            type_what=b"\x03")
        check(f"{tool}: Ctrl-C while it reads", rc == -signal.SIGINT and not leftovers(), (rc, seen, leftovers()))
    env = {**os.environ, "LD_PRELOAD": os.path.abspath("slow.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}
    for command in (["ms-report", "--md=first", "--json=result", "run.db"], ["ms-filter", "-o", "result", "run.db"],
                    ["ms-snap", "-o", "result", "run.trace"]):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            p = subprocess.Popen(command, env=env, stderr=subprocess.PIPE)
            said = p.stderr.readline()
            before = [f for f in os.listdir(".") if f.startswith(("result.", "first."))]
            p.send_signal(sig)
            rc = p.wait(timeout=60)
            p.stderr.close()
            left = [f for f in os.listdir(".") if f.startswith(("result", "first"))]
            check(f"{command[0]}: {sig.name} while it writes", said == b"renaming\n" and len(before) == 1 and rc == -sig and not left,
                  (said, before, rc, left))


test_pager()
test_progress()
test_progress_folder()
test_progress_record()
test_interrupt()
test_own_names()
print(f"{failures} failures")
sys.exit(failures != 0)
