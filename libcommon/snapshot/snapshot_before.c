/* SPDX-License-Identifier: MIT
 * What an attached process had already, beside its recorded figures.
 */
#include "format/trace.h"
#include "libcommon/replay/replay_cells.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

/* The record of all, or NULL. */
static const struct ms_row *head_of(const struct ms_recording *t)
{
	const struct ms_row *head = NULL;
	for (size_t i = 0; i < t->before.n; i++)
		if (ms_has(&t->before.v[i], MS_BEFORE_STATE))
			head = &t->before.v[i];
	return head;
}

void ms_put_before(struct ms_insert *in, const struct ms_recording *t)
{
	static const char *const states[] = {NULL, "whole", "part", "unknown"};
	const struct ms_replay *r = &t->replay;
	const struct ms_row *head = head_of(t);
	uint64_t state = head ? head->number[MS_BEFORE_STATE] : 0;
	/* A trace that says no more of them says when each was given back. */
	bool frees = state == MS_BEFORE_WHOLE || state == MS_BEFORE_PART;
	if (head)
		ms_put(in,
		       ms_text("before",
			       state < sizeof states / sizeof *states ? states[state] : NULL),
		       ms_text("before_why", head->text[MS_BEFORE_WHY - 2]),
		       MS_FIELD("before_blocks", head, MS_BEFORE_BLOCKS),
		       MS_FIELD("before_bytes", head, MS_BEFORE_BYTES),
		       MS_FIELD("before_largest", head, MS_BEFORE_LARGEST),
		       ms_int_if("before_frees", frees, r->before_frees),
		       ms_int_if("before_freed_bytes", frees, r->before_freed_bytes));
}

int ms_fill_before(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	const struct ms_row *head = head_of(t);
	uint64_t seen = 0;
	struct ms_insert in = ms_insert(f->db, "before_size", f->err);
	for (const struct ms_row *r = head; r && ++r < t->before.v + t->before.n;) {
		unsigned class = (unsigned)r->number[MS_BEFORE_CLASS];
		if (!ms_has(r, MS_BEFORE_CLASS) || r->number[MS_BEFORE_CLASS] >= MS_SIZE_CLASSES ||
		    seen >> class & 1)
			continue;
		seen |= UINT64_C(1) << class;
		ms_put_row(&in, ms_int("process", p->id), ms_int("low", ms_size_class_low(class)),
			   ms_int("high", ms_size_class_high(class)),
			   ms_int("blocks", r->number[MS_BEFORE_BLOCKS]),
			   ms_int("bytes", r->number[MS_BEFORE_BYTES]));
	}
	return ms_insert_close(&in);
}
