/* SPDX-License-Identifier: MIT
 * Implements --doctor: reports whether recording would work on this machine, for a process or
 * for a command, and if not, what to do.
 *
 * Each finding is a line: "ok", "note" (it works with limitations) or "no", then the subject,
 * the reason and what to do. Files of /proc are read below --proc-root. Nothing is changed: a
 * process is only examined, as -p does before it changes anything.
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
	bool made;        /* --proc-root is given, so `root` is not this machine's /proc */
	FILE *to;
	unsigned notes, noes;
};
enum doctor_how { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_NO };

/* Examines the machine, process or command and writes the findings to `to`. Returns 0 if
 * recording would work, else 1. */
int doctor_run(const struct control_options *o, FILE *to);

/* Prints one finding. */
void doctor_say(struct doctor *d, enum doctor_how how, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Reads the file `name` in d->root as a string. Returns false, with "", if it is empty or cannot be
 * read. */
bool doctor_read(const struct doctor *d, const char *name, char *text, size_t room);
/* Tells whether this process has capability number `what`, according to self/status in d->root. */
bool doctor_capable(const struct doctor *d, int what);
/* Reports whether symbols are available for the C library at `path`, which begins with
 * /proc/PID/root for another process. */
void doctor_libc(struct doctor *d, const char *path);

/* ---- the parts ---- */

/* Examines the machine and our rights. In doctor_machine.c. */
void doctor_machine(struct doctor *d);
/* Examine a process or a command. In doctor_target.c. */
void doctor_process(struct doctor *d, pid_t pid);
void doctor_command(struct doctor *d);
