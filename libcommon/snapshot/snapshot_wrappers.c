/* SPDX-License-Identifier: MIT
 * Wrappers of malloc that no list names, found by what passes through them.
 *
 * Such a function allocates in one or two lines, is called by several others, and more than half of
 * the sites of its module come by it. A function that only its one caller calls, or main, is never
 * taken for one. What a wrapper hands on may come by another one, so it is looked for again outside
 * of those that were found.
 *
 *   malloc < get_mem:9 < parse:20 < main     get_mem: 1 line, 4 callers or more, 2 sites of 3
 *   malloc < get_mem:9 < read_all:31 < main
 *   malloc < main:50
 */
#include "snapshot_private.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/symbols/symbols.h"

#define CALLERS 4 /* different ones, at least */
#define LINES 2   /* from which it allocates, at most */
#define ROUNDS 4

/* A function that is the innermost one of the user's code in some stack; without a name each
 * return address is one. */
struct function {
	uint32_t place; /* one of it */
	bool wrapper;
	size_t sites;
	uint32_t callers[CALLERS], lines[LINES + 1]; /* places, of different ones */
	unsigned caller_count, line_count;
};

struct finder {
	const struct ms_recording *t;
	const struct ms_logical *frames;
	struct ms_stack_place *places;
	MS_ARRAY(struct function) functions;
	struct ms_lookup by_name;
	uint32_t *number; /* of a place's function, from 1; 0 = not asked */
	size_t *sites;    /* by module */
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
		*MS_PUSH(&f->functions) = (struct function){.place = place};
		i = (uint32_t)f->functions.n;
		ms_lookup_add(&f->by_name, hash, i);
	}
	f->number[place] = i;
	return &f->functions.v[i - 1];
}

/* The place that a stack is named after so far, and that of its caller, UINT32_MAX = none. False:
 * there is nothing of the user's. */
static bool find_user(struct finder *f, uint32_t node, uint32_t *user, uint32_t *caller)
{
	*user = *caller = UINT32_MAX;
	for (; node && node < f->t->nodes.n; node = f->t->nodes.v[node].parent) {
		const struct ms_logical *l = &f->frames[f->t->nodes.v[node].frame];
		for (uint32_t at = l->first; at < l->first + l->count; at++) {
			if (f->places[at].runtime || f->places[at].wrapper)
				continue;
			if (*user != UINT32_MAX) {
				*caller = at;
				return true;
			}
			if (!function_of(f, at)->wrapper)
				*user = at;
		}
	}
	return *user != UINT32_MAX;
}

/* Notes a place that is of no function, or on no line, that is there. */
static void note(const struct finder *f, uint32_t *v, unsigned *n, unsigned most, uint32_t place,
		 bool (*same)(const struct ms_stack_place *a, const struct ms_stack_place *b))
{
	for (unsigned i = 0; i < *n; i++)
		if (same(&f->places[v[i]], &f->places[place]))
			return;
	if (*n < most)
		v[(*n)++] = place;
}

static void count_sites(struct finder *f)
{
	const struct ms_replay *r = &f->t->replay;
	uint32_t user, caller;
	memset(f->sites, 0, (f->t->modules.n + 1) * sizeof *f->sites);
	for (size_t i = 0; i < f->functions.n; i++)
		f->functions.v[i] = (struct function){.place = f->functions.v[i].place,
						      .wrapper = f->functions.v[i].wrapper};
	for (size_t i = 0; i < r->site_count; i++) {
		if (!find_user(f, r->sites[i].node, &user, &caller))
			continue;
		struct function *x = function_of(f, user);
		uint32_t module = f->places[user].module;
		x->sites++;
		f->sites[module <= f->t->modules.n ? module : 0]++;
		note(f, x->lines, &x->line_count, LINES + 1, user, same_line);
		if (caller != UINT32_MAX && !same_function(&f->places[user], &f->places[caller]))
			note(f, x->callers, &x->caller_count, CALLERS, caller, same_function);
	}
}

/* Takes those that are some for wrappers. Returns how many. */
static unsigned judge(struct finder *f)
{
	unsigned found = 0;
	for (size_t i = 0; i < f->functions.n; i++) {
		struct function *x = &f->functions.v[i];
		uint32_t module = f->places[x->place].module;
		if (x->caller_count < CALLERS || x->line_count > LINES ||
		    x->sites * 2 <= f->sites[module <= f->t->modules.n ? module : 0])
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
