/* SPDX-License-Identifier: MIT
 * Reads a trace file: complete, truncated, growing, damaged, or from a pipe. tracefile_bytes.c
 * reads its bytes.
 */
#include "tracefile_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "format/trace.h"

#define TAIL ((size_t)64 << 10) /* far larger than an end block */

/* ---- opening ---- */

bool ms_trace_is(const void *bytes, size_t n)
{
	return n >= MS_TRACE_MAGIC_SIZE && memcmp(bytes, MS_TRACE_MAGIC, MS_TRACE_MAGIC_SIZE) == 0;
}

static int refuse(const struct ms_trace *t, enum ms_fmt why, struct ms_err *err)
{
	if (why == MS_FMT_NEWER && t->head.major != MS_TRACE_MAJOR)
		return ms_err_set(err,
				  "cannot read '%s': made by a newer MemScope (trace version "
				  "%u.%u, this one reads %d.x)",
				  t->name, t->head.major, t->head.minor, MS_TRACE_MAJOR);
	if (why == MS_FMT_NEWER)
		return ms_err_set(
			err, "cannot read '%s': it needs a newer MemScope (feature bits 0x%llx)",
			t->name, (unsigned long long)t->head.need);
	if (ms_trace_unread(t) == 0) {
		struct stat st;
		if (err && !err->text[0])
			err->empty = fstat(t->fd, &st) == 0 && S_ISFIFO(st.st_mode);
		return ms_err_set(err, "cannot read '%s': empty file", t->name);
	}
	static const char database[] = "SQLite format 3";
	if (ms_trace_unread(t) >= sizeof database && !memcmp(t->buffer, database, sizeof database))
		return ms_err_set(
			err,
			"cannot read '%s': it is a database, not a MemScope trace (ms-report "
			"reads one snapshot directly; only traces can be read together)",
			t->name);
	if (!ms_trace_is(t->buffer, ms_trace_unread(t)))
		return ms_err_set(err, "cannot read '%s': not a MemScope trace", t->name);
	if (why == MS_FMT_SHORT)
		return ms_err_set(err, "cannot read '%s': cut off inside the file header", t->name);
	return ms_err_set(err, "cannot read '%s': damaged file header", t->name);
}

static int read_header(struct ms_trace *t, struct ms_err *err)
{
	size_t size = MS_FILE_HEADER_SIZE;
	for (;;) {
		int got = ms_trace_fill(t, size);
		if (got < 0)
			return ms_err_sys(err, "cannot read '%s'", t->name);
		enum ms_fmt r = ms_file_header_get(t->buffer, ms_trace_unread(t), &t->head, &size);
		if (r == MS_FMT_SHORT && got == 1)
			continue;
		if (r != MS_FMT_OK)
			return refuse(t, r, err);
		break;
	}
	if (t->head.address_bytes != 8)
		return ms_err_set(err, "cannot read '%s': recorded on a machine that is not 64-bit",
				  t->name);
	t->start = size;
	t->first = size;
	return 0;
}

struct ms_trace *ms_trace_open_fd(int fd, const char *name, const void *bytes, size_t n,
				  struct ms_err *err)
{
	struct ms_trace *t = ms_xrealloc(NULL, 1, sizeof *t);
	struct stat st;
	*t = (struct ms_trace){.fd = fd, .zstd = ZSTD_createDCtx()};
	t->name = ms_xrealloc(NULL, strlen(name) + 1, 1);
	strcpy(t->name, name);
	t->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	ms_trace_room(t, n > MS_FILE_HEADER_SIZE ? n : MS_FILE_HEADER_SIZE);
	if (n)
		memcpy(t->buffer, bytes, n);
	t->end = n;
	if (!t->zstd)
		ms_err_set(err, "cannot read '%s': out of memory", name);
	if (!t->zstd || read_header(t, err) != 0) {
		t->fd = -1;
		ms_trace_close(t);
		return NULL;
	}
	return t;
}

struct ms_trace *ms_trace_open(const char *path, struct ms_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			  : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		ms_err_sys(err, "cannot open '%s'", path);
		return NULL;
	}
	struct ms_trace *t = ms_trace_open_fd(fd, standard ? "standard input" : path, NULL, 0, err);
	if (!t)
		close(fd);
	else
		t->own_file = !standard;
	return t;
}

void ms_trace_close(struct ms_trace *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	ZSTD_freeDCtx(t->zstd);
	MS_FREE(t->name, t->buffer, t->raw, t);
}

