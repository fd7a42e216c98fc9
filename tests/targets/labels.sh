#!/bin/bash
# SPDX-License-Identifier: MIT
# Labels (memscope.h): what 8 threads allocated under 1,000 labels is summed up to the byte, in every form, and chosen by ms-filter.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
LABELS=1000 THREADS=8
timeout 300 "$BIN/ms-record" -q --leak-check=no --follow=all -o t.trace "$TB/targets/labels" $THREADS $LABELS || fail "status $?"
"$BIN/ms-snap" -q -o t.db t.trace || fail "ms-snap"
# label, allocations, bytes, live blocks, live bytes: of the threads that the program made, as it says above
want=$(python3 -c "
for i in range($LABELS):
    n, freed = i % 10 + 1, (i % 10 + 1) // 2
    print(f'tenant={i}', $THREADS * n, $THREADS * n * 100, $THREADS * (n - freed), $THREADS * (n - freed) * 100, sep='|')
    print(f'tenant={i}, inner', $THREADS, $THREADS * 1000, $THREADS, $THREADS * 1000, sep='|')
print('a234567890123456789012345678901234567890123456789012345678901234, d, d, d, d, d, d|1|70|1|70')" | sort)
found=$(sqlite3 t.db "SELECT label, allocations, allocated_bytes, live_blocks, live_bytes FROM by_label WHERE label IS NOT NULL" | sort)
[ "$found" = "$want" ] || fail "labels: $(diff <(echo "$want") <(echo "$found") | head)"
[ "$(sqlite3 t.db "SELECT count(*) FROM by_thread")" = $((THREADS + 1)) ] || fail "threads: $(sqlite3 t.db "SELECT * FROM by_thread")"
[ "$(sqlite3 t.db "SELECT sum(allocations) = (SELECT allocations FROM process) FROM by_label")" = 1 ] || fail "what has labels and what has none is not all"
[ "$(sqlite3 t.db "SELECT count(*) FROM thread WHERE (of_thread IS NULL) != (label IS NULL)")" = 0 ] || fail "labels without threads"
# the report, its forms, and pprof
"$BIN/ms-report" --by label --limit 0 --json t.trace | python3 -c "
import json, sys
for r in json.load(sys.stdin)['views'][0]['rows']:
    if not r['label'].startswith('('):
        print(r['label'], r['allocations'], r['allocated_bytes'], r['live_blocks'], r['live_bytes'], sep='|')" | sort >found
[ "$(cat found)" = "$want" ] || fail "--json: $(diff <(echo "$want") found | head)"
"$BIN/ms-report" --by label --limit 2 t.trace >out
for line in 'LABELS and what was allocated under each$' '\(no label\) ' 'total '; do
	grep -Eq "^$line" out || fail "--by label: $(cat out)"
done
[ "$("$BIN/ms-report" --threads --json t.trace | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["views"][0]["rows"]))')" = $((THREADS + 1)) ] ||
	fail "--threads: $("$BIN/ms-report" --threads t.trace)"
site=$(sqlite3 t.db "SELECT id FROM site WHERE allocated_bytes = $((THREADS * LABELS * 1000))")
"$BIN/ms-report" --site "$site" t.db >out
grep -Eq '^Labels +tenant=0, inner 0.1 %, ' out || fail "--site: $(cat out)"
"$BIN/ms-report" --pprof t.db >p.gz
gunzip -c p.gz | grep -aq 'tenant=999, inner' || fail "pprof has no labels"
# ms-filter: a label inside of others, and all of them; sites whole, blocks of a trace one by one
"$BIN/ms-filter" --label inner t.db >f.db
[ "$(sqlite3 f.db "SELECT count(*), max(id) FROM site")" = "1|$site" ] || fail "--label inner: $(sqlite3 f.db "SELECT * FROM site")"
"$BIN/ms-filter" --label 'tenant=7' --trace-out cut.trace t.trace || fail "--trace-out"
"$BIN/ms-snap" -q -o cut.db cut.trace
[ "$(sqlite3 cut.db "SELECT label, allocations, allocated_bytes, live_blocks, live_bytes FROM by_label WHERE allocations" | sort)" = \
	"$(echo "$want" | grep -E '^tenant=7(\||,)')" ] || fail "--trace-out: $(sqlite3 cut.db "SELECT * FROM by_label")"
"$BIN/ms-filter" --not 'label:tenant=*' --trace-out rest.trace t.trace && "$BIN/ms-snap" -q -o rest.db rest.trace
[ "$(sqlite3 rest.db "SELECT sum(allocations) FROM by_label")" = $(($(sqlite3 t.db "SELECT sum(allocations) FROM by_label") - THREADS * LABELS * 13 / 2)) ] ||
	fail "--not label: $(sqlite3 rest.db "SELECT * FROM by_label")"
# the child: its threads begin without the parent's label, and the thread that forked has it no more
child=$(ls t.trace.d/*.trace)
"$BIN/ms-snap" -q -o c.db "$child"
found=$(sqlite3 c.db "SELECT label, allocations, live_blocks FROM by_label WHERE label IN ('tenant=9', 'tenant=9, inner', 'parent')" | sort)
[ "$found" = "$(printf 'tenant=9, inner|1|1\ntenant=9|10|5')" ] || fail "child: $found"
# the names of threads as labels: one that a thread takes counts for all that it did before; the program's own are inside
timeout 300 "$BIN/ms-record" -q --leak-check=no --with=label-thread-names -o n.trace "$TB/targets/unfreed" thread || fail "label-thread-names: status $?"
"$BIN/ms-snap" -q -o n.db n.trace
is "names of threads" "$(sqlite3 n.db "SELECT label, allocations, live_blocks FROM by_label WHERE label GLOB 'io-*' ORDER BY label")" "$(printf 'io-%d|7000|%d\n' 0 0 1 0 2 0 3 7000)"
timeout 300 "$BIN/ms-record" -q --leak-check=no --with=label-thread-names -o n.trace "$TB/targets/cohorts" 20 0 || fail "label-thread-names: status $?"
"$BIN/ms-snap" -q -o n.db n.trace
is "labels below names" "$(sqlite3 n.db "SELECT label, allocations FROM by_label WHERE label GLOB 'cohorts, *' ORDER BY label")" "$(printf 'cohorts, even|600\ncohorts, odd|600')"
# sampled: what is estimated has the truth in its interval as a whole, by label too
timeout 300 "$BIN/ms-record" -q --leak-check=no --sample=16k,seed:1 -o s.trace "$TB/targets/labels" $THREADS $LABELS || fail "sampled: status $?"
"$BIN/ms-snap" -q -o s.db s.trace
[ "$(sqlite3 s.db "SELECT sum(allocated_bytes) BETWEEN 9000000 AND 17000000 FROM by_label WHERE label GLOB 'tenant=*'")" = 1 ] ||
	fail "sampled: $(sqlite3 s.db "SELECT sum(allocated_bytes) FROM by_label WHERE label GLOB 'tenant=*'")"
finish
