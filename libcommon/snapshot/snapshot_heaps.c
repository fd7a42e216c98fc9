/* SPDX-License-Identifier: MIT
 * The memory behind heaps of the program's own.
 */
#include "format/trace.h"
#include "libcommon/symbols/frame_places.h"
#include "libcommon/replay/replay_mapped.h"
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

int ms_fill_heaps(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_replay *r = &p->rec->replay;
	struct ms_insert in = ms_insert(f->db, "heap", f->err);
	for (size_t i = 0; i < r->backing.n; i++) {
		const struct ms_backing *h = &r->backing.v[i];
		const char *name = name_of(p->rec, h->node);
		if (!name)
			continue;
		ms_put_row(&in, ms_int("process", p->id), ms_text("name", name),
			   ms_int("backing_bytes", h->bytes), ms_int("backing_blocks", h->blocks),
			   ms_int("backing_max_bytes", h->most_bytes),
			   ms_int("backings", h->taken));
	}
	return ms_insert_close(&in);
}
