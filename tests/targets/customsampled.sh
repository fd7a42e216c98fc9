#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --hook with --sample: blocks of at least 64 bytes are sampled for certain at a mean of one byte, so that all figures are exact, and
# what malloc gave out inside is not among them; at 4096 bytes the estimates are near the truth.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
hooks="--hook 'own_alloc(size) -> ptr in own' --hook 'own_realloc(ptr, size) -> ptr in own' --hook 'own_free(ptr)'
	--hook 'arena_push(pool, size) -> ptr in arena' --hook 'arena_reset(pool)'"
hooks=$(echo "$hooks" | tr '\n' ' ')
gcc -O2 -g -I"$SRC/include" -o larger "$here/larger.c"
./larger >plain.out
for sample in 0 1; do
	eval "record larger --sample $sample $hooks ./larger"
	cmp plain.out larger.out || fail "--sample $sample: another output"
	expect "--sample $sample" "$(heaps larger)" "$(sort plain.out)"
	sound larger
done
# of a process that runs already; memscope.h says nothing there
eval "attached larger ./larger --sample 1 $hooks"
expect '--sample 1 -p' "$(heaps larger)" "$(grep -v '^told' larger.out | sort)"
sound larger
# 5 % are three standard deviations
./larger 20000 | cut -d '|' -f 1-4 | sort >plain.out
eval "record estimate --sample 4096 --seed 7 $hooks ./larger 20000"
heaps estimate | cut -d '|' -f 1-4 >seen
paste -d '|' plain.out seen | awk -F '|' '{
	for (i = 2; i <= 4; i++) if ($i < 0.95 * $(i + 4) || $i > 1.05 * $(i + 4)) { print "FAILED: of " $1 " far from the truth: " $0; bad = 1 }
	if ($1 != $5) bad = 1
} END { exit bad || NR != 3 }'
sound estimate
