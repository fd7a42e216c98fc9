/* SPDX-License-Identifier: MIT
 * What is asked of the database beyond its rows, and summed up over processes: images of one process
 * that replaced each other, moments, processes of which nothing is known but what /proc said, where
 * a recording comes from.
 */
#include "facts.h"

#include <string.h>

/* ---- images ---- */

void images_link(struct model *m)
{
	uint32_t last = NONE;
	m->images = 0;
	m->peak_image = m->end_image = NONE;
	for (uint32_t i = 0; i < m->processes.n; i++) {
		struct process *p = &m->processes.v[i];
		p->became = p->became_row > 0 ? MODEL_FIND(m->processes, p->became_row) : NONE;
		p->became = p->became > i ? p->became : NONE; /* so that following it ends */
		m->images += p->became != NONE;
		last = p->became == NONE ? i : last;
		if (p->at_sum_peak == m->sum_peak_bytes && p->at_sum_peak)
			m->peak_image = i;
	}
	if (m->sum_peak_bytes == UNKNOWN || m->processes.n < 2)
		m->peak_image = NONE;
	if (m->images && m->images + 1 == m->processes.n)
		m->end_image = last;
}

const struct process *images_last(const struct model *m, const struct process *p)
{
	while (p->became != NONE)
		p = &m->processes.v[p->became];
	return p;
}

uint64_t images_row(const struct model *m, uint32_t image, uint64_t figure)
{
	image = figure == UNKNOWN ? NONE : m->processes.n == 1 ? 0 : image;
	return image == NONE ? UNKNOWN : (uint64_t)m->processes.v[image].id;
}

/* ---- moments ---- */

struct moment moment_sum(const struct model *m, const char *label)
{
	struct moment sum = {.time_ns = UNKNOWN, .rss_bytes = 0};
	bool found = false;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		uint64_t t = figure_add(s->time_ns, m->processes.v[s->process].offset_ns);
		if (t != UNKNOWN && (sum.time_ns == UNKNOWN || t > sum.time_ns))
			sum.time_ns = t;
		live_add(&sum.live, s->live);
		sum.rss_bytes = figure_add(sum.rss_bytes, s->rss_bytes);
		sum.mmap.usable = figure_add(sum.mmap.usable, s->mmap.usable);
		sum.mmap.mapped = figure_add(sum.mmap.mapped, s->mmap.mapped);
		found = true;
	}
	return found ? sum
		     : (struct moment){UNKNOWN, UNKNOWN, {UNKNOWN, UNKNOWN}, {UNKNOWN, UNKNOWN}};
}

bool moment_heap_is_apart(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++) {
		const char *a = m->processes.v[i].allocator;
		if (!a || strncmp(a, "glibc ", 6) != 0 || strchr(a, ','))
			return false;
	}
	return true;
}

/* ---- /proc only ---- */

/* Do all processes have options of which this holds? */
static bool all_with(const struct model *m, const char *what)
{
	return model_number(m, "SELECT count(*) FROM process WHERE NOT coalesce(options, '') %s",
			    what) == 0;
}

enum proc_only proc_only_read(struct model *m)
{
	return all_with(m, "= 'poll'")               ? PROC_ONLY_POLL
	       : all_with(m, "IN ('maps', 'smaps')") ? PROC_ONLY_REGIONS
						     : PROC_ONLY_NOT;
}

uint64_t proc_only_heap(struct model *m, uint32_t process)
{
	if (process == NONE)
		return UNKNOWN;
	return model_number(m,
			    "SELECT heap_bytes FROM sample WHERE process = %lld"
			    " AND heap_bytes IS NOT NULL ORDER BY time_ns DESC LIMIT 1",
			    (long long)m->processes.v[process].id);
}

/* ---- provenance ---- */

const char *provenance_cut(struct model *m, uint32_t process)
{
	static const char any[] = "SELECT cut FROM process WHERE cut IS NOT NULL ORDER BY id LIMIT 1",
			  one[] = "SELECT cut FROM process WHERE id = %lld";
	const char *sql = any;
	if (process != NONE)
		sql = ms_arena_printf(&m->arena, one, (long long)m->processes.v[process].id);
	return ms_sql_text(m->db, sql, &m->arena);
}

const char **one_time_names(struct model *m)
{
	const char **v = ms_arena_alloc(&m->arena, (m->sites.n + 1) * sizeof *v);
	sqlite3_stmt *st =
		model_ask(m, "SELECT id, one_time FROM site WHERE one_time IS NOT NULL");
	while (model_next(&st)) {
		uint32_t i = MODEL_FIND(m->sites, sqlite3_column_int64(st, 0));
		const char *s = (const char *)sqlite3_column_text(st, 1);
		if (i != NONE && s)
			v[i] = ms_arena_strdup(&m->arena, s);
	}
	return v;
}

struct one_time one_time_sum(struct model *m)
{
	struct one_time sum = {0};
	const char **names = one_time_names(m);
	for (size_t i = 0; i < m->sites.n; i++) {
		if (!names[i])
			continue;
		sum.sites++;
		sum.live_bytes = figure_add(sum.live_bytes, m->sites.v[i].at.bytes);
		sum.live_blocks = figure_add(sum.live_blocks, m->sites.v[i].at.blocks);
	}
	return sum;
}
