# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For the tests of ms-top: a made /proc whose every figure is known, and a real terminal (tmux). To be sourced.
failures=0
fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
	[ $failures -lt 5 ] || exit 1
}
T=$BIN/ms-top RUN_AS=
user=$(id -un) # whose the made /proc is: patterns call it root
export LC_ALL=C.UTF-8
unset COLUMNS LINES NO_COLOR
expect() { grep -qE -- "${1//' root'/ $user}" "${2-frame}" || fail "no '$1' in $(cat "${2-frame}")"; }

# ---- a made /proc, in ./proc ----
made_system() {
	mkdir -p proc/pressure
	printf 'MemTotal: 8388608 kB\nMemFree: 2097152 kB\nMemAvailable: 4194304 kB\nCached: 1048576 kB\nSwapTotal: 1048576 kB\nSwapFree: 524288 kB\n' >proc/meminfo
	echo '0.50 0.25 0.10 1/100 4711' >proc/loadavg
	echo '266400.00 1000.00' >proc/uptime
	printf 'some avg10=1.50 avg60=0 avg300=0 total=0\nfull avg10=0.50 avg60=0 avg300=0 total=0\n' >proc/pressure/memory
}
# process PID NAME RSS_KIB PARENT START [FLAGS]: PSS is half of RSS, USS a quarter, anonymous three quarters
stat_of() { # the same: its stat alone, at once
	local flags=${6-4194304} zeros
	zeros=$(printf ' 0%.0s' {1..28})
	echo "$1 ($2) S $4 1 1 0 -1 $flags 10 0 2 0 5 6 0 0 20 0 3 0 $5 99999744 $(($3 / 4))$zeros" >"proc/$1/stat.new"
	mv "proc/$1/stat.new" "proc/$1/stat"
}
process() {
	mkdir -p "proc/$1"
	stat_of "$@"
	printf '/usr/bin/%s\0--port\0%s\0' "$2" "$1" >"proc/$1/cmdline"
	printf '5500-ffff ---p 00000000 00:00 0 [rollup]\nRss: %s kB\nPss: %s kB\nShared_Clean: %s kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: %s kB\nAnonymous: %s kB\nSwap: 4 kB\n' \
		"$3" $(($3 / 2)) $(($3 / 2)) $(($3 / 4)) $(($3 * 3 / 4)) >"proc/$1/smaps_rollup"
	echo "0::/system.slice/$2.service" >"proc/$1/cgroup"
}

# Processes 1000, 1001, .. of so many pages each.
many_processes() { # COUNT
	python3 - "$1" <<'END'
import os, sys
for pid in range(1000, 1000 + int(sys.argv[1])):
    os.mkdir("proc/%d" % pid)
    with open("proc/%d/stat" % pid, "w") as f:
        f.write("%d (p%d) S 1 1 1 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 %d 4096 %d%s\n" % (pid, pid, pid, pid, " 0" * 28))
    open("proc/%d/cmdline" % pid, "w").close()
END
}

# ---- in a terminal ----
terminals=0
S="tmux -L memscope-test-$$ -f /dev/null"
target=
trap '$S kill-server 2>/dev/null; [ -z "$target" ] || kill $target 2>/dev/null' EXIT
start() { # COLUMNS LINES ARGS; TERM_OF and LC_OF are what it sees as TERM and LC_ALL, RUN_AS a command that it is started by
	local cols=$1 lines=$2
	shift 2
	$S kill-server 2>/dev/null
	terminals=$((terminals + 1)) # one that is being killed still answers for a while
	S="tmux -L memscope-test-$$-$terminals -f /dev/null"
	export XDG_STATE_HOME=${STATE_OF-$PWD/state$terminals} # what was chosen before is not remembered, unless a test wants it
	rm -f status before after
	$S new-session -d -x "$cols" -y "$lines" "echo what was there; stty -g >before; ${TERM_OF+TERM=$TERM_OF} ${LC_OF+LC_ALL=$LC_OF} $RUN_AS '$T' $* ; echo \$? >status; stty -g >after; sleep 1000"
}
screen() { $S capture-pane -p >screen; }
# Waits until the screen has a line that matches.
sees() {
	for _ in $(seq 3000); do
		screen
		grep -qE -- "${1//' root'/ $user}" screen && return
		sleep 0.1
	done
	fail "no '$1' on the screen${2+ ($2)}: $(cat screen)"
}
keys() { $S send-keys "$@"; }
# It has ended, and the terminal is as it was: modes, screen, cursor, mouse, keypad.
ends() { # STATUS
	for _ in $(seq 3000); do
		[ -s after ] && break
		sleep 0.1
	done
	[ "$(cat status 2>/dev/null)" = "$1" ] || fail "status $(cat status 2>/dev/null), not $1"
	cmp -s before after || fail "the terminal is not as it was: $(diff before after)"
	sees '^what was there'
	local flags
	flags=$($S display -p '#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag} #{keypad_cursor_flag}')
	[ "$flags" = '0 1 0 0 0' ] || fail "the terminal is not as it was: alternate screen, cursor, mouse, keypad: $flags"
}
# Waits until a command succeeds.
until_true() {
	for _ in $(seq 3000); do
		"$@" && return
		sleep 0.1
	done
	fail "never: $*"
}
