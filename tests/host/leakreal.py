#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under MemScope and under Valgrind: what is lost for sure, direct and indirect together, is the same to the byte.

Valgrind is told not to free the C library's own memory before it looks (--run-libc-freeres=no). As it usually does so, more is lost to it:
what only such memory pointed to. `gcc --version` is the example: it puts strings that lie in two chunks of an obstack into its environment
(putenv), and setenv's array of it is freed; with the array in place these chunks are possibly lost, since it points into their middle."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8", PYTHONMALLOC="malloc", PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", PERL_HASH_SEED="0")
SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, hex(x * 7919) from c;
create index i on t(b); select count(*), max(b) from t where b like '%A%';
"""
PERL = 'my (%h, @a); $h{$_ % 7} .= "$_," for 1 .. 2000; my $x = {}; $x->{self} = [$x]; print length(join "", values %h)'
PYTHON = "import json; print(len(json.dumps([{str(i): i} for i in range(500)])))"
# Ten blocks of the C library that Python has forgotten.
DROPPED = "import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p\nfor i in range(10): c.malloc(1000 + i)"
PROGRAMS = {
    "gcc": (["gcc", "--version"], ""),
    "perl": (["perl", "-e", PERL], ""),
    "sqlite3": (["sqlite3", ":memory:"], SQL),
    "jq": (["jq", "-c", ".a[2].b, (.c | length), ([range(100)] | add)"], '{"a": [1, 2, {"b": "x"}], "c": "text"}'),
    "git": (["git", "--no-pager", "log", "-3", "--format=%h"], ""),
    "tar": (["tar", "cf", "/dev/null", "/usr/share/doc/bash"], ""),
    "python3": (["/usr/bin/python3", "-S", "-c", PYTHON], ""),
    "python3 with ctypes": (["/usr/bin/python3", "-S", "-c", DROPPED], ""),
    "redis-server": (["redis-server", "--save", "", "--port", "0", "--unixsocket", "socket"], ""),
}
KNOWN = {"python3 with ctypes": (10045, 10)}  # and of the others it is not


def ask_redis():
    def say(*words):
        return subprocess.run(["redis-cli", "-s", "socket", *words], capture_output=True).stdout.strip()
    for _ in range(6000):
        if say("ping") == b"PONG":
            break
        time.sleep(0.1)
    for i in range(20):
        say("set", f"key{i}", "v" * i)
    say("shutdown", "nosave")


def run(name, before):
    """Runs it behind the words of a tool; what it says on standard error."""
    command, text = PROGRAMS[name]
    with open("input", "w") as f:
        f.write(text)
    with open("input") as source, open("error.txt", "w+") as error:
        p = subprocess.Popen(before + command, env=ENVIRONMENT, stdin=source, stdout=subprocess.DEVNULL, stderr=error)
        if name == "redis-server":
            ask_redis()
        p.wait(timeout=600)
        error.seek(0)
        return error.read()


def ours(name):
    """Bytes and blocks that are unreachable. None = it was not scanned."""
    run(name, ["ms-record", "-q", "--leak-check=yes", "-o", "run.trace"])
    subprocess.run(["ms-snap", "--no-symbols", "-o", "run.db", "run.trace"], check=True, timeout=600)
    db = sqlite3.connect("run.db")
    row = db.execute("SELECT unreachable_bytes, unreachable_blocks FROM scan WHERE label = 'end' AND state = 'done' AND NOT wide").fetchone()
    db.close()
    return row


def valgrind(name, *options):
    """Bytes and blocks that are definitely and indirectly lost, and possibly lost ones."""
    text = run(name, ["valgrind", "--leak-check=full", *options])
    if "no leaks are possible" in text:
        return (0, 0), (0, 0)
    lost = {k: tuple(int(n.replace(",", "")) for n in re.search(k + r" lost: ([\d,]+) bytes in ([\d,]+) blocks", text).groups())
            for k in ("definitely", "indirectly", "possibly")}
    return tuple(a + b for a, b in zip(lost["definitely"], lost["indirectly"])), lost["possibly"]


def main():
    wrong = 0
    for name in PROGRAMS:
        if not shutil.which(PROGRAMS[name][0][0]):
            print(f"{name} is not installed")
            return 1
        mine = ours(name)
        theirs, possibly = valgrind(name, "--run-libc-freeres=no")
        if mine and mine < theirs:  # a number may be an address by chance, where addresses differ in each run
            print(f"{name}: {mine} bytes and blocks, once more")
            mine = ours(name)
        good = mine == theirs == KNOWN.get(name, theirs)
        print(f"{name}: {mine} bytes and blocks; Valgrind {theirs}" + ("" if good else ": WRONG"))
        wrong += not good
        if name == "gcc":
            freed, _ = valgrind(name)
            if tuple(a - b for a, b in zip(freed, theirs)) != possibly:
                print(f"gcc, after the C library's memory was freed: {freed}, of which {possibly} were possibly lost before")
                wrong += 1
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
