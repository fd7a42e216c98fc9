/* SPDX-License-Identifier: MIT
 * Ways in which a program's memory goes up and down, of which five are leaks and six free at the
 * end what they hold: growth WAY SECONDS. A step is 10 ms; the blocks in question come from `suspect`, a small churn from
 * `bystander`.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/memscope.h"

enum { STEPS_A_SECOND = 100 };

static void *(*volatile make)(size_t) = malloc;

__attribute__((noinline)) static void *suspect(size_t size)
{
	char *p = make(size);
	if (!p)
		abort();
	p[0] = 1;
	return p;
}

__attribute__((noinline)) static void bystander(unsigned step)
{
	static void *ring[16];
	free(ring[step % 16]);
	ring[step % 16] = make(100 + step % 1000);
}

/* Does what one way of growth does at each step; `x` goes from 0 to 1. */
typedef void way(unsigned step, double x);

static void leak_fast(unsigned step, double x) /* 1 MB/s */
{
	(void)step, (void)x;
	suspect(1000000 / STEPS_A_SECOND);
}

static void peak_first(unsigned step, double x) /* the same, after a peak of 40 MB */
{
	static void *held[400];
	if (step == 0)
		for (unsigned i = 0; i < 400; i++)
			held[i] = make(100000);
	else if (step == 10)
		for (unsigned i = 0; i < 400; i++)
			free(held[i]);
	leak_fast(step, x);
}

static void leak_slow(unsigned step, double x) /* 10 KB/min: 85 bytes twice a second */
{
	(void)x;
	if (step % 50 == 0)
		suspect(85);
}

static void leak_under_noise(unsigned step, double x) /* 100 KB/s under waves of 500 KB */
{
	static void *wave[500];
	(void)x;
	unsigned high = (unsigned)(250 + 249 * sin(step * 0.11));
	suspect(1000);
	for (unsigned i = 0; i < 500; i++) {
		if (i < high && !wave[i]) {
			wave[i] = suspect(1000);
		} else if (i >= high) {
			free(wave[i]);
			wave[i] = NULL;
		}
	}
}

static void leak_list(unsigned step, double x) /* reachable, and ever longer: 64 bytes a step */
{
	static struct node {
		struct node *next;
	} * head;
	(void)step, (void)x;
	struct node *n = suspect(64);
	n->next = head;
	head = n;
}

static void sawtooth(unsigned step, double x) /* ten teeth, all given back at once */
{
	static void *held[100000];
	static unsigned n;
	(void)step;
	if (n && fmod(x * 10, 1) < 0.02)
		while (n)
			free(held[--n]);
	else
		held[n++] = suspect(5000);
}

static void jump(unsigned step, double x) /* 20 MB at the half */
{
	static unsigned n;
	(void)step;
	while (x > 0.5 && n++ < 200)
		suspect(100000);
}

static void doubles(unsigned step,
		    double x) /* a vector to which 1000 bytes are added in each step */
{
	static size_t room = 1000;
	static char *v;
	(void)x;
	if (v && (step + 1) * 1000ul <= room)
		return;
	char *larger = suspect(room *= 2);
	free(v);
	v = larger;
}

static void log_fill(unsigned step, double x) /* a cache that meets what it has ever more often */
{
	static void *cache[1000];
	(void)x;
	for (unsigned i = 0; i < 2; i++) {
		unsigned key = (step * 2 + i) * 2654435761u >> 22;
		if (key < 1000 && !cache[key])
			cache[key] = suspect(1000);
	}
}

static void lru(unsigned step, double x) /* full after a tenth, then one in, one out */
{
	static void *ring[100];
	(void)x;
	free(ring[step % 100]);
	ring[step % 100] = suspect(10000);
}

static void arena(unsigned step, double x) /* grows by realloc, trimmed to nothing seven times */
{
	static char *p;
	static size_t size;
	(void)step;
	size = fmod(x * 7, 1) < 0.03 ? 1000 : size + 10000;
	p = realloc(p, size);
}

