#!/bin/sh
# SPDX-License-Identifier: MIT
# Known one-time allocations of the runtime are named in the snapshot, kept or dropped by ms-filter, and said by ms-report; what a program
# leaks through the same functions is not.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
g++ -g -o app "$SRC/tests/cli/filter/runtime.cc" -pthread
LC_ALL=C "$BIN/ms-record" -q -o run.trace ./app >out
[ "$(cat out)" = hello ] || die "the program said $(cat out)"
"$BIN/ms-snap" -o run.db run.trace
live="SELECT DISTINCT one_time FROM site s JOIN site_stat c ON c.site = s.id JOIN snapshot t ON t.id = c.snapshot AND label = 'end'
	WHERE one_time IS NOT NULL ORDER BY 1"
sqlite3 run.db "$live" >names
for name in 'libstdc++ emergency pool' 'stdio buffer' 'time zone' 'name service' 'message catalogue' unwinder 'thread control data'; do
	grep -qx "$name" names || die "no '$name' among: $(tr '\n' ',' <names)"
done
[ "$(sqlite3 run.db "SELECT min_size || ' ' || max_live_blocks FROM site WHERE one_time LIKE 'libstdc++%'")" = "$(emergency_pool) 1" ] ||
	die 'the emergency pool is another block'
# The buffer of standard output is one; those of the streams that leaked are not.
place="SELECT count(*), sum(s.allocations) FROM site s JOIN place p ON p.site = s.id WHERE p.function"
[ "$(sqlite3 run.db "$place = 'main' AND one_time = 'stdio buffer' AND frees = 0")" = '1|1' ] || die 'the buffer of standard output'
[ "$(sqlite3 run.db "$place = 'leak_streams()' AND one_time IS NOT NULL")" = '0|' ] || die 'a leak is named'
[ "$(sqlite3 run.db "$place = 'leak_streams()'")" = '2|80' ] || die 'the streams'
[ "$(sqlite3 run.db "SELECT count(*) FROM site WHERE one_time IS NULL AND min_size = 1001")" = 1 ] || die 'the string'
# Both halves and the whole
for words in --one-time --not-one-time --runtime --not-runtime; do
	"$BIN/ms-filter" -q $words -o "part$words.db" run.db
done
[ "$(sqlite3 part--not-one-time.db 'SELECT count(*) FROM site WHERE one_time IS NOT NULL')" = 0 ] || die '--not-one-time'
[ "$(sqlite3 part--one-time.db 'SELECT count(*) FROM site WHERE one_time IS NULL')" = 0 ] || die '--one-time'
both=$(($(sqlite3 part--one-time.db 'SELECT count(*) FROM site') + $(sqlite3 part--not-one-time.db 'SELECT count(*) FROM site')))
[ "$both" = "$(sqlite3 run.db 'SELECT count(*) FROM site')" ] || die 'the halves'
[ "$(sqlite3 part--not-runtime.db "SELECT count(*) FROM site JOIN place ON site = id WHERE function = 'leak_streams()'")" = 2 ] || die '--not-runtime'
[ "$(sqlite3 part--runtime.db "SELECT count(*) FROM site WHERE one_time IS NULL AND min_size = 1001")" = 0 ] || die '--runtime'
# The report names them, and how much it is.
"$BIN/ms-report" run.db >report
grep -Eq '^Hidden   nothing \(no filters\); one-time allocations of the runtime: [0-9.]+ KiB \(shown by ms-filter --only=one-time\)$|^ +one-time allocations of the runtime: [0-9.]+ KiB' report ||
	die "$(grep -A1 '^Hidden' report)"
"$BIN/ms-filter" -q --not-one-time run.db | "$BIN/ms-report" >report
! grep -q 'one-time allocations of the runtime' report || die 'named, although hidden'
