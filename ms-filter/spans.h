/* SPDX-License-Identifier: MIT
 * Spans of time (--first, --last): where their points lie in each process of a snapshot.
 */
#ifndef SPANS_H
#define SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_err;
struct options;
struct sqlite3;

struct span_of {
	bool there; /* in this process */
	int64_t from_ns, to_ns;
};

struct spans {
	MS_ARRAY(int64_t) processes;    /* processes, in ascending order of id */
	MS_ARRAY(struct span_of) spans; /* for each process, one per condition */
	size_t conditions;
};

/* Resolves the spans of all conditions of `o`. `s` is zeroed by the caller and given back with
 * spans_free. 0, or -1 with `err` set: a point is in no process, or a span runs backwards. */
int spans_read(struct spans *s, struct sqlite3 *db, const struct options *o, struct ms_err *err);
void spans_free(struct spans *s);
/* That of condition `i` in a process. */
struct span_of spans_get(const struct spans *s, int64_t process, size_t i);

#endif
