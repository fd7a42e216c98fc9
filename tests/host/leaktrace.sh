#!/bin/bash
# SPDX-License-Identifier: MIT
# --leak-check=yes: what leaks is known however the program ends, and its status, its core file and what it sees of signals are as without.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
program=$TB/host/leaktrace
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
figures() { # of the scan at the end of the last process
	ms-snap --no-symbols -o t.db t.trace && sqlite3 t.db "SELECT state, unreachable_blocks, unreachable_bytes FROM scan WHERE label = 'end' ORDER BY process DESC LIMIT 1"
}
record() { # ARG...: the status is left in `rc`
	{ timeout -s KILL 600 ms-record -q --no-symbols -o t.trace "$@"; } 2>err
	rc=$?
}
ulimit -S -c 0
for k in 1 2 3; do
	for how in return abort segv raw term kill thread exec waits; do
		{ "$program" $how; } 2>/dev/null
		want=$?
		record --leak-check=yes "$program" $how
		[ $rc = $want ] || fail "$how: status $rc, not $want"
		said=$(figures)
		[ "$said" = 'done|3|3000' ] || fail "$how, run $k: $said"
	done
done 2>/dev/null
for how in abort raw; do
	record --leak-check=auto "$program" $how
	said=$(figures)
	[ "$said" = 'killed||' ] || fail "auto, $how: $said"
done 2>/dev/null

# It ends before whoever let it go has done anything else: on one processor they take turns.
for k in 1 2 3 4 5; do
	{ taskset -c 0 timeout -s KILL 600 ms-record -q --no-symbols --leak-check=yes -o t.trace "$program" soon; } 2>err
	[ "$(figures)" = 'done|3|3000' ] || fail "soon, run $k: $(figures)"
done 2>/dev/null

# Several threads in exit() at once; a large block of which little is there.
for k in 1 2 3 4 5; do
	record --leak-check=auto:50s "$program" together
	[ $rc = 4 ] || fail "together: status $rc"
	[ "$(figures)" = 'done|3|3000' ] || fail "together: $(figures)"
done
# Threads end while it is looked at, the one that was found there too.
for k in {1..20}; do
	record --leak-check=auto:50s "$program" ending
	[ $rc = 6 ] || fail "ending: status $rc"
	[ "$(figures)" = 'done|3|3000' ] || fail "ending, run $k: $(figures)"
done
record --leak-check=auto:50s "$program" sparse
[ $rc = 5 ] || fail "sparse: status $rc"
[ "$(figures)" = 'done|4|3500' ] || fail "sparse: $(figures)"
# The true reason where there is no descriptor to read with.
said=$( (ulimit -n 18; ms-record --no-symbols --leak-check=auto:50s -o t.trace "$program" together 2>&1) )
[[ $said =~ 'the recorder ran out of file descriptors' ]] || fail "18 descriptors: $said"

# At a mark: what is lost by then, and in the end what is lost by then.
scanned() { # the program goes on when that at the mark is done
	ms-snap --no-symbols -o t.db t.trace 2>/dev/null && [ "$(sqlite3 t.db 'SELECT count(*) FROM scan')" = 1 ]
}
rm -f t.trace
timeout -s KILL 600 ms-record -q --no-symbols --leak-check=auto:50s --leak-check-at mark:now -o t.trace "$program" marks &
recorder=$!
wait_for scanned
: >go
wait $recorder
rc=$?
[ $rc = 0 ] || fail "marks: status $rc"
ms-snap --no-symbols -o t.db t.trace
said=$(sqlite3 t.db 'SELECT label, state, unreachable_blocks FROM scan ORDER BY scan' | tr '\n' ' ')
[ "$said" = 'mark:now|done|3 end|done|6 ' ] || fail "marks: $said"
for bad in now mark: '' mark:; do
	record --leak-check-at "$bad" true
	[ $rc = 125 ] || fail "--leak-check-at '$bad': status $rc"
done
record --leak-check=yes --leak-check-at mark:x true
grep -q '^ms-record: --leak-check=mark cannot be combined with --leak-check=yes: that runs the command under ptrace, where it cannot be scanned at a mark' err || fail "yes and a mark: $(cat err)"

# A core file is written, and is as large. (A sanitizer in ms-record would forbid its command to write one.)
export ASAN_OPTIONS=disable_coredump=0 TSAN_OPTIONS=disable_coredump=0
if [[ $(cat /proc/sys/kernel/core_pattern) =~ ^core && $(ulimit -H -c) = unlimited ]]; then
	ulimit -S -c "$(ulimit -H -c)"
	{ "$program" segv; } 2>/dev/null
	plain=$(cat core* | wc -c)
	rm -f core*
	record --leak-check=yes "$program" segv 2>/dev/null
	[ "$(figures)" = 'done|3|3000' ] || fail "with a core file: $(figures)"
	[ "$(cat core* | wc -c)" -ge "$plain" ] || fail "core files: $plain bytes without, $(ls -l core*) with the recorder"
	rm -f core*
	ulimit -S -c 0
fi

# Stopped, it stays so until it is told to go on.
timeout -s KILL 600 ms-record -q --no-symbols --leak-check=yes -o t.trace "$program" stop &
recorder=$!
begun() { # the number of the program is known, and it is that already
	tool=$(ps -o pid= --ppid "$recorder" | tr -d ' ')
	pid=$(ps -o pid= --ppid "${tool:-1000000000}" 2>/dev/null | tr -d ' ')
	[ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$program")" ]
}
stays() { # STATE: in it for a while; its maker stops it for moments too
	for _ in {1..6}; do
		[[ $(cut -d ' ' -f 3 "/proc/$pid/stat") =~ $1 ]] || return
		sleep 0.05
	done
}
wait_for begun
wait_for stays '[tT]'
said=$(ms-record --tell t.trace leak-check)
[[ $said =~ 'not scanned: --leak-check=yes ptraces it' ]] || fail "a scan on request: $said"
# On a busy machine it may have stood still for something else so far.
while kill -CONT "$pid" 2>/dev/null; do sleep 0.2; done &
wait $recorder
rc=$?
wait
[ $rc = 8 ] || fail "stopped and continued: status $rc"
[ "$(figures)" = 'done|3|3000' ] || fail "stopped and continued: $(figures)"

# The recorder is killed: the program goes on.
timeout -s KILL 600 ms-record -q --leak-check=yes -o t.trace "$program" pause &
recorder=$!
wait_for begun
wait_for stays S
kill -KILL "$tool"
wait $recorder 2>/dev/null
wait_for stays S # it did not die with its recorder
kill "$pid"

finish
