#!/bin/sh
# SPDX-License-Identifier: MIT
# The benchmark's arithmetic is right, it measures what it says, and a program that fails does not stop it. No times are asserted.
# What sh -c is given is meant for it.
# shellcheck disable=SC2016
set -eu
bench=$SRC/tests/bench
launch=$TB/bench/launch
status=0

/usr/bin/python3 -B "$SRC/tests/cli/bench.py"

# The launcher passes the status on and writes it last, with five figures before it.
"$launch" used sh -c 'exit 7' || status=$?
[ "$status" = 7 ]
grep -qE '^([0-9.]+ ){6}7$' used
status=0
"$launch" used sh -c 'kill -9 $$' || status=$?
[ "$status" = 137 ]
grep -q ' 137$' used
status=0
"$launch" used ./no-such-program 2>said || status=$?
[ "$status" = 127 ]
grep -q "cannot run './no-such-program'" said
# The child's CPU time is not the command's own; memory is that of the command, not of who started it.
"$launch" used sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' && read -r _ _ own total _ <used
[ "$own" != 0.000000000 ]
"$launch" outer "$launch" used sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' && read -r _ _ own total _ <outer
awk "BEGIN { exit !($own < $total / 2) }"

status=0
"$bench/run" no-such-section 2>said || status=$?
[ "$status" = 2 ]
grep -q "no section or program 'no-such-section'" said

[ "$MODE" = release ] || exit 0 # sanitizers must be loaded before anything that is preloaded
# A thousand leaves in two passes: so many sites with two allocations each, and 20 to 80 frames deep.
ms-record -q -o stacks.trace -- "$TB/bench/stacks" 1000 4000 >/dev/null
ms-report --json --layout=compact stacks.trace >stacks.json
jq -ce '.stacks as $s | def depth: . as $n | if $s[$n][0] == null then 1 else 1 + ($s[$n][0] | depth) end;
	[.sites[] | select(.allocations == 2) | .stack | depth] | [length, min >= 20, max <= 80]' stacks.json >found
[ "$(cat found)" = '[1000,true,true]' ]

mkdir -p out/bench
export BENCH_STORE="$PWD/store"
cp "$TB/bench/micro" out/bench/glibc-simple
cp "$TB/bench/micro" out/bench/cfrac # ends with 2: it does not know this argument
MIMALLOC_BENCH=$PWD "$bench/run" -n 1 mimalloc >table
grep -q '^glibc-simple  *[0-9]' table
grep -q glibc-simple store/mimalloc.json
grep -q 'cfrac: none FAILED' table
if grep '^cfrac' table || grep 'glibc-simple.*FAILED' table; then
	exit 1
fi
"$bench/run" -n 1 -s 0.01 churn >table
grep -qE '^6 added memory / .* (met|missed)$' table
if grep FAILED table; then
	exit 1
fi
