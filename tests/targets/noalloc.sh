#!/bin/bash
# SPDX-License-Identifier: MIT
# Allocations where none are to be (--no-alloc): in sections of ms_no_alloc_begin, and by threads of a name; their number, their site, the status; and
# budgets by thread and label.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
mkfifo go
timeout 300 "$BIN/ms-record" -q --leak-check=no -o t.trace "$TB/targets/noalloc" <go >said &
exec 4>go
# shellcheck disable=SC2317  # wait_for calls it
named() { # the recorder has read the names of all threads
	"$BIN/ms-record" --tell t.trace flush >/dev/null 2>&1 && "$BIN/ms-snap" -q -o w.db t.trace 2>/dev/null &&
		[ "$(sqlite3 w.db "SELECT count(DISTINCT name) FROM thread WHERE name GLOB 'audio-*' OR name = 'ui'")" = 4 ]
}
wait_for named
exec 4>&-
wait $! || fail "status $?"
[ "$(cat said)" = 'sections 6 260, audio-* 18 644, audio-1 7 292, ui 4 128' ] || fail "the program says $(cat said)"
"$BIN/ms-snap" -q -o t.db t.trace || fail "ms-snap"

# broken STATUS WORDS OPTION...: what ms-report says of a trace and of a snapshot, and its status
broken() {
	local status=$1 words=$2 input
	shift 2
	for input in t.trace t.db; do
		"$BIN/ms-report" "$@" $input >out 2>err
		is "$*: the status" $? "$status"
		is "$*" "$(grep -E '^ms-report: budget' err)" "$words"
	done
}
line=$(grep -n 'void \*p = malloc(32)' "$SRC/tests/targets/noalloc.c" | cut -d: -f1)
site=$(sqlite3 t.db "SELECT x.site FROM site_thread x JOIN thread t ON t.id = x.thread WHERE t.label = 'no-alloc' ORDER BY x.allocations DESC LIMIT 1")
"$BIN/ms-report" --no-alloc t.trace >out 2>err
is '--no-alloc: the status' $? 1
is '--no-alloc' "$(cut -d, -f1,2 err | sed "s, < start_thread.*,,")" "ms-report: budget 'label(\"no-alloc\").allocations > 0' is broken: the figure is 6, most of it at site $site: fill noalloc.c:$line < audio noalloc.c:$(grep -n 'i < 3' "$SRC/tests/targets/noalloc.c" | cut -d: -f1 | awk '{ print $1 + 1 }')"
broken 0 '' --fail-on 'label("no-alloc").allocations > 6' --fail-on 'label("no-alloc").allocated_bytes > 260' --fail-on 'label("inner").allocations != 2' \
	--fail-on 'thread("audio-*").allocations != 18' --fail-on 'thread("audio-*").live_bytes != 644' --fail-on 'thread("audio-1").live_blocks != 7' \
	--fail-on 'thread("ui").allocated_bytes > 128' --fail-on 'label("*").allocations != 6'
"$BIN/ms-report" --no-alloc='audio-2' --no-alloc=ui t.trace >out 2>err
is '--no-alloc=THREAD: the status' $? 1
is '--no-alloc=THREAD' "$(grep -oE "thread\(\"[a-z0-9-]*\"\).allocations > 0' is broken: the figure is [0-9]+" err | sort)" "$(printf '%s\n' "thread(\"audio-2\").allocations > 0' is broken: the figure is 4" "thread(\"ui\").allocations > 0' is broken: the figure is 4")"
# a name that no thread has
"$BIN/ms-report" --no-alloc=oudio t.trace >out 2>err
is 'no such thread: the status' $? 0
grep -q 'its pattern matches no thread, so its figure is 0' err || fail "no such thread: $(cat err)"
"$BIN/ms-report" --no-alloc=oudio --fail-on=strict t.trace >out 2>err
is 'no such thread, --fail-on=strict: the status' $? 2
# threads that ended before their names were read
cp t.db n.db && sqlite3 n.db "UPDATE thread SET name = NULL WHERE name = 'ui'"
"$BIN/ms-report" --no-alloc='x*' n.db >out 2>err
is 'threads without a name: the status' $? 2
is 'threads without a name' "$(tail -n 1 err)" "ms-report: budget 'thread(\"x*\").allocations > 0' cannot be checked: threads whose names are not known allocated, too (they ended too soon)"
"$BIN/ms-report" --no-alloc='audio-*' n.db >out 2>err
is 'threads without a name, broken by the others: the status' $? 1
# sites that filters hid are not known
"$BIN/ms-filter" --min 100 -o f.db t.db && "$BIN/ms-report" --no-alloc f.db >out 2>err
is 'filtered: the status' $? 2
grep -q 'filters hid sites that the budget may apply to' err || fail "filtered: $(cat err)"
# findings
"$BIN/ms-report" --no-alloc --github t.trace >out 2>err
is '--github: the status' $? 1
grep -q "^::error.*budget 'label(%22no-alloc%22).allocations > 0' is broken: the figure is 6; most of it at fill\|^::error.*label(\"no-alloc\").allocations > 0' is broken: the figure is 6; most of it at fill" out || fail "--github: $(cat out)"
for bad in '--no-alloc=' '--no-alloc=a"b' '--fail-on=thread(x).allocations > 1' '--fail-on=thread("x").temporary > 1' '--fail-on=label("x").delta_live_bytes > 1'; do
	"$BIN/ms-report" "$bad" t.trace >out 2>err
	is "$bad: the status" $? 2
	is "$bad: lines of $(cat err)" "$(wc -l <err)" 1
done
finish
