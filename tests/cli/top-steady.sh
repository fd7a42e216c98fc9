#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top takes no memory once it runs: recorded by ms-record, 130 frames make as many allocations as 10 do, over figures that change,
# in a terminal and as text. More than 10 s, so that trends are computed.
set -u
[ "$MODE" = release ] || exit 0 # sanitizers must be loaded before anything that is preloaded
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 200 redis 524288 1 60
process 201 worker 131072 200 70
sleep 1000 &
target=$!
(while sleep 0.25; do
	process 100 orderd $((RANDOM * 64)) 1 50
	process 200 redis $((RANDOM * 64)) 1 60
done) &
changer=$!
trap 'kill $target $changer 2>/dev/null' EXIT

run() { # NAME FRAMES COMMAND..
	local name=$1 frames=$2
	shift 2
	timeout -k 5 200 "$@" -d 100ms -n "$frames" >"$name.$frames.out" 2>&1 || {
		fail "$name: status $?: $(tail -n 3 "$name.$frames.out")"
		exit 1
	}
}
terminal=(python3 "$SRC/tests/cli/top/in-terminal.py")
runs=
for n in 10 130; do
	run list $n "${terminal[@]}" ms-record -q --no-symbols -o list.$n.trace ms-top --proc-root proc --filter 'init|orderd|redis' --sort pss &
	runs="$runs $!"
	run one $n "${terminal[@]}" ms-record -q --no-symbols -o one.$n.trace ms-top -p $target &
	runs="$runs $!"
	run json $n ms-record -q --no-symbols -o json.$n.trace ms-top --json --proc-root proc &
	runs="$runs $!"
	run text $n ms-record -q --no-symbols -o text.$n.trace ms-top -b -p $target &
	runs="$runs $!"
done
for pid in $runs; do wait "$pid" || failures=1; done
for name in list one json text; do
	for n in 10 130; do
		ms-report --json $name.$n.trace | jq -c '[.totals.allocations, .totals.reallocations]' >$name.$n
		grep -q '^\[[1-9]' $name.$n || fail "$name.$n: $(cat $name.$n)"
	done
	cmp -s $name.10 $name.130 || fail "$name: 10 frames make $(cat $name.10) allocations, 130 make $(cat $name.130)"
done
[ $failures = 0 ] && echo ok
exit $((failures != 0))
