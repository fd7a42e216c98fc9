/* SPDX-License-Identifier: MIT
 * One site, some of whose blocks are never freed: unfreed WHICH. Others are freed 4 calls later.
 *   every    every 7th of 7,000 calls            size    those of 4,096 bytes, of four sizes
 *   thread   all of thread io-3, of io-0 to io-3  label   those under tenant=7, of ten
 *   first    the first 100                        mixture every 7th of 4,096 bytes on io-3
 *   random   one in seven, as it falls; others are freed much later, as it falls
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/memscope.h"

#define CALLS 7000
#define LATER 4
#define POOL 500

static const char *which;
static void *(*volatile allocate)(size_t) = malloc;
static uint64_t seed = 1;

static unsigned draw(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

static int is(const char *s)
{
	return strcmp(which, s) == 0;
}

/* Tells whether a call's block is never freed. */
static int stays(int call, size_t size, int thread, int tenant)
{
	static int large;
	if (is("every"))
		return call % 7 == 6;
	if (is("size"))
		return size == 4096;
	if (is("thread"))
		return thread == 3;
	if (is("label"))
		return tenant == 7;
	if (is("first"))
		return call < 100;
	if (is("mixture"))
		return thread == 3 && size == 4096 && ++large % 7 == 0;
	return draw(7) == 0;
}

static void *run(void *arg)
{
	int thread = (int)(intptr_t)arg;
	static void *waiting[POOL];
	unsigned pool = is("random") ? POOL : LATER;
	char name[32] = "";
	if (is("thread") || is("mixture")) {
		snprintf(name, sizeof name, "io-%d", thread);
		pthread_setname_np(pthread_self(), name);
	}
	for (int i = 0; i < CALLS; i++) {
		int tenant = (int)draw(10);
		size_t size = (size_t)1 << (6 + 2 * draw(4)); /* 64 to 4,096 */
		if (is("label")) {
			snprintf(name, sizeof name, "tenant=%d", tenant);
			ms_label_push(name);
		}
		void *p = allocate(size);
		if (is("label"))
			ms_label_pop();
		if (stays(i, size, thread, tenant))
			continue;
		void **at = &waiting[pool == LATER ? (unsigned)i % pool : draw(pool)];
		free(*at);
		*at = p;
	}
	for (unsigned i = 0; i < pool; i++) {
		free(waiting[i]);
		waiting[i] = NULL;
	}
	if (*name && !is("label"))
		usleep(200000); /* for the recorder to read the name */
	return NULL;
}

int main(int argc, char **argv)
{
	which = argc > 1 ? argv[1] : "random";
	for (intptr_t i = 0; i < (is("thread") || is("mixture") ? 4 : 1); i++) {
		pthread_t t; /* one after the other, so that all is the same each time */
		pthread_create(&t, NULL, run, (void *)i);
		pthread_join(t, NULL);
	}
	return 0;
}
