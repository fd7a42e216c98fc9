/* SPDX-License-Identifier: MIT
 * The line table of one unit: its sources and its rows, which libdw sorts by address.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = (1 << 20) - 1, MAX_COLUMN = (1 << 12) - 1 };

struct table {
	struct ms_unit *u;
	Dwarf_Files *files; /* files that rows refer to */
	uint32_t first_file;
	MS_ARRAY(struct ms_row) rows;
	struct ms_spans sequences;
	size_t first; /* first row of the open sequence */
	uint64_t low;
};

/* Appends the names of files to the unit's sources. Returns the index of the first. */
static uint32_t add_sources(struct ms_unit *u, Dwarf_Files *files, size_t n)
{
	size_t had = u->source_count;
	struct ms_source *v = ms_arena_alloc(u->memory, (had + n + 1) * sizeof *v);
	if (had)
		memcpy(v, u->sources, had * sizeof *v);
	for (size_t i = 0; i < n; i++) {
		const char *name = dwarf_filesrc(files, i, NULL, NULL);
		v[had + i] = (struct ms_source){.name = name && *name && strcmp(name, "???") != 0
								? ms_arena_strdup(u->memory, name)
								: NULL};
		u->bytes += name ? strlen(name) + 1 : 0;
	}
	u->sources = v;
	u->source_count = had + n;
	u->bytes += n * sizeof *v;
	return (uint32_t)had;
}

static uint32_t file_of(struct table *t, Dwarf_Line *line)
{
	Dwarf_Files *files;
	size_t file;
	if (dwarf_line_file(line, &files, &file) != 0)
		return 0;
	if (files != t->files) { /* files of the outer unit, if DWARF is split */
		size_t n = 0;
		t->files = files;
		while (dwarf_filesrc(files, n, NULL, NULL))
			n++;
		t->first_file = add_sources(t->u, files, n);
	}
	file += t->first_file;
	return file <= MAX_FILE ? (uint32_t)file : 0;
}

static void end_sequence(struct table *t, uint64_t high)
{
	if (t->rows.n > t->first && t->low && high > t->low)
		*MS_PUSH(&t->sequences) =
			(struct ms_span){.low = t->low,
					 .high = high,
					 .first_row = (uint32_t)t->first,
					 .rows = (uint32_t)(t->rows.n - t->first)};
	else
		t->rows.n = t->first;
	t->first = t->rows.n;
}

static void add_row(struct table *t, Dwarf_Line *line)
{
	Dwarf_Addr address;
	bool end = false;
	int number = 0, column = 0;
	if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &end) != 0)
		return;
	if (end) {
		end_sequence(t, address);
		return;
	}
	if (t->rows.n == t->first)
		t->low = address;
	if (address < t->low || address - t->low > UINT32_MAX)
		return;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	struct ms_row row = {
		.offset = (uint32_t)(address - t->low),
		.line = number > 0 ? (uint32_t)number : 0,
		.file = file_of(t, line),
		.column = column > 0 && column <= MAX_COLUMN ? (uint32_t)column & MAX_COLUMN : 0};
	/* the last one of several rows at one address is used */
	bool again = t->rows.n > t->first && t->rows.v[t->rows.n - 1].offset == row.offset;
	*(again ? &t->rows.v[t->rows.n - 1] : MS_PUSH(&t->rows)) = row;
}

bool ms_lines_read(struct ms_unit *u, Dwarf_Die *outer, Dwarf_Die *unit)
{
	struct table t = {.u = u};
	Dwarf_Lines *lines;
	size_t n;
	if (dwarf_getsrcfiles(unit, &t.files, &n) == 0 ||
	    dwarf_getsrcfiles(outer, &t.files, &n) == 0)
		add_sources(u, t.files, n);
	if (dwarf_getsrclines(outer, &lines, &n) != 0)
		return !dwarf_hasattr(outer, DW_AT_stmt_list);
	for (size_t i = 0; i < n; i++)
		add_row(&t, dwarf_onesrcline(lines, i));
	u->rows = ms_unit_keep(u, t.rows.v, t.rows.n * sizeof *u->rows);
	u->row_count = t.rows.n;
	u->sequences = ms_unit_keep_spans(u, &t.sequences);
	free(t.rows.v);
	return true;
}
