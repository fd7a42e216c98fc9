#!/bin/bash
# SPDX-License-Identifier: MIT
# What ms-top keeps of what it saw: --log FILE; the history of a row whose process is inspected, also higher than a row; growth that is judged until
# freeing at exit begins; frames of the runtime as one row, and all of them with --full-names.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 200 redis 524288 1 60
memory() { # PID KIB: the files of it alone
	printf '5500-5600 rw-p 00000000 00:00 0 [heap]\nRss: %s kB\nPss: %s kB\nPrivate_Dirty: %s kB\nAnonymous: %s kB\nSwap: 0 kB\n' "$2" "$2" "$2" "$2" >"proc/$1/smaps"
	echo "24414 $(($2 / 4)) 7 1 0 1 0" >"proc/$1/statm"
}
memory 100 1048576

# a program that grows for 13 seconds, by the clock, so that it does on a busy machine, and at its end frees all but a tenth
cat >grows.cpp <<'END'
#include <ctime>
#include <unistd.h>
#include <vector>
static auto &all = *new std::vector<std::vector<char> *>;
static void keep_one() { all.push_back(new std::vector<char>(1000)); }
int main()
{
	timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 0; i < 1300; usleep(10000)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (long due = (now.tv_sec - begun.tv_sec) * 100 + (now.tv_nsec - begun.tv_nsec) / 10000000; i < 1300 && i <= due; i++)
			keep_one();
	}
	for (size_t i = 0; i < all.size() * 9 / 10; i++)
		delete all[i];
	return 0;
}
END
g++ -g -O1 -o grows grows.cpp || fail g++
"$BIN/ms-record" -q -o grows.trace ./grows &
recorder=$!

# ---- --log ----
log() { # ARGS: to seen, the frames of a made /proc
	timeout 600 "$T" --proc-root proc -b -d 100ms --log seen "$@" >frame 2>err
}
log -n 3 || fail "--log: status $?: $(cat err)"
[ "$(stat -c %a seen)" = 600 ] || fail "mode $(stat -c %a seen)"
[ "$(jq -c '[.mode, .rows[0].pid, .rows[0].rss_bytes, (.rows | length)]' seen | uniq -c | tr -s ' ')" = ' 3 ["system",100,1073741824,3]' ] || fail "$(cat seen)"
expect '^  +100 root +1\.00 G'
# the lines of --json
timeout 600 "$T" --proc-root proc --json -n 1 | jq 'del(.time_ns)' >once
head -n 1 seen | jq 'del(.time_ns)' | cmp - once || fail 'not the object of --json'
# is added to, and after a line that was cut it begins a new one
printf '{"format":"memscope-top","ver' >>seen
log -n 2 --filter redis || fail "appended: $(cat err)"
[ "$(wc -l <seen)" = 6 ] || fail "appended: $(wc -l <seen) lines"
[ "$(tail -n 2 seen | jq -c '[.rows[].pid]' | tr '\n' ' ')" = '[200] [200] ' ] || fail 'appended'
timeout 600 "$T" --proc-root proc -b -n 1 -p 100 --log one >frame || fail '-p'
jq -e '.mode == "process" and .rss.bytes == 1073741824' one >/dev/null || fail "$(cat one)"
# nothing else is written into
refused() { # MESSAGE ARGS
	local message=$1 rc
	shift
	timeout 600 "$T" -b -n 1 "$@" >out 2>err </dev/null
	rc=$?
	[ $rc = 2 ] || fail "$*: status $rc"
	[ "$(cat err)" = "ms-top: $message" ] || fail "$*: $(cat err)"
}
echo 'mine' >mine
mkfifo pipe
refused "cannot log to 'mine': it holds something other than a log" --log mine
[ "$(cat mine)" = mine ] || fail 'mine was changed'
refused "cannot log to 'pipe': not a regular file; for a pipe use --batch=json" --log pipe
refused "cannot write 'no/where': No such file or directory" --log no/where
refused "cannot write '.': it is a folder" --log .
refused "'--log' is for processes: a trace already keeps everything" --log x grows.trace
[ ! -e x ] || fail 'made all the same'
# no room: said once, frames go on, and what is there is whole lines
line=$(head -n 1 seen | wc -c)
(
	ulimit -f $((line * 5 / 2 / 1024))
	exec timeout 600 "$T" --proc-root proc -b -d 100ms -n 6 --log small 2>err
) | cat >frame
[ "${PIPESTATUS[0]}" = 0 ] || fail "no room: $(cat err)"
[ "$(cat err)" = "ms-top: cannot write to 'small': File too large; trying again at each refresh" ] || fail "no room: $(cat err)"
[ "$(grep -c '^Mem ' frame)" = 6 ] || fail "no room: $(cat frame)"
[ "$(jq -c .mode small | tr '\n' ' ')" = '"system" "system" ' ] || fail "no room: $(jq -c .mode small)"

