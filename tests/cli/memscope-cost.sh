#!/bin/sh
# SPDX-License-Identifier: MIT
# What a call of memscope.h costs a program that is not recorded, in instructions: memscope(3) says at most three. And that it says and does
# the same, recorded or not.
set -eu
if ! command -v valgrind >which; then
	echo 'part of make check-all: needs valgrind'
	exit 77
fi
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >calls.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <memscope.h>
static char room[64];
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	ms_pool_create(room, "room");
	for (int i = n; i--;) {
		__asm__ volatile("" : : : "memory");
		CALL;
	}
	ms_pool_destroy(room);
	printf("%d calls\n", n);
	return argc == 9;
}
END
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null ./calls "$1" 2>said >calls.out || die "valgrind: $(cat said)"
	awk '/Collected/ { print $4 }' said
}
each() { # CALL: instructions of the program with 100,000 rounds
	gcc -O2 -I"$SRC/include" -DCALL="$1" -o calls calls.c
	count 100000
}
none=$(each '')
for call in 'ms_mark("x")' 'ms_retention("x")' 'ms_label_push("x")' 'ms_label_pop()' 'ms_no_alloc_begin()' 'ms_no_alloc_end()' 'ms_pause()' 'ms_resume()' 'ms_alloc(room, 8)' 'ms_realloc(room, room, 9)' 'ms_free(room)' 'ms_pool_create(room, "room")' \
	'ms_pool_alloc(room, room + 8, 8)' 'ms_pool_free(room, room + 8)' 'ms_pool_reset(room)' 'ms_ignore(room)' 'ms_root(room, 8)'; do
	with=$(each "$call")
	# the start of a program differs by a few instructions
	more=$(((with - none + 50000) / 100000))
	if [ $more -gt 3 ] || [ $more -lt 0 ]; then die "$call: $more instructions"; fi
	./calls 1000 >plain.out
	ms-record -q -o calls.trace ./calls 1000 >calls.out
	cmp plain.out calls.out || die "$call: another output"
done
