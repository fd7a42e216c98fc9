#!/bin/bash
# SPDX-License-Identifier: MIT
# Children that call exit() before the recorder has merged anything of them are scanned for leaks, each of them.
set -u
failures=0
for how in auto:50s yes; do
	ms-record -q --no-symbols --leak-check=$how -o t.trace "$TB/host/forkshort" || failures=$((failures + 1))
	for f in t.trace.d/*.trace; do
		rm -f t.db
		ms-snap --no-symbols -o t.db "$f" && sqlite3 t.db "SELECT state, unreachable_blocks, unreachable_bytes FROM scan WHERE label = 'end'"
	done | sort | uniq -c | tr -s ' ' >said
	[ "$(cat said)" = ' 20 done|1|2000' ] || {
		failures=$((failures + 1))
		echo "$how: $(cat said)"
	}
	rm -rf t.trace*
done
exit $((failures > 0))
