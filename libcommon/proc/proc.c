/* SPDX-License-Identifier: MIT
 * Reads /proc/PID.
 */
#include "proc.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- small files ---- */

static bool read_rest(int fd, char *text, size_t room, off_t from)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, from);
	text[n > 0 ? n : 0] = '\0';
	if (n == 0)
		errno = ESRCH;
	return n > 0;
}

static bool read_text(int fd, char *text, size_t room)
{
	return read_rest(fd, text, room, 0);
}

static int open_file(int folder, const char *name)
{
	bool none = folder < 0 && folder != AT_FDCWD;
	return none ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC);
}

/* Skips the list of groups in status, which precedes the most important lines and may be longer
 * than `text`. */
static void skip_groups(int fd, char *text, size_t room)
{
	char piece[4096], *list = strstr(text, "\nGroups:"), *end = NULL;
	off_t at = list ? list - text + 1 : 0;
	for (ssize_t n; list && !end && (n = pread(fd, piece, sizeof piece, at)) > 0;) {
		end = memchr(piece, '\n', (size_t)n);
		at += end ? end + 1 - piece : n;
	}
	if (end)
		read_rest(fd, list + 1, room - (size_t)(list + 1 - text), at);
}

bool ms_proc_text_at(int folder, const char *name, char *text, size_t room)
{
	int fd = open_file(folder, name);
	bool ok = read_text(fd, text, room);
	if (ok && strlen(text) == room - 1)
		skip_groups(fd, text, room);
	ms_close(fd);
	return ok;
}

bool ms_proc_stat_at(int folder, struct ms_proc_stat *out)
{
	char text[2048];
	*out = (struct ms_proc_stat){0};
	return ms_proc_text_at(folder, "stat", text, sizeof text) && ms_proc_parse_stat(text, out);
}

bool ms_proc_read_statm(const struct ms_proc *p, struct ms_proc_statm *out)
{
	char text[256];
	return read_text(p->statm, text, sizeof text) &&
	       ms_proc_parse_statm(text, p->page_bytes, out);
}

bool ms_proc_read_stat(const struct ms_proc *p, struct ms_proc_stat *out)
{
	char text[2048];
	return read_text(p->stat, text, sizeof text) && ms_proc_parse_stat(text, out);
}

uint64_t ms_proc_peak_rss(const struct ms_proc *p)
{
	char text[8192];
	return ms_proc_text_at(p->folder, "status", text, sizeof text)
		       ? ms_proc_status_number(text, "\nVmHWM:", 0) * 1024
		       : 0;
}

/* Reads smaps_rollup. The descriptor refers to the program at the time of opening and reads empty
 * after an exec, so it is then opened again. */
bool ms_proc_read_rollup(struct ms_proc *p, struct ms_proc_memory *out)
{
	char text[4096];
	if (read_text(p->rollup, text, sizeof text) && ms_proc_parse_rollup(text, out))
		return true;
	int again = open_file(p->folder, "smaps_rollup");
	if (again < 0)
		return false;
	ms_close(p->rollup);
	p->rollup = again;
	return read_text(p->rollup, text, sizeof text) && ms_proc_parse_rollup(text, out);
}

/* ---- a process ---- */

void ms_proc_open_memory_at(struct ms_proc *p, int folder)
{
	*p = (struct ms_proc){.folder = folder, .pidfd = -1, .stat = -1, .rollup = -1};
	p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	p->tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	p->statm = open_file(folder, "statm");
}

void ms_proc_open_at(struct ms_proc *p, int folder)
{
	ms_proc_open_memory_at(p, folder);
	p->stat = open_file(folder, "stat");
	p->rollup = open_file(folder, "smaps_rollup");
}

int ms_proc_open(struct ms_proc *p, const char *root, pid_t pid, struct ms_err *err)
{
	char path[4096];
	struct ms_proc_stat st;
	snprintf(path, sizeof path, "%s/%d", root ? root : "/proc", (int)pid);
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*p = (struct ms_proc){
		.folder = -1, .pidfd = -1, .statm = -1, .stat = -1, .rollup = -1, .pid = pid};
	if (folder < 0)
		return errno == ENOENT ? ms_err_set(err, "no process %d", (int)pid)
				       : ms_err_sys(err, "cannot open '%s'", path);
	ms_proc_open_at(p, folder);
	p->own_folder = true;
	p->pid = pid;
	if (!root)
		p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Read after pidfd_open: if the process of the folder still exists now, the pid was not
	 * reused, so the pidfd refers to the same process. */
	if (!ms_proc_read_stat(p, &st)) {
		errno = ESRCH;
		return ms_err_set(err, "no process %d", (int)pid);
	}
	p->start_ticks = st.field[MS_STAT_START];
	memcpy(p->name, st.name, sizeof p->name);
	return 0;
}

