/* SPDX-License-Identifier: MIT
 * Reads lines of a file of /proc/PID, and finds processes that are being recorded.
 */
#include "maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED "/memfd:memscope (deleted)" /* name of a recorder's shared memory in /proc */

bool lines_each(int folder, const char *name, bool (*each)(void *arg, const char *line), void *arg)
{
	char text[8192];
	size_t have = 0, all = 0;
	ssize_t n = 0;
	bool go_on = true;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (go_on && (n = read(fd, text + have, sizeof text - 1 - have)) > 0) {
		char *line = text, *end;
		all += (size_t)n;
		have += (size_t)n;
		text[have] = 0;
		for (; go_on && (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			go_on = each(arg, line);
		}
		have -= (size_t)(line - text);
		if (have + 1 >= sizeof text)
			have = 0; /* drops the middle of a long path */
		memmove(text, line, have);
	}
	int why = errno;
	close(fd);
	errno = why;
	return n >= 0 && all > 0;
}

/* ---- what is recorded ---- */

struct entry { /* layout of an entry from getdents64 */
	uint64_t inode;
	int64_t next;
	unsigned short bytes;
	unsigned char type;
	char name[];
};

/* Collects facts about a recorder: the inodes of its shared memory, and whether it still reads some
 * process's figures. */
struct look {
	uint64_t inode[RECORDINGS];
	size_t n;
	bool at_work;
};

static bool is_statm(const char *link)
{
	return strncmp(link, "/proc/", 6) == 0 &&
	       strcmp(link + 6 + strspn(link + 6, "0123456789"), "/statm") == 0;
}

static void look_at(struct look *l, int fds, const char *name)
{
	char link[sizeof SHARED + 1];
	struct stat st;
	ssize_t n = readlinkat(fds, name, link, sizeof link - 1);
	link[n > 0 ? n : 0] = 0;
	l->at_work |= is_statm(link);
	if (strcmp(link, SHARED) == 0 && l->n < RECORDINGS && fstatat(fds, name, &st, 0) == 0)
		l->inode[l->n++] = st.st_ino;
}

void recordings_add(struct recordings *r, int folder)
{
	_Alignas(8) char list[2048];
	struct look l = {.n = 0};
	ssize_t n;
	int fds = openat(folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds < 0)
		return;
	/* opendir() would allocate memory */
	while ((n = getdents64(fds, list, sizeof list)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct entry *e = (const void *)(list + at);
			at += e->bytes;
			if (e->name[0] >= '0' && e->name[0] <= '9')
				look_at(&l, fds, e->name);
		}
	close(fds);
	for (size_t i = 0; l.at_work && i < l.n && r->n < RECORDINGS; i++)
		r->v[r->n++] = l.inode[i];
}

struct search {
	const struct recordings *r;
	bool found;
};

static bool take_line(void *arg, const char *line)
{
	struct search *s = arg;
	const char *name = strchr(line, '/');
	if (!name || strcmp(name, SHARED) != 0)
		return true;
	/* format: START-END PERMS OFFSET DEVICE INODE NAME */
	for (int i = 0; i < 4; i++)
		line += strcspn(line, " ") + 1;
	uint64_t inode = strtoull(line, NULL, 10);
	for (size_t i = 0; i < s->r->n; i++)
		s->found |= s->r->v[i] == inode;
	return !s->found;
}

bool recordings_have(const struct recordings *r, int folder)
{
	struct search s = {r, false};
	return r->n && lines_each(folder, "maps", take_line, &s) && s.found;
}
