/* SPDX-License-Identifier: MIT
 * A module that keeps a block in a variable of its own.
 */
#include <stddef.h>

void module_keep(void *(*block)(size_t));

static void *volatile held[100];

void module_keep(void *(*block)(size_t))
{
	held[50] = block(100);
}
