/* SPDX-License-Identifier: MIT
 * Writes files atomically, and reads whole inputs.
 */
#include "io.h"

#include "err.h"
#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Describes the temporary file being written, for the signal handler. */
static struct {
	int folder;
	pid_t owner; /* 0 = no temporary file so far */
	char name[NAME_MAX + 1];
} temporary;
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

void ms_close(int fd)
{
	int e = errno;
	if (fd >= 0)
		close(fd);
	errno = e;
}

/* Returns the mode of the new file: that of the earlier file, if nobody else can have created that;
 * else readable by its owner only, since reports and snapshots hold command lines. */
static mode_t mode_for(const struct ms_file *f)
{
	const struct ms_dest *p = &f->dest;
	bool kept = p->safe && S_ISREG(p->st.st_mode) && ms_dest_ours(&p->st);
	return kept ? p->st.st_mode & 0777 : f->shared ? 0644 : 0600;
}

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* Removes the temporary file at exit, which happens during writing only when memory runs out. Does
 * nothing in a child process. */
static void remove_at_end(void)
{
	if (temporary_set && temporary.owner == getpid())
		unlinkat(temporary.folder, temporary.name, 0);
}

/* Creates the temporary file. Signals are blocked until the handler knows its name. */
static int make_temporary(const struct ms_dest *p)
{
	sigset_t all, old;
	sigemptyset(&all);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		sigaddset(&all, deadly[i]);
	sigprocmask(SIG_BLOCK, &all, &old);
	int fd = ms_dest_temporary(p->folder, p->name, temporary.name), why = errno;
	if (!temporary.owner)
		atexit(remove_at_end);
	temporary.owner = getpid();
	temporary.folder = p->folder;
	temporary_set = fd >= 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = why;
	return fd;
}

/* Renames the temporary file to its final name, or removes it if `rc` is not 0. */
static int close_temporary(const struct ms_file *f, int rc, struct ms_err *err)
{
	const struct ms_dest *p = &f->dest;
	if (rc == 0 && fchmod(f->fd, mode_for(f)) != 0)
		rc = ms_err_sys(err, "cannot write '%s'", f->path);
	if (close(f->fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", f->path);
	if (rc == 0 && renameat(p->folder, temporary.name, p->folder, p->name) != 0)
		rc = ms_err_sys(err, "cannot write '%s'", f->path);
	if (rc != 0)
		unlinkat(p->folder, temporary.name, 0);
	temporary_set = 0;
	return rc == 0 ? 0 : -1;
}

static int open_place(struct ms_file *f, struct ms_err *err)
{
	const struct ms_dest *p = &f->dest;
	f->direct = p->fd >= 0 || (p->st.st_mode && !S_ISREG(p->st.st_mode));
	/* A recording cannot be repeated, so an output file that is a trace must be a mistake.
	 */
	if (!f->direct && ms_dest_is_trace(p->folder, p->name))
		return ms_err_set(err,
				  "cannot write '%s': it is a trace and would be overwritten; name "
				  "another file",
				  f->path);
	if (f->direct && p->fd < 0)
		return f->fd = ms_dest_open_special(p, f->path, err);
	f->fd = f->direct ? fcntl(p->fd, F_DUPFD_CLOEXEC, 3) : make_temporary(p);
	return f->fd < 0 ? ms_err_sys(err, "cannot write '%s'", f->path) : 0;
}

/* Moves a file off the standard descriptors' numbers: if one of these was closed, the file got its
 * number, and anything printed would go into the file. */
static int keep_standard_free(struct ms_file *f, struct ms_err *err)
{
	int fd = f->fd;
	if (fd > STDERR_FILENO)
		return 0;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return f->fd < 0 ? ms_err_sys(err, "cannot write '%s'", f->path) : 0;
}

int ms_file_begin(struct ms_file *f, const char *path, struct ms_err *err)
{
	*f = (struct ms_file){.fd = -1, .path = path};
	if (ms_dest_find(&f->dest, path, err) != 0)
		return -1;
	if (open_place(f, err) >= 0 && keep_standard_free(f, err) == 0)
		return 0;
	ms_dest_close(&f->dest);
	return -1;
}

int ms_file_end(struct ms_file *f, int rc, struct ms_err *err)
{
	if (f->fd < 0)
		return rc;
	if (!f->direct)
		rc = close_temporary(f, rc, err);
	else if (close(f->fd) != 0 && rc == 0)
		rc = ms_err_sys(err, "cannot write '%s'", f->path);
	f->fd = -1;
	ms_dest_close(&f->dest);
	return rc;
}

int ms_write_file(const char *path, const void *data, size_t n, struct ms_err *err)
{
	struct ms_file f;
	if (ms_file_begin(&f, path, err) != 0)
		return -1;
	int rc = ms_write_all(f.fd, data, n);
	if (rc != 0)
		ms_err_sys(err, "cannot write '%s'", path);
	return ms_file_end(&f, rc, err);
}

int ms_open_output(const char *path, struct ms_err *err)
{
	struct ms_file f;
	if (ms_file_begin(&f, path, err) != 0)
		return -1;
	int fd = fcntl(f.fd, F_DUPFD_CLOEXEC, 3), rc = 0;
	if (fd < 0)
		rc = ms_err_sys(err, "cannot write '%s'", path);
	if (ms_file_end(&f, rc, err) == 0)
		return fd;
	ms_close(fd);
	return -1;
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
			char size[MS_UNIT_BUF];
			ms_err_set(err, "cannot read '%s': it is larger than the limit of %s", name,
				   ms_format_size(size, max));
			*n = len;
			break;
		}
	}
	free(buf);
	return -1;
}

static void clean_up(int sig)
{
	if (temporary_set)
		unlinkat(temporary.folder, temporary.name, 0);
	signal(sig, SIG_DFL);
	raise(sig);
}

void ms_cleanup_on_signals(void)
{
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		struct sigaction old,
			sa = {.sa_handler = clean_up, .sa_flags = SA_RESETHAND | SA_NODEFER};
		/* signals that our parent ignored stay ignored */
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(deadly[i], &sa, NULL);
	}
}
