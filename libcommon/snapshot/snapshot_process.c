/* SPDX-License-Identifier: MIT
 * Writes the row of table process: identity, completeness, totals, blocks from before it was
 * attached to; and the rows of before_size.
 */
#include "snapshot_private.h"

#include "libcommon/base/path.h"
#include "libcommon/base/arena.h"
#include "libcommon/replay/replay_cells.h"
#include "snapshot_insert.h"
#include "format/trace.h"

#include <stdio.h>
#include <string.h>

static const char *joined(struct ms_arena *a, const struct ms_strings *s)
{
	const char *out = s->n ? s->v[0] : NULL;
	for (size_t i = 1; i < s->n; i++)
		out = ms_arena_printf(a, "%s, %s", out, s->v[i]);
	return out;
}

static const char *machine_name(struct ms_arena *a, unsigned machine)
{
	return machine == 62    ? "x86_64"
	       : machine == 183 ? "aarch64"
	       : machine == 243 ? "riscv64"
				: ms_arena_printf(a, "elf %u", machine);
}

static void put_identity(const struct ms_kept_process *p, struct ms_insert *in, struct ms_arena *a)
{
	const struct ms_recording *t = p->rec;
	static const char *const end_reasons[] = {NULL, "exit", "exec", "stopped", "disk"};
	const struct ms_fields *i = &t->info, *e = &t->end;
	bool named = strcmp(t->path, "-") != 0 && strncmp(t->path, "/proc/self/fd/", 14) != 0 &&
		     strncmp(t->path, "/dev/fd/", 8) != 0;
	char hex[33] = "";
	for (unsigned k = 0; i->text[MS_INFO_SESSION] && k < i->number[MS_INFO_SESSION] && k < 16;
	     k++)
		sprintf(hex + 2 * k, "%02x", (unsigned char)i->text[MS_INFO_SESSION][k]);
	ms_put(in, ms_int("id", p->id), MS_FIELD("pid", i, MS_INFO_PID),
	       MS_FIELD("ppid", i, MS_INFO_PPID), ms_int_if("parent", p->parent != 0, p->parent),
	       ms_text("exe", i->text[MS_INFO_EXE]),
	       ms_text("command", t->args.n ? ms_json_array(a, t->args.v, t->args.n) : NULL),
	       ms_text("host", i->text[MS_INFO_HOST]), ms_text("kernel", i->text[MS_INFO_KERNEL]),
	       ms_text("cwd", i->text[MS_INFO_CWD]), MS_FIELD("started_ns", i, MS_INFO_START_WALL),
	       ms_int("offset_ns", p->offset_ns), ms_int("duration_ns", ms_recording_length(t)),
	       MS_FIELD("peak_rss_bytes", e, MS_END_PEAK_RSS),
	       MS_FIELD("exit_status", e, MS_END_STATUS), MS_FIELD("exit_signal", e, MS_END_SIGNAL),
	       ms_text("end_reason", MS_WORD(end_reasons, e->number[MS_END_REASON])),
	       ms_text("machine", machine_name(a, t->head->machine)),
	       MS_FIELD("page_size", i, MS_INFO_PAGE_SIZE),
	       ms_text("allocator", joined(a, &t->allocators)),
	       ms_text("trace", named ? ms_base_name(t->path) : NULL),
	       ms_text("recorder", i->text[MS_INFO_RECORDER]),
	       ms_text("clock", i->text[MS_INFO_CLOCK]), MS_FIELD("depth", i, MS_INFO_DEPTH),
	       ms_text("session", hex[0] ? hex : NULL), MS_FIELD("image", i, MS_INFO_IMAGE),
	       MS_FIELD("images_kept", e, MS_END_IMAGES_KEPT),
	       MS_FIELD("images_trivial", e, MS_END_IMAGES_TRIVIAL),
	       MS_FIELD("images_missed", e, MS_END_IMAGES_MISSED),
	       MS_FIELD("children_not_recorded", e, MS_END_CHILDREN_NOT_RECORDED),
	       ms_text("hooks_missing",
		       ms_has(e, MS_END_HOOKS)
			       ? ms_json_array(a, t->hooks_missing.v, t->hooks_missing.n)
			       : NULL),
	       ms_text("allocators_missed",
		       t->allocators_missed.n
			       ? ms_json_array(a, t->allocators_missed.v, t->allocators_missed.n)
			       : NULL),
	       ms_text("left_behind", t->left.n ? ms_json_array(a, t->left.v, t->left.n) : NULL),
	       ms_text("cut", i->text[MS_INFO_CUT]), ms_text("core", i->text[MS_INFO_CORE]),
	       ms_text("core_trace", i->text[MS_INFO_CORE_TRACE]),
	       ms_text("core_lacks", i->text[MS_INFO_CORE_LACKS]));
}

