/* SPDX-License-Identifier: MIT
 * Writes the rows of module, frame and stack from a trace's frames and nodes, and finds by their
 * stacks which sites are known one-time allocations of the runtime.
 *
 * A frame of the trace is a return address; by the debug information, several functions may be
 * inlined there. Each of these logical frames becomes a row of `frame`, and each node of the
 * trace becomes as many rows of `stack`, one per logical frame:
 *
 *   trace:   node 3 (caller) <- node 4
 *   stack:   7 outer() <- 8 f() <- 9 g() [inlined into f] = row_of_node[4]
 *
 * Only nodes on the way from a site to its root are written, parents first.
 */
#include "snapshot_private.h"
#include "libcommon/base/path.h"
#include "libcommon/base/order.h"
#include "libcommon/base/progress.h"

#include "libcommon/base/arena.h"
#include "libcommon/symbols/frame_places.h"
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/names/one_time.h"
#include "libcommon/names/runtime.h"
#include "snapshot_insert.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/names/wrappers.h"
#include "format/trace.h"

#include <stdio.h>
#include <stdlib.h>

struct work {
	struct ms_filling *f;
	const struct ms_fill *fill;
	const struct ms_recording *t;
	struct ms_stack_rows *out;
	bool *used_frames;
	struct ms_logical *frames; /* logical frames by frame number */
	MS_ARRAY(struct ms_location) locations;
	struct ms_stack_place *places; /* place (logical frame) of each location in `locations` */
	struct ms_signs *signs;        /* one-time bits of each place, without its callers' */
	uint32_t *user_of_node; /* row of the frame after which sites with this innermost node are
				   named */
	struct ms_signs *signs_of_node; /* one-time bits of each node's stack */
	int *handles; /* handle of each module by id (ms_symbols_module), -1 = not looked up; [0]:
			 no module */
	int64_t module_base;
};

/* ---- modules ---- */

/* Returns the state of a module's symbols: from the lookup now, else from the trace; NULL if
 * neither is known. */
static const char *symbol_state(const struct work *w, uint32_t id)
{
	static const char *const names[] = {"none",     "elf",     "dwarf",   "missing",
					    "mismatch", "damaged", "partial", "refused"};
	int handle = w->handles[id], found = -1;
	const struct ms_row *m = ms_module_of(w->t, id);
	if (m && m->number[MS_MODULE_KIND] == MS_SYMBOLS_SOURCE)
		return names[MS_SYMBOLS_DWARF]; /* a source file: its frames have lines */
	if (handle >= 0)
		found = ms_symbols_module_state(w->f->symbols, handle, NULL);
	bool some = found >= 0 && found != MS_SYMBOLS_NONE && found != MS_SYMBOLS_MISSING &&
		    found != MS_SYMBOLS_MISMATCH && found != MS_SYMBOLS_REFUSED;
	for (size_t i = w->t->states.n; i-- > 0 && !some;)
		if (w->t->states.v[i].module == id)
			return MS_WORD(names, w->t->states.v[i].state);
	return MS_WORD(names, (unsigned)found);
}

static int fill_modules(struct work *w)
{
	static const char *const kinds[] = {"file", "vdso", "jit", "recorder", "heap", "source"};
	struct ms_insert in = ms_large_rows(w->fill, "module");
	for (uint32_t id = 1; id <= w->t->modules.n; id++) {
		const struct ms_row *m = ms_module_of(w->t, id);
		if (!m)
			continue;
		char hex[2 * 64 + 1] = "";
		size_t bytes = m->text[MS_MODULE_BUILD_ID - 2] ? m->number[MS_MODULE_BUILD_ID] : 0;
		for (size_t i = 0; i < bytes && i < 64; i++)
			sprintf(hex + 2 * i, "%02x",
				(unsigned char)m->text[MS_MODULE_BUILD_ID - 2][i]);
		uint64_t kind = m->number[MS_MODULE_KIND], unloaded = m->number[MS_MODULE_UNLOADED];
		ms_put_row(&in, ms_int("id", w->module_base + id),
			   ms_int("process", w->fill->p->id),
			   ms_text("path", m->text[MS_MODULE_PATH - 2]),
			   ms_text("build_id", bytes ? hex : NULL),
			   ms_address("start", m->number[MS_MODULE_START]),
			   ms_address("end", m->number[MS_MODULE_END]),
			   ms_address("bias", m->number[MS_MODULE_BIAS]),
			   MS_FIELD("loaded_ns", m, MS_MODULE_LOADED),
			   ms_int_if("unloaded_ns", unloaded != 0, unloaded),
			   ms_text("kind", MS_WORD(kinds, kind)),
			   ms_text("symbols", symbol_state(w, id)));
	}
	w->f->modules += (int64_t)w->t->modules.n;
	return ms_insert_close(&in);
}