/* ---- damage ---- */

/* Begins skipping bytes until the next block header. */
static void start_skipping(struct ms_trace *t, size_t first_step)
{
	if (!t->skipping)
		t->damage_from = ms_trace_position(t);
	t->skipping = true;
	t->ended = false;
	t->start += first_step;
}

/* Moves to the next valid block header. Returns 1 if found, 0 if there is none in the present data,
 * or -1 with errno set. */
static int find_header(struct ms_trace *t)
{
	struct ms_block_head h;
	for (;;) {
		t->start = ms_block_scan(t->buffer, t->end, t->start);
		int got = ms_trace_fill(t, MS_BLOCK_HEADER_SIZE);
		if (got < 0)
			return -1;
		if (ms_trace_unread(t) >= MS_BLOCK_HEADER_SIZE &&
		    ms_block_header_get(t->buffer + t->start, &h) == MS_FMT_OK)
			return 1;
		if (got == 0 && ms_trace_unread(t) < MS_BLOCK_HEADER_SIZE) {
			if (t->writer_alive || ms_trace_unread(t) == 0)
				return 0;
		}
		t->start++;
	}
}

static enum ms_trace_next report_damage(struct ms_trace *t, uint64_t to, struct ms_block *b)
{
	*b = (struct ms_block){.offset = t->damage_from, .bytes = to - t->damage_from};
	t->damaged_bytes += b->bytes;
	t->damaged_places += !t->after_damage || b->bytes;
	t->skipping = false;
	t->ended = t->closed = false;
	t->after_damage = true;
	return MS_NEXT_DAMAGED;
}

/* Tells whether the incomplete block at the end of the data is damaged. Returns false if a writer
 * is still at work, or if the file merely ends there; true if the header of another block is found
 * within the bytes of this one. */
static bool tail_is_damage(struct ms_trace *t)
{
	struct ms_block_head h;
	size_t n = t->end;
	if (t->writer_alive || ms_trace_unread(t) == 0)
		return false;
	if (ms_trace_unread(t) < MS_BLOCK_HEADER_SIZE)
		return ms_block_scan(t->buffer + t->start, ms_trace_unread(t), 0) != 0;
	for (size_t at = t->start + 1; (at = ms_block_scan(t->buffer, n, at)) < n; at++)
		if (n - at >= MS_BLOCK_HEADER_SIZE &&
		    ms_block_header_get(t->buffer + at, &h) == MS_FMT_OK)
			return true;
	return false;
}

/* ---- blocks ---- */

static bool wanted(uint64_t set, uint32_t bit)
{
	return set == 0 || set & 1 || (bit < 64 && set >> bit & 1);
}

/* Decompresses the wanted columns of a checked payload. Returns false if it is damaged. */
static bool read_columns(struct ms_trace *t, const uint8_t *payload, const struct ms_block_head *h,
			 uint64_t want, struct ms_block *b)
{
	struct ms_column_entry entries[MS_BLOCK_COLUMNS_MAX];
	if (ms_block_directory_get(payload, h, entries) != MS_FMT_OK)
		return false;
	if (h->raw > t->raw_room)
		t->raw = ms_xrealloc(t->raw, t->raw_room = h->raw, 1);
	uint8_t *at = t->raw;
	for (unsigned i = 0; i < h->columns; i++) {
		const struct ms_column_entry *e = &entries[i];
		struct ms_column *c = &t->columns[b->column_count];
		if (!wanted(want, e->id) || e->codec > MS_CODEC_ZSTD)
			continue;
		*c = (struct ms_column){e->id, payload + e->offset, e->raw};
		if (e->codec == MS_CODEC_ZSTD) {
			if (ZSTD_decompressDCtx(t->zstd, at, e->raw, payload + e->offset,
						e->stored) != e->raw)
				return false;
			c->data = at;
			at += e->raw;
		}
		b->column_count++;
	}
	b->columns = t->columns;
	return true;
}

/* Returns the block whose header is at `start`, without columns. */
static struct ms_block block_of(const struct ms_trace *t, const struct ms_block_head *h)
{
	return (struct ms_block){.type = h->type,
				 .number = h->number,
				 .first_ns = h->first_ns,
				 .last_ns = h->last_ns,
				 .offset = ms_trace_position(t),
				 .bytes = MS_BLOCK_HEADER_SIZE + (uint64_t)h->payload,
				 .checksum = h->checksum};
}

