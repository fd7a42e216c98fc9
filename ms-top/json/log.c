/* SPDX-License-Identifier: MIT
 * Appends frames as JSON lines to a file.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

/* Checks that the file is empty or an earlier log: appending would damage, for instance, a
 * trace. */
static int check(int fd, const char *path, struct ms_err *err)
{
	static const char begin[] = "{\"format\":\"memscope-top\"";
	char head[sizeof begin - 1], last = '\n';
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ms_err_sys(err, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return ms_err_set(err,
				  "cannot log to '%s': not a regular file; for a pipe use "
				  "--batch=json",
				  path);
	if (!st.st_size)
		return 0;
	if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
	    memcmp(head, begin, sizeof head) != 0)
		return ms_err_set(err, "cannot log to '%s': it holds something other than a log",
				  path);
	/* if the log ends inside a line, for instance after a power failure, begin a new line */
	if (pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n' &&
	    ms_write_all(fd, "\n", 1) != 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	return 0;
}

/* Opens the file, or creates it; does not wait for the other end of a pipe. */
static int open_at(const struct ms_dest *at, const char *path)
{
	const int how = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = at->fd >= 0 ? open(path, how) : openat(at->folder, at->name, how | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && at->fd < 0 &&
	    (fd = ms_dest_create(at->folder, at->name)) >= 0 && fcntl(fd, F_SETFL, O_APPEND) != 0) {
		ms_close(fd);
		fd = -1;
	}
	return fd;
}

int log_open(struct log *l, const char *path, struct ms_err *err)
{
	struct ms_dest at;
	struct stat st;
	*l = (struct log){.path = path, .fd = -1};
	if (!path)
		return 0;
	if (ms_dest_find(&at, path, err) != 0)
		return -1;
	l->fd = open_at(&at, path);
	int rc = l->fd < 0 ? ms_err_sys(err, "cannot open '%s'", path) : 0;
	if (rc == 0 && at.fd < 0 && !at.safe && fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_nlink != 1 || (st.st_uid && !ms_dest_ours(&st))))
		rc = ms_err_set(err,
				"cannot log to '%s': a file of user %u, who may have put it there; "
				"name another file, or remove it",
				path, (unsigned)st.st_uid);
	ms_dest_close(&at);
	return rc == 0 ? check(l->fd, path, err) : -1;
}

int log_add(struct log *l, const struct json_line *line, struct ms_err *err)
{
	struct stat st;
	size_t done = 0;
	ssize_t n;
	do {
		n = write(l->fd, line->v + done, line->n - done);
		done += n > 0 ? (size_t)n : 0;
	} while (done < line->n && (n > 0 || errno == EINTR));
	int why = errno;
	if (done == line->n) {
		l->failed = false;
		return 0;
	}
	/* remove the incomplete line, unless another process has appended to the file, too */
	if (done && fstat(l->fd, &st) == 0 && lseek(l->fd, 0, SEEK_CUR) == st.st_size &&
	    ftruncate(l->fd, st.st_size - (off_t)done) != 0)
		why = errno;
	if (l->failed)
		return 0;
	l->failed = true;
	return ms_err_set(err, "cannot write to '%s': %s; trying again at each refresh", l->path,
			  strerror(why));
}

void log_close(struct log *l)
{
	ms_close(l->fd);
	l->fd = -1;
}
