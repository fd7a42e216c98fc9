#!/bin/bash
# SPDX-License-Identifier: MIT
# Every target of tests/fuzz under libFuzzer and the address and undefined-behaviour sanitizers, one after the other. AMOUNT: seconds for each;
# without, 1800 for those that read the largest inputs of others, 300 for the rest. FUZZ_NAMES: these alone. The corpus stays in build/fuzz/corpus, so
# that the next campaign goes on from there; runs are inputs that were executed. Then hostile files, to every tool that reads them.
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$SRC" || exit 2
F=build/fuzz runs=0 found=0
command -v clang >/dev/null || {
	echo 'fuzz: no clang'
	exit 77
}
make -j2 fuzz-programs >/dev/null || exit 2
names=${FUZZ_NAMES:-$(basename -as .c tests/fuzz/fuzz_*.c | sed s/fuzz_//)}
for n in $names; do
	case $n in
	trace | events | records | snap | elf | eh_frame) seconds=${1:-1800} ;;
	*) seconds=${1:-300} ;;
	esac
	mkdir -p $F/corpus/"$n"
	rm -f $F/"$n"-{crash,leak,oom,timeout}-*
	"$F/fuzz_$n" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$F/$n-" \
		"$F/corpus/$n" "tests/fuzz/corpus/$n" >"$F/$n.log" 2>&1 || {
		found=$((found + 1))
		tail -n 40 "$F/$n.log" >&2
		echo "$n: the input is $(echo "$F/$n"-*-*)" >&2
	}
	units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$F/$n.log")
	echo "$n: ${units:-no} runs in $seconds s, $(grep -o 'cov: [0-9]* ft: [0-9]*' "$F/$n.log" | tail -n 1)" >&2
	runs=$((runs + ${units:-0}))
done
# Hostile files, made by a script, each to every tool.
work=$(mktemp -d)
export SRC BIN=${BIN:-$SRC/build/release/bin}
if (cd "$work" && MS_CHECK_ALL=1 python3 "$SRC/tests/cli/hostile_files.py") >"$F/files.log" 2>&1; then
	rm -rf "$work"
else
	found=$((found + 1))
	tail -n 40 "$F/files.log" >&2
	echo "hostile files: in $work" >&2
fi
runs=$((runs + $(sed -n 's/.* files, \([0-9]*\) runs.*/\1/p' "$F/files.log")))
echo "fuzz: runs $runs, found $found, left $found"
[ $found = 0 ]
