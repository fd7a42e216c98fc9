#!/bin/bash
# SPDX-License-Identifier: MIT
# What ms-snap needs depends on what is live and on sites, not on how many events there are; and its totals are those that the writer made.
set -eu

# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

events=4000000
[ "$MODE" = release ] || events=200000 # a sanitizer has its own ideas of time and memory
"$TB/bench/bigtrace" $events 10000 1000 4 long.trace
(
	# 32 MiB of addresses, libraries included: 20 are enough for any number of events, and a word kept for each would not fit
	[ "$MODE" != release ] || ulimit -v 32768
	"$BIN/ms-snap" -q long.trace -o long.db
) || die "memory depends on the number of events"
got=$(sqlite3 long.db 'SELECT events, allocations - frees, peak_blocks, (SELECT count(*) FROM thread) FROM process')
[ "$got" = "$events|10000|10000|4" ] || die "totals: $got"
# the sums over sites, sizes and threads are those of the process
got=$(sqlite3 long.db 'SELECT (SELECT sum(allocated_bytes) FROM site) = allocated_bytes, (SELECT sum(allocated_bytes) FROM size_class) = allocated_bytes,
	(SELECT sum(allocated_bytes) FROM thread) = allocated_bytes, (SELECT sum(peak_bytes) FROM thread) = peak_bytes,
	(SELECT sum(peak_bytes) FROM size_class) = peak_bytes, (SELECT sum(temporary) FROM site) = temporary_allocations,
	(SELECT sum(live_bytes) FROM site_thread) = unfreed_bytes FROM process')
[ "$got" = '1|1|1|1|1|1|1' ] || die "sums differ: $got"
