#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces written by earlier versions read as they always did: files in v1 and v2 are added to, never edited.
# v1: addresses of allocated blocks are in columns that are not read any more. v2: as they are written now; most texts are v1's.
set -eu
text() { # OF A TRACE
	of=${1%.trace}.txt
	[ -e "$of" ] || of=$SRC/tests/golden/v1/${of##*/}
	cat "$of"
}
unknown() { sed -E 's/^(  [0-9]+ thread [0-9]+ (alloc|realloc|realloc-unknown) .*) at 0x[0-9a-f]+/\1/'; }
for t in "$SRC"/tests/golden/v[12]/*.trace; do
	"$TB/trace-dump" "$t" >out.txt
	case $t in
	*/v1/*) text "$t" | unknown >want.txt ;;
	*) text "$t" >want.txt ;;
	esac
	cmp want.txt out.txt
	"$TB/trace-dump" - <"$t" >piped.txt
	cmp out.txt piped.txt
done
# Today's writer says the same.
for kind in full plain future extended moments verdicts roots; do
	"$TB/trace-golden" "$kind" new.trace
	"$TB/trace-dump" new.trace >new.txt
	text "$SRC/tests/golden/v2/$kind.trace" | cmp new.txt -
done
# What a later version adds is passed over: without it, both say the same.
"$TB/trace-dump" "$SRC/tests/golden/v2/future.trace" | sed -e '/^block/d; /^trace/d; s/ 1000000="[^"]*" 1000001=[0-9]*//' >future.txt
"$TB/trace-dump" "$SRC/tests/golden/v2/full.trace" | sed -e '/^block/d; /^trace/d' >full.txt
cmp future.txt full.txt
