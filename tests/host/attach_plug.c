/* SPDX-License-Identifier: MIT
 * A library for `attach plug`.
 */
#include <stdlib.h>

void *plug_alloc(size_t size);
void *plug_alloc(size_t size)
{
	return malloc(size);
}
