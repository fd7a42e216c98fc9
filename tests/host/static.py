#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs without .eh_frame_hdr: their call stacks are those of the same program with it, dynamically linked."""
import collections
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import time

from checks import check, failures

BIN, SRC = os.environ["BIN"], os.environ["SRC"]
RECORD = f"{BIN}/ms-record"
ALL = bool(os.environ.get("MS_CHECK_ALL"))
FLAGS = ["-O2", "-g", "-w", "-D_GNU_SOURCE", "-fno-builtin", "-fno-allocation-dce", "-fno-optimize-sibling-calls", f"-I{SRC}"]
OWN = {"leaf", "recurse", "compare", "handle", "on_fiber", "one_round", "thread", "main"}
ROUNDS = 7


def build(out, *args, source=f"{SRC}/tests/host/static.c", cc="gcc"):
    sources = [source] + ([f"{SRC}/tests/targets/truth.c"] if "/targets/" in source else [])
    objects = []
    for s in sources:
        objects.append(os.path.basename(s) + ".o")
        compiler = "g++" if s.endswith(".cc") else cc
        if not os.path.exists(objects[-1]) or cc != "gcc":
            subprocess.run([compiler, *FLAGS, *(["-DNO_FIBER"] if cc != "gcc" else []), "-fPIE", "-c", "-o", objects[-1], s], check=True)
    linker = "g++" if source.endswith(".cc") else cc
    subprocess.run([linker, "-o", out, *args, *objects, "-lpthread"], check=True)
    return f"./{out}"


def headers(path):
    return subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)


def record(name, *args, env=None):
    """Records it. How many stacks end before their root; all are compared with walks that remember nothing."""
    r = run(RECORD, "--verify", "-v", "-o", "run.trace", "--", *args, env=env)
    alone = run(*args, env=env)
    check((r.returncode, r.stdout) == (alone.returncode, alone.stdout), f"{name}: {r} is not {alone}")
    return proved(name, r.stderr)


def proved(name, said):
    m = re.search(r"^  verify +([\d,]+) stacks compared, (\d+) differ$", said, re.M)
    check(m and m.group(1) != "0" and m.group(2) == "0", f"{name}: wrong stacks: {said}")
    m = re.search(r"^  stacks +0 cut by --depth, ([\d,]+) truncated \(callers not found\), 0 not taken$", said, re.M)
    return int(m.group(1).replace(",", "")) if m else 0


def stacks(own=None, source=None):
    """Allocations by call stack: the program's own functions, outermost first; what is not its own is left out."""
    subprocess.run([f"{BIN}/ms-snap", "-o", "run.db", "run.trace"], check=True)
    db = sqlite3.connect("run.db")
    frames = {i: (f.split("(")[0] if f else "?", file or "") for i, f, file in db.execute("SELECT id, function, file FROM frame")}
    nodes = {i: (p, f) for i, p, f in db.execute("SELECT id, parent, frame FROM stack")}
    found = collections.Counter()
    for at, n in db.execute("SELECT stack, allocations FROM site"):
        way, libgcc = [], False
        while at:
            at, frame = nodes[at]
            function, file = frames[frame]
            libgcc |= function == "_Unwind_Find_FDE"  # without a header it sorts all functions first
            if function in own if own else os.path.basename(file) == source:
                way.insert(0, function)
        if way and not libgcc and (not own or way[-1] == "leaf"):
            found[tuple(way)] += n
    db.close()
    return found


def expected(rounds):
    """What static.c says of itself."""
    e = collections.Counter()
    for i in range(40):
        e["main", "one_round", *["recurse"] * (i + 1), "leaf"] = rounds
        e["thread", *["recurse"] * (i + 1), "leaf"] = 1
    e["main", "one_round", "handle", "leaf"] = rounds
    e["on_fiber", "leaf"] = rounds
    return e


def same(name, program, comparisons):
    check(record(name, program, str(ROUNDS)) == 0, f"{name}: not every stack is whole")
    got = stacks(OWN)
    compared = got.pop(("main", "one_round", "compare", "leaf"), 0)
    check(compared == comparisons * ROUNDS, f"{name}: {compared} allocations below qsort, not {comparisons * ROUNDS}")
    check(got == expected(ROUNDS), f"{name}: {(got - expected(ROUNDS))} too many, {expected(ROUNDS) - got} too few")


def musl(name, program):
    """Its C library speaks of none of its own functions, so who called qsort and raise cannot be told."""
    record(name, program, str(ROUNDS))
    got, wanted = stacks(OWN), expected(ROUNDS)
    del wanted["on_fiber", "leaf"], wanted["main", "one_round", "handle", "leaf"]
    got = collections.Counter({k: n for k, n in got.items() if k[-2] not in ("compare", "handle")})
    check(got == wanted, f"{name}: {got - wanted} too many, {wanted - got} too few")


