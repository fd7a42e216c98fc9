#!/bin/bash
# SPDX-License-Identifier: MIT
# --max-size and --keep=live: the files never get larger, what is in them is exact, what is not is said.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
truth() {
	sed -n "s/^$1 //p" truth
}
largest() { # FILE...: watches their sizes together while the recorder runs; prints the largest
	local most=0 now
	while kill -0 "$recorder" 2>/dev/null; do
		now=$(stat -c %s "$@" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')
		[ "$now" -gt "$most" ] && most=$now
		sleep 0.002
	done
	echo "$most"
}
stopped() { # FILE: its recorder records no more
	[ "$("$BIN/ms-record" --tell "$1" status 2>/dev/null | sed -n 's/^state //p')" = stopped ]
}
longrun=$TB/host/longrun

# ---- without --keep: the recording stops, the program goes on, the trace is whole ----
rm -f over
"$BIN/ms-record" -o m.trace --max-size 1M "$longrun" forever 5000 60 over 2>err &
recorder=$!
largest m.trace >most &
watcher=$!
wait_for stopped m.trace
: >over
wait $recorder
is 'the status of the recorder' $? 0
wait $watcher
[ "$(cat most)" -le 1048576 ] || fail "a file of at most 1M had $(cat most) bytes"
[ "$(stat -c %s m.trace)" -gt 500000 ] || fail "a file of at most 1M stopped at $(stat -c %s m.trace)"
is 'live' "$(truth allocations | wc -l)" 1 # it went on to its own end
"$TB/trace-dump" m.trace >dump
grep -qx ended dump || fail "the trace is not whole: $(tail -n 1 dump)"
is 'reason' "$(field 16 m.trace)" 3
got=$("$BIN/ms-report" --json m.trace | jq -c '.totals|[.allocations,.frees,.unfreed_bytes,.peak_bytes]')
is 'totals of the end block' "[$(field 5 m.trace),$(field 26 m.trace),$(field 34 m.trace),$(field 31 m.trace)]" "$got"
is 'events of the end block' "$(field 4 m.trace)" "$(($(field 5 m.trace) + $(field 26 m.trace)))"
is 'quality' "$("$BIN/ms-report" --json m.trace | jq -c '.quality|[.complete,.events_lost]')" '[true,0]'
is 'losses at the limit' "$("$BIN/ms-snap" m.trace -o m.db && sqlite3 m.db 'select count(*), sum(events > 0) from loss where reason = "limit"')" '1|1'
grep -q 'limit .*--max-size 1.0 MiB was reached' err || fail "the end does not speak of the limit: $(cat err)"

# ---- many small blocks: there is room for their index ----
"$BIN/ms-record" -q -o i.trace --max-size 1M "$longrun" marks 14000 >/dev/null
[ "$(stat -c %s i.trace)" -le 1048576 ] || fail "a file of at most 1M has $(stat -c %s i.trace) bytes"
is 'reason' "$(field 16 i.trace)" 3
[ "$(field 25 i.trace)" -gt 0 ] 2>/dev/null || fail 'a trace that was stopped at its limit has no index'

# ---- all traces of a run together ----
rm -f over
# shellcheck disable=SC2016 # for the shell there
"$BIN/ms-record" -q -o t.trace --max-size 1M --follow=all sh -c '"$0" forever 100 60 over & "$0" forever 100 60 over & wait' "$longrun" 2>err &
recorder=$!
wait_for stopped t.trace
: >over
wait $recorder
most=$(cat t.trace t.trace.d/*.trace | wc -c)
[ "$most" -le 1048576 ] || fail "traces of at most 1M together have $most bytes"
[ "$most" -gt 300000 ] || fail "traces of at most 1M together have only $most bytes"
for t in t.trace t.trace.d/*.trace; do
	"$TB/trace-dump" "$t" | grep -qx ended || fail "$t is not whole"
done

# ---- --keep=live: it goes on, exact to the byte ----
rm -f over
"$BIN/ms-record" -o k.trace --max-size 1M --keep=live "$longrun" forever 5000 60 over 2>err &
recorder=$!
wait_for test -s k.trace
exec 5<k.trace # so that no other file gets its number
dropped() {
	[ "$("$BIN/ms-snap" --no-symbols k.trace 2>/dev/null >part.db && sqlite3 part.db 'select dropped_events > 1000000 and dropped_until_ns > 500000000 from process')" = 1 ]
}
largest k.trace >most &
watcher=$!
wait_for dropped
exec 6<k.trace # who follows a file that is replaced
for verb in flush mark:one status mark:two flush; do
	"$BIN/ms-record" --tell k.trace $verb >said 2>&1 || fail "--tell $verb while a trace is written anew: $(cat said)"
done
# what a scan found stays, though the file is written anew
"$BIN/ms-record" --tell k.trace leak-check >said 2>&1 || fail "--tell leak-check: $(cat said)"
"$BIN/ms-snap" --no-symbols k.trace >part.db
until=$(sqlite3 part.db 'select dropped_until_ns from process')
again() {
	[ "$("$BIN/ms-snap" --no-symbols k.trace 2>/dev/null >part.db && sqlite3 part.db "select dropped_until_ns > $until from process")" = 1 ]
}
wait_for again
"$BIN/ms-report" --json k.trace >growing.json
[[ $(jq '.quality.dropped_until_ns' growing.json) -gt 100000000 ]] || fail 'a trace that grows does not say what was dropped'
: >over
is 'a trace that is written anew while it is read is whole' "$(jq -c '.quality.complete' growing.json)" true
wait $recorder
is 'the status of the recorder' $? 0
wait $watcher
[ "$(cat most)" -le 1048576 ] || fail "a file of at most 1M had $(cat most) bytes"
[ "$(cat most)" -gt 500000 ] || fail "a file of at most 1M had no more than $(cat most) bytes"
is 'other files' "$(find . -name 'k.trace?*')" ''
"$BIN/ms-report" --json - <&6 | jq -c '.quality.complete' | grep -qx true || fail 'who followed the old file has no whole trace'
exec 5<&- 6<&-
is 'live in the end block' "$(field 34 k.trace)" "$(truth live_bytes)"
is 'allocations in the end block' $(($(field 5 k.trace) - $(truth allocations))) 2 # of stdio for the truth
"$BIN/ms-snap" -o k.db k.trace
is 'live in the snapshot' "$(sqlite3 k.db 'select unfreed_bytes, unfreed_blocks from process')" "$(truth live_bytes)|5100"
is 'live of the sites' "$(sqlite3 k.db 'select sum(site_stat.live_bytes) from site_stat join snapshot on id = snapshot where label = "end"')" "$(truth live_bytes)"
is 'events left in the file' "$(sqlite3 k.db 'select sum(allocations) + sum(frees) from timeline')" $(($(field 4 k.trace) - $(field 36 k.trace)))
# what was allocated at the very start and never freed has its stack and thread
is 'the oldest site' "$(sqlite3 k.db 'select sum(s.live_bytes), sum(s.live_blocks) from site_stat s join place p on p.site = s.site join snapshot n on n.id = s.snapshot where n.label = "end" and p.function = "early"')" '100000|100'
is 'a scan long ago' "$(sqlite3 k.db "select group_concat(label || ' ' || state), sum(blocks) > 5000, sum(blocks) = (select sum(v.blocks) from site_verdict v where v.scan = scan.scan)
	from scan where label <> 'end'")" 'request done|1|1'
is 'whole, dropped' "$(sqlite3 k.db 'select whole, dropped_events > 1000000, dropped_until_ns > 500000000 from process')" '0|1|1'
quality=$("$BIN/ms-report" k.trace | sed -n '/^Quality/,/^$/p' | tr -s '\n ' ' ')
[[ $quality =~ events\ before\ [0-9.]+\ m?s\ dropped\ \(--keep=live\):\ earlier\ allocations,\ the\ peak.s\ sites\ and\ the\ timeline\ are\ unknown ]] || fail "quality: $quality"
peak=$(sqlite3 k.db 'select peak_bytes, peak_time_ns < dropped_until_ns from process')
is 'the peak of the whole run' "${peak%|*}" "$(field 31 k.trace)"
since=$("$BIN/ms-report" --peak k.trace | grep -c "PEAK since .*the run's peak, at .*, was earlier: its sites are unknown")
is 'whether the sites are those of the peak' "$since" "${peak#*|}"
[[ $quality =~ unknown\ blocks ]] && fail "frees of blocks of the checkpoint are unknown: $quality"
grep -q 'dropped .*--keep=live' err || fail "the end does not speak of what was dropped: $(cat err)"

# ---- what is live alone is too much ----
rm -f over
"$BIN/ms-record" -o b.trace --addresses --max-size 1M --keep=live "$longrun" forever 200000 60 over 2>err &
recorder=$!
wait_for stopped b.trace
: >over
wait $recorder
is 'status' $? 0
[ "$(stat -c %s b.trace)" -le 1048576 ] || fail "a file of at most 1M has $(stat -c %s b.trace) bytes"
grep -q 'limit .*--keep=live: the records of the live blocks alone need more than .*, half of --max-size' err || fail "not said why keeping ended: $(cat err)"
"$TB/trace-dump" b.trace | grep -qx ended || fail 'the trace is not whole'

# ---- refused ----
refused() { # PATTERN ARG...
	local pattern=$1 said
	shift
	said=$("$BIN/ms-record" "$@" 2>&1 >/dev/null)
	is "status of $*" $? 125
	[[ $said =~ ^ms-record:.*$pattern && $(wc -l <<<"$said") = 1 ]] || fail "$*: $said"
}
refused 'needs --max-size' --keep=live true
refused 'cannot be combined with --max-size' --max-size 1M --keep=last:1s true
refused "bad --keep 'last:0'" --keep=last:0 true
refused "bad duration 'x'" --keep=last:x true
refused 'needs a regular file' -o fd:1 --keep=last:1s true
refused "bad --keep 'all'" --max-size 1M --keep=all true
refused 'at least 1M' --max-size 900k true
mkfifo pipe
refused 'needs a regular file' -o pipe --max-size 1M --keep=live true
refused 'needs a regular file' -o fd:1 --max-size 1M --keep=live true

finish
