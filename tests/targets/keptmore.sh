#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps blocks reachable where malloc is not glibc's: jemalloc, tcmalloc and mimalloc, by a scan on request. The figures are those of tests/targets/kept.sh.
set -eu
lib=/usr/lib/$(gcc -dumpmachine)
for f in "$lib/libjemalloc.so.2" "$lib/libtcmalloc_minimal.so.4" "$lib/libmimalloc.so.2.0"; do
	if [ "${MS_CHECK_ALL-0}" = 0 ] || [ ! -e "$f" ]; then
		echo "part of make check-all: needs $f"
		exit 77
	fi
done
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"

# variables WHICH: checks what variables keep, and the mapping that nothing holds.
variables() {
	is "$1: the list" "$(root variable g_list)" '52000 500'
	is "$1: its end" "$(shared 'g_list + g_middle')" '52000 500'
	is "$1: the owner" "$(root variable g_owner)" '100000 101'
	is "$1: who observes it" "$(observes g_alias)" 'g_owner'
	is "$1: a variable in a function" "$(root variable cache.0)" '10000 2'
	is "$1: a mapping that a variable holds" "$(root variable g_table)" '14000 20'
	is "$1: one right above the variables" "$(root variable g_beside)" '1500 5'
	is "$1: a mapping that nothing holds" "$(sql "SELECT sum(k.retained_bytes), sum(k.retained_blocks) FROM kept k JOIN keeper r
		ON r.id = k.keeper AND r.scan = k.scan WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = 'mapping' AND k.retained_bytes")" '4000 10'
}

for l in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	# shellcheck disable=SC2016  # the shell that is recorded has it
	record $l sh -c 'LD_PRELOAD="$LD_PRELOAD $1" exec "$2"' sh "$lib/$l" "$TB/targets/kept/kept"
	variables $l
	is "$l: a thread's variable" "$(root thread_local local_block worker-7)" '3000 1'
	is "$l: a frame" "$(root frame run_worker worker-7)" '50000 50'
done
finish
