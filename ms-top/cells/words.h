/* SPDX-License-Identifier: MIT
 * Figures in few columns.
 */
#pragma once

#include <stdint.h>

/* Texts stay as they are until 32 others were made; at most 511 bytes. Of the main thread only. */
__attribute__((format(printf, 1, 2))) const char *words_print(const char *fmt, ...);
/* "2.48 G", "96.2 M", "811 K", "900"; UINT64_MAX = "-". Powers of 1024. */
const char *words_size(uint64_t bytes);
/* "+3.10 M", "-40.0 M", "0". */
const char *words_change(double bytes);
/* "278 k", "12": powers of 1000. */
const char *words_count(double n);
/* "41 d", "3 h 20 m", "12 m", "5 s". */
const char *words_time(double seconds);
