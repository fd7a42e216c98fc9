/* SPDX-License-Identifier: MIT
 * Some blocks of a trace file: those that are not wanted are stepped over and not read, and reading
 * goes on anywhere.
 */
#include "tracefile_private.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/arena.h"

#define TAIL ((size_t)64 << 10) /* an end block is far smaller */

/* The block that ends where the file does, by its header. */
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

/* Is it a file on disk of our own? Then its size is noted. */
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
	t->after_damage = true; /* blocks before it are not missed */
	t->skipping = false;
	return t->sparse && ms_trace_jump(t, offset);
}

enum ms_trace_next ms_trace_pass(struct ms_trace *t, struct ms_block *b, struct ms_err *err)
{
	struct ms_block_head h;
	int got = ms_trace_fill(t, MS_BLOCK_HEADER_SIZE);
	if (got < 0)
		return ms_trace_failed(t, err);
	if (got == 0)
		return ms_trace_unread(t) ? MS_NEXT_DAMAGED : MS_NEXT_EOF;
	if (ms_block_header_get(t->buffer + t->start, &h) != MS_FMT_OK || !ms_trace_passable(t, &h))
		return MS_NEXT_DAMAGED;
	*b = ms_trace_block(t, &h);
	return ms_trace_pass_over(t, &h) ? MS_NEXT_BLOCK : ms_trace_failed(t, err);
}

bool ms_trace_pass_over(struct ms_trace *t, const struct ms_block_head *h)
{
	uint64_t next = ms_trace_position(t) + MS_BLOCK_HEADER_SIZE + h->payload;
	if (!ms_trace_jump(t, next))
		return false;
	ms_trace_passed(t, h);
	return true;
}

bool ms_trace_passable(const struct ms_trace *t, const struct ms_block_head *h)
{
	return t->sparse && (h->number == t->next_number || t->after_damage) &&
	       ms_trace_position(t) + MS_BLOCK_HEADER_SIZE + h->payload <= t->size;
}
