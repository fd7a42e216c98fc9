#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The small programs of leakends.c, .cc and .rs, compiled each by itself: what is lost of them is known, whatever the optimization.

  leakends.py              says what is wrong
  leakends.py valgrind     Valgrind says the same of them, too"""
import json
import os
import re
import shutil
import subprocess
import sys

SRC = os.environ["SRC"] + "/tests/host/leakends"
# Of each case: bytes and blocks that are lost. `yes`: only with --leak-check=yes is its end seen.
C = dict.fromkeys([*range(1, 9), *range(10, 22)], (100, 1))
CXX = dict.fromkeys(range(1, 10), (80, 2))
RUST = dict.fromkeys(range(1, 6), (100, 1))
YES = {"c 21", "cc 9"}


def compile_all(kind, case, optimize):
    out = f"{kind}.{case}{optimize}"
    if kind == "rs":
        command = ["rustc", "-Cdebuginfo=1", "-Copt-level=" + optimize[-1], "-o", out, SRC + ".rs"]
    else:
        command = [os.environ.get("CC", "gcc") if kind == "c" else os.environ.get("CXX", "g++"), "-g", "-w", optimize, "-fno-builtin-malloc",
                   f"-DCASE={case}", "-pthread", "-o", out, f"{SRC}.{kind}"]
    subprocess.run(command, check=True)
    return ["./" + out] + ([str(case)] if kind == "rs" else [])


def ours(command, wish):
    subprocess.run(["ms-record", "-q", f"--leak-check={wish}:50s", "-o", "run.trace"] + command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    said = subprocess.run(["ms-report", "--json", "run.trace"], stdout=subprocess.PIPE, check=True).stdout
    totals = json.loads(said)["totals"]
    return totals["unreachable_bytes"], totals["unreachable_blocks"]


def valgrind(command):
    said = subprocess.run(["valgrind", "--leak-check=full"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False).stderr
    found = re.findall(r"(?:definitely|indirectly) lost: ([\d,]+) bytes in ([\d,]+) blocks", said)
    return tuple(sum(int(f[i].replace(",", "")) for f in found) for i in (0, 1))


def main():
    wrong = 0
    kinds = [("c", C), ("cc", CXX)] + ([("rs", RUST)] if shutil.which("rustc") else [])
    for kind, cases in kinds:
        for case, lost in cases.items():
            for optimize in ("-O0", "-O2"):
                name = f"{kind} {case}"
                command = compile_all(kind, case, optimize)
                said = {} if name in YES else {"auto": ours(command, "auto")}
                if name in YES or optimize == "-O2":
                    said["yes"] = ours(command, "yes")
                if "valgrind" in sys.argv:
                    said["valgrind"] = valgrind(command)
                for who, what in said.items():
                    if what != lost:
                        wrong += 1
                        print(f"{name} {optimize} {who}: {what} lost, not {lost}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
