/* SPDX-License-Identifier: MIT
 * Writes a trace file, block by block, without seeking.
 */
#include "tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "format/trace.h"
#include "libcommon/base/io.h"
#include "trace_index.h"

/* Columns smaller than this, in bytes, are stored uncompressed: a zstd frame would not be
 * smaller. */
#define RAW_BELOW 24

struct ms_trace_writer {
	int fd;
	int level;
	int effort; /* zstd level of the columns in `effort_columns` */
	uint64_t effort_columns;
	bool regular;
	int broken; /* errno of a write that failed halfway; 0 = none */
	uint32_t number;
	uint64_t written;
	uint64_t limit; /* largest size of the file in bytes; 0 = no limit */
	bool full;      /* the last block would have exceeded the limit */
	bool indexed;   /* the file was written from its start, so all block positions are known */
	struct ms_index_builder index;
	ZSTD_CCtx *zstd;
	uint8_t *buffer;
	size_t room;
};

/* Holds the compression context of a trace that was closed, for the next one; its tables are large,
 * and a build has hundreds of traces. */
static ZSTD_CCtx *spare; /* atomic */

static ZSTD_CCtx *take_context(void)
{
	ZSTD_CCtx *z = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
	return z ? z : ZSTD_createCCtx();
}

static void give_context(ZSTD_CCtx *z)
{
	ZSTD_freeCCtx(__atomic_exchange_n(&spare, z, __ATOMIC_ACQ_REL));
}

struct ms_trace_writer *ms_trace_writer_new(int fd, const struct ms_trace_head *head, int level,
					    struct ms_err *err)
{
	uint8_t bytes[MS_FILE_HEADER_SIZE];
	ms_file_header_put(bytes, head);
	if (ms_write_all(fd, bytes, sizeof bytes) != 0) {
		ms_err_sys(err, "cannot write the trace");
		return NULL;
	}
	struct ms_trace_writer *w = ms_trace_writer_append(fd, 0, level, err);
	if (w) {
		w->written = sizeof bytes;
		w->indexed = true;
	}
	return w;
}

struct ms_trace_writer *ms_trace_writer_append(int fd, uint32_t next, int level, struct ms_err *err)
{
	struct ms_trace_writer *w = ms_xcalloc(1, sizeof *w);
	struct stat st;
	w->fd = fd;
	w->number = next;
	w->level = level;
	w->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	w->zstd = take_context();
	if (w->zstd)
		return w;
	ms_err_set(err, "cannot set up zstd compression: out of memory");
	ms_trace_writer_free(w);
	return NULL;
}

/* Compresses one column into `out` (room for its raw size), or copies it. */
static struct ms_column_entry store_column(struct ms_trace_writer *w, const struct ms_column *c,
					   uint8_t *out)
{
	struct ms_column_entry e = {
		.id = (uint16_t)c->id, .codec = MS_CODEC_RAW, .raw = (uint32_t)c->size};
	e.stored = e.raw;
	if (c->size >= RAW_BELOW) {
		bool more = c->id < 64 && w->effort_columns >> c->id & 1;
		size_t n = ZSTD_compressCCtx(w->zstd, out, c->size - 1, c->data, c->size,
					     more ? w->effort : w->level);
		if (!ZSTD_isError(n)) {
			e.codec = MS_CODEC_ZSTD;
			e.stored = (uint32_t)n;
			return e;
		}
	}
	if (c->size)
		memcpy(out, c->data, c->size);
	return e;
}

/* Writes the block in one call. If that fails halfway, a regular file is truncated to the beginning
 * of the block. */
static int write_block(struct ms_trace_writer *w, size_t n, struct ms_err *err)
{
	off_t start = w->regular ? lseek(w->fd, 0, SEEK_CUR) : -1;
	if (ms_write_all(w->fd, w->buffer, n) == 0) {
		w->written += n;
		w->number++;
		return 0;
	}
	int why = errno;
	ms_err_sys(err, "cannot write the trace");
	if (start < 0 || ftruncate(w->fd, start) != 0 || lseek(w->fd, start, SEEK_SET) < 0)
		w->broken = why;
	return -1;
}

