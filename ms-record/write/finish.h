/* SPDX-License-Identifier: MIT
 * The end of a trace.
 */
#ifndef FINISH_H
#define FINISH_H

struct ms_record_writer;
struct output;
struct session;
struct stats;

/* Writes the end block with all counts and closes the trace (draining thread). */
void finish_trace(struct session *s);
/* Adds the fields of counts, and what --keep=live dropped, to an end record of 1024 bytes more. */
void finish_counts(const struct stats *t, struct ms_record_writer *w);
void finish_dropped(const struct output *o, struct ms_record_writer *w);

#endif
