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
# DB: for each figure, sites + hidden = total on either side, and old + delta = new
sums() {
	local f total
	for f in live_bytes:live_bytes live_blocks:live_blocks peak_bytes:own_peaks_bytes peak_blocks:own_peaks_blocks allocations:allocations \
		frees:frees allocated_bytes:allocated_bytes temporary:temporary_allocations; do
		total=${f#*:} f=${f%:*}
		for side in old new; do
			[ "$(ask "$1" "SELECT (SELECT coalesce(sum(${side}_$f), 0) FROM site_diff) + (SELECT sum(${side}_$f) FROM diff_hidden)
				- (SELECT $side FROM diff_total WHERE figure = '$total')")" = 0 ] || fail "$1: $side $f do not add up"
		done
		[ "$(ask "$1" "SELECT count(*) FROM site_diff WHERE old_$f + delta_$f IS NOT new_$f")" = 0 ] || fail "$1: delta of $f"
	done
	[ "$(ask "$1" "SELECT count(*) FROM diff_total WHERE old + delta IS NOT new AND delta IS NOT NULL")" = 0 ] || fail "$1: delta of totals"
	[ "$(ask "$1" 'PRAGMA integrity_check')" = ok ] || fail "$1: integrity"
}

# ---- one source, built in several ways ----
for level in 0 1 2 3; do g++ -g -O$level -o "O$level" "$here/program.cc" || exit 1; done
{
	printf '\n\n\n\n\n\n\n'
	sed 's/^static void cache/\n\n\n&/; s/^int main/\n\n&/' "$here/program.cc"
} >renamed.cpp
g++ -g -O2 -Wl,-Ttext-segment=0x800000 -no-pie -o shifted renamed.cpp || exit 1
g++ -g -O2 -DREGRESSION -o regression renamed.cpp || exit 1
g++ -g -O2 -DRENAMED -o function renamed.cpp || exit 1
g++ -O2 -s -o stripped "$here/program.cc" || exit 1
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
[ "$(ask d.db "SELECT count(*) > 3, min(evidence LIKE '%read_header% is called %read_prologue% now%') FROM site_diff WHERE matched = 'renamed'")" = '1 1' ] ||
	fail "another name: $(ask d.db "SELECT evidence FROM site_diff WHERE matched = 'renamed'")"
# without symbols: matched by position against itself only because it is the same build
compare d.db stripped.run stripped.run
[ "$(ask d.db "SELECT sum(weak), sum(kind != 'unchanged') FROM site_diff")" = '0 0' ] || fail 'the same build without symbols'

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
compare t.db --exit-code --old t0.trace --old t1.trace --old t2.trace --old t3.trace --new t4.trace --new t5.trace --new t6.trace ||
	fail "alarm with several runs: $(ask t.db 'SELECT * FROM changes')"
sums t.db
for i in 1 2 3; do "$BIN/ms-record" -q -o k$i.trace ./kept; done
compare t.db --exit-code --old t0.trace --old t1.trace --old t2.trace --new k1.trace --new k2.trace --new k3.trace
[ $? = 1 ] || fail 'what each thread keeps is not found'
sums t.db
[ "$(ask t.db 'SELECT kind, delta_live_bytes FROM changes LIMIT 1')" = 'new 72000' ] || fail "kept: $(ask t.db 'SELECT * FROM changes')"
exit $failed
