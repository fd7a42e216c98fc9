#!/bin/bash
# SPDX-License-Identifier: MIT
# Other processes stopped, borrowed and copied: they notice nothing, whatever they do, and live on when the tracer is killed in the midst of it.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
hijack=$TB/host/hijack
victim=$TB/host/hijack_victim
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
begin() { # N ARG...: a victim, once N threads are ready
	local n=$1
	shift
	rm -f words
	"$victim" "$@" words &
	pid=$!
	"$hijack" wait words "$n"
}
end() {
	kill $pid
	wait $pid 2>/dev/null
}
word() { # N: of the file
	od -An -t u8 -j $(($1 * 8)) -N 8 words | tr -d ' '
}
# shellcheck disable=SC2012 # names in /proc
state() { # what the process has
	ls /proc/$pid/task | wc -l
	ls -l /proc/$pid/fd | sed 's/.* [0-9:]* \([0-9]* ->\)/\1/' | tail -n +2
	awk '$6 != "" { print $1, $2, $6 }' /proc/$pid/maps
	cat /proc/$pid/task/*/children
	grep -E 'TracerPid|SigBlk|SigIgn|SigCgt|Seccomp' /proc/$pid/status
}

# ---- who computes ahead of all others does so for a moment only, whatever goes wrong in it ----
begin 1 threads 1
class=0
! chrt -f 1 true 2>/dev/null || class=1
timeout -s KILL 600 "$hijack" limit $pid 300 >out
grep -qx "class $class, then 0" out || fail "a helper that computes for 300 ms: $(cat out)"
end

# ---- state intact, nothing left behind: 1, 4 and 64 threads ----
for n in 1 4 64; do
	begin $n threads $n
	sleep 0.2
	state >before
	for how in 'stop 20' "calls $((n > 4 ? 20 : 100))" "copies $((n > 4 ? 5 : 20))" 'helper 10' 'faults 3'; do
		# shellcheck disable=SC2086
		timeout -s KILL 600 "$hijack" ${how% *} $pid ${how#* } >out || fail "$n threads, $how: $(cat out)"
	done
	state >after
	diff before after >out || fail "$n threads: left behind: $(cat out)"
	[ "$(word 0) $(word 1)" = '0 0' ] || fail "$n threads: wrong registers $(word 0), ran elsewhere $(word 1)"
	[ $n != 4 ] || { timeout -s KILL 600 "$hijack" torture $pid 50 words >out || fail "torture: $(cat out)"; }
	[ "$(cut -d ' ' -f 3 /proc/$pid/stat)" != Z ] || fail "$n threads: dead"
	end
done

# ---- stopped by SIGSTOP it stays so ----
begin 4 threads 4
kill -STOP $pid
is_stopped() {
	[ "$(cut -d ' ' -f 3 /proc/"$pid"/stat)" = T ]
}
wait_for is_stopped
for how in 'stop 5' 'calls 5' 'copies 2'; do
	# shellcheck disable=SC2086
	timeout -s KILL 600 "$hijack" ${how% *} $pid ${how#* } >out || fail "stopped, $how: $(cat out)"
	wait_for is_stopped
done
was=$(word 4)
kill -CONT $pid
goes_on() {
	[ "$(word 4)" != "$was" ]
}
wait_for goes_on
[ "$(word 0) $(word 1)" = '0 0' ] || fail "after SIGCONT: wrong registers $(word 0), ran elsewhere $(word 1)"
end

# ---- some do not stop in time: who does a little later does not wait for those who do not at all ----
begin 60 vforks 60
timeout -s KILL 600 "$hijack" late $pid 50 >out || fail "60 in vfork: $(cat out)"
came() {
	[ "$(word 3)" != 0 ]
}
wait_for came
[ "$(word 3)" -lt 8000 ] || fail "who waited for 1 s in vfork went on after $(word 3) ms"
end

# ---- blocked in 23 system calls ----
mkfifo in
rm -f words
setsid "$victim" blocked words <in >early &
pid=$!
exec 7>in
"$hijack" wait words 23
[ "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)" = 24 ] || fail 'the victim is another process'
for how in 'stop 20' 'calls 60' 'copies 5'; do
	# shellcheck disable=SC2086
	timeout -s KILL 600 "$hijack" ${how% *} $pid ${how#* } >out || fail "blocked, $how: $(cat out)"
done
exec 7>&-
wait $pid 2>/dev/null
[ "$(cat early)" = 'early 0 of 23' ] || fail "early: $(cat early)"

# ---- refusals ----
why() { # no|may PATTERN PID ROOT
	local said
	said=$("$hijack" why "$3" "$4")
	[[ $said =~ ^$1\ .*$2 ]] || fail "refusal of $3: $said, not $1 $2"
}
why no 'no such process' 4194303 /proc
why no 'no such process' 0 /proc
# there is none in a namespace
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then why no 'kernel thread' 2 /proc; fi
sleep 100 &
pid=$!
why may '' $pid /proc
mkdir -p root/$pid root/sys/kernel/yama
for f in stat status exe; do ln -s /proc/$pid/$f root/$pid/$f; done
echo 3 >root/sys/kernel/yama/ptrace_scope
why no 'ptrace_scope is 3' $pid root
rm root/$pid/status
sed 's/^TracerPid:.*/TracerPid:\t77/' /proc/$pid/status >root/$pid/status
why no 'traced by process 77 already' $pid root
sed 's/^State:.*/State:\tZ (zombie)/' /proc/$pid/status >root/$pid/status
sed 's/) S /) Z /' /proc/$pid/stat >stat && rm root/$pid/stat && mv stat root/$pid/stat
why no 'has ended' $pid root
ln -sf /proc/$pid/stat root/$pid/stat
ln -sf /proc/$pid/status root/$pid/status
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0' >elf32
ln -sf "$PWD/elf32" root/$pid/exe
why no 'not an x86-64 program \(32-bit\)' $pid root
if [ "$(id -u)" = 0 ]; then
	open=$(mktemp -d) # where another user may look
	chmod 755 "$open"
	cp "$hijack" "$open/hijack"
	said=$(setpriv --reuid=65534 --clear-groups "$open/hijack" why $pid /proc)
	[[ $said =~ ^no\ .*"belongs to user 'root'" ]] || fail "another user: $said"
	kill $pid
	setpriv --reuid=65534 --clear-groups sleep 100 &
	pid=$!
	begun() {
		[ "$(cat "/proc/$pid/comm")" = sleep ]
	}
	wait_for begun
	root=$open/root
	mkdir -p "$root/$pid" "$root/sys/kernel/yama"
	chown 65534 "$root/$pid"
	for f in stat status exe; do ln -s /proc/$pid/$f "$root/$pid/$f"; done
	for scope in 1 2; do
		echo $scope >"$root"/sys/kernel/yama/ptrace_scope
		said=$(setpriv --reuid=65534 --clear-groups "$open/hijack" why $pid "$root")
		[[ $said =~ ^no\ .*"ptrace_scope is $scope" ]] || fail "ptrace_scope $scope: $said"
	done
	rm -f "$root/$pid/status"
	sed 's/^Seccomp:.*/Seccomp:\t2/' /proc/$pid/status >"$root/$pid/status"
	echo 0 >"$root"/sys/kernel/yama/ptrace_scope
	said=$(setpriv --reuid=65534 --clear-groups "$open/hijack" why $pid "$root")
	[[ $said =~ ^no\ .*seccomp ]] || fail "seccomp: $said"
	rm -rf "$open"
fi
kill $pid

finish
