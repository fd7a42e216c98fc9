/* SPDX-License-Identifier: MIT
 * Writes the columns with data recorded besides the heap, the rows of free_site, and those of
 * heap: the memory behind custom heaps.
 */
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/symbols/frame_places.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"
#include "format/trace.h"

#include <string.h>

static const struct ms_beside *beside(const struct ms_recording *t)
{
	static const struct ms_beside none;
	return t->replay.beside ? t->replay.beside : &none;
}

unsigned ms_beside_not_known(const struct ms_recording *t)
{
	return (beside(t)->mapped ? 0 : MS_NEEDS_MMAP) | (beside(t)->usable ? 0 : MS_NEEDS_USABLE);
}

static void list_options(char text[64], const struct ms_recording *t)
{
	static const char *const names[] = {"mmap",      "usable-size", "free-stacks",
					    "keep=live", "poll",        "keep=last"};
	uint64_t given = t->info.number[MS_INFO_OPTIONS];
	char *end = text;
	*end = '\0';
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (given >> i & 1)
			end = stpcpy(stpcpy(end, end > text ? "," : ""), names[i]);
}

void ms_put_beside_process(struct ms_insert *in, const struct ms_recording *t)
{
	const struct ms_beside *b = beside(t);
	const struct ms_replay *r = &t->replay;
	char options[64];
	list_options(options, t);
	ms_put(in, ms_text("options", *options ? options : NULL), ms_int("maps", b->maps),
	       ms_int("unmaps", b->unmaps), ms_int("mapped_bytes", b->taken_bytes),
	       ms_int("mapped_peak_bytes", b->most_bytes),
	       ms_int("mapped_peak_time_ns", b->most_tick * t->head->tick_ns),
	       ms_int("mapped_end_bytes", b->mapped_bytes),
	       ms_int("peak_usable_bytes", r->peak_bytes + b->peak_slack_bytes),
	       ms_int("unfreed_usable_bytes", r->live_bytes + b->slack_bytes));
}

void ms_put_beside_site(struct ms_insert *in, const struct ms_recording *t, uint32_t site)
{
	const struct ms_beside *b = beside(t);
	const struct ms_beside_site *s = ms_beside_site(b, site);
	ms_put(in, ms_int("maps", s->maps), ms_int("mapped_bytes", s->mapped_bytes));
}

void ms_put_beside_live(struct ms_insert *in, const struct ms_live *live)
{
	ms_put(in, ms_int("usable_bytes", live->bytes + live->slack_bytes),
	       ms_int("mapped_bytes", live->mapped_bytes));
}

static void live_at_moment(const struct ms_beside_moment *m, struct ms_live_sites *l)
{
	for (size_t i = 0; i < m->count; i++) {
		struct ms_live *x = ms_live_add(l, m->figures[i].site);
		x->slack_bytes = m->figures[i].slack_bytes;
		x->mapped_bytes = m->figures[i].mapped_bytes;
	}
	l->all.slack_bytes = m->slack_bytes;
	l->all.mapped_bytes = m->mapped_bytes;
}

void ms_live_beside(const struct ms_recording *t, const struct ms_kept_point *point,
		    struct ms_live_sites *l)
{
	const struct ms_beside *b = beside(t);
	size_t n = t->replay.site_count;
	bool peak = point->kind == MS_KEPT_PEAK;
	uint64_t blocks;
	if (point->kind == MS_KEPT_MOMENT)
		live_at_moment(&t->replay.moments[point->moment].beside, l);
	if (!peak && point->kind != MS_KEPT_END)
		return;
	for (uint32_t i = 0; i < b->site_count && i < n; i++) {
		const struct ms_beside_site *s = ms_beside_site(b, i);
		struct ms_live *v = ms_live_add(l, i);
		v->slack_bytes = s->slack.bytes;
		v->mapped_bytes = s->mapped.bytes;
		if (!peak)
			continue;
		ms_replay_at_peak(&t->replay, &s->slack, &v->slack_bytes, &blocks);
		ms_replay_at_peak(&t->replay, &s->mapped, &v->mapped_bytes, &blocks);
	}
	l->all.slack_bytes = peak ? b->peak_slack_bytes : b->slack_bytes;
	l->all.mapped_bytes = peak ? b->peak_mapped_bytes : b->mapped_bytes;
}

/* ---- free_site ---- */

int ms_fill_frees(struct ms_fill *w)
{
	const struct ms_beside *b = beside(w->t);
	struct ms_insert in = ms_rows(w, "free_site");
	for (size_t i = 0; i < b->frees.n && !in.none; i++) {
		const struct ms_beside_free *v = &b->frees.v[i];
		bool known = v->stack && v->stack < w->t->nodes.n;
		ms_put_row(&in, ms_int("process", w->p->id),
			   ms_int("site", w->row_of_site[v->site]),
			   ms_int_if("stack", known, known ? w->stacks.row_of_node[v->stack] : 0),
			   ms_int("frees", v->frees), ms_int("freed_bytes", v->bytes));
	}
	return ms_insert_close(&in);
}

/* ---- heap ---- */

/* Returns the name of the heap that a marker stands for, or NULL. */
static const char *name_of(const struct ms_recording *t, uint32_t node)
{
	if (!node || node >= t->nodes.n)
		return NULL;
	const struct ms_frame *f = &t->frames.v[t->nodes.v[node].frame];
	const struct ms_row *m = f->flags & MS_FRAME_HEAP ? ms_module_of(t, f->module) : NULL;
	return m ? m->text[MS_MODULE_PATH - 2] : NULL;
}

int ms_fill_heaps(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "heap");
	for (size_t i = 0; i < w->r->backing.n && !in.none && !w->t->skipped; i++) {
		const struct ms_backing *h = &w->r->backing.v[i];
		const char *name = name_of(w->t, h->node);
		if (!name)
			continue;
		ms_put_row(&in, ms_int("process", w->p->id), ms_text("name", name),
			   ms_int("backing_bytes", h->bytes), ms_int("backing_blocks", h->blocks),
			   ms_int("backing_max_bytes", h->most_bytes),
			   ms_int("backings", h->taken));
	}
	return ms_insert_close(&in);
}
