#!/bin/sh
# SPDX-License-Identifier: MIT
# The groups of the first screen and their order, the same as text and as Markdown: what was kept all along, churn, a cycle with where it was
# closed, and a recursion as one row.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cp "$SRC/tests/cli/report/groups.c" .
gcc -g -O1 -fno-optimize-sibling-calls -o groups groups.c
# order FILE: the groups
order() { sed -nE 's/^(#### )?(UNREACHABLE|GROWING|KEPT|CHURN|BUSIEST|MOST|PEAK|LIVE)( [A-Z]|[,:]|  | at ).*/\2/p' "$1" | tr '\n' ' '; }
report() { # NAME: records and reports it
	ms-record -q -o "$1.trace" ./groups "$1"
	ms-report "$1.trace" >"$1"
	ms-report --md "$1.trace" >"$1.md"
}
for what in kept given churn keys cycle tree stray; do
	report $what
done
# Whether a site allocates all along is judged by the clock, and a busy machine may stop the program for half of its run: that run is not judged here.
for _ in 1 2 3 4 5 6 7 8 9; do
	grep -q 'KEPT ALL ALONG' kept && break
	report kept
done
# line PATTERN: its line in the source
line() { grep -n -- "$1" groups.c | cut -d: -f1; }
# expect FILE PATTERN
expect() { grep -Eq -- "$2" "$1" || die "$1 has no '$2': $(cat "$1")"; }
for as in '' .md; do
	[ "$(order kept$as)" = 'KEPT PEAK LIVE CHURN ' ] || die "kept$as: $(order kept$as)"
	[ "$(order churn$as)" = 'CHURN PEAK LIVE ' ] || die "churn$as: $(order churn$as)"
	[ "$(order cycle$as)" = 'UNREACHABLE PEAK BUSIEST ' ] || die "cycle$as: $(order cycle$as)"
	[ "$(order tree$as)" = 'UNREACHABLE PEAK BUSIEST ' ] || die "tree$as: $(order tree$as)"
done

# ---- kept: 3,000 blocks of 200 bytes beside 8 of 100,000, which are as many from the start ----
for as in '' .md; do
	expect kept$as 'KEPT ALL ALONG, run too short to judge growth; at the peak: 585\.9 KiB, 3,000 blocks, 1 site$'
	expect kept$as '3,000 blocks allocated between [0-9.]+ ms and [0-9.]+ ms, at most 3,000 live at once'
done
expect kept "^585\.9 KiB +3,000 +[0-9]+  remember +groups.c:$(line 'struct node \*n = malloc')$"

# ---- given: nine tenths of them were given back before the end, which is no freeing at exit ----
for as in '' .md; do
	! grep -q 'KEPT ALL ALONG' given$as || die "given$as: $(cat given$as)"
done

# ---- churn: 8,000 strings, of 2 to 8,001 bytes ----
expect churn "^CHURN    100 % of all calls and 98 % of bytes: longer groups.c:$(line 'char \*s = malloc'), 8,000 blocks$"
expect churn '^ {9}100 % freed within 10 allocations, #[0-9]+, called by churn, mean 3\.9 KiB$'
expect churn.md '^#### CHURN: 100 % of all calls and 98 % of bytes$'
# shellcheck disable=SC2016
expect churn.md '^\| 8,000 \| 30\.5 MiB \| [0-9]+ \| `longer` groups.c:[0-9]+ ← `churn`: 8,000 blocks, 100 % freed within 10 allocations, &#35;[0-9]+, mean 3\.9 KiB \|$'
expect churn '^ {9}ms-report --temporary churn.trace +what is freed immediately$'

# ---- keys: two sites of one line, 4,000 blocks each, and 5,000 blocks of another that stay: no site of that line is the busiest ----
expect keys "^CHURN    62 % of all calls: key groups.c:$(line 'twice'), 8,000 blocks, 100 % freed within 10 allocations$"
expect keys '^ {9}2 sites, the busiest #[0-9]+, called by keys, mean 25 B$'
ms-snap -q -o keys.db keys.trace
ms-report keys.db >direct
grep -A1 '^CHURN' keys >trace
grep -A1 '^CHURN' direct | cmp - trace || die "the snapshot says $(cat direct)"


