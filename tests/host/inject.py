#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records commands that count their own calls (tests/host/inject.c) and compares every figure."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from checks import check, failures

BIN, TB, SRC = os.environ["BIN"], os.environ["TB"], os.environ["SRC"]
RECORD = f"{BIN}/ms-record"
ALL = bool(os.environ.get("MS_CHECK_ALL"))
NAMES = ("allocations", "frees", "reallocations", "failed_allocations", "unfreed_bytes", "unfreed_blocks")


def run(*command, env=None):
    return subprocess.run(command, input=b"what is said to it\n", capture_output=True, timeout=600, check=False,
                          env={**os.environ, **(env or {})})


def recorded(name, program, threads, rounds, status=0, env=None, options=()):
    """What it printed, and the totals of its trace."""
    args = [program, str(threads), str(rounds), str(status)]
    r = run(RECORD, "--no-symbols", "-v", "-o", "run.trace", *options, "--", *args, env=env)
    said = r.stderr.decode()
    alone = run(*args, env=env)
    check(r.returncode == alone.returncode, f"{name}: status {r.returncode}, not {alone.returncode}: {said}")
    lines, expected = r.stdout.split(b"\n"), alone.stdout.split(b"\n")
    check([x for i, x in enumerate(lines) if i != 1] == [x for i, x in enumerate(expected) if i != 1],
          f"{name}: it printed {r.stdout}, not {alone.stdout}")
    report = subprocess.run([f"{BIN}/ms-report", "--json", "run.trace"], capture_output=True, check=False)
    if report.returncode:
        check(False, f"{name}: ms-report says {report.stderr}: {said}")
        return [[0] * 6, [0] * 6], {k: 0 for k in NAMES}, said
    report = json.loads(report.stdout)
    q = report["quality"]
    check(q["complete"] is True and not q["events_lost"], f"{name}: {q}")
    check(q["attached"] is False, f"{name}: the report says that it was attached")
    return [[int(x) for x in line.split()] for line in lines[:2]], report["totals"], said


def exact(name, program, allocator, threads=4, rounds=200, env=None, whole=False):
    """Two runs differ by what the program did; `whole`: one run is what its allocator counted."""
    _, none, said = recorded(name, program, threads, 0, env=env)
    (did, counted), some, _ = recorded(name, program, threads, rounds, env=env)
    got = [some[k] - none[k] for k in NAMES]
    check(got == did, f"{name}: recorded {got}, it did {did}")
    m = re.search(r"^  allocator +(.*)$", said, re.M)
    check(m and m.group(1) == allocator, f"{name}: the allocator is {m.group(1) if m else said}, not {allocator}")
    if whole:
        check([some[k] for k in NAMES] == counted, f"{name}: recorded {some}, its allocator was asked for {counted}")
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", "run.trace"], check=True)
    first = subprocess.run(["sqlite3", "run.db", "select sum(allocations) from site where max_size = 12345"],
                           capture_output=True, text=True, check=True).stdout.strip()
    check(first == "3", f"{name}: {first} of the 3 blocks from before main are there")


def ends(name, program):
    """However it ends, so does ms-record, and the trace has its end."""
    for status in (7, -signal.SIGKILL, -signal.SIGTERM):
        recorded(name, program, 2, 10, status)
    verified = recorded(name, program, 3, 100, options=("--verify",))[2]
    m = re.search(r"verify +([\d,]+) stacks compared, (\d+) differ", verified)
    check(m and m.group(2) == "0" and m.group(1) != "0", f"{name}: stacks differ: {verified}")


def below(kind, exact_counts):
    """A program with a malloc of its own below a shell: the library's constructor hooks it before main."""
    program = f"{TB}/host/inject_{kind}"
    totals = []
    for rounds in ("0", "200"):
        r = run(RECORD, "--no-symbols", "--follow=all", "-o", "run.trace", "--", "sh", "-c", '"$@"; exit $?', "sh", program, "4", rounds, "0")
        said = [[int(x) for x in line.split()] for line in r.stdout.split(b"\n")[:2]]
        check(r.returncode == 0, f"{kind} below a shell: status {r.returncode}: {r.stderr.decode()}")
        with open("run.trace.d/index", encoding="utf-8") as f:
            rows = [x.rstrip("\n").split("\t") for x in f]
        files = [x[9] for x in rows if x[10].endswith(f"/inject_{kind}")]
        check(len(files) == 1 and files[0] != "-", f"{kind} below a shell: {rows}")
        report = json.loads(run(f"{BIN}/ms-report", "--json", f"run.trace.d/{files[0]}").stdout or b"{}")
        check(report["quality"]["events_lost"] == 0, f"{kind} below a shell: {report['quality']}")
        totals.append([report["totals"][k] for k in NAMES])
    got = [b - a for a, b in zip(*totals)]
    check(got == said[0], f"{kind} below a shell: recorded {got}, it did {said[0]}")
    check(not exact_counts or totals[1] == said[1], f"{kind} below a shell: recorded {totals[1]}, its allocator was asked for {said[1]}")


