/* SPDX-License-Identifier: MIT
 * Appends blocks to a finished trace.
 *
 * Blocks are first written to a memory file, then to the trace in one write with signals blocked.
 * If the write fails, the trace is truncated to its old end. If the process is killed, incomplete
 * blocks may follow the last end block: readers accept the trace as complete, and these blocks are
 * removed before anything is appended again.
 */
#include "trace_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "recording_private.h"

/* ---- reading ---- */

static void read_end(struct ms_trace_tail *tail, const struct ms_block *b, uint64_t types)
{
	const struct ms_column *col = ms_block_column(b, MS_RECORDS_COLUMN);
	if (!col)
		return;
	tail->end.v = ms_xrealloc(tail->end.v, col->size + 1, 1);
	memcpy(tail->end.v, col->data, col->size);
	tail->end.n = col->size;
	tail->first_ns = b->first_ns;
	tail->last_ns = b->last_ns;
	tail->end_offset = b->offset + b->bytes;
	tail->next_block = b->number + 1;
	tail->has = types;
}

static int read_blocks(struct ms_trace_tail *tail, struct ms_recording *t, uint64_t types,
		       struct ms_err *err)
{
	struct ms_block b;
	enum ms_trace_next next;
	uint64_t end, seen = 0;
	if (!ms_trace_stat(t->file, &tail->file))
		return ms_err_sys(err, "cannot read '%s'", t->path);
	ms_trace_sparse(t->file, &end);
	while ((next = ms_trace_next(t->file, types, 1, &b, err)) != MS_NEXT_EOF) {
		if (next == MS_NEXT_ERROR)
			return -1;
		if (next != MS_NEXT_BLOCK)
			continue;
		seen |= MS_TYPE_BIT(b.type);
		if (b.type != MS_BLOCK_SYMBOLS)
			ms_recording_take(t, &b);
		if (b.type == MS_BLOCK_END)
			read_end(tail, &b, seen);
	}
	return 0;
}

struct ms_recording *ms_trace_tail_read(struct ms_trace_tail *tail, const char *path,
					uint64_t types, const char *what, struct ms_err *err)
{
	struct ms_trace *file = ms_trace_open(path, err);
	struct ms_recording *t = ms_recording_begin(file, path);
	if (!t || read_blocks(tail, t, types | MS_TYPE_BIT(MS_BLOCK_END), err) != 0)
		goto fail;
	if (ms_trace_state(file) == MS_TRACE_ENDED && tail->end.v)
		return t;
	ms_err_set(err, "cannot add %s to '%s': it is %s", what, path,
		   ms_trace_state(file) == MS_TRACE_GROWING ? "still being written"
							    : "incomplete (its end is missing)");
fail:
	ms_recording_close(t);
	return NULL;
}

/* ---- writing ---- */

int ms_trace_tail_memory(struct ms_err *err)
{
	int fd = memfd_create("memscope-blocks", MFD_CLOEXEC);
	return fd >= 0 ? fd : ms_err_sys(err, "cannot create a memfd");
}

int ms_trace_tail_write(const struct ms_trace_tail *tail, struct ms_trace_writer *w,
			struct ms_err *err)
{
	struct ms_column end = {MS_RECORDS_COLUMN, tail->end.v, tail->end.n};
	return ms_trace_write(w, MS_BLOCK_END, tail->first_ns, tail->last_ns, &end, 1, err);
}

/* Writes all bytes after the end block; if that fails, truncates the file there. Signals that end
 * this process are delayed until this is done. */
static int write_or_cut(int fd, const void *data, size_t n, uint64_t end)
{
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	int rc = ftruncate(fd, (off_t)end) < 0 ? -1 : ms_write_all(fd, data, n), saved = errno;
	if (rc < 0 && ftruncate(fd, (off_t)end) < 0)
		rc = -1; /* failed already: err keeps the first error */
	errno = saved;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int ms_trace_tail_append(const struct ms_trace_tail *tail, const char *path, int memory,
			 struct ms_err *err)
{
	int rc = -1, fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
	const struct stat *read = &tail->file;
	struct stat st, added;
	void *map = MAP_FAILED;
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0 || fstat(memory, &added) < 0) {
		ms_err_sys(err, "cannot append to '%s'", path);
		goto out;
	}
	if (st.st_size != read->st_size || st.st_dev != read->st_dev || st.st_ino != read->st_ino) {
		ms_err_set(err, "cannot append to '%s': it changed meanwhile", path);
		goto out;
	}
	map = mmap(NULL, (size_t)added.st_size, PROT_READ, MAP_PRIVATE, memory, 0);
	if (map == MAP_FAILED || write_or_cut(fd, map, (size_t)added.st_size, tail->end_offset) < 0)
		ms_err_sys(err, "cannot append to '%s'", path);
	else
		rc = 0;
out:
	if (map != MAP_FAILED)
		munmap(map, (size_t)added.st_size);
	ms_close(fd);
	return rc;
}
