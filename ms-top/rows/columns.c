/* SPDX-License-Identifier: MIT
 * Columns of figures about a process.
 */
#include "columns.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ms-top/cells/grid.h"
#include "ms-top/cells/words.h"
#include "libcommon/base/err.h"

#define WIDE_FROM 160 /* screen width from which histories are wider */

const struct column columns[COLUMN_COUNT] = {
	[COLUMN_PID] = {"PID", "PID; of a group: number of processes", 7, true, true, 100},
	[COLUMN_USER] = {"USER", "owner", 8, false, true, 30},
	[COLUMN_RSS] = {"RSS", "resident memory", 6, true, false, 98},
	[COLUMN_PSS] = {"PSS", "resident, shared pages divided among processes", 6, true, false,
			60},
	[COLUMN_USS] = {"USS", "resident and not shared", 6, true, false, 50},
	[COLUMN_SWAP] = {"SWAP", "swapped out", 6, true, false, 20},
	[COLUMN_FOOTPRINT] = {"RSS+SWAP", "resident and swapped out", 8, true, false, 22},
	[COLUMN_SHARED] = {"SHARED", "resident and shared: RSS minus USS", 6, true, false, 21},
	[COLUMN_HEAP] = {"HEAP", "anonymous memory; ~: estimated from statm", 7, true, false, 65},
	[COLUMN_VSZ] = {"VSZ", "address space", 6, true, false, 15},
	[COLUMN_RATE] = {"/MIN", "RSS gained per minute", 7, true, false, 80},
	[COLUMN_START] = {"START",
			  "change in RSS since the process was first seen, or since b was pressed",
			  7, true, false, 45},
	[COLUMN_HISTORY] = {"HISTORY", "the RSS since the process was first seen", 8, false, false,
			    35, true},
	[COLUMN_VERDICT] = {"VERDICT", "trend of the RSS: growing, steady, new, ...", 7, false,
			    true, 70},
	[COLUMN_STATE] = {"S", "state: R S D Z T, x ended", 1, false, true, 25},
	[COLUMN_THREADS] = {"THR", "threads", 4, true, false, 24},
	[COLUMN_CPU] = {"CPU%", "of one core", 5, true, false, 55},
	[COLUMN_READ] = {"READ/S", "bytes read from disk per second", 6, true, false, 18},
	[COLUMN_WRITE] = {"WRITE/S", "bytes written to disk per second", 7, true, false, 17},
	[COLUMN_FAULTS] = {"FAULT/S", "page faults per second", 7, true, false, 16},
	[COLUMN_FROM] = {"FROM", "/proc file of PSS, USS, SWAP, HEAP: rollup, smaps, statm", 6,
			 false, true, 10},
	[COLUMN_CGROUP] = {"CGROUP", "control group", 16, false, true, 12},
	[COLUMN_COMMAND] = {"COMMAND", "arguments", 0, false, true, 99},
};

const struct column_set columns_default = {
	{COLUMN_PID, COLUMN_USER, COLUMN_RSS, COLUMN_PSS, COLUMN_USS, COLUMN_SWAP, COLUMN_HEAP,
	 COLUMN_RATE, COLUMN_START, COLUMN_HISTORY, COLUMN_VERDICT, COLUMN_COMMAND},
	12};

int column_find(const char *name, size_t length, struct ms_err *err)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (strlen(columns[i].title) == length &&
		    strncasecmp(columns[i].title, name, length) == 0)
			return i;
	char all[256] = "";
	for (int i = 0; i < COLUMN_COUNT; i++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "",
			 columns[i].title);
	return ms_err_set(err, "no column '%.*s': choose from %s", (int)length, name, all);
}

int columns_parse(const char *text, struct column_set *out, struct ms_err *err)
{
	out->n = 0;
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		int id = column_find(at, n, err);
		if (id < 0)
			return -1;
		bool twice = false;
		for (size_t i = 0; i < out->n; i++)
			twice |= out->v[i] == id;
		if (!twice)
			out->v[out->n++] = id;
		at += n;
		if (!*at)
			return 0;
	}
}

static int width_of(const struct column *c, bool sorted, int width)
{
	int need = (int)strlen(c->title) + sorted;
	if (c->history && width >= WIDE_FROM)
		return COLUMN_HISTORY_WIDE;
	return c->width && c->width < need ? need : c->width;
}

struct column_places columns_fit(const struct column *c, struct column_set set, int sort, int width,
				 int open)
{
	struct column_places p;
	int fixed, col = 2;
	for (;;) {
		int need = fixed = 2;
		size_t least = 0;
		for (size_t i = 0; i < set.n; i++) {
			p.width[i] = width_of(&c[set.v[i]], set.v[i] == sort, width);
			need += p.width[i] ? p.width[i] + 1 : open;
			fixed += p.width[i] + 1;
			if (c[set.v[i]].lasts < c[set.v[least]].lasts)
				least = i;
		}
		if (need <= width || set.n <= 2)
			break;
		memmove(set.v + least, set.v + least + 1, (--set.n - least) * sizeof set.v[0]);
	}
	for (size_t i = 0; i < set.n; i++) {
		if (!p.width[i])
			p.width[i] = width > fixed ? width - fixed + 1 : 1;
		p.at[i] = col;
		col += p.width[i] + 1;
	}
	p.set = set;
	return p;
}

bool column_is_dear(enum column_id id)
{
	return (id >= COLUMN_PSS && id <= COLUMN_HEAP) || id == COLUMN_READ || id == COLUMN_WRITE ||
	       id == COLUMN_FROM;
}

/* ---- values ---- */

static double per_minute(struct system *s, struct system_process *p)
{
	(void)system_verdict(s, p);
	return p->trend.kind == MS_TREND_SHORT ? 0 : p->trend.slope * 60;
}

