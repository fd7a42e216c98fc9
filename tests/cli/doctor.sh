#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record --doctor: what it says of made machines and processes, word for word, and of real ones; its status.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
target=$TB/cli/refusals
trap 'kill $(jobs -p) 2>/dev/null' EXIT

# ---- made machines ----
machine() { # NAME RELEASE SCOPE CAPABILITIES SECCOMP OVERCOMMIT CGROUP KB
	mkdir -p "$1/sys/kernel/yama" "$1/sys/vm" "$1/self" "$1/1"
	echo "$2" >"$1/sys/kernel/osrelease"
	[ -z "$3" ] || echo "$3" >"$1/sys/kernel/yama/ptrace_scope"
	printf 'Name:\tms-record\nCapEff:\t%s\nSeccomp:\t%s\n' "$4" "$5" >"$1/self/status"
	echo "$6" >"$1/sys/vm/overcommit_memory"
	echo "0::$7" >"$1/1/cgroup"
	printf 'MemTotal:       16000000 kB\nMemAvailable:   %s kB\n' "$8" >"$1/meminfo"
}
machine good 6.1.0-18-amd64 '' 000001ffffffffff 0 0 / 8000000
machine user 5.10.0 1 0000000000000000 0 0 /user.slice 8000000
machine strict 4.19.0 2 0000000000000000 2 2 /docker/0123 100000
machine locked 4.9.0 3 0000000000080000 0 0 /kubepods/x 8000000

process() { # MACHINE PID NAME [SED of status]: as pid 1000 would look
	mkdir -p "$1/$2"
	echo "$3" >"$1/$2/comm"
	echo "$2 ($3) S 1 $2 $2 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 4 0 5000 0 0" >"$1/$2/stat"
	printf 'Name:\t%s\nState:\tS (sleeping)\nTgid:\t%s\nPid:\t%s\nPPid:\t1\nTracerPid:\t0\nUid:\t%s\t%s\t%s\t%s\nVmLck:\t       0 kB\nThreads:\t4\nSeccomp:\t0\n' \
		"$3" "$2" "$2" "$uid" "$uid" "$uid" "$uid" | sed "${4-}" >"$1/$2/status"
	ln -sf /proc/self/exe "$1/$2/exe"
}
uid=$(id -u)

doctor() { # STATUS ARG...: says it, without what depends on this machine
	local want=$1 rc
	shift
	timeout -k 5 600 "$BIN/ms-record" --doctor "$@" >said 2>err
	rc=$?
	[ $rc = "$want" ] || fail "--doctor $*: status $rc, not $want"
	[ ! -s err ] || fail "--doctor $*: on standard error: $(cat err)"
	sed -E '/^(ok|note)  +(disk|library|ms-snap|stripped|symbols) /d' said >lines
}
expect() { # WHAT: on standard input
	diff - lines >changed || fail "$1: $(cat changed)"
}

doctor 0 --proc-root good
expect 'a good machine' <<'END'
ok    machine       x86-64
ok    kernel        Linux 6.1
ok    ptrace_scope  0: running processes can be attached to
ok    capabilities  SYS_PTRACE: other users' processes can be attached to
ok    container     none detected
ok    seccomp       nothing forbids ptrace
ok    memory        enough; /dev/shm is not used, and no memory is locked
recording a command would work
END
grep -q '^ok    library       it is here$' said || fail "no library: $(cat said)"
doctor 0 --proc-root user
expect 'an ordinary user' <<'END'
ok    machine       x86-64
ok    kernel        Linux 5.10
note  ptrace_scope  1: only root can attach to processes that ms-record did not start; use sudo, sysctl kernel.yama.ptrace_scope=0, or --standby
ok    capabilities  without SYS_PTRACE, only your own processes can be attached to; for others use sudo
ok    container     none detected
ok    seccomp       nothing forbids ptrace
ok    memory        enough; /dev/shm is not used, and no memory is locked
recording a command would work, with 1 limitation, marked 'note'
END
doctor 0 --proc-root strict
expect 'a strict container' <<'END'
ok    machine       x86-64
note  kernel        Linux 4.19 lacks pidfds (added in 5.3): when a pid is reused, the new process can be mistaken for the old one
note  ptrace_scope  2: only root can attach to processes; use sudo or --standby
ok    capabilities  without SYS_PTRACE, only your own processes can be attached to; for others use sudo
ok    container     docker: processes outside it are not visible; to attach, it may have to be started with --cap-add SYS_PTRACE
note  seccomp       ms-record runs under a seccomp filter, which may forbid ptrace
note  memory        only 97.7 MiB of memory is available, of which buffers can take 64.0 MiB: use a smaller --buffer
note  overcommit    vm.overcommit_memory is 2: the address space that the recorder reserves counts against the commit limit, so programs may fail to start
recording a command would work, with 5 limitations, marked 'note'
END
doctor 1 --proc-root locked
expect 'an old machine' <<'END'
ok    machine       x86-64
no    kernel        Linux 4.9 is too old: 4.14 or later is needed to detect forks (MADV_WIPEONFORK)
note  ptrace_scope  3: no process can be attached to until the system is rebooted; commands can be recorded, and --standby and --poll work
ok    capabilities  SYS_PTRACE: other users' processes can be attached to
ok    container     kubepods: processes outside it are not visible
ok    seccomp       nothing forbids ptrace
ok    memory        enough; /dev/shm is not used, and no memory is locked
recording a command would fail: 1 problem, marked 'no'
END

