/* SPDX-License-Identifier: MIT
 * Debug files from the servers that DEBUGINFOD_URLS names, where that was asked for. Part of the
 * symbol module.
 *
 * By libdebuginfod, loaded at run time: who does not ask for it needs neither it nor a network, and
 * nothing else here ever connects to anything.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ms_debuginfod;

/* Asks until `until_ns` of the monotonic clock. */
struct ms_debuginfod *ms_debuginfod_new(uint64_t until_ns);
void ms_debuginfod_free(struct ms_debuginfod *d);
/* Returns the path of the debug file with that build-id, malloc'ed, or NULL. Whether it is the
 * right one is still to be proved. */
char *ms_debuginfod_find(struct ms_debuginfod *d, const uint8_t *id, size_t id_size);
/* Returns what kept it from asking, or NULL: no library, no servers, or no time left. */
const char *ms_debuginfod_trouble(const struct ms_debuginfod *d);
