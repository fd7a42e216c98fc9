/* SPDX-License-Identifier: MIT
 * Parses and formats sizes, durations and counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ms_err;

/* Parses bytes: "4k", "1.5M", "64KiB", "2GB", "123". k, M, G and T, in either case, are powers of
 * 1024, with an optional "B" or "iB". Returns 0, or -1 with `err` set ("bad size '4x': ..."). */
int ms_parse_size(const char *s, uint64_t *bytes, struct ms_err *err);
/* Parses a duration into ns: "250ms", "1.5s", "10m", "2h", "100us", "3"; a bare number is seconds.
 * Returns 0, or -1 with `err` set. */
int ms_parse_duration(const char *s, uint64_t *ns, struct ms_err *err);
/* Parses a whole number in [min, max]. `what` names it in the message. Returns 0, or -1 with `err`
 * set. */
int ms_parse_count(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *out,
		   struct ms_err *err);

/* Formatters write into `buf` and return it. A buffer of MS_UNIT_BUF bytes is always large
 * enough. */
#define MS_UNIT_BUF 40
char *ms_format_size(char buf[MS_UNIT_BUF], uint64_t bytes); /* "412.6 MiB", "0 B" */
char *ms_format_delta(char buf[MS_UNIT_BUF], int64_t bytes); /* "+6.1 MiB", "-12 B", "0 B" */
char *ms_format_count(char buf[MS_UNIT_BUF], uint64_t n);    /* "1,204,118" */
char *ms_format_duration(char buf[MS_UNIT_BUF],
			 uint64_t ns); /* "1h 12m 08s", "58m 12s", "3.204 s", "0.31 ms" */
/* Writes an exact duration, which ms_parse_duration reads: "0.25s", "3s". */
char *ms_format_seconds(char buf[MS_UNIT_BUF], uint64_t ns);

/* Returns the largest of 1, 2, 5, 10, 20, 50, ... that is not above `n`; 0 for 0. */
uint64_t ms_round_down(uint64_t n);
