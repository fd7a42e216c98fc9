# SPDX-License-Identifier: MIT
"""Hostile programs and hostile places: output and status are the same with ms-record and without.

hosts.py ROUNDS: each program so often on an idle machine, and as often while every processor is busy. Where ms-record cannot work at all it may
refuse, with status 125 and one line, before the program starts.
"""
import os
import shutil
import subprocess
import sys

BIN, TB = os.environ["BIN"], os.environ["TB"]
SELF = f"{TB}/long"
SCENE = f"{SELF}/hostile"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def without(*folders):
    """In a namespace of its own where these file systems are gone, or empty."""
    gone = "; ".join(f"umount -l {f} 2>/dev/null || mount -t tmpfs none {f}" for f in folders)
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", f'{gone}; exec "$0" "$@"']


def programs():
    """(name, command before both, environment, the program)"""
    scenes = subprocess.run([SCENE], capture_output=True, text=True, check=True).stdout.split()
    rows = [(s, [], {}, [SCENE, s]) for s in scenes]
    for name, env in (("audit", {"LD_AUDIT": f"{SELF}/hostile_lib.so"}), ("mcheck", {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}),
                      ("no-rseq", {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}), ("bind-now", {"LD_BIND_NOW": "1"}),
                      ("no-cache", {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"})):
        rows += [(f"{name}/{s}", [], env, [SCENE, s]) for s in ("churn", "forks", "dlmopen", "huge-limits")
                 if (name, s) != ("mcheck", "forks")]  # which glibc itself does not survive
    rows += [(f"split-stack/{s}", [], {}, [f"{SELF}/hostile_split", s]) for s in ("churn", "small-stacks")]
    for name, before in (("few-files", ["prlimit", "--nofile=24"]), ("little-memory", ["prlimit", "--as=400000000"]), ("no-files", ["prlimit", "--nofile=4"]),
                         ("huge", ["prlimit", "--nofile=1048576", "--stack=unlimited"]), ("small-stack", ["prlimit", "--stack=131072"]),
                         ("no-processes", ["prlimit", "--nproc=1"]), ("no-lock", ["prlimit", "--memlock=0"]),
                         ("closed-input", ["sh", "-c", 'exec "$0" "$@" <&-']), ("nobody", NOBODY)):
        if before is NOBODY and subprocess.run([*NOBODY, "sh", "-c", '[ -x "$0" ]', SCENE], check=False).returncode:
            continue  # the checkout is in a folder that is not for others
        rows += [(f"{name}/{s}", before, {}, [SCENE, s]) for s in ("churn", "forks")]
    if os.geteuid() == 0:
        for name, folders in (("no-proc", ["/proc"]), ("no-sys", ["/sys"]), ("no-shm", ["/dev/shm"]), ("none-of-them", ["/proc", "/sys", "/dev/shm"])):
            rows += [(f"{name}/{s}", without(*folders), {}, [SCENE, s]) for s in ("churn", "forks", "deaths")]
    return rows


def run(before, env, command):
    e = dict(os.environ, HOSTILE_SELF=SELF, **env)
    try:
        r = subprocess.run(before + command, env=e, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        return r.returncode, r.stdout, r.stderr
    except subprocess.TimeoutExpired:
        return "hangs", b"", b""


def judge(row, plain, got):
    """What differs, or None."""
    if got[:2] == plain[:2] and (got[2] == plain[2] or plain[2] in got[2]):
        return None
    if row[1] and got[0] == 125 and not got[1] and got[2].startswith(b"ms-record: ") and got[2].count(b"\n") == 1:
        return None
    return f"{got[0]} {got[1]!r:.200} {got[2]!r:.300} instead of {plain[0]} {plain[1]!r:.200} {plain[2]!r:.100}"


def plain_of(row):
    """How it goes without a recorder. Signals may overflow the stack of a program that gets no processor for long: not always, then."""
    for _ in range(5):
        plain = run(row[1], row[2], row[3])
        if plain[0] == "hangs" or plain[0] >= 0:
            break
    return plain


def campaign(rounds):
    rows, differ, runs = programs(), {}, 0
    for row in rows:
        plain = plain_of(row)
        for _ in range(rounds):
            shutil.rmtree("t.trace.d", ignore_errors=True)
            if os.path.exists("t.trace"):
                os.unlink("t.trace")
            got = run(row[1], row[2], [f"{BIN}/ms-record", "-q", "--follow=all", "-o", "t.trace", *row[3]])
            runs += 1
            text = judge(row, plain, got)
            if text:
                differ.setdefault(row[0], []).append(text)
    return len(rows), runs, differ


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    os.chmod(".", 0o777)
    count, runs, differ = campaign(rounds)
    if rounds > 1:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        more = campaign(rounds)
        for p in busy:
            p.kill()
            p.wait()
        runs += more[1]
        for name, texts in more[2].items():
            differ.setdefault(name, []).extend(texts)
    for name, texts in differ.items():
        print(f"hosts: {name}: {len(texts)} times: {texts[0]}", file=sys.stderr)
    print(f"hosts: {count} programs, runs {runs}, found {len(differ)}, left {len(differ)}")
    return len(differ) != 0


if __name__ == "__main__":
    sys.exit(main())
