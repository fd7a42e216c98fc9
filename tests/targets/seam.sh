#!/bin/sh
# SPDX-License-Identifier: MIT
# A second thread begins while events of the first one have no stamps of their own: not one is out of order, at forty points.
set -eu
for seed in $(seq 40); do
	"$BIN/ms-record" -q --no-symbols -o seam.trace "$TB/targets/seam" "$seed"
	"$BIN/ms-snap" --no-symbols -o seam.db seam.trace
	got=$(sqlite3 seam.db "SELECT events_late, inferred_frees, unknown_frees, events_lost, allocations > 40000, (SELECT count(*) FROM thread) FROM process")
	[ "$got" = "0|0|0|0|1|2" ] || {
		echo "seed $seed: late, inferred, unknown, lost, enough, threads: $got"
		exit 1
	}
done
