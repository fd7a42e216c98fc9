#!/bin/sh
# SPDX-License-Identifier: MIT
# What resident memory is for: the parts make up RSS, each case has the part that resident.c makes, and advice that is followed gives
# back what it promised.
set -eu
program=$TB/targets/resident
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
near() { # name got want percent
	awk -v g="$2" -v w="$3" -v p="$4" 'BEGIN { d = g - w; d = d < 0 ? -d : d; exit !(d <= w * p / 100) }' || die "$1: $2, not $3"
}
ask() { sqlite3 "$case.db" "SELECT $1 FROM resident"; }
head -c 33554432 /dev/zero | tr '\0' x >big-file
parts='live_bytes + slack_bytes + free_bytes + other_bytes + stack_bytes + shared_bytes + file_bytes + recorder_bytes'
record() { # case, and what else the program is given
	case=$1
	shift
	ms-record -q --resident --leak-check=auto:50s -o "$case.trace" "$program" "$case" "$@" >"$case.rss"
	ms-snap -o "$case.db" "$case.trace"
	test "$(ask "label || ' ' || state || ' ' || wide")" = "end done 0"
	# What the kernel said to the program a moment before, which has done some more since, in the library too.
	near "$case: parts" "$(ask "$parts")" "$(cat "$case.rss")" 4
	test "$(ask "rss_bytes = $parts")" = 1
	# Sites make up what the process has.
	test "$(sqlite3 "$case.db" "SELECT (SELECT coalesce(sum(live_bytes), 0) || ' ' || coalesce(sum(pinned_bytes), 0) || ' ' ||
		coalesce(sum(untouched_bytes), 0) FROM resident_site) = live_bytes || ' ' || pinned_bytes || ' ' || untouched_bytes,
		(SELECT sum(bytes) FROM resident_file) = file_bytes + shared_bytes FROM resident")" = "1|1"
}
rss() { env "$@" | tail -n 1; }

record pinned
test "$(ask 'live_bytes || " " || blocks || " " || untouched_bytes')" = "400000 10000 0"
near "pinned" "$(ask pinned_bytes)" 40160000 0.5
test "$(ask 'trim_bytes < 100000')" = 1
ms-report --width 120 --resident pinned.trace >said
grep -q '^RSS .*is free but held by the allocator: 38.3 MiB' said || die "$(cat said)"
grep -qE '^pin +38.3 MiB +38.[5-9] MiB +390.6 KiB +10,000 +0 B +[0-9] +resident.c:[0-9]+$' said || die "$(cat said)"
grep -q '^nothing would free' said

record trim
# 41,943 blocks of 1,008 bytes with their headers, and what malloc_trim leaves
near "trim" "$(ask trim_bytes)" 42278000 1
near "malloc_trim" "$(($(rss "$program" trim) - $(rss "$program" trim "then")))" "$(ask trim_bytes)" 25
ms-report --resident trim.trace | grep -qE '^call malloc_trim\(0\) +40.3 MiB +9[0-9] %' || die "no advice to trim"

