#!/bin/sh
# SPDX-License-Identifier: MIT
# The leak scan harms nobody: fifty scans of a program under load leave nothing behind in it, and a recorder that is dead or asleep when a
# program ends changes nothing but a moment.
set -eu
load=$TB/host/leakload
leaks=$TB/targets/leaks/leaks

# shellcheck disable=SC2012 # names in /proc
state() { # what the process has: threads, descriptors, mappings without those of the allocator, children
	ls /proc/"$1"/task | wc -l
	ls -l /proc/"$1"/fd | sed 's/.* [0-9:]* \([0-9]* ->\)/\1/' | tail -n +2
	awk '$6 != "" { print $2, $6 }' /proc/"$1"/maps | sort | uniq -c
	cat /proc/"$1"/task/*/children
	grep -E 'TracerPid|SigBlk|Seccomp' /proc/"$1"/status
}

wait_for() { # until the command succeeds; the limit is only there so that it ends
	for _ in $(seq 6000); do
		"$@" && return
		sleep 0.05
	done
	echo "never: $*"
	exit 1
}
works() { # the program has begun all its threads
	pid=$(cat /proc/"$recorder"/task/*/children 2>/dev/null | tr ' ' '\n' | head -n 1)
	set -- /proc/"$pid"/task/*
	[ -n "$pid" ] && [ $# = 7 ]
}
settled() { # and has all that it will have; left in before.txt
	state "$pid" >before.txt
	sleep 0.3
	state "$pid" >again.txt
	cmp -s before.txt again.txt
}
begin() { # TRACE ARG...: the program under load, recorded, at work. However slow the machine: no limit is to be met, and nothing lost
	trace=$1
	shift
	ms-record --leak-check=auto:60s --overflow=wait:60s --no-symbols -o "$trace" "$@" >out.txt 2>err.txt &
	recorder=$!
	wait_for works
	wait_for settled
}

pid='' recorder=''
trap '[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || :' EXIT
begin live.trace "$load" 200
for _ in $(seq 50); do
	ms-record --tell live.trace leak-check >answer.txt
	grep -qE '^leakload \(pid [0-9]+\): 6\.8 KiB in 7 blocks unreachable; stopped for [0-9.]+ [mu]?s$' answer.txt || { cat answer.txt; exit 1; }
done
state "$pid" >after.txt
diff before.txt after.txt
kill -USR1 "$pid"
wait $recorder
grep -qx 'wrong 0' out.txt
ms-snap --no-symbols -o live.db live.trace
test "$(sqlite3 live.db "SELECT count(*), min(unreachable_blocks), max(unreachable_blocks), min(state), max(state) FROM scan WHERE label = 'request'")" = \
	"50|7|7|done|done"
test "$(sqlite3 live.db "SELECT sum(v.blocks) FROM site_verdict v WHERE scan = 50 AND v.verdict != 'reachable'")" = 7
# Read from a copy that never runs: the same, and no child is seen by anybody.
begin copy.trace "$load" 200 32
copied='^leakload \(pid [0-9]+\): 6\.8 KiB in 7 blocks unreachable; stopped for [0-9.]+ [mu]?s to fork a copy, which was scanned$'
for _ in $(seq 50); do
	ms-record --tell copy.trace leak-check >answer.txt
	grep -qE "$copied" answer.txt || { cat answer.txt; exit 1; }
done
state "$pid" >after.txt
diff before.txt after.txt
test "$(ms-record --tell copy.trace status | grep images)" = 'images 1'
# It ends in the midst of a scan, or before, or after (threads that ended leave blocks of glibc's): what it leaks in the end is known all the same.
ms-record --tell copy.trace leak-check >answer.txt 2>&1 &
tell=$!
sleep 0.02
kill -USR1 "$pid"
wait $tell || true
grep -qE "blocks unreachable; stopped for [0-9.]+ [mu]?s to fork a copy, which was scanned|not scanned: the program ended before it could be scanned|recording (has stopped|is over)|none of the processes it records is still running" answer.txt || { cat answer.txt; exit 1; }
wait $recorder
grep -qx 'wrong 0' out.txt
ms-snap --no-symbols -o copy.db copy.trace
test "$(sqlite3 copy.db "SELECT count(*), min(unreachable_blocks), max(unreachable_blocks) FROM scan WHERE scan <= 50 AND state = 'done'")" = \
	"50|7|7"
test "$(sqlite3 copy.db "SELECT state FROM scan WHERE label = 'end'")" = "done"
test "$(sqlite3 copy.db 'SELECT count(*) FROM process')" = 1
# Not where nothing is scanned.
begin no.trace --leak-check=no "$load" 200
if ms-record --tell no.trace leak-check 2>err.txt; then exit 1; fi
grep -q 'leak scans are off: --leak-check=no, or --sample; record with --leak-check=auto' err.txt
kill -USR1 "$pid"
wait $recorder

ended() {
	case $(cut -d ' ' -f 3 /proc/"$pid"/stat 2>/dev/null || echo X) in Z | X) ;; *) return 1 ;; esac
}
# The recorder sleeps, or is dead, when the program ends.
for how in STOP KILL; do
	# shellcheck disable=SC2016 # the inner shell expands it
	ms-record -q --no-symbols -o gone.trace sh -c 'echo $$ >pid; sleep 0.5; exec "$0" direct exit; exit 9' "$leaks" &
	recorder=$!
	wait_for test -s pid
	pid=$(cat pid)
	kill -$how $recorder
	wait_for ended
	kill -CONT $recorder 2>/dev/null || true
	wait $recorder || true
	rm -f pid
done

recorder=''
# A limit that is too short says so and costs no more than it.
status=0
ms-record --no-symbols --leak-check=yes:10ms -o short.trace "$load" 1 200 >out.txt 2>err.txt || status=$?
test $status = 0
grep -q 'not scanned for leaks: the scan would have taken longer than --leak-check allows' err.txt
