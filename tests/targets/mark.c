/* SPDX-License-Identifier: MIT
 * Marks, and blocks of an allocator of its own told by ms_alloc and ms_free.
 */
#include "truth.h"

#include "include/memscope.h"

static char pool[4096];

static SITE void work(int n)
{
	for (int i = 0; i < n; i++)
		FREE(MALLOC(100));
}

static SITE void own(void)
{
	for (size_t i = 0; i < 10; i++) {
		ms_alloc(pool + 64 * i, 64);
		tm_alloc(__func__, pool + 64 * i, 64);
	}
	for (size_t i = 0; i < 5; i++) {
		tm_free(pool + 64 * i);
		ms_free(pool + 64 * i);
	}
	tm_alloc(__func__, pool + 2048, 0); /* no process has room for what is told */
	ms_alloc(pool + 2048, (size_t)-3);
}

int main(void)
{
	tm_pure = 1;
	ms_mark("start");
	work(10);
	ms_mark("phase");
	work(20);
	ms_mark("phase");
	own();
	(void)!MALLOC(7000);
	ms_mark("a name with blanks, and of more than eight bytes");
	return 0;
}
