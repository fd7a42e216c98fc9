/* SPDX-License-Identifier: MIT
 * Threads that end by return, pthread_exit and cancellation, with blocks freed by key destructors.
 */
#include "truth.h"

#include <pthread.h>
#include <unistd.h>

static pthread_key_t key;
static pthread_barrier_t ready;

static SITE void destroy(void *p)
{
	FREE(MALLOC(11));
	FREE(p);
}

static SITE void clean(void *p)
{
	FREE(p);
}

static SITE void *returns(void *unused)
{
	(void)unused;
	pthread_setspecific(key, MALLOC(100));
	return MALLOC(1);
}

static SITE void leave(void *p)
{
	pthread_exit(p);
}

static SITE void *exits(void *unused)
{
	(void)unused;
	pthread_setspecific(key, MALLOC(200));
	leave(MALLOC(2));
	return NULL;
}

static SITE void *cancelled(void *unused)
{
	(void)unused;
	pthread_setspecific(key, MALLOC(300));
	void *p = MALLOC(400);
	pthread_cleanup_push(clean, p);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static SITE void run(void *(*body)(void *), int cancel)
{
	pthread_t t;
	void *result;
	pthread_create(&t, NULL, body, NULL);
	if (cancel) {
		pthread_barrier_wait(&ready);
		pthread_cancel(t);
	}
	pthread_join(t, &result);
	tm_say(result == PTHREAD_CANCELED ? "cancelled\n" : "ended\n");
	if (result != PTHREAD_CANCELED)
		FREE(result);
}

int main(void)
{
	pthread_key_create(&key, destroy);
	pthread_barrier_init(&ready, NULL, 2);
	for (int i = 0; i < 10; i++) {
		run(returns, 0);
		run(exits, 0);
		run(cancelled, 1);
	}
	(void)!MALLOC(100000);
	return 0;
}
