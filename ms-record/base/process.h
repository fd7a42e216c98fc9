/* SPDX-License-Identifier: MIT
 * A process of the target and its state in /proc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_memory;
struct ms_proc_stat;

struct process {
	pid_t pid;               /* 0 = not known yet */
	int pidfd;               /* -1 = none */
	int folder;              /* descriptor of /proc/PID, or -1 */
	uint64_t signature;      /* hash of the address space's layout; changes at an exec */
	uint64_t signature_seen; /* signature at the last sample */
	char *exe;               /* path of the program */
	const struct attach_memory *memory; /* how its memory is read; NULL = by its PID */
	const char *cwd; /* current folder when the process was first seen, or NULL; borrowed */
};

/* Returns a number that changes at an exec; 0 = unknown (zombie, no permission). `folder`:
 * /proc/PID. */
uint64_t process_signature(int folder);
/* Returns the same number as process_signature, from a file that was already read. */
uint64_t process_signature_of(const struct ms_proc_stat *stat);
/* Tells whether a running process hides its address space from us. An ending process, which has
 * no address space, is not hidden. */
bool process_hidden(int folder);
/* Returns the status, as waitpid does, of a process that has ended but was not waited for; -1 if
 * it is unknown. */
int process_exit_status(int folder);
