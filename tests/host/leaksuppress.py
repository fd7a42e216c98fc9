#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a suppression hides: the same files given to LeakSanitizer or Valgrind and to ms-filter, on programs that leak in many ways.

  leaksuppress.py sanitizer|valgrind FOLDER OTHERS"""
import subprocess
import sys

import leakothers

SANITIZER = {
    "leaksmore": """
direct_small
direct_l*e
^direct_large$
direct_larg$
^irect_large
chains
hash_dropped
hash_dropped*
*_parent
leaks.h
^leaks.h
leaksmore.c$
leaksmore$
libc.so
strdup
getline
^main$
^several$
sever*l
nothing_of_that_name
d*_*l*
""",
    "leakscxx": """
direct_vector
space::box
space::box<long>::direct_make
^space::*make*
box<int>
std::map<int
_M_insert
std::vector*resize
indirect_insert(std::map
direct_cell()
weak_left
libstdc++
leakscxx.cc
""",
    "leaks": """
direct_block
indirect_block
subtree
^tree$
""",
}
# The frames of each suppression.
VALGRIND = {
    "leaksmore": """
fun:malloc
fun:direct_block
fun:direct_small

fun:direct_block
fun:direct_small

fun:malloc
fun:direct_small

...
fun:direct_small

fun:malloc
...
fun:direct_l*e
fun:several

fun:*alloc
fun:*_block
...
fun:hash_dropped

...
fun:hash_dropped
fun:main

fun:malloc
fun:direct_?????

fun:malloc
obj:*/leaksmore
obj:*/leaksmore
fun:several

fun:malloc
obj:*/libc*
...

fun:malloc
obj:*/libc.so*
fun:direct_copy

fun:malloc
...
obj:*/libc.so*
fun:direct_line

fun:malloc
fun:*
fun:*
fun:direct_line

match-leak-kinds: definite
fun:malloc
fun:direct_block
...
fun:several

match-leak-kinds: indirect
...
fun:several

match-leak-kinds: reachable,possible
...
fun:several

...
src:leaksmore.c
fun:nobody

...
fun:nobody
...

fun:calloc
...
fun:several
""",
    "leakscxx": """
fun:_Znwm
fun:_ZL13direct_vectorv

fun:_Znwm
fun:_ZL13direct_v*

fun:_Znwm
fun:_ZL13direct_vector?

fun:_Znwm
...
fun:_ZL12vector_droppedv

fun:_Znam
...

fun:_Znwm
...
fun:_ZL7severalv

fun:_Zna*
fun:_ZN5space3boxIlE11direct_makeEi

fun:_Znam
fun:_ZN5space*

fun:_Zn*
...
fun:_ZNSt*
...

fun:_Znwm
obj:*libstdc++*
...

fun:_Znwm
...
obj:*libstdc++*
...

fun:malloc
...

fun:*
fun:_ZL11direct_weakv

obj:*vgpreload*
fun:_ZL11direct_weakv

fun:_Znwm
fun:_ZL11direct_map*
""",
}
CASES = {"leaksmore": "several", "leakscxx": "several", "leaks": "tree"}
RETAINED = "what only the hidden blocks lead to is hidden by it too; ms-filter hides whole call stacks"
ALONE = "it judges each record by itself; ms-filter hides what is lost with the hidden blocks, too"
WHICH = "a recording does not say which function of the allocator was called"
OPERATOR = "operator new[] goes on to operator new without a frame"
MANGLED = "ms-filter has no mangled names; it says not applicable"
OTHERWISE = {
    ("leakscxx", "std::map<int"): RETAINED,
    ("leakscxx", "_M_insert"): RETAINED,
    ("leakscxx", "indirect_insert(std::map"): RETAINED,
    ("leaksmore", "fun:malloc\nfun:direct_?????"): ALONE,
    ("leaksmore", "fun:malloc\nobj:*/leaksmore\nobj:*/leaksmore\nfun:several"): ALONE,
    ("leaksmore", "match-leak-kinds: definite\nfun:malloc\nfun:direct_block\n...\nfun:several"): ALONE,
    ("leakscxx", "fun:_Znwm\nfun:_ZL13direct_vectorv"): ALONE,
    ("leakscxx", "fun:*\nfun:_ZL11direct_weakv"): ALONE,
    ("leakscxx", "obj:*vgpreload*\nfun:_ZL11direct_weakv"): ALONE,
    ("leaksmore", "fun:calloc\n...\nfun:several"): WHICH,
    ("leaksmore", "fun:direct_block\nfun:direct_small"): "its stacks begin with the allocation function; for ms-filter that line may be missing",
    ("leakscxx", "fun:_Znwm\n...\nfun:_ZL7severalv"): OPERATOR,
    ("leakscxx", "fun:_Znam\n..."): OPERATOR,
    ("leakscxx", "fun:_Znwm\nfun:_ZL13direct_v*"): MANGLED,
    ("leakscxx", "fun:_Znwm\nfun:_ZL13direct_vector?"): MANGLED,
    ("leakscxx", "fun:_Znam\nfun:_ZN5space*"): MANGLED,
    ("leakscxx", "fun:_Zn*\n...\nfun:_ZNSt*\n..."): MANGLED,
}


def hidden(before, after):
    """What is there before and not, or less, after, whatever kind of leak it is."""
    lost = {}
    for leaks, sign in ((before, 1), (after, -1)):
        for (_, stack), (blocks, size) in leaks.items():
            n = lost.setdefault(stack, [0, 0])
            n[0] += sign * blocks
            n[1] += sign * size
    return sorted(f"{stack} {blocks} {size}" for stack, (blocks, size) in lost.items() if blocks)


def ours(folder, program, before, rule):
    with open("rule", "w") as f:
        f.write(rule)
    p = subprocess.run(["ms-filter", "--suppress", "rule", "-o", "left.db", "run.db"], stderr=subprocess.PIPE, text=True, timeout=600)
    if p.returncode:
        return None, p.stderr
    return hidden(before, leakothers.of_snapshot("left.db")), p.stderr


def theirs(tool, others, program, before, rule):
    command = [f"{others}/{program}", CASES[program]]
    if tool == "sanitizer":
        after = leakothers.sanitizer(command, ":suppressions=rule")
    else:
        after = leakothers.valgrind(command, ["--suppressions=rule"])
    return hidden(before, after)


def main():
    tool, folder, others = sys.argv[1:]
    wrong = count = known = 0
    for program, rules in (SANITIZER if tool == "sanitizer" else VALGRIND).items():
        command = [f"{folder}/{program}", CASES[program]]
        before = leakothers.memscope(command)
        reference = getattr(leakothers, tool)([f"{others}/{program}", CASES[program]])
        if hidden(before, reference):
            wrong += 1
            print(f"{program}: {tool} finds {reference.lines()}, MemScope {before.lines()}")
        for rule in rules.strip().split("\n" if tool == "sanitizer" else "\n\n"):
            text = f"leak:{rule}\n" if tool == "sanitizer" else f"{{\nrule\nMemcheck:Leak\n{rule}\n}}\n"
            mine, said = ours(folder, program, before, text)
            other = theirs(tool, others, program, reference, text)
            count += 1
            same = mine is not None and mine == other
            known += not same and (program, rule) in OTHERWISE
            if same == ((program, rule) in OTHERWISE):
                wrong += 1
                print(f"{program}, {rule!r}: {tool} hides {other}, ms-filter {mine} {said}")
    print(f"{count} suppressions, {known} of them judged otherwise for the reasons given")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
