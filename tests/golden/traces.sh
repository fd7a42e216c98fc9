#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces written by earlier versions read as they always did: files in v1 and v2 are added to, never edited.
# v1: addresses of allocated blocks are in columns that are not read any more. v2: as they are written now.
set -eu
unknown() { sed -E 's/^(  [0-9]+ thread [0-9]+ (alloc|realloc|realloc-unknown) .*) at 0x[0-9a-f]+/\1/'; }
for t in "$SRC"/tests/golden/v[12]/*.trace; do
	"$TB/trace-dump" "$t" >out.txt
	case $t in
	*/v1/*) unknown <"${t%.trace}.txt" >want.txt ;;
	*) cp "${t%.trace}.txt" want.txt ;;
	esac
	cmp want.txt out.txt
	"$TB/trace-dump" - <"$t" >piped.txt
	cmp out.txt piped.txt
done
# Today's writer says the same.
for kind in full plain future extended moments verdicts roots; do
	"$TB/trace-golden" "$kind" new.trace
	"$TB/trace-dump" new.trace >new.txt
	if [ "$kind" = plain ]; then set=v1; else set=v2; fi
	cmp new.txt "$SRC/tests/golden/$set/$kind.txt"
done
# What a later version adds is passed over: without it, both say the same.
"$TB/trace-dump" "$SRC/tests/golden/v2/future.trace" | sed -e '/^block/d; /^trace/d; s/ 1000000="[^"]*" 1000001=[0-9]*//' >future.txt
"$TB/trace-dump" "$SRC/tests/golden/v2/full.trace" | sed -e '/^block/d; /^trace/d' >full.txt
cmp future.txt full.txt
