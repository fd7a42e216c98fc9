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
totals() { # NAME: allocations, frees and live bytes of what work() did
	ask "$1" "WITH RECURSIVE up(site, stack) AS (SELECT id, stack FROM site UNION ALL SELECT up.site, k.parent FROM up JOIN stack k ON k.id = up.stack
		WHERE k.parent IS NOT NULL), mine AS (SELECT DISTINCT up.site FROM up JOIN stack k ON k.id = up.stack JOIN frame f ON f.id = k.frame
		WHERE f.function = 'work') SELECT sum(s.allocations), sum(s.frees), (SELECT sum(t.live_bytes) FROM site_stat t JOIN mine ON mine.site = t.site
		JOIN snapshot n ON n.id = t.snapshot AND n.label = 'end') FROM site s JOIN mine ON mine.site = s.id"
}
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
finish() { # NAME PROCESS: once $recorder records NAME.trace the command, which waits for descriptor 7, goes on; to its end
	until ms-record -q --tell "$1.trace" status >told 2>&1; do
		kill -0 "$recorder" 2>dead || fail "$1: $(cat "$1.err")"
		sleep 0.05
	done
	echo >&7
	exec 7>&-
	wait "$2" || fail "$1: the command's status $?"
	wait "$recorder" || fail "$1: status $?: $(cat "$1.err")"
	ms-snap -q -o "$1.db" "$1.trace"
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
	finish "$name" $target
}
