/* SPDX-License-Identifier: MIT
 * Writes what keeps live blocks reachable: tables retention, keeper, keeper_set and kept.
 */
#include "format/trace.h"
#include "libcommon/symbols/frame_places.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <inttypes.h>

/* ---- which scans ---- */

/* Lists the scans that are written, and which of them have rows. */
struct work {
	struct ms_fill *w;
	const struct ms_retentions *r;
	const struct ms_retention_scan *v;
	size_t n;
	bool *known, *done;         /* by scan */
	struct ms_members *members; /* likewise */
	struct ms_arena arena;
};

static int put_scans(struct work *k)
{
	struct ms_insert in = ms_rows(k->w, "retention");
	for (size_t i = 0; i < k->n; i++) {
		const struct ms_retention_head *h = &k->v[i].head;
		bool done = h->state == MS_SCAN_DONE;
		if (!k->known[i])
			continue;
		ms_put_row(&in, ms_int("process", k->w->p->id), ms_int("scan", h->scan),
			   ms_text("state",
				   done && !k->done[i] ? "damaged" : ms_scan_state_name(h->state)),
			   ms_int_if("live_bytes", k->done[i], h->live_bytes),
			   ms_int_if("kept_bytes", k->done[i], h->kept_bytes),
			   ms_int_if("unreachable_bytes", k->done[i], h->unreachable_bytes),
			   ms_int_if("blocks", k->done[i], h->blocks),
			   ms_int_if("edges", k->done[i], h->edges), ms_int("took_ns", h->took_ns));
	}
	return ms_insert_close(&in);
}

/* ---- keepers ---- */

/* Looks up the physical function of a stack node's frame, into which others may be inlined. */
static struct ms_location function_at(const struct ms_fill *w, uint64_t node)
{
	struct ms_location found[MS_CHAIN_MAX] = {{0}};
	struct ms_frame_question q;
	uint32_t frame = node && node < w->t->nodes.n ? w->t->nodes.v[node].frame : 0;
	const struct ms_frame *f = &w->t->frames.v[frame];
	if (!frame || ms_frame_note(f))
		return found[0];
	bool told = ms_frame_told(w->t, frame);
	uint32_t n = told ? ms_frame_told_count(w->t, frame) : 0;
	if (w->f->symbols && (!n || w->f->look_again) && ms_frame_question(w->t, f, &q)) {
		int module = ms_symbols_module_of(w->f->symbols, &q.module);
		size_t all = ms_symbols_find(w->f->symbols, module, q.address, found, MS_CHAIN_MAX);
		const struct ms_location *outer =
			&found[all < MS_CHAIN_MAX ? all - 1 : MS_CHAIN_MAX - 1];
		if (outer->function || !n)
			return *outer;
	}
	return n ? ms_frame_told_at(w->t, frame, n - 1) : found[0];
}

struct ms_variable ms_declaration_of(const struct ms_fill *w, const struct ms_retention_root *root)
{
	struct ms_variable v = {0};
	struct ms_frame_question q;
	bool in_thread = root->kind == MS_KEEPER_THREAD_LOCAL;
	uint32_t module = root->module <= w->t->modules.n ? (uint32_t)root->module : 0;
	if ((root->kind != MS_KEEPER_VARIABLE && !in_thread) || !module ||
	    ms_variable_told(w->t, module, root->offset, in_thread, &v) || !w->f->symbols ||
	    (w->t->has_symbols && !w->f->look_again) ||
	    !ms_frame_question(w->t, &(struct ms_frame){.module = module}, &q))
		return v;
	int handle = ms_symbols_module_of(w->f->symbols, &q.module);
	ms_symbols_variable(w->f->symbols, handle, root->offset, in_thread, &v);
	return v;
}

static uint32_t site_at(const struct ms_fill *w, uint64_t node)
{
	return node && node < w->r->node_count ? w->r->site_of_node[node] : 0;
}

static void put_keeper(struct work *k, struct ms_insert *in, const struct ms_retention_root *root,
		       struct ms_variable v, size_t roots)
{
	const struct ms_fill *w = k->w;
	const struct ms_row *m =
		root->module <= w->t->modules.n ? ms_module_of(w->t, (uint32_t)root->module) : NULL;
	const char *module = m ? m->text[MS_MODULE_PATH - 2] : NULL;
	bool frame = root->kind == MS_KEEPER_FRAME, mapping = root->kind == MS_KEEPER_MAPPING;
	struct ms_location at = frame ? function_at(w, root->stack) : (struct ms_location){0};
	bool observes = root->observes && root->observes <= roots && root->observes != root->root;
	bool threaded = root->thread && root->thread <= w->t->threads.n;
	uint32_t site = mapping ? site_at(w, root->stack) : 0;
	ms_put_row(in, ms_int("process", w->p->id), ms_int("scan", root->scan),
		   ms_int("id", root->root), ms_text("kind", ms_keeper_word(root->kind)),
		   ms_text("name", frame ? at.function : ms_root_name(&k->arena, root, module)),
		   ms_text("module", module),
		   m ? ms_address("offset", root->offset) : ms_null("offset"),
		   ms_int_if("size", root->size, root->size),
		   ms_text("file", frame ? at.file : v.file),
		   ms_int_if("line", at.line | v.line, at.line | v.line),
		   ms_text("type", root->type_size ? root->type : v.type),
		   ms_text("thread",
			   threaded ? w->t->threads.v[root->thread - 1].text[MS_THREAD_NAME - 2]
				    : NULL),
		   ms_int_if("site", site, site ? w->row_of_site[site - 1] : 0),
		   ms_int_if("observes", observes, root->observes));
}

