#!/bin/bash
# SPDX-License-Identifier: MIT
# Thousands of threads, address space that the program limits itself, and a realloc that is left for good: every event, and the same output.
set -u
failures=0
fail() {
	failures=$((failures + 1))
	echo "$*"
	tail -n 12 err
}
is() { # WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}
T=$TB/host/crowd
# record ARGS: the same output and status as without; what was lost in all its processes, and the blocks of the counted site.
record() {
	rm -rf t.trace t.trace.d
	"$T" "$@" >want
	want=$?
	[ $want = 77 ] && echo "skipped: crowd $*: $(tail -n 1 want)" && return 1
	"$BIN/ms-record" -v --overflow=wait:60s -o t.trace "$T" "$@" >got 2>err # however long they wait for a processor
	is "crowd $*: status" $? $want
	sort want >want.sorted
	sort got | cmp -s - want.sorted || fail "crowd $*: output is '$(cat got)'"
	lost=0 blocks=0
	for f in t.trace t.trace.d/*.trace; do
		[ -e "$f" ] || continue
		"$BIN/ms-report" --only-first --allow-partial --json "$f" >json 2>>err
		lost=$((lost + $(jq .quality.events_lost json)))
		blocks=$((blocks + $(jq '[.sites[] | select(.stack[0].function == "life") | .allocations] | add // 0' json)))
	done
}

for n in 300 1000 4000; do
	record at $n || continue
	is "events lost with $n threads" "$lost" 0
	is "blocks of $n threads" "$blocks" $((n * 100))
done
if record after 10000; then
	is 'events lost with 10,000 threads, 8 at a time' "$lost" 0
	is 'blocks of 10,000 threads' "$blocks" 1000000
fi
if record child 100; then
	is 'events lost with 100 threads in a child' "$lost" 0
	is 'blocks of 100 threads in a child' "$blocks" 10000
fi

# The recorder takes little of what it leaves itself, and children are recorded too.
for mb in 200 1000; do
	record limit $mb
	is "events lost below $mb MB" "$lost" 0
	is "blocks below $mb MB" "$blocks" 3300
done

# One that interrupted its own realloc may count as lost.
record left 4000000
is 'blocks after a realloc was left' "$blocks" 4000000
[ "$lost" -le 1 ] || fail "$lost events were lost after a realloc was left"

# What a burst took of the recorder's memory, while that realloc held up the merge, is given back: the process goes on, with little to do.
own() { # the recorder's memory in kB, by a label
	sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" /proc/$recorder/status
}
touch wait
"$BIN/ms-record" -o t.trace "$T" left 4000000 >got 2>err &
recorder=$!
for _ in {1..1000}; do # of 100 ms, but that it ends
	most=$(own VmHWM) now=$(own VmRSS)
	kept=$((most / 4 > 24000 ? most / 4 : 24000)) # what a large burst leaves between the pieces is not given back
	[ "$most" -lt 24000 ] || [ "$now" -gt "$kept" ] || break
	sleep 0.1
done
[ "$now" -le "$kept" ] || fail "the recorder keeps $now kB of $most"
rm wait
wait $recorder
is 'crowd left, which waits' "$(cat got)" left

# A realloc that takes long holds nobody up: its events come too late for their place, which is counted and said.
record slow 10
is 'events lost beside a realloc in time' "$lost" 0
grep -q 'every event recorded$' err || fail 'a realloc in time: not every event recorded'
ln -s "$TB/host/crowd_slow.so" . # whose path may have spaces
export LD_PRELOAD=./crowd_slow.so
record slow 10
unset LD_PRELOAD
is 'events lost beside a slow realloc' "$lost" 0
grep -q 'every event recorded, 1 of them out of order$' err || fail 'a slow realloc: its event is not said to be out of order'
is 'events out of order in the report' "$("$BIN/ms-report" t.trace | grep -c '1 event out of order')" 1

[ $failures = 0 ] && echo ok
exit $((failures != 0))
