/* SPDX-License-Identifier: MIT
 * Code objects of an interpreter, stored once for equal content, and the frames that they have in
 * the trace.
 *
 * All bytes come from another process and may be arbitrary.
 */
#include "interpreter_private.h"

#include <string.h>

#include "format/trace.h"
#include "modules.h"

#define BYTES_MOST ((size_t)512 << 20)

struct interpreter *interpreter_of(struct modules *all)
{
	if (!all->interpreter)
		all->interpreter = ms_xcalloc(1, sizeof *all->interpreter);
	return all->interpreter;
}

void interpreter_free(struct interpreter *i)
{
	if (!i)
		return;
	ms_arena_free(&i->arena);
	MS_FREE(i->codes.v, i->sources.v, i->functions.v, i->by_content.slots, i->by_file.slots,
		i->by_name.slots, i);
}

/* ---- text ---- */

/* Writes a character in UTF-8 and returns the number of bytes. A surrogate that represents an
 * undecodable byte is written as that byte. */
static size_t put_character(char *out, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		out[0] = (char)(c & 0xff);
		return 1;
	}
	if (c < 0x20 || c == 0x7f || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
	out[0] = (char)(first[more] | c >> 6 * more);
	for (unsigned i = 1; i <= more; i++)
		out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
	return more + 1;
}

static const char *text_of(struct ms_arena *a, const struct interpreter_text *t)
{
	size_t n = t->n / t->width, at = 0;
	char *out = ms_arena_alloc(a, n * 4 + 1);
	for (size_t i = 0; i < n; i++) {
		uint32_t c = 0;
		memcpy(&c, t->bytes + i * t->width, t->width); /* characters are little-endian, like
								  this machine */
		at += put_character(out + at, c);
	}
	return out;
}

/* ---- lines ---- */

struct table {
	const uint8_t *at, *end;
};

static uint32_t take_number(struct table *t)
{
	uint32_t v = 0;
	for (unsigned shift = 0; t->at < t->end; shift += 6) {
		uint8_t b = *t->at++;
		if (shift < 32)
			v |= (uint32_t)(b & 63) << shift;
		if (!(b & 64))
			break;
	}
	return v;
}

/* Reads an entry of a line table. Returns the difference between its line and the previous entry's
 * line. *none: the entry's instructions have no line. */
static int64_t take_entry(struct table *t, unsigned kind, bool *none)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	*none = kind == NONE;
	if (kind < ONE_LINE) {
		t->at++;
		return 0;
	}
	if (kind < NO_COLUMNS) {
		t->at += 2;
		return kind - ONE_LINE;
	}
	if (kind == NONE)
		return 0;
	uint32_t v = take_number(t);
	for (int i = 0; i < 3 && kind == LONG; i++)
		take_number(t);
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Returns the line of an instruction from a table of pairs; each pair has a step in bytes of code
 * and a step in lines. `before`: the line step applies before the pair's code, not after it. */
static uint32_t line_by_pairs(const struct table *t, bool before, uint32_t first_line,
			      uint32_t instruction)
{
	enum { NONE = -128 };
	int64_t line = first_line;
	uint64_t end = 0, at = (uint64_t)instruction * 2;
	for (const uint8_t *p = t->at; t->end - p >= 2; p += 2) {
		int8_t step = (int8_t)p[1];
		bool none = before && step == NONE;
		end += p[0];
		line += before && !none ? step : 0;
		if (at < end)
			return none || line <= 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
		line += before ? 0 : step;
	}
	return before || line <= 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}

uint32_t interpreter_line(enum mg_code_lines how, const uint8_t *table, size_t n,
			  uint32_t first_line, uint32_t instruction)
{
	struct table t = {table, table + n};
	int64_t line = first_line;
	uint64_t at = 0;
	if (how != MG_LINES_COLUMNS)
		return line_by_pairs(&t, how == MG_LINES_BEFORE, first_line, instruction);
	while (t.at < t.end) {
		bool none;
		uint8_t head = *t.at++;
		line += take_entry(&t, head >> 3 & 15, &none);
		at += (head & 7u) + 1;
		if (t.at <= t.end && instruction < at)
			return none || line <= 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
	}
	return 0;
}

/* ---- code ---- */

