/* SPDX-License-Identifier: MIT
 * Finds wrappers of malloc that are not in the list of known ones, by the sites that pass
 * through them.
 *
 * A wrapper only passes on a size: it calls the allocator itself, from few lines, and several
 * functions call it for blocks of several sizes. A function with one caller, main, and a
 * function that makes objects of one size are never regarded as wrappers. The number of callers
 * required depends on the name: two for my_malloc, three for pool_alloc; for any other name
 * four, and more than half of the sites of its module. Callers with the name of a wrapper are
 * not counted. A function without a name that only wrappers call is part of them. Behind a
 * wrapper there may be another one, so the search is repeated without those already found.
 *
 *   malloc < get_mem:9 < parse:20 < main     get_mem: 1 line, 4 callers or more, 2 sites of 3
 *   malloc < get_mem:9 < read_all:31 < main
 *   malloc < main:50
 */
#include "snapshot_private.h"

#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/names/runtime.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/names/wrappers.h"

#define MANY 8 /* more callers and sizes than the allocator of one type of object has */
#define PART 4 /* a line counts if it has at least 1 / PART of its function's sites */
#define LINES 4
#define ROUNDS 4

/* Lists, by kind of name, the conditions for a function to be a wrapper: minimum numbers of callers
 * and sizes, maximum number of allocating lines, and minimum ratio of the largest to the smallest
 * block, which is not required with MANY callers and sizes. */
static const struct terms {
	unsigned callers, sizes, lines;
	uint64_t times;
	bool itself;   /* if set, no runtime function may lie between wrapper and allocator */
	bool each;     /* if set, each line with several callers must have several sizes */
	bool the_most; /* if set, the function must have more than half of its module's sites */
} terms[] = {
	[MS_HINT_NONE] = {4, 3, 2, 1, true, true, true},
	[MS_HINT_GROW] = {2, 2, 4, 1, false, false, false},
	[MS_HINT_ALLOC] = {3, 3, 2, 8, true, true, false},
	[MS_HINT_MALLOC] = {2, 2, 4, 1, true, false, false},
};

/* Describes the sites of one line of a function. */
struct line {
	uint32_t place, caller; /* place and caller of the first site */
	bool several;           /* the line has sites with other callers */
	size_t sites;
	uint64_t least, most; /* smallest and largest size, bytes */
};

/* Describes a function that is the innermost one of the user's code in some stack. Without a
 * name, each return address counts as a function. */
struct function {
	uint32_t place; /* any place of the function */
	enum ms_wrapper_hint hint;
	bool wrapper;
	bool indirect; /* at some site, functions of the runtime lie between the function and the
			  allocator */
	bool outside;  /* at some site, the caller is no wrapper */
	size_t sites;
	uint32_t callers[MANY]; /* places of the callers found, all different */
	uint64_t sizes[MANY];   /* sizes found, all different */
	struct line lines[LINES + 1];
	unsigned caller_count, size_count, line_count;
};

struct finder {
	const struct ms_recording *t;
	const struct ms_logical *frames;
	struct ms_stack_place *places;
	MS_ARRAY(struct function) functions;
	struct ms_lookup by_name;
	uint32_t *number; /* function of each place, from 1; 0 = not looked up */
	size_t *sites;    /* number of sites by module */
};

static bool same_function(const struct ms_stack_place *a, const struct ms_stack_place *b)
{
	if (!a->at->function || !b->at->function)
		return a->at->function == b->at->function && a->frame == b->frame;
	return a->module == b->module && strcmp(a->at->function, b->at->function) == 0;
}

static bool same_line(const struct ms_stack_place *a, const struct ms_stack_place *b)
{
	return a->at->line || b->at->line ? a->at->line == b->at->line : a->frame == b->frame;
}

static struct function *function_of(struct finder *f, uint32_t place)
{
	const struct ms_stack_place *p = &f->places[place];
	uint32_t i = f->number[place];
	if (i)
		return &f->functions.v[i - 1];
	uint32_t hash =
		ms_hash(p->at->function ? ms_hash_text(p->at->function) : p->frame, p->module);
	for (size_t at = hash; f->functions.cap && (i = ms_lookup_next(&f->by_name, hash, &at));)
		if (same_function(p, &f->places[f->functions.v[i - 1].place]))
			break;
	if (!i) {
		*MS_PUSH(&f->functions) =
			(struct function){.place = place, .hint = ms_wrapper_hint(p->at->function)};
		i = (uint32_t)f->functions.n;
		ms_lookup_add(&f->by_name, hash, i);
	}
	f->number[place] = i;
	return &f->functions.v[i - 1];
}

