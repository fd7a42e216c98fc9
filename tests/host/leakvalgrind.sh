#!/bin/sh
# SPDX-License-Identifier: MIT
# Valgrind finds the same leaks in the small programs, but where this file says why not.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
python3 - "$SRC/tests/targets/leaks/leaks.py" "$TB/targets/leaks" <<'EOF'
import re
import subprocess
import sys

# What Valgrind says instead: definitely, indirectly, possibly lost blocks; and why.
OTHERWISE = {
    "ring": (2, 5, 0),  # it calls the first block of a cycle that it meets direct, even when another block points into the cycle
    "interior": (0, 0, 2),  # pointers into the middle are a class of their own
    "past_end": (1, 0, 0),  # one past the end is no pointer to it
    "read_only": (1, 0, 0),  # memory that cannot be written is not searched
    "main_leaves": (1, 0, 1),  # the last thread's vector of modules, which its control block points into
    "pool": (0, 0, 0),  # it does not know the blocks of ms_alloc
    "static_pool": (0, 0, 0),
}
# It runs one thread at a time and changes their timing, or lacks the memory.
APART = {"raced", "signal_in_malloc", "two_exit", "filtered", "thread_register", "thread_stack", "thread_tls", "untouched", "mapped", "vforked"}
wrong = 0
for line in re.search(r'CASES = """(.*?)"""', open(sys.argv[1]).read(), re.S).group(1).strip().split("\n"):
    program, case, how, direct, indirect, _ = line.split()
    if case in APART or how != "return":
        continue
    p = subprocess.run(["valgrind", "--leak-check=full", f"{sys.argv[2]}/{program}", case], capture_output=True, text=True, timeout=120)
    found = [re.search(k + r" lost: [\d,]+ bytes in ([\d,]+) blocks", p.stderr) for k in ("definitely", "indirectly", "possibly")]
    found = tuple(int(m.group(1).replace(",", "")) if m else 0 for m in found)
    if found != OTHERWISE.get(case, (int(direct), int(indirect), 0)):
        wrong += 1
        print(f"{program} {case}: Valgrind says {found}, truth is {direct} direct, {indirect} indirect")
sys.exit(wrong != 0)
EOF
