/* SPDX-License-Identifier: MIT
 * Queries beyond the rows of the database, and sums over processes: images of one process that
 * replaced each other by exec, moments, processes observed only through /proc, the origin of a cut
 * trace, allocations that were not recorded, growth, and results of the scan at the end.
 */
#include "facts.h"

#include "rows.h"

#include "libcommon/base/order.h"

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
		p->became = p->became > i ? p->became : NONE; /* accepts only later program images,
								 so that following the links
								 terminates */
		m->images += p->became != NONE;
		last = p->became == NONE ? i : last;
		if (p->at_sum_peak_bytes == m->sum_peak_bytes && p->at_sum_peak_bytes)
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

/* Tells whether the condition `what` holds for the options of every process. */
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
	static const char any[] =
		"SELECT cut FROM process WHERE cut IS NOT NULL ORDER BY id LIMIT 1",
			  one[] = "SELECT cut FROM process WHERE id = %lld";
	const char *sql = any;
	if (process != NONE)
		sql = ms_arena_printf(&m->arena, one, (long long)m->processes.v[process].id);
	return ms_sql_text(m->db, sql, &m->arena);
}

bool provenance_some(struct model *m)
{
	const char *cut = provenance_cut(m, NONE), *at = cut;
	if (cut && !strstr(cut, " by "))
		return true; /* anonymized, so the conditions are not known */
	while (at && (at = strstr(at, " --"))) {
		at += strlen(" --");
		if (strncmp(at, "from ", 5) != 0 && strncmp(at, "to ", 3) != 0)
			return true;
	}
	return false;
}

struct one_time one_time_sum(struct model *m)
{
	struct one_time sum = {0};
	for (size_t i = 0; i < m->sites.n; i++) {
		if (!m->sites.v[i].one_time)
			continue;
		sum.sites++;
		sum.live_bytes = figure_add(sum.live_bytes, m->sites.v[i].at.bytes);
		sum.live_blocks = figure_add(sum.live_blocks, m->sites.v[i].at.blocks);
	}
	return sum;
}

/* ---- growth ---- */

#define JUDGED "site = 0 AND trend != 'too short'"
#define GROWING "trend = 'growing'"
#define GROWN "trend IN ('growing', 'doubling')"

/* Returns the spread of a sampled site's growth, estimated as if one sample stood for each mean
 * sampling distance of growth; the actual samples are not known. */
static struct ms_spread spread_of(const struct model *m, const struct site *s, uint64_t rise_bytes)
{
	double mean = (double)figure_or_0(m->processes.v[s->process].quality.sampled_bytes);
	return (struct ms_spread){
		.variance = (double)rise_bytes * mean, .step = mean, .step_variance = mean * mean};
}

/* Reads the growth in bytes of each growing site. */
static void rises_read(struct model *m)
{
	sqlite3_stmt *q = model_ask(m, "SELECT site, rise_bytes FROM growth WHERE " GROWN
				       " AND rise_bytes > 0 AND site != 0");
	while (model_next(&q)) {
		uint32_t at = MODEL_FIND(m->sites, sqlite3_column_int64(q, 0));
		if (at == NONE)
			continue;
		struct site *s = &m->sites.v[at];
		s->rise_bytes = figure_in(q, 1);
		s->rise_spread = ms_arena_alloc(&m->arena, sizeof *s->rise_spread);
		*s->rise_spread = spread_of(m, s, s->rise_bytes);
	}
}

void growth_read(struct model *m)
{
	struct totals *t = &m->totals;
	t->growth_bytes_per_minute =
		model_number(m, "SELECT max(CASE WHEN " GROWING " THEN bytes_per_minute ELSE 0 END)"
				" FROM growth WHERE " JUDGED);
	t->growing_sites = t->growth_bytes_per_minute;
	if (t->growing_sites != UNKNOWN)
		t->growing_sites = model_number(m, "SELECT count(*) FROM growth WHERE " GROWING
						   " AND site != 0");
	rises_read(m);
}

bool growth_too_short(const struct model *m)
{
	return m->totals.growth_bytes_per_minute == UNKNOWN &&
	       model_number(m, "SELECT 1 FROM growth WHERE site = 0") == 1;
}

bool growth_known(const struct model *m)
{
	return model_number(m, "SELECT 1 FROM growth WHERE " GROWN " AND site != 0") == 1;
}

const struct site *growth_worst(const struct model *m)
{
	uint64_t id = model_number(m, "SELECT site FROM growth WHERE " GROWING
				      " AND site != 0 ORDER BY bytes_per_minute DESC, site");
	return id == UNKNOWN ? NULL : model_site(m, (int64_t)id);
}

/* ---- allocations that were not recorded ---- */

#define FACT(name, member, sql)                                                                    \
	{                                                                                          \
		name, sql, offsetof(struct model, member)                                          \
	}

