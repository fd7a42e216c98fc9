/* SPDX-License-Identifier: MIT
 * Handles the files beside a snapshot from which SQLite would change it.
 *
 * FILE-journal, FILE-wal and FILE-shm belong to the database FILE by their names alone: SQLite
 * adds their pages to FILE, no matter who made them. In a folder where others can create files,
 * foreign ones would change a snapshot's content, and those of an earlier FILE do not fit
 * another one. So none exist when a snapshot gets its name, and existing ones are not used when
 * one is opened, except the log of a database that somebody has put into WAL mode.
 */
#include "snapshot_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

#define NAME_ROOM (NAME_MAX + 10)

enum { JOURNAL, WAL, SHM, SUFFIXES };
static const char *const suffixes[SUFFIXES] = {"-journal", "-wal", "-shm"};

/* Finds the file whose name is that of `at` plus a suffix. Returns false if there is none. */
static bool look(const struct ms_dest *at, int suffix, char name[NAME_ROOM], struct stat *st)
{
	snprintf(name, NAME_ROOM, "%s%s", at->name, suffixes[suffix]);
	return fstatat(at->folder, name, st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENAMETOOLONG);
}

/* ---- writing ---- */

/* Tells whether a file has the first bytes of a journal, log or log index of SQLite, or the zeros
 * of one that SQLite has cleared. */
static bool is_sqlites(int folder, const char *name)
{
	static const unsigned char heads[][8] = {
		{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, /* journal */
		{0x37, 0x7f, 0x06, 0x82, 0x00, 0x2d, 0xe2, 0x18}, /* log (WAL) */
		{0x37, 0x7f, 0x06, 0x83, 0x00, 0x2d, 0xe2, 0x18}, /* big-endian log */
		{0x18, 0xe2, 0x2d, 0x00, 0, 0, 0, 0},             /* index of a log */
		{0},                                              /* file that SQLite has cleared */
	};
	unsigned char head[8] = {0};
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, sizeof head) >= 0;
	ms_close(fd);
	for (size_t i = 0; is && i < sizeof heads / sizeof *heads; i++)
		if (memcmp(head, heads[i], sizeof head) == 0)
			return true;
	return false;
}

/* Removes the journal, log and log index that SQLite has left beside `at`. A file with such a name
 * that is not SQLite's is an error. */
static int clear(const struct ms_dest *at, const char *path, struct ms_err *err)
{
	char name[NAME_ROOM];
	struct stat st;
	for (int i = 0; i < SUFFIXES; i++) {
		if (!look(at, i, name, &st))
			continue;
		if (!S_ISLNK(st.st_mode) && !(S_ISREG(st.st_mode) && is_sqlites(at->folder, name)))
			return ms_err_set(err,
					  "cannot write '%s': SQLite would read '%s' in the same "
					  "folder as part of it, and user %u owns that file: "
					  "name another output, or move that file",
					  path, name, (unsigned)st.st_uid);
		if (unlinkat(at->folder, name, 0) != 0 && errno != ENOENT)
			return ms_err_sys(
				err,
				"cannot write '%s': SQLite would read '%s' in the same folder as "
				"part of it, and that file, owned by user %u, cannot be removed",
				path, name, (unsigned)st.st_uid);
	}
	return 0;
}

/* Finds the folder and name of the open file `fd`. Returns false if it has no name or is not a
 * regular file. */