/* ---- used nodes and frames ---- */

static void mark_stack(struct work *w, uint32_t n)
{
	const struct ms_recording *t = w->t;
	for (; n && n < t->nodes.n && !w->out->row_of_node[n]; n = t->nodes.v[n].parent) {
		w->out->row_of_node[n] = UINT32_MAX;
		w->used_frames[t->nodes.v[n].frame] = true;
	}
}

static void mark_used(struct work *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_beside *b = t->replay.beside;
	w->out->row_of_node = ms_xcalloc(t->nodes.n + 1, sizeof *w->out->row_of_node);
	w->user_of_node = ms_xcalloc(t->nodes.n + 1, sizeof *w->user_of_node);
	w->signs_of_node = ms_xcalloc(t->nodes.n + 1, sizeof *w->signs_of_node);
	for (size_t s = 0; s < t->replay.site_count; s++)
		mark_stack(w, t->replay.sites[s].node);
	for (size_t i = 0; b && i < b->frees.n; i++)
		mark_stack(w, b->frees.v[i].stack);
}

/* ---- symbols ---- */

static void places_from_trace(struct work *w, uint32_t frame)
{
	uint32_t n = ms_frame_told_count(w->t, frame);
	for (uint32_t i = 0; i < n; i++)
		*MS_PUSH(&w->locations) = ms_frame_told_at(w->t, frame, i);
}

static void places_from_files(struct work *w, const struct ms_frame *fr)
{
	struct ms_frame_question q;
	if (!ms_frame_question(w->t, fr, &q))
		return;
	int *handle = &w->handles[fr->module];
	if (*handle < 0)
		*handle = ms_symbols_module_of(w->f->symbols, &q.module);
	struct ms_location found[MS_CHAIN_MAX];
	size_t n = ms_symbols_find(w->f->symbols, *handle, q.address, found, MS_CHAIN_MAX);
	for (size_t i = 0; i < n && i < MS_CHAIN_MAX; i++)
		*MS_PUSH(&w->locations) = found[i];
}

/* Tells whether the last of the locations found from index `first` on has a function name. */
static bool names_one(const struct work *w, size_t first)
{
	return w->locations.n > first && w->locations.v[w->locations.n - 1].function;
}

static int by_address(const void *a, const void *b, void *recording)
{
	const struct ms_recording *t = recording;
	const struct ms_frame *x = &t->frames.v[*(const uint32_t *)a],
			      *y = &t->frames.v[*(const uint32_t *)b];
	return MS_ORDER(x->module, y->module) ?: MS_ORDER(x->address, y->address);
}

/* Finds the places of every used frame, in the order of addresses, which is fastest for debug
 * information. */
static void find_places(struct work *w)
{
	const struct ms_recording *t = w->t;
	uint32_t *order = ms_xrealloc(NULL, t->frames.n, sizeof *order);
	size_t n = 0;
	for (uint32_t i = 0; i < t->frames.n; i++)
		if (w->used_frames[i])
			order[n++] = i;
	qsort_r(order, n, sizeof *order, by_address, (void *)t);
	for (size_t i = 0; i < n; i++) {
		const struct ms_frame *fr = &t->frames.v[order[i]];
		const struct ms_row *m = ms_module_of(t, fr->module);
		if (w->f->one_process)
			ms_progress("looking up symbols", "frames", i, n,
				    m ? ms_base_name(m->text[MS_MODULE_PATH - 2]) : NULL);
		struct ms_logical *l = &w->frames[order[i]];
		l->first = (uint32_t)w->locations.n;
		if (!ms_frame_note(fr) && order[i]) {
			bool told = ms_frame_told(t, order[i]);
			if (w->f->symbols && (!told || w->f->look_again))
				places_from_files(w, fr);
			if (told && !names_one(w, l->first)) {
				w->locations.n = l->first;
				places_from_trace(w, order[i]);
			}
		}
		if (w->locations.n == l->first)
			*MS_PUSH(&w->locations) = (struct ms_location){0};
		l->count = (uint32_t)w->locations.n - l->first;
	}
	free(order);
}

