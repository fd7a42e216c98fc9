/* SPDX-License-Identifier: MIT
 * 2,000 short threads, eight at a time, each with blocks of which one outlives it.
 */
#include "truth.h"

#include <pthread.h>

#define AT_ONCE 8

static SITE void *life(void *argument)
{
	size_t n = (size_t)(uintptr_t)argument;
	void *a = MALLOC(n), *b = MALLOC(n / 2);
	FREE(a);
	return b;
}

int main(void)
{
	pthread_t threads[AT_ONCE];
	void *kept = NULL;
	for (uintptr_t i = 0; i < 2000; i += AT_ONCE) {
		for (uintptr_t k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, life, (void *)(i + k)) != 0)
				tm_say("no thread\n");
		for (int k = 0; k < AT_ONCE; k++) {
			void *left;
			pthread_join(threads[k], &left);
			FREE(left);
		}
	}
	kept = MALLOC(1000000);
	return kept == NULL;
}
