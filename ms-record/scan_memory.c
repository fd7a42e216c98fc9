/* SPDX-License-Identifier: MIT
 * The memory of a process that is held still.
 *
 * Pages that were never touched are not read: that would make them, and a reservation of a terabyte
 * would take for ever.
 */
#include "scan_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "libcommon/arena.h"

#define PAGE 4096u
#define PIECE ((size_t)1 << 20)
#define PIECE_PAGES (PIECE / PAGE)
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)

/* ---- maps ---- */

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void take_path(struct memory_map *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	m->heap = starts(path, "[heap]");
	m->stack = starts(path, "[stack]");
	m->special = *path == '[' && starts(path, "[v");
	m->libc = starts(name, "libc.so.") || starts(name, "libc-2.");
	m->volatile_file = starts(path, "/dev/zero") || starts(path, "/memfd:") ||
			   starts(path, "/dev/shm/") || starts(path, "/SYSV");
}

static bool take_line(struct memory *m, char *line)
{
	struct memory_map v = {0};
	char perms[5] = "";
	int at = 0;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &v.start, &v.end,
		   perms, &v.inode, &at) < 4)
		return false;
	v.read = perms[0] == 'r';
	v.write = perms[1] == 'w';
	v.shared = perms[3] == 's';
	v.anonymous = v.inode == 0;
	take_path(&v, line + (at ? at : (int)strlen(line)));
	const struct memory_map *last = m->maps.n ? &m->maps.v[m->maps.n - 1] : NULL;
	v.guard_below = last && last->end == v.start && !last->read && !last->write;
	*MS_PUSH(&m->maps) = v;
	return true;
}

static int read_maps(struct memory *m, int folder)
{
	int fd = openat(folder, "maps", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return -1;
	char *line = NULL;
	size_t room = 0;
	bool good = true;
	while (good && getline(&line, &room, f) > 0)
		good = take_line(m, line);
	good = good && !ferror(f) && m->maps.n;
	free(line);
	fclose(f);
	errno = good ? 0 : ESRCH;
	return good ? 0 : -1;
}

int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	char name[32];
	*m = (struct memory){.tid = tid, .mem = -1, .pagemap = -1, .deadline_ns = deadline_ns};
	m->buffer = ms_xrealloc(NULL, PIECE, 1);
	m->pages = ms_xrealloc(NULL, PIECE_PAGES, sizeof *m->pages);
	snprintf(name, sizeof name, "task/%d", (int)tid);
	int folder = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -1;
	m->mem = openat(folder, "mem", O_RDONLY | O_CLOEXEC);
	m->pagemap = openat(folder, "pagemap", O_RDONLY | O_CLOEXEC);
	int rc = m->mem < 0 ? -1 : read_maps(m, folder);
	int saved = errno;
	close(folder);
	errno = saved;
	return rc;
}

void memory_close(struct memory *m)
{
	if (m->mem >= 0)
		close(m->mem);
	if (m->pagemap >= 0)
		close(m->pagemap);
	free(m->maps.v);
	free(m->buffer);
	free(m->pages);
	*m = (struct memory){.mem = -1, .pagemap = -1};
}

const struct memory_map *memory_at(const struct memory *m, uint64_t address)
{
	size_t lo = 0, hi = m->maps.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->maps.v[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->maps.n && m->maps.v[lo].start <= address ? &m->maps.v[lo] : NULL;
}

/* ---- reading ---- */

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	if (process_vm_readv(m->tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes)
		return true;
	return pread(m->mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Which pages of a piece are wanted; all when that cannot be told. */
static void look_at_pages(struct memory *m, uint64_t first, size_t pages, enum memory_pages which,
			  bool *want)
{
	ssize_t n = m->pagemap < 0 ? -1
				   : pread(m->pagemap, m->pages, pages * sizeof *m->pages,
					   (off_t)(first / PAGE * sizeof *m->pages));
	for (size_t i = 0; i < pages; i++) {
		uint64_t p = (size_t)(n < 0 ? 0 : n) / sizeof *m->pages > i ? m->pages[i] : PRESENT;
		want[i] = p & (PRESENT | SWAPPED);
		if (which == MEMORY_OWN && p & OF_FILE)
			want[i] = false;
	}
}

/* Gives [start, end), page by page where it cannot be read at once. */
static void give(struct memory *m, uint64_t start, uint64_t end,
		 void (*f)(void *, uint64_t, const uint64_t *, size_t), void *arg)
{
	if (memory_get(m, start, m->buffer, (size_t)(end - start))) {
		m->bytes += end - start;
		f(arg, start, (const uint64_t *)(void *)m->buffer, (size_t)(end - start) / 8);
		return;
	}
	for (uint64_t at = start, next; at < end; at = next) {
		next = (at | (PAGE - 1)) + 1;
		next = next < end ? next : end;
		if (!memory_get(m, at, m->buffer, (size_t)(next - at))) {
			m->unreadable = true;
			continue;
		}
		m->bytes += next - at;
		f(arg, at, (const uint64_t *)(void *)m->buffer, (size_t)(next - at) / 8);
	}
}

void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg)
{
	bool want[PIECE_PAGES];
	while (start < end) {
		uint64_t first = start & ~(uint64_t)(PAGE - 1);
		uint64_t stop = end - first > PIECE ? first + PIECE : end;
		size_t pages = (size_t)(stop - first + PAGE - 1) / PAGE;
		m->late = m->late || clock_mono() > m->deadline_ns;
		if (m->late)
			return;
		look_at_pages(m, first, pages, which, want);
		for (size_t i = 0; i < pages;) {
			size_t j = i;
			while (j < pages && want[j])
				j++;
			uint64_t from = first + i * PAGE, to = first + j * PAGE;
			from = from < start ? start : from;
			to = to > stop ? stop : to;
			if (from < to)
				give(m, from, to, f, arg);
			i = j + (j == i);
		}
		start = stop;
	}
}