static void burst(unsigned step, double x) /* 50 MB for a moment, then idle */
{
	void *held[500];
	(void)step;
	if (fabs(x - 0.6) > 0.02)
		return;
	for (unsigned i = 0; i < 500; i++)
		held[i] = suspect(100000);
	for (unsigned i = 0; i < 500; i++)
		free(held[i]);
}

/* Holds what is freed at the end, at once or in a twentieth of the time. */
static void *kept[2000];
static unsigned kept_count;

static void keep(unsigned blocks, size_t size)
{
	while (blocks-- && kept_count < sizeof kept / sizeof *kept)
		kept[kept_count++] = suspect(size);
}

static void release(unsigned blocks)
{
	while (blocks-- && kept_count)
		free(kept[--kept_count]);
}

/* Tells whether `x` is behind the part `most` of the time, and marks the first time that it is. */
static bool is_over(double x, double most)
{
	static bool marked;
	if (x > most && !marked) {
		marked = true;
		ms_mark("freeing");
	}
	return x > most;
}

static bool at_end(double x)
{
	return is_over(x, 0.999);
}

static void all_freed(unsigned step, double x) /* 100 KB/s, and nothing is left */
{
	(void)step;
	at_end(x) ? release(2000) : keep(1, 1000);
}

static void part_freed(unsigned step, double x) /* 100 KB/s, and two fifths are left */
{
	(void)step;
	is_over(x, 0.95) ? release(11) : keep(1, 1000);
}

static void fill_freed(unsigned step, double x) /* as log_fill */
{
	static unsigned char known[1000];
	unsigned key = step * 2654435761u >> 22;
	if (is_over(x, 0.95))
		release(20);
	else if (key < 1000 && !known[key])
		keep(known[key] = 1, 1000);
}

static void teeth_freed(unsigned step, double x) /* ten teeth on what is there from the start */
{
	if (step == 0)
		keep(200, 1000);
	else if (at_end(x))
		release(2000);
	else if (fmod(x * 10, 1) < 0.02)
		release(kept_count - 200);
	else
		keep(1, 1000);
}

static void valley_freed(unsigned step, double x) /* up, down to the half, up again */
{
	(void)step;
	if (at_end(x))
		release(2000);
	else if (x < 0.4 || x > 0.6)
		keep(1, 1000);
	else
		release(1);
}

static void flat_freed(unsigned step, double x)
{
	if (step == 0)
		keep(700, 1000);
	else if (is_over(x, 0.95))
		release(11);
}

/* Waits by the clock, so that a busy machine does not make the whole run slower. Returns how late
 * it is, in seconds. */
static double pause_until(struct timespec *next)
{
	struct timespec now;
	next->tv_nsec += 1000000000 / STEPS_A_SECOND;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - next->tv_sec) + (double)(now.tv_nsec - next->tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		way *step;
	} ways[] = {{"leak_fast", leak_fast},
		    {"peak_first", peak_first},
		    {"leak_slow", leak_slow},
		    {"leak_under_noise", leak_under_noise},
		    {"leak_list", leak_list},
		    {"sawtooth", sawtooth},
		    {"jump", jump},
		    {"doubles", doubles},
		    {"log_fill", log_fill},
		    {"lru", lru},
		    {"arena", arena},
		    {"burst", burst},
		    {"all_freed", all_freed},
		    {"part_freed", part_freed},
		    {"fill_freed", fill_freed},
		    {"teeth_freed", teeth_freed},
		    {"valley_freed", valley_freed},
		    {"flat_freed", flat_freed}};
	double late = 0;
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	unsigned steps = argc > 2 ? (unsigned)(atof(argv[2]) * STEPS_A_SECOND) : 0;
	for (unsigned i = 0; i < sizeof ways / sizeof *ways && argc > 1; i++)
		for (unsigned k = 0; strcmp(argv[1], ways[i].name) == 0 && k < steps; k++) {
			ways[i].step(k, (double)k / steps);
			bystander(k);
			late = fmax(late, pause_until(&next));
		}
	if (late > 0.15)
		fputs("late", stderr);
	return steps == 0;
}
