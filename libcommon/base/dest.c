/* SPDX-License-Identifier: MIT
 * Finds and opens the destination of an output.
 */
#include "dest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "err.h"
#include "io.h"
#include "format/trace.h"

#define LINKS_MAX 40
#define TRIES 100
/* Waits of FIFO_STEP_US for the reader of a FIFO, which may still be starting: five seconds in
 * all. */
#define FIFO_STEPS 250
#define FIFO_STEP_US 20000

/* ---- whose ---- */

static bool number_of(const char *name, unsigned *id)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;
	*id = (unsigned)v;
	return text && *text >= '0' && *text <= '9' && !*end && v < UINT32_MAX;
}

/* Tells whether sudo was used, and finds the user who called it. */
static bool user_behind(uid_t *uid, gid_t *gid)
{
	return geteuid() == 0 && number_of("SUDO_UID", uid) && number_of("SUDO_GID", gid);
}

void ms_give_to_user(int fd)
{
	uid_t uid;
	gid_t gid;
	if (user_behind(&uid, &gid) && fchown(fd, uid, gid))
		return; /* the file stays root's; no data is lost */
}

bool ms_dest_ours(const struct stat *st)
{
	uid_t uid;
	gid_t gid;
	return st->st_uid == geteuid() || (user_behind(&uid, &gid) && st->st_uid == uid);
}

/* Tells whether only we or root can have put the file there. A file with several hard links may
 * have been linked there by any user. */
static bool trusted(const struct ms_dest *p, const struct stat *st)
{
	return p->safe || (st->st_nlink == 1 && (st->st_uid == 0 || ms_dest_ours(st)));
}

/* ---- where ---- */

/* Opens the folder of `path`, relative to p->folder, and stores the last component as the name. */
static int enter(struct ms_dest *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX] = ".";
	struct stat st;
	size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
	if (n >= sizeof folder || strlen(name) >= sizeof p->name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (n) {
		memcpy(folder, path, n);
		folder[n] = '\0';
	}
	int from = p->folder < 0 ? AT_FDCWD : p->folder,
	    fd = openat(from, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		ms_close(fd);
		return -1;
	}
	ms_dest_close(p);
	p->folder = fd;
	p->safe = (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & 022);
	strcpy(p->name, name);
	return 0;
}

/* Tells whether the path names a descriptor of ours: /proc/self/fd/NUMBER. */
static bool names_descriptor(const struct ms_dest *p)
{
	struct stat here, own;
	return p->name[0] >= '0' && p->name[0] <= '9' && !fstat(p->folder, &here) &&
	       !stat("/proc/self/fd", &own) && here.st_dev == own.st_dev &&
	       here.st_ino == own.st_ino;
}

/* Reads the symbolic link p->name. Returns 1; 0 if it is not a symbolic link (any more); or -1 with
 * `err` set. */
static int read_link(struct ms_dest *p, const char *path, char target[PATH_MAX], struct ms_err *err)
{
	struct stat st;
	int fd = openat(p->folder, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = -1;
	bool link = fd >= 0 && !fstat(fd, &st) && S_ISLNK(st.st_mode),
	     may = link && trusted(p, &st);
	if (may)
		n = readlinkat(fd, "", target, PATH_MAX - 1);
	ms_close(fd);
	if (!link)
		return 0;
	if (!may)
		return ms_err_set(
			err,
			"cannot write '%s': it is a symbolic link, which somebody else may have "
			"put there; name the file that it points to, or remove it",
			path);
	if (n < 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	target[n] = '\0';
	return 1;
}

static int look(struct ms_dest *p)
{
	p->st = (struct stat){0};
	return fstatat(p->folder, p->name, &p->st, AT_SYMLINK_NOFOLLOW) && errno != ENOENT ? -1 : 0;
}

int ms_dest_find(struct ms_dest *p, const char *path, struct ms_err *err)
{
	char target[PATH_MAX];
	*p = (struct ms_dest){.folder = -1, .fd = -1};
	if (enter(p, path) || look(p))
		goto failed;
	for (int i = 0; S_ISLNK(p->st.st_mode); i++) {
		if (names_descriptor(p)) {
			p->fd = atoi(p->name);
			return 0;
		}
		int rc = read_link(p, path, target, err);
		if (rc < 0) {
			ms_dest_close(p);
			return -1;
		}
		errno = ELOOP;
		if (i == LINKS_MAX || (rc && enter(p, target)) || look(p))
			goto failed;
		p->followed |= rc;
	}
	if (p->name[0] && !S_ISDIR(p->st.st_mode))
		return 0;
	ms_err_set(err, "cannot write '%s': it is a folder", path);
failed:
	ms_err_sys(err, "cannot write '%s'", path);
	ms_dest_close(p);
	return -1;
}

void ms_dest_close(struct ms_dest *p)
{
	ms_close(p->folder);
	p->folder = -1;
}

/* ---- what is no file ---- */

static int refuse_foreign(const struct ms_dest *p, const char *path, struct ms_err *err)
{
	return ms_err_set(err,
			  "cannot write '%s': a %s of user %u, who may have put it there; name "
			  "another file, or remove it",
			  path, S_ISFIFO(p->st.st_mode) ? "FIFO" : "special file",
			  (unsigned)p->st.st_uid);
}

int ms_dest_open_special(const struct ms_dest *p, const char *path, struct ms_err *err)
{
	struct stat st;
	int fd = -1;
	if (!trusted(p, &p->st))
		return refuse_foreign(p, path, err);
	for (int i = 0; i < FIFO_STEPS; i++) {
		fd = openat(p->folder, p->name,
			    O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0 || errno != ENXIO || !S_ISFIFO(p->st.st_mode))
			break;
		usleep(FIFO_STEP_US);
	}
	if (fd < 0 && errno == ENXIO && S_ISFIFO(p->st.st_mode))
		return ms_err_set(err,
				  "cannot write '%s': nothing opened this FIFO for reading within "
				  "5 s; start its reader first",
				  path);
	if (fd < 0)
		return ms_err_sys(err, "cannot write '%s'", path);
	if (fstat(fd, &st) || st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino ||
	    fcntl(fd, F_SETFL, O_WRONLY)) {
		close(fd);
		return ms_err_set(
			err, "cannot write '%s': it was replaced while it was being opened", path);
	}
	return fd;
}

/* ---- files ---- */

int ms_dest_create(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		ms_give_to_user(fd);
	return fd;
}

bool ms_dest_is_trace(int folder, const char *name)
{
	char head[MS_TRACE_MAGIC_SIZE];
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
		  memcmp(head, MS_TRACE_MAGIC, sizeof head) == 0;
	ms_close(fd);
	return is;
}

bool ms_dest_is(int folder, const char *name, dev_t dev, ino_t ino)
{
	struct stat st;
	return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == dev &&
	       st.st_ino == ino;
}

int ms_dest_temporary(int folder, const char *name, char temporary[NAME_MAX + 1])
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t random;
		if (getrandom(&random, sizeof random, 0) != sizeof random)
			return -1;
		snprintf(temporary, NAME_MAX + 1, "%.*s.%08x", NAME_MAX - 9, name, random);
		int fd = ms_dest_create(folder, temporary);
		if (fd >= 0)
			return fd;
		temporary[0] = '\0';
		if (errno != EEXIST)
			break;
	}
	return -1;
}
