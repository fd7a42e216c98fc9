/* SPDX-License-Identifier: MIT
 * The options of --poll.
 */
#ifndef POLL_OPTIONS_H
#define POLL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct poll_options {
	bool on;
	pid_t pid;             /* of -p; 0 = a command is run */
	const char *csv;       /* file, "-" = standard output; NULL = none */
	const char *proc_root; /* NULL = /proc */
	uint64_t max_heap;     /* bytes; 0 = none */
	double warn_rate;      /* bytes a second; growth that is slower is not warned of */
};

#endif
