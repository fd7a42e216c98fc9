/* SPDX-License-Identifier: MIT
 * The line table of one unit: its files, and the rows that its program makes.
 *
 * It is read here and not by libdwarf, which allocates every row: a big binary has tens of
 * millions.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols_read.h"

/* What a line table says before its program. */
struct header {
	struct ms_elf *elf;
	unsigned version, offset_bytes, address_bytes;
	unsigned step; /* bytes of the least instruction */
	int line_base;
	unsigned line_range, opcode_base;
	uint8_t lengths[256]; /* arguments of each standard opcode */
	struct {
		const char **v;
		size_t n, cap;
	} folders;
	struct {
		struct ms_source *v;
		size_t n, cap;
	} files;
};

/* ---- folders and files ---- */

/* Before version 5: strings up to an empty one. Folder 0 is the compilation folder, left out. */
static void read_tables_4(struct header *h, struct ms_bytes *c)
{
	const char *s;
	*MS_PUSH(&h->folders) = NULL;
	while ((s = ms_get_string(c)) && *s)
		*MS_PUSH(&h->folders) = s;
	while ((s = ms_get_string(c)) && *s) {
		uint64_t folder = ms_get_varint(c);
		ms_get_varint(c);
		ms_get_varint(c);
		*MS_PUSH(&h->files) = (struct ms_source){
			.name = s,
			.folder = folder && folder < h->folders.n ? h->folders.v[folder] : NULL};
	}
}

static const char *string_in(struct ms_elf *e, const char *section, uint64_t offset)
{
	struct ms_bytes c = ms_bytes_of(e, section, offset);
	return ms_get_string(&c);
}

/* A field of a table of version 5: its string, or else *number. */
static const char *read_field(const struct header *h, struct ms_bytes *c, uint64_t form,
			      uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		return ms_get_string(c);
	case DW_FORM_line_strp:
		return string_in(h->elf, ".debug_line_str", ms_get_fixed(c, h->offset_bytes));
	case DW_FORM_strp:
		return string_in(h->elf, ".debug_str", ms_get_fixed(c, h->offset_bytes));
	case DW_FORM_udata:
		*number = ms_get_varint(c);
		break;
	case DW_FORM_data1:
		*number = ms_get_fixed(c, 1);
		break;
	case DW_FORM_data2:
		*number = ms_get_fixed(c, 2);
		break;
	case DW_FORM_data4:
		*number = ms_get_fixed(c, 4);
		break;
	case DW_FORM_data8:
		*number = ms_get_fixed(c, 8);
		break;
	case DW_FORM_data16:
		ms_skip(c, 16);
		break;
	case DW_FORM_block:
		ms_skip(c, ms_get_varint(c));
		break;
	default:
		c->bad = true;
		break;
	}
	return NULL;
}

struct entry {
	const char *path;
	uint64_t folder;
};

/* A table of version 5: what its entries have, then the entries. */
static void read_table_5(struct header *h, struct ms_bytes *c,
			 void (*each)(struct header *h, const struct entry *e))
{
	uint64_t what[256], form[256];
	unsigned fields = (unsigned)ms_get_fixed(c, 1);
	for (unsigned i = 0; i < fields; i++) {
		what[i] = ms_get_varint(c);
		form[i] = ms_get_varint(c);
	}
	for (uint64_t left = ms_get_varint(c); left && !c->bad; left--) {
		struct entry e = {0};
		const uint8_t *start = c->p;
		for (unsigned i = 0; i < fields; i++) {
			uint64_t number = 0;
			const char *s = read_field(h, c, form[i], &number);
			if (what[i] == DW_LNCT_path)
				e.path = s;
			else if (what[i] == DW_LNCT_directory_index)
				e.folder = number;
		}
		if (c->p == start) /* entries of nothing, without end */
			return;
		each(h, &e);
	}
}

static void add_folder(struct header *h, const struct entry *e)
{
	*MS_PUSH(&h->folders) = e->path;
}

