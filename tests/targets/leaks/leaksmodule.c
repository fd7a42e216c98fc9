/* SPDX-License-Identifier: MIT
 * A module that keeps a block in a variable of its own, and allocates others.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void module_keep(void *(*block)(size_t));
void *module_take(size_t n);

static void *volatile held[100];

void module_keep(void *(*block)(size_t))
{
	held[50] = block(100);
}

__attribute__((noinline)) static void *direct_in_module(size_t n)
{
	void *p = malloc(n);
	memset(p, 0, n);
	return p;
}

void *module_take(size_t n)
{
	return held[10] = direct_in_module(n);
}