int ms_trace_write(struct ms_trace_writer *w, uint16_t type, uint64_t first_ns, uint64_t last_ns,
		   const struct ms_column *columns, size_t n, struct ms_err *err)
{
	size_t raw = 0, directory = n * MS_COLUMN_ENTRY_SIZE;
	for (size_t i = 0; i < n; i++)
		raw += columns[i].size;
	if (w->broken) {
		errno = w->broken;
		return ms_err_sys(err, "cannot write the trace: an earlier write failed");
	}
	if (n > MS_BLOCK_COLUMNS_MAX || raw > MS_BLOCK_RAW_MAX)
		return ms_err_set(err, "cannot write the trace: a block of the file (see "
				       "ms-trace(5)) exceeds 64 MiB or 64 columns");
	size_t most = MS_BLOCK_HEADER_SIZE + directory + raw;
	if (most > w->room)
		w->buffer = ms_xrealloc(w->buffer, w->room = most, 1);
	uint8_t *payload = w->buffer + MS_BLOCK_HEADER_SIZE, *at = payload + directory;
	for (size_t i = 0; i < n; i++) {
		struct ms_column_entry e = store_column(w, &columns[i], at);
		ms_column_entry_put(payload + i * MS_COLUMN_ENTRY_SIZE, &e);
		at += e.stored;
	}
	struct ms_block_head h = {
		.type = type,
		.columns = (uint16_t)n,
		.number = w->number,
		.first_ns = first_ns,
		.last_ns = last_ns,
		.payload = (uint32_t)(at - payload),
		.raw = (uint32_t)raw,
		.checksum = ms_crc32c(0, payload, (size_t)(at - payload)),
	};
	ms_block_header_put(w->buffer, &h);
	struct ms_index_entry e = {.type = type,
				   .number = w->number,
				   .offset = w->written,
				   .bytes = (uint64_t)(at - w->buffer)};
	w->full = w->limit && w->written + e.bytes > w->limit;
	if (w->full)
		return ms_err_set(
			err, "cannot write the trace: it has reached its size limit (--max-size)");
	if (write_block(w, (size_t)(at - w->buffer), err) != 0)
		return -1;
	if (w->indexed)
		ms_index_add(&w->index, e, columns, n);
	return 0;
}

int ms_trace_write_index(struct ms_trace_writer *w, uint64_t ns, uint64_t *offset,
			 struct ms_err *err)
{
	struct ms_column c = ms_record_column(&w->index.w);
	*offset = 0;
	if (!w->indexed || w->index.too_long || !c.size)
		return 0;
	*offset = w->written;
	return ms_trace_write(w, MS_BLOCK_INDEX, ns, ns, &c, 1, err);
}

void ms_trace_writer_effort(struct ms_trace_writer *w, int level, uint64_t columns)
{
	w->effort = level;
	w->effort_columns = columns;
}

void ms_trace_writer_limit(struct ms_trace_writer *w, uint64_t bytes)
{
	w->limit = bytes;
}

bool ms_trace_writer_full(const struct ms_trace_writer *w)
{
	return w->full;
}

uint64_t ms_trace_writer_bytes(const struct ms_trace_writer *w)
{
	return w->written;
}

uint32_t ms_trace_writer_next(const struct ms_trace_writer *w)
{
	return w->number;
}

void ms_trace_writer_free(struct ms_trace_writer *w)
{
	if (!w)
		return;
	give_context(w->zstd);
	MS_FREE(w->index.w.data, w->buffer, w);
}

int ms_trace_lock(int fd)
{
	struct stat st;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	if (fstat(fd, &st) != 0)
		return -1;
	return S_ISREG(st.st_mode) ? fcntl(fd, F_OFD_SETLK, &lock) : 0;
}