static void add_file(struct header *h, const struct entry *e)
{
	*MS_PUSH(&h->files) = (struct ms_source){
		.name = e->path,
		.folder = e->folder < h->folders.n ? h->folders.v[e->folder] : NULL};
}

/* Reads all before the program and leaves `c` at it, with its end. False: no such table. */
static bool read_header(struct header *h, struct ms_bytes *c)
{
	bool wide;
	uint64_t length = ms_get_length(c, &wide);
	if (c->bad || length > (uint64_t)(c->end - c->p))
		return false;
	c->end = c->p + length;
	h->offset_bytes = wide ? 8 : 4;
	h->address_bytes = 8;
	h->version = (unsigned)ms_get_fixed(c, 2);
	if (h->version < 2 || h->version > 5)
		return false;
	if (h->version == 5) {
		h->address_bytes = (unsigned)ms_get_fixed(c, 1);
		ms_get_fixed(c, 1);
	}
	uint64_t rest = ms_get_fixed(c, h->offset_bytes);
	if (c->bad || rest > (uint64_t)(c->end - c->p) || h->address_bytes != 8)
		return false;
	const uint8_t *program = c->p + rest;
	h->step = (unsigned)ms_get_fixed(c, 1);
	if (h->version >= 4)
		ms_get_fixed(c, 1);
	ms_get_fixed(c, 1);
	h->line_base = (int8_t)ms_get_fixed(c, 1);
	h->line_range = (unsigned)ms_get_fixed(c, 1);
	h->opcode_base = (unsigned)ms_get_fixed(c, 1);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->lengths[i] = (uint8_t)ms_get_fixed(c, 1);
	if (c->bad || !h->line_range || !h->opcode_base)
		return false;
	struct ms_bytes tables = {.p = c->p, .end = program};
	if (h->version < 5) {
		read_tables_4(h, &tables);
	} else {
		read_table_5(h, &tables, add_folder);
		read_table_5(h, &tables, add_file);
	}
	c->p = program;
	return true;
}

/* ---- rows ---- */

struct rows {
	struct ms_row *v;
	size_t n, cap;
	size_t first;       /* of the sequence in hand */
	uint64_t low, last; /* its first and latest address */
	bool bad;           /* it does not ascend, or is too long */
};

struct sequences {
	struct ms_sequence *v;
	size_t n, cap;
};

struct state {
	uint64_t address, line, file, column;
};

/* Appends a row; of several at one address the last counts, as no instruction lies before it. */
static void push_row(struct rows *r, const struct state *s)
{
	enum { MAX_FILE = 1 << 20, MAX_COLUMN = 1 << 12 };
	if (r->n == r->first)
		r->low = s->address;
	r->bad |= r->n > r->first && (s->address < r->last || s->address - r->low > UINT32_MAX);
	bool again = r->n > r->first && s->address == r->last;
	*(again ? &r->v[r->n - 1] : MS_PUSH(r)) = (struct ms_row){
		.offset = (uint32_t)(s->address - r->low),
		.line = (uint32_t)s->line,
		.file = s->file < MAX_FILE ? (unsigned)s->file : 0,
		.column = s->column < MAX_COLUMN ? (unsigned)s->column : 0,
	};
	r->last = s->address;
}

/* Closes the sequence in hand at `high`: of no use when its code was removed. */
static void end_sequence(struct rows *r, struct sequences *s, uint64_t high)
{
	size_t n = r->n - r->first;
	if (n && !r->bad && r->low && r->low < high && high < UINT64_MAX - 1)
		*MS_PUSH(s) = (struct ms_sequence){r->low, high, 0, r->first, n};
	else
		r->n = r->first;
	r->first = r->n;
	r->bad = false;
}

static const struct state at_start = {.line = 1, .file = 1};

