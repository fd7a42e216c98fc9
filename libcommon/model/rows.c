/* SPDX-License-Identifier: MIT
 * Reads the tables of a snapshot into arrays, turning ids into indices.
 *
 * ms_snapshot_open has checked the structure of the database, but rows may contain anything: a
 * reference to a row that does not exist becomes NONE, and a figure that is not a non-negative
 * integer becomes UNKNOWN.
 */
#include "rows.h"

#include "totals.h"

#include "libcommon/base/err.h"

#include <string.h>

/* ---- columns of the current row ---- */

/* Returns the next value of the row that the taker received. */
static struct ms_value taken(struct reader *r)
{
	size_t at = r->at[r->col++];
	return at < r->row_size ? r->row[at] : ms_null(NULL);
}

uint64_t reader_number(struct reader *r)
{
	if (r->st)
		return figure_in(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_NUMBER && v.number >= 0 ? (uint64_t)v.number : UNKNOWN;
}

uint64_t reader_number_or_0(struct reader *r)
{
	return figure_or_0(reader_number(r));
}

/* Returns the text of the next column, valid until the next row. */
static const char *text(struct reader *r)
{
	if (r->st)
		return (const char *)sqlite3_column_text(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_TEXT ? v.text : NULL;
}

const char *reader_text(struct reader *r)
{
	const char *s = text(r);
	if (!s || r->m->no_texts || (!*s && r->m->no_empty_texts))
		return NULL;
	return ms_arena_strdup(&r->m->arena, s);
}

int64_t reader_id(struct reader *r)
{
	if (r->st)
		return sqlite3_column_int64(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_NUMBER ? v.number : 0;
}

/* Returns the index of the row that the next column refers to. Rows from the taker come before the
 * row of their process, so the index of the process is computed from its id; ids begin at 1. */
static uint32_t reference(struct reader *r, enum cell to)
{
	const struct model *m = r->m;
	if (r->st && sqlite3_column_type(r->st, r->col) != SQLITE_INTEGER) {
		r->col++;
		return NONE;
	}
	int64_t id = reader_id(r);
	switch (to) {
	case CELL_PROCESS:
		return r->st ? MODEL_FIND(m->processes, id) : (uint32_t)id - 1;
	case CELL_SNAPSHOT:
		return MODEL_FIND(m->snapshots, id);
	case CELL_MODULE:
		return MODEL_FIND(m->modules, id);
	case CELL_FRAME:
		return MODEL_FIND(m->frames, id);
	case CELL_NODE:
		return model_node(m, id);
	default:
		return MODEL_FIND(m->sites, id);
	}
}

static uint32_t small(struct reader *r)
{
	uint64_t v = reader_number_or_0(r);
	return v > UINT32_MAX ? 0 : (uint32_t)v;
}

void reader_fill(struct reader *r, void *row)
{
	const struct cell_column *c = r->of->columns;
	for (const struct cell_column *end = c + r->of->column_count; c < end; c++) {
		void *to = (char *)row + c->at;
		if (c->cell == CELL_ID)
			*(int64_t *)to = reader_id(r);
		else if (c->cell == CELL_FIGURE)
			*(uint64_t *)to = reader_number(r);
		else if (c->cell == CELL_FIGURE_0)
			*(uint64_t *)to = reader_number_or_0(r);
		else if (c->cell == CELL_REAL)
			*(double *)to = sqlite3_column_double(r->st, r->col++);
		else if (c->cell == CELL_SMALL)
			*(uint32_t *)to = small(r);
		else if (c->cell == CELL_TRUE)
			*(bool *)to = reader_number_or_0(r) != 0;
		else if (c->cell == CELL_TEXT)
			*(const char **)to = reader_text(r);
		else if (c->cell == CELL_BORROWED)
			*(const char **)to = text(r);
		else
			*(uint32_t *)to = reference(r, c->cell);
	}
}

/* ---- one function per table ---- */

/* Defines the function that appends a row, `x`, to an array of the model, if `is_whole`. */
#define READ_INTO(array, row, is_whole)                                                            \
	static void read_##row(struct reader *r)                                                   \
	{                                                                                          \
		struct row x = {0};                                                                \
		reader_fill(r, &x);                                                                \
		if (is_whole)                                                                      \
			*MS_PUSH(&r->m->array) = x;                                                \
	}

/* Maps each column type of columns.def to a type of cell. */
#define CELL_COUNT CELL_FIGURE
#define CELL_BYTES CELL_FIGURE
#define CELL_TIME CELL_FIGURE
#define CELL_FLAG CELL_FIGURE
#define CELL_NUMBER CELL_FIGURE
#define OF_PROCESS(name, type, adds) CELL(type, process, name),
#define OF_TOTALS(name, type, adds) CELL_AS(#name, type, process, totals.name),
#define OF_QUALITY(name, type, adds) CELL_AS(#name, type, process, quality.name),
#define OF_MODULE(name, type, adds) CELL(type, module, name),
#define OF_SITE(name, type, adds) CELL(type, site, name),
#define OF_THREAD(name, type, adds) CELL(type, thread, name),
#define OF_HIDDEN(name, type, adds) CELL_AS(#name, type, hidden_row, run.name),
#define OF_TIMELINE(name, type, adds) CELL(type, point, name),

static const struct cell_column process_columns[] = {
	CELL(ID, process, id),
	MS_PROCESS_ROW(OF_PROCESS) MS_QUALITY(OF_QUALITY) MS_TOTALS(OF_TOTALS)
		CELL_AS("peak_rss_bytes", FIGURE, process, totals.peak_rss_bytes),
	CELL_AS("complete", TRUE, process, quality.complete),
	CELL_AS("became", ID, process, became_row),
};

static void read_process(struct reader *r)
{
	struct process *p = MS_PUSH(&r->m->processes);
	*p = (struct process){.end_scan.id = -1};
	reader_fill(r, p);
	p->offset_ns = figure_or_0(p->offset_ns);
	p->quality.growing = p->state && strcmp(p->state, "growing") == 0;
	p->totals.peak_rss_time_ns = p->totals.end_rss_bytes = UNKNOWN;
}

static const struct cell_column snapshot_columns[] = {
	CELL(ID, snapshot, id),
	CELL(PROCESS, snapshot, process),
	CELL(TEXT, snapshot, label),
	CELL(FIGURE, snapshot, time_ns),
	CELL(FIGURE, snapshot, rss_bytes),
	CELL_AS("live_bytes", FIGURE, snapshot, live.bytes),
	CELL_AS("live_blocks", FIGURE, snapshot, live.blocks),
	CELL_AS("usable_bytes", FIGURE, snapshot, mmap.usable),
	CELL_AS("mapped_bytes", FIGURE, snapshot, mmap.mapped),
};

READ_INTO(snapshots, snapshot, x.process != NONE && x.label)

static const struct cell_column module_columns[] = {
	CELL(ID, module, id),
	CELL(PROCESS, module, process),
	MS_MODULE_ROW(OF_MODULE) CELL(FIGURE_0, module, bias),
	CELL(ID, module, start),
	CELL(ID, module, end),
};

READ_INTO(modules, module, true)

static const struct cell_column frame_columns[] = {
	CELL(ID, frame, id),          CELL(PROCESS, frame, process), CELL(MODULE, frame, module),
	CELL(FIGURE, frame, address), CELL(TEXT, frame, function),   CELL(TEXT, frame, file),
	CELL(TEXT, frame, note),      CELL(SMALL, frame, line),      CELL(TRUE, frame, inlined),
	CELL(TRUE, frame, runtime),
};

READ_INTO(frames, frame, true)

struct node_row {
	int64_t id;
	struct node node;
};
static const struct cell_column node_columns[] = {
	CELL(ID, node_row, id),
	CELL_AS("parent", NODE, node_row, node.parent),
	CELL_AS("frame", FRAME, node_row, node.frame),
};

/* Accepts only rows whose frame is known. The row of a caller must come before the rows of its
 * callees, so that walking outwards ends. */
static void read_node(struct reader *r)
{
	struct node_row x = {0};
	reader_fill(r, &x);
	if (x.node.frame == NONE)
		return;
	*MS_PUSH(&r->m->nodes) = x.node;
	*MS_PUSH(&r->m->node_ids) = x.id;
}

static const struct cell_column site_columns[] = {
	CELL(ID, site, id),         CELL(PROCESS, site, process),
	CELL(NODE, site, stack),    CELL_AS("user_frame", NODE, site, user),
	CELL(TEXT, site, verdict),  CELL(TEXT, site, one_time),
	MS_FIGURES_OF_SITE(OF_SITE)};

READ_INTO(sites, site, x.process != NONE)

static const struct cell_column thread_columns[] = {
	CELL(ID, thread, id),
	CELL(PROCESS, thread, process),
	MS_THREAD_ROW(OF_THREAD) CELL_AS("peak_bytes", FIGURE, thread, peak.bytes),
	CELL_AS("peak_blocks", FIGURE, thread, peak.blocks),
	CELL_AS("live_bytes", FIGURE, thread, live.bytes),
	CELL_AS("live_blocks", FIGURE, thread, live.blocks),
};

READ_INTO(threads, thread, x.process != NONE)

/* Converts a time of a process to the shared clock. False: it is not known. */
static bool share(const struct reader *r, uint32_t process, uint64_t *time_ns)
{
	*time_ns = process == NONE ? UNKNOWN
				   : figure_add(*time_ns, r->m->processes.v[process].offset_ns);
	return *time_ns != UNKNOWN;
}

static const struct cell_column point_columns[] = {CELL(PROCESS, point, process),
						   MS_FIGURES_OF_TIMELINE(OF_TIMELINE)};

READ_INTO(points, point, share(r, x.process, &x.time_ns))

static const struct cell_column sample_columns[] = {CELL(PROCESS, sample, process),
						    CELL(FIGURE, sample, time_ns),
						    CELL(FIGURE, sample, rss_bytes)};

READ_INTO(samples, sample, share(r, x.process, &x.time_ns) && x.rss_bytes != UNKNOWN)

static const struct cell_column mark_columns[] = {
	CELL(PROCESS, mark, process), CELL(TEXT, mark, name), CELL(FIGURE, mark, time_ns)};

READ_INTO(marks, mark, share(r, x.process, &x.time_ns) && x.name)

/* Tells whether the label is that of the moment of --at. Until that moment is known, any label
 * except "end" and "peak" is taken for it. */
static bool is_at(const struct model *m, const char *label)
{
	return m->at_label ? strcmp(label, m->at_label) == 0
			   : strcmp(label, "end") != 0 && strcmp(label, "peak") != 0;
}

/* Sets the mapped memory of all sites to 0, or to UNKNOWN if the moment has no such figures, before
 * rows are read. */
static void begin_sites(struct model *m)
{
	struct mmap_usage *of = ms_arena_alloc(&m->arena, (m->processes.n + 1) * sizeof *of);
	for (size_t i = 0; i < m->processes.n; i++)
		of[i] = (struct mmap_usage){UNKNOWN, UNKNOWN};
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, m->at_label) != 0)
			continue;
		of[s->process].usable = s->mmap.usable == UNKNOWN ? UNKNOWN : 0;
		of[s->process].mapped = s->mmap.mapped == UNKNOWN ? UNKNOWN : 0;
	}
	for (size_t i = 0; i < m->sites.n; i++)
		m->sites.v[i].at_mmap = of[m->sites.v[i].process];
}

