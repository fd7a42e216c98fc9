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

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "image.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/write/output.h"

#define OPEN_TRIES 100u

/* Expands %p, %e, %t and %% in a pattern. malloc'ed; NULL with `err` set. */
static char *expand(const char *pattern, const char *exe, pid_t pid, struct ms_err *err)
{
	char *out = NULL, when[32], number[16];
	size_t n = 0;
	time_t now = time(NULL);
	struct tm tm;
	FILE *f = open_memstream(&out, &n);
	if (!f) {
		ms_err_sys(err, "cannot create a file name");
		return NULL;
	}
	strftime(when, sizeof when, "%Y%m%dT%H%M%S", localtime_r(&now, &tm));
	snprintf(number, sizeof number, "%d", (int)pid);
	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			fputc(*p, f);
			continue;
		}
		p++;
		const char *word = *p == 'p'   ? number
				   : *p == 'e' ? basename(exe)
				   : *p == 't' ? when
				   : *p == '%' ? "%"
					       : NULL;
		if (!word) {
			fclose(f);
			free(out);
			ms_err_set(err, "bad name '%s': %% must be followed by p, e, t or %%",
				   pattern);
			return NULL;
		}
		fputs(word, f);
	}
	fclose(f);
	return out;
}

/* Returns an output that writes to `fd`. `folder`, `name`: location of the file; folder -1 = `fd`
 * was not created by us. */
static struct output *make_output(const struct files_options *o, int fd, const char *path,
				  int folder, const char *name)
{
	struct output *out = output_new(fd, path);
	if (folder >= 0)
		output_place(out, folder, name);
	out->addresses = o->addresses;
	out->level = o->level;
	return out;
}

static int open_descriptor(const char *text, int fd, struct ms_err *err)
{
	if (fd < 0 || fcntl(fd, F_GETFD) < 0)
		return ms_err_set(err, "cannot write to '%s': it is not an open descriptor", text);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return ms_err_set(err, "cannot write to '%s': it is open for reading only", text);
	/* F_DUPFD_CLOEXEC: the command must not inherit the descriptor. */
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return ms_err_sys(err, "cannot write to '%s'", text);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return own;
}

/* ---- FILE and FILE~ ---- */

enum held { OURS, ANOTHERS, MOVED };

/* Takes the lock of the file behind `fd`. It shows readers that the trace still grows, and other
 * recorders that the file is in use. Returns MOVED if FILE's name does not, or no longer, refer to
 * this file. */
static enum held hold(const struct files *f, int fd)
{
	struct stat st;
	if (ms_trace_lock(fd) && (errno == EAGAIN || errno == EACCES))
		return ANOTHERS;
	return fstat(fd, &st) || !ms_dest_is(f->dest.folder, f->dest.name, st.st_dev, st.st_ino)
		       ? MOVED
		       : OURS;
}

static int taken(const struct files *f, struct ms_err *err)
{
	return ms_err_set(err, "cannot write '%s': another ms-record is writing it", f->path);
}

/* Builds the temporary name under which an older FILE~ is kept until the first write. Returns false
 * if the name is too long. */
static bool older_name(const struct files *f, char name[NAME_MAX + 1])
{
	return snprintf(name, NAME_MAX + 1, "%s~.%d.old", f->dest.name, (int)getpid()) <= NAME_MAX;
}

static void bring_older(struct files *f)
{
	char old[NAME_MAX + 2], older[NAME_MAX + 1];
	snprintf(old, sizeof old, "%s~", f->dest.name);
	if (f->has_older && older_name(f, older))
		renameat(f->dest.folder, older, f->dest.folder, old);
	f->has_older = false;
}

/* Renames the old file to FILE~. An existing FILE~ is replaced if an earlier recording made it. */
static int keep_old(struct files *f, struct ms_err *err)
{
	char old[NAME_MAX + 2], older[NAME_MAX + 1];
	struct stat st;
	int folder = f->dest.folder;
	snprintf(old, sizeof old, "%s~", f->dest.name);
	if (!fstatat(folder, old, &st, AT_SYMLINK_NOFOLLOW) &&
	    !(S_ISREG(st.st_mode) && ms_dest_ours(&st) &&
	      (!st.st_size || ms_dest_is_trace(folder, old))))
		return ms_err_set(err,
				  "cannot keep the old '%s' as '%s~': what has that name is not a "
				  "trace of yours; move it, or name another file",
				  f->path, f->path);
	f->has_older = older_name(f, older) && !renameat(folder, old, folder, older);
	if (renameat(folder, f->dest.name, folder, old)) {
		ms_err_sys(err, "cannot rename '%s' to '%s~'", f->path, f->path);
		bring_older(f);
		return -1;
	}
	f->has_old = true;
	return 0;
}

