#!/bin/sh
# SPDX-License-Identifier: MIT
# memscope.h: ms_pause, ms_resume and ms_realloc, with exact counts; compiles as C and C++ without a remark; costs nothing unrecorded.
set -eu
here=$SRC/tests/cli/memscope/user.c
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
expect() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || die "$1: $2, not $3"
}
warn='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
echo '#include <memscope.h>
int main(void) { ms_mark("a"); ms_retention("r"); ms_alloc("b", 1); ms_realloc("b", "b", 2); ms_free("b"); ms_pause(); ms_resume();
	ms_pool_create("p", "n"); ms_pool_alloc("p", "b", 1); ms_pool_free("p", "b"); ms_pool_reset("p"); ms_pool_destroy("p");
	ms_ignore("b"); ms_root("b", 2); ms_root("b", 0); return 0; }' >all.c
cp all.c all.cc
for std in c99 c11 c17 gnu11; do
	# shellcheck disable=SC2086
	gcc -std=$std $warn -Wstrict-prototypes -I"$SRC/include" -o all all.c || die "$std"
done
for std in c++11 c++17 c++20; do
	# shellcheck disable=SC2086
	g++ -std=$std $warn -Wold-style-cast -Wzero-as-null-pointer-constant -I"$SRC/include" -o allxx all.cc || die "$std"
done
if command -v clang >/dev/null; then
	# shellcheck disable=SC2086
	clang -std=c11 $warn -I"$SRC/include" -o all all.c || die clang
fi
./all || die 'C, not recorded'
./allxx || die 'C++, not recorded'
gcc -static -I"$SRC/include" -o all-static all.c
./all-static || die 'static, not recorded'
ms-record -q -o all.trace ./all || die 'recorded'

record() { # NAME OPTIONS: a recording of ./user as NAME.db
	name=$1
	shift
	ms-record -q --leak-check=no -o "$name.trace" "$@" || die "$name: status $?"
	rm -f "$name.db"
	ms-snap -q -o "$name.db" "$name.trace"
}
ask() { sqlite3 -separator ' ' "$1.db" "$2"; }
site() { # NAME FUNCTION: allocations, frees, reallocations and live bytes at the end of what it called
	ask "$1" "SELECT sum(s.allocations), sum(s.frees), sum(s.reallocations), sum(c.live_bytes) FROM site s JOIN place p ON p.site = s.id
		LEFT JOIN site_stat c ON c.site = s.id AND c.snapshot = (SELECT max(id) FROM snapshot WHERE label = 'end') WHERE p.function = '$2'"
}
for compiler in gcc g++; do
	case $compiler in g++) language='-x c++' ;; *) language= ;; esac
	# shellcheck disable=SC2086
	$compiler $language -O1 -g -Wno-use-after-free -I"$SRC/include" -o user "$here"
	./user || die "$compiler: not recorded: $?"
	record plain ./user
	function() { case $compiler in g++) echo "$1" ;; *) echo "${1%%(*}" ;; esac }
	# 130 of 10 bytes, of which 30 were freed and one was moved away while paused
	expect "$compiler: recorded" "$(site plain "$(function 'recorded(int, int)')")" '130 31 0 990'
	expect "$compiler: left out" "$(site plain "$(function 'left_out(int, int)')")" '   '
	# an allocation, two reallocs; one that was freed; one of a block that nobody knows
	expect "$compiler: its own allocator" "$(site plain "$(function 'own()')")" '5 3 3 370'
	# 175 in the first pause and the realloc, none in the second, 20 to the end
	expect "$compiler: counted" "$(ask plain 'SELECT paused_allocations, paused_ns > 0, events_lost, complete FROM process')" '196 1 0 1'
	expect "$compiler: spans" "$(ask plain "SELECT sum(events), min(reason), max(reason), min(from_ns <= to_ns) FROM loss")" '196 paused paused 1'
	expect "$compiler: frees of what was left out" "$(ask plain 'SELECT unknown_frees FROM process')" 21
	ms-report plain.db | tr -s ' \n' '  ' | grep -q 'paused .*: 196 allocations not recorded' || die "$compiler: the report: $(ms-report plain.db | head -5)"
