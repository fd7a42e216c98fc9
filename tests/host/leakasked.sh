#!/bin/bash
# SPDX-License-Identifier: MIT
# --tell leak-check that takes longer than is allowed: how long, what is allowed, the option that allows it, and status 1; with it, what leaks.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
recording() {
	[ "$(ms-record --tell t.trace status 2>/dev/null | sed -n 's/^state //p')" = recording ]
}
let_end() {
	touch go
	wait
	rm -f go ready begin
}
cp "$TB/host/leakasked" leakasked || exit 1
ask() { # WHAT STATUS ANSWER: without the pause at its end
	wait_for recording
	touch begin
	wait_for test -e ready
	said=$(ms-record --tell t.trace leak-check 2>&1)
	is "$1: status" $? "$2"
	is "$1: answer" "$(sed -E 's/; stopped for.*//; s/about [0-9]+ ms/about N ms/' <<<"$said")" "leakasked (pid $(cat ready)): $3"
}
late='not scanned: a scan would take about N ms, but --leak-check allows 10 ms (record with --leak-check=auto:1s); no copy could be forked: much of its memory is MADV_DONTFORK or MADV_WIPEONFORK'
found='6.8 KiB in 7 blocks unreachable'

ms-record -q --no-symbols --leak-check=auto:10ms -o t.trace ./leakasked &
ask 'too short' 1 "$late"
is 'resident: status' "$(ms-record --tell t.trace resident >said && echo $?)" 0
let_end
ms-record -q --no-symbols --leak-check=auto:50s -o t.trace ./leakasked &
ask 'long enough' 0 "$found"
let_end

# Of a process that is attached to, too.
./leakasked &
ms-record -q --no-symbols --leak-check=auto:10ms -o t.trace -p $! &
ask 'attached' 1 "$late"
let_end
for wish in yes no; do
	is "-p: $wish" "$(ms-record --leak-check=$wish -p 1 2>&1)" 'ms-record: with -p, --leak-check takes auto:DUR or mark:NAME: an attached process is not scanned at its end'
done
finish
