/* SPDX-License-Identifier: MIT
 * Writes the results of memory scans: tables scan and site_verdict, and the verdicts on sites
 * and process from the scan at the end.
 */
#include "format/trace.h"
#include "libcommon/replay/replay_growth.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns the site with this innermost stack node, plus one; 0 = none. */
static uint32_t site_at(const struct ms_fill *w, uint64_t node)
{
	return node < w->r->node_count ? w->r->site_of_node[node] : 0;
}

/* Returns the site of record `i`, plus one; 0 = it has none, or its scan was not completed and
 * has no verdicts. *head: the last scan record before it. */
static uint32_t judged_site(const struct ms_fill *w, size_t i, const struct ms_verdict_scan **head)
{
	const struct ms_verdict_record *v = &w->t->verdicts.v[i];
	*head = v->is_scan ? &v->scan : *head;
	bool done = !v->is_scan && *head && (*head)->state == MS_SCAN_DONE;
	return done ? site_at(w, v->site.stack) : 0;
}

/* Returns the scan at the end of the process, if the snapshot extends to the end; NULL = none. */
static const struct ms_verdict_scan *end_scan(const struct ms_kept_process *p)
{
	return p->to_ns == MS_NEVER ? ms_recording_end_scan(p->rec) : NULL;
}

/* ---- scans ---- */

/* Counts the blocks of a scan: all, and the unreachable ones. */
struct scan_sums {
	uint64_t blocks, bytes, lost_blocks, lost_bytes;
};

static struct scan_sums sums_of(const struct ms_recording *t, size_t head)
{
	struct scan_sums n = {0};
	for (size_t i = head + 1; i < t->verdicts.n && !t->verdicts.v[i].is_scan; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		for (unsigned k = 0; k < MS_VERDICTS; k++) {
			n.blocks += v->site.blocks[k];
			n.bytes += v->site.bytes[k];
			n.lost_blocks += k <= MS_VERDICT_IS_INDIRECT ? v->site.blocks[k] : 0;
			n.lost_bytes += k <= MS_VERDICT_IS_INDIRECT ? v->site.bytes[k] : 0;
		}
	}
	return n;
}

/* Returns the sum, over all sites, of live blocks allocated after the scan at the end. */
static struct ms_replay_late all_late(const struct ms_fill *w)
{
	struct ms_replay_late all = {0};
	for (size_t i = 0; i < w->r->site_count && w->r->late; i++) {
		all.blocks += w->r->late[i].blocks;
		all.bytes += w->r->late[i].bytes;
	}
	return all;
}

static int put_scans(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_verdict_scan *end = end_scan(w->p);
	struct ms_insert in = ms_rows(w, "scan");
	for (size_t i = 0; i < t->verdicts.n; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		if (!v->is_scan)
			continue;
		struct scan_sums n = sums_of(t, i);
		struct ms_replay_late after =
			&v->scan == end ? all_late(w) : (struct ms_replay_late){0};
		bool done = v->scan.state == MS_SCAN_DONE,
		     late = &v->scan == end && w->r->judged != MS_NEVER;
		char mask[24];
		snprintf(mask, sizeof mask, "0x%" PRIx64, v->scan.cleared);
		ms_put_row(&in, ms_int("process", w->p->id), ms_int("scan", v->scan.scan),
			   ms_text("label", v->scan.label), ms_int("time_ns", v->scan.time_ns),
			   ms_int("event", v->scan.event),
			   ms_text("state", ms_scan_state_name(v->scan.state)),
			   ms_int("pause_ns", v->scan.pause_ns), ms_int("took_ns", v->scan.took_ns),
			   ms_int("read_bytes", v->scan.read_bytes), ms_int("wide", v->scan.wide),
			   ms_int_if("blocks", done, n.blocks), ms_int_if("bytes", done, n.bytes),
			   ms_int_if("unreachable_blocks", done, n.lost_blocks),
			   ms_int_if("unreachable_bytes", done, n.lost_bytes),
			   ms_int_if("late_blocks", late, after.blocks),
			   ms_int_if("late_bytes", late, after.bytes),
			   ms_int("align", v->scan.align ? v->scan.align : 8),
			   ms_text("mask", v->scan.cleared ? mask : NULL),
			   ms_int_if("ignored_blocks", done, v->scan.ignored),
			   ms_int_if("root_ranges", done, v->scan.roots),
			   ms_int_if("refused_root_ranges", done, v->scan.roots_refused));
	}
	return ms_insert_close(&in);
}

/* ---- sites ---- */

static void put_site(struct ms_insert *in, int64_t row, const struct ms_verdict_site *s)
{
	for (unsigned k = 0; k < MS_VERDICTS; k++) {
		bool direct = k == MS_VERDICT_IS_DIRECT;
		if (!s->blocks[k])
			continue;
		ms_put_row(in, ms_int("site", row), ms_int("scan", s->scan),
			   ms_text("verdict", ms_verdict_word(k)), ms_text("reason", ""),
			   ms_int("blocks", s->blocks[k]), ms_int("bytes", s->bytes[k]),
			   ms_int_if("retained_blocks", direct, s->retained_blocks),
			   ms_int_if("retained_bytes", direct, s->retained_bytes));
	}
}

