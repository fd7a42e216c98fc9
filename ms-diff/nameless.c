/* SPDX-License-Identifier: MIT
 * Matches spots in modules whose functions have names on one side only.
 *
 * In equal builds (by build-id) a file offset is more precise than a name, so the frames that exist
 * without debug information are compared by address, which is exact. In different builds only the
 * shape of a stack remains: its modules, the number of frames, and the names of frames in other
 * modules. Spots of one shape with equal numbers of allocations and bytes are matched if both sides
 * have equally many of those. For all others it is not known whether they are new.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"

/* ---- modules with names on one side only ---- */

static void count_frames(struct matching *m, const struct run *r)
{
	for (size_t i = 0; i < r->m.frames.n; i++) {
		const struct frame *f = &r->m.frames.v[i];
		if (f->module == NONE || f->note || f->inlined || f->runtime)
			continue;
		uint32_t name = r->builds[f->module].name;
		while (m->names.n <= name)
			*MS_PUSH(&m->names) = (struct name_count){{{0}}, false};
		m->names.v[name].frames[r->side][f->function != NULL]++;
	}
}

/* Returns the percentage of frames without names. */
static size_t without_names(const struct name_count *c, int side)
{
	size_t all = c->frames[side][0] + c->frames[side][1];
	return all ? c->frames[side][0] * 100 / all : 0;
}

void nameless_find(struct matching *m)
{
	for (size_t i = 0; i < m->s->every.n; i++)
		count_frames(m, m->s->every.v[i]);
	for (size_t i = 0; i < m->names.n; i++) {
		struct name_count *c = &m->names.v[i];
		size_t old = without_names(c, OLD), new = without_names(c, NEW);
		size_t most = old > new ? old : new, least = old > new ? new : old;
		bool both = c->frames[OLD][0] + c->frames[OLD][1] &&
			    c->frames[NEW][0] + c->frames[NEW][1];
		c->nameless = both && most >= 25 && least * 4 <= most;
	}
}

static bool is_nameless(const struct matching *m, uint32_t module)
{
	return module < m->names.n && m->names.v[module].nameless;
}

static const char *path_of(const struct matching *m, enum side side, uint32_t module)
{
	for (size_t i = 0; i < m->s->runs[side].n; i++) {
		const struct run *r = m->s->runs[side].v[i];
		for (size_t k = 0; k < r->m.modules.n; k++)
			if (r->builds[k].name == module && r->m.modules.v[k].path)
				return r->m.modules.v[k].path;
	}
	return "?";
}

const char *nameless_modules(struct matching *m, enum side side)
{
	const char *s = NULL;
	for (uint32_t i = 0; i < m->names.n; i++) {
		const struct name_count *c = &m->names.v[i];
		if (!c->nameless || without_names(c, side) < without_names(c, !side))
			continue;
		const char *path = path_of(m, side, i), *slash = strrchr(path, '/');
		s = ms_arena_printf(&m->arena, "%s%s%s", s ? s : "", s ? ", " : "",
				    slash && slash[1] ? slash + 1 : path);
	}
	return s;
}

/* ---- keys of whole stacks ---- */

struct key {
	MS_ARRAY(uint64_t) words;
	bool nameless; /* some frame is in a module without names */
	bool exact;    /* all modules without names have the same build on both sides */
};

/* Makes a key from frames that exist with and without symbols. Inlined frames are omitted, since a
 * stripped build has none. Frames of the runtime are kept, since a stripped build does not identify
 * them. */
static void make_key(const struct matching *m, const struct run *r, const struct run_site *site,
		     bool by_address, struct key *k)
{
	k->words.n = 0;
	k->nameless = false;
	k->exact = true;
	*MS_PUSH(&k->words) = r->programs[site->process];
	for (uint32_t n = site->stack; n != NONE; n = r->m.nodes.v[n].parent) {
		const struct frame *f = &r->m.frames.v[r->m.nodes.v[n].frame];
		const struct build *module = f->module == NONE ? NULL : &r->builds[f->module];
		if (f->inlined)
			continue;
		bool bare = module && !f->note && is_nameless(m, module->name);
		k->nameless |= bare;
		k->exact &= !bare || (module->shared && f->address != UNKNOWN);
		*MS_PUSH(&k->words) = module ? module->name : NONE;
		*MS_PUSH(&k->words) = !bare ? run_token(r, f) : by_address ? frame_offset(r, f) : 0;
	}
}

/* ---- equal builds: by address ---- */

