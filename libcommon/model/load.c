/* SPDX-License-Identifier: MIT
 * Makes the model of a snapshot: its rows, the chosen moment, and sums over all processes.
 */
#include "model.h"

#include "facts.h"
#include "rows.h"

#include "libcommon/base/err.h"

#include <string.h>

/* Returns the distinct snapshot labels of the database, for a message. */
static const char *labels(struct model *m)
{
	const char *all = "";
	for (size_t i = 0; i < m->snapshots.n; i++) {
		size_t k = 0;
		while (k < i && strcmp(m->snapshots.v[k].label, m->snapshots.v[i].label) != 0)
			k++;
		if (k == i)
			all = ms_arena_printf(&m->arena, "%s%s%s", all, *all ? ", " : "",
					      m->snapshots.v[i].label);
	}
	return *all ? all : "none";
}

static bool has_label(const struct model *m, const char *label)
{
	for (size_t i = 0; i < m->snapshots.n; i++)
		if (strcmp(m->snapshots.v[i].label, label) == 0)
			return true;
	return false;
}

/* Chooses the snapshot for the live figures: `at`, else the end, else the last snapshot of the
 * database. */
static int choose_moment(struct model *m, const char *at, struct ms_err *err)
{
	if (at && !has_label(m, at))
		return ms_err_set(err, "no point '%s' in this snapshot: its points are: %s", at,
				  labels(m));
	if (at)
		m->at_label = at;
	else if (!m->snapshots.n || has_label(m, "end"))
		m->at_label = "end";
	else
		m->at_label = m->snapshots.v[m->snapshots.n - 1].label;
	return 0;
}

static void add_quality(struct quality *to, const struct quality *q)
{
	to->complete = to->complete && q->complete;
	to->growing = to->growing || q->growing;
	uint64_t *a = &to->events_lost;
	const uint64_t *b = &q->events_lost;
	size_t n = (sizeof *q - offsetof(struct quality, events_lost)) / sizeof *a;
	uint64_t sampled = q->sampled_bytes == UNKNOWN || q->sampled_bytes > to->sampled_bytes
				   ? q->sampled_bytes
				   : to->sampled_bytes;
	for (size_t i = 0; i < n; i++)
		a[i] = figure_add(a[i], b[i]);
	to->sampled_bytes = sampled;
}

static void read_part(struct model *m)
{
	m->part = model_number(m, "SELECT count(*) FROM process WHERE whole = 0") != 0;
	m->from_ns = model_number(m, "SELECT min(from_ns + coalesce(offset_ns, 0)) FROM process");
	m->to_ns = model_number(m, "SELECT max(to_ns + coalesce(offset_ns, 0)) FROM process");
}

static uint64_t meta_number(struct model *m, const char *key)
{
	return model_number(m, "SELECT value FROM meta WHERE key = %Q", key);
}

/* Reads which traces of a folder could not be read, and why. */
static void read_unreadable(struct model *m)
{
	m->traces_unreadable = figure_or_0(meta_number(m, "traces_unreadable"));
	if (m->traces_unreadable)
		m->unreadable = ms_sql_text(
			m->db, "SELECT value FROM meta WHERE key = 'unreadable'", &m->arena);
}

/* Reads what is known about interpreters with missing frames. */
static void read_interpreters(struct model *m)
{
	m->chains_unread = figure_or_0(meta_number(m, "chains_unread"));
	m->interpreter_unknown = ms_sql_text(
		m->db, "SELECT value FROM meta WHERE key = 'interpreter_unknown'", &m->arena);
}

/* Computes the peak RSS of each process, from the kernel or the largest sample, and its last RSS.
 * The time of the peak is known only if a sample was taken then. */
static void sum_samples(struct model *m)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct sample *s = &m->samples.v[i];
		struct totals *t = &m->processes.v[s->process].totals;
		bool timed = t->peak_rss_time_ns != UNKNOWN;
		if (t->peak_rss_bytes == UNKNOWN || s->rss_bytes > t->peak_rss_bytes ||
		    (s->rss_bytes == t->peak_rss_bytes && !timed)) {
			t->peak_rss_bytes = s->rss_bytes;
			t->peak_rss_time_ns = s->time_ns;
		}
		t->end_rss_bytes = s->rss_bytes;
	}
}

/* Computes the overall peak RSS: the largest of all program images of one process; not known for
 * several processes, whose peaks differ in time. */
static void sum_rss(struct model *m)
{
	struct totals *all = &m->totals;
	bool one = m->processes.n - m->images == 1;
	all->peak_rss_bytes = all->peak_rss_time_ns = UNKNOWN;
	for (size_t i = 0; one && i < m->processes.n; i++) {
		const struct totals *t = &m->processes.v[i].totals;
		if (t->peak_rss_bytes == UNKNOWN ||
		    (all->peak_rss_bytes != UNKNOWN && t->peak_rss_bytes <= all->peak_rss_bytes))
			continue;
		all->peak_rss_bytes = t->peak_rss_bytes;
		all->peak_rss_time_ns = t->peak_rss_time_ns;
	}
}

