/* SPDX-License-Identifier: MIT
 * Reads a jitdump: a program's own log of code that it made or moved, with source lines and times.
 * The file is not trusted: every length is checked, and reading stops at a wrong one.
 *
 *   header: magic, version, bytes of the header, machine, -, pid; time, flags
 *   record: kind, bytes of the record; time; then by its kind
 *     0 load   pid, tid; -, address, bytes, number; name; code
 *     1 move   pid, tid; -, old address, new address, bytes, number
 *     2 lines  address, count; then of each: address; line, -; file
 */
#include "symbols_made.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#define MAGIC UINT32_C(0x4a695444)
#define OWN_CLOCK UINT64_C(1) /* flag: times are not from CLOCK_MONOTONIC */
/* V8's flag, and the bytes that V8 adds to addresses of lines: the size of the ELF header before
 * the code in a file made by perf(1). */
#define V8_MARK UINT32_C(0xdeadbeef)
#define V8_SKEW 64u
enum { LOAD, MOVE, LINES };
enum { TEXT_MOST = 1 << 16, LINES_MOST = 1 << 24, LINES_BYTES = 1 << 26 };

struct record {
	uint32_t kind, bytes;
	uint64_t ns;
};

struct dump {
	struct ms_made *to;
	FILE *f;
	/* Start addresses of pieces of code, each with the number of the latest piece at that
	 * address. */
	MS_ARRAY(struct start {
		uint64_t address;
		uint32_t code;
	})
	starts;
	struct ms_lookup by_start;
	uint64_t skew;
	/* Line numbers that apply to the next piece of code to be loaded. */
	uint64_t address;
	uint32_t first, count;
};

static bool take(FILE *f, void *to, size_t bytes, uint64_t *left)
{
	if (bytes > *left || fread(to, 1, bytes, f) != bytes)
		return false;
	*left -= bytes;
	return true;
}

/* Returns the text at `at` if its end is within the record, else NULL. */
static const char *text_in(const char *at, const char *end)
{
	return at < end && memchr(at, 0, (size_t)(end - at)) ? at : NULL;
}

static void add_lines(struct dump *d, const char *at, const char *end, uint64_t count)
{
	struct ms_made *m = d->to;
	const char *file = NULL, *last = "";
	d->first = (uint32_t)m->lines.n;
	for (const char *text; count-- && m->lines.n < LINES_MOST && end - at > 16;
	     at = text + strlen(text) + 1) {
		struct ms_made_line l;
		memcpy(&l.address, at, 8);
		memcpy(&l.line, at + 8, 4);
		text = text_in(at + 16, end);
		if (!text)
			break;
		if (strcmp(text, "\xff") && strcmp(text, last)) { /* "\xff" stands for the previous
								     file */
			last = text;
			file = ms_arena_strdup(&m->arena,
					       strncmp(text, "file://", 7) ? text : text + 7);
		}
		l.file = file;
		if (file && l.line)
			*MS_PUSH(&m->lines) = l;
	}
	d->count = (uint32_t)m->lines.n - d->first;
	if (!d->count)
		return;
	struct ms_made_line *lines = m->lines.v + d->first;
	qsort(lines, d->count, sizeof *lines, ms_by_first_number);
	if (lines[0].address - d->address >= d->skew)
		for (uint32_t i = 0; i < d->count; i++)
			lines[i].address -= d->skew;
}

static bool read_lines(struct dump *d, uint64_t *left)
{
	uint64_t head[2];
	if (!take(d->f, head, sizeof head, left) || *left > LINES_BYTES)
		return false;
	size_t n = (size_t)*left;
	char *text = ms_xrealloc(NULL, n + 1, 1);
	bool whole = take(d->f, text, n, left);
	d->address = head[0];
	if (whole)
		add_lines(d, text, text + n, head[1]);
	free(text);
	return whole;
}

/* Returns the entry for code that begins at an address; NULL = no code begins there. */
static struct start *find_start(struct dump *d, uint64_t address)
{
	uint32_t hash = ms_hash(address, 0), n;
	for (size_t at = hash; (n = ms_lookup_next(&d->by_start, hash, &at));)
		if (n <= d->starts.n && d->starts.v[n - 1].address == address)
			return &d->starts.v[n - 1];
	return NULL;
}

static void add_code(struct dump *d, struct ms_made_code c, const char *name)
{
	if (!ms_made_add(d->to, c, name))
		return;
	struct start *s = find_start(d, c.start);
	if (s) {
		s->code = (uint32_t)d->to->codes.n;
		return;
	}
	*MS_PUSH(&d->starts) = (struct start){c.start, (uint32_t)d->to->codes.n};
	ms_lookup_add(&d->by_start, ms_hash(c.start, 0), (uint32_t)d->starts.n);
}

static bool read_load(struct dump *d, const struct record *r, uint64_t *left)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, address, bytes, number;
	} load;
	char name[TEXT_MOST + 1];
	if (!take(d->f, &load, sizeof load, left) || load.bytes > *left ||
	    *left - load.bytes > TEXT_MOST || load.bytes > UINT64_MAX - load.address)
		return false;
	size_t n = (size_t)(*left - load.bytes);
	if (!take(d->f, name, n, left))
		return false;
	name[n] = 0;
	struct ms_made_code c = {.start = load.address,
				 .end = load.address + load.bytes,
				 .from_ns = r->ns,
				 .until_ns = UINT64_MAX};
	if (d->count && d->address == load.address) {
		c.first_line = d->first;
		c.line_count = d->count;
	}
	d->count = 0;
	add_code(d, c, name);
	return true;
}

/* Moves a piece of code. Its lines are not moved: they belong to the old addresses. */
static bool read_move(struct dump *d, const struct record *r, uint64_t *left)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, bytes, number;
	} move;
	if (!take(d->f, &move, sizeof move, left) || move.bytes > UINT64_MAX - move.to)
		return false;
	const struct start *from = find_start(d, move.from);
	if (!from)
		return true;
	struct ms_made_code *c = &d->to->codes.v[from->code - 1], moved = *c;
	c->until_ns = r->ns;
	moved.start = move.to;
	moved.end = move.to + move.bytes;
	moved.from_ns = r->ns;
	moved.line_count = 0;
	add_code(d, moved, NULL);
	return true;
}

static bool read_record(struct dump *d)
{
	struct record r;
	uint64_t left = sizeof r;
	if (!take(d->f, &r, sizeof r, &left) || r.bytes < sizeof r)
		return false;
	left = r.bytes - sizeof r;
	bool good = r.kind == LOAD    ? read_load(d, &r, &left)
		    : r.kind == MOVE  ? read_move(d, &r, &left)
		    : r.kind == LINES ? read_lines(d, &left)
				      : true;
	return good && !fseeko(d->f, (off_t)left, SEEK_CUR);
}

bool ms_jitdump_read(struct ms_made *m, FILE *f, uint64_t pid)
{
	struct {
		uint32_t magic, version, bytes, machine, mark, pid;
		uint64_t ns, flags;
	} head;
	uint64_t left = sizeof head;
	struct dump d = {.to = m, .f = f};
	if (!take(f, &head, sizeof head, &left) || head.magic != MAGIC || head.version != 1 ||
	    head.bytes < sizeof head || head.pid != pid || fseeko(f, head.bytes, SEEK_SET))
		return false;
	d.skew = head.mark == V8_MARK ? V8_SKEW : 0;
	m->spans = !(head.flags & OWN_CLOCK);
	while (read_record(&d))
		continue;
	MS_FREE(d.starts.v, d.by_start.slots);
	return true;
}