static bool place_of(int fd, struct ms_dest *at)
{
	char own[32], path[PATH_MAX];
	struct stat st;
	struct ms_err none = {0};
	snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
	ssize_t n =
		fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : readlink(own, path, sizeof path - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if (ms_dest_find(at, path, &none) != 0)
		return false;
	if (ms_dest_is(at->folder, at->name, st.st_dev, st.st_ino))
		return true;
	ms_dest_close(at);
	return false;
}

static int write_to(int fd, const char *path, const void *image, size_t size, struct ms_err *err)
{
	if (ms_write_all(fd, image, size) == 0)
		return 0;
	return path ? ms_err_sys(err, "cannot write '%s'", path)
		    : ms_err_sys(err, "cannot write to standard output");
}

/* Writes to a file that is already open; this cannot be undone. */
static int put_open(int fd, const char *path, const void *image, size_t size, struct ms_err *err)
{
	struct ms_dest at;
	const char *name = path ? path : "standard output";
	bool placed = place_of(fd, &at);
	int rc = placed ? clear(&at, name, err) : 0;
	if (rc == 0)
		rc = write_to(fd, path, image, size, err);
	if (rc == 0 && placed)
		rc = clear(&at, name, err);
	if (placed)
		ms_dest_close(&at);
	return rc;
}

int ms_snapshot_put(const char *path, const void *image, size_t size, struct ms_err *err)
{
	struct ms_file f;
	if (!path)
		return put_open(STDOUT_FILENO, NULL, image, size, err);
	if (ms_file_begin(&f, path, err) != 0)
		return -1;
	if (f.direct)
		return ms_file_end(&f, put_open(f.fd, path, image, size, err), err);
	struct ms_dest at = f.dest;
	at.folder = fcntl(f.dest.folder, F_DUPFD_CLOEXEC, 3);
	int rc = at.folder < 0 ? ms_err_sys(err, "cannot write '%s'", path) : clear(&at, path, err);
	if (rc == 0)
		rc = write_to(f.fd, path, image, size, err);
	rc = ms_file_end(&f, rc, err);
	if (rc == 0 && clear(&at, path, err) != 0) {
		unlinkat(at.folder, at.name, 0);
		rc = -1;
	}
	ms_dest_close(&at);
	return rc;
}

/* ---- reading ---- */

/* Tells whether SQLite would roll back the journal. A finished journal is empty or begins with a
 * zero. */
static bool is_hot(const struct ms_dest *at, const char *name, const struct stat *st)
{
	unsigned char first = 1;
	if (!S_ISREG(st->st_mode))
		return true;
	int fd = st->st_size ? openat(at->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd >= 0 && read(fd, &first, 1) != 1)
		first = 1;
	ms_close(fd);
	return st->st_size && first;
}

/* Tells whether a file belongs to the database's owner, to root or to us, and has no other hard
 * links, which anybody could have made. */
static bool is_its(const struct stat *st, const struct stat *database)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	       (st->st_uid == 0 || st->st_uid == database->st_uid || ms_dest_ours(st));
}

/* Tells whether the database has a log that must be applied, and only the database's owner, root or
 * we can have written it. */
static bool is_log(const struct ms_dest *at, const struct stat *database, bool wal)
{
	char name[NAME_ROOM];
	struct stat log, index;
	bool has_log = look(at, WAL, name, &log), has_index = look(at, SHM, name, &index);
	return wal && has_log && (at->safe || (is_its(&log, database) && has_index)) &&
	       (!has_index || at->safe || is_its(&index, database));
}

static int refuse(const char *path, const char *name, const struct stat *st, bool log,
		  struct ms_err *err)
{
	return ms_err_set(err,
			  "cannot read '%s': %s '%s' of user %u is in the same folder; if that "
			  "belongs to a change of yours, finish the change with sqlite3 FILE "
			  "'PRAGMA journal_mode=DELETE'; else remove that file, or read FILE from "
			  "standard input",
			  path, log ? "a foreign log," : "an unfinished change,", name,
			  (unsigned)st->st_uid);
}

int ms_snapshot_beside(const char *path, const struct stat *database, bool wal, bool *log,
		       struct ms_err *err)
{
	char name[NAME_ROOM], *real = realpath(path, NULL);
	struct ms_dest at;
	struct stat st;
	int rc = !real ? ms_err_sys(err, "cannot open '%s'", path) : ms_dest_find(&at, real, err);
	free(real);
	if (rc != 0)
		return -1;
	*log = false;
	if (look(&at, JOURNAL, name, &st) && is_hot(&at, name, &st)) {
		rc = refuse(path, name, &st, false, err);
	} else if (look(&at, WAL, name, &st) && (!S_ISREG(st.st_mode) || st.st_size)) {
		*log = is_log(&at, database, wal);
		rc = *log ? 0 : refuse(path, name, &st, true, err);
	}
	ms_dest_close(&at);
	return rc;
}
