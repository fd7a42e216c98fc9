# SPDX-License-Identifier: MIT
"""Our own tools with too little: every allocation fails in turn, and the disk is full from every write on.

Each time the tool does all of its work, or says in one line what is wrong, with status 2 (ms-record: 125, or the program's), and leaves no
half file. failing.py AMOUNT: runs of a command and kind at most, spread over its calls; 0: all of them.
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

BIN, TB = os.environ["BIN"], os.environ["TB"]
FILE = "out"
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(int c, char **v)
{
	void *kept[10];
	for (int i = 0; i < c * 200; i++) {
		free(malloc(i + 1));
		kept[i % 10] = malloc(100);
	}
	puts("done");
	return kept[0] && v ? 3 : 0;
}
"""
COMMANDS = [
    ["ms-snap", "-q", "-o", FILE, "a.trace"], ["ms-report", "a.trace"], ["ms-report", "a.db"], ["ms-report", f"--html={FILE}", "a.db"],
    ["ms-report", f"--json={FILE}", "a.trace"], ["ms-filter", "-o", FILE, "a.db"], ["ms-filter", "--trace-out", FILE, "--to", "peak", "a.trace"],
    ["ms-diff", "-o", FILE, "a.db", "b.db"], ["ms-top", "--json", "-n", "1", "a.trace"], ["ms-record", "-o", FILE, "./small"],
    ["ms-record", "--max-size", "1M", "--keep=live", "-o", FILE, "./small"]]


class Run:
    """One run of a command with the call number `at` failing."""

    def __init__(self, command, call, at, to_file=False):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            for name in ("a.trace", "b.trace", "a.db", "b.db", "small"):
                os.link(name, f"{folder}/{name}")
            env = dict(os.environ, LD_PRELOAD="../failing.so", FAILING_PROGRAM=command[0], FAILING_CALL=call, FAILING_AT=str(at),
                       FAILING_COUNT=os.path.abspath(f"{folder}/count"))
            with open(f"{folder}/stdout", "wb+") as out:
                try:
                    r = subprocess.run([f"{BIN}/{command[0]}", *command[1:]], env=env, cwd=folder, stdout=out if to_file else subprocess.PIPE,
                                       stderr=subprocess.PIPE, timeout=60, check=False)
                    self.status, self.said, self.out = r.returncode, r.stderr.decode(), r.stdout
                except subprocess.TimeoutExpired:
                    self.status, self.said, self.out = "hangs", "", b""
            self.out = re.sub(rb'"time_ns":\d+', b'"time_ns":0', self.out or b"")
            self.file = None
            if os.path.exists(f"{folder}/{FILE}"):
                with open(f"{folder}/{FILE}", "rb") as f:
                    self.file = f.read()
                if command[0] == "ms-record":
                    self.read = subprocess.run([f"{BIN}/ms-report", f"{folder}/{FILE}"], capture_output=True, check=False).returncode
            self.left = sorted(set(os.listdir(folder)) - {"a.trace", "b.trace", "a.db", "b.db", "small", "count", "stdout", FILE})
            self.count = 0
            if os.path.exists(f"{folder}/count"):
                with open(f"{folder}/count", encoding="ascii") as f:
                    self.count = int(f.read())


def wrong(command, run, plain):
    """What is wrong, or None."""
    record = command[0] == "ms-record"
    lines = run.said.count("\n")
    if isinstance(run.status, str) or run.status < 0 or run.status > 128:
        return f"status {run.status}"
    if run.left:
        return f"left {run.left}"
    if record and run.status == plain.status:
        if run.out != plain.out:
            return f"the program printed {run.out}"
        if run.file is None:
            return None if run.said.count(command[0] + ": ") == 1 else "no trace, and nothing said"
        return None if run.read == 0 or "trouble" in run.said else f"the trace cannot be read, ms-report gives {run.read}"
    if run.status == plain.status:
        # A trace may be compressed less.
        same = run.out == plain.out and (run.file == plain.file or "--trace-out" in command and run.file is not None)
        return None if same or run.said else "another output, and nothing said"
    if run.status != (125 if record else 2):
        return f"status {run.status}"
    if lines != 1 or not run.said.startswith(command[0] + ": "):
        return f"{lines} lines"
    if run.file is not None and not record:
        return f"a half file of {len(run.file)} bytes"
    return None


def campaign(amount):
    runs, found = 0, {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in COMMANDS:
            for call in ("malloc", "write"):
                plain = Run(command, call, 0)
                if call == "malloc" and not plain.count:
                    found[f"{' '.join(command)}: no call was counted: {plain.said.strip()[:300]}"] = [0]
                step = max(1, plain.count // amount) if amount else 1
                numbers = [n for n in range(1, plain.count + 1, step)]
                if step > 1:
                    numbers = [n + random.randrange(step) for n in numbers]
                for n, run in zip(numbers, pool.map(lambda n: Run(command, call, n), numbers)):
                    runs += 1
                    text = wrong(command, run, plain)
                    if text:
                        key = f"{' '.join(command)}: {call}: {text}: {run.said.strip()[:300]}"
                        found.setdefault(re.sub(r"\d{4,}", "N", key), []).append(n)
    for text, numbers in found.items():
        print(f"failing: {text} (calls {numbers[:8]}, {len(numbers)} in all)", file=sys.stderr)
    return runs, len(found)


def main():
    amount = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    random.seed()
    with open("small.c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", "small", "small.c"], check=True)
    os.symlink(f"{TB}/long/failing.so", "failing.so")  # LD_PRELOAD ends a name at a space
    for name, more in (("a", []), ("b", ["x"])):
        subprocess.run([f"{BIN}/ms-record", "-q", "-o", f"{name}.trace", "./small", *more], stdout=subprocess.DEVNULL, check=False)
        subprocess.run([f"{BIN}/ms-snap", "-q", "-o", f"{name}.db", f"{name}.trace"], check=True)
    runs, found = campaign(amount)
    print(f"failing: runs {runs}, found {found}, left {found}")
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
