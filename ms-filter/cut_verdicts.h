/* SPDX-License-Identifier: MIT
 * What scans of memory found of the blocks that a cut keeps.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cut_writer;
struct cut_live;
struct ms_recording;

struct cut_verdicts {
	const struct ms_recording *facts; /* has all verdicts of the trace */
	uint64_t next; /* event before which the next scan stands; UINT64_MAX: none */
	size_t at;     /* its head, in facts->verdicts */
};

/* From event `from` on. */
void cut_verdicts_begin(struct cut_verdicts *v, const struct ms_recording *facts, uint64_t from);
/* Event number `position` is next and v->next is not behind it: writes the scans that stand before
 * it, of the blocks that are in `live`, which are all that are kept. 0, or -1 with w->err set. */
int cut_verdicts_write(struct cut_verdicts *v, struct cut_writer *w, uint64_t position,
		       const struct cut_live *live);