static void run_extended(struct ms_bytes *c, struct state *s, struct rows *r, struct sequences *q)
{
	uint64_t length = ms_get_varint(c);
	if (c->bad || !length || length > (uint64_t)(c->end - c->p)) {
		c->bad |= length != 0;
		return;
	}
	const uint8_t *next = c->p + length;
	switch (ms_get_fixed(c, 1)) {
	case DW_LNE_end_sequence:
		end_sequence(r, q, s->address);
		*s = at_start;
		break;
	case DW_LNE_set_address:
		if (length == 9)
			s->address = ms_get_fixed(c, 8);
		break;
	default:
		break;
	}
	c->p = next;
}

static void run_standard(const struct header *h, struct ms_bytes *c, unsigned op, struct state *s,
			 struct rows *r)
{
	switch (op) {
	case DW_LNS_copy:
		push_row(r, s);
		break;
	case DW_LNS_advance_pc:
		s->address += ms_get_varint(c) * h->step;
		break;
	case DW_LNS_advance_line:
		s->line += (uint64_t)ms_get_signed(c);
		break;
	case DW_LNS_set_file:
		s->file = ms_get_varint(c);
		break;
	case DW_LNS_set_column:
		s->column = ms_get_varint(c);
		break;
	case DW_LNS_const_add_pc:
		s->address += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->step;
		break;
	case DW_LNS_fixed_advance_pc:
		s->address += ms_get_fixed(c, 2);
		break;
	default:
		for (unsigned i = 0; i < h->lengths[op]; i++)
			ms_get_varint(c);
		break;
	}
}

static void run(const struct header *h, struct ms_bytes *c, struct rows *r, struct sequences *q)
{
	/* what a special opcode does, found once */
	uint32_t step[256];
	int32_t line[256];
	for (unsigned op = h->opcode_base; op < 256; op++) {
		step[op] = (op - h->opcode_base) / h->line_range * h->step;
		line[op] = h->line_base + (int)((op - h->opcode_base) % h->line_range);
	}
	struct state s = at_start;
	while (!c->bad && c->p < c->end) {
		unsigned op = *c->p++;
		if (op >= h->opcode_base) {
			s.address += step[op];
			s.line += (uint64_t)(int64_t)line[op];
			push_row(r, &s);
		} else if (op == 0) {
			run_extended(c, &s, r, q);
		} else {
			run_standard(h, c, op, &s, r);
		}
	}
	r->n = r->first; /* what no end closed */
}

/* ---- into the unit ---- */

static int by_low(const void *a, const void *b)
{
	const struct ms_sequence *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void keep_rows(struct ms_unit *u, const struct rows *r, struct sequences *s)
{
	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof *s->v, by_low);
	for (size_t i = 0; i < s->n; i++)
		s->v[i].reach =
			i && s->v[i - 1].reach > s->v[i].high ? s->v[i - 1].reach : s->v[i].high;
	u->rows = ms_arena_alloc(&u->arena, r->n * sizeof *u->rows);
	memcpy(u->rows, r->v, r->n * sizeof *u->rows);
	u->sequence_count = s->n;
	u->sequences = ms_arena_alloc(&u->arena, s->n * sizeof *s->v);
	memcpy(u->sequences, s->v, s->n * sizeof *s->v);
	u->bytes += r->n * sizeof *u->rows + s->n * sizeof *s->v;
}

void ms_lines_read(struct ms_unit *u, struct ms_elf *elf, uint64_t offset)
{
	struct header h = {.elf = elf};
	struct rows rows = {0};
	struct sequences sequences = {0};
	struct ms_bytes c = ms_bytes_of(elf, ".debug_line", offset);
	if (read_header(&h, &c)) {
		u->first_source = h.version < 5;
		u->source_count = h.files.n;
		if (h.files.n) {
			u->sources = ms_arena_alloc(&u->arena, h.files.n * sizeof *u->sources);
			memcpy(u->sources, h.files.v, h.files.n * sizeof *u->sources);
		}
		run(&h, &c, &rows, &sequences);
		keep_rows(u, &rows, &sequences);
	}
	free(h.folders.v);
	free(h.files.v);
	free(rows.v);
	free(sequences.v);
}