bool ms_gap_is_between(const struct ms_recording *t, const struct ms_row *loss)
{
	return ms_recording_is_loss(loss) ||
	       (loss->number[MS_LOSS_REASON] == MS_LOST_PAUSED &&
		loss->number[MS_LOSS_TO] > t->info.number[MS_INFO_STARTED_LATE]);
}

static void put_quality(const struct ms_recording *t, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	const struct ms_fields *i = &t->info, *e = &t->end;
	uint64_t places = 0, bytes = ms_trace_damaged_bytes(t->file, &places);
	ms_put(in, ms_int("complete", ms_recording_complete(t)),
	       ms_text("state", ms_recording_state(t)), ms_int("events", r->events),
	       ms_int("events_lost", ms_recording_lost(t)),
	       ms_int("sampled_bytes", i->number[MS_INFO_SAMPLE_BYTES]),
	       MS_FIELD("stacks_cut", e, MS_END_STACKS_CUT),
	       MS_FIELD("stacks_truncated", e, MS_END_STACKS_TRUNCATED),
	       MS_FIELD("stacks_not_taken", e, MS_END_STACKS_NOT_TAKEN),
	       MS_FIELD("events_late", e, MS_END_VIOLATIONS),
	       ms_int("attached", i->number[MS_INFO_ATTACHED] != 0),
	       ms_int("inferred_frees", r->inferred_frees),
	       ms_int("unknown_frees", r->unknown_frees), ms_int("damaged_bytes", bytes),
	       ms_int("damaged_places", places + t->bad_blocks + (r->bad_events != 0)),
	       MS_FIELD("waited_ns", e, MS_END_WAITED),
	       MS_FIELD("waited_max_ns", e, MS_END_WAITED_MAX));
}

static void put_totals(const struct ms_recording *t, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	ms_put(in, ms_int("allocations", r->allocations), ms_int("frees", r->frees),
	       ms_int("reallocations", r->reallocations), ms_int("failed_allocations", r->failed),
	       ms_int("allocated_bytes", r->bytes), ms_int("temporary_allocations", r->temporary),
	       ms_int("freed_soon", r->freed_soon), ms_int("peak_bytes", r->peak_bytes),
	       ms_int("peak_blocks", r->peak_blocks),
	       ms_int("peak_time_ns", r->peak_tick * t->head->tick_ns),
	       ms_int("unfreed_bytes", r->live_bytes), ms_int("unfreed_blocks", r->live_blocks));
}

/* Appends the blocks and bytes that a forked process inherited, and how many of them it freed. Not
 * used for a sampled recording, in which these sums would have to be estimated. */
static void put_inherited(const struct ms_recording *t, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	const struct ms_fields *i = &t->info;
	bool forked = i->number[MS_INFO_FORKED] != 0, known = i->number[MS_INFO_SAMPLE_BYTES] == 0;
	ms_put(in, ms_int_if("forked", forked, 1));
	if (forked && known)
		ms_put(in, MS_FIELD("inherited_blocks", i, MS_INFO_INHERITED_BLOCKS),
		       MS_FIELD("inherited_bytes", i, MS_INFO_INHERITED_BYTES),
		       ms_int("inherited_frees", r->inherited_frees),
		       ms_int("inherited_freed_bytes", r->inherited_freed_bytes));
}

/* ---- events not recorded ---- */

/* Sets the total time of pauses in ns, and the number of allocations during pauses. Without an end
 * record, both are summed from the loss records. */
static void sum_pauses(const struct ms_recording *t, uint64_t *ns, uint64_t *allocations)
{
	*ns = t->end.number[MS_END_PAUSED];
	*allocations = t->end.number[MS_END_PAUSED_ALLOCATIONS];
	for (size_t i = 0; i < t->losses.n && !t->has_end; i++) {
		const struct ms_row *l = &t->losses.v[i];
		uint64_t from = l->number[MS_LOSS_FROM], to = l->number[MS_LOSS_TO];
		if (l->number[MS_LOSS_REASON] != MS_LOST_PAUSED)
			continue;
		*allocations += l->number[MS_LOSS_COUNT];
		if (to > t->info.number[MS_INFO_STARTED_LATE] && to > from)
			*ns += to - from;
	}
}

/* Returns the time, in ns, before which there are no events; for a recording that has not ended,
 * the time of its first checkpoint. */