/* Makes FILE's name free: removes an empty trace of ours, and renames any other file to FILE~. */
static int move_old(struct files *f, struct ms_err *err)
{
	struct stat st;
	int folder = f->dest.folder;
	enum held held = OURS;
	if (fstatat(folder, f->dest.name, &st, AT_SYMLINK_NOFOLLOW))
		return 0; /* another recorder has already renamed it */
	if (!S_ISREG(st.st_mode))
		return ms_err_set(err, "cannot write '%s': another file has just replaced it",
				  f->path);
	int fd = openat(folder, f->dest.name, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0) /* without permission to open it, its lock cannot be checked */
		held = hold(f, fd);
	int rc = 0;
	if (held == ANOTHERS) /* renaming a trace in use would separate it from its FILE.d */
		rc = taken(f, err);
	else if (held == OURS && !st.st_size && ms_dest_ours(&st))
		unlinkat(folder, f->dest.name, 0);
	else if (held == OURS)
		rc = keep_old(f, err);
	descriptor_close(fd);
	return rc;
}

/* Creates FILE and takes its lock, which decides if two recorders create FILE at the same time. */
static int open_regular(struct files *f, struct ms_err *err)
{
	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		int fd = ms_dest_create(f->dest.folder, f->dest.name);
		if (fd < 0 && errno != EEXIST)
			return ms_err_sys(err, "cannot write '%s'", f->path);
		if (fd < 0) {
			if (move_old(f, err))
				return -1;
			continue;
		}
		enum held held = hold(f, fd);
		if (held == OURS)
			return fd;
		close(fd);
		if (held == ANOTHERS)
			break;
	}
	return taken(f, err);
}

/* ---- FILE.d ---- */

/* Tells whether the folder has an index made by this user's ms-record. An empty index counts too:
 * its recorder may have been killed just after creating it. */
static bool is_index(int folder)
{
	char head[sizeof INDEX_HEAD - 1];
	int fd = openat(folder, "index", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
	descriptor_close(fd);
	return n == 0 || (n == (ssize_t)sizeof head && !memcmp(head, INDEX_HEAD, sizeof head));
}

/* Tells whether this user's ms-record made the file: a trace named EXE.PID.IMAGE.trace, or the
 * index. */
static bool is_ours(int folder, const char *name)
{
	struct stat st;
	size_t n = strlen(name), parts = 0;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    !ms_dest_ours(&st))
		return false;
	if (!strcmp(name, "index"))
		return true;
	if (n < 6 || strcmp(name + n - 6, ".trace") != 0)
		return false;
	for (n -= 6; parts < 2 && n; parts++) {
		size_t digits = 0;
		while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
			n--, digits++;
		if (!digits || !n || name[--n] != '.')
			return false;
	}
	return parts == 2;
}

/* Calls `act` for each entry of the folder except . and .. If `act` is NULL, checks that there are
 * no such entries. Returns false if the folder cannot be read, or is not empty and `act` is
 * NULL. */
static bool each_file(int folder, void (*act)(int folder, const char *name))
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool good = d != NULL;
	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e; good && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		good = act != NULL;
		if (act)
			act(folder, e->d_name);
	}
	if (d)
		closedir(d);
	return good;
}

static void remove_ours(int folder, const char *name)
{
	if (is_ours(folder, name))
		unlinkat(folder, name, 0);
}

static void remove_trace(int folder, const char *name)
{
	if (strcmp(name, "index") != 0)
		remove_ours(folder, name);
}

/* Opens FILE.d if an earlier run of this user's ms-record made it; else returns -1. *foreign is set
 * if FILE.d exists but was not made by such a run. */
static int open_earlier(const struct files *f, bool *foreign)
{
	struct stat st;
	int fd = openat(f->beside, basename(f->folder),
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*foreign = fd < 0 && errno != ENOENT;
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && ms_dest_ours(&st) && (is_index(fd) || each_file(fd, NULL)))
		return fd;
	*foreign = true;
	close(fd);
	return -1;
}

static int refuse_foreign(const struct files *f, struct ms_err *err)
{
	return ms_err_set(
		err,
		"cannot write '%s': '%s', where further programs' traces go, is not a folder of an "
		"earlier recording of yours; move it, name another file, or use --follow=none",
		f->path, f->folder);
}

/* Checks FILE.d before the command runs, so that an error is not noticed only when the first child
 * is to be recorded. */
static int check_folder(const struct files *f, const struct files_options *o, struct ms_err *err)
{
	bool foreign;
	int fd = open_earlier(f, &foreign);
	descriptor_close(fd);
	return foreign && !o->no_further ? refuse_foreign(f, err) : 0;
}

void files_begin(struct files *f)
{
	bool foreign;
	char older[NAME_MAX + 1];
	if (f->has_older && older_name(f, older))
		unlinkat(f->dest.folder, older, 0);
	f->has_older = false;
	int fd = f->folder && f->inside < 0 ? open_earlier(f, &foreign) : -1;
	if (fd < 0)
		return;
	each_file(fd, remove_trace);
	remove_ours(fd, "index"); /* removed last: the folder is recognized by its index */
	close(fd);
	unlinkat(f->beside, basename(f->folder), AT_REMOVEDIR);
}

