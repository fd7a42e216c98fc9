#!/bin/bash
# SPDX-License-Identifier: MIT
# What ms-record -p refuses: each with a line of its own, status 125, no trace, and the process as it was. What this machine cannot show is shown
# by a made /proc.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
open=$(mktemp -d) tools=$(mktemp -d) # where another user may write, and run programs
chmod 777 "$open"
chmod 755 "$tools"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$open" "$tools"' EXIT
cp "$BIN/ms-record" "$BIN/libmemscope-preload.so" "$TB"/cli/refusals{,_static} "$tools"
target=$tools/refusals
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
begin() { # MODE: $pid is the process that is meant, $job ours
	rm -f said
	mkfifo said
	case ${as-} in
	nobody) nobody "$program" "$@" >said & ;;
	*) "$program" "$@" >said & ;;
	esac
	job=$!
	read -r pid <said
}
# shellcheck disable=SC2012 # names in /proc
look() { # what the process has
	awk '{ print $1, $2, $6 }' /proc/"$1"/maps 2>/dev/null
	grep -E '^(State|Tgid|TracerPid|Uid|Threads|SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt|Seccomp|NoNewPrivs):' /proc/"$1"/status |
		sed 's/^State:.*[RSD] .*/State: lives/'
	ls -l /proc/"$1"/fd 2>/dev/null | sed 's/.* [0-9:]* \([0-9]* ->\)/\1/' | tail -n +2
}
refuse() { # PATTERN ARG...: by $user, if it is set
	local pattern=$1 rc
	shift
	[ -z "${pid-}" ] || look "$pid" >before
	case ${user-} in
	nobody) nobody timeout -k 5 600 "$tools/ms-record" -o "$open/trace" -d 1 "$@" >out 2>err ;;
	*) timeout -k 5 600 "$tools/ms-record" -o "$open/trace" -d 1 "$@" >out 2>err ;;
	esac
	rc=$?
	[ $rc = 125 ] || fail "$pattern: status $rc"
	[ "$(wc -l <err)" = 1 ] || fail "$pattern: not one line: $(cat err)"
	grep -Eq "^ms-record: .*$pattern" err || fail "'$pattern' is not in: $(cat err)"
	[ -s out ] && fail "$pattern: on standard output: $(cat out)"
	[ -z "$(ls -A "$open")" ] || fail "$pattern: left behind: $(ls -A "$open")"
	rm -rf "${open:?}"/trace*
	[ -n "${pid-}" ] || return
	look "$pid" >after
	diff before after >changed || fail "$pattern: the process was changed: $(cat changed)"
}
over() {
	kill -KILL "$job" 2>/dev/null
	wait "$job" 2>/dev/null
	pid=
}

# ---- who is no process of ours ----
pid=
program=$target
refuse 'cannot attach to process 2147483647: there is no such process' -p 2147483647
begin thread
thread=$pid
pid=$(awk '/^Tgid/ { print $2 }' "/proc/$thread/status")
refuse "process $thread .*: that is a thread of process $pid; give that PID" -p "$thread"
over
begin zombie
refuse "process $pid .*: it has ended, and its parent $job has not reaped it \(zombie\)" -p "$pid"
over
begin leader
refuse "process $pid .*: its main thread has ended, .* \(other threads still running: 1\)" -p "$pid"
over
begin traced
refuse "process $pid .*: it is traced by process $job \('refusals'\) already; end that one first" -p "$pid"
kill "$pid" 2>/dev/null
over
if grep -q '^2 (kthreadd)' /proc/2/stat 2>/dev/null; then
	refuse 'process 2 .*: it is a kernel thread and has no memory of its own' -p 2
fi

