/* SPDX-License-Identifier: MIT
 * Sorted arrays: comparing and searching.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Evaluates to -1, 0 or 1 if `a` is less than, equal to or greater than `b`; for qsort. Several
 * keys: MS_ORDER(x->a, y->a) ?: MS_ORDER(x->b, y->b). */
#define MS_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Sort `n` elements of `v` in the order of the function `by`; MS_SORT_R: which gets `arg` as well.
 * `v` may be NULL if `n` is 0. */
#define MS_SORT(v, n, by) ((n) ? qsort(v, n, sizeof *(v), by) : (void)0)
#define MS_SORT_R(v, n, by, arg) ((n) ? qsort_r(v, n, sizeof *(v), by, arg) : (void)0)

/* Defines a function that compares two elements of an array, for qsort. `order`: an expression of
 * pointers to them, `x` and `y`, made of MS_ORDER or strcmp. */
#define MS_COMPARE(name, type, order)                                                              \
	static int name(const void *x_, const void *y_)                                            \
	{                                                                                          \
		const type *x = x_, *y = y_;                                                       \
		return order;                                                                      \
	}

/* Compares two structs by the uint64_t at their beginning; for qsort. */
static inline int ms_by_first_number(const void *a, const void *b)
{
	return MS_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Counts the elements of `array`, sorted by `field`, whose `field` is not above `key`; the last of
 * them has this count minus 1 as its index. */
#define MS_COUNT_UP_TO(array, count, field, key)                                                   \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			size_t mid_ = low_ + (high_ - low_) / 2;                                   \
			if ((array)[mid_].field <= (key))                                          \
				low_ = mid_ + 1;                                                   \
			else                                                                       \
				high_ = mid_;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

/* Finds the element with that id in `array`, which is sorted by `id`; NULL = there is none. Ids
 * mostly count from 1 without gaps and need no search then. */
#define MS_FIND_ID(array, count, key)                                                              \
	({                                                                                         \
		size_t i_ = (size_t)(key);                                                         \
		if (i_ - 1 >= (count) || (array)[i_ - 1].id != (key))                              \
			i_ = MS_COUNT_UP_TO(array, count, id, key);                                \
		i_ && (array)[i_ - 1].id == (key) ? &(array)[i_ - 1] : NULL;                       \
	})
