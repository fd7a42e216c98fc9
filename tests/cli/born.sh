#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-filter --born and --alive-at: blocks by when they were allocated and a moment at which they were live, with numbers that the program makes.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
PATH=${BIN:?}:$PATH
export LC_ALL=C.UTF-8
cat >phases.c <<'END_C'
#include "memscope.h"
#include <stdlib.h>
static void *volatile early[100], *volatile middle[200], *volatile late[50], *volatile large[10];
__attribute__((noinline)) static void *make(size_t size) { return malloc(size); }
__attribute__((noinline)) static void *resize(void *p, size_t size) { return realloc(p, size); }
static void drop(void *volatile *v, int from, int to)
{
	for (int i = from; i < to; i++)
		free(v[i]), v[i] = NULL;
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		early[i] = make(10);
	for (int i = 0; i < 10; i++)
		large[i] = make(1000);
	ms_mark("a b");
	for (int i = 0; i < 200; i++)
		middle[i] = make(20);
	for (int i = 0; i < 5; i++)
		large[i] = resize(large[i], 2000);
	drop(middle, 0, 150);
	drop(early, 0, 60);
	ms_mark("done");
	for (int i = 0; i < 50; i++)
		late[i] = make(30);
	drop(middle, 150, 180);
	drop(late, 0, 40);
	return 0;
}
END_C
gcc -O1 -g -fno-builtin -I"${SRC:?}/include" -o phases phases.c
ms-record -q -o run.trace ./phases
# is WHAT ALLOCATIONS BYTES BLOCKS-AT-THE-END BYTES-AT-THE-END ARGUMENT...
is() {
	local what=$1 want="$2|$3|$4|$5"
	ms-filter -q -o part.db "${@:6}" run.trace || die "$what: status"
	local got
	got=$(sqlite3 part.db 'SELECT allocations, allocated_bytes, unfreed_blocks, unfreed_bytes FROM process')
	[ "$got" = "$want" ] || die "$what: $got, not $want"
}
# between the marks: 200 of 20 bytes and 5 that were made larger
is 'born between' 205 14000 25 10400 --born 'mark:a b..mark:done'
is 'and alive at its end' 55 11000 25 10400 --born 'mark:a b..mark:done' --alive-at mark:done
is 'and alive at the end' 25 10400 25 10400 --born 'mark:a b..mark:done' --alive-at end
ms-report part.db >screen
grep -q "^Blocks   born 'mark:a b..mark:done' and alive at end: 10.2 KiB in 25 blocks\$" screen || die "the line: $(cat screen)"
grep -q "cut out of run.trace by --when=born:'mark:a b..mark:done' --when=alive-at:end" screen || die "where from: $(cat screen)"
! grep -q 'not live heap' screen || die "it is not all of the heap: $(cat screen)"
[ "$(sqlite3 part.db "SELECT count(*), sum(d.live_blocks) FROM site_stat d JOIN snapshot t ON t.id = d.snapshot WHERE t.label = 'end'")" = '2|25' ] || die 'sites at the end'
# what was made larger was born then, and its old block is gone
is 'before' 110 11000 45 5400 --born '..mark:a b'
is 'before, at the first mark' 110 11000 45 5400 --born '..mark:a b' --alive-at 'mark:a b'
is 'after' 50 1500 10 300 --born mark:done..
is 'alive at the mark' 100 16400 70 15800 --alive-at mark:done
is 'at any of two moments' 165 22000 70 15800 --born '..mark:done' --alive-at 'mark:a b' --alive-at mark:done
is 'born in any of two spans' 160 12500 55 5700 --born '..mark:a b' --born mark:done..
is 'all' 365 26500 80 16100 --born start..end
ms-report --width 120 part.db | grep -q '^Blocks   born start..end: 25.9 KiB in 365 blocks, 15.7 KiB in 80 blocks still live at the end$' || die "$(ms-report part.db)"
ms-report --md part.db | grep -q '^| only blocks | | born start..end: ' || die --md
# with a condition on sites, which hides, and as a trace with those on blocks
is 'and of a site' 205 14000 25 10400 --born 'mark:a b..mark:done' --min 5000
[ "$(sqlite3 part.db 'SELECT count(*) FROM site')" = 1 ] || die 'a condition on sites'
ms-filter -q --born 'mark:a b..' --alive-at mark:done --size 2000 --trace-out cut.trace run.trace
ms-snap -q -o cut.db cut.trace
[ "$(sqlite3 cut.db 'SELECT allocations, unfreed_bytes FROM process')" = '5|10000' ] || die "a trace: $(sqlite3 cut.db 'SELECT allocations, unfreed_bytes FROM process')"
ms-report cut.trace | grep -q "^Blocks   born 'mark:a b..' and alive at mark:done: 9.8 KiB in 5 blocks\$" ||
	die "$(ms-report cut.trace | head -9)"
# refused, and nothing is left behind
refused() { # WORDS ARGUMENT...
	! ms-filter -o none.db "${@:2}" 2>err || die "not refused: ${*:2}"
	[ "$(cat err)" = "ms-filter: $1" ] || die "${*:2}: $(cat err)"
	[ ! -e none.db ] || die 'written'
}
mkdir empty
export TMPDIR=$PWD/empty
ms-snap -q -o all.db run.trace
refused "option '--when=born' needs the trace: the snapshot 'all.db' lacks the times of individual blocks" --born 1ms..2ms all.db
refused "option '--when=alive-at' reads the trace more than once, which a pipe does not allow: give the file itself" --alive-at end - <run.trace
refused "option '--when=born' takes one trace: '.' is a folder" --born 1ms.. .
refused "option '--when=born': 'mark:done..mark:a b' ends before it begins" --born 'mark:done..mark:a b' run.trace
refused "option '--when=born': '1s' is no span: give FROM..TO, FROM.. or ..TO" --born 1s run.trace
refused "option '--invert' needs '--trace-out' if '--when=born' or '--when=alive-at' is given" --born 1ms.. --invert run.trace
! ms-filter -q -o none.db --alive-at mark:none run.trace 2>err || die 'no such mark'
grep -q "^ms-filter: no point 'mark:none' in the recording" err || die "no such mark: $(cat err)"
ms-filter -q -o some.db --alive-at end run.trace
[ -z "$(ls empty)" ] || die "left behind: $(ls -R empty)"
echo ok
