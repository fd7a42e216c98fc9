#!/bin/sh
# SPDX-License-Identifier: MIT
# A first screen says the same from the sums at the end of a trace as from its events, byte for byte; sums that are damaged, cut or of another trace are
# not used.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
sums=$TB/cli/sums
mkdir a b
# shellcheck disable=SC2086 # the options
say() { # FOLDER TRACE OPTIONS: what ms-report prints, and its status
	(
		cd "$1"
		shift
		ms-report $2 "$1" 2>&1 || echo "status $?"
	)
}
same() { # TRACE: with what is appended in b as without it in a
	for o in '' --md --leaks '--leaks --md' --ascii '--at 1ms' '--at peak' --json --sites; do
		say a "$1" "$o" >a.txt
		say b "$1" "$o" >b.txt
		cmp a.txt b.txt || fail "ms-report $o $1: $(diff a.txt b.txt | head -20)"
	done
}
check() { # TRACE [WANT]
	name=$(echo "$1" | tr / _)
	cp "$1" "a/$name"
	cp "$1" "b/$name"
	"$sums" add "b/$name" || fail "sums of $1"
	is "sums of $1" "$("$sums" used "b/$name")" "${2-used}"
	same "$name"
}
(cd "$SRC/tests/golden" && ls v[12]/*.trace) >golden
mkdir v1 v2
while read -r t; do
	cp "$SRC/tests/golden/$t" "$t"
	case $t in
	*/extended.trace) check "$t" 'not used' ;; # mapped memory and usable sizes
	*) check "$t" ;;
	esac
done <golden
"$TB/cli/snap-traces"
check run.trace
"$sums" grow grow.trace
check grow.trace
for word in 'GROWING as a leak does' 'ALLOCATED AFTER THE SCAN, not judged: 9.8 KiB, 10 blocks'; do
	say b grow.trace '' | grep -q "$word" || fail "grow.trace has no '$word'"
done
for program in churn peak shortthreads cxx throw leaks/leaks; do
	ms-record -q -o program.trace "$TB/targets/$program" direct >/dev/null 2>&1 || true
	check program.trace
done
ms-record -q --sample 1k -o program.trace "$TB/targets/churn" >/dev/null
check program.trace 'not used'

# ---- appended once; by ms-record when a recording is long, in events and against the time that they take ----
before=$(stat -c %s b/grow.trace)
"$sums" add b/grow.trace
is 'a second time' "$(stat -c %s b/grow.trace)" "$before"
cat >slow.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 600000; i++)
		free(malloc(10));
	sleep(3);
	return 0;
}
END
gcc -fno-builtin -o slow slow.c
ms-record -q -o long.trace ./slow
is 'sums of a long recording' "$("$sums" used long.trace)" used
ms-record -q -o fast.trace "$TB/bench/micro" churn 1200000 12 1000
is 'sums that take long against the recording' "$("$sums" at fast.trace)" ''
ms-record -q -o short.trace "$TB/bench/micro" churn 200000 12 1000
is 'sums of a short recording' "$("$sums" at short.trace)" ''
ms-record -q --without=symbols -o bare.trace "$TB/bench/micro" churn 1200000 12 1000
is 'sums without symbols' "$("$sums" at bare.trace)" ''
cp bare.trace a/bare.trace
ms-snap --symbols=embed --without=cache bare.trace
is 'sums of a trace that gets symbols' "$("$sums" used bare.trace)" used
ms-snap --symbols=embed --without=cache a/bare.trace
cmp a/bare.trace bare.trace
ms-snap -q -o long.db long.trace
ms-report long.db | head -9 | tail -6 >from.db
ms-report long.trace | head -9 | tail -6 | cmp - from.db || fail 'the figures of the snapshot'

# ---- what is left out, changed, or damaged ----
ms-filter --trace-out cut.trace long.trace
is 'sums of a part' "$("$sums" at cut.trace)" ''
cp b/grow.trace damaged.trace
# shellcheck disable=SC2046 # two words
set -- $("$sums" at damaged.trace)
is 'damaged sums that are used' "$("$sums" damage damaged.trace)" 'flipped 0, cut 0'
flip() { # FILE OFFSET
	byte=$(od -A n -t u1 -j "$2" -N 1 "$1")
	printf '%b' "$(printf '\\0%o' $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
for at in $(($1 + 60)) $(($1 + $2 / 2)) $(($1 + $2 - 1)); do
	cp a/grow.trace b/grow.trace
	"$sums" add b/grow.trace
	flip b/grow.trace "$at"
	same grow.trace
	truncate -s "$at" b/grow.trace
	same grow.trace
done
cp a/grow.trace b/grow.trace
"$sums" add b/grow.trace
flip b/grow.trace $(($1 + 20)) # the header of the block
is 'a damaged header' "$("$sums" used b/grow.trace) $(ms-report b/grow.trace >b.txt 2>&1 || echo "status $?")" 'not used status 2'
# a block that was recorded is damaged: what the replay says
for at in 200 300 $(($1 * 2 / 3)) $(($1 - 100)); do
	cp grow.trace a/grow.trace
	cp grow.trace b/grow.trace
	"$sums" add b/grow.trace
	flip a/grow.trace "$at"
	flip b/grow.trace "$at"
	is "sums of a trace that is damaged at $at" "$("$sums" used b/grow.trace)" 'not used'
	same grow.trace
done
# the sums of another trace
"$sums" other other.trace
cp grow.trace b/grow.trace
"$sums" add b/grow.trace
{
	head -c "$1" other.trace
	tail -c +$(($1 + 1)) b/grow.trace
} >mixed.trace
is 'length of the other trace' "$(stat -c %s other.trace)" "$1"
is 'sums of another trace' "$("$sums" used mixed.trace)" 'not used'
finish
