#!/bin/bash
# SPDX-License-Identifier: MIT
# A program's life under ms-record: signals, threads, exec, a recorder that is killed, stopped or cannot write.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >steps.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void on(int s) { got = s; }
static void *thread(void *n)
{
	for (long i = 0; i < (long)n; i++)
		free(malloc(64 + i % 64));
	return NULL;
}
static void *_Atomic slots[1024];
static void *trade(void *n) /* blocks are freed and reallocated by whoever finds them */
{
	unsigned x = (unsigned)(size_t)&n;
	for (long i = 0; i < (long)n; i++) {
		x = x * 1103515245 + 12345;
		void *old = __atomic_exchange_n((void **)&slots[x >> 8 & 1023], malloc(16 + (x >> 20) % 100), __ATOMIC_SEQ_CST);
		free(old && x & 128 ? realloc(old, 200) : old);
	}
	return NULL;
}
static void threads(long all, long together, long n)
{
	pthread_t t[256];
	for (long i = 0; i < all; i += together) {
		for (long k = 0; k < together; k++)
			pthread_create(&t[k], NULL, thread, (void *)n);
		for (long k = 0; k < together; k++)
			pthread_join(t[k], NULL);
	}
}
int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[1], "threads"))
		threads(atol(argv[2]), atol(argv[3]), atol(argv[4]));
	if (!strcmp(argv[1], "trade")) {
		pthread_t t[4];
		for (long k = 0; k < 4; k++)
			pthread_create(&t[k], NULL, trade, (void *)atol(argv[2]));
		for (long k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
	}
	if (!strcmp(argv[1], "signal")) { /* waits for a signal, then ends with its number */
		signal(SIGTERM, on), signal(SIGHUP, on), signal(SIGINT, on);
		puts("ready"), fflush(stdout);
		for (int i = 0; i < 1000 && !got; i++)
			free(malloc(100)), usleep(10000);
		return got;
	}
	if (!strcmp(argv[1], "late")) { /* allocates once there is a file */
		puts("ready"), fflush(stdout);
		while (access(argv[3], F_OK))
			usleep(10000);
		thread((void *)atol(argv[2]));
	}
	if (!strcmp(argv[1], "begin")) { /* once there is a file, threads begin, and children, one after the other */
		puts("ready"), fflush(stdout);
		while (access(argv[3], F_OK))
			usleep(10000);
		threads(atol(argv[2]), 1, 1);
		for (long i = 0; i < atol(argv[2]); i++, wait(NULL))
			if (!fork())
				free(malloc(10)), _exit(0);
	}
	if (!strcmp(argv[1], "until")) /* allocates until there is a file, and a little longer */
		for (int more = 30; more > 0; more -= !access(argv[2], F_OK))
			free(malloc(100)), usleep(10000);
	puts("end");
	return 0;
}
END
gcc -O1 -g -fno-builtin -pthread -o steps steps.c || exit 1
base=$("$BIN/ms-record" -q -o b.trace ./steps threads 0 1 0 >/dev/null && field 5 b.trace)

# ---- signals ----
for sig in TERM HUP; do
	rm -f out
	"$BIN/ms-record" -q -o s.trace ./steps signal >out &
	pid=$!
	wait_for grep -q ready out
	kill -$sig $pid
	wait $pid
	is "status after SIG$sig" $? "$(kill -l $sig)"
	is "reason after SIG$sig" "$(field 16 s.trace)" 1
done
state() { # TRACE WHAT: the recorder that writes it says that it is so
	[ "$("$BIN/ms-record" --tell "$1" status 2>/dev/null | sed -n 's/^state //p')" = "$2" ]
}
rm -f s.trace go
"$BIN/ms-record" -q -o s.trace ./steps until go >out &
pid=$!
wait_for state s.trace recording
kill -INT $pid
touch go
wait $pid
is 'status after SIGINT to the recorder alone' "$? $(cat out)" '0 end'
rm -f s.trace go out
"$BIN/ms-record" -o s.trace sh -c 'trap "" TERM; echo ready; until [ -e go ]; do sleep 0.1; done; echo end' >out 2>err &
pid=$!
twice() { # two of them that came together would be one
	kill -TERM "$pid"
	sleep 0.3
	state s.trace stopped
}
wait_for grep -q ready out
wait_for twice
touch go
wait $pid
is 'status after two SIGTERM' "$? $(tail -n 1 out)" '0 end'
is 'reason after two SIGTERM' "$(field 16 s.trace)" 3
grep -q 'until recording was stopped' err || fail "not said: $(cat err)"

