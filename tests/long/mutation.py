# SPDX-License-Identifier: MIT
"""Mutation: COUNT SEED. In a copy of the checkout one line is changed at a time, and the tests of the room that it is in should see it.

Not counted: what does not compile, and what compiles to the same code. A room's tests are the quick ones that know their numbers beforehand; one that
takes longer than LIMIT seconds with a mutant has seen it.
"""
import filecmp
import glob
import os
import random
import re
import shutil
import subprocess
import sys

SRC = os.environ["SRC"]
LIMIT = 60  # s a test
ROOMS = {  # sources, and tests in the order in which they are asked
    "format": (["format/*.c"], ["unit/format/*", "unit/trace/*", "unit/snapshot/build", "golden/*.sh", "host/keeplast.sh"]),
    "merge": (["ms-record/heap/merge.c", "ms-record/heap/live.c", "ms-record/heap/forks.c", "ms-record/heap/heaps.c", "ms-record/heap/sampled.c",
               "ms-record/heap/mapped.c"],
              ["unit/ms-record/merge*", "unit/ms-record/inherited_heap", "unit/ms-record/live", "unit/ms-record/checkpoint", "unit/ms-record/scan_stamp",
               "targets/calls.sh", "targets/threads.sh", "targets/process.sh", "targets/seam.sh", "targets/sampled.sh", "host/losses.sh", "host/trees.sh"]),
    "replay": (["libcommon/replay/*.c"], ["unit/replay/*", "unit/snapshot/*", "unit/trace/*", "targets/growth.sh", "targets/moments.sh", "targets/calls.sh", "host/keeplast.sh"]),
    "scan": (["ms-record/scan/*.c"], ["unit/ms-record/scan_*", "unit/ms-record/scanner", "unit/ms-record/resident*", "targets/leaks.sh", "targets/leaksroots.sh",
                                      "targets/resident.sh", "targets/residentlive.sh", "host/leaktrace.sh", "host/leakscan.sh"]),
}
CHANGES = [(re.compile(was), now) for was, now in (
    (r"(?<=[\w)\]] )<(?= )", "<="), (r"(?<=[\w)\]] )<=(?= )", "<"), (r"(?<=[\w)\]] )>(?= )", ">="), (r"(?<=[\w)\]] )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="), (r"(?<= )!=(?= )", "=="), (r"(?<= )&&(?= )", "||"), (r"(?<= )\|\|(?= )", "&&"),
    (r"(?<=[\w)\]] )\+(?= )", "-"), (r"(?<=[\w)\]] )-(?= )", "+"), (r"(?<= )\+=(?= )", "-="), (r"(?<= )-=(?= )", "+="), (r"(?<= )\*(?= )", "+"),
    (r"\+\+", "--"), (r"\breturn true\b", "return false"), (r"\breturn false\b", "return true"), (r"\breturn 0;", "return 1;"),
    (r"\bbreak;", ";"), (r"\bcontinue;", ";"), (r"(?<=[ (])if \((?=.*\)( \{)?$)", "if (!"), (r"(?<=[\s(=])(\d+)(?=u?[;),\s])", r"\1 + 1"),
    (r"(?<=[ (])!(?=\w)", ""), (r"^(\t+)[a-z]\w*(\(|->|\.|\[|\+\+| [-+|&]?= ).*;$", r"\1;"))]
# Where a change is none of the code's own, or says nothing.
LEFT = re.compile(r"^[\s\d,]*$|^\s*(\*|/\*|//|#|static |const |case |enum |struct |[A-Z_]+\()|_Static_assert|ms_err|ms_warn|ms_remark|^\w|^}|free\(|progress")
# Of two that are equal either one is the least, and the most.
EQUALS = re.compile(r"([\w.>\[\]-]+) [<>]=? ([\w.>\[\]-]+) \? (\1 : \2|\2 : \1)(?![\w.>\[(-])")


def same(line, text):
    return EQUALS.search(line) and EQUALS.sub("", line) == EQUALS.sub("", text)


def places(path):
    """(line number, the line, as it is changed) of every change that can be made there."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    comment = False
    for i, line in enumerate(lines):
        comment = comment or line.lstrip().startswith("/*")
        if not comment and line.startswith("\t") and not LEFT.search(line):
            for was, now in CHANGES:
                for m in was.finditer(line):
                    if line[:m.start()].count('"') % 2 == 0 and "/*" not in line[:m.start()]:
                        text = line[:m.start()] + m.expand(now) + line[m.end():]
                        if now == "if (!":
                            text = re.sub(r"if \(!(.*)\)( \{)?$", r"if (!(\1))\2", text)
                        if not same(line, text):
                            yield i, line, text
        comment = comment and "*/" not in line


def quiet(*command, limit=900):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return 1


class Room:
    def __init__(self, name):
        self.name, (sources, tests) = name, ROOMS[name]
        files = sorted(f for pattern in sources for f in glob.glob(pattern))
        self.places = [(f, *p) for f in files for p in places(f)]
        self.tests = []
        for pattern in tests:
            folder = "build/release/tests/" if pattern.startswith("unit") else "tests/"
            self.tests += [f for f in sorted(glob.glob(folder + pattern)) if os.access(f, os.X_OK) and not os.path.isdir(f) and "." not in os.path.basename(f).replace(".sh", "")]

    def survives(self):
        """Unit tests first: most mutants need nothing else, nor the programs that scripts run."""
        units = [t for t in self.tests if t.startswith("build/")]
        scripts = [t for t in self.tests if t not in units]
        if any(quiet("make", t) or quiet("tests/run", t) for t in units):  # each is linked when it is asked
            return False
        return quiet("make", "-j2", "all", "test-programs") == 0 and not any(quiet("tests/run", t) for t in scripts)


def mutant(room, path, number, line, text):
    """None = it does not compile, or is the same; else whether the tests let it pass."""
    compiled = "build/release/" + path[:-1] + "o"
    shutil.copy(path, "kept.c")
    shutil.copy(compiled, "kept.o")
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    lines[number] = text
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    try:
        if quiet("make", compiled) or filecmp.cmp(compiled, "kept.o", shallow=False):
            return None
        return room.survives()
    finally:
        shutil.copy("kept.c", path)
        shutil.copy("kept.o", compiled)  # the next one in this file is compared with it


def main():
    count, chance = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    subprocess.run(["git", "clone", "-q", SRC, "copy"], check=True)
    os.chdir("copy")
    os.environ["MS_TEST_TIMEOUT"], os.environ["MODE"] = str(LIMIT), "release"
    os.environ.pop("BIN"), os.environ.pop("TB")
    if quiet("make", "-j2", "all", "test-programs", limit=3000):
        sys.exit("mutation: the tree as it is cannot be built")
    rooms = [Room(name) for name in ROOMS]
    for room in rooms:
        if not room.survives():
            sys.exit("mutation: the tests of room %s fail without a mutant" % room.name)
    runs = survived = 0
    while runs < count:
        room = rooms[runs % len(rooms)]
        path, number, line, text = chance.choice(room.places)
        passed = mutant(room, path, number, line, text)
        if passed is None:
            continue
        runs += 1
        survived += passed
        if passed:
            print("%s:%d: survived:\n-%s\n+%s" % (path, number + 1, line, text), file=sys.stderr, flush=True)
    print("mutation: runs %d, found %d, left %d" % (runs, survived, survived))
    sys.exit(survived * 20 > runs)


main()
