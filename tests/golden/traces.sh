#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces written by earlier versions read as they always did: files in v1 are added to, never edited.
set -eu
for t in "$SRC"/tests/golden/v1/*.trace; do
	"$TB/trace-dump" "$t" >out.txt
	cmp "${t%.trace}.txt" out.txt
	kind=$(basename "$t" .trace)
	# Today's writer says the same, and a pipe reads as a file does.
	"$TB/trace-golden" "$kind" new.trace
	"$TB/trace-dump" new.trace >new.txt
	cmp out.txt new.txt
	"$TB/trace-dump" - <"$t" >piped.txt
	cmp out.txt piped.txt
done
# What a later version adds is passed over: without it, both say the same.
"$TB/trace-dump" "$SRC/tests/golden/v1/future.trace" | sed -e '/^block/d; /^trace/d; s/ 1000000="[^"]*" 1000001=[0-9]*//' >future.txt
"$TB/trace-dump" "$SRC/tests/golden/v1/full.trace" | sed -e '/^block/d; /^trace/d' >full.txt
cmp future.txt full.txt
