/* SPDX-License-Identifier: MIT
 * Programs that do something with all that they have mapped, or forbid system calls to code that is
 * not the C library's. Standard output is the same with and without a recorder.
 *
 *   apart late ...               the same once somebody is attached to it; "early" locks all before that
 *   apart lock FLAGS [syscall]   mlockall; standard error: KB locked, and by how much it grew
 *   apart dispatch               system calls from outside of the C library end in SIGSYS
 *   apart advise ADVICE          madvise of all shared mappings; then children
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SET_DISPATCH 59
#define THREADS 40

static __attribute__((noinline)) void *take(size_t bytes)
{
	void *p = malloc(bytes);
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

static __attribute__((noinline)) void churn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(take(i % 700 + 1));
}

static void *churner(void *arg)
{
	churn(100);
	return arg;
}

static void run_threads(void)
{
	pthread_t t[THREADS];
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	int n = 0;
	while (n < THREADS && !pthread_create(&t[n], &a, churner, NULL))
		n++;
	while (n--)
		pthread_join(t[n], NULL);
}

static long figure(const char *name)
{
	char line[256];
	long v = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, strlen(name)))
			v = atol(line + strlen(name));
	if (f)
		fclose(f);
	return v;
}

static int status_of(pid_t c)
{
	int status = -1;
	waitpid(c, &status, 0);
	return status;
}

/* ---- lock ---- */

static int lock_all(int flags, bool by_number)
{
	int r = by_number ? (int)syscall(SYS_mlockall, flags) : mlockall(flags);
	return r ? errno : 0;
}

static void lock(int flags, bool by_number)
{
	figure("VmRSS:");
	long before = figure("VmRSS:");
	int why = lock_all(flags, by_number);
	long locked = figure("VmLck:");
	for (int i = 0; i < 2000; i++)
		take(100);
	long grown = figure("VmRSS:") - before;
	fflush(stdout);
	pid_t c = fork();
	if (!c) {
		churn(1000);
		_exit(lock_all(flags, by_number));
	}
	printf("errno %d, a child's status %d\n", why, status_of(c));
	run_threads();
	long later = figure("VmLck:");
	fprintf(stderr, "%ld %ld %ld\n", locked, grown, later);
}

/* ---- dispatch ---- */

static volatile char selector;

static void dispatch(void)
{
	unsigned long from = 0, to = 0, a, b;
	char line[600];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "libc.so.6") && sscanf(line, "%lx-%lx r-xp", &a, &b) == 2 &&
		    strstr(line, "r-xp")) {
			from = a;
			to = b;
		}
	if (f)
		fclose(f);
	selector = 1;
	if (prctl(SET_DISPATCH, 1, from, to - from, &selector)) {
		printf("cannot: %s\n", strerror(errno));
		return;
	}
	churn(200000);
	run_threads();
	pid_t c = fork();
	if (!c) {
		churn(5000);
		_exit(5);
	}
	int status = status_of(c);
	selector = 0;
	prctl(SET_DISPATCH, 0, 0, 0, 0);
	churn(1000);
	printf("a child's status %d\n", status);
}

/* ---- advise ---- */

static void advise(int advice)
{
	char line[600], flags[8];
	unsigned long a, b;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &a, &b, flags) == 3 && flags[3] == 's')
			madvise((void *)a, b - a, advice);
	if (f)
		fclose(f);
	churn(100);
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pid_t c = fork();
		if (!c) {
			churn(1000);
			_exit(7);
		}
		printf("a child's status %d\n", status_of(c));
	}
}

/* Waits until malloc begins with a jump: the recorder has placed its hooks then. */
static void wait_for_recorder(void)
{
	const volatile unsigned char *entry = (const volatile unsigned char *)malloc;
	for (int i = 0; i < 20000 && *entry != 0xe9; i++)
		usleep(1000);
}

int main(int argc, char **argv)
{
	static char buffer[1024];
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	bool early = argc > 1 && !strcmp(argv[1], "early"),
	     late = argc > 1 && !strcmp(argv[1], "late");
	if (early)
		printf("errno %d\n", lock_all(3, false));
	if (early || late) {
		wait_for_recorder();
		argc--;
		argv++;
	}
	if (argc > 2 && !strcmp(argv[1], "lock"))
		lock(atoi(argv[2]), argc > 3);
	else if (argc > 1 && !strcmp(argv[1], "dispatch"))
		dispatch();
	else if (argc > 2 && !strcmp(argv[1], "advise"))
		advise(atoi(argv[2]));
	return 3;
}