const struct unrecorded unrecorded[] = {
	FACT("paused_ns", gaps.paused_ns, "max(paused_ns)"),
	FACT("paused_allocations", gaps.paused_allocations, "sum(paused_allocations)"),
	FACT("started_late_ns", gaps.started_late_ns, "max(started_late_ns)"),
	FACT("dropped_events", gaps.dropped_events, "sum(dropped_events)"),
	FACT("dropped_until_ns", gaps.dropped_until_ns, "max(dropped_until_ns)"),
	FACT(NULL, inherited.processes, "CAST(total(forked) AS INTEGER)"),
	FACT("inherited_blocks", inherited.blocks, "sum(inherited_blocks)"),
	FACT("inherited_bytes", inherited.bytes, "sum(inherited_bytes)"),
	FACT("inherited_frees", inherited.frees, "sum(inherited_frees)"),
	FACT("inherited_freed_bytes", inherited.freed_bytes, "sum(inherited_freed_bytes)"),
	FACT(NULL, before.processes, "count(before)"),
	FACT("before_blocks", before.blocks, "sum(before_blocks)"),
	FACT("before_bytes", before.bytes, "sum(before_bytes)"),
	FACT("before_largest", before.largest, "max(before_largest)"),
	FACT("before_frees", before.frees, "sum(before_frees)"),
	FACT("before_freed_bytes", before.freed_bytes, "sum(before_freed_bytes)"),
};
const size_t unrecorded_count = sizeof unrecorded / sizeof *unrecorded;

/* Sets the state of memory allocated before attaching to the worst of all processes. The sums are
 * known only if they are known for each process. */
static void take_before(struct model *m, bool some, bool part, const char *why)
{
	struct before *b = &m->before;
	b->state = !b->processes ? NULL : some ? "unknown" : part ? "part" : "whole";
	if (some)
		b->blocks = b->bytes = b->largest = b->frees = b->freed_bytes = UNKNOWN;
	b->why = why && b->state && strcmp(b->state, "whole") != 0 ? ms_arena_strdup(&m->arena, why)
								   : NULL;
}

static void take_unrecorded(struct reader *r)
{
	struct model *m = r->m;
	sqlite3_stmt *st = r->st;
	for (size_t i = 0; i < unrecorded_count; i++)
		*(uint64_t *)(void *)((char *)m + unrecorded[i].offset) = figure_in(st, 4 + (int)i);
	m->gaps.last = figure_in(st, 0) == 1;
	take_before(m, sqlite3_column_int64(st, 1) > 0, sqlite3_column_int64(st, 2) > 0,
		    (const char *)sqlite3_column_text(st, 3));
}

int unrecorded_read(struct model *m, struct ms_err *err)
{
	const char *sql = "SELECT max(options LIKE '%keep=last%'), sum(before = 'unknown'),"
			  " sum(before = 'part'), max(before_why)";
	for (size_t i = 0; i < unrecorded_count; i++)
		sql = ms_arena_printf(&m->arena, "%s, %s", sql, unrecorded[i].sql);
	return reader_read(m, take_unrecorded, ms_arena_printf(&m->arena, "%s FROM process", sql),
			   err);
}

uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees)
{
	uint64_t passed = m->gaps.paused_allocations;
	return passed == UNKNOWN || unknown_frees == UNKNOWN ? unknown_frees
	       : unknown_frees > passed                      ? unknown_frees - passed
							     : 0;
}

/* ---- results of the scan at the end of each process ---- */

/* Reads a row that describes the scan at the end, blocks allocated after that scan, or the reason
 * why the scan failed. */
static void take_scan(struct reader *r)
{
	static const char *const states[UNSCANNED_COUNT] = {[UNSCANNED_KILLED] = "killed",
							    [UNSCANNED_TIME] = "time",
							    [UNSCANNED_UNREADABLE] = "unreadable",
							    [UNSCANNED_THREADS] = "threads",
							    [UNSCANNED_LOST] = "lost",
							    [UNSCANNED_SAMPLED] = "sampled",
							    [UNSCANNED_MEMORY] = "memory",
							    [UNSCANNED_STOPPED] = "stopped",
							    [UNSCANNED_FILES] = "files"};
	const char *state = reader_text(r);
	uint32_t process = MODEL_FIND(r->m->processes, reader_id(r));
	if (state && !strcmp(state, "done") && process != NONE) {
		struct process *p = &r->m->processes.v[process];
		p->end_scan = (struct end_scan){.id = reader_id(r), .state = state};
		p->totals.late_bytes = reader_number(r);
		p->totals.late_blocks = reader_number(r);
		p->end_scan.align = reader_number(r);
		p->end_scan.mask = reader_text(r);
		p->end_scan.ignored = reader_number_or_0(r);
		p->end_scan.roots = reader_number_or_0(r);
		p->end_scan.refused = reader_number_or_0(r);
		r->m->late.bytes += figure_or_0(p->totals.late_bytes);
		r->m->late.blocks += figure_or_0(p->totals.late_blocks);
	} else if (process != NONE) {
		r->m->processes.v[process].end_scan.state = state;
	}
	for (int i = UNSCANNED_NOT + 1; state && !r->m->unscanned && i < UNSCANNED_COUNT; i++)
		if (!strcmp(state, states[i]))
			r->m->unscanned = (enum unscanned)i;
}