# ---- signals right behind each other: symbols are skipped, the trace is whole ----
for _ in 1 2 3; do
	rm -f s.trace go
	./steps until go >/dev/null &
	target=$!
	wait_for grep -q libc.so /proc/$target/maps
	"$BIN/ms-record" -q -p $target -o s.trace &
	pid=$!
	wait_for state s.trace recording
	kill -INT $pid
	kill -TERM $pid
	wait $pid
	is 'status after SIGINT and SIGTERM' $? 0
	"$TB/trace-dump" s.trace | grep -qx ended || fail 'after SIGINT and SIGTERM the trace has no end'
	touch go
	wait $target
done

# ---- a trace that is removed or replaced while it is written ----
for what in removed 'replaced by another file'; do
	rm -f s.trace go
	"$BIN/ms-record" -o s.trace ./steps until go >out 2>err &
	pid=$!
	wait_for state s.trace recording
	rm s.trace
	[ "$what" = removed ] || echo text >s.trace
	touch go
	wait $pid
	is "status when the trace was $what" "$? $(cat out)" '0 end'
	grep -q "^  trouble   's.trace' was $what during the recording$" err || fail "a trace that was $what is not said: $(cat err)"
	grep -q '^next\|^  files\|every event' err && fail "a trace that was $what is praised: $(cat err)"
	[ "$what" = removed ] || is 'what replaced the trace' "$(cat s.trace)" text
done

for how in '' --poll; do
	rm -f s.trace go
	./steps until go >/dev/null &
	target=$!
	wait_for grep -q libc.so /proc/$target/maps
	"$BIN/ms-record" $how -p $target -o s.trace 2>err >/dev/null &
	pid=$!
	wait_for test -s s.trace
	rm s.trace
	kill -INT $pid
	wait $pid
	is "status of $how -p when the trace was removed" $? 125
	grep -q "'s.trace' was removed" err || fail "$how -p: a trace that was removed is not said: $(cat err)"
	touch go
	wait $target
done

# ---- -d ----
rm -f s.trace go
"$BIN/ms-record" -q -d 1s -o s.trace ./steps until go >out &
pid=$!
wait_for state s.trace stopped
touch go
wait $pid
is 'status with -d' "$? $(cat out)" '0 end'
is 'reason with -d' "$(field 16 s.trace)" 3
[ "$(field 1 s.trace)" -ge 200000000 ] || fail "-d 1s recorded $(field 1 s.trace) ns"

# One that ended by itself before that, while what it started goes on: its end is its own. Where the machine is so busy that it comes too late,
# it gets more time.
for limit in 1100ms 2s 4s 8s 16s 32s 64s; do
	rm -f s.trace go
	"$BIN/ms-record" --no-symbols -d $limit -o s.trace sh -c './steps until go >/dev/null & sleep 1; exit 5' 2>err
	is 'status of one that ended just before -d' $? 5
	touch go
	[ "$(field 16 s.trace)" = 1 ] && break
done
is 'reason and status of one that ended just before -d' "$(field 16 s.trace) $(field 2 s.trace)" '1 5'
grep 'stopped by' err && fail "it is said to have been stopped: $(cat err)"

# ---- threads: none of their events is lost, rings are used again ----
while read -r all together each; do
	how="$all threads, $together at a time, $each each"
	"$BIN/ms-record" -q --no-symbols -o t.trace ./steps threads "$all" "$together" "$each" >/dev/null
	is "lost of $how" "$(field 6 t.trace)" 0
	is "inferred frees of $how" "$(field 10 t.trace)" 0
	is "violations of $how" "$(field 13 t.trace)" 0
	# the C library allocates at most a few blocks a thread besides
	n=$(($(field 5 t.trace) - base - all * each))
	[ $((n >= 0 && n <= 2 * all + 10)) = 1 ] || fail "allocations of $how: $n too many"
done <<END
4000 8 5
400 200 20
2 2 300000
END

