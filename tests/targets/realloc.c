/* SPDX-License-Identifier: MIT
 * realloc in all its cases: of NULL, to 0, growing, shrinking, moving, in place, failing.
 */
#include "truth.h"

#include <errno.h>
#include <string.h>

static SITE void *of_null(size_t n)
{
	return REALLOC(NULL, n);
}

static SITE void to_zero(void *p)
{
	if (REALLOC(p, 0))
		tm_say("realloc to 0 gave a block\n");
}

static SITE void *grow(void *p, size_t n)
{
	return REALLOC(p, n);
}

static SITE void *shrink(void *p, size_t n)
{
	return REALLOC(p, n);
}

/* A block behind p keeps it from growing where it is. */
static SITE void *move(void)
{
	void *p = MALLOC(100);
	void *wall = MALLOC(100);
	void *q = REALLOC(p, 10000);
	tm_say(p == q ? "stayed\n" : "moved\n");
	FREE(wall);
	return q;
}

static SITE void *fail(void *p)
{
	volatile size_t huge = SIZE_MAX / 2 - 4096;
	errno = 0;
	void *q = REALLOC(p, huge);
	tm_say_number("errno", q ? 0 : errno);
	return p;
}

static SITE void *array(void *p)
{
	volatile size_t many = SIZE_MAX / 4;
	p = REALLOCARRAY(p, 3, 1000);
	errno = 0;
	void *q = REALLOCARRAY(p, many, 1);
	tm_say_number("errno", q ? 0 : errno);
	return p;
}

int main(void)
{
	tm_pure = 1;
	to_zero(of_null(40));
	void *zero = of_null(0);
	to_zero(zero);
	void *p = of_null(10);
	memset(p, 'x', 10);
	for (size_t n = 20; n < 1 << 22; n = n * 3 / 2)
		p = grow(p, n);
	if (memcmp(p, "xxxxxxxxxx", 10) != 0)
		tm_say("realloc lost the contents\n");
	for (size_t n = 1 << 21; n > 10; n /= 3)
		p = shrink(p, n);
	p = grow(p, 24);
	p = grow(p, 24);
	FREE(fail(p));
	void *q = move();
	q = array(q);
	to_zero(q);
	void *left = of_null(333);
	(void)grow(left, 444);
	return 0;
}
