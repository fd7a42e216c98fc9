/* SPDX-License-Identifier: MIT
 * Allocates in sections that are not to allocate: 5 blocks of 32 bytes by fill(), 1 of 100 by grow(), on two of the three threads that are named audio-N; the
 * third has a section without allocations. Outside of sections each of the three, and the thread "ui", allocates 4 blocks. Prints what a report must count. All of them live until there is something to read
 * from standard input.
 */
#include "include/memscope.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[64];
static volatile int count;
static pthread_barrier_t over;

__attribute__((noinline)) static void fill(void)
{
	void *p = malloc(32);
	kept[__sync_fetch_and_add(&count, 1)] = p;
}

__attribute__((noinline)) static void grow(void)
{
	void *p = malloc(100);
	kept[__sync_fetch_and_add(&count, 1)] = p;
}

static void outside(void)
{
	for (volatile int i = 0; i < 4; i++)
		fill();
}

static void *audio(void *arg)
{
	long id = (long)arg;
	char name[16];
	snprintf(name, sizeof name, "audio-%ld", id);
	pthread_setname_np(pthread_self(), name);
	outside();
	ms_no_alloc_begin();
	for (volatile int i = 0; id == 0 && i < 3; i++)
		fill();
	ms_label_push("inner");
	for (volatile int i = 0; id == 1 && i < 2; i++)
		fill();
	ms_label_pop();
	if (id == 1)
		grow();
	ms_no_alloc_end();
	pthread_barrier_wait(&over);
	return NULL;
}

static void *ui(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "ui");
	outside();
	pthread_barrier_wait(&over);
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	pthread_barrier_init(&over, NULL, 5);
	for (long i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, i == 3 ? ui : audio, (void *)i) != 0)
			return 1;
	char c;
	ssize_t n = read(0, &c, 1);
	pthread_barrier_wait(&over);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (n < 0)
		return 1;
	puts("sections 6 260, audio-* 18 644, audio-1 7 292, ui 4 128");
	return 0;
}
