/* SPDX-License-Identifier: MIT
 * Sorts numbers without allocating memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tells whether `a` comes before `b`. */
typedef bool sort_before(const void *arg, uint32_t a, uint32_t b);
void sort_numbers(uint32_t *v, size_t n, sort_before *before, const void *arg);
