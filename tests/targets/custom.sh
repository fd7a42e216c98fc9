#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --hook: custom allocators that count for themselves, compared exactly; registers kept; exceptions; refusals.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
hook() { # a file of specifications, as options
	sed "s/.*/--hook '&'/" "$1" | tr '\n' ' '
}
# C: nine allocators and a wrapper of malloc
for flags in -O2 '-O2 -flto' -O0; do
	# shellcheck disable=SC2086
	gcc $flags -g -o allocators "$here/allocators.c"
	./allocators >plain.out
	eval "record allocators $(hook "$here/allocators.hooks") ./allocators"
	cmp plain.out allocators.out || fail "$flags: another output"
	heaps allocators "heap <> 'malloc'" >seen
	sort plain.out | diff - seen || fail "$flags: other figures"
	# malloc's are the program's own, not what they cut their blocks from
	expect "$flags: malloc" "$(ask allocators "SELECT allocations, allocated_bytes FROM by_heap WHERE heap = 'malloc'")" '19|12408'
	sound allocators
done
ms-report --tree allocators.db | grep -q 'heap xmalloc' || fail 'no heap in the tree'
# what is behind each: pool_alloc takes 64 KiB at a time, xmalloc's blocks are malloc's own
expect backing "$(ask allocators "SELECT heap, peak_bytes, backing_bytes, backing_blocks, backing_max_bytes, unused_bytes FROM by_heap
	WHERE heap IN ('pool_alloc', 'xmalloc', 'malloc', 'bump') ORDER BY heap")" 'bump|4021||||
malloc|12345||||
pool_alloc|9950|65536|1|65536|55586
xmalloc|300077|300077|101|303000|0'
ms-report --heaps --csv allocators.db >heaps.csv
grep -q '^pool_alloc,9950,100,9950,502500,5000,4900,65536,55586
$' heaps.csv || fail "--heaps: $(cat heaps.csv)"
ms-report allocators.db | grep -q '^Heaps    live in take_static 294.4 KiB, xmalloc 293.0 KiB (backing 293.0 KiB), 8 more' || fail 'no line of heaps on the first screen'
ms-report -q --html=heaps.html allocators.db
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SRC/tests/cli/html python3 -c 'from page import Page
rows = [t["rows"] for t in Page("heaps.html").json["tables"] if t["id"] == "heaps"]
assert len(rows) == 1 and any(r[1] == "take_static" for r in rows[0]), rows' || fail 'no heaps on the page'
if ms-report --modules allocators.db | grep -q xmalloc; then fail 'a heap is said to be a module'; fi
eval "record hidden $(sed 's/$/ hide/' "$here/allocators.hooks" | sed "s/.*/--hook '&'/" | tr '\n' ' ') ./allocators"
heaps hidden "heap <> 'malloc'" >seen
sort plain.out | diff - seen || fail 'hidden: other figures'
sound hidden

# every register of a caller that relies on the function's own use of them
for flags in -O2 '-O2 -flto' '-O3 -fwhole-program'; do
	# shellcheck disable=SC2086
	gcc $flags -o registers "$here/registers.c"
	./registers >plain.out || fail "registers $flags: not recorded"
	record registers --hook 'pool_alloc(size) -> ptr' --hook 'asm_alloc(size) -> ptr' ./registers
	cmp plain.out registers.out || fail "registers $flags: $(cat registers.out)"
	expect "registers $flags" "$(ask registers "SELECT heap, allocations, allocated_bytes FROM by_heap WHERE heap <> 'malloc'")" 'pool_alloc|20000|390000
asm_alloc|2000|48000'
done

# the same in processes that run already
gcc -O2 -g -o allocators "$here/allocators.c"
./allocators >plain.out
eval "attached allocators ./allocators $(hook "$here/allocators.hooks")"
cmp plain.out allocators.out || fail '-p: another output'
heaps allocators >seen
{ cat plain.out && echo 'malloc|19|18|12408|12345'; } | sort | diff - seen || fail '-p: other figures'
sound allocators
gcc -O2 -flto -o registers "$here/registers.c"
./registers >plain.out
attached registers ./registers --hook 'pool_alloc(size) -> ptr' --hook 'asm_alloc(size) -> ptr'
cmp plain.out registers.out || fail "registers, -p: $(cat registers.out)"
expect 'registers, -p' "$(ask registers 'SELECT heap, allocations, allocated_bytes FROM by_heap WHERE heap IN ('"'pool_alloc', 'asm_alloc'"')')" \
	'pool_alloc|20000|390000
asm_alloc|2000|48000'

