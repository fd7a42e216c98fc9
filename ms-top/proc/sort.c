/* SPDX-License-Identifier: MIT
 * Sorts numbers by heap sort, which allocates no memory.
 */
#include "sort.h"

static void sift(uint32_t *v, size_t at, size_t n, sort_before *before, const void *arg)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && before(arg, v[child], v[child + 1]))
			child++;
		if (!before(arg, v[at], v[child]))
			return;
		uint32_t x = v[at];
		v[at] = v[child];
		v[child] = x;
	}
}

void sort_numbers(uint32_t *v, size_t n, sort_before *before, const void *arg)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n, before, arg);
	for (size_t end = n; end-- > 1;) {
		uint32_t x = v[0];
		v[0] = v[end];
		v[end] = x;
		sift(v, 0, end, before, arg);
	}
}
