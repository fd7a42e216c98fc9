#!/bin/bash
# SPDX-License-Identifier: MIT
# A command ends before what it started does: that is said, and with --wait=all the rest is recorded to the last block.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
begin() { # a fresh folder
	cd "$(mktemp -d "$PWD/XXXXXX")" || exit 1
	cp "$TB/host/daemons" daemons || exit 1
}
let_end() { # nothing that was left behind stays
	touch go
	cd ..
}
over() { # no such process
	! kill -0 "$1" 2>/dev/null
}
served() { # FILE: how each process ended that allocated, its allocations, bytes and peak
	awk -F '\t' '!/^#/ && $7 > 0 { print $6, $7, $8, $9 }' "$1.d/index"
}

# ---- all is recorded, and the status is the command's ----
for kind in daemon double exec spawn; do
	begin
	timeout 300 "$BIN/ms-record" --wait=all -o t.trace ./daemons $kind 2>err
	is "$kind: status" $? 3
	is "$kind: what was recorded" "$(served t.trace)" 'exit:0 300 300000 300000'
	grep -q 'goes on' err && fail "$kind: $(cat err)"
	"$BIN/ms-report" --json t.trace | grep -q left_behind && fail "$kind: left_behind"
	let_end
done

# ---- without --wait=all it is said which process goes on: of one that has recorded nothing yet too ----
for follow in '' all exec; do
	begin
	timeout 300 "$BIN/ms-record" ${follow:+--follow=$follow} -o t.trace ./daemons waits 2>err
	is "default $follow: status" $? 3
	wait_for test -s pid
	pid=$(cat pid)
	said="pid $pid is still running, but no longer recorded: --wait=all waits for it"
	[ "$follow" = exec ] && said=''
	is "default $follow: summary" "$(sed -n 's/^  left  *//p' err)" "$said"
	is "default $follow: report" "$("$BIN/ms-report" t.trace | grep '^Quality' -A2 | tr -s '\n ' '  ' | grep -o "pid $pid is still running.*--wait=all waits for it")" "$said"
	is "default $follow: Markdown" "$("$BIN/ms-report" --md t.trace | grep -o "pid $pid is still running.*--wait=all waits for it" | head -n 1)" "$said"
	is "default $follow: JSON" "$("$BIN/ms-report" --json t.trace | grep -o '"left_behind":[^]]*]' | head -n 1)" "${said:+\"left_behind\":[$pid]}"
	let_end
	wait_for over "$pid"
done

# ---- the same where the report is of the largest process, which is what goes on ----
begin
timeout 300 "$BIN/ms-record" -o t.trace ./daemons large 2>err
is 'large: status' $? 3
wait_for test -s pid
pid=$(cat pid)
said="pid $pid is still running, but no longer recorded: --wait=all waits for it"
is 'large: summary' "$(sed -n 's/^  left  *//p' err)" "$said"
is 'large: kept' "$(awk -F '\t' '!/^#/ && $1 > 0 { print $3, $6, $7, $8 }' t.trace.d/index)" "$pid stopped 300 300000"
for files in t.trace 't.trace t.trace.d' t.trace.d/*.trace; do
	# shellcheck disable=SC2086 # words
	is "large: report of $files" "$("$BIN/ms-report" --md $files | grep -o "pid [0-9]* is still running.*--wait=all waits for it" | head -n 1)" "$said"
done
let_end
wait_for over "$pid"

# ---- a signal, --tell stop, -d and a process that is not recorded end the wait ----
for how in INT TERM stop; do
	begin
	env --default-signal=INT timeout --foreground 300 "$BIN/ms-record" --wait=all -o t.trace ./daemons waits 2>err &
	recorder=$!
	wait_for test -s pid
	pid=$(cat pid)
	wait_for grep -q . t.trace
	is "$how: state" "$("$BIN/ms-record" --tell t.trace status | sed -n 's/^state //p')" recording
	"$BIN/ms-record" --tell t.trace mark:later || fail "$how: mark"
	if [ $how = stop ]; then
		"$BIN/ms-record" --tell t.trace stop || fail "--tell stop: $?"
	else
		kill -$how "$(pgrep -P $recorder -x ms-record)"
	fi
	wait $recorder
	is "$how: status" $? 3
	over "$pid" && fail "$how: the process was ended"
	[ -s t.trace ] || fail "$how: no trace"
	"$BIN/ms-report" t.trace >/dev/null || fail "$how: the trace is not whole"
	let_end
	wait_for over "$pid"
done
begin
timeout 300 "$BIN/ms-record" --wait=all -d 300ms -o t.trace ./daemons waits 2>err
is '-d: status' $? 3
let_end
begin
timeout 300 "$BIN/ms-record" --wait=all --follow=none -o t.trace ./daemons waits 2>err
is '--follow=none: status' $? 3
let_end

# ---- the first process of a container inherits it ----
if unshare --fork --kill-child --pid --mount-proc true 2>/dev/null; then
	begin
	timeout 300 unshare --fork --kill-child --pid --mount-proc "$BIN/ms-record" --wait=all -o t.trace ./daemons double 2>err
	is 'PID 1: status' $? 3
	is 'PID 1: what was recorded' "$(served t.trace)" 'exit:0 300 300000 300000'
	let_end
	begin
	timeout 300 unshare --fork --kill-child --pid --mount-proc "$BIN/ms-record" -o t.trace ./daemons waits 2>err
	is 'PID 1, default: status' $? 3
	is 'PID 1, default: summary' "$(sed -n 's/^  left  *pid [0-9]* //p' err)" 'will be killed when ms-record (process 1 here) exits: --wait=all waits for it'
	"$BIN/ms-report" t.trace | grep -q 'is still running' && fail 'PID 1, default: it goes on'
	let_end
fi

# ---- refused ----
is 'another word' "$("$BIN/ms-record" --wait=some true 2>&1)" "ms-record: bad --wait 'some': use all; without --wait, only COMMAND is waited for"
is '-p' "$("$BIN/ms-record" --wait=all -p 1 2>&1)" 'ms-record: --wait cannot be combined with -p: an attached process is always recorded until it ends'
finish
