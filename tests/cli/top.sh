#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top, by hand: in a real terminal (tmux) over a made /proc, whose every figure is known, and over the real one.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"

# ---- a made /proc ----
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 200 redis 524288 1 60
process 201 worker 131072 200 70
process 202 worker 65536 200 71
process 300 kthreadd 0 0 2 2097152

# ---- plain frames: every figure ----
COLUMNS=120 timeout 600 "$T" --proc-root proc -b -n 1 >frame || fail "-b: status $?"
expect 'up 3 d   load 0\.50   5 processes   1 kernel thread hidden$'
expect '^Mem 8\.00 G  used .* 4\.00 G   cache 1\.00 G   free 2\.00 G   Swap 512 M / 1\.00 G'
expect '^PSI mem 10s: some 1\.5 %, full 0\.5 %'
expect '^  +100 root +1\.00 G +512 M +256 M +4\.00 K +768 M +- +0 .* new +orderd --port 100$'
expect '^  +202 root +64\.0 M +32\.0 M +16\.0 M +4\.00 K +48\.0 M '
grep -q kthreadd frame && fail 'a kernel thread is shown'
[ "$(awk '$1 ~ /^[0-9]+$/ { print $1 }' frame | tr '\n' ' ')" = '100 200 201 202 1 ' ] || fail "order: $(cat frame)"
order() { # ARGS -> pids in their order
	COLUMNS=120 timeout 600 "$T" --proc-root proc -b -n 1 "$@" | awk '$1 ~ /^[0-9]+$/ { print $1 }' | tr '\n' ' '
}
[ "$(order --sort pid)" = '1 100 200 201 202 ' ] || fail "--sort pid: $(order --sort pid)"
[ "$(order --sort -rss)" = '1 202 201 200 100 ' ] || fail "--sort -rss: $(order --sort -rss)"
[ "$(order --filter 'work|redis')" = '200 201 202 ' ] || fail "--filter: $(order --filter 'work|redis')"
[ "$(order --kernel --filter kthread)" = '300 ' ] || fail "--kernel: $(order --kernel --filter kthread)"
COLUMNS=120 timeout 600 "$T" --proc-root proc -b -n 1 --columns pid,s,thr,vsz,cgroup,from,command --filter orderd >frame
expect '^  +100 S +3 95\.4 M orderd\.service +rollup orderd --port 100$'
for columns in 40 60 80 200; do
	[ "$(COLUMNS=$columns timeout 600 "$T" --proc-root proc -b -n 1 | python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin))')" -le $columns ] ||
		fail "a line of $columns columns is too long"
done
LC_ALL=C timeout 600 "$T" --proc-root proc -b -n 1 | LC_ALL=C grep -q '[^ -~]' && fail 'not ASCII'

# what a process chose for its name is not for the terminal
printf '/bin/\033[2Jevil\xff\n\0' >proc/202/cmdline
COLUMNS=120 timeout 600 "$T" --proc-root proc -b -n 1 --filter evil | cat -v | grep -q '?\[2Jevil??$' || fail 'control characters'
process 202 worker 65536 200 71

# ---- one process, the real one ----
# Waits until `target` has become that program, and does nothing any more.
# shellcheck disable=SC2317 # until_true calls it
sleeps() { [ "$(readlink "/proc/$target/exe")" = "$(readlink -f "$(command -v sleep)")" ] && [ "$(cut -d ' ' -f 3 "/proc/$target/stat")" = S ]; }
sleep 1000.$$ &
target=$!
until_true sleeps
COLUMNS=120 timeout 600 "$T" -b -n 1 -p $target >frame || fail "-p: status $?"
expect "^$target sleep 1000\.$$$"
rss=$(awk '/^Rss:/ { print $2 }' /proc/$target/smaps_rollup)
python3 - "$rss" frame <<'END' || fail "RSS of -p: $rss in $(cat frame)"
import re, sys
shown = re.search(r"^RSS +([0-9.]+) ([KM])", open(sys.argv[2]).read(), re.M)
kib = float(shown[1]) * {"K": 1, "M": 1024}[shown[2]]
sys.exit(abs(kib - float(sys.argv[1])) > 0.02 * kib + 64)
END
maps=$(wc -l </proc/$target/maps)
expect "^  $maps REGIONS"
kill $target
wait $target 2>/dev/null
COLUMNS=120 timeout 600 "$T" -b -n 1 -p $target 2>err >frame
[ $? = 2 ] || fail 'a process that is gone: status'