# C++: members, templates, exceptions that leave the function
g++ -O2 -g -o members "$here/members.cc"
./members >plain.out 2>plain.err
record members --hook 'app::Pool::alloc(unsigned long)(_, size) -> ptr' --hook 'app::Pool::release(_, ptr)' \
	--hook 'outer_alloc(_, size) -> ptr' --hook 'app::Slab<double>::take(_, size32) -> ptr in take' ./members
{ cmp plain.out members.out && cmp plain.err members.err; } || fail 'members: another output'
ask members "SELECT heap, allocations, frees, failed_allocations, allocated_bytes, coalesce(live_bytes, 0) FROM by_heap WHERE heap <> 'malloc'" | sort >seen
sort plain.out | diff - seen || fail 'members: other figures'
sound members

# what cannot be hooked is said before the program has begun, and it is not run
cat >refused.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, used))
KEPT static void *copied(size_t n, int f) { return f ? malloc(n * (size_t)f) : calloc(1, n); }
static void *twice(size_t n) { return n ? malloc(n) : NULL; }
void *one(size_t n) { return copied(n, 3); }
void *two(size_t n) { return copied(n + 1, 3); }
__asm__(".globl short_one\n.type short_one, @function\nshort_one:\n\txor %eax, %eax\n\tret\n.size short_one, .-short_one\n"
	".globl other\n.type other, @function\nother:\n\tmov %rdi, %rax\n\tret\n.size other, .-other\n"
	".globl back\n.type back, @function\nback:\n\tsub $1, %rdi\n0:\tdec %edi\n\tjnz 0b\n\tmov %rdi, %rax\n\tret\n.size back, .-back\n"
	".type cloned.constprop.0, @function\ncloned.constprop.0:\n\tmov %rdi, %rax\n\tadd $3, %rax\n\tret\n.size cloned.constprop.0, .-cloned.constprop.0\n");
int main(void)
{
	puts("it ran");
	free(one(1)), free(two(2)), free(twice(3));
	return 0;
}
END
gcc -O2 -c -o refused.o refused.c
cat >twin.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *twice(size_t n) { return malloc(n + 1); }
void *twin(size_t n) { return twice(n); }
END
gcc -O0 -c -o twin.o twin.c
gcc -O0 -o refused refused.c twin.o
refused() { # SPEC WHY
	if ms-record -q -o refused.trace --hook "$1" ./refused >refused.out 2>refused.err; then
		fail "$1 was not refused"
	else
		expect "$1" $? 125
	fi
	grep -q "^ms-record: cannot hook '.*': $2" refused.err || fail "$1: $(cat refused.err)"
	if [ -s refused.out ] || [ -e refused.trace ]; then fail "$1: it was run"; fi
}
refused 'short_one(size) -> ptr' 'its code is too short for a jump'
refused 'cloned(size) -> ptr' "the compiler made a specialized copy, 'cloned.constprop.0': calls to that copy would be missed"
refused 'twice(size) -> ptr' 'there are several: twice in refused, twice in refused'
refused 'back(size) -> ptr' 'it jumps back to its first instructions, which a hook replaces'
for bad in 'f' 'f(x)' 'f(size)' 'f(_)' 'f(size, size) -> ptr' 'f(_) -> ptr' 'f(size) -> int' '(size) -> ptr' 'f(size) -> ptr at once' 'f(ptr) -> pool'; do
	if ms-record -q -o bad.trace --hook "$bad" ./refused >bad.out 2>bad.err; then fail "'$bad' was accepted"; fi
	grep -q "^ms-record: bad --hook" bad.err || fail "'$bad': $(cat bad.err)"
done
sleep 60 &
if ms-record -q -o refused.trace --hook 'malloc(size) -> ptr' -p $! 2>refused.err; then fail 'malloc, -p: was not refused'; else expect 'malloc, -p' $? 125; fi
grep -q "^ms-record: cannot hook 'malloc' in process $!: " refused.err || fail "malloc, -p: $(cat refused.err)"
kill $!
# a function that another program has: said at the end, all others are hooked
ms-record -o none.trace --hook 'nobody(size) -> ptr' --hook 'one(size) -> ptr' sh -c ./refused >none.out 2>none.err
expect 'not found: output' "$(cat none.out)" 'it ran'
grep -q "'nobody' was not found in any program" none.err || fail "not found: $(cat none.err)"
if grep -q "'one'" none.err; then fail "found in what was executed: $(cat none.err)"; fi
# what is behind it since a moment, and of an image that is gone
backings() {
	printf '%s: ' "$*"
	ms-snap --no-symbols "$@" backing.trace | cat >backing.db
	ask backing 'SELECT backing_bytes, backing_blocks, backing_max_bytes, backings FROM heap' | paste -sd ' '
}
gcc -O1 -g -I"$SRC/include" -o backing "$here/backing.c"
ms-record -q -o backing.trace --hook 'pool_alloc(size) -> ptr' ./backing again
{
	backings
	backings --from mark:middle
	backings --read=part --from mark:middle
} >seen
expect 'what is behind a pool' "$(cat seen)" ': 0|0|655360|10 655360|10|655360|10
--from mark:middle: 0|0|655360|2 655360|10|655360|2
--read=part --from mark:middle: 0|0|655360|2 655360|10|655360|2'
