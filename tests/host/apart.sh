#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that lock all their memory, keep all shared memory from their children, or let only the C library make system calls: they go on as they
# do alone, every event is recorded, and none of the recorder's memory is locked.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cp "$TB/host/apart" apart || exit 1
export MALLOC_ARENA_MAX=1 # one for each thread would be locked

count='
import sqlite3
print(*(n for (n,) in sqlite3.connect("t.db").execute("""SELECT sum(site.allocations) AS n FROM site JOIN stack ON stack.id = site.stack
	JOIN frame ON frame.id = stack.frame WHERE function = "take" GROUP BY site.process ORDER BY n DESC""")))'

# NUMBER.. of allocations of each process, the largest first, and the program's arguments: `said` and `alone` are what the recorded one and the
# bare one wrote to standard error.
before=()
both() { # NUMBERS ARGUMENT...
	local numbers=$1 bare got is
	shift
	bare=$("${before[@]}" ./apart "$@" 2>alone)
	is=$?
	rm -rf t.trace t.trace.d
	got=$(timeout 120 "${before[@]}" "$BIN/ms-record" -o t.trace ./apart "$@" 2>err)
	[ "$? $got" = "$is $bare" ] || fail "$* with ${before[*]}: $got instead of $bare: $(cat err)"
	grep -q 'every event recorded' err || fail "$*: $(cat err)"
	"$BIN/ms-snap" -q -o t.db t.trace* || fail "$*: ms-snap"
	got=$(python3 -c "$count")
	[ "$got" = "$numbers" ] || fail "$*: $got allocations, not $numbers"
}

# ---- mlockall: MCL_CURRENT 1, MCL_FUTURE 2, MCL_ONFAULT 4 ----
# Without the right to lock any amount, if we have it: then limits hold.
limited=()
[ "$(id -u)" != 0 ] || limited=(setpriv --bounding-set=-ipc_lock)
for kb in 0 1024 8192; do
	for flags in 3 1 7 "3 syscall"; do
		before=("${limited[@]}" prlimit "--memlock=$((kb * 1024)):")
		# shellcheck disable=SC2086 # two words
		both '6000 1000' lock $flags
	done
done
for flags in 3 1 "3 syscall"; do
	before=()
	# shellcheck disable=SC2086
	both '6000 1000' lock $flags
	read -r locked grown later <alone
	read -r more_locked more_grown more_later < <(grep -E '^[0-9]+ [0-9]+ [0-9]+$' err)
	for pair in "$locked $more_locked" "$grown $more_grown" "$later $more_later"; do
		[ $((${pair#* } - ${pair% *})) -lt 1024 ] || fail "lock $flags: KB locked, more resident, locked later: $more_locked $more_grown $more_later instead of $locked $grown $later"
	done
done

before=()
both '205000 5000' dispatch
# MADV_DONTNEED 4, MADV_DONTFORK 10: of children, too
for advice in 4 10; do
	both '1000 1000 1000 100' advise $advice
done

# ---- attached to: before it locks all, and after ----
before=("${limited[@]}" prlimit "--memlock=$((8192 * 1024)):")
attached() { # ARGUMENT...
	local target
	"${before[@]}" ./apart "$@" >out 2>err &
	target=$!
	until [ "$(readlink /proc/$target/exe)" = "$PWD/apart" ]; do sleep 0.01; done
	until [ "$1" = late ] || grep -q 'VmLck:.*[1-9]' /proc/$target/status; do sleep 0.01; done
	rm -rf t.trace t.trace.d
	timeout 120 "$BIN/ms-record" -p $target -o t.trace 2>said || fail "$*: $(cat said)"
	wait $target
	[ $? = 3 ] || fail "$*, attached to: $(cat out err)"
}
attached late lock 3
[ "$(cat out)" = "errno 0, a child's status 0" ] || fail "attached, then locked: $(cat out)"
read -r locked grown later <err
[ "$((locked > 4096 || grown > 5120 || later > 8192))" = 0 ] || fail "attached, then locked: KB locked, more resident, locked later: $locked $grown $later"
attached early lock 2
[ "$(cat out)" = "errno 0
errno 0, a child's status 0" ] || fail "locked, then attached: $(cat out)"
read -r locked grown later <err
[ "$((locked > 4096 || grown > 5120 || later > 8192))" = 0 ] || fail "locked, then attached: KB locked, more resident, locked later: $locked $grown $later"
before=()
attached late advise 10
[ "$(grep -c 1792 out)" = 3 ] || fail "attached, then kept from children: $(cat out)"

finish
