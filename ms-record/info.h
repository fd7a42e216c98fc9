/* SPDX-License-Identifier: MIT
 * The first block of a trace: what runs where, from /proc.
 */
#ifndef INFO_H
#define INFO_H

struct session;

/* Fills the session's names from /proc (before anything else is written). */
void info_names(struct session *s);
/* Puts the info record into the session's first batch. */
void info_write(struct session *s);

#endif
