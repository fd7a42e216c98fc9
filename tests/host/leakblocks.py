#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs each leak program under MemScope and under another tool, and compares what is lost, by allocating stack, in blocks and bytes.

  leakblocks.py valgrind|sanitizer FOLDER OTHERS [CASE...]     OTHERS: folder of the programs as built for the other tool

Where the two differ a table says what the other tool finds, and why."""
import os
import sys

import leakothers

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests/targets/leaks"))
import leaks  # noqa: E402

CYCLE = "of a cycle all blocks are indirect to it, since each is pointed to"
NO_ROOT = "memory that the program mapped is no root to it"
NO_MARK = "it does not know the blocks of ms_alloc"
UNKNOWN = "it finds no names in a module that is gone"
# Case: why, and all that the tool finds.
SANITIZER = {
    "cycle": (CYCLE, "indirect direct_block<cycle 1 48", "indirect indirect_block<cycle 1 48"),
    "doubly_linked": (CYCLE, "indirect direct_block<doubly_linked 1 48", "indirect indirect_block<doubly_linked 4 192"),
    "map_dropped": (CYCLE + ": nodes of a tree point to its head", "indirect direct_map<map_dropped 1 48", "indirect indirect_insert<map_dropped 20 1730"),
    "list_dropped": (CYCLE, "indirect direct_list<list_dropped 1 24", "indirect indirect_push<list_dropped 5 120"),
    "shared_cycle": (CYCLE, "indirect direct_cell<shared_cycle 1 72", "indirect indirect_cell<shared_cycle 1 72"),
    "nested_dropped": (CYCLE, "indirect direct_nested<nested_dropped 1 48", "indirect indirect_place<nested_dropped 5 320",
                       "indirect indirect_share<nested_dropped 10 520"),
    "leakscxx several": (CYCLE, "direct direct_vector<vector_dropped<several 1 24", "direct direct_weak<weak_left<several 1 16",
                         "direct space::box<long>::direct_make<several 2 240", "indirect direct_list<list_dropped<several 1 24",
                         "indirect direct_map<map_dropped<several 1 48", "indirect indirect_cell<weak_left<several 1 72",
                         "indirect indirect_fill<vector_dropped<several 1 400", "indirect indirect_insert<map_dropped<several 20 1730",
                         "indirect indirect_push<list_dropped<several 5 120"),
    "past_end": ("one past the end is no pointer to it", "direct reachable_block<past_end 1 48"),
    "zero": ("it gives a block of no bytes one", "direct direct_block<zero 1 1"),
    "mapped": (NO_ROOT, "direct reachable_block<mapped 2 200"),
    "mapped_shared": (NO_ROOT, "direct reachable_block<mapped_shared 1 100"),
    "read_only": (NO_ROOT, "direct reachable_block<read_only 1 100"),
    "signal_exit": (NO_ROOT + ", the signal stack neither; it sees the frames below the signal",
                    "direct direct_block<on_signal<signal_exit 1 100", "direct reachable_block<on_signal<signal_exit 1 100"),
    "module_closed": (UNKNOWN, "direct direct_block<module<module_closed 1 100"),
    "module_leaks": (UNKNOWN, "direct module_leaks 2 300"),
    "table_between": (NO_ROOT, "direct reachable_block<fill<table_between 10 1000"),
    "guarded": (NO_ROOT, "direct direct_block<guarded 1 100", "direct reachable_block<guarded 1 100"),
    "own_brk": (NO_ROOT, "direct direct_block<own_brk 1 200000", "direct reachable_block<own_brk 10 30000"),
    "pool": (NO_MARK,),
    "static_pool": (NO_MARK,),
    "nested_pools": (NO_MARK,),
}
MIDDLE = "a pointer into the middle makes it possibly lost only"
TABLE_OF_TLS = "pointers into a running thread's table of TLS lie behind its head: possibly lost; the C library's own"
VALGRIND = {
    "ring": ("it calls the first block of a cycle that it meets direct, even when another block points into the cycle",
             "direct direct_block<ring 1 48", "direct indirect_block<ring 1 48", "indirect indirect_block<ring 5 240"),
    "interior": (MIDDLE, "possible reachable_block<interior 2 501000"),
    "tagged_low": (MIDDLE, "possible reachable_block<tagged_low 1 100"),
    "past_end": ("one past the end is no pointer to it", "direct reachable_block<past_end 1 48"),
    "read_only": ("memory that cannot be written is not searched", "direct reachable_block<read_only 1 100"),
    "thread_stack": (TABLE_OF_TLS, "possible start<thread_stack 1 272"),
    "thread_tls": (TABLE_OF_TLS, "possible start<thread_tls 1 272"),
    "thread_register": (TABLE_OF_TLS, "possible start<thread_register 1 272"),
    "leaksthreads signal_exit": ("it sees the frames below the signal with some builds of the C library only, not with Debian's 2.36-9+deb12u14",
                                 "direct direct_block<on_signal 1 100"),
    "main_leaves": (TABLE_OF_TLS, "direct direct_block<last_thread 1 100", "possible main_leaves 1 272"),
    "table_between": (TABLE_OF_TLS, "possible table_between 1 272"),
    "pool": (NO_MARK,),
    "static_pool": (NO_MARK,),
    "nested_pools": (NO_MARK + "; " + MIDDLE, "possible nested_pools 1 4194304", "possible reachable_block<nested_pools 42 1260"),
}
# It does not look, or loses its own output, at such an end; it has not the memory, or runs one thread at a time.
APART = {"valgrind": {"raced", "two_exit", "signal_in_malloc", "filtered", "untouched", "mapped", "vforked"},
         "sanitizer": {"two_exit", "signal_in_malloc", "filtered"}}
TABLES = {"valgrind": VALGRIND, "sanitizer": SANITIZER}
SOMETIMES = {"leaksthreads signal_exit"}  # the same is right, too


def otherwise(tool, program, case):
    """Why, and what the other tool finds; (None,) = the same."""
    return TABLES[tool].get(f"{program} {case}", TABLES[tool].get(case, (None,)))


def compare(tool, folder, others, program, case):
    """What is wrong, in lines; None = the same."""
    ours = leakothers.memscope([f"{folder}/{program}", case])
    theirs = getattr(leakothers, tool)([f"{others}/{program}", case])
    why, *want = otherwise(tool, program, case)
    if ours is None:
        return "no verdict of ours"
    if (not why or f"{program} {case}" in SOMETIMES) and theirs.lines() == ours.lines():
        return None
    if why and theirs.lines() == sorted(want) and theirs.lines() != ours.lines():
        return None
    return f"{tool} says {theirs.lines()}, MemScope {ours.lines()}" + (f", the table {sorted(want)}" if why else "")


def main():
    tool, folder, others, *only = sys.argv[1:]
    wrong = same = known = 0
    for line in leaks.CASES.strip().split("\n"):
        program, case, how, *_ = line.split()
        if how != "return" or case in APART[tool] or (only and case not in only):
            continue
        text = compare(tool, folder, others, program, case)
        wrong += text is not None
        same += text is None and not otherwise(tool, program, case)[0]
        known += text is None and otherwise(tool, program, case)[0] is not None
        if text:
            print(f"{program} {case}: {text}")
    print(f"{same} programs the same, {known} otherwise for the reasons given")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
