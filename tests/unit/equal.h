/* SPDX-License-Identifier: MIT
 * A check of two numbers for unit tests that make many: says where they differ, and goes on.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

static int failures; /* the first 20 are printed */

#define EQUAL(got, want, ...)                                                                      \
	do {                                                                                       \
		uint64_t g_ = (got), w_ = (want);                                                  \
		if (g_ != w_ && ++failures < 20) {                                                 \
			printf("%s:%d: %s = %llu, want %llu: ", __FILE__, __LINE__, #got,          \
			       (unsigned long long)g_, (unsigned long long)w_);                    \
			printf(__VA_ARGS__);                                                       \
			puts("");                                                                  \
		}                                                                                  \
	} while (0)
