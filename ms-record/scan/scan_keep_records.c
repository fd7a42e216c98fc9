/* SPDX-License-Identifier: MIT
 * Writes what keeps blocks reachable as records for the trace, and as a line for users.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/retention.h"
#include "format/trace.h"
#include "libcommon/base/units.h"
#include "libcommon/symbols/symbols.h"
#include "ms-record/session/session.h"
#include "ms-record/write/batch.h"
#include "scan_keep.h"
#include "scan_work.h"

_Static_assert(KEEP_PATH_STEPS <= MS_RETENTION_STEPS_MAX, "paths fit");
_Static_assert(KEEP_SET_ROOTS <= MS_RETENTION_MEMBERS_MAX, "sets fit");
_Static_assert(KEEP_ROWS_MOST <= MS_RETENTION_ROWS_MAX, "rows fit");

/* Numbers the roots that records name. */
struct numbers {
	uint64_t *of; /* number of each root and mapping; 0 = no record names it */
	uint64_t count;
};

/* Numbers a root, given as in struct keep_row: 1 + its index; 0 = none. */
static void name(struct numbers *v, uint32_t root)
{
	if (root && !v->of[root - 1])
		v->of[root - 1] = ++v->count;
}

static uint64_t number_of(const struct numbers *v, uint32_t root)
{
	return root ? v->of[root - 1] : 0;
}

static struct numbers number_roots(const struct work *w)
{
	const struct keep_result *r = &w->keeps;
	size_t n = w->kept.roots.n;
	struct numbers v = {.of = ms_xcalloc(n + w->kept.found.ranges.n + 1, sizeof *v.of)};
	for (uint32_t i = 0; i < r->row_count; i++)
		name(&v, r->rows[i].root);
	for (uint32_t i = 0; i < r->set_count; i++)
		for (uint32_t k = 0; k < r->sets[i].count; k++)
			name(&v, r->sets[i].roots[k]);
	for (uint32_t i = 0; i < r->path_count; i++)
		name(&v, r->paths[i].root);
	for (size_t i = 0; i < n; i++)
		if (w->kept.roots.v[i].observes) {
			name(&v, (uint32_t)i + 1);
			name(&v, w->kept.roots.v[i].observes);
		}
	return v;
}

static uint64_t kind_of(uint8_t kind)
{
	static const uint8_t kinds[] = {[KEEP_VARIABLE] = MS_KEEPER_VARIABLE,
					[KEEP_SECTION] = MS_KEEPER_SECTION,
					[KEEP_FRAME] = MS_KEEPER_FRAME,
					[KEEP_THREAD_LOCAL] = MS_KEEPER_THREAD_LOCAL,
					[KEEP_REGISTERS] = MS_KEEPER_REGISTERS,
					[KEEP_CONTROL] = MS_KEEPER_CONTROL,
					[KEEP_MAPPING] = MS_KEEPER_MAPPING,
					[KEEP_OTHER] = MS_KEEPER_OTHER};
	return kinds[kind];
}

static void put_root(struct work *w, const struct numbers *v, uint32_t i)
{
	const struct kept *k = &w->kept;
	struct ms_retention_root r = {.scan = w->number, .root = v->of[i]};
	if (i < k->roots.n) {
		const struct kept_root *about = &k->about.v[i];
		r.kind = kind_of(k->roots.v[i].kind);
		r.module = about->module;
		r.offset = about->offset;
		r.size = about->size;
		r.thread = about->thread;
		r.stack = about->stack;
		r.observes = number_of(v, k->roots.v[i].observes);
		r.name = about->name;
		r.name_size = about->name ? strlen(about->name) : 0;
	} else {
		r.kind = MS_KEEPER_MAPPING;
		r.size = k->mapping_bytes[i - k->roots.n];
		r.stack = k->mapping_stacks[i - k->roots.n];
	}
	batch_record(&w->s->queued.retention, MS_RETENTION_RECORD_BYTES + r.name_size);
	ms_retention_put_root(&w->s->queued.retention, &r);
}

