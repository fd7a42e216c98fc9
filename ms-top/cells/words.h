/* SPDX-License-Identifier: MIT
 * Figures in few columns.
 */
#ifndef TOP_WORDS_H
#define TOP_WORDS_H

#include <stdint.h>

#define WORDS_BUF 32
/* "2.48 G", "96.2 M", "811 K", "900"; UINT64_MAX = "-". Powers of 1024. */
const char *words_size(char buf[WORDS_BUF], uint64_t bytes);
/* "+3.10 M", "-40.0 M", "0". */
const char *words_change(char buf[WORDS_BUF], double bytes);
/* "278 k", "12": powers of 1000. */
const char *words_count(char buf[WORDS_BUF], double n);
/* "41 d", "3 h 20 m", "12 m", "5 s". */
const char *words_time(char buf[WORDS_BUF], double seconds);

#endif