void ms_proc_close(struct ms_proc *p)
{
	int fds[] = {p->statm, p->stat, p->rollup, p->pidfd, p->own_folder ? p->folder : -1};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		ms_close(fds[i]);
	p->statm = p->stat = p->rollup = p->pidfd = p->folder = -1;
}

bool ms_proc_alive(const struct ms_proc *p)
{
	struct ms_proc_stat st;
	return ms_proc_read_stat(p, &st) && st.state != 'Z' && st.state != 'X';
}

/* ---- regions ---- */

/* Limit of the text in bytes: a mapping takes up to 700 bytes in smaps, and a process may have
 * 65,530 mappings, or some millions if that limit was raised. */
#define TEXT_MAX ((size_t)1 << 31)

/* Reads the whole file into r->text, terminated by a NUL. */
static int read_whole(int fd, struct ms_regions *r)
{
	size_t n = 0;
	for (;;) {
		if (r->room - n < 65536)
			r->text =
				ms_xrealloc(r->text, r->room = r->room ? 2 * r->room : 1 << 18, 1);
		ssize_t got = read(fd, r->text + n, r->room - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		n += (size_t)got;
		if (got == 0)
			break;
		if (n > TEXT_MAX) {
			errno = EFBIG;
			return -1;
		}
	}
	r->text[n] = '\0';
	return 0;
}

/* Drops earlier lines that overlap this mapping. The kernel writes a few mappings per read, and
 * repeats a mapping that has grown in between, with its new range. */
static void drop_overlapped(struct ms_regions *r, const struct ms_proc_map *map)
{
	while (r->n && r->v[r->n - 1].map.end > map->start)
		r->n--;
}

void ms_regions_parse(struct ms_regions *out, char *text)
{
	out->n = 0;
	for (char *line = text; line && *line;) {
		char *end = strchr(line, '\n');
		struct ms_proc_map map;
		if (end)
			*end = '\0';
		if (*line >= 'A' && *line <= 'Z') {
			if (out->n)
				ms_proc_parse_memory_line(line, &out->v[out->n - 1].memory);
		} else if (ms_proc_parse_map(line, &map)) {
			drop_overlapped(out, &map);
			ms_proc_unescape(line + (map.path - line));
			*MS_PUSH(out) =
				(struct ms_region){.map = map, .kind = ms_region_kind_of(&map)};
		}
		line = end ? end + 1 : NULL;
	}
}

int ms_regions_read(const struct ms_proc *p, bool smaps, struct ms_regions *out)
{
	out->n = 0;
	int fd = open_file(p->folder, smaps ? "smaps" : "maps");
	if (fd < 0) {
		errno = errno == ENOENT ? ESRCH : errno;
		return -1;
	}
	int rc = read_whole(fd, out);
	ms_close(fd);
	if (rc == 0)
		ms_regions_parse(out, out->text);
	return rc;
}

void ms_regions_sum(const struct ms_regions *r, struct ms_proc_memory *all, uint64_t *vsize_bytes)
{
	struct ms_proc_memory sum = {0};
	uint64_t size = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct ms_region *v = &r->v[i];
		ms_proc_memory_add(&sum, &v->memory);
		if (v->kind != MS_REGION_VSYSCALL) /* vsyscall lies in the kernel's address space */
			size += v->map.end - v->map.start;
	}
	if (all)
		*all = sum;
	if (vsize_bytes)
		*vsize_bytes = size;
}

uint64_t ms_regions_heap(const struct ms_regions *r)
{
	uint64_t heap = 0;
	for (size_t i = 0; i < r->n; i++)
		if (ms_region_is_heap(r->v[i].kind, r->v[i].map.perms))
			heap += r->v[i].memory.rss;
	return heap;
}

void ms_regions_free(struct ms_regions *r)
{
	free(r->v);
	free(r->text);
	*r = (struct ms_regions){0};
}

/* ---- all ---- */

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

pid_t *ms_proc_list(const char *root, size_t *n, struct ms_err *err)
{
	MS_ARRAY(pid_t) all = {0};
	DIR *d = opendir(root ? root : "/proc");
	if (!d) {
		ms_err_sys(err, "cannot open '%s'", root ? root : "/proc");
		return NULL;
	}
	for (struct dirent *e; (e = readdir(d));) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !*end && pid <= INT32_MAX)
			*MS_PUSH(&all) = (pid_t)pid;
	}
	closedir(d);
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_number);
	*n = all.n;
	return all.v ? all.v : ms_xrealloc(NULL, 1, sizeof *all.v);
}
