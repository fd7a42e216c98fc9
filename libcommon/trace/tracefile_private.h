/* SPDX-License-Identifier: MIT
 * What the files that read traces share among themselves.
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
	bool own_file; /* opened by its path: the file's offset is nobody else's */
	bool parked;   /* closed until it is read on */
	dev_t dev;     /* when parked: which file it was */
	ino_t ino;
	bool sparse;       /* what is not wanted is not read */
	uint64_t size;     /* of the file, when sparse */
	uint64_t first;    /* offset of the first block */
	bool writer_alive; /* at the last end of the data */
	bool ended;        /* the last block was an end block */
	bool closed;       /* an end block was read: what follows was appended */
	bool skipping;     /* looking for the next block header since damage_from */
	bool after_damage; /* damage was reported and no block was returned since */
	uint64_t damage_from;
	uint64_t damaged_bytes, damaged_places;
	uint32_t next_number;
	uint64_t base;
	size_t start, end, room;
	uint8_t *buffer;
	uint8_t *raw; /* decompressed columns */
	size_t raw_room;
	struct ms_column columns[MS_BLOCK_COLUMNS_MAX];
	ZSTD_DCtx *zstd;
};

/* Bytes at start that were not looked at. */
static inline size_t ms_trace_unread(const struct ms_trace *t)
{
	return t->end - t->start;
}
/* Offset in the file of what is at start. */
static inline uint64_t ms_trace_position(const struct ms_trace *t)
{
	return t->base + t->start;
}

/* Does somebody write the file? */
bool ms_trace_writer_alive(const struct ms_trace *t);
/* Makes room for `n` bytes at start. */
void ms_trace_room(struct ms_trace *t, size_t n);
/* Opens a parked file again. False with errno. */
bool ms_trace_unpark(struct ms_trace *t);
/* Reads until `n` bytes lie at start. 1, 0 at the end of the data (writer_alive is set), -1 with
 * errno. */
int ms_trace_fill(struct ms_trace *t, size_t n);
/* The file's offset and the buffer's go to `offset`. False with errno. */
bool ms_trace_jump(struct ms_trace *t, uint64_t offset);