# ---- made processes: the reasons for which -p refuses ----
last() { # what is said of the process, and what it comes to
	sed -i -n '/^process/,$p' lines
	sed -i 's/would work, with .*/would work/' lines # a system's own program may be stripped
}
process good 4242 thing
sleep 60 &
real=$!
until [ "$(cat /proc/$real/comm)" = sleep ]; do sleep 0.01; done
mkdir good/$real
for f in stat status comm maps; do ln -s /proc/$real/$f good/$real/$f; done
ln -sf /proc/$real/exe good/$real/exe
doctor 0 --proc-root good -p $real
last
expect 'a process' <<END
process $real ('sleep')
ok    attach        nothing prevents it
attaching would work
END
refused() { # NAME SED REASON
	process good 4242 thing "$2"
	doctor 1 --proc-root good -p 4242
	last
	expect "$1" <<END
process 4242 ('thing')
no    attach        $3
attaching would fail: 1 problem, marked 'no'
END
}
doctor 1 --proc-root good -p 4243
last
expect 'nobody' <<'END'
process 4243
no    attach        there is no such process
attaching would fail: 1 problem, marked 'no'
END
refused 'a thread' 's/^Tgid:.*/Tgid:\t4200/' 'that is a thread of process 4200; give that PID'
refused 'traced' 's/^TracerPid:.*/TracerPid:\t77/' 'it is traced by process 77 already; end that one first'
process good 4242 thing
sed -i 's/) S /) Z /' good/4242/stat
cp good/4242/stat zombie
zombie() { # SED REASON
	process good 4242 thing "$1"
	cp zombie good/4242/stat
	doctor 1 --proc-root good -p 4242
	last
	expect "$2" <<END
process 4242 ('thing')
no    attach        $2
attaching would fail: 1 problem, marked 'no'
END
}
zombie 's/^Threads:.*/Threads:\t1/' 'it has ended, and its parent 1 has not reaped it (zombie)'
zombie 's/^Threads:.*/Threads:\t3/' 'its main thread has ended, so its memory cannot be accessed (other threads still running: 2)'
process good 4242 thing
sed -i 's/ 4194304 / 2129984 /' good/4242/stat
doctor 1 --proc-root good -p 4242
grep -q '^no    attach        it is a kernel thread and has no memory of its own$' said || fail "kernel: $(cat said)"
process good 4242 thing
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0' >elf32
head -c 300 /dev/zero >>elf32
ln -sf "$PWD/elf32" good/4242/exe
doctor 1 --proc-root good -p 4242
grep -q '^no    attach        it is not an x86-64 program (32-bit)$' said || fail "32-bit: $(cat said)"
cp -a "good/$real" locked/
doctor 1 --proc-root locked -p $real
grep -q '^no    attach        this system forbids tracing (kernel.yama.ptrace_scope is 3' said || fail "scope 3: $(cat said)"
grep -q "^attaching would fail: 2 problems, marked 'no'\$" said || fail "scope 3: $(cat said)"
kill $real

