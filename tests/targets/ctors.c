/* SPDX-License-Identifier: MIT
 * Allocations before main, in atexit handlers and in destructors.
 */
#include "truth.h"

static void *early, *late;

__attribute__((constructor(102))) SITE static void before(void)
{
	early = MALLOC(100);
	FREE(MALLOC(200));
}

__attribute__((constructor)) SITE static void before_main(void)
{
	late = MALLOC(300);
}

static SITE void at_exit(void)
{
	FREE(MALLOC(400));
	FREE(early);
	early = MALLOC(500);
}

__attribute__((destructor)) SITE static void after_main(void)
{
	FREE(late);
	late = MALLOC(600);
}

__attribute__((destructor(102))) SITE static void last(void)
{
	FREE(late);
	FREE(MALLOC(700));
}

int main(void)
{
	tm_pure = 1;
	if (atexit(at_exit) != 0)
		return 1;
	(void)!MALLOC(1000);
	return 0;
}
