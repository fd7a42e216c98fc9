/* SPDX-License-Identifier: MIT
 * Does to another process what ms-record/ptrace/hijack.h can do. Times are printed on the last line.
 *
 *   hijack why PID ROOT      may we?
 *   hijack stop PID N        all threads stopped and resumed N times
 *   hijack late PID N        all threads stopped, but not all do so within N ms
 *   hijack calls PID N       one thread borrowed N times, for ten system calls each
 *   hijack faults PID N      the same where no call can be made: each fails, and no more happens
 *   hijack copies PID N      N copies made, looked at, removed
 *   hijack helper PID N      `calls` in a helper process
 *   hijack limit PID N       a helper process that hurries, and computes for N ms
 *   hijack torture PID N FILE  the tracer killed N times; FILE: as hijack_victim threads
 *   hijack wait FILE N       until the third word of FILE is at least N
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/base/clock.h"
#include "ms-record/ptrace/hijack_private.h"

#define PATIENCE_NS UINT64_C(20000000000) /* of a busy machine */

static struct hijack h;
static uint64_t *times;
static size_t count;

static int trouble(const char *what, const struct ms_err *err)
{
	printf("%s: %s (%s)\n", what, err ? err->text : "", strerror(errno));
	return 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void note(uint64_t ns, unsigned n)
{
	times = times ? times : ms_xcalloc(n, sizeof *times);
	times[count++] = ns;
}

static void print_times(void)
{
	qsort(times, count, sizeof *times, by_value);
	printf("median %lu us, longest %lu us\n", (unsigned long)times[count / 2] / 1000,
	       (unsigned long)times[count - 1] / 1000);
}

static int stop(unsigned n)
{
	struct hijack_stop s;
	for (unsigned i = 0; i < n; i++) {
		if (hijack_stop_all(&s, h.proc, false, PATIENCE_NS))
			return trouble("stop", NULL);
		hijack_resume(&s, h.proc);
		note(s.longest_ns, n);
		usleep(2000);
	}
	return 0;
}

static int late(unsigned ms)
{
	struct hijack_stop s;
	note(0, 1);
	if (!hijack_stop_all(&s, h.proc, false, ms * UINT64_C(1000000)) || errno != ETIMEDOUT)
		return trouble("they stopped", NULL);
	return 0;
}

static int some_calls(struct hijack_call *c)
{
	int64_t r, place;
	for (int i = 0; i < 8; i++)
		if (HIJACK_CALL(c, &r, SYS_getppid, 0, 0, 0, 0, 0, 0) || r < 0)
			return trouble("getppid", NULL);
	if (HIJACK_CALL(c, &place, SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0) ||
	    HIJACK_CALL(c, &r, SYS_munmap, (uint64_t)place, 4096, 0, 0, 0, 0) || r)
		return trouble("mmap", NULL);
	return 0;
}

static int calls(unsigned n)
{
	struct hijack_stop s;
	struct hijack_call c;
	for (unsigned i = 0; i < n; i++) {
		struct ms_err err = {0};
		if (hijack_stop_one(&s, &h, PATIENCE_NS))
			return trouble("stop", NULL);
		if (hijack_borrow(&c, &h, s.threads.v, 0, &err))
			return trouble("borrow", &err);
		if (!c.frame || some_calls(&c) || hijack_give_back(&c))
			return trouble("give back", NULL);
		hijack_resume(&s, h.proc);
		note(s.longest_ns, n);
		usleep(500);
	}
	return 0;
}

/* The instruction is gone; then it is there, but may not be executed. */
static int two_faults(struct hijack_call *c)
{
	static const uint8_t code[] = {0x0f, 0x05, 0xc3};
	int64_t r, page;
	uint64_t call_at = c->call_at;
	if (HIJACK_CALL(c, &page, SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0))
		return trouble("mmap", NULL);
	for (int i = 0; i < 2; i++) {
		c->call_at = (uint64_t)page;
		if (!HIJACK_CALL(c, &r, SYS_getppid, 0, 0, 0, 0, 0, 0) || errno != EFAULT ||
		    hijack_write(&h, (uint64_t)page, code, sizeof code))
			return trouble("a call where there is none", NULL);
	}
	c->call_at = call_at;
	return HIJACK_CALL(c, &r, SYS_munmap, (uint64_t)page, 4096, 0, 0, 0, 0) || r;
}

static int faults(unsigned n)
{
	struct hijack_stop s;
	struct hijack_call c;
	for (unsigned i = 0; i < n; i++) {
		struct ms_err err = {0};
		if (hijack_stop_all(&s, h.proc, false, PATIENCE_NS))
			return trouble("stop", NULL);
		if (hijack_borrow(&c, &h, s.threads.v, 0, &err))
			return trouble("borrow", &err);
		if (two_faults(&c) || hijack_give_back(&c))
			return trouble("give back", NULL);
		hijack_resume(&s, h.proc);
		note(s.longest_ns, n);
	}
	return 0;
}

/* One copy; *own and *its as hijack_copy gives them. */
static int copy(pid_t *own, pid_t *its, unsigned n)
{
	struct hijack_stop s;
	struct hijack_call c;
	struct ms_err err = {0};
	if (hijack_stop_all(&s, h.proc, false, PATIENCE_NS))
		return trouble("stop", NULL);
	if (hijack_borrow(&c, &h, s.threads.v, 0, &err))
		return trouble("borrow", &err);
	if (hijack_copy(&c, own, its))
		return trouble("copy", NULL);
	if (hijack_give_back(&c))
		return trouble("give back", NULL);
	hijack_resume(&s, h.proc);
	note(s.longest_ns, n);
	return 0;
}

static int copies(unsigned n)
{
	struct hijack_stop s;
	struct hijack_call c;
	for (unsigned i = 0; i < n; i++) {
		pid_t own, its;
		char name[32];
		struct ms_err err = {0};
		if (copy(&own, &its, n))
			return 1;
		snprintf(name, sizeof name, "/proc/%d/maps", (int)own);
		if (access(name, R_OK))
			return trouble("copy", NULL);
		hijack_kill(own);
		if (hijack_stop_one(&s, &h, PATIENCE_NS) ||
		    hijack_borrow(&c, &h, s.threads.v, 0, &err))
			return trouble("borrow", &err);
		if (hijack_reap(&c, its) || hijack_give_back(&c))
			return trouble("reap", NULL);
		hijack_resume(&s, h.proc);
	}
	return 0;
}

static int in_helper(void *arg, void *shared)
{
	int rc = calls(*(unsigned *)arg);
	*(int *)shared = getsid(0) == getpid() && count == *(unsigned *)arg;
	fflush(stdout);
	return rc;
}

static int helper(unsigned n)
{
	int result = 9, good = 0;
	if (hijack_helper(in_helper, &n, &good, sizeof good, &result))
		return trouble("helper", NULL);
	printf("helper %d\n", good);
	note(0, 1);
	return result;
}

/* Computes for n ms; is it in a real-time class before, and after? */
static int hurry(void *arg, void *shared)
{
	int *class = shared;
	hijack_hurry(true);
	class[0] = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	for (uint64_t end = clock_mono() + *(unsigned *)arg * UINT64_C(1000000);
	     clock_mono() < end;)
		continue;
	class[1] = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	hijack_hurry(false);
	return 0;
}

static int limit(unsigned n)
{
	int result = 9, class[2] = {-1, -1};
	if (hijack_helper(hurry, &n, class, sizeof class, &result))
		return trouble("helper", NULL);
	printf("class %d, then %d\n", class[0], class[1]);
	note(0, 1);
	return result;
}

/* ---- killed ---- */

static _Noreturn void go_on_for_ever(void)
{
	int null = open("/dev/null", O_WRONLY);
	dup2(null, 1);
	for (;;) {
		pid_t own, its;
		count = 0;
		if (calls(1))
			_exit(1);
		count = 0;
		if (copy(&own, &its, 1))
			_exit(1);
		hijack_kill(own);
	}
}

static int progresses(const volatile uint64_t *words)
{
	for (uint64_t i = 0; i < words[2]; i++) {
		uint64_t was = words[3 + i];
		for (int k = 0; words[3 + i] == was; k++) {
			if (k > 5000) {
				printf("thread %lu does not go on\n", (unsigned long)i);
				return 0;
			}
			usleep(1000);
		}
	}
	return !words[0] && !words[1];
}

static volatile uint64_t *map_file(const char *path)
{
	int fd = open(path, O_RDWR);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || p == MAP_FAILED)
		exit(9);
	return p;
}