/* Writes blocks allocated after the scan at the end. */
static void put_late(const struct ms_fill *w, struct ms_insert *in, uint64_t scan)
{
	for (size_t i = 0; i < w->r->site_count && w->r->late; i++) {
		const struct ms_replay_late *l = &w->r->late[w->order[i]];
		if (!l->blocks)
			continue;
		ms_put_row(in, ms_int("site", w->row_of_site[w->order[i]]), ms_int("scan", scan),
			   ms_text("verdict", ms_verdict_word(MS_VERDICT_IS_UNKNOWN)),
			   ms_text("reason", "after_scan"), ms_int("blocks", l->blocks),
			   ms_int("bytes", l->bytes), ms_null("retained_blocks"),
			   ms_null("retained_bytes"));
	}
}

static int put_sites(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_verdict_scan *end = end_scan(w->p);
	const struct ms_verdict_scan *head = NULL;
	struct ms_insert in = ms_large_rows(w, "site_verdict");
	for (size_t i = 0; i < t->verdicts.n && w->r->node_count; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		uint32_t site = judged_site(w, i, &head);
		if (site)
			put_site(&in, w->row_of_site[site - 1], &v->site);
	}
	if (end)
		put_late(w, &in, end->scan);
	return ms_insert_close(&in);
}

/* Tells whether the roots listed for a site retain at most as many blocks as are indirectly lost
 * there. In a damaged trace they may retain more; the roots are then omitted. */
static bool roots_fit(const struct ms_verdict_site *s)
{
	uint64_t blocks = s->blocks[MS_VERDICT_IS_INDIRECT],
		 bytes = s->bytes[MS_VERDICT_IS_INDIRECT];
	for (size_t i = 0; i < s->root_count; i++) {
		if (s->roots[i].blocks > blocks || s->roots[i].bytes > bytes)
			return false;
		blocks -= s->roots[i].blocks;
		bytes -= s->roots[i].bytes;
	}
	return true;
}

static int put_roots(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	const struct ms_verdict_scan *head = NULL;
	struct ms_insert in = ms_large_rows(w, "lost_with");
	for (size_t i = 0; i < t->verdicts.n && w->r->node_count; i++) {
		const struct ms_verdict_site *v = &t->verdicts.v[i].site;
		uint32_t site = judged_site(w, i, &head);
		for (size_t k = 0; site && k < v->root_count && roots_fit(v); k++) {
			uint32_t root = site_at(w, v->roots[k].stack);
			if (root)
				ms_put_row(&in, ms_int("site", w->row_of_site[site - 1]),
					   ms_int("scan", v->scan),
					   ms_int("root", w->row_of_site[root - 1]),
					   ms_int("blocks", v->roots[k].blocks),
					   ms_int("bytes", v->roots[k].bytes));
		}
	}
	return ms_insert_close(&in);
}

/* ---- the end ---- */

/* Returns the point at the end; NULL = the snapshot has none. */
static const struct ms_kept_point *end_point(const struct ms_fill *w)
{
	for (size_t i = 0; i < w->f->label_count; i++)
		if (!strcmp(w->f->labels[i], "end") && w->p->points[i].kind != MS_KEPT_ABSENT)
			return &w->p->points[i];
	return NULL;
}

/* Marks growing sites, except those with a worse verdict from the scan. A sampled recording has
 * growth rates but no such verdict. */
static void set_growing(const struct ms_replay *r, const char **worst)
{
	for (size_t i = 0; i < r->growth->grown_count && !r->sampled; i++) {
		const struct ms_grown *g = &r->growth->grown[i];
		const char **of = g->site == UINT32_MAX ? NULL : &worst[g->site];
		if (of && g->trend.kind == MS_TREND_GROWING &&
		    *of != ms_verdict_word(MS_VERDICT_IS_DIRECT) &&
		    *of != ms_verdict_word(MS_VERDICT_IS_INDIRECT))
			*of = "growing";
	}
}

const char **ms_end_verdicts(const struct ms_fill *w)
{
	const struct ms_verdict_scan *end = end_scan(w->p), *head = NULL;
	const struct ms_kept_point *point = end ? end_point(w) : NULL;
	struct ms_live_sites live = {0};
	if (point)
		live = ms_live_at(w->t, point);
	const char **worst = ms_xcalloc(w->r->site_count, sizeof *worst);
	for (size_t i = 0; i < w->t->verdicts.n && point; i++) {
		const struct ms_verdict_record *v = &w->t->verdicts.v[i];
		uint32_t site = judged_site(w, i, &head);
		if (site && head == end && ms_live_of(&live, site - 1)->blocks)
			worst[site - 1] = ms_verdict_word(ms_verdict_worst(&v->site));
	}
	const char *unknown = ms_verdict_word(MS_VERDICT_IS_UNKNOWN),
		   *reachable = ms_verdict_word(MS_VERDICT_IS_REACHABLE);
	for (size_t i = 0; i < w->r->site_count && point && w->r->late; i++)
		if (w->r->late[i].blocks && (!worst[i] || worst[i] == reachable))
			worst[i] = unknown;
	ms_live_free(&live);
	set_growing(w->r, worst);
	return worst;
}

int ms_fill_verdicts(struct ms_fill *w)
{
	const struct ms_verdict_scan *end = end_scan(w->p);
	long long id = w->p->id;
	if (put_scans(w) || put_sites(w) || put_roots(w))
		return -1;
	return !end ? 0
		    : ms_sql_execf(w->f->db, w->f->err,
				   "UPDATE process SET (unreachable_bytes, unreachable_blocks) ="
				   " (SELECT unreachable_bytes, unreachable_blocks FROM scan"
				   " WHERE process = %lld AND scan = %lld) WHERE id = %lld",
				   id, (long long)end->scan, id);
}
