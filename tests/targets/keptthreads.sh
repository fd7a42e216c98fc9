#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps blocks reachable in a forked child with 200 threads, each of which keeps as many as its number tells, in its frame and in a
# thread-local variable: of each thread to the byte, and no event is lost; and what is said of a child with more threads than are recorded.
set -eu
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"

frames=0
locals=0
count=0
n=0
while [ $n -lt 200 ]; do
	count=$((count + 1 + n % 7))
	frames=$((frames + 1000 * (1 + n % 7)))
	locals=$((locals + 1000 + n))
	n=$((n + 1))
done

begin ms-record -o run.trace "$TB/targets/kept/keptthreads" 2>summary
ms-record --tell run.trace retention >said || fail "not told: $(cat said)"
: >go
wait $program || fail "status $?"
! grep -q ' lost' summary || fail "said: $(cat summary)"
ms-snap -o run.db "$(find run.trace.d -name "keptthreads.$(cat ready).*")"
is 'lost' "$(sql 'SELECT events_lost FROM process')" 0
is 'frames' "$(root frame 'run_worker')" "$frames $count"
is 'thread-local variables' "$(root thread_local local_block)" "$locals 200"
for n in 0 6 127 128 199; do
	is "worker-$n: frame" "$(root frame run_worker worker-$n)" "$((1000 * (1 + n % 7))) $((1 + n % 7))"
	is "worker-$n: variable" "$(root thread_local local_block worker-$n)" "$((1000 + n)) 1"
done
is 'live' "$(sql 'SELECT live_bytes - kept_bytes - unreachable_bytes FROM retention')" 0

# More threads at once than a child has rings: no larger buffer helps.
begin ms-record -o run.trace "$TB/targets/kept/keptthreads" 1100 2>summary
: >go
wait $program || fail "1,100 threads: status $?"
grep -q 'events lost there; it had more threads at once than can be recorded$' summary || fail "1,100 threads: said: $(cat summary)"
finish
