/* SPDX-License-Identifier: MIT
 * Sorting numbers without taking memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does `a` come before `b`? */
typedef bool sort_before(const void *arg, uint32_t a, uint32_t b);
void sort_numbers(uint32_t *v, size_t n, sort_before *before, const void *arg);