/* ---- rows ---- */

/* Returns the note of a frame that stands for missing frames or for a heap, whose name is
 * included; NULL for any other frame. */
static const char *note_in_full(const struct ms_frame *fr, const struct ms_row *m, char room[300])
{
	const char *name = m ? m->text[MS_MODULE_PATH - 2] : NULL;
	if (!(fr->flags & MS_FRAME_HEAP) || !name)
		return ms_frame_note(fr);
	snprintf(room, 300, "heap %s", name);
	return room;
}

/* Fills w->places and w->signs from each place alone, without its callers. */
static void judge_places(struct work *w)
{
	const struct ms_recording *t = w->t;
	w->places = ms_xcalloc(w->locations.n, sizeof *w->places);
	w->signs = ms_xcalloc(w->locations.n, sizeof *w->signs);
	for (uint32_t i = 0; i < t->frames.n; i++) {
		const struct ms_frame *fr = &t->frames.v[i];
		const struct ms_row *m = ms_module_of(t, fr->module);
		const char *path = m ? m->text[MS_MODULE_PATH - 2] : NULL;
		bool note = !i || ms_frame_note(fr);
		for (uint32_t k = 0; w->locations.v && k < w->frames[i].count; k++) {
			uint32_t at = w->frames[i].first + k;
			const struct ms_location *p = &w->locations.v[at];
			bool runtime = note || ms_frame_is_runtime(t, fr, p);
			w->places[at] = (struct ms_stack_place){
				p, i, fr->module, runtime,
				!runtime && ms_is_wrapper(p->function, w->f->wrappers)};
			w->signs[at] = (struct ms_signs){
				runtime ? ms_one_time_signs(path, p->function) : 0,
				!runtime || note};
			w->out->without_symbol += !note && !p->function;
		}
	}
}

/* Writes the used frames. Frame number 0 stands for a frame lost by damage. */
static int fill_frames(struct work *w)
{
	const struct ms_recording *t = w->t;
	struct ms_insert in = ms_large_rows(w->fill, "frame");
	for (uint32_t i = 0; i < t->frames.n; i++) {
		const struct ms_frame *fr = &t->frames.v[i];
		const struct ms_row *m = ms_module_of(t, fr->module);
		char room[300];
		const char *note = i ? note_in_full(fr, m, room) : "truncated";
		if (!w->frames[i].count)
			continue;
		w->frames[i].row = w->f->frames + 1;
		for (uint32_t k = 0; k < w->frames[i].count; k++) {
			const struct ms_stack_place *p = &w->places[w->frames[i].first + k];
			w->f->frames++;
			ms_put_row(
				&in, ms_int("id", w->f->frames), ms_int("process", w->fill->p->id),
				ms_int_if("module", m != NULL, w->module_base + fr->module),
				note ? ms_null("address") : ms_address("address", fr->address),
				ms_text("function", p->at->function), ms_text("file", p->at->file),
				ms_int_if("line", p->at->line != 0, p->at->line),
				ms_int("inlined", p->at->inlined), ms_int("runtime", p->runtime),
				ms_text("note", note));
		}
	}
	return ms_insert_close(&in);
}

/* Returns the one-time bits of a frame together with those of its callers. A frame has a bit
 * (one_time.h) only if no user code lies between the frame and the allocator. */
static struct ms_signs join(struct ms_signs frame, const struct ms_signs *caller)
{
	if (!frame.user)
		frame.signs |= caller->signs & ~ms_one_time_inner();
	frame.user |= caller->user;
	return frame;
}