def no_sections(program, out):
    """Takes the section headers off."""
    shutil.copy(program, out)
    with open(out, "r+b") as f:
        f.seek(40)
        f.write(struct.pack("<Q", 0))
        f.seek(58)
        f.write(struct.pack("<HHH", 64, 0, 0))
    return f"./{out}"


def depths():
    """Lengths of the stacks of blocks of 100 bytes."""
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", "run.trace"], check=True)
    db = sqlite3.connect("run.db")
    nodes = dict(db.execute("SELECT id, parent FROM stack"))
    found = collections.Counter()
    for at, n in db.execute("SELECT stack, allocations FROM site WHERE max_size = 100"):
        depth = 0
        while at:
            at = nodes[at]
            depth += 1
        found[depth] += n
    db.close()
    return found


def nameless(name, program, like):
    """Of a stripped program only the depths can be told."""
    record(name, like, str(ROUNDS))
    wanted = depths()
    record(name, program, str(ROUNDS))
    check(depths() == wanted and sum(wanted.values()) == 40 * ROUNDS + 40, f"{name}: depths {depths()}, not {wanted}")


def target(name):
    """A test target, linked both ways: the same allocations from the same functions."""
    source = f"{SRC}/tests/targets/{name}"
    env = {**os.environ, "TRUTH_FILE": "/dev/null"}
    found = []
    for kind in ("-pie", "-static"):
        program = build(f"target{kind}", kind, source=source)
        check(record(f"{name} {kind}", program, env=env) == 0, f"{name} {kind}: not every stack is whole")
        found.append(stacks(source=name))
    check(found[0] == found[1] and found[0], f"{name}: static {found[1] - found[0]} too many, {found[0] - found[1]} too few")


def attached(name, program):
    """A process that runs already."""
    with subprocess.Popen([program, "1", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        check(p.stdout.readline() == "begun\n", f"{name}: it did not begin")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            r = run(RECORD, "--verify", "-v", "-d", "0.2", "-o", "run.trace", "-p", str(p.pid))
            check(r.returncode == 0, f"{name}: {r}")
            got = stacks(OWN)
            if got:
                break
        out, _ = p.communicate("x", timeout=600)
        check(out == "done\n" and p.returncode == 0, f"{name}: it ended with {p.returncode}, {out}")
    check(proved(name, r.stderr) == 0, f"{name}: not every stack is whole: {r.stderr}")
    known = set(expected(1)) | {("main", "one_round", "compare", "leaf")}
    # One call may be cut by the beginning.
    check(len(got) > 40 and set(got) <= known, f"{name}: strange stacks {set(got) - known}")


def sampled(name, program):
    r = run(RECORD, "--verify", "-v", "--sample", "200", "-o", "run.trace", "--", program, "200")
    check(r.returncode == 0, f"{name}: {r}")
    got = stacks(OWN)
    check(proved(name, r.stderr) == 0, f"{name}: not every stack is whole: {r.stderr}")
    known = set(expected(1)) | {("main", "one_round", "compare", "leaf")}
    check(len(got) > 30 and set(got) <= known, f"{name}: {len(got)} stacks, strange ones {set(got) - known}")


def main():
    usual = build("usual", "-pie")
    record("usual", usual, str(ROUNDS))
    comparisons, rest = divmod(stacks(OWN)["main", "one_round", "compare", "leaf"], ROUNDS)
    check(comparisons > 1 and rest == 0, f"qsort compares {comparisons} times")
    static = build("static", "-static")
    lacks = build("lacks", "-pie", "-Wl,--no-eh-frame-hdr")
    for program in (static, lacks):
        check("GNU_EH_FRAME" not in headers(program), f"{program} has a header: the test is void")
    same("usual", usual, comparisons)
    same("static", static, comparisons)
    same("static-pie", build("static_pie", "-static-pie"), comparisons)
    same("static-pie without a header", build("static_pie_lacks", "-static-pie", "-Wl,--no-eh-frame-hdr"), comparisons)
    same("without a header", lacks, comparisons)
    subprocess.run(["strip", "-g", "-o", "static_g", static], check=True)
    same("static, without -g", "./static_g", comparisons)
    subprocess.run(["strip", "-o", "lacks_s", lacks], check=True)
    nameless("stripped", "./lacks_s", usual)
    nameless("without section headers", no_sections("lacks_s", "lacks_n"), usual)
    attached("attached, static", static)
    attached("attached, without a header", lacks)
    sampled("sampled, static", static)
    sampled("sampled, without a header", lacks)
    target("throw.cc")
    target("vla.c")
    if ALL:
        musl("musl, static", build("musl", "-static", cc="musl-gcc"))
    print("ok" if not failures else f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
