#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps live blocks reachable, in a trace made by hand: tools that cut, filter, compare and rename keep it whole or leave it out, and
# snapshots from before there was such a thing still open.
. "${SRC:?}/tests/lib.sh"
trace=$SRC/tests/golden/v2/retention.trace
tables='retention keeper keeper_set kept kept_by'

rows() { # DATABASE: all that it says of retention
	for t in $tables; do
		echo "$t"
		sqlite3 "$1" "SELECT * FROM $t"
	done
}
# shellcheck disable=SC2086
counts() { # DATABASE
	sqlite3 "$1" "$(printf 'SELECT count(*) FROM %s;' $tables)" | tr '\n' ' '
}
ms-snap -q -o all.db "$trace" || fail "ms-snap: status $?"
is 'rows' "$(counts all.db)" '2 5 4 6 1 '
is 'states' "$(sqlite3 all.db 'SELECT group_concat(scan || state) FROM retention')" '1time,2done'
is 'names' "$(sqlite3 all.db "SELECT group_concat(coalesce(name, kind), ';') FROM keeper")" 'Bus::instance;g_names;example .bss;frame;mapping'
is 'what is kept' "$(sqlite3 all.db 'SELECT sum(retained_bytes) FROM kept WHERE parent IS NULL')" 1000
rows all.db >all.txt

# ---- the trace cut ----
ms-filter -q --trace-out whole.trace --from start "$trace" || fail "a cut: status $?"
ms-snap -q -o whole.db whole.trace
rows whole.db | diff all.txt - || fail 'a cut by time has something else'
ms-filter -q --trace-out some.trace --size 1..1G "$trace" || fail "a cut with conditions: status $?"
ms-snap -q -o some.db some.trace
is 'a cut with conditions' "$(counts some.db)" '0 0 0 0 0 '
is 'its scans' "$(sqlite3 some.db 'SELECT count(*) FROM scan')" 2
ms-filter -q --anonymize --trace-out names.trace --from start "$trace" || fail "a cut with other names: status $?"
if grep -aqE 'Bus|g_names|Session' names.trace; then fail 'names are in the trace'; fi
"$TB/trace-dump" names.trace | grep -qE 'Bus|g_names|Session|bss|list<' && fail 'names are in the trace'
ms-snap -q -o names.db names.trace
is 'a cut with other names' "$(counts names.db)" '2 5 4 6 1 '
is 'its figures' "$(sqlite3 names.db 'SELECT sum(retained_bytes), sum(bytes) FROM kept')" "$(sqlite3 all.db 'SELECT sum(retained_bytes), sum(bytes) FROM kept')"

# ---- the snapshot filtered, renamed, compared ----
ms-filter -q --min live:1T -o none.db all.db || fail "ms-filter: status $?"
is 'sites' "$(sqlite3 none.db 'SELECT count(*) FROM site')" 0
is 'rows of hidden sites' "$(counts none.db)" '2 5 4 6 0 '
is 'the tree' "$(sqlite3 none.db 'SELECT count(site), sum(bytes), sum(retained_bytes) FROM kept')" \
	"0|$(sqlite3 all.db 'SELECT sum(bytes), sum(retained_bytes) FROM kept')"
ms-filter -q --anonymize -o other.db all.db || fail "--anonymize: status $?"
is 'other names' "$(sqlite3 other.db "SELECT count(*) FROM keeper WHERE name LIKE '%Bus%' OR name LIKE '%names%' OR type LIKE '%list%'")" 0
is 'figures with other names' "$(counts other.db)" '2 5 4 6 1 '
ms-diff -q -o diff.db all.db all.db || fail "ms-diff: status $?"
rows diff.db | diff all.txt - || fail 'a comparison has something else'

# ---- from before there were these tables ----
cp all.db before.db
sqlite3 before.db 'DROP VIEW kept_by; DROP TABLE kept; DROP TABLE keeper_set; DROP TABLE keeper; DROP TABLE retention'
for words in 'ms-report' 'ms-report --json=-' 'ms-report --leaks' 'ms-filter -q --min 1 -o f.db' 'ms-diff -q -o d.db all.db'; do
	$words before.db >out 2>err || fail "$words before.db: status $?: $(cat err)"
done
is 'what it is read as' "$(counts f.db)" '0 0 0 0 0 '
is 'its scans' "$(sqlite3 f.db 'SELECT count(*) FROM scan')" 2
finish
