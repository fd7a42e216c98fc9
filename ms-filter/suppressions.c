/* SPDX-License-Identifier: MIT
 * Applies suppression files (--suppress): the sites that each line hides, and their sums.
 */
#include "match.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/suppress/suppress.h"
#include "libcommon/base/units.h"

#define LINES_MAX 20 /* maximum number of suppressions reported in text; the snapshot has all */
#define FRAMES_MAX 4096

/* ---- suppressed sites ---- */

static struct ms_suppress_frame frame_of(const struct matches *m, size_t i)
{
	const struct frame *f = &m->model.frames.v[i];
	return (struct ms_suppress_frame){
		f->function, f->file, f->module == NONE ? NULL : m->model.modules.v[f->module].path,
		(long)f->line};
}

static void count(struct matches *m, struct match_site *s, enum ms_suppressed met, uint32_t number)
{
	struct rule *r = &m->rules.v[number - 1];
	r->names += met == MS_SUPPRESS_NAMES;
	r->verdicts += met == MS_SUPPRESS_VERDICT;
	if (met != MS_SUPPRESS_YES || s->rule)
		return;
	r->sites++;
	s->rule = number;
	s->found |= DROP(SUPPRESSED);
}

/* Counts the blocks that match the rule, in sites that no earlier rule hides. True = more than the
 * rule's maximum, so the rule hides nothing. */
static bool exceeds(struct matches *m, const unsigned char *stacks, struct rule *r)
{
	size_t sites = 0;
	for (size_t i = 0; i < m->sites.n && r->most != MS_SUPPRESS_ANY; i++) {
		uint32_t k = m->sites.v[i].stack;
		if (k == NONE || m->sites.v[i].rule || stacks[k] != MS_SUPPRESS_YES)
			continue;
		sites += m->sites.v[i].leaks > 0;
		r->met += m->sites.v[i].leaks;
	}
	r->over = r->met > r->most ? sites : 0;
	return r->over;
}

/* Applies a rule on single frames to all sites. */
static void apply_by_frame(struct matches *m, const struct ms_suppression *rule, uint32_t number)
{
	unsigned char *frames = ms_xcalloc(m->model.frames.n + 1, 1);
	for (size_t i = 0; i < m->model.frames.n; i++) {
		struct ms_suppress_frame f = frame_of(m, i);
		frames[i] = ms_suppress_frame(rule, &f);
	}
	unsigned char *stacks = match_stacks(&m->model, frames);
	bool left = exceeds(m, stacks, &m->rules.v[number - 1]);
	for (size_t i = 0; i < m->sites.n && !left; i++)
		if (m->sites.v[i].stack != NONE)
			count(m, &m->sites.v[i], stacks[m->sites.v[i].stack], number);
	MS_FREE(frames, stacks);
}

static void apply_by_stack(struct matches *m, const struct ms_suppression *rule, uint32_t number)
{
	static struct ms_suppress_frame frames[FRAMES_MAX];
	for (size_t i = 0; i < m->sites.n; i++) {
		struct match_site *s = &m->sites.v[i];
		size_t n = 0;
		const struct node *nodes = m->model.nodes.v;
		for (uint32_t k = s->stack; k != NONE && n < FRAMES_MAX; k = nodes[k].parent)
			frames[n++] = frame_of(m, nodes[k].frame);
		if (n)
			count(m, s, ms_suppress_stack(rule, frames, n, s->verdict), number);
	}
}

/* Selects the number of blocks of each site that count as leaks: those found unreachable by a scan
 * at the end of the process, or, without such a scan, all blocks live at the end. */
static const char leaks[] =
	"SELECT s.id, CASE WHEN c.scan IS NULL THEN (SELECT e.live_blocks FROM site_stat e"
	" JOIN snapshot t ON t.id = e.snapshot WHERE e.site = s.id AND t.label ="
	" (SELECT label FROM snapshot ORDER BY label = 'end' DESC, id LIMIT 1))"
	" ELSE (SELECT sum(v.blocks) FROM site_verdict v WHERE v.site = s.id AND v.scan = c.scan"
	" AND v.verdict IN ('unreachable', 'indirect')) END"
	" FROM site s LEFT JOIN scan c ON c.process = s.process AND c.label = 'end'"
	" AND c.state = 'done' ORDER BY s.id";

