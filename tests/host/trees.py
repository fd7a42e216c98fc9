#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A recorded tree of processes against its own traces, one by one.

tree FILE: FILE.d holds the traces that its index says are kept, and each holds something; the snapshot of FILE and FILE.d has a row for each, with
the figures that the trace alone gives; the worst, the distribution and the peak of the sum of all are what the events of the single traces give,
here replayed from trace-dump's text.
forks FILE: what each forked process inherited is what its parent's trace holds after as many events as the child's trace says.
images FILE: name and number of the executables in FILE.d/index.
"""
import collections
import os
import sqlite3
import subprocess
import sys

BIN, TB = os.environ["BIN"], os.environ["TB"]
TICK_NS = 100000
Image = collections.namedtuple("Image", "image parent pid started_ns duration_ns end allocations allocated_bytes peak_bytes trace exe note")


def check(what, got, want):
    if got != want:
        sys.exit(f"{what} is {got}, not {want}")


def index(file):
    with open(file + ".d/index", encoding="utf8", errors="surrogateescape") as f:
        names, *lines = f.read().splitlines()
    check("the first line of the index", names[1:].split("\t"), list(Image._fields))
    return [Image(*line.split("\t")) for line in lines]


def snapshot(*args):
    db = f"tree.{os.getpid()}.db"
    subprocess.run([BIN + "/ms-snap", "-q", "--no-symbols", "-o", db, *args], check=True)
    rows = sqlite3.connect(db)
    rows.row_factory = sqlite3.Row
    os.unlink(db)
    return rows


def lines(trace):
    """Of the trace's text: the words of its info record, then those of each event."""
    dump = subprocess.Popen([TB + "/trace-dump", trace], stdout=subprocess.PIPE, text=True, errors="replace")
    for line in dump.stdout:
        words = line.split(" ")
        if len(words) > 6 and words[3] == "thread" and not words[0] or line.startswith("  1=") and info:
            yield words
        info = line.startswith("block") and " info (1) " in line
    assert dump.wait() == 0


def ticks(trace):
    """(tick, most, last) of the live bytes for each tick in which something happened, and the figures of the whole."""
    out, size = [], {}
    live = peak = allocations = allocated = 0
    for words in lines(trace):
        if words[3] != "thread":
            continue
        tick, kind = int(words[2]), words[5]
        if "frees" in words:
            live -= size.pop(int(words[words.index("frees") + 1][1:]))
        if kind in ("alloc", "realloc", "realloc-unknown"):
            n = int(words[words.index("size") + 1])
            size[int(words[6][1:])] = n
            live += n
            allocations += 1
            allocated += n
        peak = max(peak, live)
        if out and out[-1][0] == tick:
            out[-1][1:] = [max(out[-1][1], live), live]
        else:
            out.append([tick, max(live, out[-1][2] if out else 0), live])
    return out, (allocations, allocated, peak, live)


def sum_peak(processes):
    """Of [(offset, duration, ticks)]: the most at one moment, and what each held then."""
    steps = []
    for i, (offset, duration, of) in enumerate(processes):
        steps += [(offset + t * TICK_NS, i, most, last) for t, most, last in of]
        steps.append((offset + duration, i, 0, 0))
    held, total, best = [0] * len(processes), 0, (0, None)
    for _, i, most, last in sorted(steps, key=lambda s: s[0]):
        if total - held[i] + most > best[0]:
            best = (total - held[i] + most, held[:i] + [most] + held[i + 1 :])
        total += last - held[i]
        held[i] = last
    return best


def tree(file):
    images = index(file)
    kept = [i for i in images if i.trace != "-"]
    check("files of the folder", sorted(os.listdir(file + ".d")), sorted([i.trace for i in kept if i.image != "0"] + ["index"]))
    check("the first trace", [i.trace for i in images if i.image == "0"], ["../" + os.path.basename(file)])
    for i in kept:
        if i.image != "0":
            assert int(i.allocations) >= 100 and int(i.allocated_bytes) >= 65536, f"{i} is kept"
    db = snapshot(file, file + ".d")
    rows = {str(r["image"]): r for r in db.execute("SELECT * FROM process")}
    check("images of the snapshot", sorted(rows), sorted(i.image for i in kept))
    replayed, processes = {}, []
    for i in kept:
        r = rows[i.image]
        of, figures = ticks(os.path.join(file + ".d", i.trace))
        check(f"figures of {i.trace}", (r["allocations"], r["allocated_bytes"], r["peak_bytes"], r["unfreed_bytes"] + r["exec_bytes"]), figures)
        check(f"the index about {i.trace}", (int(i.allocations), int(i.allocated_bytes), int(i.peak_bytes)), figures[:3])
        check(f"the executable of {i.trace}", (r["exe"], r["pid"]), (i.exe, int(i.pid)))
        replayed[i.image] = figures
        processes.append((r["offset_ns"], r["duration_ns"], of))
    best, held = sum_peak(processes)
    meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
    check("the peak of the sum", meta["sum_peak_bytes"], best)
    check("what each held then", [rows[i.image]["at_sum_peak_bytes"] for i in kept], held)
    check("this is the largest of the timeline", db.execute("SELECT max(live_max) FROM sum_timeline").fetchone()[0], best)
    worst = max(kept, key=lambda i: replayed[i.image][2])
    first = db.execute("SELECT * FROM by_process").fetchone()
    check("the worst", (first["pid"], first["peak_bytes"]), (int(worst.pid), replayed[worst.image][2]))
    check_programs(db, kept, replayed)
    check_parents(rows, {i.image: i for i in images})
    return best


