/* SPDX-License-Identifier: MIT
 * The first block of a trace: what runs where, from /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* Holds the data about a process from /proc, filled once and then read-only. For a child that ended
 * before it was examined, it holds the parent's data. */
struct identity {
	unsigned refs; /* atomic reference count */
	pid_t pid;
	uint64_t ppid, uid, began_ns; /* began_ns: CLOCK_BOOTTIME; 0 = unknown */
	uint32_t image;
	bool same_pidns;
	char *exe, *name, *cwd; /* cwd may be NULL */
	char *args, *env;       /* NUL-separated; NULL = unknown or not recorded */
	size_t args_bytes, env_bytes;
};
/* Returns an empty identity, which the control thread fills. Identities are filled in the order of
 * forks: a parent's before its child's. */
struct identity *identity_new(void);
struct identity *identity_ref(struct identity *w);
void identity_unref(struct identity *w);

/* Returns the name of a process as top(1) shows it: its own, or if that is truncated the file name
 * of `exe`. The name fits into a file name and on one line. malloc'ed. */
char *info_name(int proc, const char *exe);
/* Fills the session's identity and names from /proc (before anything else is written). Data that is
 * no longer there comes from `parent`, a forked child's parent (or NULL). */
void info_names(struct session *s, const struct identity *parent);
/* Writes the info record into the session's first batch. */
void info_write(struct session *s);
