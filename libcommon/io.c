/* SPDX-License-Identifier: MIT
 * Files that appear whole or not at all, and reading all of an input.
 */
#include "io.h"

#include "err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace.h"

/* The temporary file being written, for the signal handler; "" = none. */
static char temporary[PATH_MAX + 32];
static volatile sig_atomic_t temporary_set;

int ms_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;
	while (n) {
		ssize_t w = write(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
		if (w < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int write_directly(const char *path, const void *data, size_t n, struct ms_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	int rc = ms_write_all(fd, data, n);
	if (rc != 0)
		ms_err_sys(err, "cannot write '%s'", path);
	if (close(fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	return rc;
}

/* Keeps the mode of the file that is replaced; a new one gets 0666 less the umask, which mkstemp
 * would not give. */
static mode_t mode_for(const struct stat *old, bool exists)
{
	if (exists)
		return old->st_mode & 07777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* A recording cannot be made again: a result that is to replace one is a slip of the hand. */
static bool is_trace(const char *path)
{
	char head[MS_TRACE_MAGIC_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
		  memcmp(head, MS_TRACE_MAGIC, sizeof head) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* Makes the temporary file. No signal comes between that and its being known. */
static int make_temporary(void)
{
	sigset_t all, old;
	sigemptyset(&all);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		sigaddset(&all, deadly[i]);
	sigprocmask(SIG_BLOCK, &all, &old);
	int fd = mkostemp(temporary, O_CLOEXEC), why = errno;
	temporary_set = fd >= 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = why;
	return fd;
}

/* Where `path` leads: a symbolic link stays one, and its target is replaced. */
static const char *target_of(const char *path, bool exists, char real[PATH_MAX])
{
	return exists && realpath(path, real) ? real : path;
}

/* Refuses what must not be replaced. */
static int check_target(const char *path, bool exists, const struct stat *st, struct ms_err *err)
{
	if (exists && S_ISDIR(st->st_mode)) {
		errno = EISDIR;
		return ms_err_sys(err, "cannot write '%s'", path);
	}
	if (exists && S_ISREG(st->st_mode) && is_trace(path))
		return ms_err_set(err, "cannot write '%s': it is a trace, which would be lost",
				  path);
	return 0;
}

static int open_temporary(const char *path, struct ms_err *err)
{
	if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary) {
		errno = ENAMETOOLONG;
		return ms_err_sys(err, "cannot write '%s'", path);
	}
	int fd = make_temporary();
	return fd >= 0 ? fd : ms_err_sys(err, "cannot write '%s'", path);
}

/* Gives the temporary file its name, or removes it when `rc` is not 0. */
static int close_temporary(int fd, const char *path, int rc, struct ms_err *err)
{
	if (close(fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	if (rc == 0 && rename(temporary, path) != 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	if (rc != 0)
		unlink(temporary);
	temporary_set = 0;
	return rc == 0 ? 0 : -1;
}

int ms_write_file(const char *path, const void *data, size_t n, struct ms_err *err)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;
	char real[PATH_MAX];
	if (check_target(path, exists, &st, err) != 0)
		return -1;
	if (exists && !S_ISREG(st.st_mode))
		return write_directly(path, data, n, err);
	path = target_of(path, exists, real);
	int fd = open_temporary(path, err);
	if (fd < 0)
		return -1;
	int rc = ms_write_all(fd, data, n);
	if (rc == 0)
		rc = fchmod(fd, mode_for(&st, exists));
	if (rc != 0)
		ms_err_sys(err, "cannot write '%s'", path);
	return close_temporary(fd, path, rc, err);
}

int ms_file_begin(struct ms_file *f, const char *path, struct ms_err *err)
{
	struct stat st;
	char real[PATH_MAX];
	bool exists = stat(path, &st) == 0;
	*f = (struct ms_file){.fd = -1, .direct = exists && !S_ISREG(st.st_mode)};
	if (check_target(path, exists, &st, err) != 0)
		return -1;
	const char *to = target_of(path, exists, real);
	if (strlen(to) >= sizeof f->path) {
		errno = ENAMETOOLONG;
		return ms_err_sys(err, "cannot write '%s'", path);
	}
	strcpy(f->path, to);
	f->fd = f->direct ? open(to, O_WRONLY | O_CLOEXEC) : open_temporary(to, err);
	if (f->fd < 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	return 0;
}

int ms_file_end(struct ms_file *f, int rc, struct ms_err *err)
{
	int fd = f->fd;
	f->fd = -1;
	if (fd < 0)
		return rc;
	if (!f->direct)
		return close_temporary(fd, f->path, rc, err);
	if (close(fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", f->path);
	return rc;
}

int ms_read_all(int fd, const char *name, size_t max, void **data, size_t *n, struct ms_err *err)
{
	size_t cap = 1 << 16, len = 0;
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (size_t)st.st_size < max)
		cap = (size_t)st.st_size + 1;
	char *buf = malloc(cap);
	for (;;) {
		if (buf && len == cap) {
			char *more = realloc(buf, cap *= 2);
			if (!more)
				free(buf);
			buf = more;
		}
		if (!buf)
			return ms_err_set(err, "cannot read '%s': out of memory", name);
		ssize_t r = read(fd, buf + len, cap - len);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			ms_err_sys(err, "cannot read '%s'", name);
			break;
		}
		if (r == 0) {
			*data = buf;
			*n = len;
			return 0;
		}
		len += (size_t)r;
		if (len > max) {
			ms_err_set(err, "cannot read '%s': larger than %zu bytes", name, max);
			break;
		}
	}
	free(buf);
	return -1;
}

static void clean_up(int sig)
{
	if (temporary_set)
		unlink(temporary);
	signal(sig, SIG_DFL);
	raise(sig);
}

void ms_cleanup_on_signals(void)
{
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		struct sigaction old,
			sa = {.sa_handler = clean_up, .sa_flags = SA_RESETHAND | SA_NODEFER};
		/* what our parent told us to ignore stays ignored */
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(deadly[i], &sa, NULL);
	}
}
