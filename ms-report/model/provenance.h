/* SPDX-License-Identifier: MIT
 * Where a recording comes from: a cut of which trace, and what of it is known to be the runtime's.
 */
#ifndef REPORT_PROVENANCE_H
#define REPORT_PROVENANCE_H

#include <stdint.h>

struct model;

/* Of which trace a process's is a cut, and by what, raw; NULL = of none. Of process NONE: the first
 * that is one. */
const char *provenance_cut(struct model *m, uint32_t process);

/* What known allocation of the runtime each site is, by index; NULL = none. In the model's arena.
 */
const char **one_time_names(struct model *m);
/* Of the moment of --at, of all of these. */
struct one_time {
	uint64_t sites, live_bytes, live_blocks;
};
struct one_time one_time_sum(struct model *m);

#endif
