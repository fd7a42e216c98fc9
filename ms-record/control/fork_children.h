/* SPDX-License-Identifier: MIT
 * Forked children that began to record: their processes are found.
 */
#pragma once

struct control;

/* Takes all that the draining thread has seen. */
void fork_children_accept(struct control *c);
/* Waits, not for long, until no child can have gone unseen that began before. */
void fork_children_settle(struct control *c);