static uint32_t root_of(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

/* Joins spots (places that allocate, see spots.h) whose stacks have equal addresses. Two calls in
 * one line are one spot if line numbers are known, and two spots if not. */
static void join_spots(struct matching *m, uint32_t *set)
{
	struct intern keys = {0};
	struct key k = {0};
	MS_ARRAY(uint32_t) first = {0};
	for (size_t i = 0; i < m->s->every.n; i++) {
		const struct run *r = m->s->every.v[i];
		for (size_t j = 0; j < r->sites.n; j++) {
			uint32_t spot = r->sites.v[j].spot;
			if (m->s->all.v[spot].row != NONE)
				continue;
			make_key(m, r, &r->sites.v[j], true, &k);
			if (!k.nameless || !k.exact)
				continue;
			uint32_t key = intern(&keys, k.words.v, k.words.n * sizeof *k.words.v);
			if (key < first.n)
				set[root_of(set, spot)] = root_of(set, first.v[key]);
			else
				*MS_PUSH(&first) = spot;
		}
	}
	MS_FREE(first.v, k.words.v);
	intern_free(&keys);
}

static void pair_addresses(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n)
{
	(void)arg;
	if (old && old < n)
		match_row(m, MATCHED_EXACT,
			  "the same build, matched by address: the old or the new run has "
			  "no symbols",
			  spots, n);
}

static void match_addresses(struct matching *m)
{
	size_t n = m->s->all.n;
	uint32_t *set = ms_xrealloc(NULL, n + 1, sizeof *set);
	uint32_t *roots = ms_xrealloc(NULL, n + 1, sizeof *roots);
	for (uint32_t i = 0; i < n; i++)
		set[i] = i;
	join_spots(m, set);
	for (uint32_t i = 0; i < n; i++)
		roots[i] = m->s->all.v[i].row == NONE ? root_of(set, i) : NONE;
	match_groups(m, roots, pair_addresses, NULL);
	MS_FREE(set, roots);
}

/* ---- different builds: by shape and figures ---- */

/* Stores for each spot, in `of`, a key made from the stack of the spot's first site and from the
 * spot's figures. NONE = no frame is in a module without names. */
static void find_shapes(struct matching *m, uint32_t *of)
{
	struct key k = {0};
	struct intern keys = {0};
	for (size_t i = 0; i < m->s->every.n; i++) {
		const struct run *r = m->s->every.v[i];
		for (size_t j = 0; j < r->sites.n; j++) {
			uint32_t spot = r->sites.v[j].spot;
			const struct spot *p = &m->s->all.v[spot];
			if (p->row != NONE || of[spot] != NONE || p->allocations <= 0)
				continue;
			make_key(m, r, &r->sites.v[j], false, &k);
			if (!k.nameless)
				continue;
			uint64_t figures[2];
			memcpy(&figures[0], &p->allocations, sizeof figures[0]);
			memcpy(&figures[1], &p->bytes, sizeof figures[1]);
			*MS_PUSH(&k.words) = figures[0];
			*MS_PUSH(&k.words) = figures[1];
			of[spot] = intern(&keys, k.words.v, k.words.n * sizeof *k.words.v);
		}
	}
	free(k.words.v);
	intern_free(&keys);
}

static void pair_shapes(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n)
{
	(void)arg;
	if (old * 2 == n)
		match_row(m, MATCHED_FIGURES,
			  "the old or the new run has no symbols: matched by modules, "
			  "number of frames, allocations and allocated bytes",
			  spots, n);
}

static void match_shapes(struct matching *m)
{
	size_t n = m->s->all.n;
	uint32_t *of = ms_xrealloc(NULL, n + 1, sizeof *of);
	memset(of, 0xff, n * sizeof *of);
	find_shapes(m, of);
	match_groups(m, of, pair_shapes, NULL);
	free(of);
}

/* ---- */

static bool any(const struct matching *m)
{
	for (size_t i = 0; i < m->names.n; i++)
		if (m->names.v[i].nameless)
			return true;
	return false;
}

void nameless_match(struct matching *m)
{
	if (!any(m))
		return;
	match_addresses(m);
	match_shapes(m);
}

bool nameless_hides(const struct matching *m, const struct spot *p)
{
	size_t n;
	const struct link *v = spot_chain(m->s, p, &n);
	for (size_t i = 0; i < n && !p->same_build; i++)
		if (is_nameless(m, v[i].module))
			return true;
	return false;
}
