/* SPDX-License-Identifier: MIT
 * Appends a run to a dataset, as a new partition.
 *
 *   DIR/v1-ID/{run,site,site_stat}.csv.zst     a run, which never changes
 *   DIR/.new/ID.RANDOM/                        a partition being written
 *
 * A partition is on disk before one rename gives it its final name, which fails if the name exists.
 * So readers of DIR/v1-* see complete runs only, and of two writers of the same run the second is
 * refused. Writers hold a shared lock on .new; one that can lock it exclusively removes the remains
 * of killed writers.
 */
#include "dataset_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

#define LEVEL 9
#define TRIES 100

struct partition {
	const char *dir;
	int folder, fresh, own; /* descriptors of three folders: DIR, its .new, and the partition in
				   .new; -1 = none */
	char name[DATASET_NAME], temporary[DATASET_NAME + 9];
};

static int cannot(const struct partition *p, struct ms_err *err)
{
	return ms_err_sys(err, "cannot append to '%s'", p->dir);
}

/* ---- rows ---- */

static void put_quoted(struct dataset_text *t, const char *s)
{
	dataset_put(t, "\"", 1);
	for (const char *at; (at = strchr(s, '"')); s = at + 1) {
		dataset_put(t, s, (size_t)(at - s + 1));
		dataset_put(t, "\"", 1);
	}
	dataset_put(t, s, strlen(s));
	dataset_put(t, "\"", 1);
}

static void put_value(struct dataset_text *t, sqlite3_stmt *st, int c)
{
	char number[40] = "\\N";
	switch (sqlite3_column_type(st, c)) {
	case SQLITE_TEXT:
		put_quoted(t, (const char *)sqlite3_column_text(st, c));
		return;
	case SQLITE_INTEGER:
		snprintf(number, sizeof number, "%lld", (long long)sqlite3_column_int64(st, c));
		break;
	case SQLITE_FLOAT:
		snprintf(number, sizeof number, "%.6g", sqlite3_column_double(st, c));
		break;
	}
	dataset_put(t, number, strlen(number));
}

static sqlite3_stmt *query_of(const struct dataset_file *f, sqlite3 *db,
			      const struct ms_cli_list *keys, const char *id, struct ms_arena *a,
			      struct ms_err *err)
{
	const char *time = ms_dataset_key(keys, "time");
	sqlite3_stmt *st = ms_sql_prepare(
		db, ms_arena_printf(a, "SELECT %s%s", dataset_column_list(f, true, a), f->from),
		err);
	if (!st)
		return NULL;
	/* binding a parameter that the query lacks fails, which is harmless */
	sqlite3_bind_text(st, 1, id, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, dataset_keys_json(keys, a), -1, SQLITE_STATIC);
	if (time)
		sqlite3_bind_int64(st, 3, strtoll(time, NULL, 10));
	sqlite3_bind_int(st, 4, !ms_snapshot_incomplete(db));
	return st;
}

static int put_rows(struct dataset_text *t, const struct dataset_file *f, sqlite3 *db,
		    const struct ms_cli_list *keys, const char *id, struct ms_err *err)
{
	struct ms_arena a = {0};
	sqlite3_stmt *st = query_of(f, db, keys, id, &a, err);
	while (st && ms_sql_next(db, st, err)) {
		for (int c = 0; c < (int)f->n; c++) {
			dataset_put(t, ",", c > 0);
			put_value(t, st, c);
		}
		dataset_put(t, "\n", 1);
	}
	sqlite3_finalize(st);
	ms_arena_free(&a);
	return err->text[0] ? -1 : 0;
}

/* ---- files ---- */

static char *file_name(char buf[32], int i)
{
	snprintf(buf, 32, "%s.csv.zst", dataset_files[i].name);
	return buf;
}

static int write_file(const struct partition *p, int i, const struct dataset_text *t,
		      struct ms_err *err)
{
	char name[32];
	size_t room = ZSTD_compressBound(t->n);
	void *packed = ms_xrealloc(NULL, room, 1);
	size_t n = ZSTD_compress(packed, room, t->v, t->n, LEVEL);
	int rc = ZSTD_isError(n)
			 ? ms_err_set(err, "cannot compress a run: %s", ZSTD_getErrorName(n))
			 : 0;
	int fd = rc == 0 ? ms_dest_create(p->own, file_name(name, i)) : -1;
	if (rc == 0 && (fd < 0 || ms_write_all(fd, packed, n) != 0 || fsync(fd) != 0))
		rc = cannot(p, err);
	if (fd >= 0 && close(fd) != 0 && rc == 0)
		rc = cannot(p, err);
	MS_FREE(packed);
	return rc;
}

static void remove_partition(int fresh, const char *name)
{
	char file[32];
	int folder = openat(fresh, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (int i = 0; i < DATASET_FILES && folder >= 0; i++)
		unlinkat(folder, file_name(file, i), 0);
	ms_close(folder);
	unlinkat(fresh, name, AT_REMOVEDIR);
}

/* ---- folders ---- */

static int open_folder(int from, const char *name, int nofollow)
{
	bool made = mkdirat(from, name, 0700) == 0;
	if (!made && errno != EEXIST)
		return -1;
	int fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | nofollow);
	if (made && fd >= 0)
		ms_give_to_user(fd);
	return fd;
}

