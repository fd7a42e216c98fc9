#!/bin/sh
# SPDX-License-Identifier: MIT
# Scans at a moment of the program's own: at exit, before handlers and destructors have freed what it kept, and where it calls ms_retention.
set -eu
. "$SRC/tests/lib.sh"
T=$TB/targets/kept

sql() {
	sqlite3 -separator ' ' run.db "$1"
}

# root SCAN KIND NAME: what these roots retain by themselves, in how many blocks.
root() {
	sql "SELECT coalesce(sum(k.retained_bytes), 0), coalesce(sum(k.retained_blocks), 0) FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
		WHERE k.scan = $1 AND k.parent IS NULL AND r.kind = '$2' AND coalesce(r.name, '') LIKE '$3'"
}

scans() {
	sql "SELECT group_concat(s.label || ' ' || coalesce(r.state, s.state), ', ') FROM scan s LEFT JOIN retention r ON r.scan = s.scan"
}

# run WHAT STATUS OPTION... -- PROGRAM HOW: records a run; its output and status are those without ms-record, its snapshot is run.db, its summary said.
run() {
	what=$1 expected=$2
	shift 2
	rm -rf run.*
	status=0
	ms-record --leak-check=auto:60s -o run.trace "$@" >out 2>said || status=$?
	is "$what: status" $status "$expected"
	while [ "$1" != -- ]; do shift; done
	shift
	"$@" >alone || :
	is "$what: output" "$(cat out)" "$(cat alone)"
	ms-snap -o run.db run.trace
}

# filled WHAT SCAN PROGRAM: what main has filled is there.
filled() {
	is "$1: freed by a handler" "$(root "$2" variable g_table)" '50000 50'
	is "$1: freed by a handler of a constructor" "$(root "$2" variable g_early)" '4000 1'
	is "$1: freed by a destructor" "$(root "$2" variable g_late)" '7000 1'
	case $3 in
	*-cxx) is "$1: freed by a static destructor" "$(root "$2" variable g_box.block)" "${box:-30000} 1" ;;
	*) ;;
	esac
}

# What the function is called that exits; one that is not position-independent and static has no table of frames.
leaves() {
	case $1 in
	*-static-cxx) ;;
	*-cxx) echo 'leave(void (*)(int), int)' ;;
	*) echo leave ;;
	esac
}

for p in keptexit keptexit-nopie keptexit-static keptexit-cxx keptexit-nopie-cxx keptexit-static-cxx; do
	run "$p return" 3 --retention-at=exit --retention -- "$T/$p" return
	is "$p return: scans" "$(scans)" 'exit done, end done'
	filled "$p return" 1 $p
	is "$p return: at the end" "$(root 2 variable g_table) $(root 2 variable g_late)" '0 0 0 0'
	grep 'no scan' said && fail "$p return: $(cat said)"
	run "$p exit" 3 --retention-at=exit -- "$T/$p" exit
	is "$p exit: scans" "$(scans)" 'exit done, end done'
	filled "$p exit" 1 $p
	is "$p exit: the frame that exits" "$(root 1 frame "$(leaves $p)")" '5000 1'
done

for p in keptexit keptexit-cxx; do
	# By another thread than the first one; beside one that goes on; by the last of the threads.
	for how in thread beside last; do
		case $how in last) status=0 ;; *) status=3 ;; esac
		run "$p $how" $status --retention-at=exit -- "$T/$p" $how
		is "$p $how: scans" "$(scans)" 'exit done, end done'
		filled "$p $how" 1 $p
		[ $how = last ] || is "$p $how: the frame that exits" "$(root 1 frame "$(leaves $p)")" '5000 1'
	done
	# There is no such moment.
	for how in _exit quick_exit; do
		run "$p $how" 3 --retention-at=exit -- "$T/$p" $how
		is "$p $how: scans" "$(scans)" 'end done'
		grep -q 'no scan at exit: the program was killed, or ended without calling exit()' said || fail "$p $how: $(cat said)"
	done
	run "$p abort" 134 --retention-at=exit -- "$T/$p" abort
	is "$p abort: scans" "$(scans)" 'end killed'
	grep -q 'no scan at exit: the program was killed, or ended without calling exit()' said || fail "$p abort: $(cat said)"
