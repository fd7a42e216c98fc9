#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records each leak program and compares the verdict of every block with the truth that its call stack tells."""
import re
import sqlite3
import subprocess
import sys

TRUTH = re.compile(r"^(?:\w.*::)?(direct|indirect|reachable)_")
WORD = {"direct": "unreachable", "indirect": "indirect", "reachable": "reachable"}

# Program, case, how it ends: how many blocks are direct, indirect, reachable; "all": as many as the C library makes there, and keeps.
CASES = """
leaks direct return 3 0 0
leaks direct exit 3 0 0
leaks direct _exit 3 0 0
leaks direct _Exit 3 0 0
leaks direct quick_exit 3 0 0
leaks list return 1 9 0
leaks list_kept return 0 0 10
leaks tree return 1 14 0
leaks cycle return 1 1 0
leaks ring return 1 6 0
leaks shared return 2 1 0
leaks global return 0 0 1
leaks inner_static return 0 0 1
leaks own_tls return 0 0 1
leaks key return 0 0 1
leaks interior return 0 0 2
leaks past_end return 0 0 1
leaks far_past_end return 1 0 0
leaks zero return 1 0 1
leaks moved return 1 1 0
leaks aligned return 1 0 1
leaks pointer_at_byte return 1 0 0
leaks freed_small return 1 0 0
leaks freed_large return 1 0 0
leaks freed_huge return 1 0 0
leaks beside_freed return 1 0 0
leaks beside_cached return 1 0 0
leaks big_dropped return 1 0 0
leaks big_kept return 0 0 2
leaks untouched return 0 0 1
leaks mapped return 0 0 2
leaks mapped_shared return 0 0 1
leaks unmapped return 1 0 0
leaks read_only return 0 0 1
leaks module_open return 0 0 1
leaks module_closed return 1 0 0
leaksthreads thread_stack return 0 0 1
leaksthreads thread_stack _exit 0 0 1
leaksthreads thread_tls return 0 0 1
leaksthreads thread_register return 0 0 1
leaksthreads thread_dead return 2 0 0
leaksthreads thread_detached return 2 0 0
leaksthreads thread_arena return 2 1 1
leaksthreads main_leaves return 1 0 1
leaksthreads raced return 1 0 1
leaksthreads raced _exit 1 0 1
leaksthreads two_exit return 1 0 1
leaksthreads fiber_stack return 0 0 1
leaksthreads signal_exit return 1 0 1
leaksthreads signal_in_malloc return 1 0 1
leaksthreads table_between return 0 0 11
leaksthreads guarded return 1 0 1
leaks freed_by_handlers return 0 0 0
leaks ends_quickly quick_exit 1 0 1
leaks direct_and_kept return 1 0 1
leaks deep_exit return 1 0 2
leaks filtered return 1 0 1
leaks filtered _exit 1 0 1
leaks vforked return 1 0 1
leaks pool return 1 2 3
leaks static_pool return 1 2 2
leaks nested_pools return 42 0 43
leaksmore doubly_linked return 1 4 0
leaksmore hash_dropped return 1 12 0
leaksmore hash_kept return 0 0 13
leaksmore rows return 1 9 1
leaksmore tagged_low return 0 0 1
leaksmore tagged_high return 1 0 0
leaksmore exclusive_or return 2 0 0
leaksmore copies return 2 0 0
leaksmore file_dropped return 0 0 1
leaksmore variable return 0 0 all
leaksmore static_arena return 0 0 1
leaksmore arena_dropped return 1 10 0
leaksmore obstack_kept return 0 0 3
leaksmore obstack_dropped return 1 0 0
leaksmore module_leaks return 2 0 0
leaksmore argument_dropped return 1 0 1
leaksmore threads_ended return 10 0 0
leaksmore own_brk return 1 0 10
leaksmore several return 7 13 1
leakscxx vector_dropped return 1 1 0
leakscxx map_dropped return 1 20 0
leakscxx map_kept return 0 0 21
leakscxx list_dropped return 1 5 0
leakscxx shared_cycle return 1 1 0
leakscxx shared_fine return 0 0 0
leakscxx second_base return 0 0 1
leakscxx arrays return 1 0 1
leakscxx freed_by_static return 0 0 0
leakscxx freed_by_thread_local return 0 0 0
leakscxx exception_dropped return 1 0 0
leakscxx function_static return 0 0 52
leakscxx deque_dropped return 1 2 0
leakscxx set_kept return 0 0 31
leakscxx nested_dropped return 1 15 0
leakscxx weak_left return 1 1 0
leakscxx released return 1 0 0
leakscxx function_dropped return 1 1 0
leakscxx virtual_base return 0 0 1
leakscxx polymorphic return 0 0 3
leakscxx several return 6 27 0
leakscxx strings _Exit 0 0 2
"""


def truths(db):
    """Of every site: what the innermost telling function on its stack says."""
    parent, function = {}, {}
    for row, up, name in db.execute("SELECT k.id, k.parent, f.function FROM stack k JOIN frame f ON f.id = k.frame"):
        parent[row], function[row] = up, name or ""
    told = {}
    for site, row in db.execute("SELECT id, stack FROM site"):
        while row:
            m = TRUTH.match(function[row])
            if m:
                told[site] = m.group(1)
                break
            row = parent[row]
    return told


def found(path):
    """Blocks by what they are said to be in truth and by verdict; the state of the scan at the end; blocks of these sites that were not freed."""
    db = sqlite3.connect(path)
    told, blocks = truths(db), {}
    for site, verdict, n in db.execute("SELECT v.site, v.verdict, v.blocks FROM site_verdict v JOIN site s ON s.id = v.site"
                                       " JOIN scan c ON c.process = s.process AND c.scan = v.scan WHERE c.label = 'end'"):
        # What the libraries allocate for themselves is not lost.
        if site in told or verdict in ("unreachable", "indirect"):
            key = (told.get(site, "library"), verdict)
            blocks[key] = blocks.get(key, 0) + n
    state = [r[0] for r in db.execute("SELECT state FROM scan WHERE label = 'end'")]
    made = db.execute("SELECT id, allocations - frees FROM site").fetchall()
    db.close()
    return blocks, state, sum(n for site, n in made if site in told)


def run(folder, program, case, how):
    record = subprocess.run(["ms-record", "-q", "--leak-check=auto:50s", "-o", "run.trace", f"{folder}/{program}", case] + ([how] if how != "return" else []),
                            timeout=60, capture_output=True)
    subprocess.run(["ms-snap", "-o", "run.db", "run.trace"], check=True, timeout=60)
    return record.returncode, *found("run.db")


def main():
    wrong, folder, only = 0, sys.argv[1], sys.argv[2:]
    for line in CASES.split("\n"):
        if not line or (only and line.split()[1] not in only):
            continue
        program, case, how, *counts = line.split()
        status, blocks, state, kept = run(folder, program, case, how)
        want = {(t, WORD[t]): kept if n == "all" else int(n) for t, n in zip(WORD, counts) if n != "0"}
        if status or state != ["done"] or blocks != want:
            wrong += 1
            print(f"{program} {case} {how}: status {status}, scan {state}, {blocks}, not {want}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