# ---- wrong use ----
wrong() { # MESSAGE ARGS
	local message=$1 rc
	shift
	timeout 600 "$T" "$@" >out 2>err </dev/null
	rc=$?
	[ $rc = 2 ] || fail "$*: status $rc"
	grep -q -- "$message" err || fail "$*: $(cat err)"
}
wrong 'no terminal: use -b'
wrong "no column 'x': choose from PID, USER" -b --columns pid,x
wrong "bad --delay '10ms': must be at least 100ms" -b -d 10ms
wrong "cannot open 'x'" -b x
wrong "one argument too many: 'y'" -b x y
wrong "cannot open 'nowhere'" -b --proc-root nowhere
wrong "pid" -b -p 0
timeout 600 "$T" -b -n 1 >/dev/full 2>err
[ $? = 2 ] || fail "/dev/full: $(cat err)"
timeout 600 "$T" -b -d 100ms 2>err | head -1 >/dev/null
{ [ "${PIPESTATUS[0]}" = 141 ] && [ ! -s err ]; } || fail 'a closed pipe does not end it silently'

# ---- in a terminal ----
start 120 30 --proc-root proc -d 200ms
sees '^> +100 root +1\.00 G'
keys j
sees '^> +200 ' 'j'
# sorting keeps the selected row when the order changes
process 202 worker 2097152 200 71
sees '^ +202 root +2\.00 G'
sees '^> +200 ' 'reordered'
sleep 1
rm -r proc/100
sees '^x +100 .* ended +peak 1\.00 G  orderd --port 100$' 'ended'
sees '^> +200 '
keys k
sees '^> +100 ' 'on an ended one'
keys Enter
sees 'process 100 has ended'
# a number that is given anew is another process
process 100 newcomer 8192 1 9999
sees '^ +100 root +8\.00 M .* newcomer'
keys g
sees '^> +202 ' 'Home'
keys G
sees '^> +1 ' 'End'
keys g s
sees 'sort PSS'
keys S v
sees 'sort -RSS'
sees '^> +1 root' 'reversed'
keys v /
sees '^search:'
keys redis Enter
sees '^> +200 '
keys f
keys worker
sees 'filter: worker \(3 hidden\)'
keys Enter 3
sees '\[3 Tree\]'
keys f C-u Enter t
sees '^ +200 .* redis --port'
screen
grep -A1 -E '^.? +200 ' screen | grep -qE '  worker' || fail "tree: $(cat screen)"
keys 2
sees '^.? +x2 root +2\.1[0-9] G .* worker$' 'groups'
keys u
sees 'by user'
sees '^.? +x5 root +.* root$'
keys u
sees 'by cgroup'
sees ' worker\.service$'
keys 1 c
sees '^>\[x\] PID '
keys j Space Enter
sees '^ +PID +RSS'
keys K
sees 'kthreadd'
keys K Space
sees 'FROZEN'
process 200 redis 4194304 1 60
sleep 0.6
screen
grep -q '4\.00 G .*redis' screen && fail 'frozen, and yet it moves'
keys Space
sees '^.? +200 +4\.00 G'
keys b
sees 'START now shows the change in RSS since this moment'
keys '?'
sees '^Up k +one row up'
keys x
sees '\[1 Processes\]'
for size in '40 10' '400 100' '60 20' '120 30'; do
	# shellcheck disable=SC2086
	set -- $size
	$S resize-window -x "$1" -y "$2"
	sees 'Processes\]' "at $size"
done
keys q
ends 0

# one process, and back; signals
sleep 1000.$$ &
target=$!
until_true sleeps
start 100 30 --filter "'^sleep 1000\.$$'"
sees "^> +$target "
keys Enter
sees "^$target sleep 1000\.$$"
sees ' REGIONS '
keys j j
sees '^> 7'
kill $target
sees 'ended; last seen'
keys q
sees '\[1 Processes\]'
pid=$($S list-panes -F '#{pane_pid}')
kill -TERM "$(pgrep -P "$pid" ms-top)"
ends 0
start 80 24 --proc-root proc
sees 'Processes'
pid=$($S list-panes -F '#{pane_pid}')
kill -SEGV "$(pgrep -P "$pid" ms-top)"
ends 139
# The leak detector does not come to its end where the terminal has gone.
ASAN_OPTIONS=detect_leaks=0 start 80 24 --proc-root proc
sees 'Processes'
pid=$(pgrep -P "$($S list-panes -F '#{pane_pid}')" ms-top)
$S kill-server
for _ in $(seq 3000); do
	[ -e "/proc/$pid" ] || break
	sleep 0.1
done
[ -e "/proc/$pid" ] && fail 'it outlives its terminal'

# ---- 5,000 processes ----
rm -r proc/[0-9]*
many_processes 5000
COLUMNS=100 timeout 600 "$T" --proc-root proc -b -n 1 >frame || fail "5,000 processes: status $?"
[ "$(awk '$1 ~ /^[0-9]+$/' frame | wc -l)" = 5000 ] || fail "5,000 processes: $(wc -l <frame) lines"
expect '^ +5999 root +23\.4 M '

[ $failures = 0 ] && echo ok
exit $((failures != 0))