# ---- blocks that change hands: the order of all threads is right ----
"$BIN/ms-record" -q --no-symbols -o x.trace ./steps trade 200000 >/dev/null
is 'lost of a trade' "$(field 6 x.trace)" 0
is 'inferred frees of a trade' "$(field 10 x.trace)" 0
is 'unknown frees of a trade' "$(field 11 x.trace)" 0
is 'violations of a trade' "$(field 13 x.trace)" 0

# ---- the recorder is killed: the command goes on, the trace is readable so far ----
rm -f go out
"$BIN/ms-record" -q -o k.trace ./steps until go >out &
pid=$!
has_events() {
	"$TB/trace-dump" k.trace >dump 2>/dev/null
	grep -q ' events (2)' dump
}
wait_for has_events
grep -qx growing dump || fail "a trace that is being written is '$(tail -n 1 dump)'"
kill -9 $pid
wait $pid 2>/dev/null
touch go
wait_for grep -q end out
"$TB/trace-dump" k.trace >dump
grep -q ' events (2)' dump || fail 'a killed recorder left no events'
grep -q ' end (9)' dump && fail 'a killed recorder left an end'

# Not each thread that begins later waits for it, nor does each child.
rm -f go out
"$BIN/ms-record" -q --overflow=wait:300ms -o k.trace ./steps begin 200 go >out &
pid=$!
wait_for grep -q ready out
kill -9 $pid
wait $pid 2>/dev/null
sleep 2.5
ms_until_end() { # once there is a file, until it said so
	local start
	start=$(date +%s%N)
	touch go
	wait_for grep -q end out
	echo $((($(date +%s%N) - start) / 1000000))
}
took=$(ms_until_end)
rm -f go out
./steps begin 200 go >out &
wait_for grep -q ready out
bare=$(ms_until_end)
[ "$took" -lt $((20000 + 10 * bare)) ] || fail "200 threads and children took $took ms without a recorder, $bare ms bare"

# ---- the recorder is stopped: threads wait, then drop, and the command ends all the same ----
rm -f go out
"$BIN/ms-record" -q --overflow=wait:100ms --no-symbols -o w.trace ./steps late 500000 go >out &
pid=$!
wait_for grep -q ready out
kill -STOP $pid
touch go
wait_for grep -q end out
kill -CONT $pid
wait $pid
is 'status of a recorder that was stopped' $? 0
lost=$(field 6 w.trace)
got=$(field 4 w.trace)
[ "$lost" -gt 0 ] || fail 'a stopped recorder lost nothing: was it stopped?'
total=$((lost + got))
[ $total -ge 1000000 ] || fail "while the recorder was stopped $lost lost and $got kept are not all"
[ "$(field 15 w.trace)" -lt 10000000000 ] || fail "a thread waited $(field 15 w.trace) ns"
"$BIN/ms-record" -q --overflow=drop --buffer 1M --no-symbols -o d.trace ./steps threads 2 2 200000 >/dev/null
lost=$(field 6 d.trace)
got=$(field 4 d.trace)
total=$((lost + got))
[ $total -ge 800000 ] || fail "with --overflow=drop $lost lost and $got kept are not all"
is 'waiting with --overflow=drop' "$(field 14 d.trace)" 0

# ---- the recorder is stopped while a program starts: that program waits, then runs, and is listed ----
rm -f go late
"$BIN/ms-record" -o l.trace sh -c 'until [ -e go ]; do sleep 0.1; done; exec ./steps late 1 late' >out 2>err &
pid=$!
wait_for state l.trace recording
kill -STOP $pid
touch go
wait_for grep -q ready out
kill -CONT $pid
wait_for grep -q '/steps.*not recorded' l.trace.d/index
touch late
wait $pid
is 'what is said of a program that was answered too late' "$(sed -n 's/.*not recorded: //p' l.trace.d/index | sort -u)" \
	'ms-record was too busy to answer while the program waited'
grep -q '^  trouble .*not every program was recorded: ms-record was too busy' err || fail "not said: $(cat err)"