struct stat_row {
	uint32_t snapshot, site;
	struct live live;
	struct mmap_usage mmap;
};
static const struct cell_column stat_columns[] = {
	CELL(SNAPSHOT, stat_row, snapshot),
	CELL(SITE, stat_row, site),
	CELL_AS("live_bytes", FIGURE, stat_row, live.bytes),
	CELL_AS("live_blocks", FIGURE, stat_row, live.blocks),
	CELL_AS("usable_bytes", FIGURE, stat_row, mmap.usable),
	CELL_AS("mapped_bytes", FIGURE, stat_row, mmap.mapped),
};

static void read_stat(struct reader *r)
{
	struct model *m = r->m;
	struct stat_row x = {0};
	reader_fill(r, &x);
	if (x.snapshot == NONE || x.site == NONE)
		return;
	const char *label = m->snapshots.v[x.snapshot].label;
	struct site *s = &m->sites.v[x.site];
	if (strcmp(label, "end") == 0)
		s->end = x.live;
	if (strcmp(label, "peak") == 0)
		s->peak = x.live;
	if (is_at(m, label))
		s->at = x.live;
	if (x.mmap.usable == UNKNOWN && x.mmap.mapped == UNKNOWN)
		return;
	if (!r->st)
		*MS_PUSH(&m->mmaps) = (struct site_mmap){x.snapshot, x.site, x.mmap};
	else if (is_at(m, label))
		s->at_mmap = x.mmap;
}