/* Removes the unfinished partitions of killed writers. */
static void sweep(int fresh)
{
	int fd = dup(fresh);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			remove_partition(fresh, e->d_name);
	if (d)
		closedir(d);
	else
		ms_close(fd);
}

static int make_own(struct partition *p)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t random;
		if (getrandom(&random, sizeof random, 0) != sizeof random)
			return -1;
		snprintf(p->temporary, sizeof p->temporary, "%s.%08x",
			 p->name + strlen(DATASET_PREFIX), random);
		if (mkdirat(p->fresh, p->temporary, 0700) == 0)
			return p->own = openat(p->fresh, p->temporary,
					       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (errno != EEXIST)
			break;
	}
	p->temporary[0] = '\0';
	return -1;
}

/* Refuses a folder .new of another user, who could replace our partition; owners of DIR and root
 * are trusted. */
static int check_owner(const struct partition *p, struct ms_err *err)
{
	struct stat all, fresh;
	if (fstat(p->folder, &all) != 0 || fstat(p->fresh, &fresh) != 0)
		return cannot(p, err);
	if (fresh.st_uid == 0 || fresh.st_uid == all.st_uid || ms_dest_ours(&fresh))
		return 0;
	return ms_err_set(err,
			  "cannot append to '%s': its folder '.new' belongs to user %u, who may "
			  "have put it there; remove it, or name another folder",
			  p->dir, (unsigned)fresh.st_uid);
}

static int open_partition(struct partition *p, struct ms_err *err)
{
	p->folder = open_folder(AT_FDCWD, p->dir, 0);
	if (p->folder < 0 || (p->fresh = open_folder(p->folder, ".new", O_NOFOLLOW)) < 0)
		return cannot(p, err);
	if (check_owner(p, err) != 0)
		return -1;
	if (flock(p->fresh, LOCK_EX | LOCK_NB) == 0)
		sweep(p->fresh);
	/* without locks in the file system, nothing is removed */
	while (flock(p->fresh, LOCK_SH) != 0 && errno == EINTR)
		;
	if (make_own(p) < 0)
		return cannot(p, err);
	ms_give_to_user(p->own);
	return 0;
}

static int refuse(const char *dir, const char *keys, struct ms_err *err)
{
	return ms_err_set(err,
			  "cannot append to '%s': it already has a run with the keys %s; add a "
			  "--key that distinguishes this one",
			  dir, keys);
}

static int name_partition(const struct partition *p, const char *keys, struct ms_err *err)
{
	struct stat own;
	if (fsync(p->own) != 0 || fstat(p->own, &own) != 0)
		return cannot(p, err);
	if (renameat(p->fresh, p->temporary, p->folder, p->name) != 0)
		return errno == EEXIST || errno == ENOTEMPTY ? refuse(p->dir, keys, err)
							     : cannot(p, err);
	if (!ms_dest_is(p->folder, p->name, own.st_dev, own.st_ino))
		return ms_err_set(
			err,
			"cannot append to '%s': another program replaced the new run's folder "
			"while it was written",
			p->dir);
	return fsync(p->folder) != 0 ? cannot(p, err) : 0;
}

/* Stores the name of the partition for these keys in `name`, and returns its id, which follows the
 * prefix. */
static const char *name_of(char name[DATASET_NAME], const char *keys)
{
	strcpy(name, DATASET_PREFIX);
	ms_text_key(keys, name + strlen(DATASET_PREFIX));
	return name + strlen(DATASET_PREFIX);
}

int ms_dataset_append(const char *dir, const struct ms_cli_list *keys, sqlite3 *db,
		      struct ms_err *err)
{
	struct ms_arena a = {0};
	struct partition p = {.dir = dir, .folder = -1, .fresh = -1, .own = -1};
	const char *json = dataset_keys_json(keys, &a), *id = name_of(p.name, json);
	int rc = open_partition(&p, err);
	for (int i = 0; i < DATASET_FILES && rc == 0; i++) {
		struct dataset_text t = {0};
		rc = put_rows(&t, &dataset_files[i], db, keys, id, err);
		if (rc == 0)
			rc = write_file(&p, i, &t, err);
		MS_FREE(t.v);
	}
	if (rc == 0)
		rc = name_partition(&p, json, err);
	if (rc != 0 && p.temporary[0])
		remove_partition(p.fresh, p.temporary);
	ms_close(p.own);
	ms_close(p.fresh);
	ms_close(p.folder);
	ms_arena_free(&a);
	return rc;
}

int ms_dataset_check(const char *dir, const struct ms_cli_list *keys, struct ms_err *err)
{
	struct ms_arena a = {0};
	struct stat st;
	char name[DATASET_NAME];
	const char *json = dataset_keys_json(keys, &a);
	int rc = 0;
	name_of(name, json);
	if (strcmp(json, "{}") == 0)
		rc = ms_err_set(err,
				"--dataset needs a --key NAME=VALUE that distinguishes this run "
				"from others, such as --key commit=1a2b3c4 --key test=parser");
	else if (stat(ms_arena_printf(&a, "%s/%s", dir, name), &st) == 0)
		rc = refuse(dir, json, err);
	ms_arena_free(&a);
	return rc;
}