def build(name, text, *more):
    with open(f"{name}.c", "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run(["gcc", "-O1", "-w", "-fno-builtin", "-o", name, f"{name}.c", *more, "-lpthread"], check=True)


def children():
    """Forked children with a malloc of their own wait for room, as others do: nothing is lost."""
    build("kids", """
        #include <pthread.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void *work(void *a) { for (int i = 0; i < 20000; i++) { char *volatile p = malloc(100); free(p); } return a; }
        int main(void)
        {
            for (int k = 0; k < 4; k++)
                if (!fork()) {
                    pthread_t t[4];
                    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
                    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
                    return 0;
                }
            while (wait(0) > 0) {}
            return 0;
        }""", f"{SRC}/tests/host/inject_own.c")
    for command in (["./kids"], ["sh", "-c", "./kids; exit $?"]):
        subprocess.run(["rm", "-rf", "run.trace.d"], check=True)
        r = run(RECORD, "--no-symbols", "-o", "run.trace", "--", *command)
        subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "run.db", "run.trace.d"], check=True)
        got = subprocess.run(["sqlite3", "run.db", "select p, (select sum(allocations) from site where process = p and max_size = 100), lost from "
                              "(select id p, events_lost lost from process where forked) order by 1"],
                             capture_output=True, text=True, check=True).stdout.split()
        got = [x.split("|")[1:] for x in got]
        check(r.returncode == 0 and got == [["80000", "0"]] * 4, f"{command}: children: {got}: {r.stderr.decode()}")


def beside():
    """The C library's malloc is called past the program's own, which calls it, too: each block is counted once."""
    build("beside", """
        #include <stdlib.h>
        void *__libc_malloc(size_t); void __libc_free(void *); void *__libc_calloc(size_t, size_t); void *__libc_realloc(void *, size_t);
        __attribute__((noinline)) void *malloc(size_t n) { return __libc_malloc(n); }
        __attribute__((noinline)) void free(void *p) { __libc_free(p); }
        void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
        void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
        int main(void)
        {
            for (int i = 0; i < 100; i++) { char *volatile p = malloc(77); if (i < 90) free(p); }
            for (int i = 0; i < 50; i++) { char *volatile p = __libc_malloc(88); if (i < 20) __libc_free(p); }
            for (int i = 0; i < 30; i++) { char *volatile p = realloc(malloc(55), 66); }
            return 0;
        }""")
    for command, trace in (["./beside"], "run.trace"), (["sh", "-c", "./beside; exit $?"], "run.trace.d"):
        subprocess.run(["rm", "-rf", "run.trace.d"], check=True)
        r = run(RECORD, "--no-symbols", "--follow=all", "-o", "run.trace", "--", *command)
        report = json.loads(run(f"{BIN}/ms-report", "--json", trace).stdout)
        got = [report["totals"][k] for k in NAMES]
        check(r.returncode == 0 and got == [210, 140, 30, 0, 770 + 30 * 88 + 30 * 66, 70], f"{command}: beside: {got}: {r.stderr.decode()}")


