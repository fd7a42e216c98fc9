/* SPDX-License-Identifier: MIT
 * Converts the stacks of each run to chains of names that are equal in every build.
 */
#include "spots.h"

#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/path.h"

#define NO_NAME "?"

const char *spot_name(const struct spots *s, uint32_t name)
{
	return interned(&s->names, name)->bytes;
}

bool link_is_named(const struct spots *s, const struct link *l)
{
	char c = spot_name(s, l->function)[0];
	return c != NO_NAME[0] && c != '+';
}

const struct link *spot_chain(const struct spots *s, const struct spot *p, size_t *n)
{
	const struct interned *x = interned(&s->chains, p->key);
	*n = x->size / sizeof(struct link) - 1;
	return (const struct link *)x->bytes + 1;
}

/* ---- names ---- */

/* Numbers the names of programs and modules. The main program is named "", because its name may
 * differ in the other build. */
static void name_programs(struct spots *s, struct run *r)
{
	const char *first = r->m.processes.n ? r->m.processes.v[0].exe : NULL;
	r->programs = ms_arena_alloc(&r->m.arena, (r->m.processes.n + 1) * sizeof *r->programs);
	r->builds = ms_arena_alloc(&r->m.arena, (r->m.modules.n + 1) * sizeof *r->builds);
	for (size_t i = 0; i < r->m.processes.n; i++) {
		const char *exe = r->m.processes.v[i].exe;
		bool same = exe == first || (exe && first && strcmp(exe, first) == 0);
		r->programs[i] = intern_text(&s->names, same || !exe ? "" : ms_base_name(exe));
	}
	for (size_t i = 0; i < r->m.modules.n; i++) {
		const struct module *m = &r->m.modules.v[i];
		bool same = m->path && first && strcmp(m->path, first) == 0;
		r->builds[i].name =
			intern_text(&s->names, same      ? ""
					       : m->path ? normal_module(&s->arena, m->path)
							 : NO_NAME);
	}
}

/* Marks the builds that both sides have, identified by name and build-id. */
static void share_builds(struct spots *s)
{
	struct intern builds = {0};
	struct ms_arena a = {0};
	uint8_t *sides = NULL;
	size_t cap = 0;
	for (size_t i = 0; i < 2 * s->every.n; i++) {
		struct run *r = s->every.v[i % s->every.n];
		for (size_t k = 0; k < r->m.modules.n; k++) {
			struct build *m = &r->builds[k];
			const char *id = r->m.modules.v[k].build_id;
			if (!id)
				continue;
			uint32_t b =
				intern_text(&builds, ms_arena_printf(&a, "%u %s", m->name, id));
			sides = ms_xgrow(sides, &cap, (size_t)b + 1, 1);
			sides[b] |= (uint8_t)(1 << r->side);
			m->shared = sides[b] == 3;
		}
	}
	free(sides);
	intern_free(&builds);
	ms_arena_free(&a);
}

uint64_t frame_offset(const struct run *r, const struct frame *f)
{
	if (f->address == UNKNOWN || f->module == NONE)
		return f->address;
	uint64_t bias = r->m.modules.v[f->module].bias;
	return bias > f->address ? f->address : f->address - bias;
}

static const char *token_of(struct spots *s, const struct run *r, const struct frame *f)
{
	if (f->note)
		return ms_arena_printf(&s->arena, "[%s]", f->note);
	if (f->function)
		return normal_function(&s->arena, f->function);
	bool shared = f->module != NONE && r->builds[f->module].shared;
	if (shared && f->address != UNKNOWN)
		return ms_arena_printf(&s->arena, "+0x%llx",
				       (unsigned long long)frame_offset(r, f));
	return NO_NAME;
}

static void note_side(struct spots *s, uint32_t name, enum side side)
{
	while (s->sides.n <= name)
		*MS_PUSH(&s->sides) = 0;
	s->sides.v[name] |= (uint8_t)(1 << side);
}

static void name_frames(struct spots *s, struct run *r)
{
	struct ms_arena_mark mark = ms_arena_mark(&s->arena);
	r->tokens = ms_arena_alloc(&r->m.arena, (r->m.frames.n + 1) * sizeof *r->tokens);
	for (size_t i = 0; i < r->m.frames.n; i++) {
		r->tokens[i] = intern_text(&s->names, token_of(s, r, &r->m.frames.v[i]));
		note_side(s, r->tokens[i], r->side);
		ms_arena_release(&s->arena, mark);
	}
}

/* ---- stacks ---- */

struct chain {
	MS_ARRAY(struct link) links;
	MS_ARRAY(uint64_t) lines, whole, inner;
	bool same_build, weak;
};

static uint64_t line_of(const struct run *r, const struct frame *f)
{
	return f->line ? f->line : frame_offset(r, f);
}

static uint32_t module_of(const struct run *r, const struct frame *f)
{
	return f->module == NONE ? NONE : r->builds[f->module].name;
}

static void add_link(struct spots *s, const struct run *r, struct chain *c, const struct frame *f)
{
	struct link l = {module_of(r, f), run_token(r, f)};
	const struct link *last = c->links.n > 1 ? &c->links.v[c->links.n - 1] : NULL;
	bool nameless = !f->function && !f->note;
	*MS_PUSH(&c->lines) = line_of(r, f);
	if (!f->note)
		c->same_build &= f->module != NONE && r->builds[f->module].shared;
	c->weak |= nameless && strcmp(spot_name(s, l.function), NO_NAME) == 0;
	if (last && !nameless && last->module == l.module && last->function == l.function)
		return;
	*MS_PUSH(&c->links) = l;
}

