#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-diff on real programs: one source built in several ways matches, a regression is the first row, threads make no alarm.
set -u
[ -x "$BIN/ms-diff" ] || exit 1
failed=0
fail() {
	echo "FAILED: $*"
	failed=1
}
here=$SRC/tests/host/diff
# Outputs go through pipes: nothing here has to wait for a disk.
record() { # NAME...: each ./NAME into the snapshot NAME.run
	for p; do
		"$BIN/ms-record" -q -o "$p.trace" "./$p" || fail "cannot record $p"
		"$BIN/ms-snap" -q "$p.trace" >"$p.run" || fail "cannot read $p"
	done
}
compare() { # OUT ARGUMENTS
	local out=$1
	shift
	"$BIN/ms-diff" -q "$@" >"$out"
}
ask() { sqlite3 -separator ' ' "$1" "$2"; }
# One question for all, since it is put often: for each figure, sites + hidden = total on either side, and old + delta = new.
questions="SELECT 'delta of totals' WHERE EXISTS (SELECT * FROM diff_total WHERE old + delta IS NOT new AND delta IS NOT NULL)
	UNION ALL SELECT 'integrity: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'"
for f in live_bytes:live_bytes live_blocks:live_blocks peak_bytes:own_peaks_bytes peak_blocks:own_peaks_blocks allocations:allocations \
	frees:frees allocated_bytes:allocated_bytes temporary:temporary_allocations; do
	total=${f#*:} f=${f%:*}
	for side in old new; do
		questions="$questions UNION ALL SELECT '$side $f do not add up' WHERE (SELECT coalesce(sum(${side}_$f), 0) FROM site_diff)
			+ (SELECT sum(${side}_$f) FROM diff_hidden) - (SELECT $side FROM diff_total WHERE figure = '$total') IS NOT 0"
	done
	questions="$questions UNION ALL SELECT 'delta of $f' WHERE EXISTS (SELECT * FROM site_diff WHERE old_$f + delta_$f IS NOT new_$f)"
done
sums() { # DB
	local answers
	answers=$(ask "$1" "$questions") || answers="status $?"
	[ -z "$answers" ] || fail "$1: $answers"
}

# ---- one source, built in several ways ----
{
	printf '\n\n\n\n\n\n\n'
	sed 's/^static void cache/\n\n\n&/; s/^int main/\n\n&/' "$here/program.cc"
} >renamed.cpp
compile() { # OUTPUT ARGUMENTS...: while the others go on; built counts
	local out=$1
	shift
	g++ -o "$out" "$@" && echo "$out" >>built
}
for level in 0 1 2 3; do compile "O$level" -g "-O$level" "$here/program.cc" & done
compile shifted -g -O2 -Wl,-Ttext-segment=0x800000 -no-pie renamed.cpp &
compile regression -g -O2 -DREGRESSION renamed.cpp &
compile function -g -O2 -DRENAMED renamed.cpp &
compile stripped -O2 -s "$here/program.cc" &
compile other -O2 -s -Wl,--build-id=none "$here/program.cc" &
wait
[ "$(wc -l <built)" = 9 ] || exit 1
record O0 O1 O2 O3 shifted regression function stripped
for old in O0 O1 O2 O3 shifted; do
	for new in O0 O1 O2 O3 shifted function; do
		compare d.db --exit-code $old.run $new.run || fail "$old $new: status $?"
		sums d.db
		# at least 95 in 100 sites of either side are found unchanged on the other
		[ "$(ask d.db "SELECT sum(iif(kind = 'unchanged', sites + old_sites, 0)) * 100 >= 95 * sum(sites + old_sites) FROM site_diff")" = 1 ] ||
			fail "$old $new: $(ask d.db 'SELECT kind, matched, sum(old_sites), sum(sites) FROM site_diff GROUP BY 1, 2')"
	done
done
compare same.db O2.run O2.run
[ "$(ask same.db "SELECT count(*), sum(kind = 'unchanged'), sum(matched = 'exact') FROM site_diff" | tr ' ' '\n' | uniq | wc -l)" = 1 ] ||
	fail 'a run differs from itself'
[ "$(ask same.db 'SELECT count(*) FROM diff_total WHERE delta != 0')" = 0 ] || fail 'totals of a run differ from themselves'
compare d.db O2.run function.run
[ "$(ask d.db "SELECT count(*) > 3, min(evidence LIKE '%read_header% is now named %read_prologue%') FROM site_diff WHERE matched = 'renamed'")" = '1 1' ] ||
	fail "another name: $(ask d.db "SELECT evidence FROM site_diff WHERE matched = 'renamed'")"
# without symbols: matched by position against itself only because it is the same build
compare d.db stripped.run stripped.run
[ "$(ask d.db "SELECT sum(weak), sum(kind != 'unchanged') FROM site_diff")" = '0 0' ] || fail 'the same build without symbols'

# ---- one side was stripped: the same build is matched by address, exactly ----
strip -o bare O2
strip -o regression-bare regression
record bare other regression-bare
for pair in 'O2 bare' 'bare O2'; do
	# shellcheck disable=SC2086
	set -- $pair
	compare d.db --exit-code "$1.run" "$2.run" || fail "$pair: status $?"
	sums d.db
	[ "$(ask d.db "SELECT count(*) > 30, min(kind || matched) = 'unchangedexact', max(kind || matched) = 'unchangedexact' FROM site_diff")" = '1 1 1' ] ||
		fail "$pair: $(ask d.db 'SELECT kind, matched, count(*) FROM site_diff GROUP BY 1, 2')"
	[ "$(ask d.db "SELECT value FROM diff WHERE key = '$([ "$2" = bare ] && echo new || echo old)_nameless'")" = bare ] || fail "$pair: whose symbols are missing"
done
# another build: figures match most, the rest is neither new nor gone, and nobody can say that nothing grew
compare d.db --exit-code O2.run other.run
[ $? = 2 ] || fail 'sites that cannot be compared are not status 2'
compare d.db --exit-code --allow-partial O2.run other.run || fail 'nor 0 when that is allowed'
sums d.db
[ "$(ask d.db "SELECT sum(kind = 'unmatched') BETWEEN 1 AND 8, sum(kind = 'unchanged') > 30, sum(kind NOT IN ('unmatched', 'unchanged')), sum(significant),
	sum(kind = 'unmatched' AND matched IS NOT NULL) FROM site_diff")" = '1 1 0 0 0' ] ||
	fail "without symbols on one side: $(ask d.db 'SELECT kind, matched, significant, count(*) FROM site_diff GROUP BY 1, 2, 3')"
"$BIN/ms-diff" O2.run other.run 2>said >/dev/null
grep -q "'other.run' has no symbols for other, but '[^']*' has: cannot tell whether [1-8] sites\? changed" said || fail "said: $(cat said)"
"$BIN/ms-report" d.db >text || fail 'the report of it'
grep -q 'NOT ALL COMPARED: [1-8] sites ([^)]* in all) could not be compared' text || fail "no banner: $(head -5 text)"
grep -q 'NOTHING CHANGED by more than noise' text || fail 'it is called a change'
"$BIN/ms-report" --json d.db | jq -e '.diff | .totals.unmatched_sites > 0 and .totals.new_sites == 0 and .totals.gone_sites == 0 and .nameless == {old: null, new: "other"}' \
	>jq.out || fail 'JSON of it'
budget() { # STATUS ARGUMENTS
	local want=$1
	shift
	"$BIN/ms-report" -q --summary "$@" d.db >text 2>said
	local rc=$?
	[ $rc = "$want" ] || fail "$*: status $rc, not $want: $(cat said)"
}
budget 2 --fail-on 'new_sites > 0'
budget 0 --allow-partial --fail-on 'new_sites > 0'
budget 2 --fail-on 'site("*").delta_live_bytes > 0'
budget 1 --fail-on 'unmatched_sites > 0'
budget 0 --fail-on 'delta_live_bytes > 1k'
budget 1 --fail-on 'delta_allocations >= 0'
# what grew in all is found without symbols too
compare d.db --exit-code O2.run regression-bare.run
[ $? = 1 ] || fail 'a regression in a stripped build is not status 1'
[ "$(ask d.db "SELECT sum(delta_live_bytes), sum(significant) FROM site_diff WHERE kind = 'unmatched'")" = '65536 0' ] || fail 'it is in no row'

# ---- a regression of 64 KiB is the first row ----
for old in O0 O2 O3 shifted; do
	compare d.db --exit-code $old.run regression.run
	[ $? = 1 ] || fail "$old: a regression is not status 1"
	sums d.db
	[ "$(ask d.db 'SELECT kind, delta_live_bytes, delta_allocations FROM changes LIMIT 1')" = 'new 65536 16' ] ||
		fail "$old: the first row is $(ask d.db 'SELECT * FROM changes LIMIT 3')"
	[ "$(ask d.db "SELECT delta, significant FROM diff_total WHERE figure = 'unfreed_bytes'")" = '65536 1' ] || fail "$old: the total"
done
# the other way round it is gone, with its stack
compare d.db --exit-code regression.run O2.run || fail 'less memory is no regression'
[ "$(ask d.db "SELECT d.kind, d.delta_live_bytes, s.allocations FROM site_diff d JOIN site s ON s.id = d.site WHERE d.significant = 1
	AND s.stack IN (SELECT k.id FROM stack k JOIN stack p ON p.id = k.parent JOIN frame f ON f.id = p.frame WHERE f.function LIKE 'forget_buffer%')")" = \
	'gone -65536 0' ] || fail "gone: $(ask d.db 'SELECT * FROM changes')"

# ---- threads: two runs of one binary ----
gcc -g -O2 -pthread -o threads "$here/threads.c" || exit 1
gcc -g -O2 -pthread -DREGRESSION -o kept "$here/threads.c" || exit 1
for i in $(seq 0 20); do "$BIN/ms-record" -q -o "t$i.trace" ./threads; done
for i in $(seq 20); do
	compare t.db --exit-code t$((i - 1)).trace "t$i.trace" || fail "alarm in run $i: $(ask t.db 'SELECT * FROM changes')"
done
# by turns: how threads meet changes with what else the machine does
compare t.db --exit-code --old t0.trace --old t2.trace --old t4.trace --old t6.trace --new t1.trace --new t3.trace --new t5.trace ||
	fail "alarm with several runs: $(ask t.db 'SELECT * FROM changes')"
sums t.db
for i in 1 2 3; do "$BIN/ms-record" -q -o k$i.trace ./kept; done
compare t.db --exit-code --old t0.trace --old t1.trace --old t2.trace --new k1.trace --new k2.trace --new k3.trace
[ $? = 1 ] || fail 'what each thread keeps is not found'
sums t.db
[ "$(ask t.db 'SELECT kind, delta_live_bytes FROM changes LIMIT 1')" = 'new 72000' ] || fail "kept: $(ask t.db 'SELECT * FROM changes')"
# ---- sampled: of three calls in a function each run saw others, at the same lines ----
printf '%s\n' '#include <stdlib.h>' 'void *volatile kept[4];' 'int main(void)' '{' '#ifdef FIRST' '	kept[0] = malloc(100);' '#else' '#endif' \
	'	kept[1] = malloc(200000);' '#ifdef FIRST' '#else' '	kept[2] = malloc(100);' '#endif' '	kept[3] = malloc(100);' '	return 0;' '}' >calls.c
gcc -g -O0 -o calls calls.c && gcc -g -O0 -DFIRST -o others calls.c || exit 1
for p in calls others; do "$BIN/ms-record" -q --sample 1 -o $p.trace ./$p || fail "cannot record $p"; done
compare s.db --exit-code calls.trace others.trace || fail "another call of the same function: $(ask s.db 'SELECT * FROM changes')"
[ "$(ask s.db 'SELECT max(new_live_bytes) - max(old_live_bytes), count(*) FROM site_diff WHERE old_live_bytes > 100000')" = '0 1' ] ||
	fail "the largest call: $(ask s.db 'SELECT old_live_bytes, new_live_bytes, matched FROM site_diff')"
# ---- sampled: hundreds of sites, of which one in twenty is outside of its 95 % interval by chance ----
for i in 0 1 2 3 4 5; do
	"$BIN/ms-record" -q --leak-check=no --sample 4k -o "s$i.trace" python3 -c 'import json' || fail 'cannot record python3'
	"$BIN/ms-snap" -q "s$i.trace" >"s$i.run"
done
for i in 1 2 3 4 5; do
	compare s.db --exit-code "s$((i - 1)).run" "s$i.run" || fail "alarm in sampled run $i: $(ask s.db 'SELECT * FROM changes')"
done
[ "$(ask s.db 'SELECT count(*) > 100 FROM site_diff')" = 1 ] || fail 'there are few sites'
for p in O2 regression; do "$BIN/ms-record" -q --leak-check=no --sample 1k -o "$p.sampled" "./$p"; done
compare s.db --exit-code O2.sampled regression.sampled
[ $? = 1 ] || fail 'a regression is not found in samples'
[ "$(ask s.db 'SELECT kind, delta_live_bytes BETWEEN 20000 AND 120000 FROM changes LIMIT 1')" = 'new 1' ] || fail "sampled: $(ask s.db 'SELECT * FROM changes')"
exit $failed
