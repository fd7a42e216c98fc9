/* SPDX-License-Identifier: MIT
 * A process of the target, and what /proc says of its state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ms_proc_stat;

struct process {
	pid_t pid;               /* 0 = not known (yet) */
	int pidfd;               /* -1 */
	int folder;              /* /proc/PID, or -1 */
	uint64_t signature;      /* of the address space: changes with exec */
	uint64_t signature_seen; /* the one of the last sample */
	char *exe;               /* path */
	const char *cwd;         /* its folder when it was first seen, or NULL; borrowed */
};

/* Returns a number that differs after an exec; 0 = cannot be told (zombie, no permission).
 * `folder`: /proc/PID. */
uint64_t process_signature(int folder);
/* Returns the same number from what was read. */
uint64_t process_signature_of(const struct ms_proc_stat *stat);
/* Does it run, but keep us from seeing its address space? One that ends has none any more. */
bool process_hidden(int folder);
/* Returns waitpid's status of a process that has ended and was not waited for yet, as far as that
 * can be told; else -1. */
int process_exit_status(int folder);
