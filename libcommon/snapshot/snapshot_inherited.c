/* SPDX-License-Identifier: MIT
 * What a forked process inherited, beside its own figures.
 */
#include "format/trace.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

int ms_fill_inherited(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_replay *r = &p->rec->replay;
	const struct ms_fields *i = &p->rec->info;
	/* Of sampled blocks the sums would have to be estimated. */
	bool known = !(ms_has(i, MS_INFO_SAMPLE_BYTES) && i->number[MS_INFO_SAMPLE_BYTES]);
	struct ms_insert u = ms_update(f->db, "process", 1, f->err);
	if (!ms_has(i, MS_INFO_FORKED) || !i->number[MS_INFO_FORKED])
		return 0;
	ms_put(&u, ms_int("forked", 1));
	if (known)
		ms_put(&u, MS_FIELD("inherited_blocks", i, MS_INFO_INHERITED_BLOCKS),
		       MS_FIELD("inherited_bytes", i, MS_INFO_INHERITED_BYTES),
		       ms_int("inherited_frees", r->inherited_frees),
		       ms_int("inherited_freed_bytes", r->inherited_freed_bytes));
	ms_put_row(&u, ms_int("id", p->id));
	return ms_insert_close(&u);
}