/* Sums up the figures of all processes. Peaks of several processes are not added up: the peak of
 * the sum has a time of its own. */
static void sum_processes(struct model *m)
{
	m->quality = (struct quality){.complete = m->processes.n > 0};
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		uint64_t *a = &m->totals.allocations;
		const uint64_t *b = &p->totals.allocations;
		struct totals all = p->totals;
		if (p->became != NONE) { /* the program image was replaced by exec before the end */
			all.unreachable_bytes = all.unreachable_blocks = all.end_rss_bytes = 0;
			b = &all.allocations;
		}
		for (size_t k = 0; k < sizeof p->totals / sizeof *a; k++)
			a[k] = figure_add(a[k], b[k]);
		add_quality(&m->quality, &p->quality);
		uint64_t end = figure_add(p->duration_ns, p->offset_ns);
		if (end != UNKNOWN && end > m->duration_ns)
			m->duration_ns = end;
	}
	if (m->processes.n <= 1)
		return;
	m->totals.peak_bytes = m->sum_peak_bytes;
	m->totals.peak_blocks =
		m->peak_image == NONE ? UNKNOWN : m->processes.v[m->peak_image].totals.peak_blocks;
	m->totals.peak_time_ns = m->sum_peak_time_ns;
	sum_rss(m);
	m->totals.peak_usable_bytes = m->totals.mapped_peak_bytes = m->totals.mapped_peak_time_ns =
		UNKNOWN;
}

static void count_modules(struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct frame *f = &m->frames.v[i];
		if (f->module == NONE || f->note)
			continue;
		struct module *o = &m->modules.v[f->module];
		o->frames++;
		o->nameless += !f->function;
		o->lineless += f->function && !f->line;
	}
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct module *o = &m->modules.v[i];
		m->modules_used += o->frames > 0;
		m->modules_nameless += o->nameless > 0;
		m->frames_nameless += o->nameless;
		m->modules_unsound +=
			o->frames && o->symbols &&
			(strcmp(o->symbols, "damaged") == 0 || strcmp(o->symbols, "partial") == 0 ||
			 strcmp(o->symbols, "refused") == 0);
	}
}

/* Finds the folder that contains all sources of a module, without inlined functions, which may come
 * from foreign headers. */
static void find_sources(struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct frame *f = &m->frames.v[i];
		if (f->module == NONE || f->runtime || f->inlined || !f->file || *f->file != '/')
			continue;
		struct module *o = &m->modules.v[f->module];
		if (!o->sources) {
			o->sources = f->file;
			o->sources_length = (size_t)(strrchr(f->file, '/') - f->file);
		}
		size_t *n = &o->sources_length;
		while (*n && (strncmp(o->sources, f->file, *n) != 0 || f->file[*n] != '/'))
			while (--*n && o->sources[*n] != '/')
				;
	}
}

int model_load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err)
{
	m->db = db;
	m->at_time_ns = UNKNOWN;
	m->snapshots.n = 0;
	if (model_read(m, MODEL_PROCESSES | MODEL_SNAPSHOTS, err) != 0 ||
	    choose_moment(m, at, err) != 0 ||
	    model_read(m, ~(unsigned)(MODEL_PROCESSES | MODEL_SNAPSHOTS), err) != 0)
		return -1;
	if (m->processes.n == 0)
		return ms_err_set(err, "this snapshot has no data: its table 'process' is empty");
	if (unrecorded_read(m, err) != 0 || estimates_read(m, err) != 0)
		return -1;
	struct moment shown = moment_sum(m, m->at_label);
	m->end = moment_sum(m, "end").live;
	m->peak = moment_sum(m, "peak").live;
	m->at = shown.live;
	m->at_mmap = shown.mmap;
	m->at_time_ns = shown.time_ns;
	m->cwd = m->processes.v[0].cwd;
	m->sum_peak_bytes = meta_number(m, "sum_peak_bytes");
	m->sum_peak_time_ns = meta_number(m, "sum_peak_time_ns");
	read_part(m);
	if (m->est) /* the accuracy of this peak is not known */
		m->sum_peak_bytes = m->sum_peak_time_ns = UNKNOWN;
	m->proc_only = proc_only_read(m);
	sum_samples(m);
	images_link(m);
	sum_processes(m);
	growth_read(m);
	read_unreadable(m);
	read_interpreters(m);
	m->quality.complete = m->quality.complete && !m->traces_unreadable;
	count_modules(m);
	find_sources(m);
	return verdicts_read(m, err);
}

void model_free(struct model *m)
{
	MS_FREE(m->modules.v, m->frames.v, m->nodes.v, m->node_ids.v, m->sites.v, m->gone.v,
		m->processes.v, m->snapshots.v, m->threads.v, m->points.v, m->samples.v, m->marks.v,
		m->mmaps.v, m->verdicts.v, m->lost_with.v);
	ms_arena_free(&m->arena);
}
