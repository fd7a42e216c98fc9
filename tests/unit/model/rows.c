/* SPDX-License-Identifier: MIT
 * A database as the arrays of a model: references that lead nowhere, numbers that are none, and
 * tables that nobody asked for.
 */
#include "libcommon/base/err.h"
#include "libcommon/model/facts.h"
#include "libcommon/model/rows.h"

#include "tests/unit/check.h"

#include <inttypes.h>
#include <string.h>

static const char content[] =
	"INSERT INTO process(id, pid, exe, offset_ns, state, complete, events_lost, peak_bytes)"
	" VALUES(1, 70, '/bin/a', 5, 'growing', 1, 3, 900), (4, 71, '', NULL, 'complete', 0, -1, "
	"'x');"
	"INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks)"
	" VALUES(1, 1, 'peak', 10, 900, 9), (2, 1, 'end', 20, 300, 3), (3, 4, 'end', 40, 100, 1);"
	"INSERT INTO module(id, process, path, start, \"end\", bias)"
	" VALUES(2, 1, '/bin/a', 4096, 8192, NULL);"
	"INSERT INTO frame(id, process, module, address, function, line, inlined, runtime)"
	" VALUES(1, 1, 2, 5000, 'main', 7, 0, 0), (3, 1, 9, NULL, NULL, -1, 1, 1);"
	"INSERT INTO stack(id, process, parent, frame, depth)"
	" VALUES(1, 1, NULL, 1, 0), (2, 1, 5, 3, 1), (3, 1, 1, 8, 1), (5, 1, 1, 3, 1);"
	"INSERT INTO site(id, process, stack, user_frame, allocations, allocated_bytes)"
	" VALUES(1, 1, 5, 1, 12, 1200), (2, 4, 3, NULL, -2, 'y'), (3, 8, 1, 1, 1, 1);"
	"INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks)"
	" VALUES(1, 1, 900, 9), (2, 1, 300, 3), (3, 2, 100, 1), (7, 1, 1, 1);"
	"INSERT INTO thread(id, process, tid, peak_bytes) VALUES(1, 1, 70, 8), (2, 6, 72, 8);"
	"INSERT INTO mark(process, seq, name, time_ns) VALUES(1, 1, 'go', 7), (6, 1, 'no', 7);"
	"INSERT INTO hidden(stage, filter, process, snapshot, sites, allocations, live_bytes,"
	" live_blocks) VALUES(1, '--min 4k', 1, NULL, 2, 20, NULL, NULL),"
	" (1, '--min 4k', 1, 2, 2, NULL, 64, 2);";

static sqlite3 *database(void)
{
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_new(&err);
	CHECK(db && ms_sql_exec(db, content, &err) == 0, "%s", err.text);
	return db;
}

static void check_rows(const struct model *m)
{
	const struct process *p = m->processes.v;
	CHECK(m->processes.n == 2 && p[0].pid == 70 && p[1].offset_ns == 0, "%zu", m->processes.n);
	CHECK(p[0].quality.growing && p[0].quality.complete && !p[1].quality.complete, "%s",
	      p[0].state);
	CHECK(p[0].quality.events_lost == 3 && p[1].quality.events_lost == UNKNOWN, "%" PRIu64,
	      p[1].quality.events_lost);
	CHECK(p[0].totals.peak_bytes == 900 && p[1].totals.peak_bytes == UNKNOWN, "%" PRIu64,
	      p[1].totals.peak_bytes);
	CHECK(m->modules.n == 1 && m->modules.v->bias == 0 && m->modules.v->end == 8192, "%zu",
	      m->modules.n);
	const struct frame *f = m->frames.v;
	CHECK(m->frames.n == 2 && f[0].module == 0 && f[0].line == 7 && !f[0].inlined, "%zu",
	      m->frames.n);
	CHECK(f[1].module == NONE && f[1].address == UNKNOWN && f[1].line == 0 && f[1].runtime,
	      "%u", f[1].line);
	/* the third has no frame; the caller of the second comes after it */
	const struct node *n = m->nodes.v;
	CHECK(m->nodes.n == 3 && n[1].parent == NONE && n[2].parent == 0 && n[2].frame == 1, "%zu",
	      m->nodes.n);
	CHECK(m->threads.n == 1 && m->threads.v->peak.bytes == 8, "%zu", m->threads.n);
	CHECK(m->marks.n == 1 && m->marks.v->time_ns == 12, "%zu", m->marks.n);
}

static void check_sites(const struct model *m)
{
	const struct site *s = m->sites.v;
	CHECK(m->sites.n == 2 && s[0].stack == 2 && s[0].user == 0 && s[1].stack == NONE, "%zu",
	      m->sites.n);
	CHECK(s[0].peak.bytes == 900 && s[0].end.blocks == 3 && s[0].at.bytes == 300, "%" PRIu64,
	      s[0].at.bytes);
	CHECK(s[1].allocations == UNKNOWN && s[1].allocated_bytes == UNKNOWN && s[1].process == 1,
	      "%" PRIu64, s[1].allocations);
	CHECK(m->end.bytes == 400 && m->peak.bytes == 900, "%" PRIu64, m->end.bytes);
	CHECK(m->hidden.sites == 2 && m->hidden.allocations == 20 && m->hidden.end.bytes == 64 &&
		      m->hidden.peak.bytes == 0 && !strcmp(m->hidden.filters, "--min 4k"),
	      "%" PRIu64, m->hidden.sites);
}

static void check_parts(sqlite3 *db)
{
	struct model m = {.db = db, .no_empty_texts = true};
	struct ms_err err = {0};
	CHECK(model_read(&m, MODEL_PROCESSES | MODEL_FRAMES, &err) == 0, "%s", err.text);
	CHECK(m.processes.n == 2 && !m.processes.v[1].exe && m.frames.n == 2, "%zu", m.frames.n);
	CHECK(m.frames.v->module == NONE && !m.modules.n && !m.sites.n && !m.threads.n, "%zu",
	      m.sites.n);
	model_free(&m);
}

int main(void)
{
	sqlite3 *db = database();
	struct model m = {0};
	struct ms_err err = {0};
	CHECK(model_load(&m, db, "nowhere", &err) != 0 && strstr(err.text, "peak, end"), "%s",
	      err.text);
	model_free(&m);
	m = (struct model){0};
	CHECK(model_load(&m, db, NULL, &err) == 0, "%s", err.text);
	check_rows(&m);
	check_sites(&m);
	model_free(&m);
	check_parts(db);
	sqlite3_close(db);
	return failures != 0;
}
