/* SPDX-License-Identifier: MIT
 * Names and files of the traces of one run.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/arena.h"
#include "libcommon/err.h"
#include "libcommon/tracefile.h"
#include "images.h"
#include "options.h"
#include "session.h"
#include "writer.h"

#define OPEN_TRIES 100u

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* %p, %e, %t and %% of a pattern. malloc'ed; NULL with `err` set. */
static char *expand(const char *pattern, const char *exe, pid_t pid, struct ms_err *err)
{
	char *out = NULL, when[32];
	size_t n = 0;
	time_t now = time(NULL);
	struct tm tm;
	FILE *f = open_memstream(&out, &n);
	if (!f) {
		ms_err_sys(err, "cannot make a file name");
		return NULL;
	}
	strftime(when, sizeof when, "%Y%m%dT%H%M%S", localtime_r(&now, &tm));
	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			fputc(*p, f);
			continue;
		}
		switch (*++p) {
		case 'p':
			fprintf(f, "%d", (int)pid);
			break;
		case 'e':
			fputs(last_part(exe), f);
			break;
		case 't':
			fputs(when, f);
			break;
		case '%':
			fputc('%', f);
			break;
		default:
			fclose(f);
			free(out);
			ms_err_set(err, "bad name '%s': after %% comes p, e, t or %%", pattern);
			return NULL;
		}
	}
	fclose(f);
	return out;
}

/* FILE~, malloc'ed. */
static char *old_name(const struct files *f)
{
	char *old = NULL;
	return asprintf(&old, "%s~", f->file) < 0 ? ms_xcalloc(1, 1) : old;
}

/* Whoever called sudo shall own what is made for him. */
static void give_to_user(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (geteuid() || !uid || !gid)
		return;
	if (fchown(fd, (uid_t)strtoul(uid, NULL, 10), (gid_t)strtoul(gid, NULL, 10)))
		return; /* it stays root's: nothing is lost */
}

static struct output *make_output(const struct options *o, int fd, const char *path)
{
	struct output *out = output_new(fd, path);
	out->addresses = o->addresses;
	out->level = o->level;
	return out;
}