def check_programs(db, kept, replayed):
    programs = collections.defaultdict(list)
    for i in kept:
        programs[i.exe.rsplit("/", 1)[1]].append(replayed[i.image][2])
    seen = 0
    for r in db.execute("SELECT * FROM by_exe"):
        peaks = sorted(programs[r["exe"]])
        n = len(peaks)
        want = (n, peaks[0], peaks[(n + 1) // 2 - 1], peaks[-(-9 * n // 10) - 1], peaks[-1], sum(peaks))
        got = (r["processes"], r["min_peak"], r["median_peak"], r["p90_peak"], r["max_peak"], r["sum_of_peaks"])
        check(f"the distribution of {r['exe']}", got, want)
        seen += 1
    check("programs", seen, len(programs))


def check_parents(rows, images):
    by_id = {r["id"]: image for image, r in rows.items()}
    for image, r in rows.items():
        above = images[image].parent
        while above != "-" and above not in rows:
            above = images[above].parent
        check(f"the parent of image {image}", by_id.get(r["parent"], "-"), above)


def info(trace):
    """The fields of the info record that are numbers, by number."""
    fields = (w.split("=", 1) for w in next(lines(trace)) if "=" in w)
    return {int(k): int(v) for k, v in fields if k.isdigit() and v.strip().isdigit()}


def held_after(trace, marks):
    """{events: (blocks, bytes)} live after so many events of the trace."""
    size, found, n = {}, {}, 0
    for words in lines(trace):
        if words[3] != "thread":
            continue
        if n in marks:
            found[n] = (len(size), sum(size.values()))
        n += 1
        if "frees" in words:
            size.pop(int(words[words.index("frees") + 1][1:]))
        if words[5] in ("alloc", "realloc", "realloc-unknown"):
            size[int(words[6][1:])] = int(words[words.index("size") + 1])
    found[n] = (len(size), sum(size.values()))
    return found


FORKED, FORK_EVENT, FORK_NUMBER, INHERITED_BLOCKS, INHERITED_BYTES = 22, 23, 24, 25, 26


def forks(file):
    images = {i.image: i for i in index(file)}
    path = lambda i: os.path.join(file + ".d", i.trace)
    rows = {str(r["image"]): r for r in snapshot(file, file + ".d").execute("SELECT * FROM process")}
    children = collections.defaultdict(list)
    for i in images.values():
        fields = info(path(i)) if i.trace != "-" else {}
        if fields.get(FORKED):
            children[i.parent].append((i, fields))
    total = 0
    for parent, of in children.items():
        if images[parent].trace == "-":
            continue
        # A parent that inherited blocks itself hands these on too.
        own = rows[parent]["inherited_blocks"] or 0
        held = held_after(path(images[parent]), {f[FORK_EVENT] for _, f in of})
        for i, f in of:
            got = (f[INHERITED_BLOCKS], f[INHERITED_BYTES])
            if not own:
                check(f"what {i.trace} inherited", got, held[f[FORK_EVENT]])
                total += 1
            check(f"the snapshot about {i.trace}", (rows[i.image]["inherited_blocks"], rows[i.image]["inherited_bytes"]), got)
            assert got[0] > 0, f"{i.trace} inherited nothing"
    assert total, "no process was forked from one that is kept"
    return total


def main():
    what, file = sys.argv[1:3]
    if what == "tree":
        print(f"{len(index(file))} images, {tree(file)} bytes at once")
    elif what == "forks":
        print(f"{forks(file)} children inherited what their parents held")
    elif what == "images":
        for exe, n in sorted(collections.Counter(i.exe.rsplit("/", 1)[-1] for i in index(file)).items()):
            print(exe, n)


main()
