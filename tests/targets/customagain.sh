#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --hook, a process attached to again: what was hooked in modules that were opened later has slots beside each other, and a new hook
# takes none of theirs. Compared exactly, the program's own output with it.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
for plug in one two; do gcc -O2 -g -shared -fPIC -DPLUG=$plug -o $plug.so "$here/again.c"; done
gcc -O2 -g -o again "$here/again.c" -ldl

round() { # once more: to the program, and what it says to `said`
	echo >&7
	read -r said <&8
}
recorded() { # NAME HOOKED...: a round, recorded
	name=$1
	shift
	for f in "$@"; do set -- "$@" --hook "$f(size) -> ptr" && shift; done
	ms-record -o "$name.trace" "$@" -p $target 2>"$name.err" &
	recorder=$!
	until ms-record -q --tell "$name.trace" status >told 2>&1; do
		kill -0 "$recorder" 2>dead || fail "$name: $(cat "$name.err")"
		sleep 0.05
	done
	round
	kill -INT "$recorder"
	wait "$recorder" || fail "$name: status $?: $(cat "$name.err")"
	ms-snap -q -o "$name.db" "$name.trace"
}

mkfifo to from
./again <to >from &
target=$!
exec 7>to 8<from
# the second module's slots lie behind the first one's
recorded first one_a two_a
plain=$said
expect first "$(heaps first "heap <> 'malloc'" | cut -d'|' -f1-4 | xargs)" 'one_a|1|0|10 two_a|1|0|10'
recorded second one_a two_a one_b two_b
expect 'second: what the program got' "$said" "$plain"
expect second "$(heaps second "heap <> 'malloc'" | cut -d'|' -f1-4 | xargs)" 'one_a|1|0|10 one_b|1|0|10 two_a|1|0|10 two_b|1|0|10'
round
expect 'let go: what the program got' "$said" "$plain"
exec 7>&-
wait $target || fail "the program: status $?"