# ---- real ones ----
begin() { # PROGRAM MODE
	rm -f number
	mkfifo number
	"$@" >number &
	job=$!
	read -r pid <number
}
begin "$target" plain
doctor 0 -p "$pid"
grep -q '^ok    attach        it can be attached to$' said || fail "plain: $(cat said)"
grep -q '^ok    allocators    glibc' said || fail "plain: $(cat said)"
grep -q "^process $pid ('refusals')$" said || fail "plain: $(cat said)"
grep -q '/memfd:memscope' "/proc/$pid/maps" && fail 'plain: something is left in it'
kill $job
begin "${target}_static" plain
doctor 1 -p "$pid"
grep -q '^no    attach        no allocator was found in it.*stripped' said || fail "stripped: $(cat said)"
kill $job
begin "$target" filter
if [ "$(id -u)" = 0 ]; then
	doctor 0 -p "$pid"
	grep -q '^ok    filter        its seccomp filter is suspended' said || fail "filter: $(cat said)"
else
	doctor 1 -p "$pid"
	grep -q '^no    attach        a seccomp filter would kill it .* only root can suspend that' said || fail "filter: $(cat said)"
fi
kill $job
begin "$BIN/ms-record" --standby "$target" plain
doctor 0 -p "$pid"
grep -q '^ok    standby       it is on standby, so recording it needs no privileges' said || fail "standby: $(cat said)"
kill $job

# ---- commands ----
run() { # STATUS PATTERN ARG...
	local pattern=$2
	doctor "$1" "${@:3}"
	grep -Eq "$pattern" said || fail "'$pattern' is not in: $(cat said)"
}
if [ "$(id -u)" = 0 ]; then
	cp "$target" own
	chown 65534 own
	chmod u+s own
	run 1 '^no    start         it is setuid; run it as its owner$' ./own
fi
run 0 "^ok    start         the recorder's library can be preloaded$" "$target" plain
cp "$target" bare # as strip --strip-section-headers leaves it
head -c 8 /dev/zero | dd of=bare bs=1 seek=40 conv=notrunc status=none # e_shoff
head -c 6 /dev/zero | dd of=bare bs=1 seek=58 conv=notrunc status=none # e_shentsize, e_shnum, e_shstrndx
run 0 '^note  stripped      it has no symbol table' ./bare
run 1 '^no    start         .*stripped' "${target}_static"
run 1 '^no    start         .*command not found$' no-such-command
: >text && chmod +x text
run 1 '^no    start         it is not a program$' ./text
ln -s "$PWD/elf32" small && chmod +x elf32
run 1 '^no    start         it is not an x86-64 program$' ./small
run 0 'would work' -o /tmp/x.trace "$target"
run 1 "^no    disk          cannot write a trace to '/no/where'" -o /no/where/x.trace "$target"

# ---- usage ----
usage() { # PATTERN ARG...
	"$BIN/ms-record" --doctor "${@:2}" >said 2>err
	rc=$?
	[ $rc = 125 ] || fail "$*: status $rc"
	[ ! -s said ] || fail "$*: on standard output: $(cat said)"
	grep -q -e "$1" err || fail "$*: $(cat err)"
}
usage 'takes -p PID or COMMAND, not both' -p 1 ls
usage '--doctor does not take --duration' -d 1
usage '--doctor does not take --mmap' --mmap ls

# ---- root without the capability that counts, as in a container ----
if [ "$(id -u)" = 0 ]; then
	sleep 60 &
	own=$!
	setpriv --reuid=nobody --clear-groups sleep 60 &
	for pid in $own $!; do
		setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$BIN/ms-record" -p "$pid" >said 2>&1
		[[ "$? $(<said)" =~ ^125\ .*runs\ as\ root\ but\ lacks\ the\ capability\ SYS_PTRACE.*--poll\ or\ --standby$ ]] ||
			fail "root without SYS_PTRACE: $(<said)"
	done
	setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$BIN/ms-record" --doctor >said 2>&1
	grep -q '^note  capabilities  root without the capability SYS_PTRACE cannot attach .*--poll or --standby$' said || fail "root without SYS_PTRACE: $(<said)"
fi

"$BIN/ms-record" --doctor >/dev/full 2>err
[ "$? $(cat err)" = '125 ms-record: cannot write to standard output: No space left on device' ] || fail "--doctor >/dev/full: $(cat err)"

finish
