/* SPDX-License-Identifier: MIT
 * Declarations shared by the files that read traces only.
 */
#pragma once

#include "tracefile.h"

#include <sys/types.h>
#include <zstd.h>

#include "format/trace.h"

struct ms_trace {
	int fd;
	char *name;
	struct ms_trace_head head;
	bool regular;
	bool own_file; /* opened by its path, so nobody else moves the file offset */
	bool parked;   /* closed until the next read */
	dev_t dev;     /* device and inode of the parked file */
	ino_t ino;
	bool sparse;       /* unwanted blocks are skipped, not read */
	uint64_t size;     /* size of the file if sparse */
	uint64_t first;    /* file offset of the first block */
	bool writer_alive; /* a writer held the lock when the end of the data was last reached */
	bool ended;        /* the last block was an end block */
	bool closed;       /* an end block was read: later blocks were appended */
	bool skipping;     /* searching for the next block header since damage_from */
	bool after_damage; /* damage was reported, and no block returned since */
	uint64_t damage_from;
	uint64_t damaged_bytes, damaged_places;
	uint32_t next_number;
	uint64_t base;
	size_t start, end, room;
	uint8_t *buffer;
	uint8_t *raw; /* buffer of decompressed columns */
	size_t raw_room;
	struct ms_column columns[MS_BLOCK_COLUMNS_MAX];
	ZSTD_DCtx *zstd;
};

/* Returns the number of bytes from `start` that are not consumed. */
static inline size_t ms_trace_unread(const struct ms_trace *t)
{
	return t->end - t->start;
}
/* Returns the offset in the file of `start`. */
static inline uint64_t ms_trace_position(const struct ms_trace *t)
{
	return t->base + t->start;
}

/* Tells whether a process is writing the file. */
bool ms_trace_writer_alive(const struct ms_trace *t);
/* Makes room for `n` bytes from `start`. */
void ms_trace_room(struct ms_trace *t, size_t n);
/* Reopens a parked file. Returns false with errno set on failure. */
bool ms_trace_unpark(struct ms_trace *t);
/* Reads until there are `n` bytes from `start`. Returns 1 if done, 0 at the end of the data
 * (writer_alive is set), or -1 with errno set. */
int ms_trace_fill(struct ms_trace *t, size_t n);
/* Moves the file's offset and the buffer to `offset`. Returns false with errno set on failure. */
bool ms_trace_jump(struct ms_trace *t, uint64_t offset);
