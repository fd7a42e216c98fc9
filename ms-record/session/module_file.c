/* SPDX-License-Identifier: MIT
 * Which file a module is of.
 *
 * A program may open and close a plugin over and over, at other addresses each time, and so fast
 * that it is gone before we look. All of these are one module: of one path, and one build-id or
 * one unchanged file.
 */
#include "module_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms-record/base/elffile.h"
#include "info.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/descriptor.h"
#include "session.h"

void module_file_close(struct module *m)
{
	if (m->fd >= 0 && (!m->shared || !__atomic_sub_fetch(m->shared, 1, __ATOMIC_ACQ_REL))) {
		close(m->fd);
		free(m->shared);
	}
	m->fd = -1;
}

void module_file_share(struct module *m, struct module *with)
{
	with->fd = m->fd;
	with->shared = NULL;
	if (m->fd < 0)
		return;
	if (!m->shared) {
		m->shared = ms_xrealloc(NULL, 1, sizeof *m->shared);
		*m->shared = 1;
	}
	__atomic_add_fetch(m->shared, 1, __ATOMIC_RELAXED);
	with->shared = m->shared;
}

/* ---- one file ---- */

static bool cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);
	if (n < sizeof mark || strcmp(path + n - (sizeof mark - 1), mark))
		return false;
	path[n - (sizeof mark - 1)] = '\0';
	return true;
}