static uint64_t dropped_until(const struct ms_recording *t)
{
	bool growing = !t->has_end && t->skipped && !t->parts;
	return growing ? t->replay.from_tick * t->head->tick_ns
		       : t->end.number[MS_END_DROPPED_UNTIL];
}

/* Appends the gaps that options caused (before the start, in pauses, and events dropped at
 * --max-size) and the time span that is counted. */
static void put_gaps(const struct ms_kept_process *p, struct ms_insert *in)
{
	const struct ms_recording *t = p->rec;
	uint64_t paused, allocations, start = t->info.number[MS_INFO_STARTED_LATE];
	uint64_t dropped = t->end.number[MS_END_DROPPED_EVENTS], until = dropped_until(t);
	sum_pauses(t, &paused, &allocations);
	ms_put(in, ms_int("paused_ns", paused), ms_int("paused_allocations", allocations),
	       ms_int_if("started_late_ns", start != 0, start),
	       ms_int_if("dropped_events", dropped || !until, dropped),
	       ms_int_if("dropped_until_ns", until != 0, until),
	       ms_int("whole", !until && !ms_part_is_headless(p) && !p->counted_from &&
				       p->to_ns == MS_NEVER),
	       ms_int_if("from_ns", p->counted_from && p->from.kind == MS_KEPT_MOMENT,
			 p->from.time_ns & INT64_MAX),
	       ms_int_if("to_ns", p->to_ns != MS_NEVER, p->to_ns & INT64_MAX));
}

/* Returns the record that covers all preexisting blocks, without a size class; NULL = there is
 * none. */
static const struct ms_row *head_of(const struct ms_recording *t)
{
	const struct ms_row *head = NULL;
	for (size_t i = 0; i < t->before.n; i++)
		if (ms_has(&t->before.v[i], MS_BEFORE_STATE))
			head = &t->before.v[i];
	return head;
}

/* Appends the blocks that an attached process had allocated before its recording began, and how
 * many of them it freed. */
static void put_before(const struct ms_recording *t, struct ms_insert *in)
{
	static const char *const states[] = {NULL, "whole", "part", "unknown"};
	const struct ms_replay *r = &t->replay;
	const struct ms_row *head = head_of(t);
	uint64_t state = head ? head->number[MS_BEFORE_STATE] : 0;
	/* in other states the blocks are unknown, and the trace has only their frees */
	bool frees = state == MS_BEFORE_WHOLE || state == MS_BEFORE_PART;
	if (head)
		ms_put(in, ms_text("before", MS_WORD(states, state)),
		       ms_text("before_why", head->text[MS_BEFORE_WHY - 2]),
		       MS_FIELD("before_blocks", head, MS_BEFORE_BLOCKS),
		       MS_FIELD("before_bytes", head, MS_BEFORE_BYTES),
		       MS_FIELD("before_largest", head, MS_BEFORE_LARGEST),
		       ms_int_if("before_frees", frees, r->before_frees),
		       ms_int_if("before_freed_bytes", frees, r->before_freed_bytes));
}

int ms_fill_process_row(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "process");
	struct ms_arena a = {0};
	put_identity(w->p, &in, &a);
	put_quality(w->t, &in);
	put_totals(w->t, &in);
	put_inherited(w->t, &in);
	put_before(w->t, &in);
	put_gaps(w->p, &in);
	ms_put_beside_process(&in, w->t);
	ms_put_row(&in, ms_int("frames_without_symbol", w->stacks.without_symbol),
		   ms_int("at_sum_peak_bytes", w->p->share.at_peak));
	ms_arena_free(&a);
	return ms_insert_close(&in);
}

/* ---- */

int ms_fill_before(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_row *head = head_of(t);
	uint64_t seen = 0;
	struct ms_insert in = ms_rows(w, "before_size");
	for (const struct ms_row *r = head; r && ++r < t->before.v + t->before.n;) {
		unsigned class = (unsigned)r->number[MS_BEFORE_CLASS];
		if (!ms_has(r, MS_BEFORE_CLASS) || r->number[MS_BEFORE_CLASS] >= MS_SIZE_CLASSES ||
		    seen >> class & 1)
			continue;
		seen |= UINT64_C(1) << class;
		ms_put_row(&in, ms_int("process", w->p->id),
			   ms_int("low", ms_size_class_low(class)),
			   ms_int("high", ms_size_class_high(class)),
			   ms_int("blocks", r->number[MS_BEFORE_BLOCKS]),
			   ms_int("bytes", r->number[MS_BEFORE_BYTES]));
	}
	return ms_insert_close(&in);
}