# ---- stray: of 97 sessions with their texts 3 are still reached; of 100 blocks 40, which are no strays ----
for as in '' .md; do
	[ "$(order stray$as)" = 'UNREACHABLE LIVE PEAK BUSIEST ' ] || die "stray$as: $(order stray$as)"
done
expect stray '^UNREACHABLE AT THE END, .*: 112\.5 KiB, 254 blocks, 2 sites$'
expect stray '^ +6\.1 KiB in 97 blocks \+ 94\.7 KiB in 97 blocks lost with it$'
expect stray '^ +6 more blocks \(3\.1 KiB\) are still reachable, perhaps through a stale pointer$'
expect stray.md ' lost with it; 6 more blocks \\\(3\.1 KiB\\\) are still reachable, perhaps through a stale pointer \|$'
expect stray '^LIVE AT THE END, .*: 12\.9 KiB, 47 blocks, 4 sites$'
[ "$(sed -n '/^LIVE/,/^$/p' stray | sed -nE 's/^ +([0-9.]+ (Ki)?B) +([0-9]+) .*/\1 \3/p' | tr '\n' ' ')" = '7.8 KiB 40 2.0 KiB 1 3.1 KiB 6 ' ] || die "live: $(cat stray)"
expect stray '^ +3\.1 KiB +6 +\. +reachable blocks of 2 sites listed above as leaks$'
expect stray.md '^\| 3\.1 KiB \| 6 \| \| reachable blocks of 2 sites listed above as leaks \|$'
! sed -n '/^LIVE/,/^$/p' stray | grep -q session || die "it is a leak: $(cat stray)"
ms-report --leaks stray.trace | grep -q ' session ' || die 'every site with what is live'
ms-report -q --html=stray.html stray.trace

# ---- cycle: 100 pairs of 24 bytes; who closed it called the same function as who began it ----
expect cycle '^UNREACHABLE AT THE END, .*: 4\.7 KiB, 200 blocks, 1 site$'
expect cycle ' 2\.3 KiB in 100 blocks \+ 2\.3 KiB in 100 blocks lost with it$'
expect cycle "\(all of it from node groups.c:$(line calloc) < child groups.c:$(line 'p->left = node')\)$"
expect cycle.md 'lost with it \\\(all of it from node groups.c:[0-9]+ &lt; child groups.c:[0-9]+\\\) \|$'

# ---- tree: 4 trees of 511 nodes, each node with a way of its own through build() ----
expect tree '^UNREACHABLE AT THE END, .*: 47\.9 KiB, 2,044 blocks, 1 site$'
expect tree '^PEAK .*: 47\.9 KiB, 2,044 blocks, 511 sites$'
expect tree '^ +sum of 511 sites of the same recursion$'
expect tree '^ +47\.9 KiB +2,044 +[0-9]+  node +groups.c:[0-9]+$'
expect tree ' 96 B in 4 blocks \+ 47\.8 KiB in 2,040 blocks lost with it$'
# shellcheck disable=SC2016
expect tree.md ' ← `build`: 96 B in 4 blocks \+ 47\.8 KiB in 2,040 blocks lost with it \|$'
! grep -q 'more sites' tree || die "rows beside: $(cat tree)"
! grep -q 'of it .*from' tree || die "it is nobody else's: $(cat tree)"
ms-report --leaks --limit 1 tree.trace >leaks
expect leaks '^ +47\.9 KiB +2,044 '
ms-report --leaks --limit 1 --full-names tree.trace >leaks
expect leaks '^ .* 510 more sites$'
[ "$(ms-report --csv --limit 0 tree.trace | wc -l)" = 512 ] || die 'CSV folds'
