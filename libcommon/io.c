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

int ms_write_file(const char *path, const void *data, size_t n, struct ms_err *err)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;
	char real[PATH_MAX];
	if (exists && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return ms_err_sys(err, "cannot write '%s'", path);
	}
	if (exists && !S_ISREG(st.st_mode))
		return write_directly(path, data, n, err);
	if (exists && is_trace(path))
		return ms_err_set(err, "cannot write '%s': it is a trace, which would be lost",
				  path);
	/* a symbolic link stays one: its target is replaced */
	if (exists && realpath(path, real))
		path = real;
	if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary) {
		errno = ENAMETOOLONG;
		return ms_err_sys(err, "cannot write '%s'", path);
	}
	int fd = make_temporary();
	if (fd < 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	int rc = ms_write_all(fd, data, n);
	if (rc == 0)
		rc = fchmod(fd, mode_for(&st, exists));
	if (rc != 0)
		ms_err_sys(err, "cannot write '%s'", path);
	if (close(fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	if (rc == 0 && rename(temporary, path) != 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	if (rc != 0)
		unlink(temporary);
	temporary_set = 0;
	return rc == 0 ? 0 : -1;
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
