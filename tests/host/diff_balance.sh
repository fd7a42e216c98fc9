#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-diff where blocks go from a row to one that is there on both sides: a helper that is a tail call in one build and whose caller allocates too,
# code that moved into another function. What is more in all is found all the same.
set -u
[ -x "$BIN/ms-diff" ] || exit 1
failed=0
fail() {
	echo "FAILED: $*"
	failed=1
}
cat >tail.cc <<'X'
#include <cstdlib>
#include <vector>
#define N __attribute__((noinline))
namespace app {
N static void *grab(int n) { return malloc(n); }
N void load(std::vector<void *> &v) { for (int i = 0; i < 500; i++) v.push_back(grab(1000)); }
N void index(std::vector<void *> &v) { for (int i = 0; i < 300 + MORE; i++) v.push_back(grab(2000)); MOVED }
N void last(std::vector<void *> &v) { STAYS }
}
std::vector<void *> keep;
int main() { FIRST(keep); SECOND(keep); app::last(keep); }
X
body='for (int i = 0; i < 200; i++) v.push_back(malloc(500));'
build() { # NAME LEVEL MORE MOVED STAYS FIRST SECOND
	g++ -g "$2" -DMORE="$3" -DMOVED="$4" -DSTAYS="$5" -DFIRST="app::$6" -DSECOND="app::$7" -o "$1" tail.cc || exit 1
	"$BIN/ms-record" -q -o "$1.trace" "./$1" || fail "cannot record $1"
}
for level in 0 1 2 3; do build "O$level" "-O$level" 0 '' "$body" load index; done
build moved -O1 0 "$body" '' load index
build turned -O1 0 '' "$body" index load
build grown1 -O1 30 '' "$body" load index
build grown2 -O2 30 '' "$body" load index
ask() { sqlite3 -separator ' ' d.db "$1"; }
for pair in 'O1 O2' 'O2 O1' 'O1 O3' 'O0 O2' 'O2 O0' 'O1 moved' 'moved O1' 'moved O2' 'O1 turned'; do
	# shellcheck disable=SC2086
	set -- $pair
	"$BIN/ms-diff" -q --exit-code -o d.db "$1.trace" "$2.trace" || fail "$pair: status $?: $(ask 'SELECT * FROM changes')"
	"$BIN/ms-report" --github d.db >text
	! grep -q 'More memory than before' text || fail "$pair: $(grep More text)"
	case $pair in 'moved O2' | 'O1 turned') continue ;; esac # two moves at once; the vector grows in another function
	[ "$(ask "SELECT count(*) FROM site_diff WHERE kind IN ('grown', 'shrunk', 'new') OR significant = 1")" = 0 ] ||
		fail "$pair: $(ask "SELECT kind, matched, delta_live_bytes, evidence FROM site_diff WHERE kind != 'unchanged'")"
done
# the rows say what they rest on
"$BIN/ms-diff" -q -o d.db O1.trace O2.trace
[ "$(ask "SELECT group_concat(evidence, '|') FROM site_diff WHERE matched = 'frames' AND old_live_bytes IN (500000, 600000)")" = \
	"1 frame fewer, such as 'app::grab'; equal figures|1 frame fewer, such as 'app::grab'; equal figures" ] ||
	fail "evidence: $(ask 'SELECT matched, evidence, old_live_bytes FROM site_diff')"
[ "$(ask "SELECT (SELECT sum(old_live_bytes) FROM site_diff) - (SELECT old FROM diff_total WHERE figure = 'live_bytes')")" = 0 ] || fail 'sums'
# 30 blocks of 2000 bytes more
for pair in 'O1 grown1' 'O1 grown2' 'O2 grown1' 'O2 grown2' 'moved grown1'; do
	# shellcheck disable=SC2086
	set -- $pair
	"$BIN/ms-diff" -q --exit-code -o d.db "$1.trace" "$2.trace"
	[ $? = 1 ] || fail "$pair: growth is not status 1"
	[ "$(ask "SELECT sum(delta_live_bytes) FROM site_diff")" = 60000 ] || fail "$pair: $(ask 'SELECT * FROM changes')"
done
exit $failed
