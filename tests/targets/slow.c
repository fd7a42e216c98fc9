/* SPDX-License-Identifier: MIT
 * Allocates a little every few milliseconds for as long as its argument says: a trace of many
 * blocks, or one that grows.
 */
#include "truth.h"

#include <time.h>

#define SLOTS 500

static void *slots[SLOTS];
static uint64_t seed = 11;

static SITE void grow(unsigned i, size_t n)
{
	slots[i] = REALLOC(slots[i], n + 1);
}

static SITE void replace(unsigned i, size_t n)
{
	FREE(slots[i]);
	slots[i] = MALLOC(n);
}

static SITE void burst(void)
{
	for (int k = 0; k < 50; k++) {
		uint64_t r = tm_random(&seed);
		unsigned i = r % SLOTS;
		if (r >> 20 & 1)
			grow(i, r >> 30 & 4095);
		else
			replace(i, r >> 30 & 2047);
	}
	FREE(MALLOC(10));
}

int main(int argc, char **argv)
{
	tm_pure = 1;
	long left = argc > 1 ? atol(argv[1]) : 1000;
	struct timespec pause = {0, 4000000};
	for (; left > 0; left -= 4) {
		burst();
		nanosleep(&pause, NULL);
	}
	tm_say("done\n");
	return 0;
}