static struct output *open_descriptor(const struct options *o, const char *text, struct ms_err *err)
{
	char *end;
	long fd = strtol(text + 3, &end, 10);
	if (end == text + 3 || *end || fd < 0 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0) {
		ms_err_set(err, "cannot write to '%s': no open descriptor", text);
		return NULL;
	}
	if ((fcntl((int)fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		ms_err_set(err, "cannot write to '%s': open for reading only", text);
		return NULL;
	}
	/* The command shall not have it. */
	int own = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0) {
		ms_err_sys(err, "cannot write to '%s'", text);
		return NULL;
	}
	fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	return make_output(o, own, text);
}

enum held { OURS, ANOTHERS, MOVED };

/* Takes the lock by which readers see that a trace grows, and a second recorder that it is taken.
 * MOVED: it is not, or not any more, what has that name. */
static enum held hold(int fd, const char *path)
{
	struct stat st, named;
	if (ms_trace_lock(fd) && (errno == EAGAIN || errno == EACCES))
		return ANOTHERS;
	return fstat(fd, &st) || stat(path, &named) || st.st_dev != named.st_dev ||
			       st.st_ino != named.st_ino
		       ? MOVED
		       : OURS;
}

/* The old file is kept once as FILE~. */
static int move_old(struct files *f, struct ms_err *err)
{
	struct stat st;
	enum held held = OURS;
	if (stat(f->file, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	int fd = open(f->file, O_RDWR | O_CLOEXEC | O_NONBLOCK), rc = 0; /* if we may */
	if (fd >= 0)
		held = hold(fd, f->file);
	if (held == ANOTHERS) { /* its folder of further traces would go from under it */
		rc = ms_err_set(err, "cannot write '%s': another ms-record is writing it", f->path);
	} else if (held == OURS) {
		char *old = old_name(f);
		rc = rename(f->file, old)
			     ? ms_err_sys(err, "cannot rename '%s' to '%s'", f->file, old)
			     : 0;
		f->has_old = rc == 0;
		free(old);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* A regular file. Two recorders may want it at once: the lock decides. */
static int open_regular(struct files *f, struct ms_err *err)
{
	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		struct stat st;
		if (move_old(f, err))
			return -1;
		int fd = open(f->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return ms_err_sys(err, "cannot open '%s'", f->path);
		enum held held = hold(fd, f->file);
		if (held == OURS && !fstat(fd, &st) && !st.st_size) {
			give_to_user(fd);
			return fd;
		}
		close(fd);
		if (held == ANOTHERS)
			break;
	}
	return ms_err_set(err, "cannot write '%s': another ms-record is writing it", f->path);
}

/* A symbolic link stays one. */
static char *name_of_file(const char *path)
{
	char *real = realpath(path, NULL), *copy = real ? real : strdup(path);
	return copy ? copy : ms_xcalloc(1, 1);
}

/* An earlier run's folder: traces and index go, and the folder if nothing else is in it. */
static void remove_folder(const char *folder)
{
	DIR *d = opendir(folder);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		bool trace = n > 6 && !strcmp(e->d_name + n - 6, ".trace");
		if (trace || !strcmp(e->d_name, "index"))
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	rmdir(folder);
}

struct output *files_open(struct files *f, const struct options *o, const char *exe, pid_t pid,
			  struct ms_err *err)
{
	struct stat st;
	f->path = expand(o->output ? o->output : "%e.%p.trace", exe, pid, err);
	if (!f->path)
		return NULL;
	if (!strncmp(f->path, "fd:", 3))
		return open_descriptor(o, f->path, err);
	if (!stat(f->path, &st) && S_ISDIR(st.st_mode)) {
		ms_err_set(err, "cannot write '%s': a folder", f->path);
		return NULL;
	}
	if (!stat(f->path, &st) && S_ISFIFO(st.st_mode))
		return make_output(o, -1, f->path);
	if (!stat(f->path, &st) && !S_ISREG(st.st_mode)) {
		int fd = open(f->path, O_WRONLY | O_CLOEXEC);
		if (fd < 0) {
			ms_err_sys(err, "cannot open '%s'", f->path);
			return NULL;
		}
		return make_output(o, fd, f->path);
	}
	f->file = name_of_file(f->path);
	int fd = open_regular(f, err);
	if (fd < 0)
		return NULL;
	if (asprintf(&f->folder, "%s.d", f->path) < 0)
		f->folder = NULL;
	return make_output(o, fd, f->path);
}

void files_begin(struct files *f)
{
	if (f->folder && !f->folder_made)
		remove_folder(f->folder);
}

void files_discard(struct files *f)
{
	if (!f->folder || f->discarded)
		return;
	f->discarded = true;
	char *old = old_name(f);
	if (!f->has_old || rename(old, f->file))
		unlink(f->file);
	free(old);
}

static int make_folder(struct files *f, struct ms_err *err)
{
	if (f->folder_made)
		return 0;
	files_begin(f);
	if (mkdir(f->folder, 0700) && errno != EEXIST)
		return ms_err_sys(err, "cannot make folder '%s'", f->folder);
	int fd = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		give_to_user(fd);
		close(fd);
	}
	fd = index_open(&f->index, f->folder);
	if (fd >= 0)
		give_to_user(fd);
	f->folder_made = true;
	return 0;
}

struct output *files_open_further(struct files *f, const struct options *o, const char *name,
				  pid_t pid, uint32_t seq, struct ms_err *err)
{
	char *path = NULL;
	if (!f->folder) {
		ms_err_set(err, "'%s' has no folder for further programs", f->path);
		return NULL;
	}
	if (make_folder(f, err))
		return NULL;
	if (asprintf(&path, "%s/%s.%d.%" PRIu32 ".trace", f->folder, name, (int)pid, seq) < 0) {
		ms_err_set(err, "out of memory");
		return NULL;
	}
	struct output *out = make_output(o, -1, path);
	out->create = true;
	free(path);
	return out;
}

int files_create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		give_to_user(fd);
	return fd;
}

void files_remove(struct files *f, const struct session *s)
{
	(void)f;
	unlink(s->file);
}

void files_index(struct files *f, const struct image *m)
{
	struct ms_err err;
	/* A run of one image has no folder and so no index. */
	if (m->number && f->folder && !f->folder_made && make_folder(f, &err))
		return;
	index_add(&f->index, m);
}

void files_done(struct files *f)
{
	index_close(&f->index);
	free(f->path);
	free(f->file);
	free(f->folder);
}