/* Writes the used nodes. A node's user frame is the first of its own logical frames that is neither
 * runtime nor a wrapper of malloc; if there is none, the user frame of its caller. If all frames
 * are runtime or wrappers, it is the outermost wrapper; without wrappers, the site is named after
 * its innermost frame. Parents come first, so one pass is enough. */
static int fill_stacks(struct work *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_row_taker *taker = w->f->taker;
	struct ms_insert in = ms_rows(w->fill, "stack");
	uint32_t *depth = taker ? NULL : ms_xcalloc(t->nodes.n + 1, sizeof *depth);
	unsigned __int128 *keys = NULL, *key_of = NULL, key = 0;
	if (!w->f->no_site_details) {
		keys = ms_place_keys(t, w->places, w->locations.n);
		w->out->key_of_node = key_of = ms_xcalloc(t->nodes.n + 1, sizeof *key_of);
	}
	for (uint32_t n = 1; n < t->nodes.n; n++) {
		if (!w->out->row_of_node[n])
			continue;
		uint32_t caller = t->nodes.v[n].parent;
		const struct ms_logical *l = &w->frames[t->nodes.v[n].frame];
		int64_t parent = caller ? w->out->row_of_node[caller] : 0;
		int64_t user = caller ? w->user_of_node[caller] : 0;
		struct ms_signs signs = w->signs_of_node[caller];
		uint32_t deep = depth && caller ? depth[caller] : 0;
		key = caller && key_of ? key_of[caller] : MS_KEY_BASIS;
		for (uint32_t k = l->count; k-- > 0;) {
			w->f->stacks++;
			if (taker)
				taker->stack(taker->arg, parent, l->row + k);
			else
				ms_put_row(&in, ms_int("id", w->f->stacks),
					   ms_int("process", w->fill->p->id),
					   ms_int_if("parent", parent != 0, parent),
					   ms_int("frame", l->row + k), ms_int("depth", deep));
			deep++;
			parent = w->f->stacks;
			const struct ms_stack_place *p = &w->places[l->first + k];
			if (!p->runtime && (!p->wrapper || !user))
				user = parent;
			signs = join(w->signs[l->first + k], &signs);
			key = keys ? ms_key_with(key, keys[l->first + k]) : key;
		}
		if (depth)
			depth[n] = deep;
		if (key_of)
			key_of[n] = key;
		w->out->row_of_node[n] = (uint32_t)parent;
		w->user_of_node[n] = (uint32_t)user;
		w->signs_of_node[n] = signs;
	}
	MS_FREE(depth, keys);
	return ms_insert_close(&in);
}

/* Fills in the rows of the sites, and frees what is known of nodes, of which there are several times as
 * many. */
static void fill_of_sites(struct work *w)
{
	const struct ms_replay *r = &w->t->replay;
	struct ms_stack_rows *out = w->out;
	out->of_site = ms_xcalloc(r->site_count, sizeof *out->of_site);
	for (size_t i = 0; i < r->site_count; i++) {
		uint32_t node = r->sites[i].node < w->t->nodes.n ? r->sites[i].node : 0;
		if (out->row_of_node[node])
			out->of_site[i] = (struct ms_site_stack){out->row_of_node[node],
								 w->user_of_node[node],
								 w->signs_of_node[node]};
	}
	MS_FREE(w->user_of_node, w->signs_of_node);
	if (r->beside)
		return;
	free(out->row_of_node);
	out->row_of_node = NULL;
	struct ms_recording *t = w->fill->p->rec;
	if (!r->brief || r->backing.n || t->retention.roots.n || t->retention.rows.n)
		return;
	free(t->nodes.v); /* a first screen needs no more of them */
	t->nodes.v = NULL;
	t->nodes.n = t->nodes.cap = 0;
}

/* ---- entry points ---- */

/* Returns the function of the allocator that is called by the call instruction before the
 * innermost frame's return address; NULL = unknown. */
static const char *called_by(struct work *w, uint32_t frame)
{
	const struct ms_frame *fr = &w->t->frames.v[frame];
	struct ms_frame_question q;
	if (!w->f->symbols || !fr->module || !ms_frame_question(w->t, fr, &q))
		return NULL;
	int *handle = &w->handles[fr->module];
	if (*handle < 0)
		*handle = ms_symbols_module_of(w->f->symbols, &q.module);
	return ms_entry_point(ms_symbols_called(w->f->symbols, *handle, q.address));
}

