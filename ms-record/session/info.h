/* SPDX-License-Identifier: MIT
 * The first block of a trace: what runs where, from /proc.
 */
#ifndef INFO_H
#define INFO_H

struct identity;
struct session;

/* What a process is called, as top(1) shows it: by the name it was run under, else that of `exe`;
 * fit for a file name. malloc'ed. */
char *info_name(int proc, const char *exe);
/* Fills the session's identity and names from /proc (before anything else is written); `parent`,
 * of a forked child, or NULL, has what is not to be found there any more. */
void info_names(struct session *s, const struct identity *parent);
/* Puts the info record into the session's first batch. */
void info_write(struct session *s);

/* The folder that was the current one when it began; NULL = not known. */
const char *info_cwd(const struct session *s);

#endif
