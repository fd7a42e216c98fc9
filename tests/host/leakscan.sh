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

ms-record -q --no-symbols -o live.trace "$load" 100 >out.txt &
recorder=$!
for i in $(seq 100); do
	sleep 0.05
	pid=$(cat /proc/$recorder/task/*/children 2>/dev/null | tr ' ' '\n' | head -n 1)
	set -- /proc/"$pid"/task/*
	[ -n "$pid" ] && [ $# = 7 ] && break
done
sleep 0.5
state "$pid" >before.txt
for i in $(seq 50); do
	ms-record --tell live.trace leak-check >answer.txt
	grep -qE '^leakload \(pid [0-9]+\): 6\.8 KiB in 7 blocks unreachable; stopped for [0-9.]+ m?s$' answer.txt || { cat answer.txt; exit 1; }
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
ms-record -v --no-symbols -o copy.trace "$load" 60 32 >out.txt 2>err.txt &
recorder=$!
for i in $(seq 100); do
	sleep 0.05
	pid=$(cat /proc/$recorder/task/*/children 2>/dev/null | tr ' ' '\n' | head -n 1)
	set -- /proc/"$pid"/task/*
	[ -n "$pid" ] && [ $# = 7 ] && break
done
sleep 0.5
state "$pid" >before.txt
copied='^leakload \(pid [0-9]+\): 6\.8 KiB in 7 blocks unreachable; stopped for [0-9.]+ m?s, read from a copy$'
for i in $(seq 50); do
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
grep -qE "blocks unreachable; stopped for [0-9.]+ m?s, read from a copy|not scanned, it ended meanwhile|recording (has stopped|is over)" answer.txt || { cat answer.txt; exit 1; }
wait $recorder
grep -qx 'wrong 0' out.txt
ms-snap --no-symbols -o copy.db copy.trace
test "$(sqlite3 copy.db "SELECT count(*), min(unreachable_blocks), max(unreachable_blocks) FROM scan WHERE scan <= 50 AND state = 'done'")" = \
	"50|7|7"
test "$(sqlite3 copy.db "SELECT state FROM scan WHERE label = 'end'")" = "done"
test "$(sqlite3 copy.db 'SELECT count(*) FROM process')" = 1
# Not where nothing is scanned.
ms-record -q --leak-check=no --no-symbols -o no.trace "$load" 1 >out.txt &
recorder=$!
sleep 0.5
if ms-record --tell no.trace leak-check 2>err.txt; then exit 1; fi
grep -q 'it scans nothing: --leak-check=no, or --sample' err.txt
wait $recorder

# The recorder sleeps, or is dead, when the program ends.
for how in STOP KILL; do
	# shellcheck disable=SC2016 # the inner shell expands it
	ms-record -q --no-symbols -o gone.trace sh -c 'echo $$ >pid; sleep 0.5; exec "$0" direct exit; exit 9' "$leaks" &
	recorder=$!
	until [ -s pid ]; do sleep 0.05; done
	pid=$(cat pid)
	kill -$how $recorder
	for i in $(seq 60); do
		sleep 0.1
		case $(cut -d ' ' -f 3 /proc/"$pid"/stat 2>/dev/null || echo X) in Z | X) break ;; esac
		[ "$i" -lt 60 ]
	done
	kill -CONT $recorder 2>/dev/null || true
	wait $recorder || true
	rm -f pid
done

# A limit that is too short says so and costs no more than it.
status=0
ms-record --no-symbols --leak-check=yes:10ms -o short.trace "$load" 1 200 >out.txt 2>err.txt || status=$?
test $status = 0
grep -q 'not scanned for leaks: that would have taken longer than --leak-check allows' err.txt
