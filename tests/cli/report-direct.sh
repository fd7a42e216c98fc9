#!/bin/sh
# SPDX-License-Identifier: MIT
# The first screen and the leaks of a trace, for which most rows never see a database, say what they say of a snapshot.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >several.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "memscope.h"
static void *kept[400];
__attribute__((noinline)) void *own(size_t n) { static char pool[4096]; static size_t at; return pool + (at += n) - n; }
__attribute__((noinline)) void *lose(int n) { void **v = NULL; while (n--) { void **x = malloc(48); *x = v; v = x; } return v; }
/* sites of which nothing is left: a recursion, and two lines with as many short-lived blocks */
__attribute__((noinline)) void deep(int n) { free(malloc(500 + n)); if (n) deep(n - 1); free(malloc(30)); }
__attribute__((noinline)) void one(void) { free(malloc(24)); }
__attribute__((noinline)) void other(void) { free(malloc(25)); }
static void *work(void *arg)
{
	for (int i = 0; i < 400; i++) {
		kept[i] = malloc(100 + i);
		if (i % 3 == 0) { free(kept[i]); kept[i] = NULL; }
		if (i % 8 == 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	ms_mark("warm");
	for (int i = 0; i < 700; i++) { one(); other(); if (i % 17 == 0) deep(i % 12); }
	free(malloc(30000));
	void *volatile lost = lose(20);
	lost = own(argc);
	puts(*argv);
	lost = NULL;
	return lose(2) != NULL && lost ? 0 : 0;
}
C
gcc -g -pthread -I"$SRC/include" -o several several.c
record() { # NAME OPTION...
	name=$1
	shift
	ms-record -q -o "$name.trace" "$@" -- ./several >/dev/null
}
record usual
record scanned --leak-check=yes
record all --mmap --usable-size --free-stacks
record sampled -s 256 --seed 1
record heaps --hook 'own(size) -> ptr'
record late --start-after mark:warm
cp "$SRC"/tests/golden/v2/*.trace .

# same MOMENT OPTION...: for all traces
same() {
	at=$1
	shift
	for t in *.trace; do
		ms-snap -q --at peak --at end ${at:+--at "$at"} -o t.db "$t" 2>/dev/null || [ -s t.db ] || continue
		ms-report "$@" ${at:+--at "$at"} <t.db >want 2>want.err || :
		ms-report "$@" ${at:+--at "$at"} <"$t" >have 2>have.err || :
		[ -s want ] || die "nothing of $t: $(cat want.err)"
		cmp want have || die "$t: $*"
		cmp want.err have.err || die "$t: $*: $(cat have.err)"
		rm t.db
	done
}
same ''
same '' --limit 0 --full-names --width 160
same '' --leaks
same '' --leaks --md --limit 0
same 50%
same peak --md
same mark:warm --leaks