static int open_seen(const struct session *s, const char *path)
{
	char full[4200];
	if (path[0] != '/')
		return -1;
	snprintf(full, sizeof full, "root%s", path);
	int fd = openat(s->proc, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int module_file_open(const struct session *s, const struct attach_map *p, const char *path,
		     bool *other)
{
	struct stat st;
	int fd = open_seen(s, path);
	if (fd < 0)
		return -1;
	bool regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
	if (regular && (!p || !p->inode || st.st_ino == p->inode))
		return fd;
	if (regular)
		*other = true;
	close(fd);
	return -1;
}

/* What is mapped, by the kernel's own link to it: also when its path is gone, where we may. */
static int open_mapped(const struct session *s, const struct attach_map *p)
{
	char link[80];
	snprintf(link, sizeof link, "map_files/%" PRIx64 "-%" PRIx64, p->start, p->end);
	return openat(s->proc, link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void module_file_look(const struct session *s, struct module *m)
{
	struct elffile f;
	struct stat st;
	struct elffile_source src = {m->fd, s->pid, m->start};
	m->looked_at = true;
	if (m->kind != MODULE_ANONYMOUS && elffile_read(&src, &f)) {
		m->build_id_size = (uint8_t)f.build_id_size;
		memcpy(m->build_id, f.build_id, f.build_id_size);
	}
	m->has_file = m->fd >= 0 && !fstat(m->fd, &st);
	if (!m->has_file)
		return;
	m->inode = st.st_ino;
	m->file_bytes = (uint64_t)st.st_size;
	m->file_mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

/* Where in the file's addresses; 0 = nowhere. */
static uint64_t unwind_table(const struct module *m)
{
	return m->eh_frame_hdr ? m->eh_frame_hdr - m->bias : 0;
}

/* Does the file look like what was mapped? */
static bool has_shape(int fd, const struct module *m)
{
	struct elffile f;
	struct elffile_source src = {fd, 0, 0};
	return elffile_read(&src, &f) && f.load_count && f.eh_frame_hdr == unwind_table(m) &&
	       f.eh_frame_hdr_bytes == m->eh_frame_hdr_bytes &&
	       (f.loads[0].address & ~UINT64_C(4095)) == m->start - m->bias;
}

/* ---- the first module of a file ---- */

static bool same_shape(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->end - a->start == b->end - b->start &&
	       a->start - a->bias == b->start - b->bias && unwind_table(a) == unwind_table(b) &&
	       a->eh_frame_hdr_bytes == b->eh_frame_hdr_bytes;
}

static bool same_build(const struct module *a, const struct module *b)
{
	if (a->build_id_size || b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       !memcmp(a->build_id, b->build_id, a->build_id_size);
	return a->has_file && b->has_file && a->inode == b->inode &&
	       a->file_bytes == b->file_bytes && a->file_mtime_ns == b->file_mtime_ns;
}

/* Is the file of `m` as it was? By its path, or where that is gone, as mapped at `p`. */
static bool unchanged(const struct session *s, const struct module *m, const struct attach_map *p)
{
	char full[4200];
	struct stat st;
	snprintf(full, sizeof full, "root%s", m->path);
	bool there = !fstatat(s->proc, full, &st, 0);
	if (!there && m->fd >= 0 && p && p->inode == m->inode)
		there = !fstat(m->fd, &st);
	return there && m->has_file && st.st_ino == m->inode && (!p || p->inode == m->inode) &&
	       (uint64_t)st.st_size == m->file_bytes &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec ==
		       m->file_mtime_ns;
}

enum which { FIRST_UNCHANGED, FIRST_BUILD, FIRST_ANY };

/* The index of the first module of that path, or name, which `m` looks like and whose file is
 * unchanged, or which is the same build. -1 = none. */
static ssize_t first_of(const struct session *s, const struct module *m, const char *path,
			const char *name, const struct attach_map *p, enum which which)
{
	const struct modules *all = &s->modules;
	for (size_t i = all->all.n; i-- > 0;) {
		const struct module *f = &all->all.v[i];
		if (f->same || f->kind != MODULE_FILE || !same_shape(f, m))
			continue;
		if (path ? strcmp(f->path, path) != 0 : !f->name || strcmp(f->name, name) != 0)
			continue;
		if (which == FIRST_ANY || (which == FIRST_BUILD && same_build(f, m)) ||
		    (which == FIRST_UNCHANGED && unchanged(s, f, p)))
			return (ssize_t)i;
	}
	return -1;
}

static void become(struct session *s, struct module *m, size_t first)
{
	struct module *f = &s->modules.all.v[first];
	free(m->path);
	module_file_close(m);
	m->path = f->path;
	m->same = (uint32_t)first + 1;
	module_file_share(f, m);
	m->looked_at = f->looked_at;
	m->has_file = f->has_file;
	m->build_id_size = f->build_id_size;
	memcpy(m->build_id, f->build_id, sizeof m->build_id);
}

/* ---- */

/* The file that a relative name was of when it was opened, which nobody can know but by its
 * looks: in a folder that is the current one or was, or beside the executable. */
static char *search(struct session *s, struct module *m, const char *name)
{
	char exe[4096], cwd[4096], *path;
	process_link(s->proc, "cwd", cwd, sizeof cwd);
	snprintf(exe, sizeof exe, "%s", s->exe);
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	const char *first = s->who ? s->who->cwd : NULL;
	const char *const folders[] = {cwd, first ? first : "", exe};
	while (!strncmp(name, "./", 2))
		name += 2;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		if (folders[i][0] != '/' || asprintf(&path, "%s/%s", folders[i], name) < 0)
			continue;
		int fd = open_seen(s, path);
		if (fd >= 0 && has_shape(fd, m)) {
			m->fd = fd;
			return path;
		}
		descriptor_close(fd);
		free(path);
	}
	return NULL;
}

/* It went before we looked. The file of its path may be another one since, which can be seen only
 * where that looks different. */
static void find_gone(struct session *s, struct module *m, const char *name)
{
	bool relative = name[0] != '/', other;
	const char *path = relative ? NULL : name;
	ssize_t first = first_of(s, m, path, name, NULL, FIRST_UNCHANGED);
	m->path = first >= 0 || path ? NULL : search(s, m, name);
	if (!m->path)
		m->path = ms_xstrdup(name);
	if (first < 0 && path)
		m->fd = module_file_open(s, NULL, path, &other);
	if (m->fd >= 0 && !has_shape(m->fd, m))
		module_file_close(m);
	if (first < 0 && m->fd < 0)
		first = first_of(s, m, path, name, NULL, FIRST_ANY);
	m->looked_at = m->fd < 0;
	if (first >= 0)
		become(s, m, (size_t)first);
}

void module_file_find(struct session *s, struct module *m, const char *name,
		      const struct attach_map *p, bool *deleted)
{
	if (!p && m->kind == MODULE_FILE) {
		find_gone(s, m, name);
	} else {
		m->path = ms_xstrdup(p && p->path[0] ? p->path : name);
		*deleted = p && cut_deleted(m->path);
		ssize_t first = m->kind == MODULE_FILE
					? first_of(s, m, m->path, NULL, p, FIRST_UNCHANGED)
					: -1;
		if (first >= 0) {
			become(s, m, (size_t)first);
			return;
		}
		m->fd = *deleted ? -1 : module_file_open(s, p, m->path, deleted);
		if (m->fd < 0 && p && p->inode)
			m->fd = open_mapped(s, p);
	}
	if (m->kind != MODULE_FILE || m->same)
		return;
	if (!m->looked_at)
		module_file_look(s, m);
	ssize_t first = first_of(s, m, m->path, NULL, p, FIRST_BUILD);
	if (first >= 0)
		become(s, m, (size_t)first);
	else if (name[0] != '/')
		m->name = ms_xstrdup(name);
}
