#!/bin/sh
# SPDX-License-Identifier: MIT
# Long names in few columns: cut at their left, with file and line, and no rows that read the same; in text, Markdown, tables, trees and ms-top.
set -eu
export LC_ALL=C.UTF-8
unset LINES
failed=0
fail() {
	echo "FAILED: $*"
	failed=1
}
# how many columns the figures have is not asked: the names alone, from where they begin in the head
names() { # HEAD: from standard input
	awk -v head="$1" '!at && (at = index($0, head)) { next } at && /^$/ { exit } at { print substr($0, at) }'
}
same() { # NAME: want, standard input: got
	cat >got
	diff -u "$1.want" got || { echo "FAILED: $1" && return 1; }
}
g++ -g -O1 -fno-ipa-icf -fno-inline-functions-called-once -o long "$SRC/tests/cli/names/long.cc"
ms-record -q -o long.trace ./long

cat >text.want <<'END'
…::insert_or_assign_with_expiry         long.cc:13
  < …everything_from_the_upstream_feed  long.cc:37
…::insert_or_assign_with_expiry         long.cc:13
  < …everything_from_the_fallback_file  long.cc:44
…::insert_or_assign_with_expiry         long.cc:13
  < …everything_from_the_upstream_feed  long.cc:35
…::insert_or_assign_without_expiry      long.cc:18
  < …everything_from_the_fallback_file  long.cc:42
…::insert_or_assign_with_expiry         long.cc:13
  < …everything_from_the_upstream_feed  long.cc:34
END
ms-report --width 80 long.trace | sed -n '/^PEAK/,/^$/p' | names where | grep -v 'more sites' | same text || failed=1
cat >ascii.want <<'END'
..::insert_or_assign_with_expiry        long.cc:13
  < ..verything_from_the_upstream_feed  long.cc:37
END
ms-report --ascii --width 80 long.trace | sed -n '/^PEAK/,/^$/p' | names where | head -n 2 | same ascii || failed=1
cat >by.want <<'END'
…<…ClientSession>::insert_or_assign_with_expiry
…<…InstrumentQuoteSnapshot>::insert_or_assign_with_expiry
…<…InstrumentTradeSnapshot>::insert_or_assign_with_expiry
…<…OrderBookLevel>::insert_or_assign_with_expiry
END
ms-report --width 120 --by function long.trace | grep -o '^…<[^ ]*' | same by || failed=1
ms-report --md --by function long.trace | grep -o '…<[^ `]*' | same by || failed=1
# frames of a picture
ms-report -q --svg=flame long.trace | grep -q '>…::insert_or_assign_with_expiry<' || fail 'a frame of --svg'
# siblings of a tree
ms-report --width 80 --tree long.trace | grep -o '─ ….*_with_expiry' | head -n 4 >tree
[ "$(sort -u tree | wc -l)" = 4 ] || fail "branches that read the same: $(cat tree)"

# no two rows of a list, nor of ms-top's, read the same; each of those has its file and line
for width in 60 80 100; do
	ms-report --width $width --peak --limit 0 long.trace | sed -n '/^PEAK/,$p' >list
	python3 -c '
import re, sys
rows = []
for line in open("list", encoding="utf-8").read().split("\n")[2:]:
    if re.match(r" {0,9}[0-9<]", line):
        rows.append([re.sub(r"^.* \d+  ", "", line)])
    elif rows:
        rows[-1].append(line.strip())
texts = ["/".join(r) for r in rows]
print("\n".join(sorted({t for t in texts if texts.count(t) > 1})), end="")
sys.exit(len(rows) != 13)' >twice || fail "rows, $width columns: $(cat list)"
	[ ! -s twice ] || fail "rows that read the same, $width columns: $(cat twice list)"
done
for columns in 80 120; do
	COLUMNS=$columns ms-top -b -n 1 long.trace >top
	grep -o '…[^ ]* long\.cc:.*' top | sort | uniq -c | awk '$1 > 1' >often
	[ ! -s often ] || fail "rows of ms-top that read the same, $columns columns: $(cat often top)"
	[ "$(grep -cE ' long\.cc:1[38]( |$)' top)" = 16 ] || fail "places in ms-top, $columns columns: $(cat top)"
done
exit $failed