/* Writes the roots in the order of their numbers. */
static void put_roots(struct work *w, const struct numbers *v)
{
	size_t n = w->kept.roots.n + w->kept.found.ranges.n;
	uint32_t *root = ms_xcalloc(v->count + 1, sizeof *root);
	for (size_t i = 0; i < n; i++)
		if (v->of[i])
			root[v->of[i] - 1] = (uint32_t)i;
	for (uint64_t i = 0; i < v->count; i++)
		put_root(w, v, root[i]);
	free(root);
}

static void put_sets(struct work *w, const struct numbers *v)
{
	for (uint32_t i = 0; i < w->keeps.set_count; i++) {
		const struct keep_set *s = &w->keeps.sets[i];
		struct ms_retention_set set = {.scan = w->number,
					       .set = i + 1,
					       .others = s->others,
					       .root_count = s->count};
		uint64_t roots[KEEP_SET_ROOTS];
		for (uint32_t k = 0; k < s->count; k++)
			roots[k] = number_of(v, s->roots[k]);
		set.roots = roots;
		batch_record(&w->s->queued.retention, MS_RETENTION_RECORD_BYTES);
		ms_retention_put_set(&w->s->queued.retention, &set);
	}
}

/* Adds the path of a row; `steps` has KEEP_PATH_STEPS elements. */
static void put_path(struct ms_retention_row *row, const struct numbers *v,
		     const struct keep_path *p, struct ms_retention_step *steps)
{
	for (uint32_t i = 0; i < p->count; i++)
		steps[i] = (struct ms_retention_step){p->steps[i].stack, p->steps[i].count,
						      p->steps[i].mapping};
	row->path_root = number_of(v, p->root);
	row->path = steps;
	row->path_count = p->count;
	row->path_cut = p->cut;
}

static void put_row(struct work *w, const struct numbers *v, uint32_t i)
{
	const struct keep_row *r = &w->keeps.rows[i];
	struct ms_retention_step steps[KEEP_PATH_STEPS];
	struct ms_retention_row row = {.scan = w->number,
				       .row = i + 1,
				       .parent = r->parent,
				       .root = number_of(v, r->root),
				       .set = r->set,
				       .stack = r->stack,
				       .flags = (r->mapping ? MS_KEPT_MAPPING : 0) |
						(r->rest ? MS_KEPT_REST : 0),
				       .bytes = r->bytes,
				       .blocks = r->blocks,
				       .retained_bytes = r->retained_bytes,
				       .retained_blocks = r->retained_blocks,
				       .mapped_bytes = r->mapped_bytes,
				       .offset = r->offset,
				       .from = r->from == KEEP_NONE ? 0 : r->from,
				       .until = r->from == KEEP_NONE ? 0 : r->to + UINT64_C(1),
				       .depth = r->depth,
				       .path_blocks = r->path_blocks,
				       .type = kept_type_name(&w->kept, r->type)};
	row.type_size = row.type ? strlen(row.type) : 0;
	if (r->path != KEEP_NONE)
		put_path(&row, v, &w->keeps.paths[r->path], steps);
	batch_record(&w->s->queued.retention, MS_RETENTION_RECORD_BYTES + row.type_size);
	ms_retention_put_row(&w->s->queued.retention, &row);
}

static uint64_t state_of(const struct work *w)
{
	uint32_t end = __atomic_load_n(&w->s->mem->end_state, __ATOMIC_ACQUIRE);
	bool ended = end >= MG_END_SEEN && w->request.asker != SCAN_BY_END;
	return w->keeps.state == KEEP_DONE     ? MS_SCAN_DONE
	       : w->keeps.state == KEEP_MEMORY ? MS_SCAN_KEPT_MEMORY
	       : ended                         ? MS_SCAN_ENDED
					       : MS_SCAN_KEPT_TIME;
}

