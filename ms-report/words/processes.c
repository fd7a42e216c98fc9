/* SPDX-License-Identifier: MIT
 * The processes of a run: each, and those of one program together.
 */
#include "table.h"

#include "names.h"
#include "say.h"

#include "libcommon/base/err.h"

#include <string.h>

static const struct column process_columns[] = {
	{"program", "exe", CELL_PATH, .sum = false},
	{"pid", "pid", CELL_ID, .sum = false},
	{"own peak", "peak_bytes", CELL_SIZE, .sum = false},
	{"at", "peak_time_ns", CELL_TIME, .sum = false, .optional = true},
	{"at sum's peak", "at_sum_peak_bytes", CELL_SIZE, .sum = true},
	{"at the end", "unfreed_bytes", CELL_SIZE, .sum = true},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"blocks", "unfreed_blocks", CELL_COUNT, .sum = true, .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, .optional = true},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{NULL, "failed_allocations", CELL_COUNT, .sum = true},
	{NULL, "process", CELL_ID, .sum = false},
	{NULL, "exec_bytes", CELL_SIZE, .sum = true},
	{NULL, "exec_blocks", CELL_COUNT, .sum = true},
	{NULL, "became", CELL_ID, .sum = false},
};

enum { EXEC_COLUMN = 12 };

static const char *process_title(struct model *m)
{
	if (m->processes.n < 2)
		return table_unfiltered(m, "PROCESSES");
	return table_unfiltered(
		m, ms_arena_printf(&m->arena,
				   "PROCESSES, each with its own peak; their sum was largest at %s",
				   say_time(m, m->sum_peak_time_ns)));
}

struct table table_processes(struct model *m, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT + 1] = {
		[METRIC_LIVE] = 5,        [METRIC_PEAK] = 2,      [METRIC_ALLOCATED] = 8,
		[METRIC_ALLOCATIONS] = 6, [METRIC_TEMPORARY] = 9, [METRIC_FAILED] = 10,
		[METRIC_COUNT] = 2};
	struct table t = TABLE_OF(process_columns, .title = process_title(m));
	if (m->images) {
		struct column *shown = ms_arena_alloc(&m->arena, sizeof process_columns);
		memcpy(shown, process_columns, sizeof process_columns);
		shown[EXEC_COLUMN].title = "at exec";
		t.columns = shown;
	}
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		const struct totals *s = &p->totals;
		struct cell *c = table_row(m, &t, m->processes.n)->cells;
		const uint64_t v[] = {
			0, p->pid, s->peak_bytes, figure_add(s->peak_time_ns, p->offset_ns),
			/* how sure an estimate of it is nobody noted */
			p->est ? UNKNOWN : p->at_sum_peak, s->unfreed_bytes, s->allocations,
			s->unfreed_blocks, s->allocated_bytes, s->temporary, s->failed,
			(uint64_t)p->id, s->exec_bytes, s->exec_blocks,
			p->became == NONE ? UNKNOWN : (uint64_t)p->became_row};
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = v[k];
		c[0].s = p->exe ? p->exe : "(unknown)";
		est_cells(m, &t, c, p->est);
	}
	const struct totals *a = &m->totals;
	const uint64_t total[] = {0,
				  UNKNOWN,
				  UNKNOWN,
				  UNKNOWN,
				  m->sum_peak_bytes,
				  a->unfreed_bytes,
				  a->allocations,
				  a->unfreed_blocks,
				  a->allocated_bytes,
				  a->temporary,
				  a->failed,
				  UNKNOWN,
				  a->exec_bytes,
				  a->exec_blocks,
				  UNKNOWN};
	table_finish(m, &t, column_of[metric], limit, "processes", total);
	return t;
}

/* ---- programs ---- */

static const struct column program_columns[] = {
	{"program", "exe", CELL_TEXT, .sum = false},
	{"processes", "processes", CELL_COUNT, .sum = true},
	{"least peak", "min_peak_bytes", CELL_SIZE, .sum = false, .optional = true},
	{"median", "median_peak_bytes", CELL_SIZE, .sum = false},
	{"90 %", "p90_peak_bytes", CELL_SIZE, .sum = false},
	{"worst", "max_peak_bytes", CELL_SIZE, .sum = false},
	{"of pid", "worst_pid", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, .optional = true},
	{NULL, "worst_process", CELL_ID, .sum = false},
};

/* Sampled: sums and the worst have intervals, what is in between has none. */
static void estimate_program(struct model *m, const struct table *t, struct cell *c)
{
	c[2].n = c[3].n = c[4].n = UNKNOWN;
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		if (strcmp(p->exe ? base_name(p->exe) : "(unknown)", base_name(c[0].s)) != 0)
			continue;
		est_cells(m, t, c, p->est);
		if ((uint64_t)p->id == c[9].n)
			est_cell_add(m, &c[5], est_of(p->est, EST_PEAK));
	}
}

struct table table_programs(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(
		program_columns,
		.title = table_unfiltered(m, "PROGRAMS, and the own peaks of their processes"));
	struct ms_err ignored = {0};
	sqlite3_stmt *st = ms_sql_prepare(
		m->db,
		"SELECT e.exe, e.processes, e.min_peak, e.median_peak, e.p90_peak, e.max_peak,"
		" p.pid, e.allocations, e.allocated_bytes, e.worst FROM by_exe e"
		" LEFT JOIN process p ON p.id = e.worst ORDER BY e.max_peak DESC, e.exe",
		&ignored);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		struct cell *c = table_row(m, &t, m->processes.n)->cells;
		const char *exe = (const char *)sqlite3_column_text(st, 0);
		c[0].s = exe ? ms_arena_strdup(&m->arena, exe) : "(unknown)";
		for (int k = 1; k < (int)t.column_count; k++)
			c[k].n = figure_in(st, k);
	}
	sqlite3_finalize(st);
	for (size_t i = 0; m->est && i < t.n; i++)
		estimate_program(m, &t, t.rows[i].cells);
	const struct totals *a = &m->totals;
	const uint64_t total[] = {0,       m->processes.n, UNKNOWN,
				  UNKNOWN, UNKNOWN,        UNKNOWN,
				  UNKNOWN, a->allocations, a->allocated_bytes,
				  UNKNOWN};
	table_finish(m, &t, -1, limit, "programs", total);
	return t;
}
