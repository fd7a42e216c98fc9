#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Follows commands that nothing can be preloaded into through what they become and start (tests/host/chain.c): exact figures of each."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

from checks import check, failures

BIN, TB, SRC = os.environ["BIN"], os.environ["TB"], os.environ["SRC"]
ALL = bool(os.environ.get("MS_CHECK_ALL"))
S, D, O = (f"./chain_{kind}" for kind in ("static", "dynamic", "own"))


def run(*command, env=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **(env or {})})


def record(*args, options=(), env=None):
    """What ms-record said of a chain that did what it does without."""
    shutil.rmtree("run.trace.d", ignore_errors=True)
    r = run(f"{BIN}/ms-record", "--no-symbols", "-v", *options, "-o", "run.trace", "--", *args, env=env)
    alone = run(*args, env=env)
    check((r.returncode, r.stdout) == (alone.returncode, alone.stdout), f"{args}: {r} is not {alone}")
    return r.stderr


def traces():
    """(program, parent's program, blocks of 1,000 bytes, lost ones, quality) of each, in the order in which they began."""
    files = ["run.trace"] + (["run.trace.d"] if os.path.isdir("run.trace.d") else [])
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", *files], check=True)
    db = sqlite3.connect("run.db")
    rows = list(db.execute("SELECT id, image, parent, exe, forked, complete, events_lost, unknown_frees, unreachable_blocks FROM process ORDER BY image"))
    exes = {r[0]: os.path.basename(r[3]) for r in rows}
    found = []
    for number, _, parent, exe, forked, complete, lost, unknown, leaks in rows:
        made, = db.execute("SELECT sum(allocations) FROM site WHERE process = ? AND max_size = 1000", (number,)).fetchone()
        found.append((os.path.basename(exe) + (" (forked)" if forked else ""), exes.get(parent), made, leaks))
        check(complete and not lost and not unknown, f"{exe}: complete {complete}, {lost} events lost, {unknown} unknown frees")
    db.close()
    return found


def chain(expected, *args, options=(), env=None):
    said = record(*args, options=options, env=env)
    got = traces()
    for i, (one, wanted_one) in enumerate(zip(got, expected)):
        # A number that looks like a pointer hides a block, two now and then: heaps of static programs lie at small addresses.
        if None not in (one[3], wanted_one[3]) and wanted_one[3] - 2 <= one[3] < wanted_one[3]:
            got[i] = (*one[:3], wanted_one[3])
    check(got == expected, f"{' '.join(args)} {options}: {got}, not {expected}: {said}")
    return said


def link(program, parent, blocks, execs=False):
    """Of one that becomes another program nobody knows what it lost."""
    return os.path.basename(program), parent and os.path.basename(parent), blocks, None if execs else blocks // 2


def plain():
    """All of a program's blocks that nothing points to are told, however it ends."""
    chain([link(S, None, 200)], S, "200")
    chain([link(O, None, 300)], O, "300")
    chain([("chain_static", None, 200, None)], S, "200", options=("--leak-check=no",))


def becomes():
    chain([link(S, None, 200, True), link(D, S, 300, True), link(S, D, 400)], S, "200", "exec", D, "300", "exec", S, "400")
    chain([link(S, None, 200, True), link(O, S, 300)], S, "200", "exec", O, "300")
    chain([link(O, None, 200, True), link(S, O, 300, True), link(O, S, 120)], O, "200", "exec", S, "300", "exec", O, "120")
    chain([link(S, None, 200)], S, "200", "exec", "./there_is_none")


def starts():
    for how in ("fork", "vfork", "spawn"):
        chain([link(S, None, 200), link(D, S, 300), link(S, D, 400), link(O, S, 120)],
              S, "200", how, D, "300", how, S, "400", how, O, "120")
    # Between fork and exec: half of the child's blocks, and what it has inherited, are there no more.
    got = record(S, "200", "child", D, "300")
    found = [row[:3] for row in traces()]
    check(found == [("chain_static", None, 200), ("chain_static (forked)", "chain_static", 200), ("chain_dynamic", "chain_static", 300)],
          f"a child: {found}: {got}")


def rows_of(*traces):
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", *traces], check=True)
    db = sqlite3.connect("run.db")
    db.row_factory = sqlite3.Row
    rows = [dict(r) for r in db.execute("SELECT * FROM process")]
    db.close()
    return rows


