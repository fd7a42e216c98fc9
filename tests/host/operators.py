#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose operators new and delete are not those of the C++ library alone: the same output and status as without the recorder."""
import json
import os
import subprocess
import sys

BIN, TB = os.environ["BIN"], os.environ["TB"]
RECORD = f"{BIN}/ms-record"
failures = []


def check(good, text):
    if not good:
        print("FAILED:", text)
        failures.append(text)


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env={**os.environ, **env})


def record(*command, **env):
    """Recorded, compared with what it does alone; its totals, and what ms-record said."""
    r, alone = run(RECORD, "--no-symbols", "-o", "run.trace", "--", *command, **env), run(*command, **env)
    check((r.returncode, r.stdout) == (alone.returncode, alone.stdout), f"{command}: {r} is not {alone}")
    report = run(f"{BIN}/ms-report", "--json", "run.trace")
    check(not report.returncode, f"{command}: {report.stderr} {r.stderr}")
    check("every event recorded" in r.stderr, f"{command}: {r.stderr}")
    return json.loads(report.stdout)["totals"] if not report.returncode else {}, r.stderr


def scopes():
    """Modules of C++ that a program of C opens."""
    for case in ("constructor", "message", "local", "closed", "global", "threads", "jump"):
        record(f"{TB}/host/scopes", f"{TB}/host", case)


def main():
    scopes()
    print("ok" if not failures else f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
