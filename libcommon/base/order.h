/* SPDX-License-Identifier: MIT
 * Arrays in an order: comparing and searching.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Below, at or above 0 as `a` is less than, equal to or more than `b`: for qsort. Of several keys:
 * MS_ORDER(x->a, y->a) ?: MS_ORDER(x->b, y->b). */
#define MS_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Orders what begins with a uint64_t by that. */
static inline int ms_by_first_number(const void *a, const void *b)
{
	return MS_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* How many elements of `array`, ascending by `field`, have one that is not above `key`: the index
 * of the last of them, plus 1. */
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

/* The element of `array`, ascending by its `id`, of that id; NULL = there is none. Ids are mostly
 * from 1 and without gaps: then nothing is searched. */
#define MS_FIND_ID(array, count, key)                                                              \
	({                                                                                         \
		size_t i_ = (size_t)(key);                                                         \
		if (i_ - 1 >= (count) || (array)[i_ - 1].id != (key))                              \
			i_ = MS_COUNT_UP_TO(array, count, id, key);                                \
		i_ && (array)[i_ - 1].id == (key) ? &(array)[i_ - 1] : NULL;                       \
	})