/* Sets the figures of sites at the moment of --at, which was not known when the taker received the
 * rows. */
static void finish_sites(struct model *m)
{
	begin_sites(m);
	for (size_t i = 0; i < m->mmaps.n; i++)
		if (is_at(m, m->snapshots.v[m->mmaps.v[i].snapshot].label))
			m->sites.v[m->mmaps.v[i].site].at_mmap = m->mmaps.v[i].mmap;
	bool end = strcmp(m->at_label, "end") == 0, peak = strcmp(m->at_label, "peak") == 0;
	for (size_t i = 0; i < m->sites.n; i++) {
		struct site *s = &m->sites.v[i];
		if (m->processes.v[s->process].became_row > 0) /* replaced by exec, so not at the
								  end */
			s->end = (struct live){0};
		if (end || peak)
			s->at = end ? s->end : s->peak;
	}
}

struct verdict_row {
	uint32_t scan, site;
	struct live live;
	const char *verdict, *reason;
};
static const struct cell_column verdict_columns[] = {
	CELL(SMALL, verdict_row, scan),
	CELL(SITE, verdict_row, site),
	CELL_AS("bytes", FIGURE_0, verdict_row, live.bytes),
	CELL_AS("blocks", FIGURE_0, verdict_row, live.blocks),
	CELL(BORROWED, verdict_row, verdict),
	CELL(BORROWED, verdict_row, reason),
};

