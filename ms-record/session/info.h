/* SPDX-License-Identifier: MIT
 * The first block of a trace: what runs where, from /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* Holds what /proc says of a process, filled once and then only read; a child that was gone before
 * we looked has its parent's. */
struct identity {
	unsigned refs; /* atomic */
	pid_t pid;
	uint64_t ppid, uid, began_ns; /* began: CLOCK_BOOTTIME, 0 = not known */
	uint32_t image;
	bool same_pidns;
	char *exe, *name, *cwd; /* cwd may be NULL */
	char *args, *env;       /* NUL-separated; NULL = not known, or not wanted */
	size_t args_bytes, env_bytes;
};
/* An empty one, which the control thread fills. It does so in the order of forks, so a child finds
 * its parent's filled. */
struct identity *identity_new(void);
struct identity *identity_ref(struct identity *w);
void identity_unref(struct identity *w);

/* Returns the name of a process as top(1) shows it: the one it was run under, else that of `exe`;
 * fit for a file name and a line. malloc'ed. */
char *info_name(int proc, const char *exe);
/* Fills the session's identity and names from /proc (before anything else is written); `parent`,
 * of a forked child, or NULL, has what is not to be found there any more. */
void info_names(struct session *s, const struct identity *parent);
/* Puts the info record into the session's first batch. */
void info_write(struct session *s);
