/* SPDX-License-Identifier: MIT
 * Modules of a recorded image.
 *
 * The guest says where a module is and when it came and went; the path comes from /proc/PID/maps,
 * because the dynamic linker's name may be relative or a link. Files are held open, so that what is
 * unwound or read later is the file that was mapped, even when it is replaced or the process is
 * gone.
 */
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach_modules.h"
#include "elffile.h"
#include "format/trace.h"
#include "libcommon/arena.h"
#include "libcommon/proc_text.h"
#include "session.h"

#define HELD_MAX 256u
#define MAPS_AGAIN_NS UINT64_C(50000000)

enum { KIND_FILE = 0, KIND_VDSO = 1, KIND_ANONYMOUS = 2, KIND_GUEST = 3, KIND_HEAP = 4 };

void modules_init(struct modules *m, uint32_t max)
{
	m->number = ms_xrealloc(NULL, max, sizeof *m->number);
}

static void forget_maps(struct modules *m)
{
	for (size_t i = 0; i < m->maps.n; i++)
		free(m->maps.v[i].path);
	m->maps.n = 0;
}

static void close_file(struct module *m)
{
	if (m->fd >= 0 && (!m->shared || !__atomic_sub_fetch(m->shared, 1, __ATOMIC_ACQ_REL))) {
		close(m->fd);
		free(m->shared);
	}
	m->fd = -1;
}

void modules_free(struct modules *m)
{
	forget_maps(m);
	free(m->maps.v);
	for (size_t i = 0; i < m->all.n; i++) {
		close_file(&m->all.v[i]);
		free(m->all.v[i].path);
	}
	free(m->all.v);
	free(m->number);
}

/* ---- /proc/PID/maps ---- */

/* The path of a mapping as it is: in maps a newline looks like the four characters \012. */
static char *true_path(const struct session *s, const struct ms_proc_map *v)
{
	char link[80], path[4200];
	if (*v->path != '/' || !strstr(v->path, "\\012"))
		return strdup(v->path);
	snprintf(link, sizeof link, "map_files/%" PRIx64 "-%" PRIx64, v->start, v->end);
	ssize_t n = readlinkat(s->proc, link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	char *own = strdup(n > 0 ? path : v->path);
	if (n <= 0 && own)
		ms_proc_unescape(own);
	return own;
}

static void add_map(struct session *s, const char *line)
{
	struct modules *m = &s->modules;
	struct ms_proc_map v;
	if (!ms_proc_parse_map(line, &v))
		return;
	struct map p = {.start = v.start,
			.end = v.end,
			.offset = v.offset,
			.inode = v.inode,
			.dev_major = v.dev_major,
			.dev_minor = v.dev_minor,
			.exec = v.perms[2] == 'x'};
	if (*v.path != '/' && !p.exec)
		return; /* heaps, stacks and other data: not of interest here */
	p.path = true_path(s, &v);
	*MS_PUSH(&m->maps) = p;
}

void modules_read_maps(struct session *s)
{
	struct modules *m = &s->modules;
	m->maps_read_ns = session_now(s);
	int fd = openat(s->proc, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	FILE *f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return;
	}
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool first = true;
	while ((n = getline(&line, &room, f)) > 0) {
		if (first)
			forget_maps(m); /* a zombie has none: then the old ones stay */
		first = false;
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		add_map(s, line);
	}
	free(line);
	fclose(f);
}

static const struct map *map_of(const struct modules *m, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < m->maps.n; i++)
		if (m->maps.v[i].start < to && from < m->maps.v[i].end)
			return &m->maps.v[i];
	return NULL;
}

/* ---- files ---- */

static bool cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);
	if (n < sizeof mark || strcmp(path + n - (sizeof mark - 1), mark))
		return false;
	path[n - (sizeof mark - 1)] = '\0';
	return true;
}