/* Tells whether a frame of the runtime only passes a size to the allocator. */
static bool is_allocator(const struct ms_stack_place *p)
{
	static const char *const names[] = {"std::allocator<",
					    "std::__new_allocator<",
					    "std::allocator_traits<",
					    "__gnu_cxx::new_allocator<",
					    "__rust_",
					    "__rdl_",
					    "alloc::alloc::"};
	const char *name = p->at->function;
	if (!name || ms_entry_point(name))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Describes how a site is reached: `user` is the place that the site is named after so far,
 * `caller` the place that called it; UINT32_MAX = none. */
struct way {
	uint32_t user, caller;
	bool direct; /* no function of the runtime between `user` and the allocator */
	bool inside; /* a wrapper calls `user` */
};

static struct way way_of(struct finder *f, uint32_t node)
{
	struct way w = {UINT32_MAX, UINT32_MAX, true, false};
	bool called = false;
	for (; node && node < f->t->nodes.n; node = f->t->nodes.v[node].parent) {
		const struct ms_logical *l = &f->frames[f->t->nodes.v[node].frame];
		for (uint32_t at = l->first; at < l->first + l->count; at++) {
			const struct ms_stack_place *p = &f->places[at];
			if (p->runtime || p->wrapper) {
				w.direct &= w.user != UINT32_MAX || p->wrapper || is_allocator(p);
				w.inside |= w.user != UINT32_MAX && !called && p->wrapper;
				called |= w.inside;
				continue;
			}
			const struct function *x = function_of(f, at);
			if (w.user != UINT32_MAX && !called) {
				called = true;
				w.inside = x->wrapper;
			}
			if (w.user == UINT32_MAX) {
				w.user = x->wrapper ? w.user : at;
			} else if (!x->hint && !same_function(p, &f->places[w.user])) {
				w.caller = at;
				return w;
			}
		}
	}
	return w;
}

static void note_caller(const struct finder *f, struct function *x, uint32_t caller)
{
	for (unsigned i = 0; i < x->caller_count; i++)
		if (same_function(&f->places[x->callers[i]], &f->places[caller]))
			return;
	if (x->caller_count < MANY)
		x->callers[x->caller_count++] = caller;
}

static void note_size(struct function *x, uint64_t size)
{
	for (unsigned i = 0; i < x->size_count; i++)
		if (x->sizes[i] == size)
			return;
	if (x->size_count < MANY)
		x->sizes[x->size_count++] = size;
}

static void note_line(const struct finder *f, struct function *x, const struct way *w,
		      const struct ms_replay_site *s)
{
	struct line *l = x->lines, *end = l + x->line_count;
	while (l < end && !same_line(&f->places[l->place], &f->places[w->user]))
		l++;
	if (l == x->lines + LINES + 1)
		return;
	if (l == end) {
		*l = (struct line){w->user, w->caller, false, 0, s->min_size, s->max_size};
		x->line_count++;
	}
	l->sites++;
	l->several |= l->caller != w->caller;
	l->least = s->min_size < l->least ? s->min_size : l->least;
	l->most = s->max_size > l->most ? s->max_size : l->most;
}

static void count_sites(struct finder *f)
{
	const struct ms_replay *r = &f->t->replay;
	memset(f->sites, 0, (f->t->modules.n + 1) * sizeof *f->sites);
	for (size_t i = 0; i < f->functions.n; i++) {
		struct function *x = &f->functions.v[i];
		*x = (struct function){.place = x->place, .hint = x->hint, .wrapper = x->wrapper};
	}
	for (size_t i = 0; i < r->site_count; i++) {
		const struct ms_replay_site *s = &r->sites[i];
		struct way w = way_of(f, s->node);
		if (w.user == UINT32_MAX || s->min_size > s->max_size)
			continue;
		struct function *x = function_of(f, w.user);
		uint32_t module = f->places[w.user].module;
		x->sites++;
		x->indirect |= !w.direct;
		x->outside |= !w.inside;
		f->sites[module <= f->t->modules.n ? module : 0]++;
		note_line(f, x, &w, s);
		note_size(x, s->min_size);
		note_size(x, s->max_size);
		if (w.caller != UINT32_MAX)
			note_caller(f, x, w.caller);
	}
}

static bool is_wrapper(const struct finder *f, const struct function *x)
{
	const struct terms *t = &terms[x->hint];
	uint32_t module = f->places[x->place].module;
	uint64_t least = UINT64_MAX, most = 0;
	bool many = x->caller_count == MANY && x->size_count == MANY,
	     nameless = x->sites && !f->places[x->place].at->function;
	if (nameless && (!x->outside || (many && !x->indirect)))
		return true;
	if (x->caller_count < t->callers || x->size_count < t->sizes || x->line_count > t->lines ||
	    (t->itself && x->indirect) ||
	    (t->the_most && x->sites * 2 <= f->sites[module <= f->t->modules.n ? module : 0]))
		return false;
	for (unsigned i = 0; i < x->line_count; i++) {
		const struct line *l = &x->lines[i];
		if (t->each && l->several && l->least == l->most && l->sites * PART >= x->sites)
			return false;
		least = l->least < least ? l->least : least;
		most = l->most > most ? l->most : most;
	}
	return most / t->times >= least || many;
}

/* Marks functions that meet the conditions as wrappers. Returns how many are new. */
static unsigned judge(struct finder *f)
{
	unsigned found = 0;
	for (size_t i = 0; i < f->functions.n; i++) {
		struct function *x = &f->functions.v[i];
		if (x->wrapper || !is_wrapper(f, x))
			continue;
		x->wrapper = true;
		found++;
	}
	return found;
}

void ms_find_wrappers(const struct ms_recording *t, const struct ms_logical *frames,
		      struct ms_stack_place *places, size_t n)
{
	struct finder f = {.t = t, .frames = frames, .places = places};
	f.number = ms_xcalloc(n + 1, sizeof *f.number);
	f.sites = ms_xcalloc(t->modules.n + 1, sizeof *f.sites);
	for (unsigned i = 0, found = 1; i < ROUNDS && found; i++) {
		count_sites(&f);
		found = judge(&f);
	}
	for (size_t i = 0; f.functions.v && i < n; i++)
		places[i].wrapper |= f.number[i] && f.functions.v[f.number[i] - 1].wrapper;
	MS_FREE(f.functions.v, f.by_name.slots, f.number, f.sites);
}
