#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces written by earlier versions read as they always did: files in v1 and v2 are added to, never edited.
# v1: addresses of allocated blocks are in columns that are not read any more. v2: as they are written now. What a trace says is in NAME.txt, or in
# NAME.diff where it differs from v1/full.txt in a few lines; most of v2 say what those of v1 do.
set -eu
golden=$SRC/tests/golden
says() { # OUTPUT TRACE [FILTER]: the output is what the trace always said
	of=${2%.trace}
	[ -e "$of.txt" ] || [ -e "$of.diff" ] || of=$golden/v1/${of##*/}
	if [ -e "$of.txt" ]; then
		${3-cat} <"$of.txt" | cmp - "$1"
	else
		${3-cat} <"$golden/v1/full.txt" >full.txt
		diff full.txt "$1" >here.diff || true
		${3-cat} <"$of.diff" | cmp - here.diff
	fi
}
unknown() { sed -E 's/^([<> ]+[0-9]+ thread [0-9]+ (alloc|realloc|realloc-unknown) .*) at 0x[0-9a-f]+/\1/'; }
for t in "$golden"/v[12]/*.trace; do
	"$TB/trace-dump" "$t" >out.txt
	case $t in
	*/v1/*) says out.txt "$t" unknown ;;
	*) says out.txt "$t" ;;
	esac
	"$TB/trace-dump" - <"$t" >piped.txt
	cmp out.txt piped.txt
done
# Today's writer says the same.
for kind in full plain future extended moments verdicts roots retention; do
	"$TB/trace-golden" "$kind" new.trace
	"$TB/trace-dump" new.trace >new.txt
	says new.txt "$golden/v2/$kind.trace"
done
# What a later version adds is passed over: without it, both say the same.
"$TB/trace-dump" "$golden/v2/future.trace" | sed -e '/^block/d; /^trace/d; s/ 1000000="[^"]*" 1000001=[0-9]*//' >future.txt
"$TB/trace-dump" "$golden/v2/full.trace" | sed -e '/^block/d; /^trace/d' >full.txt
cmp future.txt full.txt