/* Opens the file as the process sees it. -1 when it is gone or another one. */
static int open_file(const struct session *s, const struct map *p, const char *path, bool *other)
{
	char full[4200];
	struct stat st;
	if (path[0] != '/')
		return -1;
	snprintf(full, sizeof full, "root%s", path);
	int fd = openat(s->proc, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	if (p && p->inode && st.st_ino != p->inode) {
		*other = true;
		close(fd);
		return -1;
	}
	return fd;
}

static void look_at_file(const struct session *s, struct module *m)
{
	struct elffile f;
	struct stat st;
	struct elffile_source src = {m->fd, s->pid, m->start};
	m->looked_at = true;
	if (m->kind != KIND_ANONYMOUS && elffile_read(&src, &f)) {
		m->build_id_size = (uint8_t)f.build_id_size;
		memcpy(m->build_id, f.build_id, f.build_id_size);
	}
	m->has_file = m->fd >= 0 && !fstat(m->fd, &st);
	if (!m->has_file)
		return;
	m->file_bytes = (uint64_t)st.st_size;
	m->file_mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

static void write_module(struct session *s, uint32_t id, struct module *m, const struct map *p,
			 bool deleted, uint64_t loaded)
{
	size_t path = strlen(m->path);
	struct ms_record_writer *w = batch_record(&session_batch(s)->modules, path + 320);
	if (!m->looked_at)
		look_at_file(s, m);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_bytes(w, MS_MODULE_PATH, m->path, path);
	ms_record_number(w, MS_MODULE_START, m->start);
	ms_record_number(w, MS_MODULE_END, m->end);
	ms_record_number(w, MS_MODULE_BIAS, m->bias);
	ms_record_number(w, MS_MODULE_LOADED, clock_ns(&s->clock, loaded));
	ms_record_number(w, MS_MODULE_KIND, m->kind);
	if (p)
		ms_record_number(w, MS_MODULE_OFFSET, p->offset);
	if (m->build_id_size)
		ms_record_bytes(w, MS_MODULE_BUILD_ID, m->build_id, m->build_id_size);
	if (m->has_file) {
		ms_record_number(w, MS_MODULE_SIZE, m->file_bytes);
		ms_record_number(w, MS_MODULE_MTIME, m->file_mtime_ns);
	}
	if (deleted)
		ms_record_number(w, MS_MODULE_DELETED, 1);
	ms_record_end(w);
}

/* Adds a module whose range and kind are known; finds path and file. Returns its id. `gone`: it has
 * been closed, and what is mapped there now may be another's. */
static uint32_t add(struct session *s, struct module m, const char *name, uint64_t loaded,
		    bool gone)
{
	struct modules *all = &s->modules;
	const struct map *p = gone || m.kind == KIND_VDSO ? NULL : map_of(all, m.start, m.end);
	bool deleted = false;
	m.path = strdup(p && p->path[0] ? p->path : name);
	if (p)
		deleted = cut_deleted(m.path);
	m.fd = deleted ? -1 : open_file(s, p, m.path, &deleted);
	*MS_PUSH(&all->all) = m;
	uint32_t id = (uint32_t)all->all.n;
	write_module(s, id, &all->all.v[id - 1], p, deleted, loaded);
	if (m.fd >= 0 && all->held++ >= HELD_MAX) {
		close_file(&all->all.v[id - 1]);
	}
	return id;
}

/* ---- the guest's table ---- */

/* What the guest wrote before it counted the entry; the rest it may write at any time. */
static void copy_entry(struct mg_module *to, const struct mg_module *from)
{
	memset(to, 0, sizeof *to);
	memcpy(to, from, offsetof(struct mg_module, closed));
	to->epoch_loaded = from->epoch_loaded;
	to->flags = from->flags;
	memcpy(to->path, from->path, sizeof to->path);
}

static void add_entry(struct session *s, uint32_t i)
{
	struct mg_module g;
	copy_entry(&g, &s->mem_modules[i]);
	struct modules *all = &s->modules;
	g.path[sizeof g.path - 1] = '\0';
	struct module m = {.start = g.start,
			   .end = g.end > g.start ? g.end : g.start,
			   .bias = g.bias,
			   .eh_frame_hdr = g.eh_frame_hdr,
			   .eh_frame_hdr_bytes = g.eh_frame_hdr_bytes,
			   .epoch_loaded = g.epoch_loaded,
			   .epoch_closed = UINT32_MAX,
			   .guest = g.flags & MG_MODULE_GUEST,
			   .fd = -1};
	m.kind = m.guest ? KIND_GUEST : g.flags & MG_MODULE_VDSO ? KIND_VDSO : KIND_FILE;
	const char *name = m.kind == KIND_VDSO ? "[vdso]" : g.path[0] ? g.path : s->exe;
	if (m.kind != KIND_VDSO && !map_of(all, m.start, m.end))
		modules_read_maps(s);
	bool gone = __atomic_load_n(&s->mem_modules[i].closed, __ATOMIC_ACQUIRE);
	all->number[i] = add(s, m, name, g.loaded, gone) - 1;
}

/* The file of a module, for one more. */
static int share_file(struct module *m, struct module *with)
{
	if (m->fd < 0)
		return -1;
	if (!m->shared) {
		m->shared = ms_xrealloc(NULL, 1, sizeof *m->shared);
		*m->shared = 1;
	}
	__atomic_add_fetch(m->shared, 1, __ATOMIC_RELAXED);
	with->shared = m->shared;
	return m->fd;
}

/* Entry `i` of the table, if it is the parent's. */
static bool inherit_entry(struct session *s, uint32_t i, struct modules *parent)
{
	const struct mg_module *g = &s->mem_modules[i];
	struct modules *all = &s->modules;
	struct module *p = i < parent->seen ? &parent->all.v[parent->number[i]] : NULL;
	if (!p || p->start != __atomic_load_n(&g->start, __ATOMIC_RELAXED) ||
	    p->bias != __atomic_load_n(&g->bias, __ATOMIC_RELAXED))
		return false;
	struct module m = *p;
	m.path = strdup(p->path);
	m.fd = share_file(p, &m);
	m.epoch_closed = UINT32_MAX;
	all->number[i] = (uint32_t)all->all.n;
	*MS_PUSH(&all->all) = m;
	const struct map *at = map_of(all, m.start, m.end);
	bool deleted = at && m.kind == KIND_FILE && strstr(at->path, " (deleted)");
	write_module(s, all->number[i] + 1, &m, at, deleted, 0);
	return true;
}

void modules_inherit(struct session *s, struct modules *parent)
{
	struct modules *all = &s->modules;
	uint32_t n = __atomic_load_n(&s->mem->module_count, __ATOMIC_ACQUIRE);
	if (!all->maps.n)
		for (size_t i = 0; i < parent->maps.n; i++) {
			struct map m = parent->maps.v[i];
			m.path = strdup(m.path);
			*MS_PUSH(&all->maps) = m;
		}
	while (all->seen < n && all->seen < s->module_max && inherit_entry(s, all->seen, parent))
		all->seen++;
	all->held = (unsigned)all->all.n;
}

static void note_closed(struct session *s)
{
	struct modules *all = &s->modules;
	for (uint32_t i = 0; i < all->seen; i++) {
		struct module *m = &all->all.v[all->number[i]];
		uint64_t closed = __atomic_load_n(&s->mem_modules[i].closed, __ATOMIC_ACQUIRE);
		if (!closed || m->epoch_closed != UINT32_MAX)
			continue;
		m->epoch_closed = s->mem_modules[i].epoch_closed;
		struct ms_record_writer *w = batch_record(&session_batch(s)->modules, 64);
		ms_record_number(w, MS_MODULE_ID, all->number[i] + 1);
		ms_record_number(w, MS_MODULE_UNLOADED, clock_ns(&s->clock, closed));
		ms_record_end(w);
		forget_maps(all); /* what was read may be of the module that went */
	}
}

void modules_update(struct session *s)
{
	struct modules *all = &s->modules;
	if (s->attach_modules)
		attach_modules_look(s);
	uint32_t n = __atomic_load_n(&s->mem->module_count, __ATOMIC_ACQUIRE);
	if (n > s->module_max) {
		session_damaged(s, "the table of modules is out of range");
		return;
	}
	uint32_t epoch = __atomic_load_n(&s->mem->epoch, __ATOMIC_ACQUIRE);
	if (epoch != all->closed_epoch) {
		all->closed_epoch = epoch;
		note_closed(s);
	}
	uint32_t before = all->seen;
	for (; all->seen < n; all->seen++)
		add_entry(s, all->seen);
	if (before != n)
		note_closed(s); /* a new entry may be closed already, its epoch seen above */
}

/* ---- look-up ---- */

/* The module that was there in `epoch`; failing that, the latest one that ever was. */
static uint32_t look(struct modules *all, uint64_t ip, uint32_t epoch)
{
	size_t best = SIZE_MAX;
	bool exact = false;
	for (size_t i = 0; i < all->all.n; i++) {
		const struct module *m = &all->all.v[i];
		if (ip < m->start || ip >= m->end)
			continue;
		bool fits = m->epoch_loaded <= epoch && epoch <= m->epoch_closed;
		if (exact && !fits)
			continue;
		exact = fits;
		best = i;
	}
	return best == SIZE_MAX ? 0 : (uint32_t)best + 1;
}

/* Code that the guest did not name: a file mapped by hand, or made at run time. */
static uint32_t add_unnamed(struct session *s, const struct map *p, uint32_t epoch)
{
	struct module m = {.start = p->start,
			   .end = p->end,
			   .epoch_loaded = epoch,
			   .epoch_closed = UINT32_MAX,
			   .kind = p->path[0] == '/' ? KIND_FILE : KIND_ANONYMOUS,
			   .fd = -1};
	struct elffile f;
	bool other = false;
	int fd = m.kind == KIND_FILE ? open_file(s, p, p->path, &other) : -1;
	struct elffile_source src = {fd, s->pid, 0};
	if (fd >= 0 && elffile_read(&src, &f))
		for (size_t i = 0; i < f.load_count; i++)
			if ((f.loads[i].offset & ~UINT64_C(4095)) == p->offset)
				m.bias = p->start - (f.loads[i].address & ~UINT64_C(4095));
	if (fd >= 0)
		close(fd);
	return add(s, m, "[anonymous code]", clock_stamp(&s->clock), false);
}

uint32_t modules_heap(struct session *s, const char *name)
{
	struct module m = {.kind = KIND_HEAP,
			   .epoch_closed = UINT32_MAX,
			   .fd = -1,
			   .looked_at = true,
			   .path = strdup(name)};
	*MS_PUSH(&s->modules.all) = m;
	uint32_t id = (uint32_t)s->modules.all.n;
	struct ms_record_writer *w = batch_record(&session_batch(s)->modules, strlen(name) + 64);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_string(w, MS_MODULE_PATH, name);
	ms_record_number(w, MS_MODULE_KIND, KIND_HEAP);
	ms_record_end(w);
	return id;
}

uint32_t modules_find(struct session *s, uint64_t ip, uint32_t epoch)
{
	struct modules *all = &s->modules;
	uint32_t id = look(all, ip, epoch);
	if (id)
		return id;
	modules_update(s);
	if ((id = look(all, ip, epoch)))
		return id;
	const struct map *p = map_of(all, ip, ip + 1);
	if (!p && session_now(s) > all->maps_read_ns + MAPS_AGAIN_NS) {
		modules_read_maps(s);
		p = map_of(all, ip, ip + 1);
	}
	return p && p->exec ? add_unnamed(s, p, epoch) : 0;
}

uint32_t modules_epoch_at(const struct session *s, uint64_t stamp)
{
	uint32_t epoch = 0;
	for (uint32_t i = 0; i < s->modules.seen; i++) {
		const struct mg_module *g = &s->mem_modules[i];
		uint64_t closed = __atomic_load_n(&g->closed, __ATOMIC_ACQUIRE);
		if (g->loaded <= stamp && g->epoch_loaded > epoch)
			epoch = g->epoch_loaded;
		/* The epoch grows once more when closing is done. */
		if (closed && closed <= stamp && g->epoch_closed + 1 > epoch)
			epoch = g->epoch_closed + 1;
	}
	return epoch;
}
