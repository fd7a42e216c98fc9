/* SPDX-License-Identifier: MIT
 * Writes the results of memory scans for the blocks that a cut keeps.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cut_writer;
struct cut_live;
struct ms_recording;

struct cut_verdicts {
	const struct ms_recording *facts; /* holds all verdicts of the trace */
	uint64_t next; /* number of the event after the next scan; UINT64_MAX = no more scans */
	size_t at;     /* index in facts->verdicts of that scan's first record */
};

/* Begins with the first scan at or after event `from`. */
void cut_verdicts_begin(struct cut_verdicts *v, const struct ms_recording *facts, uint64_t from);
/* Writes the verdicts of the scans before event `position`, the next event, reduced to the kept
 * blocks. `live` must hold all kept live blocks. Needs v->next <= position. Returns 0, or -1 with
 * w->err set. */
int cut_verdicts_write(struct cut_verdicts *v, struct cut_writer *w, uint64_t position,
		       const struct cut_live *live);
