#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader in another language, written from ms-trace(5) alone, finds the same events; the page names every number.
set -eu
for t in "$SRC"/tests/golden/v1/plain.trace "$SRC"/tests/golden/v2/*.trace; do
	python3 "$SRC/tests/golden/reader.py" "$t" >there.txt
	"$TB/trace-dump" "$t" | grep -E '^  (from allocation|[0-9]+ thread)' >here.txt # traces.sh compares it with the text
	[ "$(wc -l <here.txt)" -gt 900 ]
	cmp here.txt there.txt
done
# Fields and block types of the header file stand in the page with their numbers.
tr -s "\n\t " " " <"$SRC/format/trace.h" |
	grep -oE 'MS_(BLOCK|BEFORE|INFO|MODULE|INDEX|THREAD|SAMPLE|MARK|LOSS|LOST|END|ENDED|RESIDENT|RETENTION|KEEPER|SYM|SYMBOLS|VERDICT)_[A-Z_]+ = [0-9]+,' |
	sed -E 's/^MS_[A-Z]+_([A-Z_]+) = ([0-9]+),/.It \2 Li \1/' | sort >want.txt
grep -E '^\.It [0-9]+ Li ' "$SRC/man/ms-trace.5" | sort >have.txt
diff want.txt have.txt