static int count_leaks(struct matches *m, sqlite3 *db, const struct ms_suppressions *s,
		       struct ms_err *err)
{
	bool limited = false;
	for (size_t k = 0; k < s->rules.n; k++)
		limited |= s->rules.v[k].most != MS_SUPPRESS_ANY;
	sqlite3_stmt *q = limited ? ms_sql_prepare(db, leaks, err) : NULL;
	while (q && ms_sql_next(db, q, err)) {
		struct match_site *site = match_site_of(m, sqlite3_column_int64(q, 0));
		int64_t n = sqlite3_column_int64(q, 1);
		if (site)
			site->leaks = n > 0 ? (uint64_t)n : 0;
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

int suppressions_apply(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct ms_suppressions *s = o->conditions.v[i].suppressions;
		if (s && count_leaks(m, db, s, err))
			return -1;
		for (size_t k = 0; s && k < s->rules.n; k++) {
			const struct ms_suppression *rule = &s->rules.v[k];
			*MS_PUSH(&m->rules) = (struct rule){.file = s->name,
							    .text = rule->text,
							    .line = rule->line,
							    .most = rule->most};
			if (rule->by_frame)
				apply_by_frame(m, rule, (uint32_t)m->rules.n);
			else
				apply_by_stack(m, rule, (uint32_t)m->rules.n);
		}
	}
	return 0;
}

/* ---- sites retained by suppressed sites ---- */

/* Selects for each site with indirectly leaked blocks: the sites that retain those blocks, and the
 * site's number of live blocks at the end. */
static const char lost_with[] =
	"SELECT l.site, l.root, l.blocks, (SELECT e.live_blocks FROM site_stat e JOIN snapshot t"
	" ON t.id = e.snapshot WHERE t.label = 'end' AND e.site = l.site)"
	" FROM lost_with l JOIN site s ON s.id = l.site"
	" JOIN scan c ON c.process = s.process AND c.scan = l.scan"
	" WHERE c.label = 'end' AND c.state = 'done' ORDER BY l.site, l.root";

int suppressions_retained(struct matches *m, sqlite3 *db, struct ms_err *err)
{
	const struct match_site *last = NULL;
	int64_t blocks = 0;
	sqlite3_stmt *q = m->rules.n ? ms_sql_prepare(db, lost_with, err) : NULL;
	while (q && ms_sql_next(db, q, err)) {
		struct match_site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		const struct match_site *root = match_site_of(m, sqlite3_column_int64(q, 1));
		if (!s || s->rule)
			continue;
		blocks = s == last ? blocks : 0;
		last = s;
		if (root && root->rule)
			blocks += sqlite3_column_int64(q, 2);
		if (root && root->rule && blocks == sqlite3_column_int64(q, 3))
			count(m, s, MS_SUPPRESS_YES, root->rule);
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* ---- the table of suppressions ---- */

static const char insert[] =
	"INSERT OR IGNORE INTO suppression(stage, file, line, rule, sites, live_bytes, live_blocks,"
	" allocations, allocated_bytes, not_applicable, note, most_blocks, met_blocks)"
	" SELECT %lld, %Q, %u, %Q, count(s.id), coalesce(sum(c.live_bytes), 0),"
	" coalesce(sum(c.live_blocks), 0), iif(count(s.id), sum(s.allocations), 0),"
	" iif(count(s.id), sum(s.allocated_bytes), 0), %lld, %Q, %s, %s"
	" FROM temp.gone x JOIN site s ON s.id = x.site"
	" LEFT JOIN snapshot t ON t.process = s.process AND t.label ="
	" (SELECT label FROM snapshot ORDER BY label = 'end' DESC, id LIMIT 1)"
	" LEFT JOIN site_stat c ON c.snapshot = t.id AND c.site = s.id WHERE x.rule = %lld";

int suppressions_note(sqlite3 *db, const struct matches *m, int64_t stage, struct ms_err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < m->rules.n; i++) {
		const struct rule *r = &m->rules.v[i];
		char most[24] = "NULL", met[24] = "NULL", over[96];
		if (r->most != MS_SUPPRESS_ANY) {
			snprintf(most, sizeof most, "%" PRIu64, r->most & INT64_MAX);
			snprintf(met, sizeof met, "%" PRIu64, r->met & INT64_MAX);
		}
		snprintf(over, sizeof over, "%s blocks in all, but it may hide at most %s", met,
			 most);
		rc = ms_sql_execf(db, err, insert, (long long)stage, r->file, r->line, r->text,
				  (long long)(r->over       ? r->over
					      : r->verdicts ? r->verdicts
							    : r->names),
				  r->over       ? over
				  : r->verdicts ? "no leak scan judged the blocks"
				  : r->names    ? "some frames have no names"
						: NULL,
				  most, met, (long long)i + 1);
	}
	return rc;
}

/* ---- remarks ---- */

static const char *text(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	return s ? s : "";
}

static void say_rule(const struct ms_cli *cli, sqlite3_stmt *q)
{
	char bytes[MS_UNIT_BUF], calls[MS_UNIT_BUF];
	long long line = sqlite3_column_int64(q, 1), sites = sqlite3_column_int64(q, 3),
		  others = sqlite3_column_int64(q, 6);
	if (sites)
		ms_cli_remark(cli,
			      "'%s' (%s, line %lld) hides %lld site%s: %s live at the end, %s "
			      "allocations",
			      text(q, 2), text(q, 0), line, sites, sites == 1 ? "" : "s",
			      ms_format_size(bytes, (uint64_t)sqlite3_column_int64(q, 4)),
			      ms_format_count(calls, (uint64_t)sqlite3_column_int64(q, 5)));
	else
		ms_cli_remark(cli, "'%s' (%s, line %lld) was not applied to %lld site%s: %s",
			      text(q, 2), text(q, 0), line, others, others == 1 ? "" : "s",
			      text(q, 7));
}

void suppressions_say(sqlite3 *db, const struct ms_cli *cli)
{
	unsigned said = 0, more = 0, idle = 0;
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT file, line, rule, sites, live_bytes, allocations, not_applicable, note"
		" FROM suppression WHERE stage = (SELECT max(stage) FROM hidden)"
		" ORDER BY met_blocks > most_blocks DESC, sites > 0 DESC, live_bytes DESC, file, "
		"line",
		NULL);
	while (q && sqlite3_step(q) == SQLITE_ROW) {
		if (!sqlite3_column_int64(q, 3) && !sqlite3_column_int64(q, 6)) {
			idle++;
		} else if (said == LINES_MAX) {
			more++;
		} else {
			say_rule(cli, q);
			said++;
		}
	}
	sqlite3_finalize(q);
	const char *nothing = idle == 1 ? " matches" : "s match";
	if (more)
		ms_cli_remark(cli,
			      "%u more suppression%s something (ms-report --suppressions lists "
			      "all); %u suppression%s nothing",
			      more, more == 1 ? " matches" : "s match", idle, nothing);
	else if (idle)
		ms_cli_remark(cli, "%u suppression%s nothing", idle, nothing);
}