static int torture(unsigned n, const char *path)
{
	volatile uint64_t *words = map_file(path);
	srand((unsigned)clock_mono());
	for (unsigned i = 0; i < n; i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			go_on_for_ever();
		usleep(1000 + (unsigned)rand() % 12000);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		if (!WIFSIGNALED(status)) {
			printf("round %u: the tracer ended by itself\n", i);
			return 1;
		}
		if (!hijack_alive(&h) || !progresses(words)) {
			printf("round %u: wrong %lu, elsewhere %lu\n", i, (unsigned long)words[0],
			       (unsigned long)words[1]);
			return 1;
		}
	}
	note(0, 1);
	return 0;
}

static int wait_for(const char *path, uint64_t n)
{
	while (access(path, R_OK))
		usleep(10000);
	usleep(50000);
	for (volatile uint64_t *words = map_file(path); words[2] < n;)
		usleep(10000);
	return 0;
}

int main(int argc, char **argv)
{
	struct ms_err err = {0};
	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "wait"))
		return wait_for(argv[2], (uint64_t)atoi(argv[3]));
	const char *root = strcmp(argv[1], "why") ? "/proc" : argv[3];
	int rc = hijack_open(&h, atoi(argv[2]), root, &err);
	if (!strcmp(argv[1], "why")) {
		printf("%s %s\n", rc ? "no" : "may", err.text);
		return 0;
	}
	if (rc)
		return trouble("open", &err);
	unsigned n = (unsigned)atoi(argv[3]);
	rc = !strcmp(argv[1], "stop")     ? stop(n)
	     : !strcmp(argv[1], "late")   ? late(n)
	     : !strcmp(argv[1], "calls")  ? calls(n)
	     : !strcmp(argv[1], "faults") ? faults(n)
	     : !strcmp(argv[1], "copies") ? copies(n)
	     : !strcmp(argv[1], "helper") ? helper(n)
	     : !strcmp(argv[1], "limit")  ? limit(n)
	     : argc > 4                   ? torture(n, argv[4])
					  : 2;
	if (!rc)
		print_times();
	hijack_close(&h);
	return rc;
}
