/* SPDX-License-Identifier: MIT
 * The trace as a file: header, blocks, checksums, zstd. format/ interprets the content of blocks.
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

/* Starts a trace on `fd` (borrowed; may be a pipe, as writing never seeks) and writes the header.
 * `level` is zstd's. Returns NULL with `err` set on failure. */
struct ms_trace_writer *ms_trace_writer_new(int fd, const struct ms_trace_head *head, int level,
					    struct ms_err *err);
/* Continues an existing trace after its last block, for instance to append symbols. `fd` must be
 * positioned at the end. `next` is the number of the next block, from ms_trace_blocks(). */
struct ms_trace_writer *ms_trace_writer_append(int fd, uint32_t next, int level,
					       struct ms_err *err);
/* Sets another compression level for the columns in the bit set `columns` (0 = none) from now
 * on. */
void ms_trace_writer_effort(struct ms_trace_writer *w, int level, uint64_t columns);
/* Writes one block, in one write() if the kernel permits. Times are ns since the start of the
 * recording. Returns 0, or -1 with `err` set. After a failure a regular file is truncated to its
 * last complete block, and a later, smaller block (the end block) may still fit; on a pipe all
 * later calls fail. */
int ms_trace_write(struct ms_trace_writer *w, uint16_t type, uint64_t first_ns, uint64_t last_ns,
		   const struct ms_column *columns, size_t n, struct ms_err *err);
/* Writes the index of all blocks so far, at `ns`. *offset is its position, for MS_END_INDEX, or 0
 * if none was written: an appending writer does not know earlier blocks, and the index of a very
 * long recording does not fit a block. Returns 0, or -1 with `err` set. */
int ms_trace_write_index(struct ms_trace_writer *w, uint64_t ns, uint64_t *offset,
			 struct ms_err *err);
/* Refuses blocks that would make the file larger than `bytes`, before writing any of the block:
 * ms_trace_write returns -1 with `err` set, and ms_trace_writer_full returns true. 0 = no limit. */
void ms_trace_writer_limit(struct ms_trace_writer *w, uint64_t bytes);
/* Tells whether the last block was refused because of the limit. */
bool ms_trace_writer_full(const struct ms_trace_writer *w);
/* Returns the bytes written so far by this writer, including the file header. */
uint64_t ms_trace_writer_bytes(const struct ms_trace_writer *w);
/* Returns the number of the next block. */
uint32_t ms_trace_writer_next(const struct ms_trace_writer *w);
void ms_trace_writer_free(struct ms_trace_writer *w);

/* ---- reading ---- */

struct ms_trace;

enum ms_trace_next {
	MS_NEXT_BLOCK,   /* a complete, checked block */
	MS_NEXT_DAMAGED, /* bytes were skipped: b->offset, b->bytes (0: a block is missing); call
			    again */
	MS_NEXT_EOF,     /* no more data now; if the trace still grows, later calls may return
			    more */
	MS_NEXT_ERROR,   /* `err` is set: I/O failed */
};

enum ms_trace_state {
	MS_TRACE_GROWING, /* no end block, and a writer holds a lock on the file */
	MS_TRACE_ENDED,   /* there is an end block, followed by nothing or by appended blocks */
	MS_TRACE_NO_END,  /* no end block and no writer: the writer was killed, or the copy is
			     incomplete */
};

struct ms_block {
	uint16_t type;
	uint32_t number; /* from 0, consecutive */
	uint64_t first_ns, last_ns;
	uint64_t offset, bytes; /* position and size in the file */
	uint32_t checksum;      /* of the stored bytes after the header */
	const struct ms_column *columns;
	size_t column_count;
};

/* Tells whether the first bytes of a file are those of a trace. */
bool ms_trace_is(const void *bytes, size_t n);
/* Opens `path` ("-" = standard input) and reads the header. Returns NULL with `err` set: not a
 * trace, newer major version, unknown feature. The reader may be used by one thread only. */
struct ms_trace *ms_trace_open(const char *path, struct ms_err *err);
/* Opens a trace as ms_trace_open does, from a descriptor from which the first `n` bytes have been
 * read already. ms_trace_close closes `fd` (if this fails, it stays open); `name` is for
 * messages. */
struct ms_trace *ms_trace_open_fd(int fd, const char *name, const void *bytes, size_t n,
				  struct ms_err *err);
const struct ms_trace_head *ms_trace_header(const struct ms_trace *t);
/* Reads the next block of a wanted type; `b` and its columns are valid until the next call. `want`
 * is a bit set of column numbers to decompress (bit 0 = all); `b` lacks the others. Blocks of types
 * not in `types` (bit per type, 0 = all) are skipped after their header has been checked. */
enum ms_trace_next ms_trace_next(struct ms_trace *t, uint64_t types, uint64_t want,
				 struct ms_block *b, struct ms_err *err);
/* Closes a file that was opened by its path and frees the buffers until the next read. Invalidates
 * the last block. */
void ms_trace_park(struct ms_trace *t);
/* ---- reading parts of a file ---- */

/* Makes reading skip unwanted blocks by seeking from now on, up to the present size of the file.
 * False = not opened by its path, and nothing has changed. `end`: accepts only a finished trace
 * without a writer, and is set to the offset of the end block, which is the last block; NULL: also
 * accepts a trace that grows or has no end. */
bool ms_trace_sparse(struct ms_trace *t, uint64_t *end);
/* Moves to the block at `offset`; the caller checks its number, type and position. Later blocks
 * must have consecutive numbers. False = not sparse, or I/O failed. */
bool ms_trace_seek(struct ms_trace *t, uint64_t offset);
/* Skips the next block: `b` has its header, without columns. MS_NEXT_DAMAGED: there is no valid
 * block to skip, and nothing was skipped. */
enum ms_trace_next ms_trace_pass(struct ms_trace *t, struct ms_block *b, struct ms_err *err);
/* Returns the offset of the first block. */
uint64_t ms_trace_first(const struct ms_trace *t);

/* Returns fstat's result for the file. */
bool ms_trace_stat(const struct ms_trace *t, struct stat *st);
/* Returns the state of the trace. Valid after MS_NEXT_EOF. */
enum ms_trace_state ms_trace_state(struct ms_trace *t);
/* Returns the damaged bytes since opening; *places (may be NULL) is the number of damaged
 * places. */
uint64_t ms_trace_damaged_bytes(const struct ms_trace *t, uint64_t *places);
/* Returns the number for the next block to be appended. */
uint32_t ms_trace_blocks(const struct ms_trace *t);
/* Returns the bytes processed: the file header, and blocks returned or skipped. */
uint64_t ms_trace_offset(const struct ms_trace *t);
/* Returns the column with that number; NULL = absent. */
const struct ms_column *ms_block_column(const struct ms_block *b, uint32_t id);
void ms_trace_close(struct ms_trace *t);

/* Takes the writer's lock, which tells readers that a trace still grows (an open-file-description
 * write lock on byte 0, F_OFD_SETLK). Returns 0, or -1 with errno. Does nothing on a pipe. */
int ms_trace_lock(int fd);
