#!/bin/sh
# SPDX-License-Identifier: MIT
# A comparison for people: a recursion is one row, rows that read the same are told apart, a root that is lost anew is listed however
# small it is, columns that no row knows are left out, and what is to be typed next keeps the moment.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# expect FILE PATTERN
expect() { grep -Eq -- "$2" "$1" || die "$1 has no '$2': $(cat "$1")"; }
never() { ! grep -Eq -- "$2" "$1" || die "$1 has '$2': $(cat "$1")"; }
cp "$SRC/tests/cli/report/changes.c" .
gcc -g -O1 -fno-optimize-sibling-calls -o changes changes.c
# line PATTERN: its line in the source
line() { grep -n -- "$1" changes.c | cut -d: -f1; }
for what in old trees items lost; do
	ms-record -q -o $what.trace ./changes $what
	ms-diff -q -o $what.db old.trace $what.trace
	ms-report $what.db >$what
	ms-report --md $what.db >$what.md
	ms-report --html=$what.html $what.db
done

# ---- three trees more: 3 x 511 nodes of 64 bytes, each at a site of its own ----
expect trees '^CHANGED by more than noise: 1 site$'
expect trees "^ \+95\.8 KiB +\+95\.8 KiB +\+1,533 +\+95\.8 KiB +[0-9]+  grown  build changes.c:$(line 'calloc(4, sizeof \*n);$' | head -n 1)\$"
expect trees '^ +sum of 511 sites of the same recursion$'
never trees '^Rest .*within noise'
# shellcheck disable=SC2016
expect trees.md '^\| grown \| \+95\.8 KiB \| \+95\.8 KiB \| \+1,533 \| \+95\.8 KiB \| `build` changes.c:[0-9]+ .* `main`, sum of 511 sites of the same recursion \|$'
ms-report --full-names trees.db >full
never full 'same recursion'
[ "$(ms-report --csv --limit 0 trees.db | wc -l)" -gt 512 ] || die 'CSV folds'

# ---- new_item < add, called by two ----
expect items "^ +< parse changes.c:$(line '^	add();$' | head -n 1)\$"
expect items "^ +< copy changes.c:$(line '^	add();$' | tail -n 1)\$"
# shellcheck disable=SC2016
expect items.md '^\| grown .* `new_item` changes.c:[0-9]+ ← `add` ← `copy` changes.c:[0-9]+ \|$'

# ---- a root of 16 bytes with 500 nodes: no figure changed but what is unreachable ----
expect lost '^NEWLY UNREACHABLE, nothing points to these: 31\.3 KiB, 501 blocks, 1 site$'
expect lost "^ 31\.3 KiB +501 +[0-9]+  open_index +changes.c:$(line 'malloc(sizeof \*first)')\$"
expect lost '^ +16 B in 1 block \+ 31\.2 KiB in 500 blocks lost with it$'
expect lost '^NOTHING CHANGED by more than noise$'
expect lost.md '^#### NEWLY UNREACHABLE'
# shellcheck disable=SC2016
expect lost.md '^\| 31\.3 KiB \| 501 \| [0-9]+ \| `open_index` '
ms-diff -q lost.trace lost.trace | ms-report >same
never same 'NEWLY'

# ---- two moments of one trace: only what is live is compared ----
ms-diff -q items.trace@end items.trace@start | ms-report >moments
ms-diff -q items.trace@end items.trace@start | ms-report --md >moments.md
expect moments '^ +live  # '
never moments 'n/a'
never moments.md 'n/a'
expect moments.md '^\| what \| live \| where \|$'
expect moments '^Next +ms-report --site [0-9]+ items.trace(@start)?$'
ms-diff -q items.trace@start items.trace@peak | ms-report >peak
expect peak '^Next +ms-report --site [0-9]+ items.trace@peak$'

# ---- names that a shell would take apart ----
ms-diff -q -o 'two words.db' old.trace items.trace
ms-report 'two words.db' >quoted
expect quoted "^Next +ms-report --site [0-9]+ 'two words.db'$"
ms-record -o "it's one.trace" ./changes 2>said
expect said "^next: ms-report 'it'\\\\''s one.trace'$"
