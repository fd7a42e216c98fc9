/* SPDX-License-Identifier: MIT
 * Formats figures in few columns.
 */
#pragma once

#include <stdint.h>

/* Returns a formatted text of at most 511 bytes, valid until 32 others are made. From the main
 * thread only. */
__attribute__((format(printf, 1, 2))) const char *words_print(const char *fmt, ...);
/* Returns "2.48 G", "96.2 M", "811 K" or "900"; UINT64_MAX = "-". Powers of 1024. */
const char *words_size(uint64_t bytes);
/* Returns a signed size: "+3.10 M", "-40.0 M", "0". */
const char *words_change(double bytes);
/* Returns a count: "278 k", "12". Powers of 1000. */
const char *words_count(double n);
/* Returns a duration: "41 d", "3 h 20 m", "12 m", "5 s". */
const char *words_time(double seconds);