static void live_sub(struct live *from, struct live l)
{
	from->bytes = figure_sub(from->bytes, l.bytes);
	from->blocks = figure_sub(from->blocks, l.blocks);
}

/* Computes the unreachable and late blocks of hidden sites: the totals minus the sites shown. */
static void find_hidden(struct model *m)
{
	struct totals *t = &m->totals;
	t->shown_unreachable_bytes = t->unreachable_bytes;
	t->shown_unreachable_blocks = t->unreachable_blocks;
	if (!m->hidden.filters || t->unreachable_bytes == UNKNOWN)
		return;
	m->hidden.lost = (struct live){t->unreachable_bytes, t->unreachable_blocks};
	m->hidden.late = m->late;
	for (size_t i = 0; i < m->sites.n; i++) {
		live_sub(&m->hidden.lost, m->sites.v[i].lost);
		live_sub(&m->hidden.late, m->sites.v[i].late);
	}
	t->shown_unreachable_bytes -= m->hidden.lost.bytes;
	t->shown_unreachable_blocks -= m->hidden.lost.blocks;
}

static bool is_of_end(const struct model *m, uint32_t scan, uint32_t site)
{
	return scan == m->processes.v[m->sites.v[site].process].end_scan.id;
}

MS_COMPARE(by_root, struct lost_with, MS_ORDER(x->root, y->root) ?: MS_ORDER(x->site, y->site))

/* Computes the leak of each site: its lost blocks, plus those that it retains at other sites, minus
 * those that other sites retain. Blocks retained by a hidden or unknown site stay with their own
 * site. */
static void find_leaks(struct model *m)
{
	MS_SORT(m->lost_with.v, m->lost_with.n, by_root);
	for (size_t i = 0; i < m->sites.n; i++)
		m->sites.v[i].leak = m->sites.v[i].lost;
	for (size_t i = 0; i < m->lost_with.n; i++) {
		const struct lost_with *v = &m->lost_with.v[i];
		if (v->root == NONE || !is_of_end(m, v->scan, v->site))
			continue;
		live_add(&m->sites.v[v->root].with, v->live);
		live_sub(&m->sites.v[v->site].leak, v->live);
		live_add(&m->sites.v[v->root].leak, v->live);
	}
}

int verdicts_read(struct model *m, struct ms_err *err)
{
	static const char scans[] =
		"SELECT state, process, scan, late_bytes, late_blocks, align, mask,"
		" ignored_blocks, root_ranges, refused_root_ranges FROM scan"
		" WHERE label = 'end' ORDER BY process";
	struct totals *t = &m->totals;
	for (size_t i = 0; i < m->processes.n; i++)
		m->processes.v[i].totals.late_bytes = m->processes.v[i].totals.late_blocks =
			UNKNOWN;
	if (reader_read(m, take_scan, scans, err) != 0)
		return -1;
	bool judged = t->unreachable_bytes != UNKNOWN;
	t->late_bytes = t->late_blocks = judged ? 0 : UNKNOWN;
	for (size_t i = 0; i < m->processes.n && judged; i++) {
		const struct process *p = &m->processes.v[i];
		if (p->end_scan.id < 0)
			continue;
		t->late_bytes = figure_add(t->late_bytes, p->totals.late_bytes);
		t->late_blocks = figure_add(t->late_blocks, p->totals.late_blocks);
	}
	for (size_t i = 0; i < m->verdicts.n; i++) {
		const struct site_verdict *v = &m->verdicts.v[i];
		struct site *s = &m->sites.v[v->site];
		if (!is_of_end(m, v->scan, v->site))
			continue;
		live_add(v->kind == VERDICT_LATE ? &s->late : &s->lost, v->live);
		if (v->kind == VERDICT_DIRECT)
			live_add(&s->direct, v->live);
	}
	find_leaks(m);
	find_hidden(m);
	return 0;
}

bool verdicts_told(const struct model *m, const struct site *s)
{
	bool scanned = s->process < m->processes.n && m->processes.v[s->process].end_scan.id >= 0;
	return scanned || s->verdict;
}

bool verdicts_known(const struct model *m)
{
	return !strcmp(m->at_label, "end") && m->totals.unreachable_bytes != UNKNOWN;
}

bool verdicts_all_reached(const struct model *m)
{
	return verdicts_known(m) && m->totals.unreachable_blocks == 0;
}
