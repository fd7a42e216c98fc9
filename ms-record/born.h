/* SPDX-License-Identifier: MIT
 * Forked children that began to record: their processes are found.
 */
#ifndef BORN_H
#define BORN_H

struct control;

/* Takes all that the draining thread has seen. */
void born_accept(struct control *c);

#endif