def forked():
    """Children that fork and do not exec: tests/host/forks.c, linked statically, says what each of its processes did."""
    subprocess.run(["gcc", "-g", "-O1", "-w", "-D_GNU_SOURCE", "-fno-builtin", "-static", "-o", "forks", f"{SRC}/tests/host/forks.c", "-lpthread"], check=True)
    fields = ("allocations", "allocated_bytes", "frees", "inherited_frees", "inherited_freed_bytes", "unfreed_blocks", "unfreed_bytes", "inherited_blocks")
    # What the C library and the compiler's allocate before main, and free at exit.
    run(f"{BIN}/ms-record", "-o", "run.trace", "--", f"{os.getcwd()}/forks", "quit", env={"FORKS_TRUTH": "truth"})
    held = rows_of("run.trace")[0]
    run(f"{BIN}/ms-record", "-o", "run.trace", "--", f"{os.getcwd()}/forks")
    own = rows_of("run.trace")[0]
    check(held["allocations"] == own["allocations"] < 10 and held["frees"] <= own["frees"] <= held["allocations"], f"forked: {held}, {own}")
    for _ in range(10):
        for left in ("truth", "run.trace.d"):
            shutil.rmtree(left) if os.path.isdir(left) else os.path.exists(left) and os.unlink(left)
        said = run(f"{BIN}/ms-record", "--no-symbols", "--follow=all", "--verify", "-o", "run.trace", "--", f"{os.getcwd()}/forks",
                   *"fork late handler grandchild twice exec none daemon".split(), env={"FORKS_TRUTH": "truth"}).stderr
        if " 1 forked child:" in said:  # that by a raw clone; on a busy machine others wait for their memory in vain, which is said
            break
    rows = {(r["pid"], bool(r["forked"])): r for r in rows_of("run.trace", "run.trace.d")}
    with open("truth", encoding="utf-8") as f:
        truth = [line.split() for line in f]
    for name, pid, _, *numbers in truth:
        process = name in ("main", "leaf")
        r = rows.get((int(pid), not process))
        if not r:
            check(name == "third", f"forked: {name} has no trace: {said}")  # by a raw clone
            continue
        want = dict(zip(fields, map(int, numbers)))
        for unit in ("bytes", "blocks"):  # what it held when it became another program was gone then
            r["unfreed_" + unit] += r["exec_" + unit]
        got = {k: r[k] for k in fields}
        if process:
            want = {k: want[k] + own[k] for k in fields if not k.startswith("inherited")}
        else:
            want["inherited_blocks"] += held["unfreed_blocks"]
        got = {k: got[k] for k in want}
        check(got == want and not r["unknown_frees"] and not r["events_lost"] and r["complete"], f"forked: {name}: {got}, not {want}: {dict(r)}")
    check(" 0 differ" in said, f"forked: {said}")


def wanted():
    chain([link(S, None, 200)], S, "200", "fork", D, "300", options=("--follow=none",))
    chain([link(S, None, 200)], S, "200", "fork", S, "300", options=("--follow=fork",))
    chain([link(S, None, 200), link(O, S, 120)], S, "200", "fork", D, "300", "exec", O, "120", options=("--follow=chain_own,x",))
    said = record(S, "200", "exec", "./stripped", "300")
    check("1 could not be recorded" in said, f"stripped: {said}")
    with open("run.trace.d/index", encoding="utf-8") as f:
        notes = f.read()
    check("\tnot recorded: it is statically linked and stripped" in notes, f"the index says {notes}")