static int put_keepers(struct work *k)
{
	struct ms_insert in = ms_rows(k->w, "keeper");
	for (size_t i = 0; i < k->n; i++) {
		for (size_t n = 0; k->done[i] && n < k->v[i].root_count; n++) {
			const struct ms_retention_root *root =
				&k->r->roots.v[k->v[i].first_root + n];
			put_keeper(k, &in, root, ms_declaration_of(k->w, root), k->v[i].root_count);
		}
		for (size_t n = 0; n < k->members[i].n; n++)
			put_keeper(k, &in, &k->members[i].v[n].root, k->members[i].v[n].at, 0);
	}
	return ms_insert_close(&in);
}

static void put_member(const struct ms_fill *w, struct ms_insert *in,
		       const struct ms_retention_set *set, uint64_t root)
{
	ms_put_row(in, ms_int("process", w->p->id), ms_int("scan", set->scan),
		   ms_int("id", set->set), ms_int_if("keeper", root, root));
}

static int put_sets(struct work *k)
{
	struct ms_insert in = ms_rows(k->w, "keeper_set");
	for (size_t i = 0; i < k->n; i++)
		for (size_t n = 0; k->done[i] && n < k->v[i].set_count; n++) {
			const struct ms_retention_set *s = &k->r->sets.v[k->v[i].first_set + n];
			for (size_t m = 0; m < s->root_count; m++)
				put_member(k->w, &in, s, s->roots[m]);
			if (s->others)
				put_member(k->w, &in, s, 0);
		}
	return ms_insert_close(&in);
}

/* ---- rows ---- */

/* Returns the path to a row's blocks as JSON; NULL = it is not known. */
static const char *path_of(const struct ms_fill *w, struct ms_arena *a,
			   const struct ms_retention_row *r)
{
	if (!r->path_root)
		return NULL;
	const char *text = ms_arena_printf(a, "[%" PRIu64, r->path_root);
	for (size_t i = 0; i < r->path_count; i++) {
		const struct ms_retention_step *s = &r->path[i];
		uint32_t site = site_at(w, s->stack);
		const char *number =
			site ? ms_arena_printf(a, "%" PRId64, w->row_of_site[site - 1]) : "null";
		text = ms_arena_printf(a, "%s,[%s,%" PRIu64 "%s]", text, number,
				       s->count <= INT64_MAX ? s->count : (uint64_t)INT64_MAX,
				       s->mapping ? ",1" : "");
	}
	return ms_arena_printf(a, "%s]", text);
}

static void put_row(struct work *k, struct ms_insert *in, const struct ms_retention_row *r)
{
	const struct ms_fill *w = k->w;
	uint32_t site = r->parent ? site_at(w, r->stack) : 0;
	bool offset = r->parent && r->offset != MS_RETENTION_NO_OFFSET,
	     mapping = r->flags & MS_KEPT_MAPPING;
	ms_put_row(in, ms_int("process", w->p->id), ms_int("scan", r->scan), ms_int("id", r->row),
		   ms_int_if("parent", r->parent, r->parent), ms_int_if("keeper", r->root, r->root),
		   ms_int_if("set_id", r->set, r->set),
		   ms_int_if("site", site, site ? w->row_of_site[site - 1] : 0),
		   ms_int("bytes", r->bytes), ms_int("blocks", r->blocks),
		   ms_int("retained_bytes", r->retained_bytes),
		   ms_int("retained_blocks", r->retained_blocks),
		   ms_int_if("mapped_bytes", mapping, r->mapped_bytes),
		   ms_int_if("offset", offset, r->offset), ms_int("depth", r->depth ? r->depth : 1),
		   ms_int("rest", (r->flags & MS_KEPT_REST) != 0),
		   ms_text("type", ms_symbol_plain(&k->arena, r->type)),
		   ms_text("path", path_of(w, &k->arena, r)),
		   ms_int_if("path_blocks", r->path_root && r->path_blocks, r->path_blocks),
		   ms_int_if("path_cut", r->path_root, r->path_cut));
}

static int put_rows(struct work *k)
{
	struct ms_insert in = ms_rows(k->w, "kept");
	for (size_t i = 0; i < k->n; i++)
		for (size_t n = 0; n < k->members[i].rows.n; n++)
			put_row(k, &in, &k->members[i].rows.v[n]);
	return ms_insert_close(&in);
}

int ms_fill_retention(struct ms_fill *w)
{
	const struct ms_retentions *r = &w->t->retention;
	struct work k = {.w = w, .r = r, .v = r->scans.v, .n = r->scans.n};
	if (!k.n)
		return 0;
	k.known = ms_xcalloc(k.n, sizeof *k.known);
	k.done = ms_xcalloc(k.n, sizeof *k.done);
	k.members = ms_xcalloc(k.n, sizeof *k.members);
	for (size_t i = 0; i < k.n; i++) {
		k.known[i] = ms_recording_scan(w->t, k.v[i].head.scan) != NULL;
		k.done[i] = k.known[i] && ms_retention_is_whole(w->t, &k.v[i]);
		if (k.done[i])
			ms_divide(w, &k.v[i], &k.arena, &k.members[i]);
	}
	int rc = put_scans(&k) || put_keepers(&k) || put_sets(&k) || put_rows(&k) ? -1 : 0;
	for (size_t i = 0; i < k.n; i++)
		MS_FREE(k.members[i].v, k.members[i].rows.v);
	MS_FREE(k.known, k.done, k.members);
	ms_arena_free(&k.arena);
	return rc;
}
