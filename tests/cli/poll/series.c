/* SPDX-License-Identifier: MIT
 * Memory over time in a known way: KIND MILLISECONDS [STATUS]. Ends with status 7.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 20 };

static void hold(size_t n)
{
	memset(malloc(n), 1, n);
}

/* When a step is due, from the beginning: on a busy machine late ones catch up. */
static void wait_until(const struct timespec *begin, long ms)
{
	struct timespec t = *begin;
	t.tv_sec += (t.tv_nsec / 1000000 + ms) / 1000;
	t.tv_nsec = (t.tv_nsec / 1000000 + ms) % 1000 * 1000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int steps = (argc > 2 ? atoi(argv[2]) : 0) / STEP_MS;
	if (strcmp(kind, "still") == 0) { /* brk, private and shared anonymous memory, stopped */
		hold(100000);
		hold(3 << 20);
		memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			    0),
		       1, 1 << 20);
		mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		raise(SIGSTOP);
	}
	struct timespec begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < steps; i++) {
		if (strcmp(kind, "leak") == 0)
			hold(200000);
		if (strcmp(kind, "drip") == 0) /* 1 MiB/s */
			hold(20971);
		if (strcmp(kind, "step") == 0 && i == steps / 2)
			hold(20 << 20);
		if (strcmp(kind, "plateau") == 0 && i < steps / 3)
			hold(200000);
		if (strcmp(kind, "reserve") == 0)
			mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		wait_until(&begin, (i + 1L) * STEP_MS);
	}
	return argc > 3 ? atoi(argv[3]) : 7;
}
