/* SPDX-License-Identifier: MIT
 * What a forked process inherited, beside its own figures.
 */
#include "libcommon/base/err.h"
#include "format/trace.h"
#include "snapshot_private.h"

int ms_fill_inherited(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	const struct ms_fields *i = &t->info;
	/* Of sampled blocks the sums would have to be estimated. */
	bool known = !(ms_has(i, MS_INFO_SAMPLE_BYTES) && i->number[MS_INFO_SAMPLE_BYTES]);
	const uint64_t values[] = {i->number[MS_INFO_INHERITED_BLOCKS],
				   i->number[MS_INFO_INHERITED_BYTES], t->replay.inherited_frees,
				   t->replay.inherited_freed_bytes};
	bool has[] = {known && ms_has(i, MS_INFO_INHERITED_BLOCKS),
		      known && ms_has(i, MS_INFO_INHERITED_BYTES), known, known};
	if (!ms_has(i, MS_INFO_FORKED) || !i->number[MS_INFO_FORKED])
		return 0;
	sqlite3_stmt *st = ms_sql_prepare(
		f->db,
		"UPDATE process SET forked=1, inherited_blocks=?1, inherited_bytes=?2,"
		" inherited_frees=?3, inherited_freed_bytes=?4 WHERE id=?5",
		f->err);
	if (!st)
		return -1;
	bool bad = sqlite3_bind_int64(st, 5, p->id);
	for (int k = 0; k < 4 && !bad; k++)
		if (has[k])
			bad = sqlite3_bind_int64(
				st, k + 1, values[k] > INT64_MAX ? INT64_MAX : (int64_t)values[k]);
	bad = bad || sqlite3_step(st) != SQLITE_DONE;
	sqlite3_finalize(st);
	return bad ? ms_err_set(f->err, "cannot fill the snapshot: %s", sqlite3_errmsg(f->db)) : 0;
}
