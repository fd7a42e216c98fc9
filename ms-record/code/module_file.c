/* SPDX-License-Identifier: MIT
 * Which file a module is of.
 *
 * A program may repeatedly open and close a plugin, each time at other addresses. All of these are
 * one module if they have the same path and the same build-id or unchanged file. The path alone
 * proves nothing, because its file may have been replaced in between. The file of a module must
 * have the inode of the mapping and the build-id found in memory; otherwise the module has no file.
 */
#include "module_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms-record/base/held_files.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/process.h"
#include "ms-record/ptrace/attach_elf.h"
#include "code.h"

#define CTIME_STEP_NS UINT64_C(20000000) /* maximum lag of a file's change time behind the clock */

/* ---- what is mapped ---- */

static bool cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);
	if (n < sizeof mark || strcmp(path + n - (sizeof mark - 1), mark))
		return false;
	path[n - (sizeof mark - 1)] = '\0';
	return true;
}

static int open_seen(const struct process *process, const char *path)
{
	char full[4200];
	if (path[0] != '/')
		return -1;
	snprintf(full, sizeof full, "root%s", path);
	struct stat st;
	if (!fstatat(process->folder, full, &st, 0) && !S_ISREG(st.st_mode))
		return -1; /* opening a device may have side effects */
	int fd = openat(process->folder, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Tells whether `fd` is the file mapped at `p`. */
static bool is_mapped(int fd, const struct attach_map *p)
{
	struct stat st;
	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       (!p->inode || st.st_ino == p->inode);
}

int module_file_open(const struct process *process, const struct attach_map *p, const char *path,
		     bool *other)
{
	char link[80];
	int fd = open_seen(process, path);
	if (is_mapped(fd, p))
		return fd;
	descriptor_close(fd);
	*other = true;
	snprintf(link, sizeof link, "map_files/%" PRIx64 "-%" PRIx64, p->start, p->end);
	const char *const links[] = {link, "exe"};
	for (size_t i = 0; p->inode && i < sizeof links / sizeof *links; i++) {
		fd = openat(process->folder, links[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (is_mapped(fd, p))
			return fd;
		descriptor_close(fd);
	}
	return -1;
}

/* Returns the path of a mapping's file, malloc'ed. Removes " (deleted)" unless it is a real part of
 * the file's name. */
static char *path_of(const struct process *process, const struct attach_map *p, bool *deleted)
{
	char *path = ms_xstrdup(p->path);
	if (!cut_deleted(path))
		return path;
	int fd = open_seen(process, p->path);
	*deleted = !is_mapped(fd, p);
	descriptor_close(fd);
	return *deleted ? path : strcpy(path, p->path);
}

void module_file_hold(const struct process *process, const struct attach_map *p)
{
	bool deleted = false;
	char *path = path_of(process, p, &deleted);
	if (path[0] == '/' && !held_file_find(path, p->inode))
		held_file_keep(module_file_open(process, p, path, &deleted), path, false);
	free(path);
}

_Static_assert(MG_BUILD_ID_MOST == MS_ELF_ID_MOST, "a module has room for a build-id");

static bool same_id(const struct module *m, const struct ms_elf_reader *f)
{
	uint8_t id[MS_ELF_ID_MOST];
	size_t n = ms_elf_build_id(f, id);
	return m->build_id_size == n && !memcmp(m->build_id, id, n);
}

/* Returns the file mapped at `p` if it is held and still at its path; opening it again would take
 * several times as long. */
static struct held_file *held_at(const struct process *process, const struct attach_map *p,
				 const char *path)
{
	char full[4200];
	struct stat st;
	struct held_file *f = held_file_find(path, p->inode);
	snprintf(full, sizeof full, "root%s", path);
	bool same = f && !fstatat(process->folder, full, &st, 0) && held_file_same(f, &st);
	return same ? f : NULL;
}

/* Opens the file mapped at `p`, or finds it among the held files. Returns false if its build-id
 * differs from the one in memory. */
static bool hold_mapped(const struct modules *all, struct module *m, const struct attach_map *p,
			bool *deleted)
{
	const struct attach_memory mem = attach_memory_of_process(all->process);
	struct ms_elf_reader f;
	m->file = held_at(all->process, p, m->path);
	int fd = m->file ? -1 : module_file_open(all->process, p, m->path, deleted);
	if (!m->file)
		m->file = fd >= 0 ? held_file_keep(fd, m->path, true)
				  : held_file_find(m->path, p->inode);
	if (!ms_elf_read(&f, m->file ? ms_elf_in_file(m->file->fd) : attach_elf_at(&mem, m->start)))
		return true;
	if (m->file && m->build_id_size && !same_id(m, &f)) {
		m->file = NULL;
		return false;
	}
	if (!m->build_id_size)
		m->build_id_size = (uint8_t)ms_elf_build_id(&f, m->build_id);
	return true;
}

/* ---- what is not mapped any more ---- */

/* Returns the address of the unwind table in the file; 0 = none. */
static uint64_t unwind_table(const struct module *m)
{
	return m->eh_frame_hdr ? m->eh_frame_hdr - m->bias : 0;
}

/* Tells whether `fd` is the file from which module `m` was loaded. If `m` has no build-id, the
 * layout must match and the file must be older than the recording, so that it cannot have been
 * replaced after loading. */
static bool is_proven(const struct modules *all, const struct module *m, int fd)
{
	struct ms_elf_reader f;
	struct stat st;
	if (!ms_elf_read(&f, ms_elf_in_file(fd)) || !ms_elf_segment(&f, PT_LOAD) || !same_id(m, &f))
		return false;
	const Elf64_Phdr *p = ms_elf_segment(&f, PT_GNU_EH_FRAME);
	if ((p ? p->p_vaddr : 0) != unwind_table(m) ||
	    (p ? p->p_memsz : 0) != m->eh_frame_hdr_bytes || ms_elf_low(&f) != m->start - m->bias)
		return false;
	return m->build_id_size ||
	       (!fstat(fd, &st) && ms_ns_of(st.st_ctim) + CTIME_STEP_NS < all->clock->start_wall);
}

static struct held_file *open_proven(const struct modules *all, const struct module *m,
				     const char *path)
{
	int fd = open_seen(all->process, path);
	if (is_proven(all, m, fd))
		return held_file_keep(fd, path, true);
	descriptor_close(fd);
	return NULL;
}

/* Searches for the file of a module by a relative name: in the process's current and first working
 * directories, and next to its executable. malloc'ed path; NULL = not found. */
static char *search(const struct modules *all, struct module *m, const char *name)
{
	char exe[4096], cwd[4096], *path;
	process_link(all->process->folder, "cwd", cwd, sizeof cwd);
	snprintf(exe, sizeof exe, "%s", all->process->exe);
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	const char *first = all->process->cwd;
	const char *const folders[] = {cwd, first ? first : "", exe};
	while (!strncmp(name, "./", 2))
		name += 2;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		if (folders[i][0] != '/' || asprintf(&path, "%s/%s", folders[i], name) < 0)
			continue;
		if ((m->file = open_proven(all, m, path)))
			return path;
		free(path);
	}
	return NULL;
}

static void find_gone(const struct modules *all, struct module *m, const char *name, bool *deleted)
{
	m->path = name[0] == '/' ? ms_xstrdup(name) : search(all, m, name);
	if (!m->path)
		m->path = ms_xstrdup(name);
	else if (!m->file)
		m->file = open_proven(all, m, m->path);
	*deleted |= !m->file;
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
	return a->file && a->file == b->file;
}

/* Tells whether the file mapped at `p` for module `m` is the file of the earlier module `f`,
 * unchanged. Compares with the file at the path, and with the held file. */
static bool unchanged(const struct modules *all, const struct module *f, const struct module *m,
		      const struct attach_map *p)
{
	char full[4200];
	struct stat st;
	if (!f->file || f->file->inode != p->inode || (m->build_id_size && !same_build(f, m)))
		return false;
	snprintf(full, sizeof full, "root%s", f->path);
	return (!fstatat(all->process->folder, full, &st, 0) && held_file_same(f->file, &st)) ||
	       (f->file->fd >= 0 && !fstat(f->file->fd, &st) && held_file_same(f->file, &st));
}

/* Returns the index of the first module of the same file as `m`: with path `path` (or with name
 * `name` if `path` is NULL) and the same layout. If `p` is NULL, the builds must be equal too; else
 * the file mapped at `p` must be that module's, unchanged. Returns -1 if there is none. */
static ssize_t first_of(const struct modules *all, const struct module *m, const char *path,
			const char *name, const struct attach_map *p)
{
	for (size_t i = all->all.n; i-- > 0;) {
		const struct module *f = &all->all.v[i];
		if (f->same || f->kind != MODULE_FILE || !same_shape(f, m))
			continue;
		if (path ? strcmp(f->path, path) != 0 : !f->name || strcmp(f->name, name) != 0)
			continue;
		if (p ? unchanged(all, f, m, p) : same_build(f, m))
			return (ssize_t)i;
	}
	return -1;
}

static void become(struct modules *all, struct module *m, size_t first)
{
	const struct module *f = &all->all.v[first];
	free(m->path);
	m->path = f->path;
	m->same = (uint32_t)first + 1;
	m->file = f->file;
	m->build_id_size = f->build_id_size;
	memcpy(m->build_id, f->build_id, sizeof m->build_id);
}

/* Finds the file of a module when only its name and its data in memory are known. */
static ssize_t find_by_name(const struct modules *all, struct module *m, const char *name,
			    bool *deleted)
{
	ssize_t first = first_of(all, m, name[0] == '/' ? name : NULL, name, NULL);
	if (first < 0)
		find_gone(all, m, name, deleted);
	return first;
}

static ssize_t find_mapped(const struct modules *all, struct module *m, const char *name,
			   const struct attach_map *p, bool *deleted)
{
	m->path = path_of(all->process, p, deleted);
	ssize_t first = first_of(all, m, m->path, NULL, p);
	if (first >= 0 || hold_mapped(all, m, p, deleted))
		return first;
	free(m->path);
	m->path = NULL;
	return find_by_name(all, m, name, deleted);
}

void module_file_find(struct modules *all, struct module *m, const char *name,
		      const struct attach_map *p, bool *deleted)
{
	bool unseen = false;
	ssize_t first = -1;
	if (m->kind != MODULE_FILE) {
		m->path = ms_xstrdup(p && p->path[0] ? p->path : name);
		if (p && p->path[0] == '/')
			hold_mapped(all, m, p, &unseen);
		return;
	}
	first = p && p->path[0] == '/' ? find_mapped(all, m, name, p, deleted)
				       : find_by_name(all, m, name, deleted);
	if (first < 0)
		first = first_of(all, m, m->path, NULL, NULL);
	if (first >= 0)
		become(all, m, (size_t)first);
	else if (name[0] != '/')
		m->name = ms_xstrdup(name);
}