static double since_start(const struct system_process *p)
{
	return (double)p->history.bytes - (double)p->history.first_bytes;
}

static double known(uint64_t v)
{
	return v == SYSTEM_UNKNOWN ? -1 : (double)v;
}

static double number_of(struct system *s, enum column_id id, struct system_process *p)
{
	switch (id) {
	case COLUMN_PID:
		return p->pid;
	case COLUMN_RSS:
		return (double)p->rss;
	case COLUMN_PSS:
		return known(p->figures.pss);
	case COLUMN_USS:
		return known(p->figures.uss);
	case COLUMN_SWAP:
		return known(p->figures.swap);
	case COLUMN_FOOTPRINT:
		return p->figures.swap == SYSTEM_UNKNOWN ? -1 : (double)(p->rss + p->figures.swap);
	case COLUMN_SHARED:
		return p->figures.uss == SYSTEM_UNKNOWN ? -1
		       : p->rss > p->figures.uss        ? (double)(p->rss - p->figures.uss)
							: 0;
	case COLUMN_HEAP:
		return known(p->figures.heap);
	case COLUMN_VSZ:
		return (double)p->vsz;
	case COLUMN_RATE:
		return per_minute(s, p);
	case COLUMN_START:
	case COLUMN_HISTORY:
		return since_start(p);
	case COLUMN_THREADS:
		return p->threads;
	case COLUMN_CPU:
		return p->cpu;
	case COLUMN_READ:
		return p->read_bytes == SYSTEM_UNKNOWN ? -1 : p->read_rate;
	case COLUMN_WRITE:
		return p->read_bytes == SYSTEM_UNKNOWN ? -1 : p->write_rate;
	case COLUMN_FAULTS:
		return p->fault_rate;
	default:
		return 0;
	}
}

static const char *text_of(struct system *s, enum column_id id, struct system_process *p)
{
	switch (id) {
	case COLUMN_USER:
		return p->user;
	case COLUMN_VERDICT:
		return system_verdict(s, p);
	case COLUMN_FROM:
		return source_word(p->figures.source);
	case COLUMN_CGROUP:
		return p->cgroup;
	case COLUMN_COMMAND:
		return p->command;
	default:
		return NULL;
	}
}

int column_compare(struct system *s, enum column_id id, struct system_process *a,
		   struct system_process *b)
{
	const char *x = text_of(s, id, a), *y = text_of(s, id, b);
	if (x)
		return strcmp(x, y);
	if (id == COLUMN_STATE)
		return a->state - b->state;
	double m = number_of(s, id, a), n = number_of(s, id, b);
	int order = m < n ? -1 : m > n;
	return columns[id].up ? order : -order;
}

/* ---- cells ---- */

static const char *figure(struct system *s, enum column_id id, struct system_process *p)
{
	double v = number_of(s, id, p);
	if (v < 0 && column_is_dear(id))
		return "-";
	switch (id) {
	case COLUMN_PID:
		return words_print(p->group ? "x%d" : "%d", (int)p->pid);
	case COLUMN_RATE:
		return p->kernel || p->trend.kind == MS_TREND_SHORT
			       ? "-"
			       : words_change(per_minute(s, p));
	case COLUMN_START:
		return words_change(since_start(p));
	case COLUMN_CPU:
		return words_print("%.1f", p->cpu * 100);
	case COLUMN_HEAP:
		/* anonymous memory also includes stacks and shared memory */
		return words_print("%s%s", p->figures.source == SOURCE_STATM ? "~" : "",
				   words_size((uint64_t)v));
	case COLUMN_THREADS:
	case COLUMN_FAULTS:
		return words_count(v);
	default:
		return words_size((uint64_t)v);
	}
}

static enum grid_style style_of(struct system *s, enum column_id id, struct system_process *p)
{
	if (p->ended || p->kernel)
		return GRID_DIM;
	if (id == COLUMN_VERDICT || id == COLUMN_RATE) {
		const char *v = system_verdict(s, p);
		return strcmp(v, "growing") == 0                               ? GRID_BAD
		       : strcmp(v, "maybe") == 0 || strcmp(v, "doubling") == 0 ? GRID_WARN
									       : GRID_PLAIN;
	}
	return id == COLUMN_HISTORY ? GRID_ACCENT : GRID_PLAIN;
}

void column_draw(struct grid *g, int row, int col, int width, struct system *s, enum column_id id,
		 struct system_process *p, const char *indent)
{
	char line[sizeof p->command + 128];
	enum grid_style style = style_of(s, id, p);
	if (id == COLUMN_HISTORY) {
		unsigned values[COLUMN_HISTORY_WIDE];
		size_t n = history_values(&p->history, values,
					  width < COLUMN_HISTORY_WIDE ? (size_t)width
								      : COLUMN_HISTORY_WIDE);
		grid_spark(g, row, col, width, style, values, n);
	} else if (id == COLUMN_STATE) {
		grid_put(g, row, col, width, style,
			 words_print("%c", p->ended   ? 'x'
					   : p->state ? p->state
						      : ' '));
	} else if (id == COLUMN_COMMAND) {
		/* marks precede the arguments, which may be long */
		snprintf(line, sizeof line, "%s%s%s%s%s", indent,
			 !p->group ? ""
			 : p->open ? "- "
				   : "+ ",
			 p->recorded && s->recordings.n ? g->ascii ? "*rec " : "●rec " : "",
			 p->ended ? words_print("peak %s  ", words_size(p->largest)) : "",
			 p->command);
		grid_put(g, row, col, width, style, line);
	} else if (columns[id].right) {
		grid_put_right(g, row, col, width, style, figure(s, id, p));
	} else {
		grid_put(g, row, col, width, style, text_of(s, id, p));
	}
}
