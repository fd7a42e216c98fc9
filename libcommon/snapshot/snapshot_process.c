/* SPDX-License-Identifier: MIT
 * The row of table process: what it was, how much of it is known, its totals.
 */
#include "snapshot_private.h"

#include "libcommon/base/path.h"
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

static struct ms_value string(const char *column, const struct ms_fields *f, unsigned id)
{
	return ms_text(column, ms_has(f, id) ? f->text[id] : NULL);
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
	bool named = strcmp(t->path, "-") != 0 && strncmp(t->path, "/proc/self/fd/", 14) != 0 &&
		     strncmp(t->path, "/dev/fd/", 8) != 0;
	char hex[33] = "";
	for (unsigned k = 0; i->text[MS_INFO_SESSION] && k < i->number[MS_INFO_SESSION] && k < 16;
	     k++)
		sprintf(hex + 2 * k, "%02x", (unsigned char)i->text[MS_INFO_SESSION][k]);
	ms_put(in, ms_int("id", p->id), MS_FIELD("pid", i, MS_INFO_PID),
	       MS_FIELD("ppid", i, MS_INFO_PPID), ms_int_if("parent", p->parent != 0, p->parent),
	       string("exe", i, MS_INFO_EXE),
	       ms_text("command", t->args.n ? ms_json_array(a, &t->args) : NULL),
	       string("host", i, MS_INFO_HOST), string("kernel", i, MS_INFO_KERNEL),
	       string("cwd", i, MS_INFO_CWD), MS_FIELD("started_ns", i, MS_INFO_START_WALL),
	       ms_int("offset_ns", p->offset_ns), ms_int("duration_ns", ms_recording_length(t)),
	       MS_FIELD("exit_status", e, MS_END_STATUS), MS_FIELD("exit_signal", e, MS_END_SIGNAL),
	       ms_text("end_reason", end_reason(t)),
	       ms_text("machine", machine_name(a, t->head->machine)),
	       MS_FIELD("page_size", i, MS_INFO_PAGE_SIZE),
	       ms_text("allocator", joined(a, &t->allocators)),
	       ms_text("trace", named ? ms_base_name(t->path) : NULL),
	       string("recorder", i, MS_INFO_RECORDER), string("clock", i, MS_INFO_CLOCK),
	       MS_FIELD("depth", i, MS_INFO_DEPTH), ms_text("session", hex[0] ? hex : NULL),
	       MS_FIELD("image", i, MS_INFO_IMAGE), MS_FIELD("images_kept", e, MS_END_IMAGES_KEPT),
	       MS_FIELD("images_trivial", e, MS_END_IMAGES_TRIVIAL),
	       MS_FIELD("children_not_recorded", e, MS_END_CHILDREN_NOT_RECORDED),
	       ms_text("hooks_missing",
		       ms_has(e, MS_END_HOOKS) ? ms_json_array(a, &t->hooks_missing) : NULL),
	       string("cut", i, MS_INFO_CUT));
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
	bool said_more = ms_has(e, MS_END_LOST) && e->number[MS_END_LOST] > lost;
	ms_put(in, ms_int("complete", ms_recording_complete(t)),
	       ms_text("state", ms_recording_state(t)), ms_int("events", r->events),
	       ms_int("events_lost", said_more ? e->number[MS_END_LOST] : lost),
	       ms_int("sampled_bytes",
		      ms_has(i, MS_INFO_SAMPLE_BYTES) ? i->number[MS_INFO_SAMPLE_BYTES] : 0),
	       MS_FIELD("stacks_cut", e, MS_END_STACKS_CUT),
	       MS_FIELD("stacks_truncated", e, MS_END_STACKS_TRUNCATED),
	       MS_FIELD("stacks_not_taken", e, MS_END_STACKS_NOT_TAKEN),
	       MS_FIELD("events_late", e, MS_END_VIOLATIONS),
	       ms_int("attached", ms_has(i, MS_INFO_ATTACHED) && i->number[MS_INFO_ATTACHED]),
	       ms_int("inferred_frees", r->inferred_frees),
	       ms_int("unknown_frees", r->unknown_frees), ms_int("damaged_bytes", bytes),
	       ms_int("damaged_places", places + t->bad_blocks + (r->bad_events != 0)),
	       MS_FIELD("waited_ns", e, MS_END_WAITED),
	       MS_FIELD("waited_max_ns", e, MS_END_WAITED_MAX));
}

static void put_totals(const struct ms_recording *t, bool partial, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	ms_put(in, ms_int("allocations", r->allocations), ms_int("frees", r->frees),
	       ms_int("reallocations", r->reallocations), ms_int("failed_allocations", r->failed),
	       ms_int("allocated_bytes", r->bytes),
	       ms_int_if("temporary_allocations", !partial, r->temporary),
	       ms_int("peak_bytes", r->peak_bytes), ms_int("peak_blocks", r->peak_blocks),
	       ms_int("peak_time_ns", r->peak_tick * t->head->tick_ns),
	       ms_int("unfreed_bytes", r->live_bytes), ms_int("unfreed_blocks", r->live_blocks));
}

/* What a forked process has from its parent. Of sampled blocks the sums would have to be estimated. */
static void put_inherited(const struct ms_recording *t, struct ms_insert *in)
{
	const struct ms_replay *r = &t->replay;
	const struct ms_fields *i = &t->info;
	bool forked = ms_has(i, MS_INFO_FORKED) && i->number[MS_INFO_FORKED],
	     known = !(ms_has(i, MS_INFO_SAMPLE_BYTES) && i->number[MS_INFO_SAMPLE_BYTES]);
	ms_put(in, ms_int_if("forked", forked, 1));
	if (forked && known)
		ms_put(in, MS_FIELD("inherited_blocks", i, MS_INFO_INHERITED_BLOCKS),
		       MS_FIELD("inherited_bytes", i, MS_INFO_INHERITED_BYTES),
		       ms_int("inherited_frees", r->inherited_frees),
		       ms_int("inherited_freed_bytes", r->inherited_freed_bytes));
}

int ms_fill_process_row(struct ms_filling *f, const struct ms_kept_process *p, bool partial,
			uint64_t without_symbol)
{
	struct ms_insert in = ms_insert(f->db, "process", f->err);
	struct ms_arena a = {0};
	put_identity(p, &in, &a);
	put_quality(p->rec, &in);
	put_totals(p->rec, partial, &in);
	put_inherited(p->rec, &in);
	ms_put_before(&in, p->rec);
	ms_put_gaps(&in, p->rec);
	ms_put_beside_process(&in, p->rec);
	ms_put_row(&in, ms_int("frames_without_symbol", without_symbol),
		   ms_int("at_sum_peak_bytes", p->share.at_peak));
	ms_arena_free(&a);
	return ms_insert_close(&in);
}
