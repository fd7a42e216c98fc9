#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that install seccomp filters or forbid themselves the processor's clock while they are recorded: they go on as they do alone, and every
# event is there.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cp "$TB/host/confined" confined || exit 1

count='
import sqlite3
print(*(n for (n,) in sqlite3.connect("t.db").execute("""SELECT sum(site.allocations) AS n FROM site JOIN stack ON stack.id = site.stack
	JOIN frame ON frame.id = stack.frame WHERE function IN ("in_filter", "round_robin", "busy", "leak") GROUP BY site.process ORDER BY n DESC""")))
for row in sqlite3.connect("t.db").execute("SELECT pid, unknown_frees, inferred_frees, unfreed_blocks FROM process WHERE unknown_frees OR inferred_frees"):
	print("pid, unknown frees, inferred frees, unfreed:", row)'

before=() # what goes before the command
options=(--follow=all)
# SCENE STATUS NUMBER...: the allocations in these functions, of each process, the largest first
scene() {
	local name=$1 status=$2 said is
	shift 2
	said=$(./confined "$name" 2>&1)
	is=$?
	[ "$is $said" = "$status begins
$name: done" ] || fail "$name alone: status $is: $said"
	rm -rf t.trace t.trace.d
	timeout 600 "${before[@]}" "$BIN/ms-record" "${options[@]}" -o t.trace ./confined "$name" >out 2>err
	is=$?
	[ $is = "$status" ] || fail "$name: status $is: $(cat err)"
	[ "$(cat out)" = "$said" ] || fail "$name: output $(cat out)"
	figures "$name" "$@"
}
figures() { # NAME NUMBER...
	local name=$1 found
	shift
	grep -q 'every event recorded' err || fail "$name: $(cat err)"
	"$BIN/ms-snap" -q -o t.db t.trace* || fail "$name: ms-snap"
	found=$(python3 -c "$count")
	[ "$found" = "$*" ] || [ "$found" = "${may_be-}" ] || fail "$name: $found allocations, not $*"
}
# An attached process waits for nobody: on a busy machine events may be lost, which is said. Then again.
attached() { # SCENE NUMBER
	local target try
	for try in 1 2 3 4 5 6; do
		./confined "$1" >out &
		target=$!
		until [ "$(readlink /proc/$target/exe)" = "$PWD/confined" ]; do sleep 0.01; done
		rm -rf t.trace t.trace.d
		timeout 600 "$BIN/ms-record" -p $target -o t.trace 2>err || { fail "$1: $(cat err)" && kill $target; }
		wait $target || fail "$1: status $?"
		[ "$(cat out)" = "begins
$1: done" ] || fail "$1: output $(cat out)"
		if [ "$try" = 6 ] || ! grep -q 'events lost' err; then break; fi
	done
	figures "$@"
}
# 50,000 each, as a rule, and one before
scene filter 0 50001
scene library 0 50001
scene raw 0 50001
for _ in 1 2 3; do scene unseen 0 1; done
scene strict 7 50001
scene clocks 0 6000
scene all 0 350001
scene forks 0 75001 25000 25000 25000 25000 25000 25000
scene blind 0 50001 50000 25000
# Where nobody says that the processor's clock can be used: stamps are counted, and a child's parent that waits for it counts no further.
# shellcheck disable=SC2016 # the inner shell expands them
before=(unshare -m --propagation private sh -c 'umount -l /sys && exec "$0" "$@"')
if "${before[@]}" true 2>/dev/null; then
	scene forks 0 75001 25000 25000 25000 25000 25000 25000
fi
before=()
scene limited 0 125001
grep -q "2 forked children" err || fail "limited: children under a limit and a filter are not counted: $(cat err)"
options+=(--leak-check=auto:50s) # a busy machine has the time
scene leak 0 50101
found=$("$BIN/ms-report" --json t.trace | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["unreachable_blocks"])')
[ "$found" = 100 ] || fail "leak: $found unreachable blocks: $(cat err)"
options+=(--retention-at=exit)
for _ in 1 2 3; do scene unseen 0 1; done
may_be=100001 attached late 100000
# The entry may have been patched when the last block of the waiting loop was asked for.
may_be=50001 attached early 50000

finish