done
# a child goes on as its parent was, and its pause is its own
record child --follow=all ./user fork
expect 'the parent' "$(site child 'recorded(int, int)')" '130 31 0 990'
trace=$(find child.trace.d -name '*.trace')
ms-snap -q -o kid.db "$trace"
expect 'the child' "$(site kid 'recorded(int, int)')" '20 0 0 200'
expect 'what it left out' "$(ask kid 'SELECT paused_allocations, events_lost FROM process'; site kid 'left_out(int, int)')" '50 0
   '
# the recorder's own pause and the program's: both must be over
record late --start-after mark:done ./user
expect 'before the start mark' "$(site late 'recorded(int, int)'; ask late 'SELECT allocations FROM process')" '   
0'
# told to pause from outside too, whichever ends first
cat >step.c <<'END'
#include <memscope.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile last;
static __attribute__((noinline)) void work(void) { for (int i = 0; i < 10; i++) last = malloc(10); }
int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0); /* and nothing of its own is allocated later */
	for (int c; (c = getchar()) != EOF; putchar('.'))
		c == 'p' ? ms_pause() : c == 'r' ? ms_resume() : work();
	return 0;
}
END
gcc -O1 -g -I"$SRC/include" -o step step.c
mkfifo in out
ms-record -q --leak-check=no -o step.trace ./step <in >out &
recorder=$!
exec 7>in 8<out
step() { printf %s "$1" >&7 && dd bs=1 count=1 <&8 >step.seen 2>dd.log; }
tell() { ms-record -q --tell step.trace "$1" >said || die "$1: $(cat said)"; }
step a # recorded
step p && step a
tell pause
step a && step r && step a # still told to
tell resume
step a # recorded
tell pause
step p && step a
tell resume
step a # still paused by itself
step r && step a # recorded
exec 7>&-
wait $recorder || die "stepped: status $?"
ms-snap -q -o step.db step.trace
expect 'told and by itself' "$(ask step "SELECT sum(s.allocations) FROM site s JOIN place p ON p.site = s.id WHERE p.function = 'work'
	UNION ALL SELECT paused_allocations FROM process")" '30
50'
# pools: heaps by name, blocks that are freed at once, addresses that are used again
cat >pools.c <<'END'
#include <memscope.h>
#include <stdlib.h>
static char a[1000], b[1000], c[1000];
static __attribute__((noinline)) void in(const char *pool, int from, int n)
{
	for (int i = from; i < from + n; i++)
		ms_pool_alloc(pool, pool + i, 3);
}
int main(void)
{
	ms_pool_create(a, "requests");
	ms_pool_create(b, "requests");
	ms_pool_create(c, NULL);
	for (int round = 0; round < 10; round++) {
		in(a, 0, 100);
		ms_pool_free(a, a + 50);
		ms_pool_reset(a);
	}
	in(b, 0, 200), in(b, 300, 50);
	ms_pool_destroy(b);
	ms_pool_create(b, "others");
	in(b, 0, 300);
	ms_pool_create(b, "others"); /* what was there is gone */
	in(b, 10, 20);
	in(c, 0, 40);
	for (int i = 0; i < 5000; i++) { /* a long list of blocks that are gone */
		in(c, 500, 1);
		ms_pool_free(c, c + 500);
	}
	ms_pool_alloc("never made", a, 7);
	free(malloc(5000));
	return 0;
}
END
gcc -O1 -g -fno-builtin -I"$SRC/include" -o pools pools.c
./pools || die 'pools, not recorded'
record pools ./pools
expect 'pools' "$(ask pools 'SELECT heap, allocations, frees, allocated_bytes, coalesce(live_bytes, 0) FROM by_heap ORDER BY heap')" \
	'malloc 5042 5001 20127 127
others 320 300 960 60
requests 1250 1250 3750 0'
expect 'pools: quality' "$(ask pools 'SELECT unknown_frees, inferred_frees FROM process')" '0 0'
ms-report --tree pools.db >pools.txt
grep -q 'heap others' pools.txt || die "pools in the report: $(cat pools.txt)"
record sampled --sample 1 ./user
expect 'sampled' "$(site sampled 'left_out(int, int)')" '   '
