/* SPDX-License-Identifier: MIT
 * What an end record has of counts, also the one that stands in a trace that is written anew.
 */
#ifndef END_RECORD_H
#define END_RECORD_H

struct ms_record_writer;
struct output;
struct stats;

/* Adds the fields of counts, and what --keep dropped, to an end record of 1024 bytes more. */
void end_counts(const struct stats *t, struct ms_record_writer *w);
void end_dropped(const struct output *o, struct ms_record_writer *w);

#endif
