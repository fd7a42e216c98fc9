/* SPDX-License-Identifier: MIT
 * Makes an output, the state of one trace being written, and parts of its end record.
 */
#include "output.h"

#include <string.h>
#include <sys/stat.h>

#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/cpu.h"

struct output *output_new(int fd, const char *path)
{
	struct output *o = ms_xcalloc(1, sizeof *o);
	o->fd = fd;
	o->folder = -1;
	o->path = ms_xstrdup(path);
	o->level = 3;
	return o;
}

void output_identify(struct output *o)
{
	struct stat st;
	if (o->folder < 0 || fstat(o->fd, &st))
		return;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
}

void output_place(struct output *o, int folder, const char *name)
{
	o->folder = folder;
	o->name = ms_xstrdup(name);
	if (o->fd >= 0)
		output_identify(o);
}

struct ms_trace_writer *output_begin(const struct output *o, int fd, struct ms_err *err)
{
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .minor = MS_TRACE_MINOR,
				     .hint = o->addresses ? MS_FEATURE_ADDRESSES : 0,
				     .machine = CPU_MACHINE,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	return ms_trace_writer_new(fd, &head, o->level, err);
}

/* ---- the end ---- */

void end_counts(const struct stats *t, struct ms_record_writer *w)
{
	const struct {
		unsigned field;
		uint64_t value;
	} counts[] = {{MS_END_EVENTS, t->events},
		      {MS_END_ALLOCATIONS, t->allocations},
		      {MS_END_LOST, t->lost},
		      {MS_END_STACKS_CUT, t->stacks_cut},
		      {MS_END_STACKS_TRUNCATED, t->stacks_truncated},
		      {MS_END_STACKS_NOT_TAKEN, t->stacks_not_taken},
		      {MS_END_INFERRED_FREES, t->inferred_frees},
		      {MS_END_UNKNOWN_FREES, t->unknown_frees},
		      {MS_END_REPAIRS, t->repairs},
		      {MS_END_VIOLATIONS, t->violations},
		      {MS_END_WAITED, t->waited_ns},
		      {MS_END_WAITED_MAX, t->waited_max_ns},
		      {MS_END_REMOTE_UNWINDS, t->remote_unwinds},
		      {MS_END_VERIFIED, t->verified},
		      {MS_END_MISMATCHES, t->mismatches},
		      {MS_END_FREES, t->frees},
		      {MS_END_REALLOCATIONS, t->reallocs},
		      {MS_END_FAILED, t->failed},
		      {MS_END_ALLOCATED_BYTES, t->allocated_bytes},
		      {MS_END_TEMPORARY, t->temporary},
		      {MS_END_PEAK_BYTES, t->peak_bytes},
		      {MS_END_PEAK_BLOCKS, t->peak_blocks},
		      {MS_END_PEAK_TIME, t->peak_ns},
		      {MS_END_UNFREED_BYTES, t->live_bytes},
		      {MS_END_UNFREED_BLOCKS, t->live_blocks},
		      {MS_END_PAUSED, t->paused_ns},
		      {MS_END_PAUSED_ALLOCATIONS, t->paused_allocations},
		      {MS_END_INHERITED_FREES, t->inherited_frees},
		      {MS_END_BEFORE_FREES, t->preexisting_frees}};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ms_record_number(w, counts[i].field, counts[i].value);
}

void end_dropped(const struct output *o, struct ms_record_writer *w)
{
	if (!o->dropped_events)
		return;
	ms_record_number(w, MS_END_DROPPED_EVENTS, o->dropped_events);
	ms_record_number(w, MS_END_DROPPED_UNTIL, o->dropped_ns);
}
