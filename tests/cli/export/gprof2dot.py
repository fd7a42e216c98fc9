# SPDX-License-Identifier: MIT
"""gprof2dot.py PROGRAM FORMAT FILE...: the graphs that gprof2dot draws of our files: what it prints of each function is its share in --json.

FORMAT is json (of --gprof2dot) or callgrind. The program prints shares with two digits behind the point."""
import collections
import json
import re
import subprocess
import sys

import check
from check import expect, same

PLAIN = re.compile(r"[\w:~ (),*&]+")


def draw(program, form, path):
    """[(module, function, share with what it calls, share itself)] of the graph, which dot draws too."""
    r = subprocess.run((sys.executable, program, "-f", form, "--node-thres=0", "--edge-thres=0", path), capture_output=True, check=False)
    expect(f"{path}: gprof2dot", r.returncode == 0 and not r.stderr, r.stderr)
    svg = subprocess.run(("dot", "-Tsvg"), input=r.stdout, capture_output=True, check=False)
    expect(f"{path}: dot", svg.returncode == 0 and b"</svg>" in svg.stdout, svg.stderr)
    nodes = []
    for line in r.stdout.decode().split("\n"):
        label = re.search(r'label="((?:[^"\\]|\\.)*)"', line)
        parts = label[1].split("\\n") if label and not re.match(r'\t(?:"(?:[^"\\]|\\.)*"|\w+) -> ', line) else []
        at = next((i for i, p in enumerate(parts) if re.fullmatch(r"[0-9.]+%", p)), 0)
        if at > 1:
            nodes.append((parts[at - 2], parts[at - 1], float(parts[at][:-1]), float(parts[at + 1].strip("()%"))))
    return nodes


def round_trips(stacks):
    """Functions that come back to themselves: of these gprof2dot guesses shares."""
    calls = collections.defaultdict(set)
    for stack in stacks:
        for callee, caller in zip(stack, stack[1:]):
            calls[caller].add(callee)
    found = set()
    for start in list(calls):
        seen, todo = set(), [start]
        while todo:
            new = calls.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        if start in seen:
            found.add(start)
    return found


def compare(db, nodes, stacks, total, inclusive):
    """Every function with a plain name that stands for one: to the printed digits."""
    whole, own = collections.Counter(), collections.Counter()
    for stack, n in stacks.items():
        own[stack[0]] += n
        for name in set(stack):
            whole[name] += n
    odd = round_trips(stacks)
    by_name = collections.Counter(n[1] for n in nodes)
    compared = 0
    for _, name, share, itself in nodes:
        if by_name[name] != 1 or name not in whole or not PLAIN.fullmatch(name):
            continue
        compared += 1
        expect(f"{db}: {name} itself", abs(itself - own[name] * 100 / total) <= 0.00501, (itself, own[name] * 100 / total))
        if inclusive and name not in odd:
            expect(f"{db}: {name} and what it calls", abs(share - whole[name] * 100 / total) <= 0.00501, (share, whole[name] * 100 / total))
    expect(f"{db}: functions compared", compared >= 5, (compared, nodes))
    expect(f"{db}: all of it", abs(sum(n[3] for n in nodes) - 100) <= 0.00501 * len(nodes), nodes)


def main():
    program, form, *files = sys.argv[1:]
    for db in files:
        truth = check.Truth(db)
        if form == "json":
            check.run("--gprof2dot=x.json", db)
            with open("x.json", encoding="utf-8") as f:
                same(f"{db}: the total", sum(e["cost"][0] for e in json.load(f)["events"]), truth.totals["peak_bytes"])
            compare(db, draw(program, form, "x.json"), truth.stacks["peak_bytes"], truth.totals["peak_bytes"], True)
        else:
            # its first line came to the format after gprof2dot's of 2013; that took shares of callers for those of their calls
            text = check.run("--callgrind", db)
            with open("x.callgrind", "wb") as f:
                f.write(text.split(b"\n", 1)[1])
            compare(db, draw(program, form, "x.callgrind"), truth.stacks["live_bytes"], truth.totals["live_bytes"], False)
    print("\n".join(check.failures[:40]))
    print(f"{len(check.failures)} failures")
    return bool(check.failures)


sys.exit(main())
