#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps blocks reachable, of programs that keep them in known ways, by a scan on request: to the byte, as the snapshot has it.
set -eu
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"

for how in '' -O0 -O2 -nopie; do
	record "kept$how" "$TB/targets/kept/kept$how"
	is "kept$how: the list" "$(root variable g_list)" '52000 500'
	is "kept$how: its end" "$(shared 'g_list + g_middle')" '52000 500'
	is "kept$how: the owner" "$(root variable g_owner)" '100000 101'
	is "kept$how: who observes it" "$(observes g_alias)" 'g_owner'
	is "kept$how: a variable in a function" "$(root variable cache.0)" '10000 2'
	is "kept$how: a mapping that a variable holds" "$(root variable g_table)" '14000 20'
	is "kept$how: one right above the variables" "$(root variable g_beside)" '1500 5'
	is "kept$how: a thread's variable" "$(root thread_local local_block worker-7)" '3000 1'
	is "kept$how: a frame" "$(root frame run_worker worker-7)" '50000 50'
	is "kept$how: lost" "$(sql 'SELECT unreachable_bytes FROM retention WHERE scan = 1')" 1500
	is "kept$how: a mapping that nothing holds" "$(sql "SELECT sum(k.retained_bytes), sum(k.retained_blocks) FROM kept k JOIN keeper r
		ON r.id = k.keeper AND r.scan = k.scan WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = 'mapping' AND k.retained_bytes")" '4000 10'
	grep -qE '^kept.* \(pid [0-9]+\): g_owner keeps 97.7 KiB of [0-9.]+ KiB; 1.5 KiB unreachable; stopped for ' said || fail "kept$how: said: $(cat said)"
done

# Where there are no symbols, one section stands for all of its variables.
strip -o kept-stripped "$TB/targets/kept/kept"
record stripped ./kept-stripped
is 'stripped: sections' "$(sql "SELECT sum(k.retained_bytes), sum(k.retained_blocks) FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
	WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = 'section' AND r.name = 'kept-stripped .bss'")" '229508 1129'
is "stripped: a thread's variable" "$(sql "SELECT k.retained_bytes FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
	WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = 'thread_local' AND r.thread = 'worker-7'")" 3000

# shellcheck disable=SC2317  # wait_for calls it
# scanned LABEL: whether the trace has a scan with that label, as far as it is written.
scanned() {
	ms-record --tell run.trace flush && rm -f run.db && ms-snap -o run.db run.trace 2>/dev/null &&
		[ "$(sql "SELECT count(*) FROM retention r JOIN scan s ON s.scan = r.scan WHERE s.label = '$1' AND r.state = 'done'")" = 1 ]
}

# At moments: once so much is live, at a mark, and as time passes.
begin ms-record -q --retention-at=live:200k --leak-check=mark:here -o run.trace "$TB/targets/kept/kept"
wait_for scanned 'live:200.0 KiB'
is 'once 200 KiB are live: the owner' "$(root variable g_owner)" '100000 101'
ms-record --tell run.trace mark:here
wait_for scanned mark:here
: >go
wait $program
begin ms-record -q --retention-at=every:1s -o run.trace "$TB/targets/kept/kept"
wait_for scanned every:1s
: >go
wait $program

# At the end, when main's variables and the threads are gone; and none without being asked for.
for how in '' -static; do
	begin ms-record -q --retention -o run.trace "$TB/targets/kept/kept$how"
	: >go
	wait $program
	ms-snap -o run.db run.trace
	is "end$how: which" "$(sql 'SELECT s.label, r.state FROM retention r JOIN scan s ON s.scan = r.scan')" 'end done'
	is "end$how: the list" "$(root variable g_list) $(shared 'g_list + g_middle')" '52000 500 52000 500'
	is "end$how: the owner" "$(root variable g_owner)" '100000 101'
done
# Where memory is short, the search is given up, and leaks are found all the same.
begin ms-record -q --retention=memory:1M -o run.trace "$TB/targets/kept/keptcxx" 10000
ms-record --tell run.trace retention >said && fail 'too little memory: status 0'
: >go
wait $program
ms-snap -o run.db run.trace
is 'too little memory' "$(sql 'SELECT s.label, s.state, r.state, r.kept_bytes IS NULL FROM retention r JOIN scan s ON s.scan = r.scan')" 'request done memory 1'
grep -q 'what keeps blocks is not known: the search needs more memory than --retention=memory allows$' said || fail "too little memory: said: $(cat said)"