/* Checks and decompresses the complete block at `start`. */
static bool take_block(struct ms_trace *t, const struct ms_block_head *h, uint64_t want,
		       struct ms_block *b)
{
	const uint8_t *payload = t->buffer + t->start + MS_BLOCK_HEADER_SIZE;
	*b = block_of(t, h);
	return h->number >= t->next_number && ms_crc32c(0, payload, h->payload) == h->checksum &&
	       read_columns(t, payload, h, want, b);
}

/* Skips a damaged block whose header is valid: the whole block if another block or the end of the
 * file follows it, else only up to the next header inside it. */
static int skip_block(struct ms_trace *t, size_t bytes)
{
	struct ms_block_head h;
	int got = ms_trace_fill(t, bytes + MS_BLOCK_HEADER_SIZE);
	if (got < 0)
		return -1;
	const uint8_t *next = t->buffer + t->start + bytes;
	bool good = ms_trace_unread(t) >= bytes + MS_BLOCK_HEADER_SIZE
			    ? ms_block_header_get(next, &h) == MS_FMT_OK
			    : ms_trace_unread(t) == bytes;
	start_skipping(t, good ? bytes : MS_BLOCK_SYNC_SIZE);
	return 0;
}

/* Updates the reader's state after a block was read or skipped. */
static void passed(struct ms_trace *t, const struct ms_block_head *h)
{
	t->next_number = h->number + 1;
	t->ended = h->type == MS_BLOCK_END;
	t->closed |= t->ended;
	t->after_damage = false;
}

/* Skips the block whose header is at `start` without reading it. Returns false with errno set on
 * failure. */
static bool pass_over(struct ms_trace *t, const struct ms_block_head *h)
{
	uint64_t next = ms_trace_position(t) + MS_BLOCK_HEADER_SIZE + h->payload;
	if (!ms_trace_jump(t, next))
		return false;
	passed(t, h);
	return true;
}

/* Tells whether the block can be skipped without reading it. An unexpected number or size means
 * damage, which is found by reading. */
static bool passable(const struct ms_trace *t, const struct ms_block_head *h)
{
	return t->sparse && (h->number == t->next_number || t->after_damage) &&
	       ms_trace_position(t) + MS_BLOCK_HEADER_SIZE + h->payload <= t->size;
}

static void consume(struct ms_trace *t, const struct ms_block_head *h)
{
	t->start += MS_BLOCK_HEADER_SIZE + h->payload;
	passed(t, h);
}

/* Sets `err` from errno. */
static enum ms_trace_next failed(const struct ms_trace *t, struct ms_err *err)
{
	ms_err_sys(err, "cannot read '%s'", t->name);
	return MS_NEXT_ERROR;
}

enum ms_trace_next ms_trace_next(struct ms_trace *t, uint64_t types, uint64_t want,
				 struct ms_block *b, struct ms_err *err)
{
	struct ms_block_head h = {0};
	for (;;) {
		if (t->skipping) {
			int found = find_header(t);
			if (found < 0)
				return failed(t, err);
			if (found == 0 && t->writer_alive)
				return MS_NEXT_EOF;
			return report_damage(t, ms_trace_position(t), b);
		}
		int got = ms_trace_fill(t, MS_BLOCK_HEADER_SIZE);
		if (got < 0)
			return failed(t, err);
		if (got == 1 && ms_block_header_get(t->buffer + t->start, &h) != MS_FMT_OK) {
			start_skipping(t, 1);
			continue;
		}
		if (got == 1 && types && !wanted(types & ~UINT64_C(1), h.type) && passable(t, &h)) {
			if (!pass_over(t, &h))
				return failed(t, err);
			continue;
		}
		size_t bytes = got == 1 ? MS_BLOCK_HEADER_SIZE + (size_t)h.payload : 0;
		if (got == 1 && (got = ms_trace_fill(t, bytes)) < 0)
			return failed(t, err);
		if (got == 0) {
			if (!tail_is_damage(t))
				return MS_NEXT_EOF;
			start_skipping(t, 1);
			continue;
		}
		if (h.number > t->next_number && !t->after_damage) {
			t->damage_from = ms_trace_position(t);
			return report_damage(t, ms_trace_position(t), b);
		}
		if (types && !wanted(types & ~UINT64_C(1), h.type) && h.number >= t->next_number) {
			consume(t, &h);
			continue;
		}
		if (take_block(t, &h, want, b)) {
			consume(t, &h);
			return MS_NEXT_BLOCK;
		}
		if (skip_block(t, bytes) < 0)
			return failed(t, err);
	}
}

