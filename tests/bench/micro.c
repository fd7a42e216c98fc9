/* SPDX-License-Identifier: MIT
 * The benchmark's worst case: nothing but allocations and frees, from a stack of a given depth.
 *
 * Arguments: how many times, and how deep. A ring of 1,000 blocks is kept alive.
 */
#include <stdint.h>
#include <stdlib.h>

#define LIVE 1000

static void *live[LIVE];
static uint64_t seed = 1;

static __attribute__((noinline)) void churn(long times)
{
	for (long i = 0; i < times; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		unsigned slot = (unsigned)(seed >> 33) % LIVE;
		free(live[slot]);
		live[slot] = malloc((size_t)(seed >> 44) % 512 + 1);
	}
}

static __attribute__((noinline)) long fall(long depth, long times)
{
	if (depth == 0) {
		churn(times);
		return 0;
	}
	return fall(depth - 1, times) + 1;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1000000, depth = argc > 2 ? atol(argv[2]) : 10;
	/* Returned to in parts, so that the stack is not always the same all the way down. */
	for (long part = 0; part < 100; part++)
		fall(depth - part % 4, times / 100);
	return 0;
}
