/* SPDX-License-Identifier: MIT
 * Frames of changing size (alloca, arrays of variable length) around the allocations.
 */
#include "truth.h"

#include <alloca.h>
#include <string.h>

static SITE void *inner(size_t n)
{
	return MALLOC(n);
}

static SITE void by_alloca(size_t n)
{
	for (size_t i = 1; i <= n; i++) {
		char *room = alloca(i * 24);
		memset(room, 1, i * 24);
		FREE(inner(i + (size_t)room[0]));
	}
}

static SITE size_t by_array(size_t n)
{
	volatile char room[n * 8 + 1];
	room[n] = 3;
	void *p = inner(n);
	size_t sum = n > 1 ? by_array(n - 1) : 0;
	FREE(p);
	return sum + (size_t)room[n];
}

static SITE void aligned(size_t n)
{
	_Alignas(64) volatile char room[128];
	room[0] = (char)n;
	by_alloca(n % 8 + 1);
	FREE(inner((size_t)room[0]));
}

int main(void)
{
	tm_pure = 1;
	for (size_t i = 1; i <= 30; i++) {
		by_alloca(i);
		tm_say_number("sum", (long)by_array(i));
		aligned(i);
	}
	(void)!inner(12345);
	return 0;
}