/* Returns the name of a frame that is a function of the allocator, else NULL. */
static const char *own_entry(const struct work *w, uint32_t frame)
{
	const struct ms_logical *l = &w->frames[frame];
	return l->count && w->locations.v ? ms_entry_point(w->locations.v[l->first].function)
					  : NULL;
}

/* Finds the allocator's function that each site calls: the outermost frame that is a function of
 * the allocator (operator new rather than malloc below it), else the target of the call
 * instruction. */
static void find_entries(struct work *w)
{
	const struct ms_recording *t = w->t;
	struct entry {
		bool asked, own, looked; /* own: the frame is itself a function of the allocator */
		const char *name;
	} *of = ms_xcalloc(t->frames.n + 1, sizeof *of);
	w->out->entry_of_site = ms_xcalloc(t->replay.site_count + 1, sizeof *w->out->entry_of_site);
	for (size_t s = 0; s < t->replay.site_count; s++) {
		const struct ms_replay_site *site = &t->replay.sites[s];
		const char **entry = &w->out->entry_of_site[s];
		uint32_t node = site->node < t->nodes.n ? site->node : 0;
		for (bool own = true; own && node; node = t->nodes.v[node].parent) {
			uint32_t frame = t->nodes.v[node].frame;
			struct entry *e = &of[frame];
			if (!e->asked)
				e->name = own_entry(w, frame);
			e->own = e->asked ? e->own : e->name != NULL;
			e->asked = true;
			own = e->own;
			if (!own && node == site->node && !e->looked) {
				e->name = called_by(w, frame);
				e->looked = true;
			}
			*entry = own || node == site->node ? e->name : *entry;
		}
		if (!*entry && t->replay.rare[s].reallocations)
			*entry = "realloc";
	}
	free(of);
}

int ms_fill_stacks(struct ms_fill *fill)
{
	const struct ms_recording *t = fill->t;
	struct work w = {.f = fill->f,
			 .fill = fill,
			 .t = t,
			 .out = &fill->stacks,
			 .module_base = fill->f->modules};
	w.used_frames = ms_xcalloc(t->frames.n + 1, sizeof *w.used_frames);
	w.frames = ms_xcalloc(t->frames.n, sizeof *w.frames);
	w.handles = ms_xrealloc(NULL, t->modules.n + 1, sizeof *w.handles);
	for (size_t i = 0; i <= t->modules.n; i++)
		w.handles[i] = -1;
	mark_used(&w);
	find_places(&w);
	judge_places(&w);
	ms_find_wrappers(t, w.frames, w.places, w.locations.n);
	int rc = fill_modules(&w) || fill_frames(&w) || fill_stacks(&w) ? -1 : 0;
	fill_of_sites(&w);
	/* find_entries comes last, because it loads modules whose symbols were not needed so far */
	if (!w.f->no_site_details)
		find_entries(&w);
	MS_FREE(w.used_frames, w.frames, w.handles, w.locations.v, w.places, w.signs);
	return rc;
}

/* ---- known one-time allocations ---- */

int ms_fill_one_time(struct ms_filling *f)
{
	struct ms_insert u = ms_update(f->db, "site", 1, f->err);
	sqlite3_stmt *q = ms_sql_prepare(
		f->db, "SELECT max(live_blocks) FROM site_stat WHERE site = ?", f->err);
	for (size_t i = 0; q && i < f->signs.n; i++) {
		const struct ms_site_signs *s = &f->signs.v[i];
		sqlite3_bind_int64(q, 1, s->site);
		ms_sql_next(f->db, q, f->err);
		struct ms_one_time_site site = {.blocks = (uint64_t)sqlite3_column_int64(q, 0),
						.user = s->signs.user};
		const char *name = ms_one_time(s->signs.signs, &site);
		sqlite3_reset(q);
		if (name)
			ms_put_row(&u, ms_text("one_time", name), ms_int("id", s->site));
	}
	sqlite3_finalize(q);
	return ms_insert_close(&u) || !q ? -1 : 0;
}