/* Reads a row on blocks of a site that were unreachable, or allocated after the scan. */
static void read_verdict(struct reader *r)
{
	struct verdict_row x = {0};
	reader_fill(r, &x);
	bool direct = x.verdict && !strcmp(x.verdict, "unreachable"),
	     indirect = x.verdict && !strcmp(x.verdict, "indirect"),
	     late = x.reason && !strcmp(x.reason, "after_scan");
	if (x.site != NONE && (direct || indirect || late))
		*MS_PUSH(&r->m->verdicts) = (struct site_verdict){x.scan, x.site,
								  direct     ? VERDICT_DIRECT
								  : indirect ? VERDICT_INDIRECT
									     : VERDICT_LATE,
								  x.live};
}

static const struct cell_column lost_with_columns[] = {
	CELL(SMALL, lost_with, scan),
	CELL(SITE, lost_with, site),
	CELL(SITE, lost_with, root),
	CELL_AS("bytes", FIGURE_0, lost_with, live.bytes),
	CELL_AS("blocks", FIGURE_0, lost_with, live.blocks),
};

READ_INTO(lost_with, lost_with, x.site != NONE)

struct hidden_row {
	uint32_t snapshot;
	struct hidden run;
	struct live live;
	uint64_t mapped_bytes;
};
static const struct cell_column hidden_columns[] = {
	CELL(SNAPSHOT, hidden_row, snapshot), CELL_AS("live_bytes", FIGURE, hidden_row, live.bytes),
	CELL_AS("live_blocks", FIGURE, hidden_row, live.blocks),
	CELL(FIGURE, hidden_row, mapped_bytes), MS_HIDDEN_ROW(OF_HIDDEN)};

