#!/bin/bash
# SPDX-License-Identifier: MIT
# Code without unwind tables: callers are found by the code itself, with a frame pointer and without. What cannot be known is said; no caller is
# left out.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# The functions from leaf's caller to main, or to where the code does not say how to go on.
main='main __libc_start_call_main __libc_start_main.* _start'
cat >known <<END
(compare (msort_with_tmp|qsort_r|__qsort_r|introsort|.*qsort.*)( .*qsort.*| msort_with_tmp)* sort all MAIN)
(dispatch|mid dispatch) all MAIN
(recurse ){4}all MAIN
many with_many all MAIN
mid outer all MAIN
mid outer in_thread start_thread .*
sized all MAIN
(mid (aligned|framed|plain|moved|hands_on)|(mid )?general) assembly all MAIN
mid (hidden|switched) <cut>
leave( stopped| misled| far_off)? <cut>
END

# check NAME MAIN MORE: those of a recording and no others, all of them.
check() {
	"$BIN/ms-snap" -o "$1.db" "$1.trace" 2>/dev/null || fail "$1: ms-snap"
	python3 "$SRC/tests/host/stacks.py" "$1.db" >stacks || fail "$1: no stacks"
	sed "s/MAIN/$2/" known >wanted
	echo "$3" >>wanted
	grep -vxEf wanted stacks >others && fail "$1: $(cat others)"
	while read -r line; do
		grep -qxE "$line" stacks || fail "$1: none like $line"
	done <wanted
}

# Whose main() ends in exit(), and endless() in longjmp(), of which a frame pointer alone says what called them; but not where the compiler puts a
# call that does not return away from its function.
framed_more="mid endless (all ($main|<cut>)|<cut>)|handle __restore_rt (spin_more )?(spin )?interrupted $main|handle __restore_rt (spin_more )?(spin )?<cut>"
frameless_more="mid endless <cut>|handle __restore_rt (spin_more )?(spin )?(interrupted )?(main )?<cut>"

for i in framed0 framed1 framed2 framed3 framedstatic frameless0 frameless1 frameless2 frameless3; do
	T=$TB/host/tableless-$i
	"$T" >want
	status=$?
	timeout 100 "$BIN/ms-record" --verify --no-symbols -o $i.trace "$T" >got 2>err
	[ $? = $status ] || fail "$i: status: $(cat err)"
	cmp -s want got || fail "$i: output"
	grep -q ' stacks compared, 0 differ' err || fail "$i: $(grep verify err)"
	case $i in
	framed*) check $i "$main" "$framed_more" ;;
	*) check $i 'main <cut>' "$frameless_more" ;;
	esac
done

# Samples, of which whole stacks are remembered.
timeout 100 "$BIN/ms-record" -s 1 --verify --no-symbols -o sampled.trace "$TB/host/tableless-framed2" >got 2>err || fail "sampled: $(cat err)"
grep -q ' stacks compared, 0 differ' err || fail "sampled: $(grep verify err)"
check sampled "$main" "$framed_more"

# Attached to.
"$TB/host/tableless-framed1" 4 >got 2>&1 &
pid=$!
until grep -q ready got; do sleep 0.05; done
timeout 100 "$BIN/ms-record" --verify --no-symbols -o attached.trace -p $pid 2>err || fail "attached: $(cat err)"
wait $pid || fail "attached: status"
grep -q ' stacks compared, 0 differ' err || fail "attached: $(grep verify err)"
check attached "$main" "$framed_more"
finish
