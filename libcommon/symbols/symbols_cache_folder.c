/* SPDX-License-Identifier: MIT
 * The folder of the symbol cache: its path, its owner, its size.
 */
#include "symbols_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/order.h"

#define ABANDONED_S 3600 /* age in s at which temporary files (with '.' in the name) are removed */

/* Opens a folder that must be ours, and creates it if needed. It is refused if it has mode bits of
 * `others`: 022 for a folder that only we may write to, 077 for one that only we may access. */
static int enter(int from, const char *name, mode_t others)
{
	struct stat st;
	mkdirat(from, name, 0700);
	int fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & others))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Opens the folder `base`/`below`/memscope, or `base`/memscope if `below` is NULL. */
static int folder_in(const char *base, const char *below)
{
	struct stat st;
	if (!base || *base != '/' ||
	    (below && (stat(base, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022))))
		return -1;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s%s%s", base, below ? "/" : "", below ? below : "");
	int cache = n > 0 && (size_t)n < sizeof path ? enter(AT_FDCWD, path, 022) : -1;
	if (cache < 0)
		return -1;
	int fd = enter(cache, "memscope", 077);
	close(cache);
	return fd;
}

/* Opens the cache folder. With sudo, XDG_CACHE_HOME and HOME may be those of the calling user, in
 * whose folder root should leave no files, so root's own home is used. */
int ms_cache_folder(void)
{
	bool sudo = geteuid() == 0 && getenv("SUDO_UID");
	const char *own = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	if (own && *own && !sudo)
		return folder_in(own, NULL);
	if (home && sudo) {
		const struct passwd *root = getpwuid(0);
		home = root ? root->pw_dir : NULL;
	}
	return folder_in(home, ".cache");
}

struct kept {
	uint64_t used_ns, bytes;
	char name[NAME_MAX + 1];
};

void ms_cache_trim(int folder, uint64_t most)
{
	MS_ARRAY(struct kept) all = {0};
	uint64_t bytes = 0;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (strchr(e->d_name, '.') && st.st_mtim.tv_sec + ABANDONED_S < time(NULL)) {
			unlinkat(folder, e->d_name, 0);
			continue;
		}
		struct kept *k = MS_PUSH(&all);
		k->used_ns = ms_ns_of(st.st_mtim);
		k->bytes = (uint64_t)(st.st_size > st.st_blocks * 512 ? st.st_size
								      : st.st_blocks * 512);
		snprintf(k->name, sizeof k->name, "%s", e->d_name);
		bytes += k->bytes;
	}
	if (d)
		closedir(d);
	if (all.n && bytes > most)
		qsort(all.v, all.n, sizeof *all.v, ms_by_first_number);
	for (size_t i = 0; i < all.n && bytes > most; i++)
		if (unlinkat(folder, all.v[i].name, 0) == 0)
			bytes -= all.v[i].bytes;
	free(all.v);
}
