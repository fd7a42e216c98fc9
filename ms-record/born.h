/* SPDX-License-Identifier: MIT
 * Forked children that began to record: their processes are found.
 */
#ifndef BORN_H
#define BORN_H

struct control;

/* Takes all that the draining thread has seen. */
void born_accept(struct control *c);
/* Waits, not for long, until no child can have gone unseen that began before. */
void born_settle(struct control *c);

#endif