# ---- a pipe that nobody reads any more ----
# It allocates until the reader is gone: whatever the recorder writes after that finds nobody.
rm -f go
("$BIN/ms-record" -o fd:3 ./steps until go 3>&1 >out 2>err) | {
	head -c 100 >/dev/null
	exec <&-
	touch go
}
is 'output after a closed pipe' "$(cat out)" end
grep -q 'roken pipe' err || fail "a broken pipe is not said: $(cat err)"

# ---- names of threads, samples ----
samples() {
	"$TB/trace-dump" n.trace 2>/dev/null | sed -n '/ samples (6)/,/^block/p' | grep ' 1='
}
many() {
	[ "$(samples | wc -l)" -ge 100 ]
}
rm -f go
"$BIN/ms-record" -q -i 10ms -o n.trace ./steps until go >/dev/null &
pid=$!
wait_for many
touch go
wait $pid
"$TB/trace-dump" n.trace | grep -q '3="steps"' || fail 'no thread is named steps'
samples >list
least=$(sed -n 's/.* 1=\([0-9]*\).*/\1/p' list | awk '$1 > 500e6 && last && (!n++ || $1 - last < least) { least = $1 - last } { last = $1 } END { printf "%d", least }')
[[ $least -gt 0 && $least -lt 50000000 ]] || fail "between samples are at least $least ns with -i 10ms"

# ---- a program that cannot be recorded takes the place of one that can ----
echo 'int main(void) { extern int access(const char *, int), usleep(unsigned); while (access("go", 0)) usleep(10000); return 5; }' >x.c
gcc -w -static -o x x.c
over() {
	"$TB/trace-dump" x.trace 2>/dev/null | grep -qx ended
}
rm -f go x.trace
"$BIN/ms-record" -q -o x.trace sh -c 'exec ./x' &
pid=$!
wait_for over
touch go
wait $pid
is 'status of a static successor' $? 5
is 'reason of a static successor' "$(field 16 x.trace)" 2

# ---- a program that moves what the kernel shows as its arguments is the same program still ----
cat >moves.c <<'END'
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	static char name[4096] = "moved";
	unsigned long v[60] = {0};
	char text[2048];
	usleep(300000);
	FILE *f = fopen("/proc/self/stat", "r");
	if (!f || !fgets(text, sizeof text, f))
		return 77;
	fclose(f);
	int i = 3;
	for (char *w = strtok(strrchr(text, ')') + 2, " "); w && i < 60; w = strtok(NULL, " "))
		v[i++] = strtoul(w, NULL, 10);
	struct prctl_mm_map m = {v[26], v[27], v[45], v[46], v[47], (unsigned long)sbrk(0), v[28], (unsigned long)name,
				 (unsigned long)name + 6, v[50], v[51], NULL, 0, -1u};
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof m, 0))
		return 77;
	for (int k = 0; k < 250; k++)
		free(malloc(10000)), usleep(10000);
	return 3;
}
END
gcc -O1 -fno-builtin -o moves moves.c || exit 1
./moves
if [ $? = 3 ]; then
	"$BIN/ms-record" -o s.trace ./moves 2>err
	is 'status of a program that moves its arguments' $? 3
	is 'its reason' "$(field 16 s.trace)" 1
	[ "$(field 29 s.trace)" -ge 2500000 ] || fail "of a program that moves its arguments $(field 29 s.trace) bytes were recorded"
	grep 'not recorded' err && fail "it is said to have become another program: $(cat err)"
fi

# ---- one that hides itself and calls itself otherwise, too ----
cat >hides.c <<'END'
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	usleep(200000);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "worker");
	for (int i = 0; i < 400; i++)
		free(malloc(100)), usleep(10000);
	return 3;
}
END
gcc -O1 -fno-builtin -o hides hides.c || exit 1
as=
if [ "$(id -u)" = 0 ]; then # who may look at everything sees through it
	where=$(mktemp -d) && cp "$BIN/ms-record" "$BIN/libmemscope-preload.so" hides "$where" && chown -R 65534 "$where"
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	cd "$where" || exit 1
fi
$as "${where-$BIN}/ms-record" --no-symbols -o s.trace ./hides 2>err
is 'status of a program that hides' "$? $(field 16 s.trace)" '3 1'
grep 'not recorded\|nothing recorded' err && fail "it is said to have become another program: $(cat err)"
[ -z "$as" ] || { cd "$OLDPWD" && rm -r "$where"; }

finish
