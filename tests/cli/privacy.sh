#!/bin/bash
# SPDX-License-Identifier: MIT
# What a trace keeps to itself: its files' mode and owner, --no-args, addresses of blocks without --addresses.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# ---- mode and owner of every file ----
umask 000
owner=$(id -u):$(id -g)
[ "$(id -u)" != 0 ] || owner=1234:2345
for _ in 1 2; do
	SUDO_UID=1234 SUDO_GID=2345 "$BIN/ms-record" -q --follow=all -o o.trace sh -c 'ls >/dev/null; true'
done
for f in o.trace o.trace~ o.trace.d/*; do
	is "mode and owner of ${f/[0-9]*./N.}" "$(stat -c '%a %u:%g' "$f")" "600 $owner"
done
is 'mode and owner of the folder' "$(stat -c '%a %u:%g' o.trace.d)" "700 $owner"
SUDO_UID=1234 SUDO_GID=2345 "$BIN/ms-record" -q --max-size 1M --keep=live -o k.trace "$TB/host/longrun" forever 1000 1
[ "$("$BIN/ms-report" --json k.trace | jq .quality.dropped_events)" -gt 0 ] || fail 'k.trace was not written anew'
is 'mode and owner of a trace written anew' "$(stat -c '%a %u:%g' k.trace)" "600 $owner"
# ---- --no-args: neither arguments nor environment, of none of the programs ----
SECRET_ENV=hidden LANG=C.hidden "$BIN/ms-record" -q --no-args --follow=all --env MEMSCOPE_X=hidden -o a.trace sh -c 'ls /nonexistent-hidden; env true hidden' 2>/dev/null
for t in a.trace a.trace.d/*.trace; do
	"$TB/trace-dump" "$t" | grep -q 'hidden' && fail "$t: --no-args keeps $("$TB/trace-dump" "$t" | grep -o '[^ ]*hidden[^ ]*' | head -n 1)"
done
grep -q hidden a.trace.d/index && fail 'the index holds arguments'
is 'command of --no-args' "$("$BIN/ms-report" --json a.trace | jq -c .process.command)" '[]'
LANG=C.shown "$BIN/ms-record" -q -o b.trace ls /nonexistent-shown 2>/dev/null
is 'arguments without --no-args' "$("$TB/trace-dump" b.trace | grep -o 'nonexistent-shown\|LANG=C.shown' | sort -u | tr '\n' ' ')" 'LANG=C.shown nonexistent-shown '

# ---- --addresses: the same figures without them, also in checkpoints and traces written anew ----
PYTHONMALLOC=malloc "$BIN/ms-record" -q --no-symbols --addresses -o with.trace "$TB/host/longrun" forever 500 0.3
"$BIN/ms-record" -q --no-symbols -o without.trace "$TB/host/longrun" forever 500 0.3
"$BIN/ms-record" -q --no-symbols --no-addresses --max-size 1M --keep=live -o anew.trace "$TB/host/longrun" forever 500 0.8
live=$(sed -n 's/^live_bytes //p' truth)
columns() { # FILE TYPE: numbers of the columns of its blocks of that type
	"$TB/trace-dump" -b "$1" | grep -A1 "^block [0-9]* $2 " | grep -o ' [0-9]*=' | tr -d ' =' | sort -nu | tr '\n' ' '
}
[[ " $(columns with.trace events)" = *' 13 '* ]] || fail "with addresses event blocks have columns $(columns with.trace events)"
[[ " $(columns anew.trace checkpoint)" = *' 2 3 '* ]] || fail "checkpoints have columns $(columns anew.trace checkpoint)"
for t in without.trace anew.trace; do
	[[ " $(columns $t events)" = *' 13 '* ]] && fail "$t has addresses"
	[[ " $(columns $t checkpoint)" = *' 7 '* ]] && fail "checkpoints of $t have addresses"
done
is 'live at the end without addresses' "$("$BIN/ms-report" --json anew.trace | jq .totals.unfreed_bytes)" "$live"

finish
