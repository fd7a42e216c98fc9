#!/bin/bash
# SPDX-License-Identifier: MIT
# memscope.py: labels of Python threads to the byte, marks, also when the program is not recorded.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
export PYTHONPATH=$SRC/include
cat >p.py <<'P'
import memscope
import threading

kept = []

def work(n):
    with memscope.label("tenant=%d" % n):
        kept.append(bytearray(100000 * n))
        with memscope.label("inner"):
            kept.append(bytearray(50000))
    kept.append(bytearray(30000))

threads = [threading.Thread(target=work, args=(i,)) for i in (1, 2, 3)]
for t in threads:
    t.start()
for t in threads:
    t.join()

@memscope.label("decorated")
def decorated():
    kept.append(bytearray(70000))

decorated()
decorated()
try:
    with memscope.label("raises"):
        raise ValueError
except ValueError:
    kept.append(bytearray(40000))
with memscope.pause():
    kept.append(bytearray(654321))
memscope.mark("grüß")
P
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that finds it
python3 p.py || fail "not recorded: status $?"
timeout 300 "$BIN/ms-record" -q --leak-check=no --follow=none -o t.trace "$python" p.py || fail "status $?"
"$BIN/ms-snap" -q -o t.db t.trace
is labels "$(sqlite3 t.db "SELECT label, allocations, allocated_bytes FROM by_label WHERE label IS NOT NULL ORDER BY label")" "$(
	cat <<-'W'
		decorated|2|140002
		tenant=1|1|100001
		tenant=1, inner|1|50001
		tenant=2|1|200001
		tenant=2, inner|1|50001
		tenant=3|1|300001
		tenant=3, inner|1|50001
	W
)"
is mark "$(sqlite3 t.db "SELECT name FROM mark")" "grüß"
is pause "$(sqlite3 t.db "SELECT count(*) FROM site WHERE max_size = 654322"), $(sqlite3 t.db "SELECT paused_allocations > 0 FROM process")" "0, 1"
# one row a thread, with its labels below it
"$BIN/ms-report" --json t.trace | python3 -c "
import json, sys
threads = json.load(sys.stdin)['threads']
assert len({t['tid'] for t in threads}) == len(threads), threads
of = {l['label']: (t, l) for t in threads for l in t.get('labels', [])}
t, l = of['tenant=2']
assert l['allocated_bytes'] == 200001 and l['live_blocks'] in (0, 1), l
assert [x['label'] for x in t['labels']] == ['tenant=2', 'tenant=2, inner'], t
assert t['allocated_bytes'] >= 200001 + 50001 + 30001, t
" || fail "--json"
"$BIN/ms-report" --events t.trace | grep -Eq '  alloc  .* 200001  .*  label tenant=2$' || fail "--events"
"$BIN/ms-report" --events --json t.trace | grep -Eq '"size":50001,.*"label":"tenant=3, inner"' || fail "--events --json"
finish