static void read_hidden(struct reader *r)
{
	struct hidden *h = &r->m->hidden;
	struct hidden_row x = {0};
	reader_fill(r, &x);
	h->at_mmap.usable = UNKNOWN; /* usable sizes were not recorded */
	if (sqlite3_column_type(r->st, 0) == SQLITE_NULL) {
#define X(name, type, adds) h->name = figure_add(h->name, x.run.name);
		MS_HIDDEN_ROW(X)
#undef X
	}
	if (x.snapshot == NONE)
		return;
	const char *label = r->m->snapshots.v[x.snapshot].label;
	if (strcmp(label, "end") == 0)
		live_add(&h->end, x.live);
	if (strcmp(label, "peak") == 0)
		live_add(&h->peak, x.live);
	if (strcmp(label, r->m->at_label) != 0)
		return;
	live_add(&h->at, x.live);
	h->at_mmap.mapped = figure_add(h->at_mmap.mapped, x.mapped_bytes);
}

static void read_filter(struct reader *r)
{
	const char *t = reader_text(r);
	struct hidden *h = &r->m->hidden;
	if (t)
		h->filters =
			h->filters ? ms_arena_printf(&r->m->arena, "%s; %s", h->filters, t) : t;
}

/* ---- the database ---- */

/* Lists the tables in the order in which they are read. HANDED_OVER: tables whose rows model_taker
 * receives. */
#define HANDED_OVER (MODEL_MODULES | MODEL_FRAMES | MODEL_NODES | MODEL_SITES | MODEL_SCANS)
static const struct {
	enum model_part part;
	struct reader_table of;
} tables[] = {
	{MODEL_PROCESSES, READER_TABLE("process", "ORDER BY id", process_columns, read_process)},
	{MODEL_SNAPSHOTS, READER_TABLE("snapshot", "ORDER BY id", snapshot_columns, read_snapshot)},
	{MODEL_MODULES, READER_TABLE("module", "ORDER BY id", module_columns, read_module)},
	{MODEL_FRAMES, READER_TABLE("frame", "ORDER BY id", frame_columns, read_frame)},
	{MODEL_NODES, READER_TABLE("stack", "ORDER BY id", node_columns, read_node)},
	{MODEL_SITES, READER_TABLE("site", "ORDER BY id", site_columns, read_site)},
	{MODEL_SITES, READER_TABLE("site_stat", "", stat_columns, read_stat)},
	{MODEL_SCANS, READER_TABLE("site_verdict", "", verdict_columns, read_verdict)},
	{MODEL_SCANS, READER_TABLE("lost_with", "", lost_with_columns, read_lost_with)},
	{MODEL_THREADS, READER_TABLE("thread", "ORDER BY id", thread_columns, read_thread)},
	{MODEL_TIMES,
	 READER_TABLE("timeline", "ORDER BY process, time_ns", point_columns, read_point)},
	{MODEL_TIMES,
	 READER_TABLE("sample", "ORDER BY process, time_ns", sample_columns, read_sample)},
	{MODEL_TIMES,
	 READER_TABLE("mark", "ORDER BY time_ns, process, seq", mark_columns, read_mark)},
	{MODEL_HIDDEN, READER_TABLE("hidden", "", hidden_columns, read_hidden)},
};
static const char filters[] =
	"SELECT filter FROM hidden GROUP BY stage, filter ORDER BY stage, filter";

