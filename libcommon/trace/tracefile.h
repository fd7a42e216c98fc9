/* SPDX-License-Identifier: MIT
 * The trace as a file: header, blocks, checksums, zstd. What the blocks mean is format/'s business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "format/block.h"

struct ms_err;

/* ---- writing ---- */

struct ms_trace_writer;

/* Starts a trace on `fd` (borrowed; a pipe will do, nothing is sought) and writes the header.
 * `level` is zstd's. NULL with `err` set when that fails. */
struct ms_trace_writer *ms_trace_writer_new(int fd, const struct ms_trace_head *head, int level,
					    struct ms_err *err);
/* Goes on after the last block of an existing trace, as appending symbols does: `fd` is at its end.
 * `next` is the number of the block to write next, from ms_trace_blocks(). */
struct ms_trace_writer *ms_trace_writer_append(int fd, uint32_t next, int level,
					       struct ms_err *err);
/* From now on columns of these numbers (bit per number; 0 = none) are compressed at another level.
 */
void ms_trace_writer_effort(struct ms_trace_writer *w, int level, uint64_t columns);
/* Writes one block, in one write where the kernel lets us. Times are ns since the start of the
 * recording. 0, or -1 with `err` set. After a failure a regular file is cut back to its last whole
 * block, and a later, smaller block (the end block) may still fit; on a pipe all later calls fail.
 */
int ms_trace_write(struct ms_trace_writer *w, uint16_t type, uint64_t first_ns, uint64_t last_ns,
		   const struct ms_column *columns, size_t n, struct ms_err *err);
/* Writes the index of all blocks so far, at `ns`; *offset is where, for MS_END_INDEX, or 0 when
 * none was written: an appending writer does not know the blocks before, and that of a very long
 * recording would not fit a block. 0, or -1 with `err` set. */
int ms_trace_write_index(struct ms_trace_writer *w, uint64_t ns, uint64_t *offset,
			 struct ms_err *err);
/* Refuses blocks (-1, `err` set, ms_trace_writer_full) that would make the file larger than
 * `bytes`, before anything of them is written. 0 = no limit. */
void ms_trace_writer_limit(struct ms_trace_writer *w, uint64_t bytes);
/* Was the last block refused so? */
bool ms_trace_writer_full(const struct ms_trace_writer *w);
/* Written so far by this writer, the file header included. */
uint64_t ms_trace_writer_bytes(const struct ms_trace_writer *w);
/* And the number of the block that is next. */
uint32_t ms_trace_writer_next(const struct ms_trace_writer *w);
void ms_trace_writer_free(struct ms_trace_writer *w);

/* ---- reading ---- */

struct ms_trace;

enum ms_trace_next {
	MS_NEXT_BLOCK,   /* a whole, checked block */
	MS_NEXT_DAMAGED, /* bytes were skipped: b->offset, b->bytes (0: a block is missing); call
			  * again */
	MS_NEXT_EOF,   /* nothing more now; when the trace is growing, later calls may give more */
	MS_NEXT_ERROR, /* `err` is set: I/O failed */
};

enum ms_trace_state {
	MS_TRACE_GROWING, /* no end block, a writer holds a lock on the file */
	MS_TRACE_ENDED,   /* there is an end block; nothing follows it, or what was appended */
	MS_TRACE_NO_END,  /* neither: the writer was killed, or the copy is short */
};

struct ms_block {
	uint16_t type;
	uint32_t number; /* from 0, consecutive */
	uint64_t first_ns, last_ns;
	uint64_t offset, bytes; /* of the block in the file */
	const struct ms_column *columns;
	size_t column_count;
};

/* True when these first bytes of a file are a trace's. */
bool ms_trace_is(const void *bytes, size_t n);
/* Opens `path` ("-" = standard input) and reads the header. NULL with `err` set: not a trace,
 * newer major version, unknown feature. The reader is for one thread. */
struct ms_trace *ms_trace_open(const char *path, struct ms_err *err);
/* Opens a trace as ms_trace_open does, from a descriptor of which the first `n` bytes have been
 * read already. `fd` is kept and closed by ms_trace_close (not when this fails); `name` is for
 * messages. */
struct ms_trace *ms_trace_open_fd(int fd, const char *name, const void *bytes, size_t n,
				  struct ms_err *err);
const struct ms_trace_head *ms_trace_header(const struct ms_trace *t);
/* Reads the next block of a wanted type; `b` and what it points to are valid until the next call.
 * `want` is a bit set of column numbers to decompress (bit 0 = all): others are left out of `b`.
 * Types not in `types` (bit per type, 0 = all) are passed over after their header was checked. */
enum ms_trace_next ms_trace_next(struct ms_trace *t, uint64_t types, uint64_t want,
				 struct ms_block *b, struct ms_err *err);
/* Closes a file that was opened by its path, and frees what reading takes, until something more is
 * read of it. What the last block points to is gone. */
void ms_trace_park(struct ms_trace *t);
/* ---- reading parts of a file ---- */

/* From now on, what is not wanted is stepped over instead of read, up to the size that the file has
 * now. Only of a file opened by its path: else false, and nothing has changed. `end`: only of one
 * that ended and that nobody writes, and it is set to the offset of the end block, the last block of
 * the file; NULL: also of one that grows or has no end. */
bool ms_trace_sparse(struct ms_trace *t, uint64_t *end);
/* Goes to the block at `offset`; its number, type and place are for the caller to compare. The
 * blocks after it must follow each other as ever. False: not sparse, or I/O failed. */
bool ms_trace_seek(struct ms_trace *t, uint64_t offset);
/* Steps over the next block: its header is in `b`, without columns. MS_NEXT_DAMAGED: there is no
 * block that could be stepped over; nothing was skipped. */
enum ms_trace_next ms_trace_pass(struct ms_trace *t, struct ms_block *b, struct ms_err *err);
/* Offset of the first block. */
uint64_t ms_trace_first(const struct ms_trace *t);

/* Which file it is, and its size. */
bool ms_trace_stat(const struct ms_trace *t, struct stat *st);
/* Valid after MS_NEXT_EOF. */
enum ms_trace_state ms_trace_state(struct ms_trace *t);
/* Damage since open, in bytes and in places (may be NULL). */
uint64_t ms_trace_damaged_bytes(const struct ms_trace *t, uint64_t *places);
/* The number that a block written next would have. */
uint32_t ms_trace_blocks(const struct ms_trace *t);
/* Bytes consumed: the file header, and blocks returned, passed over and skipped. */
uint64_t ms_trace_offset(const struct ms_trace *t);
/* The column of that number, or NULL when it is absent. */
const struct ms_column *ms_block_column(const struct ms_block *b, uint32_t id);
void ms_trace_close(struct ms_trace *t);

/* The writer's lock, by which a reader knows that a trace still grows (an open-file-description
 * write lock on byte 0, F_OFD_SETLK). 0, or -1 with errno. On a pipe it does nothing. */
int ms_trace_lock(int fd);
