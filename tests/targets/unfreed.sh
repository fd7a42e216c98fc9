#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-report --site says which calls of a site left blocks behind: by number, size, thread, label and all at once; and nothing of chance.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# what tests/targets/unfreed.c does, counted
cat >want.py <<'P'
import sys
which, CALLS = sys.argv[1], 7000
seed = 1
def draw(below):
    global seed
    seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
    return (seed >> 33) % below
calls = []
for thread in range(4 if which in ("thread", "mixture") else 1):
    for i in range(CALLS):
        tenant, size = draw(10), 64 << 2 * draw(4)
        calls.append((i, thread, tenant, size))
def fact(kind, name, low, high, of, has, lost):
    x = [c for c in of if lost(c)]
    y = [c for c in of if not lost(c)]
    print(kind, name, low, high, sum(map(has, x)), len(x), sum(map(has, y)), len(y))
large = [c for c in calls if c[1] == 3 and c[3] == 4096]
nth = {c: n for n, c in enumerate(large, 1)}
lost = {"every": lambda c: c[0] % 7 == 6, "size": lambda c: c[3] == 4096, "thread": lambda c: c[1] == 3, "label": lambda c: c[2] == 7,
        "first": lambda c: c[0] < 100, "mixture": lambda c: nth.get(c, 1) % 7 == 0}.get(which)
if which == "every":
    fact("every", None, 7, 7, calls, lost, lost)
if which == "size":
    fact("size", None, 4096, 4096, calls, lost, lost)
if which == "thread":
    fact("thread", "io-3", None, None, calls, lost, lost)
if which == "label":
    fact("label", "tenant=7", None, None, calls, lost, lost)
if which == "first":
    fact("calls", None, 1, 100, calls, lost, lost)
if which == "mixture":
    own = [c for c in calls if c[1] == 3]
    fact("thread", "io-3", None, None, calls, lambda c: c[1] == 3, lost)
    fact("size", None, 4096, 4096, own, lambda c: c[3] == 4096, lost)
    fact("every", None, 7, 7, large, lost, lost)
    fact("all", None, None, None, calls, lost, lost)
P
cat >got.py <<'P'
import json, sys
site = json.load(sys.stdin)["sites"][0]
for r in site.get("unfreed", []):
    if r["kind"] != "age":
        print(*(r[k] for k in ("kind", "name", "low", "high", "unfreed_blocks", "of_unfreed_blocks", "freed_blocks", "of_freed_blocks")))
P
facts() { # TRACE
	"$BIN/ms-report" --json --site 1 "$1" | python3 got.py
}
for which in every size thread label first mixture random; do
	timeout 300 "$BIN/ms-record" -q --leak-check=no -o $which.trace "$TB/targets/unfreed" $which || fail "$which: status $?"
	is $which "$(facts $which.trace)" "$(python3 want.py $which)"
done
# of chance nothing at all, not of their age either, nor where all blocks were freed
"$BIN/ms-report" --site 1 random.trace | grep '^Unfreed' && fail "random has facts"
"$BIN/ms-report" --site 1 mixture.trace >out
for line in 'Unfreed +256 of 28,000 blocks, set apart from those freed by' ' +on thread io-3: all, and 24 % of those freed' ' +of 4,096 B: all, and 23 % of those freed' \
	' +every 7th of these calls, from the 7th on: all, and none of those freed' ' +together: all, and none of those freed'; do
	grep -Eq "^$line" out || fail "no '$line': $(cat out)"
done
"$BIN/ms-report" --sql "SELECT kind || ' ' || low FROM site_unfreed WHERE kind != 'age'" --site 1 size.trace | grep -q 'size 4096' || fail "--sql"
# a snapshot has none, nor has a pipe; a sample has none about the numbers of calls
"$BIN/ms-snap" -q -o size.db size.trace
is "of a snapshot" "$(facts size.db)" ""
is "of a pipe" "$("$BIN/ms-report" --json --site 1 - <size.trace | python3 got.py)" ""
timeout 300 "$BIN/ms-record" -q --leak-check=no --sample=2k,seed:1 -o s.trace "$TB/targets/unfreed" every || fail "sampled"
is "sampled: every" "$(facts s.trace)" ""
timeout 300 "$BIN/ms-record" -q --leak-check=no --sample=2k,seed:1 -o s.trace "$TB/targets/unfreed" size || fail "sampled"
[[ $(facts s.trace) == "size None 4096 4096 "* ]] || fail "sampled: size: $(facts s.trace)"
finish
