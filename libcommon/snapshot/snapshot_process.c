/* SPDX-License-Identifier: MIT
 * The row of table process: what it was, how much of it is known, its totals.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "snapshot_insert.h"
#include "format/trace.h"

#include <stdio.h>
#include <string.h>

const char *ms_json_array(struct ms_arena *a, const struct ms_strings *s)
{
	size_t room = 3;
	for (size_t i = 0; i < s->n; i++)
		room += strlen(s->v[i]) * 6 + 3;
	char *out = ms_arena_alloc(a, room), *o = out;
	*o++ = '[';
	for (size_t i = 0; i < s->n; i++) {
		if (i)
			*o++ = ',';
		*o++ = '"';
		for (const unsigned char *c = (const unsigned char *)s->v[i]; *c; c++) {
			if (*c < 0x20 || *c == 0x7f)
				o += sprintf(o, "\\u%04x", *c);
			else if (*c == '"' || *c == '\\')
				o += sprintf(o, "\\%c", *c);
			else
				*o++ = (char)*c;
		}
		*o++ = '"';
	}
	*o++ = ']';
	*o = '\0';
	return out;
}

static const char *joined(struct ms_arena *a, const struct ms_strings *s)
{
	const char *out = s->n ? s->v[0] : NULL;
	for (size_t i = 1; i < s->n; i++)
		out = ms_arena_printf(a, "%s, %s", out, s->v[i]);
	return out;
}

static void put_field(struct ms_insert *in, const struct ms_fields *f, unsigned id)
{
	ms_put_if(in, ms_has(f, id), f->number[id]);
}

static void put_string(struct ms_insert *in, const struct ms_fields *f, unsigned id)
{
	ms_put_text(in, ms_has(f, id) ? f->text[id] : NULL);
}

static const char *machine_name(struct ms_arena *a, unsigned machine)
{
	return machine == 62    ? "x86_64"
	       : machine == 183 ? "aarch64"
	       : machine == 243 ? "riscv64"
				: ms_arena_printf(a, "elf %u", machine);
}

static const char *end_reason(const struct ms_recording *t)
{
	static const char *const names[] = {NULL, "exit", "exec", "stopped", "disk"};
	uint64_t why =
		t->has_end && ms_has(&t->end, MS_END_REASON) ? t->end.number[MS_END_REASON] : 0;
	return why < sizeof names / sizeof *names ? names[why] : NULL;
}

static void put_identity(const struct ms_kept_process *p, struct ms_insert *in, struct ms_arena *a)
{
	const struct ms_recording *t = p->rec;
	const struct ms_fields *i = &t->info, *e = &t->end;
	const char *slash = strrchr(t->path, '/');
	bool named = strcmp(t->path, "-") != 0 && strncmp(t->path, "/proc/self/fd/", 14) != 0 &&
		     strncmp(t->path, "/dev/fd/", 8) != 0;
	ms_put(in, (uint64_t)p->id);
	put_field(in, i, MS_INFO_PID);
	put_field(in, i, MS_INFO_PPID);
	ms_put_if(in, p->parent != 0, (uint64_t)p->parent);
	put_string(in, i, MS_INFO_EXE);
	ms_put_text(in, t->args.n ? ms_json_array(a, &t->args) : NULL);
	put_string(in, i, MS_INFO_HOST);
	put_string(in, i, MS_INFO_KERNEL);
	put_string(in, i, MS_INFO_CWD);
	put_field(in, i, MS_INFO_START_WALL);
	ms_put(in, p->offset_ns);
	ms_put(in, ms_recording_length(t));
	put_field(in, e, MS_END_STATUS);
	put_field(in, e, MS_END_SIGNAL);
	ms_put_text(in, end_reason(t));
	ms_put_text(in, machine_name(a, t->head->machine));
	put_field(in, i, MS_INFO_PAGE_SIZE);
	ms_put_text(in, joined(a, &t->allocators));
	ms_put_text(in, !named ? NULL : slash ? slash + 1 : t->path);
	put_string(in, i, MS_INFO_RECORDER);
	put_string(in, i, MS_INFO_CLOCK);
	put_field(in, i, MS_INFO_DEPTH);
	char hex[33] = "";
	for (unsigned k = 0; i->text[MS_INFO_SESSION] && k < i->number[MS_INFO_SESSION] && k < 16;
	     k++)
		sprintf(hex + 2 * k, "%02x", (unsigned char)i->text[MS_INFO_SESSION][k]);
	ms_put_text(in, hex[0] ? hex : NULL);
	put_field(in, i, MS_INFO_IMAGE);
	put_field(in, e, MS_END_IMAGES_KEPT);
	put_field(in, e, MS_END_IMAGES_TRIVIAL);
	put_field(in, e, MS_END_CHILDREN_NOT_RECORDED);
}

static uint64_t lost_in_records(const struct ms_recording *t)
{
	uint64_t n = 0;
	for (size_t i = 0; i < t->losses.n; i++)
		if (ms_gap_is_loss(&t->losses.v[i]))
			n += t->losses.v[i].number[MS_LOSS_COUNT];
	return n;
}

static void put_quality(const struct ms_recording *t, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	const struct ms_fields *i = &t->info, *e = &t->end;
	uint64_t places = 0, bytes = ms_trace_damaged_bytes(t->file, &places),
		 lost = lost_in_records(t);
	ms_put(in, ms_recording_complete(t));
	ms_put_text(in, ms_recording_state(t));
	ms_put(in, r->events);
	ms_put(in, ms_has(e, MS_END_LOST) && e->number[MS_END_LOST] > lost ? e->number[MS_END_LOST]
									   : lost);
	ms_put(in, ms_has(i, MS_INFO_SAMPLE_BYTES) ? i->number[MS_INFO_SAMPLE_BYTES] : 0);
	put_field(in, e, MS_END_STACKS_CUT);
	put_field(in, e, MS_END_STACKS_TRUNCATED);
	put_field(in, e, MS_END_STACKS_NOT_TAKEN);
	put_field(in, e, MS_END_VIOLATIONS);
	ms_put(in, ms_has(i, MS_INFO_ATTACHED) && i->number[MS_INFO_ATTACHED]);
	ms_put(in, r->inferred_frees);
	ms_put(in, r->unknown_frees);
	ms_put(in, bytes);
	ms_put(in, places + t->bad_blocks + (r->bad_events != 0));
	put_field(in, e, MS_END_WAITED);
	put_field(in, e, MS_END_WAITED_MAX);
}

static void put_totals(const struct ms_recording *t, bool partial, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	ms_put(in, r->allocations);
	ms_put(in, r->frees);
	ms_put(in, r->reallocations);
	ms_put(in, r->failed);
	ms_put(in, r->bytes);
	ms_put_if(in, !partial, r->temporary);
	ms_put(in, r->peak_bytes);
	ms_put(in, r->peak_blocks);
	ms_put(in, r->peak_tick * t->head->tick_ns);
	ms_put(in, r->live_bytes);
	ms_put(in, r->live_blocks);
	ms_put(in, 1);
}

int ms_fill_process_row(struct ms_filling *f, const struct ms_kept_process *p, bool partial,
			uint64_t without_symbol)
{
	struct ms_insert in;
	struct ms_arena a = {0};
	ms_insert_open(&in, f->db, "process",
		       "id, pid, ppid, parent, exe, command, host, kernel, cwd, started_ns, "
		       "offset_ns, duration_ns, exit_status, "
		       "exit_signal, end_reason, machine, page_size, allocator, trace, recorder, "
		       "clock, depth, session, image, images_kept, "
		       "images_trivial, children_not_recorded, "
		       "complete, state, events, events_lost, sampled_bytes, stacks_cut, "
		       "stacks_truncated, stacks_not_taken, events_late, attached, "
		       "inferred_frees, unknown_frees, damaged_bytes, damaged_places, waited_ns, "
		       "waited_max_ns, frames_without_symbol, "
		       "allocations, frees, reallocations, failed_allocations, allocated_bytes, "
		       "temporary_allocations, peak_bytes, "
		       "peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks, whole, "
		       "at_sum_peak_bytes, " MS_BESIDE_PROCESS,
		       f->err);
	put_identity(p, &in, &a);
	put_quality(p->rec, &in);
	ms_put(&in, without_symbol);
	put_totals(p->rec, partial, &in);
	ms_put(&in, p->share.at_peak);
	ms_put_beside_process(&in, p->rec);
	ms_put_row(&in);
	ms_arena_free(&a);
	return ms_insert_close(&in);
}
