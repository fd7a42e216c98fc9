/* SPDX-License-Identifier: MIT
 * A program for long recordings: does what single letters on standard input say, says "ok" after
 * each, and counts for itself.
 *
 *   longrun steps      a N: N allocations of 100 bytes, kept; f N: frees N of them, oldest first;
 *                      r N: N reallocs of kept blocks; t N: N allocations freed at once; m NAME: a
 *                      mark, then one allocation of 12345 bytes; q: ends, printing what is live
 *   longrun forever KEEP SECONDS [FILE]
 *                      allocates and frees for that time, or until there is that file, with KEEP
 *                      blocks live; prints the truth
 *   longrun burst N    waits for a line, then N allocations freed at once, says "ok"
 *   longrun marks N    N marks, an allocation after each, apart enough to end a block of the trace each
 *   longrun threads N  N threads that allocate a while; says "ok" and waits for a line
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memscope.h>

static char *kept[1 << 20];
static size_t first, last;
static unsigned long long allocations, frees, live_bytes;
static char line[300];

static void add(size_t size)
{
	kept[last++] = malloc(size);
	allocations++;
	live_bytes += size;
}

static void say(const char *s)
{
	/* without stdio: its buffers are allocations too */
	size_t n = strlen(s);
	if (fwrite(s, 1, n, stdout) != n)
		exit(9);
	fflush(stdout);
}

static void step(char what, const char *rest)
{
	long n = atol(rest);
	switch (what) {
	case 'a':
		while (n-- > 0)
			add(100);
		break;
	case 'f':
		while (n-- > 0)
			free(kept[first++]);
		break;
	case 'r':
		for (long i = 0; i < n; i++)
			kept[first + (size_t)i] = realloc(kept[first + (size_t)i], 200);
		break;
	case 't':
		while (n-- > 0)
			free(malloc(64));
		break;
	case 'm':
		ms_mark(rest);
		free(malloc(12345));
		break;
	default:
		exit(0);
	}
	say("ok\n");
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) char *early(size_t n)
{
	return malloc(n);
}

/* Blocks that are kept from the start, and a window of blocks that come and go. */
static void forever(size_t keep, double seconds, const char *file)
{
	static char *slots[1 << 18], *old[100];
	static size_t sizes[1 << 18];
	double end = now() + seconds;
	unsigned long long x = 88172645463325252u;
	for (size_t i = 0; i < 100; i++) {
		old[i] = early(1000);
		allocations++;
		live_bytes += 1000;
	}
	while (now() < end && (!file || access(file, F_OK)))
		for (int k = 0; k < 1000; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			size_t i = x % keep, n = 16 + (x >> 20) % 500;
			frees += slots[i] != NULL;
			live_bytes += n - (slots[i] ? sizes[i] : 0);
			free(slots[i]);
			slots[i] = malloc(n);
			sizes[i] = n;
			allocations++;
		}
	/* not printed by stdio: so that its buffer is not live at the end */
	int n = snprintf(line, sizeof line, "allocations %llu\nfrees %llu\nlive_bytes %llu\n",
			 allocations, frees, live_bytes);
	FILE *f = fopen("truth", "w");
	if (!f || fwrite(line, 1, (size_t)n, f) != (size_t)n || fclose(f))
		exit(8);
	if (!old[99])
		exit(7);
}

static void *thread(void *unused)
{
	for (int i = 0; i < 5000; i++)
		free(malloc(64));
	return unused;
}

static void threads(long n)
{
	static pthread_t t[256];
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			exit(6);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	say("ok\n");
	if (!fgets(line, sizeof line, stdin))
		exit(5);
}

int main(int argc, char **argv)
{
	static char in[4096], out[4096];
	setvbuf(stdin, in, _IOFBF, sizeof in);
	setvbuf(stdout, out, _IOFBF, sizeof out);
	if (argc >= 4 && !strcmp(argv[1], "forever"))
		forever((size_t)atol(argv[2]), atof(argv[3]), argv[4]);
	if (argc == 3 && !strcmp(argv[1], "burst") && fgets(line, sizeof line, stdin)) {
		for (long n = atol(argv[2]); n > 0; n--)
			free(malloc(64));
		say("ok\n");
	}
	if (argc == 3 && !strcmp(argv[1], "marks"))
		for (long n = atol(argv[2]); n > 0; n--) {
			nanosleep(&(struct timespec){0, 1100000}, NULL);
			step('m', "x");
		}
	if (argc == 3 && !strcmp(argv[1], "threads"))
		threads(atol(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "steps"))
		while (fgets(line, sizeof line, stdin)) {
			line[strcspn(line, "\n")] = '\0';
			step(line[0], line + (line[0] && line[1] ? 2 : 1));
		}
	return 0;
}
