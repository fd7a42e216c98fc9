# SPDX-License-Identifier: MIT
"""make.py DIR COMMITS TESTS: a dataset of COMMITS times TESTS runs, of real traces, with what the file planted says in it.

Each kind of run is recorded once, and appended under many keys. Commits are over 90 days; one of the file is a hundredth of them."""
import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST, DAYS = 1_790_000_000, 90
OTHERS = {"sqlite3": ["sqlite3", ":memory:", "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) "
                      "INSERT INTO t SELECT i, hex(i) FROM n; CREATE INDEX k ON t(b); SELECT count(*) FROM t GROUP BY a % 7;"],
          "perl": ["perl", "-e", "my %h; $h{$_ % 300} .= 'x' x $_ for 1..2000; print scalar(keys %h);"],
          "jq": ["jq", "-n", "[range(500)] | map({a: ., b: tostring}) | length"],
          "git": ["git", "--version"]}


def commit_name(i):
    """As git's short ones."""
    return hashlib.sha1(b"commit %d" % i).hexdigest()[:10]


def planted():
    """By test: kind, hundredth of the commits, function."""
    with open(os.path.join(HERE, "planted"), encoding="utf-8") as f:
        return {r[0]: (r[1], int(r[2]), r[3]) for r in (line.split() for line in f if line[0] != "#")}


def variant(test, at, commits, plants):
    """The arguments of the program of a test at a commit, and the steps that it is from the plant."""
    scale = str(int(test[1:]))
    kind, hundredth, function = plants.get(test, (None, 101, "-"))
    begin = hundredth * commits // 100
    if at < begin:
        return (scale, "0", "0", "0", "-")
    if kind == "peak":
        return (scale, str(512 << 10), "0", "0", function)
    if kind == "site":
        return (scale, "0", "0", "10000", function)
    return (scale, "0", str((16 << 10) * ((at - begin) * 100 // commits + 1)), "0", function)


class Traces:
    """Traces by what was run."""

    def __init__(self):
        self.paths = {}
        os.makedirs("traces", exist_ok=True)
        subprocess.run(["gcc", "-g", "-O1", "-o", "app", os.path.join(HERE, "app.c")], check=True)

    def of(self, command):
        """The path of one of that command."""
        if command not in self.paths:
            path = f"traces/{len(self.paths)}.trace"
            subprocess.run(["ms-record", "-q", "--leak-check=yes", "-o", path, "--", *command], check=True, stdout=subprocess.DEVNULL)
            self.paths[command] = path
        return self.paths[command]


def main():
    """Appends all runs, two at a time, in no order of time; prints how long one took."""
    folder, commits, tests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    traces, plants, jobs = Traces(), planted(), []
    names = list(OTHERS)[:tests // 5]
    names += [f"t{i:02}" for i in range(1, tests - len(names) + 1)]
    for at in range(commits):
        for test in names:
            command = tuple(OTHERS[test]) if test in OTHERS else ("./app",) + variant(test, at, commits, plants)
            jobs.append((test, at, traces.of(command)))
    seconds = []

    def append(job):
        test, at, trace = job
        start = time.monotonic()
        subprocess.run(["ms-snap", "--dataset", folder, "--key", f"commit={commit_name(at)}", "--key", f"test={test}", "--key", "branch=main",
                        "--key", f"time={FIRST + at * DAYS * 86400 // commits}", trace], check=True)
        seconds.append(time.monotonic() - start)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append, jobs))
    seconds.sort()
    print(f"{len(jobs)} runs of {len(traces.paths)} traces; one appended in {seconds[len(seconds) // 2] * 1000:.1f} ms, "
          f"99 of 100 in {seconds[len(seconds) * 99 // 100] * 1000:.1f} ms")


if __name__ == "__main__":
    main()