static void make_chain(struct spots *s, const struct run *r, const struct run_site *site,
		       struct chain *c)
{
	c->links.n = c->lines.n = c->whole.n = c->inner.n = 0;
	bool inside = true;
	c->same_build = true;
	c->weak = false;
	*MS_PUSH(&c->links) = (struct link){NONE, r->programs[site->process]};
	for (int all = 0; all < 2 && c->links.n == 1; all++)
		for (uint32_t n = site->stack; n != NONE; n = r->m.nodes.v[n].parent) {
			const struct frame *f = &r->m.frames.v[r->m.nodes.v[n].frame];
			if (all || !f->runtime)
				add_link(s, r, c, f);
		}
	for (uint32_t n = site->stack; n != NONE; n = r->m.nodes.v[n].parent) {
		const struct frame *f = &r->m.frames.v[r->m.nodes.v[n].frame];
		*MS_PUSH(&c->whole) = (uint64_t)module_of(r, f) << 32 | run_token(r, f);
		*MS_PUSH(&c->whole) = line_of(r, f);
		inside = inside && f->runtime;
		if (inside)
			*MS_PUSH(&c->inner) = run_token(r, f);
	}
	for (size_t i = 0; i < c->lines.n / 2; i++) {
		uint64_t x = c->lines.v[i];
		c->lines.v[i] = c->lines.v[c->lines.n - 1 - i];
		c->lines.v[c->lines.n - 1 - i] = x;
	}
}

static void make_chain_of_key(struct spots *s, const struct run_site *site, struct chain *c)
{
	uint32_t key = intern_text(&s->names, site->key ? site->key : "");
	c->links.n = c->lines.n = c->whole.n = c->inner.n = 0;
	c->same_build = c->weak = false;
	*MS_PUSH(&c->links) = (struct link){NONE, intern_text(&s->names, "")};
	*MS_PUSH(&c->links) = (struct link){NONE, key};
}

/* Returns the spot (place that allocates) of a site's chain; adds it if needed. `index` finds the
 * spots of a side by the number of the whole stack. */
static uint32_t spot_of(struct spots *s, const struct run *r, const struct run_site *site,
			struct chain *c, struct intern *index)
{
	if (s->by_key)
		make_chain_of_key(s, site, c);
	else
		make_chain(s, r, site, c);
	uint32_t key = intern(&s->chains, c->links.v, c->links.n * sizeof *c->links.v);
	*MS_PUSH(&c->whole) = key;
	uint32_t whole = intern(&s->wholes, c->whole.v, c->whole.n * sizeof *c->whole.v);
	uint32_t own[2] = {(uint32_t)r->side, whole};
	uint32_t i = intern(index, own, sizeof own);
	if (i < s->all.n)
		return i;
	size_t runs = s->runs[r->side].n;
	struct spot *p = MS_PUSH(&s->all);
	*p = (struct spot){.side = r->side,
			   .key = key,
			   .whole = whole,
			   .lines = intern(&s->lines, c->lines.v, c->lines.n * sizeof *c->lines.v),
			   .inner = intern(&s->wholes, c->inner.v, c->inner.n * sizeof *c->inner.v),
			   .same_build = c->same_build,
			   .weak = c->weak,
			   .row = NONE};
	p->figures = ms_arena_alloc(&s->arena, runs * sizeof *p->figures);
	p->seen = ms_arena_alloc(&s->arena, runs);
	return i;
}

static void add_sites(struct spots *s, struct run *r, size_t number, struct chain *c,
		      struct intern *index)
{
	for (size_t i = 0; i < r->sites.n; i++) {
		struct run_site *site = &r->sites.v[i];
		site->spot = spot_of(s, r, site, c, index);
		struct spot *p = &s->all.v[site->spot];
		p->seen[number] = true;
		p->allocations += site->allocations / (double)s->runs[r->side].n;
		p->bytes += site->bytes / (double)s->runs[r->side].n;
		for (int f = 0; f < DIFF_FIGURES; f++)
			p->figures[number][f] = delta_add(p->figures[number][f], site->figures[f]);
	}
}

void spots_make(struct spots *s)
{
	struct chain c = {0};
	struct intern index = {0};
	for (size_t i = 0; i < s->every.n; i++)
		name_programs(s, s->every.v[i]);
	share_builds(s);
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < s->runs[side].n; i++) {
			name_frames(s, s->runs[side].v[i]);
			add_sites(s, s->runs[side].v[i], i, &c, &index);
		}
	intern_free(&index);
	MS_FREE(c.links.v, c.lines.v, c.whole.v, c.inner.v);
}

void spots_free(struct spots *s)
{
	for (int side = OLD; side <= NEW; side++) {
		for (size_t i = 0; i < s->runs[side].n; i++)
			run_free(s->runs[side].v[i]);
		free(s->runs[side].v);
	}
	MS_FREE(s->every.v, s->all.v, s->sides.v);
	intern_free(&s->names);
	intern_free(&s->chains);
	intern_free(&s->wholes);
	intern_free(&s->lines);
	ms_arena_free(&s->arena);
}
