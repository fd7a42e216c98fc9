/* SPDX-License-Identifier: MIT
 * A check for unit tests: says where it does not hold and, as the caller words it, what was found,
 * and goes on.
 */
#pragma once

#include <stdio.h>

static int failures;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			failures++;                                                                \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                          \
			printf(__VA_ARGS__);                                                       \
			puts("");                                                                  \
		}                                                                                  \
	} while (0)
