#!/bin/sh
# SPDX-License-Identifier: MIT
# Replays the corpus of every fuzz target, with cuts and changed bytes.
set -eu
count=0
for source in "$SRC"/tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	echo "$name"
	"$TB/fuzz/$name" "$SRC/tests/fuzz/corpus/${name#fuzz_}"
	count=$((count + 1))
done
[ "$count" -gt 0 ]
