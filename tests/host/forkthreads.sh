#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317 # called by wait_for
# Children that a process with many threads forks while it is attached to lose no event of theirs, whichever thread of them is the first to
# allocate, and also when that has ended before the recorder looks.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >forks.c <<'END2'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
enum { MOST = 64, CHILDREN = 3 };
static int each, threads, meets;
static volatile int over;
static void *busy(void *unused)
{
	while (!over) {
		free(malloc(64));
		usleep(1000);
	}
	return unused;
}
static void wait_file(const char *name)
{
	while (access(name, F_OK))
		usleep(1000);
}
static int meet(void)
{
	if (write(1, ".", 1) < 0)
		return 1;
	wait_file("on");
	return 0;
}
static void *some(void *unused)
{
	for (int i = 0; i < each; i++)
		free(malloc(100));
	if (!meets || meet())
		return unused;
	for (int i = 0; i < each; i++)
		free(malloc(100));
	return unused;
}
static void run(int n)
{
	pthread_t t[MOST];
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, some, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}
static void confine(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = {1, &allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		exit(77);
}
/* A thread for which the stack of one that ended is used again is made without malloc. */
int main(int argc, char **argv)
{
	pthread_t t[MOST];
	int late = argc > 3, confined = late && !strcmp(argv[3], "confined");
	threads = atoi(argv[1]);
	if (confined)
		confine();
	each = 0;
	run(MOST);
	each = atoi(argv[2]);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, busy, NULL);
	wait_file("go");
	for (int i = 0; i < CHILDREN; i++)
		if (!fork()) {
			if (late)
				run(1);
			if (confined) { /* three that allocate before and after */
				each /= 2;
				meets = 1;
			} else if (late && meet()) {
				_exit(1);
			}
			run(late ? 3 : 4);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	over = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END2
gcc -O1 -fno-builtin -o forks forks.c -lpthread || exit 77
wait_for() { # the limit is only there so that it ends
	for _ in {1..6000}; do
		"$@" && return
		sleep 0.02
	done
	fail "never: $*"
}
stopped() { [[ $(ps -o state= -p "$1") == T* ]]; }
begun() {
	ms-record --tell t.trace flush >/dev/null 2>&1
	compgen -G 't.trace.d/*.3.trace' >/dev/null
}
written() { [ "$(wc -c <out)" = "$1" ]; }
check() { # WHAT ARGUMENTS...: of three children of 4 * 1000 allocations each, the recorder stopped meanwhile with a third argument
	local what=$1 pid recorder meetings=3
	shift
	rm -rf go on t.trace t.trace.d
	: >out
	./forks "$@" >>out &
	pid=$!
	ms-record --no-symbols --follow=all -o t.trace -p $pid 2>err &
	recorder=$!
	wait_for grep -qs . t.trace
	[ "${3-}" != confined ] || meetings=9
	if [ $# = 3 ]; then
		kill -STOP $recorder
		wait_for stopped $recorder
	fi
	touch go
	if [ $# = 3 ]; then
		wait_for written $meetings
		kill -CONT $recorder
		wait_for begun
		touch on
	fi
	wait $pid
	wait $recorder
	is "$what" "$(awk -F '\t' '$1 ~ /^[1-9]/ { print $7 }' t.trace.d/index | tr '\n' ' ')" '4000 4000 4000 '
	grep -q 'every event recorded while attached$' err || fail "$what: $(head -n 2 err)"
}
check '4 threads' 4 1000
check '20 threads' 20 1000
check '64 threads' 64 1000
check 'the only thread that recorded is gone' 3 1000 late
check 'the first thread of a child that may make no system calls is gone' 20 1000 confined
finish
