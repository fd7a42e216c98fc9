#!/bin/bash
# SPDX-License-Identifier: MIT
# Children that fork without exec: exact figures of each process, many at a time and one after the other, limits, and nothing left behind.
set -u
failures=0
fail() {
	failures=$((failures + 1))
	echo "$*"
}
left() { # nothing of ours may be left
	[ -z "$(find /dev/shm -newer start -name '*memscope*' 2>/dev/null)" ] || fail "$1 left shared memory"
	pgrep -f "$TB/host/forks" >/dev/null && fail "$1 left processes"
}
touch start
scenes='fork late raw handler grandchild twice exec spawn none daemon threads first timer'
FORKS_TRUTH=$PWD/truth
export FORKS_TRUTH

exact() { # OPTION...: figures of all scenes
	rm -f truth
	# shellcheck disable=SC2086 # words
	timeout 60 "$BIN/ms-record" --follow=all --no-symbols "$@" -o f.trace "$TB/host/forks" $scenes >out 2>err || fail "$*: status $?: $(cat err)"
	[ -s out ] && fail "$*: output: $(cat out)"
	"$BIN/ms-snap" --no-symbols -o f.db f.trace f.trace.d || fail "$*: ms-snap"
	python3 "$SRC/tests/host/forks.py" truth f.db >wrong || fail "$*: $(cat wrong)"
	rm -f f.db
}
exact
exact --verify
grep -q ' 0 differ$' err || fail "wrong stacks: $(grep verify err)"
left 'all scenes'

[ $failures = 0 ] && echo ok
exit $((failures != 0))
