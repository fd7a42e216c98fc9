/* SPDX-License-Identifier: MIT
 * Names of keepers: variables, frames of threads and others that keep blocks alive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_arena;

/* Describes a keeper. A figure that is not known is UINT64_MAX. */
struct keeper {
	int64_t id;
	const char *kind; /* "variable", "frame", ...; see ms-snapshot(5) */
	const char *name, *module, *file, *type,
		*thread; /* NULL = not known; `thread`: name of its thread */
	uint64_t size, line;
	int64_t site;                  /* of a mapping: where it was made; 0 = not known */
	const struct keeper *observes; /* keeper that owns what this one reaches as well, or NULL */
	uint64_t observers;            /* number of keepers that observe this one */
};

/* Describes keepers that only together keep something. */
struct keeper_set {
	const struct keeper **v;
	size_t n;
	bool others; /* there are more keepers than these */
};

/* Returns the name of a keeper, or of a set (kind "shared"), without place and type: "global
 * g_sessions", "thread 'worker-3', frame Pool::run", "shared by g_by_id + g_by_name". */
const char *ms_keeper_name(struct ms_arena *a, const struct keeper *k, bool full_names);
/* Returns the names of a set's keepers, of three at most: "g_by_id + g_by_name + 2 more". */
const char *ms_keeper_set_name(struct ms_arena *a, const struct keeper_set *set);
/* Returns when a scan was made: "as of the end", "as of a scan at 58m 12s". `time_ns`: since the
 * start of the recording. */
const char *ms_keeper_moment(struct ms_arena *a, const char *label, uint64_t time_ns);
/* Returns why a retention scan that ended in `state` tells nothing. */
const char *ms_keeper_unknown(const char *state);