def resized():
    """The program's own malloc has no reallocarray: glibc's, and so ours, is the program's realloc."""
    build("resized", """
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static char heap[1 << 20]; static size_t used;
        void *malloc(size_t n) { size_t *p = (size_t *)(heap + used); used += (n + 31) & ~15ul; *p = n; return p + 2; }
        void free(void *p) { if (p) ((size_t *)p)[-1] = 1; }
        void *calloc(size_t n, size_t size) { return malloc(n * size); }
        void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, ((size_t *)p)[-2]); return q; }
        int main(void)
        {
            for (int i = 0; i < 40; i++) { char *volatile p = reallocarray(malloc(20), 3, 10); if (i < 15) free(p); }
            if (reallocarray(0, ~0ul / 2, 3)) return 1;
            return 0;
        }""")
    check(run("./resized", env={"LD_PRELOAD": f"{BIN}/libmemscope-preload.so"}).returncode == 0, "resized: harmed by the library alone")
    for command, trace in (["./resized"], "run.trace"), (["sh", "-c", "./resized; exit $?"], "run.trace.d"):
        subprocess.run(["rm", "-rf", "run.trace.d"], check=True)
        r = run(RECORD, "--no-symbols", "--follow=all", "-o", "run.trace", "--", *command)
        report = json.loads(run(f"{BIN}/ms-report", "--json", trace).stdout)
        got = [report["totals"][k] for k in NAMES]
        check(r.returncode == 0 and got == [80, 55, 40, 1, 25 * 30, 25], f"{command}: resized: {got}: {r.stderr.decode()}")


def created():
    """An operator new past the program's own malloc, whose blocks free takes."""
    build("created", """
        #include <string.h>
        static char heap[1 << 20]; static unsigned long used;
        static void *take(unsigned long n) { void *p = heap + used; used += (n + 15) & ~15ul; return p; }
        __attribute__((noipa)) void *malloc(unsigned long n) { return take(n); }
        __attribute__((noipa)) void free(void *p) { if (p) *(volatile char *)p = 1; }
        void *calloc(unsigned long n, unsigned long size) { return memset(malloc(n * size), 0, n * size); }
        __attribute__((noipa)) void *_Znwm(unsigned long n) { return take(n); }
        int main(void)
        {
            for (int i = 0; i < 10; i++) { void *volatile p = malloc(50); }
            for (int i = 0; i < 50; i++) { void *volatile p = _Znwm(40); if (i < 30) free(p); }
            return 0;
        }""")
    for command, trace in (["./created"], "run.trace"), (["sh", "-c", "./created; exit $?"], "run.trace.d"):
        subprocess.run(["rm", "-rf", "run.trace.d"], check=True)
        r = run(RECORD, "--no-symbols", "--follow=all", "-o", "run.trace", "--", *command)
        report = json.loads(run(f"{BIN}/ms-report", "--json", trace).stdout)
        got = [report["totals"][k] for k in NAMES]
        check(r.returncode == 0 and got == [60, 30, 0, 0, 20 * 40 + 500, 30], f"{command}: created: {got}: {r.stderr.decode()}")


def short():
    """A malloc that is too short for a jump: refused as a command, and below one the index says that it is not recorded."""
    build("short", """
        #include <stdio.h>
        #include <string.h>
        static char heap[1 << 20]; static size_t used;
        void *get(size_t n) { void *p = heap + used; used += (n + 15) & ~15ul; return p; }
        void drop(void *p) {}
        __asm__(".globl malloc\\n.type malloc,@function\\nmalloc: jmp 1f\\n.size malloc,2\\n"
                ".globl free\\n.type free,@function\\nfree: jmp 2f\\n.size free,2\\n1: jmp get\\n2: jmp drop\\n");
        void *malloc(size_t); void free(void *);
        void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
        void *realloc(void *p, size_t n) { return malloc(n); }
        int main(void) { for (int i = 0; i < 100; i++) free(malloc(100)); puts("done"); return 0; }""")
    refused("cannot record 'short': its malloc cannot be hooked (its code is too short for a jump)", "./short")
    r = run(RECORD, "--no-symbols", "-o", "run.trace", "--", "sh", "-c", "./short; exit $?")
    check(r.returncode == 0 and r.stdout == b"done\n", f"short: {r}")
    check(b"; every event of this program recorded\n" in r.stderr and b"1 further program was recorded in part or not at all" in r.stderr,
          f"short: {r.stderr.decode()}")
    with open("run.trace.d/index", encoding="utf-8") as f:
        notes = [x.rstrip("\n").split("\t")[11] for x in f if "/short\t" in x]
    check(notes == ["not recorded: malloc in short is not hooked"], f"short: {notes}")


def latency(pid):
    """Does it keep processors awake (20 s from now on, too)?"""
    folder = f"/proc/{pid}/fd"
    for _ in range(2000):
        if not any(os.path.realpath(f"{folder}/{fd}") == "/dev/cpu_dma_latency" for fd in os.listdir(folder)):
            return False
        time.sleep(0.1)
    return True


