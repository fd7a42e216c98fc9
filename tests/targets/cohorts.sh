#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-report --cohorts: what each step of a program leaves behind, to the byte, by mark, time and label; of one site, sampled, attached.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
STEPS=20
record() { # ARGUMENT...
	timeout 300 "$BIN/ms-record" -q --leak-check=no "$@" || fail "ms-record $*: status $?"
}
record -o t.trace "$TB/targets/cohorts" $STEPS 20
"$BIN/ms-snap" -q -o t.db t.trace || fail "ms-snap"
# by mark: 10,000 of 35,000 bytes stay up to the end of the step, 6,000 in the next, 2,000 for ever
cat >check.py <<'P'
import json, sys
steps, site = int(sys.argv[1]), sys.argv[2] != "0"
rows = json.load(sys.stdin)["views"][0]["rows"]
want = []
for i in range(steps):
    for at in range(i, steps):
        left = (10, 6, 2)[min(at - i, 2)]
        first = at == i
        want.append((f"step {i}", (10000 if site else 35000) if first else None, (10 if site else 60) if first else None, i + 2, at + 2, left * 1000, left))
got = [(r["mark"], r["allocated_bytes"], r["allocated_blocks"], r["part"], r["at_part"], r["live_bytes"], r["live_blocks"]) for r in rows]
for a, b in zip(want, got):
    if a != b:
        sys.exit(f"want {a}, got {b}")
if len(want) != len(got):
    sys.exit(f"{len(got)} rows, not {len(want)}")
P
"$BIN/ms-report" --cohorts=mark --json t.trace | python3 check.py $STEPS 0 || fail "by mark"
site=$(sqlite3 t.db "SELECT id FROM site WHERE max_size = 1000 AND allocations = $((10 * STEPS))")
"$BIN/ms-report" --cohorts=mark --site "$site" --json t.trace | python3 check.py $STEPS "$site" || fail "by mark, of site $site"
# by time: what is live at each end is what a snapshot of that moment has; all that was allocated is in one part
for at in $(sqlite3 t.db "SELECT DISTINCT at_ns FROM cohort WHERE kind = 'time' AND at_ns % 100000 = 0 ORDER BY random() LIMIT 4"); do
	"$BIN/ms-snap" -q --at "$((at - 1))ns" -o at.db t.trace || fail "--at $at"
	is "live at $at" "$(sqlite3 t.db "SELECT sum(live_bytes) FROM cohort WHERE kind = 'time' AND at_ns = $at")" "$(sqlite3 at.db "SELECT live_bytes FROM snapshot")"
done
whole() { # DATABASE: each division has all that was allocated, and all that is live at the end
	for kind in time mark label; do
		found=$(sqlite3 "$1" "SELECT sum(allocated_bytes) = (SELECT allocated_bytes FROM process) AND (SELECT sum(live_bytes) FROM cohort WHERE kind = '$kind'
			AND at_part = (SELECT max(at_part) FROM cohort WHERE kind = '$kind')) = (SELECT unfreed_bytes FROM process) FROM cohort WHERE kind = '$kind'")
		is "$1 by $kind" "$found" 1
	done
	is "$1: parts" "$(sqlite3 "$1" "SELECT max(at_part) BETWEEN 2 AND 48 FROM cohort")" 1
}
whole t.db
# by label
is labels "$(sqlite3 t.db "SELECT label, sum(allocated_bytes), (SELECT live_bytes FROM cohort l WHERE l.kind = 'label' AND l.label = c.label
	ORDER BY at_part DESC LIMIT 1) FROM cohort c WHERE kind = 'label' AND label IS NOT NULL GROUP BY label")" \
	"$(printf 'even|350000|24000\nodd|350000|28000')"
# for people: five steps are a row, so that there are ten at most, and the sum
"$BIN/ms-report" --cohorts=mark --width 120 t.trace >out
grep -Eq '^ *from +mark +allocated( +[0-9.]+s){5}$' out || fail "titles: $(cat out)"
grep -Eq ' step 4 +170.9 KiB +21K +9.8K +9.8K +9.8K$' out || fail "rows: $(cat out)"
grep -Eq '^ *total +683.6 KiB .* 51K$' out || fail "total: $(cat out)"
"$BIN/ms-report" --cohorts --site "$site" t.trace | head -1 | grep -q "^COHORTS of site $site: " || fail "--site"
"$BIN/ms-report" --cohorts --site "$site" t.db | grep -q "the trace is needed" || fail "--site of a snapshot: $("$BIN/ms-report" --cohorts --site "$site" t.db)"
"$BIN/ms-report" --cohorts=minute t.trace 2>err
is "wrong word" "$? $(cat err)" "2 ms-report: bad --cohorts 'minute': expected time, mark or label"
# the page
"$BIN/ms-report" --html=p.html t.trace || fail "--html"
python3 - <<'P' || fail "page"
import base64, json, re, zlib
data = zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', open("p.html").read())[1]))
page = json.loads(data[4:4 + int.from_bytes(data[:4], "little")])
of = {c["kind"]: c for c in page["cohorts"]}
assert list(of) == ["time", "mark", "label"], list(of)
rows = of["mark"]["rows"]
assert [r["name"] for r in rows] == [f"step {i}" for i in range(20)], rows
assert rows[3]["live"] == [None] * 3 + [10000, 6000] + [2000] * 15, rows[3]
P
# many marks: neighbours are one part
record -o m.trace "$TB/targets/cohorts" 1000 0
"$BIN/ms-snap" -q -o m.db m.trace && whole m.db
is "marks of a part" "$(sqlite3 m.db "SELECT group_concat(mark, ', ') FROM (SELECT DISTINCT mark FROM cohort WHERE kind = 'mark' AND part BETWEEN 2 AND 4 ORDER BY part)")" "step 31, step 63, step 95"
# sampled: estimates of bytes; no numbers of blocks
record --sample=4k,seed:1 -o s.trace "$TB/targets/cohorts" 1000 0
"$BIN/ms-snap" -q -o s.db s.trace && whole s.db
is "blocks of a sample" "$(sqlite3 s.db "SELECT count(live_blocks) + count(allocated_blocks) FROM cohort")" 0
"$BIN/ms-report" --cohorts s.trace | head -1 | grep -q '(estimates)$' || fail "sampled: $("$BIN/ms-report" --cohorts s.trace)"
# attached: what was allocated before is not in it, and freeing that changes nothing
"$TB/targets/cohorts" 100000 5 &
pid=$!
wait_for grep -q sleep "/proc/$pid/wchan"
"$BIN/ms-record" -q -d 2 -o p.trace -p $pid || fail "-p: status $?"
kill $pid
"$BIN/ms-snap" -q -o p.db p.trace
is attached "$(sqlite3 p.db "SELECT sum(allocated_bytes) = (SELECT allocated_bytes FROM process) AND sum(allocated_bytes) > 0 AND min(live_bytes) >= 0 FROM cohort WHERE kind = 'time'")" 1
# what is in no trace
"$BIN/ms-record" -q --poll -o poll.trace sleep 0.2
"$BIN/ms-report" --cohorts poll.trace | grep -q "no allocations were recorded" || fail "--poll"
finish
