/* SPDX-License-Identifier: MIT
 * The processes of a run, if the report is about one of several.
 */
#include "words.h"

#include "names.h"
#include "table.h"

#include "ms-report/model/run.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

#define ROWS 6

static const struct column run_columns[] = {
	{"program", "exe", CELL_PATH, .sum = false},
	{"pid", "pid", CELL_ID, COLUMN_OF(run_process, pid)},
	{"peak", "peak_bytes", CELL_SIZE, COLUMN_OF(run_process, peak_bytes)},
	{"at the end", "unfreed_bytes", CELL_SIZE, COLUMN_OF(run_process, unfreed_bytes)},
	{"unreachable", "unreachable_bytes", CELL_SIZE, COLUMN_OF(run_process, unreachable_bytes)},
	{"lost events", "events_lost", CELL_COUNT, COLUMN_OF(run_process, events_lost)},
};

/* Returns a process's name: "big, pid 4117". */
static const char *name_of(struct model *m, const struct run_process *p, const struct style *st)
{
	const char *slash = p->exe ? strrchr(p->exe, '/') : NULL,
		   *name = slash ? slash + 1 : p->exe;
	return SAY("%s, pid %llu",
		   name ? name_cut(&m->arena, name_clean(&m->arena, name, st->ascii), 40, st->ascii)
			: "(unknown)",
		   (unsigned long long)p->pid);
}

const char *run_words(struct model *m, const struct run *r, const struct style *st)
{
	return SAY("showing %s, %s of %zu processes; --process chooses another",
		   name_of(m, &r->processes.v[r->shown], st),
		   r->shown ? "one" : "which has the highest peak", r->processes.n);
}

struct table run_table(struct model *m, const struct run *r, const struct style *st)
{
	bool sampled = false;
	struct table t = TABLE_OF(run_columns, .title = NULL);
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct run_process *p = &r->processes.v[i];
		struct cell *c = table_row(m, &t)->cells;
		table_take(&t, c, p);
		c[0].s = p->exe ? p->exe : "(unknown)";
		sampled |= p->sampled;
	}
	table_finish(m, &t, -1, ROWS, "process", TOTAL_NONE);
	const char *missed = !r->missed ? ""
					: SAY("; %s not recorded: see FILE.d/index",
					      say_things(m, r->missed, "program"));
	t.title = SAY("PROCESSES of the run by peak%s%s; below: %s (--process)",
		      sampled ? ", estimated" : "", missed,
		      name_of(m, &r->processes.v[r->shown], st));
	return t;
}