static bool same_text(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static uint32_t hash_of(const struct code *c)
{
	uint64_t h = c->first_line;
	for (size_t i = 0; i < c->lines_bytes; i++)
		h = (h ^ c->lines[i]) * UINT64_C(0x100000001b3);
	return ms_hash(h, (uint64_t)ms_hash_text(c->name) << 32 | ms_hash_text(c->file));
}

static bool same_code(const struct code *a, const struct code *b)
{
	return a->first_line == b->first_line && a->lines_bytes == b->lines_bytes &&
	       same_text(a->name, b->name) && same_text(a->file, b->file) &&
	       (!a->lines_bytes || !memcmp(a->lines, b->lines, a->lines_bytes));
}

uint32_t interpreter_add_code(struct modules *all, const struct interpreter_code *from)
{
	struct interpreter *in = interpreter_of(all);
	const struct interpreter_text *lines = &from->part[MG_CODE_LINES];
	struct ms_arena_mark mark = ms_arena_mark(&in->arena);
	struct code c = {.name = text_of(&in->arena, &from->part[MG_CODE_NAME]),
			 .file = text_of(&in->arena, &from->part[MG_CODE_FILE]),
			 .lines = lines->bytes,
			 .lines_bytes = lines->n,
			 .first_line = from->first_line};
	uint32_t hash = hash_of(&c), n;
	for (size_t at = hash; (n = ms_lookup_next(&in->by_content, hash, &at));)
		if (same_code(&c, &in->codes.v[n - 1]))
			break;
	if (n || in->codes.n == INTERPRETER_CODES_MOST || in->bytes > BYTES_MOST) {
		ms_arena_release(&in->arena, mark);
		return n;
	}
	uint8_t *kept = ms_arena_alloc(&in->arena, c.lines_bytes + 1);
	in->bytes += c.lines_bytes + strlen(c.name) + strlen(c.file) + sizeof c;
	if (c.lines_bytes)
		memcpy(kept, c.lines, c.lines_bytes);
	c.lines = kept;
	*MS_PUSH(&in->codes) = c;
	ms_lookup_add(&in->by_content, hash, (uint32_t)in->codes.n);
	return (uint32_t)in->codes.n;
}

/* ---- in the trace ---- */

static uint32_t source_of(struct modules *all, const char *file)
{
	struct interpreter *in = all->interpreter;
	uint32_t hash = ms_hash_text(file), n;
	for (size_t at = hash; (n = ms_lookup_next(&in->by_file, hash, &at));)
		if (same_text(in->sources.v[n - 1].file, file))
			return n - 1;
	*MS_PUSH(&in->sources) = (struct source){file, modules_named(all, MODULE_SOURCE, file), 0};
	ms_lookup_add(&in->by_file, hash, (uint32_t)in->sources.n);
	return (uint32_t)in->sources.n - 1;
}

/* Returns the number of a function in its source file; adds it if it is new. */
static uint32_t function_of(struct modules *all, uint32_t source, const char *name)
{
	struct interpreter *in = all->interpreter;
	uint32_t hash = ms_hash(ms_hash_text(name), source), n;
	for (size_t at = hash; (n = ms_lookup_next(&in->by_name, hash, &at));) {
		const struct named *f = &in->functions.v[n - 1];
		if (f->source == source && same_text(f->name, name))
			return f->number;
	}
	uint32_t number = ++in->sources.v[source].functions;
	*MS_PUSH(&in->functions) = (struct named){name, source, number};
	ms_lookup_add(&in->by_name, hash, (uint32_t)in->functions.n);
	modules_function(all, in->sources.v[source].module, number, name);
	return number;
}

struct ms_frame interpreter_frame(struct modules *all, uint32_t code, uint32_t instruction)
{
	struct interpreter *in = all->interpreter;
	if (!in || !code || code > in->codes.n)
		return (struct ms_frame){.flags = MS_FRAME_NOT_READ};
	struct code *c = &in->codes.v[code - 1];
	if (!c->function) {
		uint32_t source = source_of(all, c->file);
		c->module = in->sources.v[source].module;
		c->function = function_of(all, source, c->name);
	}
	uint32_t line = !instruction
				? c->first_line
				: interpreter_line(all->image->python.lines, c->lines,
						   c->lines_bytes, c->first_line, instruction - 1);
	return (struct ms_frame){.address = MS_SOURCE_ADDRESS(c->function, line),
				 .module = c->module};
}
