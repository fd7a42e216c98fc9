/* SPDX-License-Identifier: MIT
 * The memory behind heaps of the program's own.
 */
#include "libcommon/base/err.h"
#include "format/trace.h"
#include "libcommon/symbols/frame_places.h"
#include "libcommon/replay/replay_backing.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

/* The name that a marker stands for, or NULL. */
static const char *name_of(const struct ms_recording *t, uint32_t node)
{
	if (!node || node >= t->nodes.n)
		return NULL;
	const struct ms_frame *f = &t->frames.v[t->nodes.v[node].frame];
	const struct ms_row *m = f->flags & MS_FRAME_HEAP ? ms_module_of(t, f->module) : NULL;
	return m ? m->text[MS_MODULE_PATH - 2] : NULL;
}

int ms_fill_hooks(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	if (!ms_has(&t->end, MS_END_HOOKS))
		return 0;
	int rc = 0;
	for (size_t i = 0; i <= t->hooks_missing.n && rc == 0; i++) {
		sqlite3_stmt *st =
			ms_sql_prepare(f->db,
				       i ? "UPDATE process SET hooks_missing ="
					   " json_insert(hooks_missing, '$[#]', ?1) WHERE id = ?2"
					 : "UPDATE process SET hooks_missing = '[]' WHERE id = ?2",
				       f->err);
		bool bad = !st || sqlite3_bind_int64(st, 2, p->id) ||
			   (i && sqlite3_bind_text(st, 1, t->hooks_missing.v[i - 1], -1,
						   SQLITE_STATIC)) ||
			   sqlite3_step(st) != SQLITE_DONE;
		if (bad && st)
			ms_err_set(f->err, "cannot fill the snapshot: %s", sqlite3_errmsg(f->db));
		sqlite3_finalize(st);
		rc = bad ? -1 : 0;
	}
	return rc;
}

int ms_fill_heaps(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_backing *b = p->rec->replay.backing;
	struct ms_insert in;
	ms_insert_open(&in, f->db, "heap",
		       "process, name, backing_bytes, backing_blocks, backing_max_bytes, backings",
		       f->err);
	for (size_t i = 0; b && i < b->heaps.n; i++) {
		const struct ms_backing_heap *h = &b->heaps.v[i];
		const char *name = name_of(p->rec, h->node);
		if (!name)
			continue;
		ms_put(&in, (uint64_t)p->id);
		ms_put_text(&in, name);
		ms_put(&in, h->bytes);
		ms_put(&in, h->blocks);
		ms_put(&in, h->most_bytes);
		ms_put(&in, h->taken);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
}
