#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps blocks reachable in programs made with musl, dynamic and static: at the end of one that is launched, and of one that runs already,
# whose blocks are as large as its malloc made them. The figures are those of tests/targets/kept.sh.
set -eu
if [ "${MS_CHECK_ALL-0}" = 0 ] || ! command -v musl-gcc >/dev/null; then
	echo 'part of make check-all: needs musl-gcc'
	exit 77
fi
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

for how in '' -static; do
	# shellcheck disable=SC2086
	musl-gcc -g -O1 -fno-builtin-calloc -fno-optimize-sibling-calls -D_GNU_SOURCE $how -o "musl$how" "$SRC/tests/targets/kept/kept.c"
	begin ms-record -q --retention -o run.trace "./musl$how"
	: >go
	wait $program || fail "musl$how: status $?"
	ms-snap -o run.db run.trace
	variables "musl$how"
done

# Attached to before it allocates, and scanned while its thread is there, whose frames musl has no tables for.
rm -rf run.* ready go start
mkfifo go start
./musl start &
program=$!
ms-record -q -p $program -o run.trace &
recorder=$!
wait_for ms-record --tell run.trace flush 2>/dev/null
: >start
wait_for [ -e ready ]
ms-record --tell run.trace retention >said || fail "attached: not told: $(cat said)"
: >go
wait $program || fail "attached: status $?"
wait $recorder || fail "attached: recorder's status $?"
ms-snap -o run.db run.trace
variables attached
is "attached: a thread's variable" "$(root thread_local local_block worker-7)" '3000 1'
is "attached: a thread's stack" "$(sql "SELECT sum(k.retained_bytes), sum(k.retained_blocks) FROM kept k JOIN keeper r ON r.id = k.keeper AND
	r.scan = k.scan WHERE k.parent IS NULL AND r.kind = 'frame' AND r.name IS NULL AND r.thread = 'worker-7'")" '50000 50'
is 'attached: lost' "$(sql 'SELECT unreachable_bytes FROM retention')" 1500
finish
