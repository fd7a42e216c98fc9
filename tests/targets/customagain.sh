#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --hook, modules that are opened later: what is hooked keeps its slot while it is there, in a forked child and when the process is
# attached to again, and is forgotten with its module. Compared exactly, the program's own output with it.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
for plug in one two; do gcc -O2 -g -shared -fPIC -DPLUG=$plug -o $plug.so "$here/again.c"; done
gcc -O2 -g -o again "$here/again.c" -ldl
counts() { # NAME: allocations of each function
	heaps "$1" "heap <> 'malloc'" | cut -d'|' -f1,2 | xargs
}

round() { # once more: to the program, and what it says to `said`
	echo 12 >&7
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
# the second module's slots lie behind the first one's in the same page
recorded first one_a two_a
plain=$said
expect first "$(counts first)" 'one_a|1 two_a|1'
recorded second one_a two_a one_b two_b
expect 'second: what the program got' "$said" "$plain"
expect second "$(counts second)" 'one_a|1 one_b|1 two_a|1 two_b|1'
round
expect 'let go: what the program got' "$said" "$plain"
exec 7>&-
wait $target || fail "the program: status $?"

# a child that opens a module has hooks of before
echo 1f2121 >child.in
./again <child.in >plain.out
record parent --follow=all --hook 'one_a(size) -> ptr' --hook 'one_b(size) -> ptr' --hook 'two_a(size) -> ptr' ./again <child.in
cmp plain.out parent.out || fail "child: another output: $(cat parent.out)"
expect parent "$(counts parent)" 'one_a|1 one_b|1'
ms-snap -q -o child.db parent.trace.d/*.1.trace
expect child "$(counts child)" 'one_a|2 one_b|2 two_a|2'

# another module where a hooked one was, with the same bytes, is looked at again when the next one is opened
echo 1c2m22 | record gone --hook 'one_a(size) -> ptr' ./again
grep -q '^one_a .* two_a there ' gone.out || fail "gone: the second module lies elsewhere: $(cat gone.out)"
expect gone "$(counts gone)" 'one_a|1'
