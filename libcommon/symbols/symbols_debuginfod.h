/* SPDX-License-Identifier: MIT
 * Debug files from the servers in DEBUGINFOD_URLS, if the user requests it. Part of the symbol
 * module.
 *
 * Uses libdebuginfod, loaded at run time, so neither the library nor a network is needed otherwise.
 * No other code here connects to anything.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ms_debuginfod;

/* Creates a client that asks until `until_ns` of the monotonic clock. */
struct ms_debuginfod *ms_debuginfod_new(uint64_t until_ns);
void ms_debuginfod_free(struct ms_debuginfod *d);
/* Returns the path of the debug file with that build-id, malloc'ed, or NULL. The caller must verify
 * the file. */
char *ms_debuginfod_find(struct ms_debuginfod *d, const uint8_t *id, size_t id_size);
/* Returns why servers could not be asked: no library, no servers, or no time left. Returns NULL if
 * they could. */
const char *ms_debuginfod_trouble(const struct ms_debuginfod *d);
