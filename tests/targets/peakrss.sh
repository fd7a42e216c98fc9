#!/bin/sh
# SPDX-License-Identifier: MIT
# Peak RSS is the kernel's: what lies between two samples counts, however short the run; of a process that is attached to, only what
# came after that; and traces without it keep the largest sample.
set -eu
program=$TB/targets/burst
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
peak() { sqlite3 "$1" 'SELECT peak_rss_bytes FROM process'; } # null: empty
shown() { ms-report --json "$1" | jq .totals.peak_rss_bytes; }
sampled() { sqlite3 "$1" 'SELECT max(rss_bytes) FROM sample'; }
wait_for() { # a file that is to have so many lines
	for _ in $(seq 6000); do
		[ "$(wc -l <"$1")" -lt "$2" ] || return 0
		sleep 0.05
	done
	die "$1 has no $2 lines"
}

# ---- a run of some milliseconds: the library that records is in memory at the end as it is when the program looks, give or take ----
for i in 1 2 3 4 5; do
	ms-record -q -o run.trace "$program" 64 >kernel
	ms-snap -o run.db run.trace
	more=$(($(peak run.db) - $(cat kernel)))
	[ "$((more >= 0 && more < 4000000))" = 1 ] ||
		die "run $i: $(peak run.db), and the kernel said $(cat kernel)"
	[ "$(shown run.trace) $(shown run.db)" = "$(peak run.db) $(peak run.db)" ] || die "run $i: $(shown run.trace) is shown"
done
ms-report --fail-on 'peak_rss_bytes > 64M' run.trace >/dev/null 2>err && die 'a budget of 64 MiB holds'
grep -q "'peak_rss_bytes > 64M' is broken" err || die "$(cat err)"
ms-report --fail-on 'peak_rss_bytes > 80M' run.trace >/dev/null || die 'a budget of 80 MiB is broken'
# The largest sample of it may be anything up to that: then nobody knows when it was.
sqlite3 run.db 'UPDATE sample SET rss_bytes = 1048576'
ms-report --width 100 run.db >text
grep -qE '^RSS +peak 6[4-9]\.[0-9] MiB between samples$' text || die "$(cat text)"
ms-report --md run.db | grep -qE '^\| peak RSS \| 6[4-9]\.[0-9] MiB \| between samples \|$' || die 'Markdown'
# An older trace has no such figure.
cp run.db old.db
sqlite3 old.db 'UPDATE process SET peak_rss_bytes = NULL'
[ "$(shown old.db)" = 1048576 ] || die "the largest sample: $(shown old.db)"
# It is not compared with the largest sample of another run.
compared() {
	ms-diff -o compared.db "$1" "$2"
	sqlite3 compared.db "SELECT old, new FROM diff_total WHERE figure = 'peak_rss_bytes'"
}
cp run.db new.db
sqlite3 new.db 'UPDATE sample SET rss_bytes = 2097152'
[ "$(compared run.db new.db)" = "$(peak run.db)|$(peak run.db)" ] || die "two of the kernel's: $(compared run.db new.db)"
[ "$(compared old.db new.db)" = '1048576|2097152' ] || die "old and new: $(compared old.db new.db)"

# ---- a part that was cut out has it ----
ms-filter --size 1k.. --trace-out cut.trace run.trace
[ "$(shown cut.trace)" = "$(peak new.db)" ] || die "cut: $(shown cut.trace)"

# ---- each image of a process by itself: the shell had much, what it became did not ----
# shellcheck disable=SC2016
ms-record -q -o two.trace sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" x); sleep 0.4; exec "$0" 8' "$program" >kernel
ms-snap -o two.db two.trace two.trace.d
[ "$(sqlite3 two.db "SELECT exe LIKE '%/burst', iif(exe LIKE '%/burst', peak_rss_bytes BETWEEN 8388608 AND 16000000, peak_rss_bytes > 30000000)
	FROM process ORDER BY 1" | tr '\n' ' ')" = '0|1 1|1 ' ] ||
	die "images: $(sqlite3 two.db 'SELECT exe, peak_rss_bytes FROM process')"

another() { # TRACE: waits until it has a sample more, for which its recorder goes on
	n=$(samples "$1")
	kill -CONT $recorder
	for _ in $(seq 6000); do
		[ "$(samples "$1")" -le "$n" ] || return 0
		sleep 0.05
	done
	die "$1 has no more samples than $n"
}
samples() { "$TB/trace-dump" "$1" 2>/dev/null | awk '/^block/ { on = / samples \(6\)/; next } on { n++ } END { print n + 0 }'; }

# ---- attached to: what it had before is none of it ----
mkfifo in
for second in 8 100; do
	"$program" 64 $second 1 <in >kernel & # it is not held at its end, so it waits
	pid=$!
	exec 3>in
	wait_for kernel 1
	rm -f late.trace
	ms-record -q -i 100ms -p $pid -o late.trace 3>&- &
	recorder=$!
	another late.trace
	kill -STOP $recorder # so that no sample is of the moment itself
	echo >&3
	wait_for kernel 2
	another late.trace
	exec 3>&-
	wait $pid $recorder
	ms-snap -o late.db late.trace
	case $second in
	8) [ "$(peak late.db) $(shown late.trace) $(($(shown late.trace) < 40000000))" = " $(sampled late.db) 1" ] ||
		die "before: '$(peak late.db)', shown $(shown late.trace)" ;;
	*) [ "$(peak late.db)" -ge "$(tail -n 1 kernel)" ] || die "risen: '$(peak late.db)'" ;;
	esac
done

# ---- polled: what lies between two samples ----
poll() { # what it has when, by a line each
	"$program" "$@" <in >kernel &
	pid=$!
	exec 3>in
	wait_for kernel 1
	rm -f poll.trace
	ms-record -q --poll --interval 100ms -p $pid -o poll.trace 3>&- &
	recorder=$!
	another poll.trace
	kill -STOP $recorder
	echo >&3
	wait_for kernel 2
	another poll.trace
	echo >&3
	exec 3>&-
	wait $pid $recorder
	ms-snap -o poll.db poll.trace
}
poll 8 100 8
[ "$(($(peak poll.db) >= $(tail -n 1 kernel) && $(sampled poll.db) < 40000000))" = 1 ] || die "polled: '$(peak poll.db)', sampled $(sampled poll.db)"
poll 100 8 8
[ -z "$(peak poll.db)" ] || die "polled, before: $(peak poll.db)"

# ---- a program goes on when its main thread has ended ----
cat >ended.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *work(void *n)
{
	for (int i = 0; i < 50; i++)
		memset(malloc(1000000), 1, 1000000), usleep(20000);
	exit(n != NULL);
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_exit(NULL);
}
END
gcc -O1 -fno-builtin -pthread -o ended ended.c
ms-record -q -i 10ms -o ended.trace ./ended
[ "$(shown ended.trace)" -ge 48000000 ] || die "when the main thread had ended: $(shown ended.trace)"