# ---- a row's history goes on when its process is inspected ----
start 120 40 --proc-root proc -d 200ms --log kept
sees '^> +100 root +1\.00 G'
process 100 orderd 2097152 1 50
memory 100 2097152
sees '^> +100 root +2\.00 G .* \+1\.00 G '
keys Enter
sees '^RSS +2\.00 G  █+ .*\+1\.00 G in [0-9]+ s$' 'the change since the row was there'
sees '^HEAP +2\.00 G  █+ .* 0 in [0-9]+ s$'
# two rows high and more; one where there is no room
until_true eval 'screen; grep -A 1 "^RSS " screen | tail -n 1 | grep -qE "^ most 2\.00 G +█+$"'
$S resize-window -x 80 -y 24
sees '^RSS +2\.00 G  █{10}  [▅█]+ +\+1\.00 G in [0-9]+ s$' 'and the first sample is there yet'
screen
! grep -q ' most ' screen || fail "higher than there is room: $(cat screen)"
# what is inspected is in the log, too
until_true eval "jq -c 'select(.mode == \"process\") | .rss.change_bytes' kept | grep -qx 1073741824"
keys q q
ends 0

# ---- what grows until the program frees it at its end ----
wait $recorder || fail "recorder: status $?"
COLUMNS=140 timeout 600 "$T" -b -n 1 grows.trace >frame || fail "grows: status $?"
expect '^ .* 130 .* growing +keep_one grows\.cpp:5  std::vector<char>::vector'
start 170 40 --sort peak grows.trace
sees '^>.* growing +keep_one grows\.cpp:5  std::vector<char>::vector'
# in its own stack: the runtime is one row, and your code begins below it
sees '^ +[0-9]+  std::vector<char>::vector +and [0-9]+ more runtime frames?$'
sees '^ +[0-9]+  keep_one +grows\.cpp:5'
sees '^ live bytes since the start$'
keys Enter
sees ' growing: .*confidence [01]\.[0-9]+, until [0-9]+ s, when freeing at exit begins$'
sees '^> +[0-9]+  std::vector<char>::vector +and [0-9]+ more runtime frames?$'
keys q q
ends 0
start 140 40 --sort peak --full-names grows.trace
sees '^ +[0-9]+  std::vector<char, std::allocator<char> ?>::vector\(unsigned long'
screen
! grep -q 'more runtime frame' screen || fail "folded: $(cat screen)"
keys q
ends 0
LC_ALL=C COLUMNS=140 timeout 600 "$T" -b -n 1 grows.trace | grep -q ' keep_one grows.cpp:5  std::vector<char>::vector' || fail 'no name in ASCII'
refused "'--full-names' is for traces only" --full-names

# ---- of a recording that is over what is lost comes first ----
cat >loses.c <<'END'
#include <stdlib.h>
#include <string.h>
static void *volatile kept, *volatile lost;
static void __attribute__((noinline)) keep(void) { kept = malloc(100000); }
static void __attribute__((noinline)) lose(void) { lost = malloc(1000); lost = NULL; }
/* what is left on the stack may look like a pointer */
static void __attribute__((noinline)) clear(void)
{
	char room[4096];
	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}
int main(void) { keep(); lose(); clear(); return 0; }
END
gcc -g -O1 -fno-builtin -o loses loses.c || fail gcc
"$BIN/ms-record" -q -o loses.trace ./loses || fail "recorder: status $?"
order() { COLUMNS=100 timeout 600 "$T" -b -n 1 "$@" loses.trace | grep -oE ' (keep|lose) loses' | tr -d '\n'; }
[ "$(order)" = ' lose loses keep loses' ] || fail "order: $(order)"
[ "$(order --sort live)" = ' keep loses lose loses' ] || fail "--sort live: $(order --sort live)"
start 100 20 loses.trace
sees ' sort VERDICT +[0-9]+ sites$'
sees '^> +1000 .* unreachable +lose loses\.c:5'
keys q
ends 0

[ $failures = 0 ] && echo ok
exit $((failures != 0))
