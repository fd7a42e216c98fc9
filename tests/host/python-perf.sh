#!/bin/bash
# SPDX-License-Identifier: MIT
# python3.12 -X perf runs as without the recorder; its stacks lead through the trampolines that it makes, and these have the names of its functions.
set -u
if [ -z "${MS_CHECK_ALL-}" ] || ! python3.12 -c pass >/dev/null 2>&1; then
	echo 'only with make check-all, where there is python3.12'
	exit 77
fi
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >work.py <<'P'
import json
kept = []
def inner(n):
    return bytearray(n)
def middle(n):
    return inner(n)
def outer(i):
    block = middle(70001)
    if i % 2 == 0:
        kept.append(block)
for i in range(1000):
    outer(i)
    json.loads(json.dumps({"a": [i] * 50}))
print(len(kept))
P
python3.12 work.py >want
ms-record --verify --no-interpreter -o run.trace python3.12 -X perf work.py >have 2>said || die "$(cat said)"
cmp want have || die 'output'
grep -q ' stacks compared, 0 differ' said || die "$(cat said)"
ms-report --json run.trace >json
rm -f "/tmp/perf-$(jq '.processes[0].pid' json).map"
# trampolines that are new may not be known yet as code
jq -e '.quality.stacks_truncated * 20 < .totals.allocations and .quality.stacks_not_taken == 0' json >/dev/null || die "$(cat said)"
jq -r '.sites[] | select(.allocated_bytes == .allocations * 70002)
	| "\(.allocations) \(.stack | map(select((.file // "") | endswith("/work.py")) | .function) | join(" "))"' json |
	awk '{ n[$2 " " $3 " " $4 " " $5] += $1 } END { for (i in n) print n[i], i }' | sort -rn >names
read -r n called <names
if [ "$called" != 'inner middle outer <module>' ] || [ "$n" -lt 950 ]; then
	die "$(cat names)"
fi
