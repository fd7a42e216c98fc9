/* SPDX-License-Identifier: MIT
 * Files of modules, held open.
 */
#include "held_files.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/lookup.h"

/* Lists all files held open for the whole run. Protected by `lock`. */
static struct {
	pthread_mutex_t lock;
	MS_ARRAY(struct held_file *) all;
	struct ms_lookup by_inode;
	size_t open, oldest; /* no file with an index below `oldest` is open */
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool held_file_same(const struct held_file *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->inode == st->st_ino &&
	       f->bytes == (uint64_t)st->st_size && f->mtime_ns == ms_ns_of(st->st_mtim);
}

bool held_file_touched(const struct held_file *f)
{
	struct stat st;
	return !stat(f->path, &st) && held_file_same(f, &st) && st.st_nlink == f->links &&
	       ms_ns_of(st.st_ctim) != f->ctime_ns;
}

/* Returns the maximum number of files held open: half of the descriptor limit. */
static size_t most(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) ? 256 : (size_t)files.rlim_cur / 2;
}

static void close_one(struct held_file *f)
{
	close(f->fd);
	f->fd = -1;
	held.open--;
}

/* Closes the oldest held file that can be reopened by its path. Examines only the oldest few
 * hundred; if none of these can be reopened, closes the oldest. */
static void make_room(void)
{
	enum { LOOKS = 256 };
	struct held_file **v = held.all.v;
	while (held.oldest < held.all.n && v[held.oldest]->fd < 0)
		held.oldest++;
	size_t end = held.oldest + LOOKS < held.all.n ? held.oldest + LOOKS : held.all.n;
	for (size_t i = held.oldest; i < end; i++) {
		struct stat st;
		if (v[i]->fd >= 0 && !stat(v[i]->path, &st) && held_file_same(v[i], &st)) {
			close_one(v[i]);
			return;
		}
	}
	if (held.oldest < held.all.n)
		close_one(v[held.oldest]);
}

static struct held_file *find(const struct stat *st)
{
	uint32_t hash = ms_hash(st->st_ino, 0), n;
	for (size_t at = hash; (n = ms_lookup_next(&held.by_inode, hash, &at));)
		if (held_file_same(held.all.v[n - 1], st))
			return held.all.v[n - 1];
	return NULL;
}

static struct held_file *add(const struct stat *st, const char *path)
{
	struct held_file *f = ms_xcalloc(1, sizeof *f);
	*f = (struct held_file){.fd = -1,
				.dev = st->st_dev,
				.inode = st->st_ino,
				.bytes = (uint64_t)st->st_size,
				.mtime_ns = ms_ns_of(st->st_mtim),
				.ctime_ns = ms_ns_of(st->st_ctim),
				.links = st->st_nlink,
				.path = ms_xstrdup(path)};
	*MS_PUSH(&held.all) = f;
	ms_lookup_add(&held.by_inode, ms_hash(f->inode, 0), (uint32_t)held.all.n);
	return f;
}

struct held_file *held_file_keep(int fd, const char *path, bool may_close)
{
	struct stat st;
	struct held_file *f = NULL;
	if (fd < 0)
		return NULL;
	pthread_mutex_lock(&held.lock);
	bool regular = !fstat(fd, &st) && S_ISREG(st.st_mode), full = held.open >= most();
	if (regular)
		f = find(&st);
	if (full && may_close)
		make_room();
	if (regular && !f && (!full || may_close))
		f = add(&st, path);
	if (f && f->fd < 0 && (!full || may_close)) {
		f->fd = fd;
		held.open++;
		fd = -1;
	}
	pthread_mutex_unlock(&held.lock);
	if (fd >= 0)
		close(fd);
	return f;
}

struct held_file *held_file_find(const char *path, uint64_t inode)
{
	struct held_file *found = NULL;
	struct stat st;
	uint32_t hash = ms_hash(inode, 0), n;
	pthread_mutex_lock(&held.lock);
	for (size_t at = hash; !found && (n = ms_lookup_next(&held.by_inode, hash, &at));) {
		struct held_file *f = held.all.v[n - 1];
		if (f->inode == inode && f->fd >= 0 && !strcmp(f->path, path) &&
		    !fstat(f->fd, &st) && held_file_same(f, &st))
			found = f;
	}
	pthread_mutex_unlock(&held.lock);
	return found;
}

uint8_t *held_file_note(int fd, enum held_note which)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return NULL;
	pthread_mutex_lock(&held.lock);
	struct held_file *f = find(&st);
	pthread_mutex_unlock(&held.lock);
	return f && f->ctime_ns == ms_ns_of(st.st_ctim) ? &f->notes[which] : NULL;
}
