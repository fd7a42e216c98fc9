/* SPDX-License-Identifier: MIT
 * Several equal peaks of different blocks: the first one counts, and marks stand on both sides of
 * it.
 */
#include "truth.h"

#include "include/memscope.h"

#include <time.h>

static SITE void *first(size_t n)
{
	return MALLOC(n);
}

static SITE void *second(size_t n)
{
	return MALLOC(n);
}

static void pause_2_ms(void)
{
	struct timespec t = {0, 2000000};
	nanosleep(&t, NULL);
}

int main(void)
{
	void *p[10];
	tm_pure = 1;
	void *base = first(5000);
	ms_mark("before");
	pause_2_ms();
	for (int i = 0; i < 10; i++)
		p[i] = first(1000);
	ms_mark("after");
	pause_2_ms();
	FREE(p[0]);
	p[0] = first(1000);
	for (int i = 0; i < 10; i++)
		FREE(p[i]);
	ms_mark("again");
	void *q = second(10000);
	FREE(q);
	q = second(4000);
	q = REALLOC(q, 10000);
	/* Growing by realloc steps from old to new at once: never both. */
	q = REALLOC(q, 9000);
	q = REALLOC(q, 10000);
	ms_mark("end");
	FREE(q);
	FREE(base);
	return 0;
}