void kept_put(struct work *w)
{
	const struct keep_result *r = &w->keeps;
	struct ms_record_writer *to = &w->s->queued.retention;
	struct ms_retention_head head = {
		.scan = w->number,
		.state = state_of(w),
		.live_bytes = r->live_bytes,
		.kept_bytes = r->kept_bytes,
		.unreachable_bytes = r->state == KEEP_DONE ? r->live_bytes - r->kept_bytes : 0,
		.blocks = r->blocks,
		.edges = r->edges,
		.took_ns = r->took_ns,
		.rows = r->row_count};
	struct numbers v = number_roots(w);
	pthread_mutex_lock(&w->s->queued.lock);
	batch_record(to, MS_RETENTION_RECORD_BYTES);
	ms_retention_put_head(to, &head);
	if (r->state == KEEP_DONE) {
		put_roots(w, &v);
		put_sets(w, &v);
		for (uint32_t i = 0; i < r->row_count; i++)
			put_row(w, &v, i);
	}
	pthread_mutex_unlock(&w->s->queued.lock);
	free(v.of);
}

/* ---- for users ---- */

static const char *what(const struct kept *k, uint32_t i)
{
	static const char *const kinds[] = {
		[KEEP_VARIABLE] = "a variable",       [KEEP_SECTION] = "a section",
		[KEEP_THREAD_LOCAL] = "thread_local", [KEEP_FRAME] = "a stack frame",
		[KEEP_REGISTERS] = "registers",       [KEEP_CONTROL] = "a thread's control block",
		[KEEP_MAPPING] = "a mapping",         [KEEP_OTHER] = "other memory"};
	return i < k->roots.n ? kinds[k->roots.v[i].kind] : kinds[KEEP_MAPPING];
}

/* Appends the name of a root, given as in struct keep_row. */
static void add_name(const struct kept *k, uint32_t root, char *text, size_t room)
{
	size_t at = strlen(text);
	const struct kept_root *r = root - 1 < k->roots.n ? &k->about.v[root - 1] : NULL;
	const char *mangled = r ? r->name : NULL;
	char *plain = mangled ? ms_demangle(mangled) : NULL;
	snprintf(text + at, room - at, "%s%s%s%.100s", at ? " + " : "",
		 r && r->module_name ? r->module_name : "", r && r->module_name ? " " : "",
		 plain ?: mangled ?: what(k, root - 1));
	free(plain);
}

bool kept_say(const struct work *w, char *text, size_t room)
{
	const struct keep_result *r = &w->keeps;
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], names[400] = "";
	bool one = true;
	if (!w->retained || r->state != KEEP_DONE || !r->row_count)
		return false;
	const struct keep_row *top = r->rows;
	if (top->rest)
		return false;
	if (top->set) {
		const struct keep_set *s = &r->sets[top->set - 1];
		for (uint32_t i = 0; i < s->count && i < 3; i++)
			add_name(&w->kept, s->roots[i], names, sizeof names);
		one = false;
		if (s->count > 3 || s->others)
			snprintf(names + strlen(names), sizeof names - strlen(names), " + others");
	} else {
		add_name(&w->kept, top->root, names, sizeof names);
	}
	snprintf(text, room, "%s keep%s %s of %s", names, one ? "s" : "",
		 ms_format_size(a, top->retained_bytes), ms_format_size(b, r->live_bytes));
	return true;
}

const char *kept_state_words(const struct work *w)
{
	return !w->retained ? NULL
	       : w->keeps.state == KEEP_MEMORY
		       ? "the search needs more memory than --retention=memory allows"
	       : w->keeps.state == KEEP_TIME
		       ? state_of(w) == MS_SCAN_ENDED ? scan_state_words(MS_SCAN_ENDED)
						      : "the search would take longer than a minute"
		       : NULL;
}
