/* SPDX-License-Identifier: MIT
 * Blocks that are and are not temporary, by each way in which that can be.
 */
#include "truth.h"

#include <pthread.h>

static SITE void at_once(void)
{
	for (int i = 0; i < 100; i++)
		FREE(MALLOC((size_t)i));
}

static SITE void nested(void)
{
	void *a = MALLOC(10), *b = MALLOC(20);
	FREE(b); /* temporary */
	FREE(a); /* not: b came in between */
}

static SITE void crossed(void)
{
	void *a = MALLOC(10), *b = MALLOC(20);
	FREE(a);
	FREE(b); /* temporary: only a free in between */
}

static SITE void resized(void)
{
	void *p = MALLOC(10);
	p = REALLOC(p, 2000); /* the old one was the newest */
	FREE(p);
	p = MALLOC(30);
	void *q = MALLOC(40);
	p = REALLOC(p, 3000); /* the old one was not */
	FREE(q);
	FREE(p);
}

static SITE void failing(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *p = MALLOC(50);
	if (MALLOC(huge))
		tm_say("a huge block\n");
	FREE(p); /* temporary: a failed call is not an allocation */
}

static SITE void *free_it(void *p)
{
	FREE(p); /* not: another thread's */
	return NULL;
}

static SITE void *make_one(void *unused)
{
	(void)unused;
	return MALLOC(70);
}

int main(void)
{
	at_once();
	nested();
	crossed();
	resized();
	failing();
	pthread_t t;
	void *p = MALLOC(60);
	pthread_create(&t, NULL, free_it, p);
	pthread_join(t, NULL);
	p = MALLOC(80);
	void *other;
	pthread_create(&t, NULL, make_one, NULL);
	pthread_join(t, &other);
	FREE(p); /* temporary: only another thread allocated in between */
	FREE(other);
	(void)!MALLOC(1 << 16);
	return 0;
}
