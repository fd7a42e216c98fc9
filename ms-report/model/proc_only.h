/* SPDX-License-Identifier: MIT
 * Processes of which nothing is known but what /proc said: polled (ms-record --poll), or looked at
 * for their regions (ms-snap --maps, --smaps).
 */
#ifndef REPORT_PROC_ONLY_H
#define REPORT_PROC_ONLY_H

#include "model.h"

enum proc_only {
	PROC_ONLY_NOT, /* some process was recorded */
	PROC_ONLY_POLL,
	PROC_ONLY_REGIONS,
};
/* To be asked when the processes are read. */
enum proc_only proc_only_read(struct model *m);

/* The heap of a process as its last sample has it; UNKNOWN = no sample says. */
uint64_t proc_only_heap(struct model *m, uint32_t process);

#endif