def images():
    """A program that becomes itself with other amounts, and one behind a shell: each image for itself, the sum, and which image it is of."""
    for kept, names, args in (((200, 3000, 700), None, (D, "400", "exec", D, "6000", "exec", D, "1400")),
                              ((500,), ["sh", "chain_dynamic"], ("/bin/sh", "-c", f"exec {D} 1000"))):
        # chain keeps every second block and loses the others, freeing none: what it made is what it held.
        record(*args)
        report = json.loads(run(f"{BIN}/ms-report", "--json", "run.trace").stdout)
        totals, rows = report["totals"], report["processes"]
        made = [2000 * n for n in kept]
        own = rows[-len(made):]
        others = [r for r in rows if r not in own]
        check([r["became"] for r in rows] == [r["id"] for r in rows[1:]] + [None], f"images: {rows}")
        check([r["totals"]["peak_bytes"] for r in own] == made, f"peaks of {rows}")
        check([r["totals"]["unfreed_bytes"] for r in rows] == [0] * (len(rows) - 1) + made[-1:], f"unfreed of {rows}")
        check([r["totals"]["exec_bytes"] for r in own] == made[:-1] + [0], f"gone by exec of {rows}")
        gone = sum(made[:-1]) + sum(r["totals"]["peak_bytes"] and r["totals"]["exec_bytes"] for r in others)
        got = [totals[k] for k in ("peak_bytes", "peak_process", "unfreed_bytes", "unfreed_blocks", "unfreed_process", "exec_bytes", "unreachable_blocks")]
        most = made.index(max(made))
        check(got == [max(made), own[most]["id"], made[-1], 2 * kept[-1], rows[-1]["id"], gone, kept[-1]], f"totals {got} of {kept}")
        check(totals["peak_blocks"] == 2 * max(kept), f"blocks of the peak: {totals}")
        check(totals["allocations"] == totals["frees"] + totals["unfreed_blocks"] + totals["exec_blocks"], f"sum rule: {totals}")
        check(sum(s["live_bytes"] for s in report["sites"]) == totals["unfreed_bytes"], "sites at the end")
        check(names is None or [os.path.basename(r["exe"]) for r in rows] in (names, ["dash", names[1]]), f"names of {rows}")
        number = f"chain_dynamic, program {len(others) + most + 1} of {len(rows)} (exec)", f"chain_dynamic, program {len(rows)} of {len(rows)} (exec)"
        for options in ((), ("--md",), ("--html=-",)):
            text = run(f"{BIN}/ms-report", *options, "run.trace").stdout.replace("\\", "")
            check(all(n in text for n in number), f"{options}: {number} not in {text[:2000]}")
        table = run(f"{BIN}/ms-report", "--csv", "--summary", "run.trace").stdout
        check(f"unfreed,{made[-1]},bytes\n" in table and f"gone by exec,{gone},bytes\n" in table, table)
        by = run(f"{BIN}/ms-report", "--csv", "--by", "process", "run.trace").stdout.split("\n")
        column = by[0].split(",").index("exec_bytes")
        check(sum(int(line.split(",")[column]) for line in by[1:-1]) == gone, f"{by}")
        spans = run(f"{BIN}/ms-report", "--csv", "--timeline", "run.trace").stdout.split("\n")
        at = spans[0].split(",").index("live_max"), spans[0].split(",").index("live_bytes")
        values = [[int(line.split(",")[k] or 0) for k in at] for line in spans[1:-1]]
        check(max(v[0] for v in values) == max(made) and values[-1][1] == made[-1], f"the curve: {values}")
        held = run(f"{BIN}/ms-report", "--fail-on", f"unfreed_bytes > {made[-1]}", "--fail-on", f"exec_bytes > {gone}", "run.trace")
        broken = run(f"{BIN}/ms-report", "--fail-on", f"unfreed_bytes >= {made[-1]}", "run.trace")
        check((held.returncode, broken.returncode) == (0, 1), f"budgets: {held} {broken}")
        run(f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", "run.trace")
        db = sqlite3.connect("run.db")
        check(db.execute("SELECT sum(bytes) FROM leaks").fetchone() == (made[-1],), "view leaks")
        check(db.execute("SELECT sum(live_bytes) FROM snapshot WHERE label = 'exec'").fetchone() == (gone,), "moment exec")
        db.close()
        diff = run(f"{BIN}/ms-diff", "-o", "diff.db", "run.db", "run.db")
        db = sqlite3.connect("diff.db")
        found = dict(db.execute("SELECT figure, old FROM diff_total WHERE figure IN ('unfreed_bytes', 'live_bytes', 'exec_bytes')"))
        check(found == {"unfreed_bytes": made[-1], "live_bytes": made[-1], "exec_bytes": gone}, f"ms-diff: {found} {diff}")
        db.close()


def environment():
    """Programs see the environment that they were given, and our library where it was put into it."""
    for program, own in (("env_static", False), ("env_dynamic", True)):
        r = run(f"{BIN}/ms-record", "--no-symbols", "-q", "-o", "run.trace", "--", S, "200", "exec", f"./{program}",
                env={"LD_PRELOAD": "", "CHAIN": "x"})
        lines = r.stdout.split("\n")[1:]
        check(r.returncode == 0 and "CHAIN=x" in lines, f"{program}: {r}")
        put = [x for x in lines if x.startswith(("LD_PRELOAD=", "MEMSCOPE_SOCKET="))]
        check(len(put) == (2 if own else 1) and any("libmemscope" in x for x in put) == own, f"{program}: {put}")
    r = run(f"{BIN}/ms-record", "--no-symbols", "-q", "-o", "run.trace", "--", S, "200", "exec", D, "200", "exec", "./env_static")
    check(r.returncode == 0 and "libmemscope" not in r.stdout, f"behind a dynamic one: {r}")


def quality():
    report = json.loads(run(f"{BIN}/ms-report", "--json", "run.trace").stdout)
    check(report["quality"]["complete"] is True and report["quality"]["attached"] is False, f"{report['quality']}")


def others():
    flags = ["-g", "-O1", "-w", "-fno-builtin", f"{SRC}/tests/host/chain.c"]
    subprocess.run(["musl-gcc", *flags, "-o", "musl"], check=True)
    subprocess.run(["musl-gcc", *flags, "-static", "-o", "musl_static"], check=True)
    m, ms = "./musl", "./musl_static"
    chain([link(m, None, 200, True), link(D, m, 300, True), link(ms, D, 400), link(D, ms, 120)], m, "200", "exec", D, "300", "exec", ms, "400", "fork", D, "120")
    chain([link(ms, None, 200), link(m, ms, 300), link(O, m, 400)], ms, "200", "spawn", m, "300", "vfork", O, "400")


def main():
    for program in (S, D, O):
        shutil.copy(f"{TB}/host/{program[2:]}", program)
    subprocess.run(["strip", "-o", "stripped", S], check=True)
    with open("env.c", "w", encoding="utf-8") as f:
        f.write('#include <stdio.h>\n#include <stdlib.h>\nextern char **environ;\n'
                'int main(void) { for (char **e = environ; *e; e++) puts(*e); free(malloc(70000)); return 0; }\n')
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-static", "-o", "env_static", "env.c"], check=True)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", "env_dynamic", "env.c"], check=True)
    plain()
    quality()
    becomes()
    starts()
    forked()
    wanted()
    images()
    environment()
    if ALL:
        others()
    print("ok" if not failures else f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
