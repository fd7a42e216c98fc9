/* SPDX-License-Identifier: MIT
 * --doctor: would recording work here, for this process, for this command; and if not, what to do.
 *
 * Each finding is a line of its own: "ok", "note" (it works, with less) or "no", what it is about,
 * the reason, and what to do. What is read of /proc is read below --proc-root. Nothing is changed:
 * a process is looked at as -p does before it touches it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct control_options;

struct doctor {
	const struct control_options *opt;
	const char *root; /* "/proc", or --proc-root */
	bool made;        /* it is not this machine's */
	FILE *to;
	unsigned notes, noes;
};
enum doctor_how { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_NO };

/* Looks, and writes what it found to `to`. 0 = recording would work, 1 = it would not. */
int doctor_run(const struct control_options *o, FILE *to);

/* One finding. */
void doctor_say(struct doctor *d, enum doctor_how how, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The file of that name below the root as a string; false and "" = it cannot be read, or is empty. */
bool doctor_read(const struct doctor *d, const char *name, char *text, size_t room);
/* Has the process who asks this capability, by `status` below the root? */
bool doctor_capable(const struct doctor *d, int what);
/* Are there symbols for the C library `path` (of a process: below its root)? */
void doctor_libc(struct doctor *d, const char *path);

/* ---- the parts ---- */

/* doctor_machine.c */
void doctor_machine(struct doctor *d);
/* doctor_target.c */
void doctor_process(struct doctor *d, pid_t pid);
void doctor_command(struct doctor *d);
