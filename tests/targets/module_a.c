/* SPDX-License-Identifier: MIT
 * A module that allocates: loaded, unloaded, and replaced by its sister at the same address.
 */
#include "truth.h"

#ifndef OUTER
#define OUTER outer_a
#define INNER inner_a
#define LOADED loaded_a
#endif

static void *own;

static SITE void *INNER(size_t n)
{
	return MALLOC(n);
}

__attribute__((constructor)) SITE static void LOADED(void)
{
	own = MALLOC(77);
}

__attribute__((destructor)) static void unloaded(void)
{
	FREE(own);
}

SITE void *outer(size_t n);
SITE void *outer(size_t n)
{
	void *a = INNER(n);
	FREE(INNER(n + 1));
	return a;
}
