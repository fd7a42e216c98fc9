/* SPDX-License-Identifier: MIT
 * What scans of memory found: the tables scan and site_verdict, and what follows from the scan at
 * the end for sites and process.
 */
#include "format/trace.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <string.h>

static const char *const state_names[] = {
	[MS_SCAN_DONE] = "done",       [MS_SCAN_KILLED] = "killed",
	[MS_SCAN_TIME] = "time",       [MS_SCAN_UNREADABLE] = "unreadable",
	[MS_SCAN_THREADS] = "threads", [MS_SCAN_LOST] = "lost",
	[MS_SCAN_SAMPLED] = "sampled", [MS_SCAN_MEMORY] = "memory",
	[MS_SCAN_STOPPED] = "stopped", [MS_SCAN_ENDED] = "ended",
	[MS_SCAN_FILES] = "files",
};
static const char *const verdict_names[MS_VERDICTS] = {
	[MS_VERDICT_IS_DIRECT] = "unreachable",
	[MS_VERDICT_IS_INDIRECT] = "indirect",
	[MS_VERDICT_IS_REACHABLE] = "reachable",
	[MS_VERDICT_IS_UNKNOWN] = "unknown",
};

/* Row of the site with that innermost stack node; 0 = there is none. */
static int64_t site_row(const struct ms_fill *w, uint64_t node)
{
	uint32_t site = node < w->r->node_count ? w->r->site_of_node[node] : 0;
	return site ? w->row_of_site[site - 1] : 0;
}

/* ---- scans ---- */

/* Adds up the blocks of a scan: of all, and of those that nothing points to. */
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

static int put_scans(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	struct ms_insert in = ms_insert(w->f->db, "scan", w->f->err);
	for (size_t i = 0; i < t->verdicts.n; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		if (!v->is_scan)
			continue;
		struct scan_sums n = sums_of(t, i);
		bool done = v->scan.state == MS_SCAN_DONE;
		ms_put_row(&in, ms_int("process", w->p->id), ms_int("scan", v->scan.scan),
			   ms_text("label", v->scan.label), ms_int("time_ns", v->scan.time_ns),
			   ms_int("event", v->scan.event),
			   ms_text("state", MS_WORD(state_names, v->scan.state)),
			   ms_int("pause_ns", v->scan.pause_ns), ms_int("took_ns", v->scan.took_ns),
			   ms_int("read_bytes", v->scan.read_bytes), ms_int("wide", v->scan.wide),
			   ms_int_if("blocks", done, n.blocks), ms_int_if("bytes", done, n.bytes),
			   ms_int_if("unreachable_blocks", done, n.lost_blocks),
			   ms_int_if("unreachable_bytes", done, n.lost_bytes));
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
			   ms_text("verdict", verdict_names[k]), ms_int("blocks", s->blocks[k]),
			   ms_int("bytes", s->bytes[k]),
			   ms_int_if("retained_blocks", direct, s->retained_blocks),
			   ms_int_if("retained_bytes", direct, s->retained_bytes));
	}
}

static int put_sites(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	struct ms_insert in = ms_insert(w->f->db, "site_verdict", w->f->err);
	for (size_t i = 0; i < t->verdicts.n && w->r->node_count; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		int64_t row = v->is_scan ? 0 : site_row(w, v->site.stack);
		if (row)
			put_site(&in, row, &v->site);
	}
	return ms_insert_close(&in);
}

/* ---- the end ---- */

/* The scan at the end of the process, if the snapshot reaches that far; NULL = there was none. */
static const struct ms_verdict_scan *end_scan(const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	const struct ms_verdict_scan *s = NULL;
	for (size_t i = 0; i < t->verdicts.n && p->to_ns == MS_NEVER; i++)
		if (t->verdicts.v[i].is_scan && !strcmp(t->verdicts.v[i].scan.label, "end"))
			s = &t->verdicts.v[i].scan;
	return s;
}

/* Of a site's blocks the worst verdict counts; what was freed after the scan has none. */
static int put_end(struct ms_fill *w, const struct ms_verdict_scan *s)
{
	long long id = w->p->id, scan = (long long)s->scan;
	return ms_sql_execf(
		w->f->db, w->f->err,
		"UPDATE site SET verdict = w.verdict FROM (SELECT c.site, v.verdict, min(CASE"
		" v.verdict WHEN 'unreachable' THEN 1 WHEN 'indirect' THEN 2 WHEN 'unknown' THEN 3"
		" ELSE 4 END) FROM snapshot t CROSS JOIN site_stat c ON c.snapshot = t.id"
		" CROSS JOIN site_verdict v ON v.site = c.site AND v.scan = %lld"
		" WHERE t.process = %lld AND t.label = 'end' AND c.live_blocks > 0 GROUP BY "
		"c.site) w"
		" WHERE site.id = w.site;"
		"UPDATE process SET (unreachable_bytes, unreachable_blocks) ="
		" (SELECT unreachable_bytes, unreachable_blocks FROM scan"
		" WHERE process = %lld AND scan = %lld) WHERE id = %lld",
		scan, id, id, scan, id);
}

int ms_fill_verdicts(struct ms_fill *w)
{
	const struct ms_verdict_scan *end = end_scan(w->p);
	if (put_scans(w) || put_sites(w))
		return -1;
	return end ? put_end(w, end) : 0;
}