done

# A static program is traced by ms-record, which can stop no threads of it then.
run 'static, with threads' 3 --retention-at=exit -- "$T/keptexit-static" beside
is 'static, with threads: scans' "$(scans)" 'exit threads, end done'
grep -q "no scan at exit: the program's threads could not be stopped" said || fail "static, with threads: $(cat said)"

# Each process of its own, with what it inherited: 49 blocks of 1,000 bytes.
run children 3 --retention-at=exit --follow=all -- "$T/keptexit" children
filled children 1 keptexit
n=0
for t in run.trace.d/*.*; do
	case $t in *.index | */index) continue ;; esac
	ms-snap -o run.db "$t" && n=$((n + 1))
	is "child $n: scans" "$(scans)" 'exit done, end done'
	is "child $n" "$(root 1 variable g_table)" '51000 50'
done
is 'children' $n 3

# Attached to, from the start of its recording or on standby.
# attached WHAT PROGRAM OPTION... -- RUN...
attached() {
	what=$1 program=$2
	shift 2
	rm -rf run.* ready go
	"$@" "$T/$program" exit attached >/dev/null 2>&1 &
	runs=$!
	wait_for [ -e ready ]
	ms-record -q --leak-check=auto:60s --retention-at=exit -o run.trace -p "$(cat ready)" &
	recorder=$!
	wait_for [ -e run.trace ]
	wait_for ms-record --tell run.trace flush
	: >go
	status=0
	wait $runs || status=$?
	is "$what: status" $status 3
	wait $recorder || fail "$what: ms-record: status $?"
	ms-snap -o run.db run.trace
	filled "$what" 1 "$program"
	is "$what: the frame that exits" "$(root 1 frame "$(leaves "$program")")" '5000 1'
}
attached attached keptexit env
attached 'attached, static' keptexit-static env
attached standby keptexit ms-record --standby
box=30008 # from before, as large as malloc made it
attached 'attached, C++' keptexit-cxx env
unset box

# ms_retention: just there, with what is freed right behind it.
for p in keptexit keptexit-nopie-cxx; do
	run "$p marks" 3 -- "$T/$p" marks
	is "$p marks: scans" "$(scans)" 'mark:full done, mark:half done, mark: done, end done'
	filled "$p marks" 1 $p
	is "$p marks: half" "$(root 2 variable g_table)" '25000 25'
	is "$p marks: none" "$(root 3 variable g_table)" '0 0'
	ms-snap --at mark:half -o run.db run.trace
	case $p in *-cxx) live=29 ;; *) live=28 ;; esac
	is "$p marks: as a mark" "$(sql "SELECT live_blocks FROM snapshot WHERE label LIKE 'mark:half%'")" $live
done
run 'marks of threads' 3 -- "$T/keptexit" threads
is 'marks of threads' "$(sql "SELECT count(*) FROM scan s JOIN retention r ON r.scan = s.scan AND r.state = 'done' WHERE s.label IN ('mark:one', 'mark:other')")" 10
# Where nothing is scanned they are marks all the same, and in a static program nothing.
for how in --retention=no --leak-check=no --sample=100 --leak-check=yes; do
	run "marks $how" 3 $how -- "$T/keptexit" marks
	is "marks $how" "$(sql 'SELECT count(*) FROM retention')" 0
	ms-snap --at mark:half -o run.db run.trace || fail "marks $how: no mark"
done
run 'marks, static' 3 -- "$T/keptexit-static" marks
is 'marks, static' "$(scans)" 'end done'
finish