record arenas
test "$(ask arenas)" -ge 7
gain=$(ms-report --resident --json arenas.trace | python3 -c 'import json, sys
v = {x["view"]: x["rows"] for x in json.load(sys.stdin)["views"]}
assert list(v) == ["resident", "resident_sites", "resident_untouched", "resident_files", "resident_advice"], list(v)
assert v["resident"][0]["part"] == "live data" and v["resident"][2]["resident_bytes"] > 16 << 23
print({x["advice"]: x["gain_bytes"] for x in v["resident_advice"]}["set MALLOC_ARENA_MAX=1"])')
near "MALLOC_ARENA_MAX" "$(($(rss "$program" arenas) - $(rss MALLOC_ARENA_MAX=1 "$program" arenas)))" "$gain" 25

record large
near "large" "$(ask gap_bytes)" 25165824 1
near "MALLOC_MMAP_THRESHOLD_" "$(($(rss "$program" large) - $(rss MALLOC_MMAP_THRESHOLD_=131072 "$program" large)))" "$(ask gap_bytes)" 25
ms-report --resident large.trace | grep -q '^set MALLOC_MMAP_THRESHOLD_=131072 *24.0 MiB'

# Two processes, the other one with another allocator.
cp large.db two.db
sqlite3 two.db "CREATE TEMP TABLE p AS SELECT * FROM process; UPDATE p SET id = 2, pid = pid + 1, allocator = 'jemalloc'; INSERT INTO process SELECT * FROM p;
	CREATE TEMP TABLE r AS SELECT * FROM resident; UPDATE r SET process = 2; INSERT INTO resident SELECT * FROM r"
ms-report --resident two.db | grep -q "^none: there is advice for glibc's allocator only$"

# Only what was written is there, and what was only read where the kernel has pages for that; a terabyte that is reserved is not walked.
zeros=$("$program" zeros)
[ "$zeros" = 0 ] || echo "this kernel counts $zeros of 64 MiB of zeros that were only read as resident"
record reserve
near "untouched" "$(ask untouched_bytes)" $(((1024 - 5 + 64 - zeros) * 1048576)) 0.01
near "written" "$(ask live_bytes)" $(((5 + zeros) * 1048576)) 0.2
near "mapped" "$(ask other_bytes)" $((3 * 1048576 + 4096)) 2
test "$(ask 'pause_ns < 500000000')" = 1
ms-report --width 100 --resident reserve.trace | grep -qE '^reserve +0 B +5.0 MiB +5.0 MiB +1 +1019.0 MiB'

record leak
near "leak" "$(ask live_bytes)" $((20 * (1048576 - 4096))) 0.1
ms-report --resident leak.trace | grep -q 'is live data: --leaks shows its sites$'

record file big-file
near "file" "$(sqlite3 file.db "SELECT bytes FROM resident_file WHERE file LIKE '%/big-file'")" 33554432 0.1
ms-report --width 200 --resident file.trace | grep -q "is files: mostly $PWD/big-file$"

sqlite3 file.db "INSERT INTO resident_file (process, moment, file, shared, bytes) SELECT process, moment, '', 0, 9 * max(bytes) FROM resident_file GROUP BY 1, 2;
	UPDATE resident SET rss_bytes = rss_bytes + 9 * file_bytes, file_bytes = 10 * file_bytes"
ms-report --width 200 --resident file.db | grep -q "is files: the largest is $PWD/big-file$"

# Shared memory is apart from files, which the kernel can drop; a private mapping of a file in memory is shared until it is written.
record shared
test "$(ask 'shared_bytes')" = $((15 * 1048576)) || die "shared: $(ask shared_bytes)"
test "$(sqlite3 shared.db "SELECT group_concat(bytes, ' ') FROM (SELECT bytes FROM resident_file WHERE shared ORDER BY bytes)")" = "1048576 2097152 4194304 8388608"
test "$(sqlite3 shared.db "SELECT bytes FROM resident_file WHERE shared AND file LIKE '/memfd:shared-fd%'")" = 8388608
test "$(ask huge_bytes)" = $(($(grep -c '^HugePages_Total: *[1-9]' /proc/meminfo) * 2097152)) || [ "$(ask huge_bytes)" = 0 ]
ms-report --width 200 --resident shared.trace >said
grep -qE '^shared memory +15.0 MiB +[0-9.]+ % +memfd, /dev/shm, System V, tmpfs: can be swapped out, not dropped$' said || die "$(cat said)"
grep -q 'is shared memory: mostly /memfd:shared-fd' said || die "$(cat said)"
sqlite3 shared.db "UPDATE resident SET file_bytes = file_bytes + shared_bytes, shared_bytes = NULL; UPDATE resident_file SET shared = NULL"
ms-report --resident shared.db | grep -q '^shared' && die "shared memory of a trace that does not know it"

# Without verdicts; without the option; not with samples.
ms-record --resident --leak-check=no -o plain.trace "$program" leak 2>said >/dev/null
grep -qE '^  cost .*; --resident delayed the exit by [0-9.]+ m?s$' said || die "$(cat said)"
ms-report --resident plain.trace | grep -qE '^RESIDENT MEMORY by use; measuring paused the process for [0-9.]+ .?s$' || die "no pause"
test "$(ms-report --sql 'SELECT (SELECT count(*) FROM scan) || state FROM resident' plain.trace | tail -n 1)" = 0done
ms-record -q -o without.trace "$program" leak >/dev/null
ms-report --resident without.trace | grep -qx 'resident memory: n/a (recorded without --resident)'
ms-report without.trace | grep -q 'not live heap (see --resident)' && die "what is not known is offered"
ms-report file.trace | grep -q "not live heap (see --resident)$"
ms-record --resident --sample 4k -o no.trace true 2>said && die "taken with --sample"
grep -qx 'ms-record: --resident cannot be combined with --sample: it needs all blocks' said
# One that is killed is said to be.
ms-record -q --resident -o killed.trace "$program" leak die >/dev/null || :
ms-report --resident killed.trace | grep -qx 'resident memory: n/a (the program was killed, or ended without calling exit())'
# Before it was taken, and of several processes at once.
ms-snap --to 1ms leak.trace | ms-report --resident | grep -q '^resident memory: n/a' || die "known before it was"
ms-report --resident leak.trace large.trace | head -n 1 | grep -q '^RSS 7[0-9.]* MiB (2 processes, at the end): ' || die "not of both"
# Of other allocators the parts are known too, but not what they round up, and nobody says what they would give back.
[ "${MS_CHECK_ALL:-0}" = 1 ] || exit 0
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	[ -n "$(find /usr/lib -name "$library" | head -n 1)" ] || { echo "$library is not installed"; exit 77; }
	case=$library
	ms-record -q --resident --env "LD_PRELOAD=$library" -o "$case.trace" "$program" pinned >/dev/null
	ms-snap -o "$case.db" "$case.trace"
	test "$(ask 'state, slack_bytes IS NULL AND trim_bytes IS NULL, rss_bytes = live_bytes + free_bytes + other_bytes + stack_bytes + shared_bytes + file_bytes + recorder_bytes')" = "done|1|1"
	# libstdc++, which some of them are linked with, has a block of 72 KB of which little is written
	near "$library" "$(ask live_bytes)" 400000 2
	ms-report --resident "$case.trace" | grep -q '^none: what another allocator than glibc.s does is not known$'
done