static int make_folder(struct files *f, struct ms_err *err)
{
	struct stat st;
	const char *name = basename(f->folder);
	if (f->inside >= 0)
		return 0;
	files_begin(f);
	if (mkdirat(f->beside, name, 0700) && errno != EEXIST)
		return ms_err_sys(err, "cannot create folder '%s'", f->folder);
	int fd = openat(f->beside, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !ms_dest_ours(&st)) {
		descriptor_close(fd);
		return refuse_foreign(f, err);
	}
	ms_give_to_user(fd);
	f->inside = fd;
	index_open(&f->index, fd);
	return 0;
}

/* ---- both ---- */

/* Finds the folders of FILE.d and FILE~: FILE.d is next to the given name, FILE~ next to the file
 * to which a symbolic link leads. */
static int find_beside(struct files *f, struct ms_err *err)
{
	const char *slash = strrchr(f->path, '/');
	f->beside = f->dest.folder;
	if (f->dest.followed) {
		size_t n = slash == f->path ? 1 : slash ? (size_t)(slash - f->path) : 0;
		char *folder = ms_xstrndup(f->path, n);
		f->beside = open(n ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		free(folder);
	}
	if (f->beside < 0 || asprintf(&f->folder, "%s.d", f->path) < 0) {
		f->folder = NULL;
		ms_err_sys(err, "cannot write '%s'", f->path);
		return -1;
	}
	return 0;
}

static struct output *open_file(struct files *f, const struct files_options *o, struct ms_err *err)
{
	if (find_beside(f, err) || check_folder(f, o, err))
		return NULL;
	int fd = open_regular(f, err);
	if (fd < 0)
		return NULL;
	struct output *out = make_output(o, fd, f->path, f->dest.folder, f->dest.name);
	f->dev = out->dev;
	f->ino = out->ino;
	return out;
}

struct output *files_open(struct files *f, const struct files_options *o, const char *exe,
			  pid_t pid, struct ms_err *err)
{
	*f = (struct files){.dest.folder = -1, .beside = -1, .inside = -1, .index.fd = -1};
	f->path = expand(o->output ? o->output : "%e.%p.trace", exe, pid, err);
	if (!f->path)
		return NULL;
	/* Examines the option, not the expanded path: a program could be called "fd:1". */
	bool number = o->output && !strncmp(o->output, "fd:", 3);
	if (!number && ms_dest_find(&f->dest, f->path, err))
		return NULL;
	if (!number && f->dest.fd < 0 && (!f->dest.st.st_mode || S_ISREG(f->dest.st.st_mode)))
		return open_file(f, o, err);
	if (o->keep_live) {
		ms_err_set(err, "--keep needs a regular file, not '%s'", f->path);
		return NULL;
	}
	int named = number ? descriptor_named(f->path) : f->dest.fd;
	int fd = number || named >= 0 ? open_descriptor(f->path, named, err)
				      : ms_dest_open_special(&f->dest, f->path, err);
	return fd < 0 ? NULL : make_output(o, fd, f->path, -1, NULL);
}

void files_discard(struct files *f)
{
	char old[NAME_MAX + 2];
	int folder = f->dest.folder;
	if (!f->folder || !ms_dest_is(folder, f->dest.name, f->dev, f->ino))
		return;
	snprintf(old, sizeof old, "%s~", f->dest.name);
	if (!f->has_old || renameat(folder, old, folder, f->dest.name))
		unlinkat(folder, f->dest.name, 0);
	bring_older(f);
}

struct output *files_open_further(struct files *f, const struct files_options *o, const char *name,
				  pid_t pid, uint32_t seq, struct ms_err *err)
{
	char *path = NULL;
	if (!f->folder) {
		ms_err_set(err,
			   "traces of further programs go into the folder FILE.d: use -o FILE, not "
			   "'%s'",
			   f->path);
		return NULL;
	}
	if (make_folder(f, err))
		return NULL;
	if (asprintf(&path, "%s/%s.%d.%" PRIu32 ".trace", f->folder, name, (int)pid, seq) < 0) {
		ms_err_set(err, "out of memory");
		return NULL;
	}
	struct output *out = make_output(o, -1, path, f->inside, basename(path));
	out->create = true;
	free(path);
	return out;
}

void files_remove(const struct output *o)
{
	if (o->ino && ms_dest_is(o->folder, o->name, o->dev, o->ino))
		unlinkat(o->folder, o->name, 0);
}

void files_index(struct files *f, const struct image *m)
{
	struct ms_err err;
	/* A run with a single program image has no folder and so no index. */
	if (m->number && f->folder && f->inside < 0 && make_folder(f, &err))
		return;
	index_add(&f->index, m);
}

void files_done(struct files *f)
{
	if (!f->path) /* files_open was never called */
		return;
	index_close(&f->index);
	if (f->beside >= 0 && f->beside != f->dest.folder)
		close(f->beside);
	ms_dest_close(&f->dest);
	descriptor_close(f->inside);
	MS_FREE(f->path, f->folder);
	f->path = f->folder = NULL;
}