def stopped(name, program):
    """-d takes the hooks out again; the command goes on to its end. Processors may sleep meanwhile."""
    p = subprocess.Popen([RECORD, "-o", "stop.trace", "-d", "0.05", "--no-symbols", "--", program, "2", "300", "5"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    for _ in range(1000):
        status = subprocess.run([RECORD, "--tell", "stop.trace", "status"], capture_output=True, check=False)
        if status.returncode or b"stopped" in status.stdout:
            break
    check(not latency(p.pid), f"{name}: stopped, and it keeps processors awake")
    out, err = p.communicate(b"after\n", timeout=600)
    check(p.returncode == 5 and out.endswith(b"after\n"), f"{name}: stopped: {p.returncode} {out} {err}")


def refused(words, *command):
    r = run(RECORD, "-o", "no.trace", "--", *command)
    said = r.stderr.decode()
    check(r.returncode == 125 and words in said and said.count("\n") == 1, f"{command}: {r.returncode} {said}")
    check(not os.path.exists("no.trace"), f"{command}: a trace is left")


def refusals(program):
    subprocess.run(["strip", "-o", "stripped", program], check=True)
    refused("it is statically linked and stripped", "./stripped")
    with open("bare.c", "w", encoding="utf-8") as f:
        f.write('void _start(void) { __asm__ volatile("syscall" :: "a"(60), "D"(3)); }\n')
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", "bare", "bare.c"], check=True)
    refused("it is statically linked and has no malloc", "./bare")


def beginning():
    """A C library that is not known tells no end of its beginning: signals reach the command all the same."""
    with open("odd.c", "w", encoding="utf-8") as f:
        f.write("""char heap[16], *end = heap;
                   __attribute__((noinline)) void *malloc(unsigned long n) { return end += n; }
                   __attribute__((noinline)) void free(void *p) { end = p; }
                   void _start(void) {
                       free(malloc(1));
                       __asm__ volatile("syscall" :: "a"(1), "D"(1), "S"("on\\n"), "d"(3) : "rcx", "r11", "memory");
                       for (;;)
                           __asm__ volatile("syscall" :: "a"(34) : "rcx", "r11", "memory"); /* pause */
                   }""")
    subprocess.run(["gcc", "-O1", "-w", "-fno-builtin", "-nostdlib", "-static", "-o", "odd", "odd.c"], check=True)
    p = subprocess.Popen([RECORD, "-o", "no.trace", "--", "./odd"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         start_new_session=True)
    check(p.stdout.readline() == "on\n", "an unknown C library: it does not run")
    p.send_signal(signal.SIGTERM)
    try:
        out, err = p.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
    check((p.returncode, out) == (-signal.SIGTERM, "") and "nothing was recorded" in err, f"an unknown C library: {p.returncode} {out} {err}")


def others():
    """For musl, and with jemalloc linked in: check-all installs them (tests/deps)."""
    source, flags = f"{SRC}/tests/host/inject.c", ["-g", "-O2", "-w", "-fno-builtin"]
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.a"
    for name, allocator, command in (
            ("musl", "musl", ["musl-gcc", *flags, source]),
            ("musl, static", "musl (static)", ["musl-gcc", *flags, "-static", source]),
            ("jemalloc", "jemalloc (static), glibc", ["gcc", *flags, source, jemalloc, "-lpthread", "-lm", "-ldl", "-lstdc++"])):
        subprocess.run([*command, "-o", "other"], check=True)
        exact(name, "./other", allocator)
        recorded(name, "./other", 2, 10, -signal.SIGTERM)


def main():
    host = f"{TB}/host/inject_"
    exact("static", host + "static", "glibc (static)")
    exact("static-pie", host + "static_pie", "glibc (static)", threads=1)
    exact("own malloc", host + "own", "inject_own, glibc", whole=True)
    exact("hidden malloc", host + "hidden", "inject_hidden, glibc")
    below("own", True)
    below("hidden", False)
    children()
    beside()
    resized()
    created()
    short()
    for kind in ("static", "own"):
        ends(kind, host + kind)
        stopped(kind, host + kind)
    refusals(host + "static")
    beginning()
    if ALL:
        others()
    print("ok" if not failures else f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
