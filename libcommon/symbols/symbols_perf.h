/* SPDX-License-Identifier: MIT
 * perf-PID.map: names of code that a program made at run time, written by the program itself for
 * perf(1), one line "START SIZE NAME" each, numbers in hexadecimal. Part of the symbol module.
 */
#pragma once

#include <stdint.h>

struct ms_perf_map;

/* Reads PREFIX/tmp/perf-PID.map if it was last written between the two times (ns since 1970): one
 * that was not belongs to another process. NULL: there is none. */
struct ms_perf_map *ms_perf_map_open(const char *prefix, uint64_t pid, uint64_t from_ns,
				     uint64_t to_ns);
void ms_perf_map_free(struct ms_perf_map *m);
/* Name of the function at `address`, as the latest line that covers it says, or NULL. */
const char *ms_perf_map_find(const struct ms_perf_map *m, uint64_t address);
const char *ms_perf_map_path(const struct ms_perf_map *m);
