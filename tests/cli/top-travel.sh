#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top goes to earlier moments of a trace of over 16 million events, from the checkpoints before them: its figures, and the snapshots that
# it writes, are those of ms-snap --at.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
events=17000000
[ "$MODE" = release ] || events=300000 # which are replayed from the start
"$TB/bench/bigtrace" $events 3000 6 3 big.trace || fail "bigtrace: status $?"
step=0
same() { # KEYS: go there, and compare
	local db point
	step=$((step + 1))
	keys "$@"
	sees '   PAST, at '
	for _ in $(seq 3000); do
		keys w
		sleep 0.1
		db=$(echo big.trace.*s.db)
		[ -s "$db" ] && break
	done
	sees 'wrote big\.trace\.[0-9.]+s\.db'
	db=$(echo big.trace.*s.db) point=${db#big.trace.}
	point=${point%.db}
	"$BIN/ms-snap" -q --at "$point" -o same.db big.trace || fail "ms-snap --at $point"
	cmp "$db" same.db || fail "step $step: another snapshot of $point"
	# the same moment, from the start on
	[ "$(sqlite3 same.db "SELECT printf('%.3f', time_ns / 1e9) FROM snapshot")" = "$(printf %.3f "${point%s}")" ] || fail "step $step: not at $point"
	screen
	python3 "$SRC/tests/cli/top/numbers.py" screen same.db screen || fail "step $step, $point: $(cat screen)"
	echo "$point" >>moments
	rm "$db"
}
start 120 30 big.trace
sees '^big \(4711\) .*   ended   '
sees '^> .*::make_thing_'
same '['
[ "$MODE" != release ] || expect '^> .* - +[0-9]' screen # what was before the checkpoint is not known
same '[' '['
same ']'
same '{'
same '{' '{' '['
same '}' ']'
# six moments, of which ] came back to none but its own
[ "$(sort -u moments | wc -l)" = 6 ] || fail "moments: $(cat moments)"
keys End
sees '^big \(4711\) .*   ended   '
"$BIN/ms-snap" -q --at end -o end.db big.trace
screen
python3 "$SRC/tests/cli/top/numbers.py" screen end.db screen || fail "the end: $(cat screen)"
keys q
ends 0
[ $failures = 0 ] && echo ok
exit $((failures != 0))
