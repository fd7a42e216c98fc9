/* SPDX-License-Identifier: MIT
 * The processes of a run, singly and grouped by program.
 */
#include "table.h"

#include "names.h"

#include <string.h>

#define OWN(member) COLUMN_OF(process, totals.member)
/* Makes a column whose rows add up to the sum of all processes. */
#define SUM(member) .sum = true, OWN(member), COLUMN_ALL(totals.member)

static const struct column process_columns[] = {
	{"program", "exe", CELL_PATH, .sum = false},
	{"pid", "pid", CELL_ID, COLUMN_OF(process, pid)},
	{"own peak", "peak_bytes", CELL_SIZE, OWN(peak_bytes)},
	{"at", "peak_time_ns", CELL_TIME, .optional = true},
	{"at sum's peak", "at_sum_peak_bytes", CELL_SIZE, .sum = true, COLUMN_ALL(sum_peak_bytes)},
	{"at the end", "unfreed_bytes", CELL_SIZE, SUM(unfreed_bytes)},
	{"allocations", "allocations", CELL_COUNT, SUM(allocations)},
	{"blocks", "unfreed_blocks", CELL_COUNT, SUM(unfreed_blocks), .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, SUM(allocated_bytes), .optional = true},
	{"temporary", "temporary", CELL_COUNT, SUM(temporary_allocations), .optional = true},
	{NULL, "failed_allocations", CELL_COUNT, SUM(failed_allocations)},
	{NULL, "process", CELL_ID, COLUMN_OF(process, id)},
	{NULL, "exec_bytes", CELL_SIZE, SUM(exec_bytes)},
	{NULL, "exec_blocks", CELL_COUNT, SUM(exec_blocks)},
	{NULL, "became", CELL_ID, .sum = false},
};
enum { PEAK_TIME = 3, AT_SUM_PEAK = 4, AT_EXEC = 12, BECAME = 14 };

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
	if (m->images)
		table_retitle(m, &t, AT_EXEC, "at exec");
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		struct cell *c = table_row(m, &t)->cells;
		table_take(&t, c, p);
		c[PEAK_TIME].n = figure_add(p->totals.peak_time_ns, p->offset_ns);
		/* the error of this estimate was not recorded */
		c[AT_SUM_PEAK].n = p->est ? UNKNOWN : p->at_sum_peak_bytes;
		c[BECAME].n = p->became == NONE ? UNKNOWN : (uint64_t)p->became_row;
		c[0].s = p->exe ? p->exe : "(unknown)";
		est_cells(m, &t, c, p->est);
	}
	table_finish(m, &t, column_of[metric], limit, "process", TOTAL_OF_RUN);
	return t;
}

/* ---- programs ---- */

static const struct column program_columns[] = {
	{"program", "exe", CELL_TEXT, .sql = "coalesce(exe, '(unknown)')"},
	{"processes", "processes", CELL_COUNT, .sum = true, COLUMN_ALL(processes.n)},
	{"lowest peak", "min_peak_bytes", CELL_SIZE, .sql = "min_peak", .optional = true},
	{"median", "median_peak_bytes", CELL_SIZE, .sql = "median_peak"},
	{"90 %", "p90_peak_bytes", CELL_SIZE, .sql = "p90_peak"},
	{"highest", "max_peak_bytes", CELL_SIZE, .sql = "max_peak"},
	{"of pid", "worst_pid", CELL_ID, .sql = "(SELECT pid FROM process WHERE id = worst)"},
	{"allocations", "allocations", CELL_COUNT, .sum = true, COLUMN_ALL(totals.allocations)},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, .optional = true,
	 COLUMN_ALL(totals.allocated_bytes)},
	{NULL, "worst_process", CELL_ID, .sql = "worst"},
};

/* Sets the intervals of sums and of the worst peak in a sampled recording. Percentiles cannot have
 * intervals and are set to unknown. */
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
		.title = table_unfiltered(m, "PROGRAMS, and the heap peaks of their processes"));
	table_query(m, &t, "FROM by_exe ORDER BY max_peak DESC, by_exe.exe");
	for (size_t i = 0; m->est && i < t.n; i++)
		estimate_program(m, &t, t.rows[i].cells);
	table_finish(m, &t, -1, limit, "program", TOTAL_OF_RUN);
	return t;
}