# Killed, with all threads there.
begin ms-record -q --retention --leak-check=yes -o run.trace "$TB/targets/kept/kept"
kill "$(cat ready)"
wait $program && fail 'killed: status 0'
ms-snap -o run.db run.trace
is 'killed: the owner' "$(root variable g_owner)" '100000 101'
is "killed: a thread's variable" "$(root thread_local local_block worker-7)" '3000 1'
is 'killed: a frame' "$(root frame run_worker worker-7)" '50000 50'

begin ms-record -q -o run.trace "$TB/targets/kept/kept"
: >go
wait $program
ms-snap -o run.db run.trace
is 'not asked for' "$(sql 'SELECT count(*) FROM retention')" 0
begin ms-record -q --retention=no -o run.trace "$TB/targets/kept/kept"
ms-record --tell run.trace leak-check >said
ms-record --tell run.trace retention >said 2>&1 && fail 'refused, and told'
grep -q -- 'retention scans are off: --retention=no' said || fail "refused: $(cat said)"
: >go
wait $program
ms-snap -o run.db run.trace
is 'refused' "$(sql 'SELECT count(*) FROM retention')" 0

# A process that runs already: attached to, scanned and left. Blocks are as large as malloc made them.
begin "$TB/targets/kept/kept"
ms-record -q -p $program --retention -d 0 -o run.trace || fail "attached: status $?"
: >go
wait $program || fail "left: status $?"
ms-snap -o run.db run.trace
is 'attached: state' "$(sql 'SELECT state FROM retention')" 'done'
is 'attached: the list' "$(root variable g_list) $(shared 'g_list + g_middle')" '52000 500 52000 500'
is 'attached: the owner' "$(root variable g_owner)" '100808 101'
is 'attached: a mapping that a variable holds' "$(root variable g_table)" '14240 20'
is "attached: a thread's variable" "$(root thread_local local_block)" '3000 1'
is 'attached: a frame' "$(root frame run_worker)" '50000 50'

# A child keeps what it inherited, and its own blocks by way of that; launched, and attached to, when its heap is two mappings.
for how in forked joined; do
	if [ $how = forked ]; then
		begin ms-record -q -o run.trace "$TB/targets/kept/keptfork"
		ms-record --tell run.trace retention >said || fail "$how: not told: $(cat said)"
	else
		begin "$TB/targets/kept/keptfork"
		ms-record -q -p "$(cat ready)" --retention -d 0 -o run.trace || fail "$how: status $?"
	fi
	: >go
	wait $program || fail "$how: status $?"
	trace=run.trace
	[ $how = joined ] || trace=$(find run.trace.d -name "keptfork.$(cat ready).*")
	ms-snap -o run.db "$trace"
	is "$how: the list" "$(root variable g_list)" '700000 700'
	is "$how: its own" "$(root variable g_own)" '300000 300'
	is "$how: live" "$(sql 'SELECT live_bytes - kept_bytes - unreachable_bytes FROM retention')" 0
done

for n in 100 4000; do
	record "keptcxx $n" "$TB/targets/kept/keptcxx" $n
	is 'sessions' "$(root variable g_sessions)" "$(part sessions)"
	is 'documents' "$(shared 'g_by_id + g_by_name')" "$(part documents)"
	is 'listeners' "$(root variable 'bus::instance()::one.listeners')" "$(part listeners)"
	is 'chain' "$(root variable app::chain)" "$(part chain)"
	is 'worker' "$(root frame 'pool::run(int)' pool-3)" "$(part worker)"
	is 'scratch' "$(root thread_local t_scratch)" "$(part scratch)"
	is 'lines' "$(root frame main)" "$(part lines)"
	is 'names' "$(sql "SELECT sum(k.retained_bytes), sum(k.retained_blocks) FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
		WHERE k.scan = 1 AND k.parent IS NULL AND r.name IN ('g_by_id', 'g_by_name')")" "$(part names)"
done

# Two databases of sqlite, the second of which has buffers in memory that was the first one's: what each variable keeps is what sqlite counted
# for it, to 0.1 %; its allocator adds 8 bytes to each block. A very small one is an observer of the first.
for rows in 1 30000; do
	record "sqlite $rows" "$TB/targets/kept/keptsqlite" $rows
	for which in first second; do
		[ "$rows $which" != '1 second' ] || continue
		of=$(part $which)
		got=$(sql "SELECT coalesce(sum(k.retained_bytes - 8 * k.retained_blocks), 0) FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
			WHERE k.scan = 1 AND k.parent IS NULL AND r.name IN ('g_$which', 'g_$which.db')")
		[ $(((got > of ? got - of : of - got) * 1000)) -le "$of" ] || fail "sqlite $rows: g_$which keeps $got B of its own $of B"
	done
done
finish
