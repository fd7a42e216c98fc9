/* SPDX-License-Identifier: MIT
 * The end of a trace.
 */
#ifndef FINISH_H
#define FINISH_H

struct session;

/* Writes the end block with all counts and closes the trace (draining thread). */
void finish_trace(struct session *s);

#endif
