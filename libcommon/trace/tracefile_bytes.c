/* SPDX-License-Identifier: MIT
 * Reads the bytes of a trace file.
 *
 * One buffer holds the bytes read and not consumed; the block returned last is at its start:
 *
 *   file offset  base            base + start              base + end
 *                | returned block | unread by the caller    | room for the next read
 *
 * Every byte is read once, in order. At the end of the data the lock tells whether a writer is
 * still at work. If so, the last block may be incomplete, and the next call continues with it. If
 * not, the file is truncated there.
 */
#include "tracefile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/arena.h"

#define READ_SIZE ((size_t)1 << 18)

/* Tells whether another open file description holds a write lock on byte 0; a query for a read lock
 * finds write locks only. */
bool ms_trace_writer_alive(const struct ms_trace *t)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	return t->regular && fcntl(t->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void ms_trace_room(struct ms_trace *t, size_t n)
{
	if (t->start + n <= t->room)
		return;
	if (t->end > t->start)
		memmove(t->buffer, t->buffer + t->start, t->end - t->start);
	t->base += t->start;
	t->end -= t->start;
	t->start = 0;
	if (n > t->room) {
		t->room = n + READ_SIZE;
		t->buffer = ms_xrealloc(t->buffer, t->room, 1);
	}
}

/* Follows a truncation: a writer on a full disk removes an incomplete block, so the part of it
 * already read is dropped. */
static void follow_cut(struct ms_trace *t)
{
	struct stat st;
	off_t unread = (off_t)(t->end - t->start);
	off_t at = lseek(t->fd, 0, SEEK_CUR);
	if (!unread || at < 0 || fstat(t->fd, &st) != 0 || st.st_size >= at ||
	    st.st_size < at - unread)
		return;
	if (lseek(t->fd, -unread, SEEK_CUR) >= 0)
		t->end = t->start;
}

void ms_trace_park(struct ms_trace *t)
{
	struct stat st;
	if (!t->own_file || !t->regular || t->parked || fstat(t->fd, &st) != 0)
		return;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	t->base += t->start;
	t->start = t->end = t->room = t->raw_room = 0;
	MS_FREE(t->buffer, t->raw);
	t->buffer = t->raw = NULL;
	ZSTD_freeDCtx(t->zstd);
	t->zstd = NULL;
	close(t->fd);
	t->fd = -1;
	t->parked = true;
}

bool ms_trace_unpark(struct ms_trace *t)
{
	struct stat st;
	if (!t->parked)
		return true;
	t->fd = open(t->name, O_RDONLY | O_CLOEXEC);
	t->zstd = ZSTD_createDCtx();
	bool same = t->fd >= 0 && fstat(t->fd, &st) == 0 && st.st_dev == t->dev &&
		    st.st_ino == t->ino && lseek(t->fd, (off_t)t->base, SEEK_SET) >= 0;
	if (t->fd >= 0 && !(same && t->zstd))
		errno = same ? ENOMEM : ESTALE;
	t->parked = false;
	return same && t->zstd;
}

int ms_trace_fill(struct ms_trace *t, size_t n)
{
	bool last_try = false;
	if (!ms_trace_unpark(t))
		return -1;
	ms_trace_room(t, n);
	while (t->end - t->start < n) {
		size_t most = t->sparse ? n - (t->end - t->start) : t->room - t->end;
		ssize_t got = read(t->fd, t->buffer + t->end, most);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		t->end += (size_t)got;
		if (got > 0) {
			last_try = false;
			continue;
		}
		t->writer_alive = ms_trace_writer_alive(t);
		if (t->writer_alive && t->regular)
			follow_cut(t);
		/* The writer may have written its last block and unlocked between the read and the
		 * check. */
		if (t->writer_alive || last_try)
			return 0;
		last_try = true;
	}
	return 1;
}

bool ms_trace_jump(struct ms_trace *t, uint64_t offset)
{
	if (!ms_trace_unpark(t))
		return false;
	t->base = offset;
	t->start = t->end = 0;
	return lseek(t->fd, (off_t)offset, SEEK_SET) >= 0;
}