static int read_rows(struct reader *r, sqlite3_stmt *st, reader_row *row, struct ms_err *err)
{
	int rc;
	if (!st)
		return -1;
	for (r->st = st; (rc = sqlite3_step(st)) == SQLITE_ROW; r->col = 0)
		row(r);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(r->m->db));
}

int reader_read(struct model *m, reader_row *row, const char *sql, struct ms_err *err)
{
	return read_rows(&(struct reader){.m = m}, ms_sql_prepare(m->db, sql, err), row, err);
}

int reader_read_table(struct model *m, const struct reader_table *t, void *arg, struct ms_err *err)
{
	struct ms_arena a = {0};
	const char *sql = "SELECT";
	for (size_t i = 0; i < t->column_count; i++)
		sql = ms_arena_printf(&a, "%s%s \"%s\"", sql, i ? "," : "", t->columns[i].name);
	sql = ms_arena_printf(&a, "%s FROM %s %s", sql, t->name, t->rest);
	sqlite3_stmt *st = ms_sql_prepare(m->db, sql, err);
	ms_arena_free(&a);
	return read_rows(&(struct reader){.m = m, .arg = arg, .of = t}, st, t->row, err);
}

/* ---- rows that are handed over ---- */

/* Finds the columns that the model stores in a row that the taker received. */
static void find_columns(struct reader *r, const char *table, const struct ms_value *v, size_t n)
{
	size_t i = 0;
	while (strcmp(tables[i].of.name, table) != 0)
		i++;
	r->of = &tables[i].of;
	for (size_t k = 0; k < r->of->column_count; k++) {
		size_t at = 0;
		while (at < n && strcmp(v[at].column, r->of->columns[k].name) != 0)
			at++;
		r->at[k] = at;
	}
	r->table = table;
	r->row_size = n;
}

static void take_row(void *arg, const char *table, const struct ms_value *v, size_t n)
{
	struct reader *r = arg;
	if (r->table != table)
		find_columns(r, table, v, n);
	r->row = v;
	r->col = 0;
	r->m->handed_over = true;
	r->of->row(r);
}

static void take_node(void *arg, int64_t parent, int64_t frame)
{
	const struct reader *r = arg;
	*MS_PUSH(&r->m->nodes) =
		(struct node){parent ? (uint32_t)parent - 1 : NONE, (uint32_t)frame - 1};
}

static void take_thread(void *arg, int64_t site, int64_t thread)
{
	const struct reader *r = arg;
	struct site *last = r->m->sites.n ? &r->m->sites.v[r->m->sites.n - 1] : NULL;
	if (last && last->id == site)
		last->thread = (uint32_t)thread;
}

static void take_gone(void *arg, const struct ms_gone_site *s)
{
	const struct reader *r = arg;
	*MS_PUSH(&r->m->gone) = *s;
}

struct ms_row_taker model_taker(struct model *m)
{
	struct reader *r = ms_arena_alloc(&m->arena, sizeof *r);
	r->m = m;
	return (struct ms_row_taker){take_row, take_node, take_thread, take_gone, r};
}

/* ---- all tables ---- */

int model_read(struct model *m, unsigned parts, struct ms_err *err)
{
	if (m->handed_over && parts & MODEL_SITES)
		finish_sites(m);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		const struct reader_table *t = &tables[i].of;
		if (!(parts & tables[i].part) || (m->handed_over && tables[i].part & HANDED_OVER))
			continue;
		if (t->row == read_stat)
			begin_sites(m);
		if (reader_read_table(m, t, NULL, err) != 0)
			return -1;
	}
	return parts & MODEL_HIDDEN ? reader_read(m, read_filter, filters, err) : 0;
}
