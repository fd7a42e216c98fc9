#!/bin/bash
# SPDX-License-Identifier: MIT
# However ms-top ends, the terminal is as it was; one that vanishes ends it; it can be suspended.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
pid_of_top() { pgrep -P "$($S list-panes -F '#{pane_pid}')" ms-top; }

# ---- signals, expected ones and crashes ----
for end in TERM:0 QUIT:0 SEGV:139 ABRT:134; do
	start 80 24 --proc-root proc
	sees '^\[1 Processes\]'
	kill "-${end%:*}" "$(pid_of_top)"
	ends "${end#*:}"
done
# memory that runs out
if [ "$MODE" = release ]; then
	start 80 24 --proc-root proc -d 100ms
	sees '^\[1 Processes\]'
	pid=$(pid_of_top)
	prlimit --pid "$pid" --as=$(($(awk '/^VmSize:/ { print $2 }' "/proc/$pid/status") * 1024 + 1000000))
	many_processes 5000
	ends 2
	sees '^ms-top: out of memory$' 'what it said, on the screen that was there before'
	rm -r proc/[1-9]???
fi

# ---- a terminal that vanishes: with SIGHUP, and where nobody sends one ----
terminal() { timeout -k 5 600 python3 "$SRC/tests/cli/top/in-terminal.py" --hang-up Processes "$@"; }
# The leak detector does not come to its end where the terminal has gone.
export ASAN_OPTIONS=detect_leaks=0
terminal "$T" --proc-root proc
rc=$?
[ $rc = 0 ] || fail "hung up: status $rc"
terminal --no-signal "$T" --proc-root proc
rc=$?
[ $rc = 0 ] || fail "hung up without a signal: status $rc"
unset ASAN_OPTIONS

# ---- suspended ----
$S kill-server 2>/dev/null
S="tmux -L memscope-test-$$-shell -f /dev/null"
rm -f before after
$S new-session -d -x 80 -y 24 "PS1='ready> ' bash --norc --noprofile -i"
sees '^ready>'
keys "stty -g >before; '$T' --proc-root proc -d 200ms" Enter
sees '^\[1 Processes\]'
keys j
sees '^> +1 '
keys C-z
sees 'Stopped'
keys 'stty -g >during; tty; echo here' Enter
sees '^here'
sees '^ready> stty -g >before' 'the screen is the one before'
# bash sets modes for its own line editing, and those of before for each command
cmp -s before during || fail "suspended: $(diff before during)"
$S resize-window -x 100 -y 30
keys 'fg' Enter
sees '^\[1 Processes\]'
sees '^> +1 ' 'the selection'
process 100 orderd 2097152 1 50
sees '^ +100 root +2\.00 G'
sees '^\? help ' 'the last line'
keys q
sees '^ready>'
keys 'stty -g >after; echo "status $?"' Enter
sees '^status 0'
cmp -s before after || fail "resumed: $(diff before after)"

# ---- resized again and again while it draws ----
many_processes 1000
start 120 40 --proc-root proc -d 100ms
sees '^> +100 '
for _ in $(seq 8); do
	for size in '40 10' '200 60' '61 17' '400 200'; do
		# shellcheck disable=SC2086
		set -- $size
		$S resize-window -x "$1" -y "$2"
		keys j
	done
done
$S resize-window -x 120 -y 40
sees '^> +1968 root +7\.69 M .* p1968$' '32 rows down'
keys q
ends 0
[ $failures = 0 ] && echo ok
exit $((failures != 0))
