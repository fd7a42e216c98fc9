#!/bin/sh
# SPDX-License-Identifier: MIT
# Growth of real programs: of those that keep what they have, the four that leak are named, with the site and its rate, and no other site or heap
# is; those that free it in the end are judged until then.
set -eu
: "${BIN:?}" "${TB:?}"
ways='leak_fast leak_slow leak_under_noise leak_list sawtooth jump doubles log_fill lru arena burst'
# A program that had no processor for long does at once what was to be done meanwhile, which bends the line: then again.
record() { # NAME WAY OPTION...
	name=$1 way=$2
	shift 2
	for _ in 1 2 3 4 5 6; do
		"$BIN/ms-record" -q --leak-check=no "$@" -o "$name.trace" "$TB/targets/growth" "$way" 14 2>"$name.late"
		[ -s "$name.late" ] || break
	done
}
for way in $ways; do
	record "$way" "$way" &
done
record sampled leak_fast --sample=256k,seed:1 &
record peak_first peak_first --sample=256k,seed:1 &
freed='all_freed part_freed fill_freed teeth_freed valley_freed flat_freed'
for way in $freed; do
	record "$way" "$way" &
done
wait
failed=0
fail() {
	echo "$way: $*"
	sqlite3 -header "$way.db" 'SELECT * FROM growth'
	failed=1
}
sql() { sqlite3 "$way.db" "$1"; }
for way in $ways; do
	"$BIN/ms-snap" -o "$way.db" "$way.trace"
	growing=$(sql "SELECT group_concat(function) FROM place WHERE site IN (SELECT site FROM growth WHERE trend = 'growing' AND site)")
	verdicts=$(sql "SELECT group_concat(p.function) FROM site s JOIN place p ON p.site = s.id WHERE verdict = 'growing'")
	heap=$(sql "SELECT trend FROM growth WHERE site = 0")
	rate=$(sql "SELECT bytes_per_minute FROM growth WHERE trend = 'growing' AND site")
	case $way in
	leak_fast) low=40000000 high=64000000 ;;
	leak_slow) low=7000 high=10900 ;;
	leak_under_noise) low=4000000 high=6500000 ;;
	leak_list) low=250000 high=410000 ;;
	*)
		[ -z "$growing$verdicts" ] || fail "said to be growing: $growing"
		[ "$heap" != growing ] || fail 'the whole heap is said to be growing'
		continue
		;;
	esac
	[ "$growing" = suspect ] || fail "growing: '$growing'"
	[ "$verdicts" = suspect ] || fail "verdicts: '$verdicts'"
	if [ "$rate" -lt "$low" ] || [ "$rate" -gt "$high" ]; then
		fail "bytes per minute: $rate"
	fi
	[ "$(sql "SELECT confidence > 0.8 AND low <= bytes_per_minute AND bytes_per_minute <= high FROM growth WHERE trend = 'growing' AND site")" = 1 ] ||
		fail 'confidence or interval'
done
[ -z "$(for way in $ways; do sql 'SELECT teardown_ns FROM growth WHERE teardown_ns IS NOT NULL'; done)" ] || fail 'freeing at exit, where there is none'
# the heap's trend, that of suspect, and how long before the program's mark freeing is said to begin, at most, as a part of the time
freed() { # WAY HEAP SITE BEFORE
	way=$1
	"$BIN/ms-snap" -o "$way.db" "$way.trace"
	[ "$(sql 'SELECT trend FROM growth WHERE site = 0')" = "$2" ] || fail "the heap is not $2"
	[ "$(sql "SELECT group_concat(trend || ' ' || function) FROM growth JOIN place USING (site)")" = "$3" ] || fail "sites: not '$3'"
	[ "$(sql "SELECT min(teardown_ns BETWEEN time_ns - $4 * duration_ns AND time_ns + 0.01 * duration_ns AND growth.to_ns <= teardown_ns) FROM growth, process, mark")" = 1 ] ||
		fail "freeing begins at another time than the program's mark: $(sql 'SELECT time_ns FROM mark')"
}
freed all_freed growing 'growing suspect' 0.01
freed part_freed growing 'growing suspect' 0.02
freed fill_freed filling 'filling suspect' 0.02
freed teeth_freed steady '' 0.03
freed valley_freed steady '' 0.01
freed flat_freed steady '' 0.02
way=part_freed
rate=$(sql 'SELECT bytes_per_minute FROM growth WHERE site')
{ [ "$rate" -ge 4000000 ] && [ "$rate" -le 6500000 ]; } || fail "bytes per minute: $rate"
at=$(sql "SELECT teardown_ns FROM growth WHERE site" | awk '{ printf "%.3f", $1 / 1e9 }') # SQLite's printf rounds .0005 otherwise
for form in --text --html '--growth --md' '--growth --text'; do
	# shellcheck disable=SC2086
	"$BIN/ms-report" $form part_freed.trace | tr -s '\n ' '  ' >out
	grep -q "judged until $at s, when freeing at exit begins" out || fail "ms-report $form does not say it"
