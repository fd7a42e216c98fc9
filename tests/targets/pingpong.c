/* SPDX-License-Identifier: MIT
 * A producer makes what a consumer frees, one at a time and in bursts.
 */
#include "truth.h"

#include <pthread.h>

#define SLOTS 16
#define COUNT 20000

static void *slots[SLOTS];
static unsigned made, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static SITE void *produce(void *unused)
{
	(void)unused;
	uint64_t seed = 42;
	for (int i = 0; i < COUNT; i++) {
		void *p = MALLOC(tm_random(&seed) % 2000);
		pthread_mutex_lock(&lock);
		while (made - taken == SLOTS)
			pthread_cond_wait(&changed, &lock);
		slots[made++ % SLOTS] = p;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static SITE void *consume(void *unused)
{
	(void)unused;
	for (int i = 0; i < COUNT; i++) {
		pthread_mutex_lock(&lock);
		while (made == taken)
			pthread_cond_wait(&changed, &lock);
		void *p = slots[taken++ % SLOTS];
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		FREE(p);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	(void)argv;
	tm_serial = argc < 2;
	pthread_create(&a, NULL, produce, NULL);
	pthread_create(&b, NULL, consume, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	FREE(MALLOC(200000));
	return 0;
}