# ---- what cannot be hooked ----
program=${target}_static
begin plain
refuse "process $pid.*: no allocator was found in it.*stripped" -p "$pid"
over
program=$target
# shellcheck disable=SC2016
printf '.globl _start\n_start: mov $29, %%eax\nint $0x80\njmp _start\n' >small.s
if gcc -m32 -nostdlib -static -o small small.s 2>/dev/null && { ./small & } 2>/dev/null; then
	job=$!
	pid=$job
	for _ in {1..400}; do
		[ "$(readlink /proc/$pid/exe 2>/dev/null)" = "$PWD/small" ] && break
		sleep 0.05
	done
	if [ "$(readlink /proc/$pid/exe)" = "$PWD/small" ]; then
		refuse "process $pid .*: it is not an x86-64 program \(32-bit\)" -p "$pid"
	fi
	over
fi
begin_limited() {
	rm -f said
	mkfifo said
	prlimit --as=60000000 "$program" plain >said &
	job=$!
	read -r pid <said
}
begin_limited
refuse "process $pid.*: its memory is limited \(ulimit -v\), and recording needs more than half" -p "$pid"
over
begin plain
prlimit --nofile=3:3 --pid "$pid"
refuse "cannot attach to process $pid: creating a memfd in it failed: Too many open files$" -p "$pid"
over

# ---- who may not ----
if [ "$(id -u)" = 0 ]; then
	user=nobody
	begin plain
	refuse "process $pid .*: it belongs to user 'root'; run this as that user or as root" -p "$pid"
	over
	as=nobody
	begin hidden
	refuse "process $pid .*: its memory is protected \(it is not dumpable\)" -p "$pid"
	over
	begin filter
	refuse "process $pid .*: a seccomp filter would kill it .* only root can suspend that" -p "$pid"
	over
fi

# ---- what a made /proc shows ----
made() { # PID SCOPE: a /proc of that process
	rm -rf "${open:?}"/root
	mkdir -p "$PWD/root/$1" "$PWD/root/sys/kernel/yama"
	for f in stat status exe; do ln -sf "/proc/$1/$f" "$PWD/root/$1/$f"; done
	echo "$2" >"$PWD/root/sys/kernel/yama/ptrace_scope"
}
edit() { # FILE SED: of the made one
	sed "$2" "/proc/$pid/$1" >edited
	rm "root/$pid/$1"
	mv edited "root/$pid/$1"
}
user=''
as=''
begin plain
made "$pid" 3
refuse 'this system forbids tracing \(kernel.yama.ptrace_scope is 3' --proc-root root -p "$pid"
echo 0 >root/sys/kernel/yama/ptrace_scope
edit stat 's/) \(.\) \([^ ]* [^ ]* [^ ]* [^ ]* [^ ]*\) [0-9]*/) \1 \2 2129984/'
refuse 'it is a kernel thread and has no memory of its own' --proc-root root -p "$pid"
made "$pid" 0
edit status 's/^State:.*/State:\tZ (zombie)/; s/^Threads:.*/Threads:\t8/'
edit stat 's/) [RSD] /) Z /'
refuse 'its main thread has ended, .* \(other threads still running: 7\)' --proc-root root -p "$pid"
made "$pid" 0
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0' >elf32
ln -sf "$PWD/elf32" "root/$pid/exe"
refuse 'it is not an x86-64 program \(32-bit\)' --proc-root root -p "$pid"
over
if [ "$(id -u)" = 0 ]; then
	user=nobody as=nobody
	begin plain
	for scope in 1 2; do
		made "$pid" $scope
		chown 65534 "root/$pid"
		cp -a root "$open/.root"
		# The made one lies where the other user may look, and is no trace.
		mv "$open/.root" "$open/../.memscope-root.$$"
		words='only its parent may trace it'
		[ $scope = 1 ] || words='only root may trace'
		refuse "$words \(kernel.yama.ptrace_scope is $scope\).*--standby" --proc-root "$open/../.memscope-root.$$" -p "$pid"
		rm -rf "$open/../.memscope-root.$$"
	done
	over
fi

# ---- one that can be had is recorded all the same, from a made /proc too ----
user=''
as=''
begin plain
made "$pid" 0
timeout -k 5 600 "$tools/ms-record" -q -o "$open/trace" -d 0.1 --proc-root root -p "$pid" || fail "a process that can be had: status $?"
[ -s "$open/trace" ] || fail 'a process that can be had: no trace'
over

finish