done
"$BIN/ms-report" --growth --json part_freed.db | grep -q "\"judged_until_ns\":$(sql 'SELECT teardown_ns FROM growth WHERE site = 0')," || fail 'JSON does not say it'
way=leak_fast
[ "$(sql "SELECT survivors > 500 AND victims = 0 AND survival_ns = 1000000000 FROM growth WHERE site")" = 1 ] || fail survival
way=lru
[ "$(sql "SELECT trend FROM growth WHERE site = 0")" = steady ] || fail "the heap is not steady"
way=jump
[ "$(sql "SELECT DISTINCT trend FROM growth WHERE site")" = step ] || fail "no step"
# a vector that doubles is that in every view, with a word that says no step and no end
way=doubles
[ "$(sql "SELECT group_concat(DISTINCT trend) FROM growth")" = doubling ] || fail "not doubling"
"$BIN/ms-report" doubles.db >out
grep -q '^GROWING in doublings; at the peak: ' out || fail "first screen: $(cat out)"
grep -Eq '^ +grows in doublings, by [0-9.]+ [KM]iB so far$' out || fail "first screen: $(cat out)"
# shellcheck disable=SC2016 # Markdown's code
"$BIN/ms-report" --md doubles.db | grep -Eq '`suspect` .*: grows in doublings, by [0-9.]+ [KM]iB so far \|$' || fail "--md"
"$BIN/ms-report" --growth doubles.db >out
[ "$(grep -Ec ' doubling( |$)' out)" = 2 ] || fail "--growth: $(cat out)"
[ "$("$BIN/ms-report" --growth --json doubles.db | grep -o '"trend":"[a-z]*"' | sort -u)" = '"trend":"doubling"' ] || fail "JSON"
for frames in "$("$BIN/ms-top" --json --frames 1 doubles.trace)" "$("$BIN/ms-top" --batch --frames 1 doubles.trace)"; do
	case $frames in
	*' step '* | *'"step"'* | *filled* | *filling*) fail "ms-top: $frames" ;;
	*doubling*) ;;
	*) fail "ms-top: $frames" ;;
	esac
done
way=log_fill
[ "$(sql "SELECT DISTINCT trend FROM growth WHERE site")" = filling ] || fail "not filling"
# of a sampled recording the interval of the rate has the samples' error in it; the true rate, which the run without sampling shows, is never
# three times as far off
way=leak_fast
rate=$(sql "SELECT bytes_per_minute FROM growth WHERE trend = 'growing' AND site")
way=sampled
"$BIN/ms-snap" -o sampled.db sampled.trace
[ "$(sql "SELECT abs($rate - bytes_per_minute) < 1.5 * (high - low) AND high - low > bytes_per_minute / 10 FROM growth WHERE site = 0")" = 1 ] || fail "not around $rate"
# where the peak of such a one was before, what is known is by how much it rose: of 14 MB the nine tenths that are not warm-up
way=peak_first
"$BIN/ms-snap" -o peak_first.db peak_first.trace
for form in '' --md; do
	# shellcheck disable=SC2086
	"$BIN/ms-report" --width 200 $form peak_first.db | tr -d '\134' >out
	rise=$(sed -nE 's/^(#### )?GROWING as a leak does; total rise: ([0-9.]+) MiB \(([0-9.]+)-([0-9.]+)\), 1 site$/\2 \3 \4/p' out)
	echo "$rise" | awk '{ off = $1 * 1048576 - 12600000; exit !($2 > 0 && off * off < (1.5 * ($4 - $3) * 1048576) ^ 2) }' || fail "total rise: '$rise': $(cat out)"
done
exit $failed
