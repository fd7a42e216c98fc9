/* SPDX-License-Identifier: MIT
 * What an attached process had already, beside its recorded figures.
 */
#include "libcommon/base/err.h"
#include "format/trace.h"
#include "libcommon/replay/replay_classes.h"
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

static bool bind_number(sqlite3_stmt *st, int at, bool known, uint64_t n)
{
	return known &&
	       sqlite3_bind_int64(st, at, n > INT64_MAX ? INT64_MAX : (int64_t)n) != SQLITE_OK;
}

static int fill_head(struct ms_filling *f, const struct ms_kept_process *p,
		     const struct ms_row *head)
{
	static const char *const states[] = {NULL, "whole", "part", "unknown"};
	const struct ms_recording *t = p->rec;
	uint64_t state = head->number[MS_BEFORE_STATE];
	/* A trace that says no more of them says when each was given back. */
	bool frees = state == MS_BEFORE_WHOLE || state == MS_BEFORE_PART;
	sqlite3_stmt *st = ms_sql_prepare(
		f->db,
		"UPDATE process SET before=?1, before_why=?2, before_blocks=?3, before_bytes=?4,"
		" before_largest=?5, before_frees=?6, before_freed_bytes=?7 WHERE id=?8",
		f->err);
	if (!st)
		return -1;
	const char *word = state < sizeof states / sizeof *states ? states[state] : NULL;
	const char *why = head->text[MS_BEFORE_WHY - 2];
	bool bad =
		sqlite3_bind_text(st, 1, word, -1, SQLITE_STATIC) ||
		sqlite3_bind_text(st, 2, why, -1, SQLITE_STATIC) ||
		bind_number(st, 3, ms_has(head, MS_BEFORE_BLOCKS),
			    head->number[MS_BEFORE_BLOCKS]) ||
		bind_number(st, 4, ms_has(head, MS_BEFORE_BYTES), head->number[MS_BEFORE_BYTES]) ||
		bind_number(st, 5, ms_has(head, MS_BEFORE_LARGEST),
			    head->number[MS_BEFORE_LARGEST]) ||
		bind_number(st, 6, frees, t->replay.before_frees) ||
		bind_number(st, 7, frees, t->replay.before_freed_bytes) ||
		sqlite3_bind_int64(st, 8, p->id);
	bad = bad || sqlite3_step(st) != SQLITE_DONE;
	sqlite3_finalize(st);
	return bad ? ms_err_set(f->err, "cannot fill the snapshot: %s", sqlite3_errmsg(f->db)) : 0;
}

int ms_fill_before(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	const struct ms_row *head = head_of(t);
	uint64_t seen = 0;
	struct ms_insert in;
	if (!head)
		return 0;
	if (fill_head(f, p, head) != 0)
		return -1;
	ms_insert_open(&in, f->db, "before_size", "process, low, high, blocks, bytes", f->err);
	for (const struct ms_row *r = head + 1; r < t->before.v + t->before.n; r++) {
		uint64_t class = r->number[MS_BEFORE_CLASS];
		if (!ms_has(r, MS_BEFORE_CLASS) || class >= MS_SIZE_CLASSES || seen >> class & 1)
			continue;
		seen |= UINT64_C(1) << class;
		ms_put(&in, (uint64_t)p->id);
		ms_put(&in, ms_size_class_low((unsigned)class));
		ms_put(&in, ms_size_class_high((unsigned)class));
		ms_put(&in, r->number[MS_BEFORE_BLOCKS]);
		ms_put(&in, r->number[MS_BEFORE_BYTES]);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
}
