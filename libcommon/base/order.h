/* SPDX-License-Identifier: MIT
 * Arrays in an order: comparing and searching.
 */
#ifndef MS_ORDER_H
#define MS_ORDER_H

#include <stddef.h>

/* Below, at or above 0 as `a` is less than, equal to or more than `b`: for qsort. Of several keys:
 * MS_ORDER(x->a, y->a) ?: MS_ORDER(x->b, y->b). */
#define MS_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

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

#endif
