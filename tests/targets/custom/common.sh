# SPDX-License-Identifier: MIT
# What the tests of custom allocators share; read by them.
# shellcheck shell=sh
fail() {
	echo "FAILED: $*"
	exit 1
}
expect() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}
ask() { sqlite3 "$1.db" "$2"; }
heaps() { # NAME CONDITION: heap, allocations, frees, bytes, live bytes
	ask "$1" "SELECT heap, allocations, frees, allocated_bytes, coalesce(live_bytes, 0) FROM by_heap WHERE ${2-1}" | sort
}
sound() { # NAME: nothing is unknown, guessed or lost
	expect "$1: quality" "$(ask "$1" 'SELECT complete, events_lost, unknown_frees, inferred_frees FROM process')" '1|0|0|0'
}
record() { # NAME OPTIONS: NAME.db of a recording; what the program says in NAME.out
	name=$1
	shift
	rm -f "$name.db" "$name.trace"
	ms-record -q -o "$name.trace" "$@" >"$name.out" 2>"$name.err" || fail "$name: status $?: $(cat "$name.err")"
	ms-snap -q -o "$name.db" "$name.trace"
}
attached() { # NAME COMMAND OPTIONS: the same with -p, from before the command begins
	name=$1 command=$2
	shift 2
	rm -f "$name.db" "$name.trace" go ready
	mkfifo go
	$command started <go >"$name.out" 2>ready &
	target=$!
	exec 7>go
	until [ -s ready ]; do kill -0 $target && sleep 0.02; done
	ms-record -o "$name.trace" "$@" -p $target 2>"$name.err" &
	recorder=$!
	until ms-record -q --tell "$name.trace" status >told 2>&1; do
		kill -0 $recorder 2>dead || fail "$name: $(cat "$name.err")"
		sleep 0.05
	done
	echo >&7
	exec 7>&-
	wait $target || fail "$name: the process's status $?"
	wait $recorder || fail "$name: status $?: $(cat "$name.err")"
	ms-snap -q -o "$name.db" "$name.trace"
}