/* ---- some blocks: unwanted blocks are skipped without reading them ---- */

/* Finds the last block: the one whose header says that it ends where the file ends. */
static bool last_block(struct ms_trace *t, uint64_t *offset, struct ms_block_head *h)
{
	size_t n = t->size < TAIL ? (size_t)t->size : TAIL;
	uint64_t from = t->size - n;
	bool found = false;
	uint8_t *tail = ms_xrealloc(NULL, n, 1);
	if (pread(t->fd, tail, n, (off_t)from) != (ssize_t)n)
		n = 0;
	for (size_t at = 0; (at = ms_block_scan(tail, n, at)) + MS_BLOCK_HEADER_SIZE <= n; at++) {
		struct ms_block_head this;
		if (ms_block_header_get(tail + at, &this) == MS_FMT_OK &&
		    from + at + MS_BLOCK_HEADER_SIZE + this.payload == t->size) {
			*h = this;
			*offset = from + at;
			found = true;
		}
	}
	free(tail);
	return found;
}

/* Tells whether the trace is a regular file that we opened by its path, and stores the file's
 * size. */
static bool can_seek(struct ms_trace *t)
{
	struct stat st;
	if (!t->regular || !t->own_file || !ms_trace_unpark(t) || fstat(t->fd, &st) != 0)
		return false;
	t->size = (uint64_t)st.st_size;
	return true;
}

static bool has_ended(struct ms_trace *t, uint64_t *end)
{
	struct ms_block_head h;
	return !ms_trace_writer_alive(t) && last_block(t, end, &h) && h.type == MS_BLOCK_END &&
	       *end >= ms_trace_position(t);
}

bool ms_trace_sparse(struct ms_trace *t, uint64_t *end)
{
	if (!can_seek(t) || (end && !has_ended(t, end)))
		return false;
	t->sparse = true;
	return ms_trace_jump(t, ms_trace_position(t));
}

bool ms_trace_seek(struct ms_trace *t, uint64_t offset)
{
	t->next_number = 0;
	t->after_damage = true; /* set so that the blocks before `offset` do not count as missing */
	t->skipping = false;
	return t->sparse && ms_trace_jump(t, offset);
}

enum ms_trace_next ms_trace_pass(struct ms_trace *t, struct ms_block *b, struct ms_err *err)
{
	struct ms_block_head h;
	int got = ms_trace_fill(t, MS_BLOCK_HEADER_SIZE);
	if (got < 0)
		return failed(t, err);
	if (got == 0)
		return ms_trace_unread(t) ? MS_NEXT_DAMAGED : MS_NEXT_EOF;
	if (ms_block_header_get(t->buffer + t->start, &h) != MS_FMT_OK || !passable(t, &h))
		return MS_NEXT_DAMAGED;
	*b = block_of(t, &h);
	return pass_over(t, &h) ? MS_NEXT_BLOCK : failed(t, err);
}

uint64_t ms_trace_first(const struct ms_trace *t)
{
	return t->first;
}

/* ---- the rest ---- */

const struct ms_trace_head *ms_trace_header(const struct ms_trace *t)
{
	return &t->head;
}

enum ms_trace_state ms_trace_state(struct ms_trace *t)
{
	if (t->ended && ms_trace_unread(t) == 0)
		return MS_TRACE_ENDED;
	if (t->writer_alive)
		return MS_TRACE_GROWING;
	/* If the process that appended symbols was killed, the recording is still complete. */
	return t->closed ? MS_TRACE_ENDED : MS_TRACE_NO_END;
}

bool ms_trace_stat(const struct ms_trace *t, struct stat *st)
{
	return fstat(t->fd, st) == 0;
}

uint64_t ms_trace_damaged_bytes(const struct ms_trace *t, uint64_t *places)
{
	if (places)
		*places = t->damaged_places;
	return t->damaged_bytes;
}

uint32_t ms_trace_blocks(const struct ms_trace *t)
{
	return t->next_number;
}

uint64_t ms_trace_offset(const struct ms_trace *t)
{
	return ms_trace_position(t);
}

const struct ms_column *ms_block_column(const struct ms_block *b, uint32_t id)
{
	return ms_column_find(b->columns, b->column_count, id);
}
