/* SPDX-License-Identifier: MIT
 * Modules of a recorded image.
 *
 * The guest reports where a module is and when it was opened and closed. The path comes from
 * /proc/PID/maps, because the dynamic linker's name may be relative or a link. Files are held open,
 * so that unwinding and later reads use the file that was mapped, even if it is replaced or the
 * process has ended.
 */
#include "modules.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_modules.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/elf_reader.h"
#include "libcommon/base/order.h"
#include "ms-record/base/held_files.h"
#include "interpreter.h"
#include "frame_lists.h"
#include "module_file.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/process.h"
#include "ms-record/write/batch.h"

#define MAPS_AGAIN_NS UINT64_C(50000000)
#define EPOCHS_MAX 65536u
#define OUR_IMAGE "/memfd:" MG_IMAGE_NAME
#define MODULES_AHEAD 128u /* modules that have memory before they are loaded */

void modules_free(struct modules *m)
{
	attach_maps_free(&m->maps);
	for (size_t i = 0; i < m->all.n; i++)
		if (!m->all.v[i].same) /* otherwise, path and name belong to the file's first
					  module */
			MS_FREE(m->all.v[i].path, m->all.v[i].name);
	interpreter_free(m->interpreter);
	MS_FREE(m->all.v, m->open.v, m->epochs.v, m->entries, m->attached, m->files.v,
		m->records.data);
}

void modules_hand_over(struct modules *to, struct modules *from)
{
	*to = *from;
	*from = (struct modules){.process = to->process,
				 .clock = to->clock,
				 .mem = to->mem,
				 .image = to->image,
				 .table = to->table,
				 .table_max = to->table_max,
				 .backed = to->backed,
				 .lists = to->lists,
				 .no_interpreter = to->no_interpreter,
				 .attached = to->attached,
				 .interpreter = to->interpreter,
				 .files = to->files,
				 .records = to->records};
	to->attached = NULL;
	to->interpreter = NULL;
	to->files.v = NULL;
	to->records.data = NULL;
}

/* ---- /proc/PID/maps ---- */

/* Corrects a path that contains a newline: maps shows "\012" for a newline, but also for a literal
 * "\012". */
static void find_true_path(const struct process *process, struct attach_map *p)
{
	char link[80], path[4200];
	if (*p->path != '/' || !strchr(p->path, '\n'))
		return;
	snprintf(link, sizeof link, "map_files/%" PRIx64 "-%" PRIx64, p->start, p->end);
	if (!process_link(process->folder, link, path, sizeof path))
		return;
	free(p->path);
	p->path = ms_xstrdup(path);
}

void modules_read_maps(struct modules *all)
{
	struct attach_maps maps;
	all->maps_read_ns = clock_now(all->clock);
	all->maps_stamp = clock_stamp(all->clock);
	all->maps_old = false;
	if (attach_maps_read(&maps, all->process->folder, NULL))
		return; /* a zombie has no mappings, so the last ones are kept */
	if (all->maps.n && all->process->signature &&
	    process_signature(all->process->folder) != all->process->signature) {
		attach_maps_free(&maps); /* the signature changed, so the process has probably
					    called exec */
		return;
	}
	attach_maps_free(&all->maps);
	for (size_t i = 0; i < maps.n; i++) {
		struct attach_map *p = &maps.v[i];
		if (*p->path == '/' || p->exec) {
			find_true_path(all->process, p);
			*MS_PUSH(&all->maps) = *p;
		} else { /* heaps, stacks and other data are not needed */
			free(p->path);
		}
	}
	free(maps.v);
}

void modules_hold_files(struct modules *all)
{
	for (size_t i = 0; i < all->maps.n; i++)
		if (all->maps.v[i].exec)
			module_file_hold(all->process, &all->maps.v[i]);
}

/* Does not allocate memory for the whole table, of nearly 2 MB, because most processes have a few
 * modules, and some builds have thousands of processes. */
bool modules_back(struct modules *all, uint32_t n)
{
	uint32_t most = all->table_max, from = all->backed;
	n = n < most ? n : most;
	if (from == most || n + MODULES_AHEAD / 2 <= from)
		return true;
	uint32_t to = most - n < MODULES_AHEAD ? most : n + MODULES_AHEAD;
	if (fallocate(all->lists->memfd, FALLOC_FL_KEEP_SIZE,
		      (uint8_t *)(all->table + from) - all->lists->memory,
		      (off_t)((to - from) * sizeof *all->table)))
		return n <= from;
	all->backed = to;
	__atomic_store_n(&all->mem->modules_ready, to, __ATOMIC_RELEASE);
	return true;
}

void modules_list_frames(struct modules *all)
{
	for (size_t i = 0; i < all->maps.n; i++) {
		const struct attach_map *m = &all->maps.v[i];
		if (!m->offset && m->path[0] == '/')
			frame_lists_add(all->lists, all->process, m);
	}
}

static const struct attach_map *map_of(const struct modules *m, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < m->maps.n; i++)
		if (m->maps.v[i].start < to && from < m->maps.v[i].end)
			return &m->maps.v[i];
	return NULL;
}

/* ---- records ---- */

static void write_module(struct modules *all, uint32_t id, struct module *m,
			 const struct attach_map *p, bool deleted, uint64_t loaded)
{
	size_t path = strlen(m->path);
	struct ms_record_writer *w = batch_record(&all->records, path + 320);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_bytes(w, MS_MODULE_PATH, m->path, path);
	ms_record_number(w, MS_MODULE_START, m->start);
	ms_record_number(w, MS_MODULE_END, m->end);
	ms_record_number(w, MS_MODULE_BIAS, m->bias);
	ms_record_number(w, MS_MODULE_LOADED, clock_ns(all->clock, loaded));
	ms_record_number(w, MS_MODULE_KIND, m->kind);
	if (p)
		ms_record_number(w, MS_MODULE_OFFSET, p->offset);
	if (m->build_id_size)
		ms_record_bytes(w, MS_MODULE_BUILD_ID, m->build_id, m->build_id_size);
	if (m->file) {
		*MS_PUSH(&all->files) = (struct module_file){id, m->file};
		ms_record_number(w, MS_MODULE_SIZE, m->file->bytes);
		ms_record_number(w, MS_MODULE_MTIME, m->file->mtime_ns);
	}
	if (deleted)
		ms_record_number(w, MS_MODULE_DELETED, 1);
	ms_record_end(w);
}

/* Records that a module was closed at `ns`, or, if 0, reopened. `id`: id of the first module of its
 * file. */
static void write_unloaded(struct modules *all, uint32_t id, uint64_t ns)
{
	struct ms_record_writer *w = batch_record(&all->records, 64);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_number(w, MS_MODULE_UNLOADED, ns);
	ms_record_end(w);
}

/* ---- which are there ---- */

static void note_epoch(struct modules *all, uint64_t stamp, uint32_t epoch)
{
	if (all->epochs.n >= EPOCHS_MAX) {
		all->epochs.n /= 2;
		memmove(all->epochs.v, all->epochs.v + all->epochs.n,
			all->epochs.n * sizeof *all->epochs.v);
	}
	*MS_PUSH(&all->epochs) = (struct module_epoch){stamp, epoch};
	struct module_epoch *v = all->epochs.v;
	for (size_t i = all->epochs.n - 1; i && v[i - 1].stamp > v[i].stamp; i--) {
		struct module_epoch t = v[i];
		v[i] = v[i - 1];
		v[i - 1] = t;
	}
}

/* Stores a module and returns its index. A module that was opened before may replace another such
 * module that was closed long ago. */
static uint32_t place(struct modules *all, const struct module *m)
{
	uint32_t i = (uint32_t)all->all.n;
	if (m->same && all->reopened.n > MODULES_CLOSED)
		i = all->reopened.v[(all->reopened.next + MODULES_ROOM - all->reopened.n--) %
				    MODULES_ROOM];
	else
		MS_PUSH(&all->all);
	all->all.v[i] = *m;
	*MS_PUSH(&all->open) = i;
	return i;
}

static void close_module(struct modules *all, uint32_t i, uint32_t epoch)
{
	struct module *m = &all->all.v[i];
	m->epoch_closed = epoch;
	for (size_t k = 0; k < all->open.n; k++)
		if (all->open.v[k] == i)
			all->open.v[k--] = all->open.v[--all->open.n];
	if (!m->same)
		return;
	all->reopened.v[all->reopened.next++ % MODULES_ROOM] = i;
	all->reopened.next %= MODULES_ROOM;
	all->reopened.n += all->reopened.n < MODULES_ROOM;
}

/* Adds a module whose range and kind are known, and finds its path and file. Returns the module's
 * id. `gone`: the module is closed, so that its addresses may belong to another module. */
static uint32_t add(struct modules *all, struct module m, const char *name, bool gone)
{
	const struct attach_map *p =
		gone || m.kind == MODULE_VDSO ? NULL : map_of(all, m.start, m.end);
	bool deleted = false;
	module_file_find(all, &m, name, p, &deleted);
	uint32_t i = place(all, &m);
	note_epoch(all, m.loaded, m.epoch_loaded);
	if (p && m.kind == MODULE_FILE)
		interpreter_look(all, p);
	else if (gone)
		interpreter_missed(all, name);
	if (m.same) {
		write_unloaded(all, m.same, 0);
		return i + 1;
	}
	write_module(all, i + 1, &all->all.v[i], p, deleted, m.loaded);
	return i + 1;
}

/* ---- the guest's table ---- */

/* Copies the fields that the guest wrote before it incremented the number of entries. It may change
 * the other fields at any time. */
static void copy_entry(struct mg_module *to, const struct mg_module *from)
{
	memset(to, 0, sizeof *to);
	memcpy(to, from, offsetof(struct mg_module, closed));
	to->epoch_loaded = from->epoch_loaded;
	to->flags = from->flags;
	memcpy(to->path, from->path, sizeof to->path);
	memcpy(to->build_id, from->build_id, sizeof to->build_id);
	to->build_id_bytes = from->build_id_bytes;
}

/* Adds the module of entry `i` of the table. `again`: the entry was used before. */
static void add_entry(struct modules *all, uint32_t i, bool again)
{
	struct mg_module g;
	copy_entry(&g, &all->table[i]);
	g.path[sizeof g.path - 1] = '\0';
	struct module m = {.start = g.start,
			   .end = g.end > g.start ? g.end : g.start,
			   .bias = g.bias,
			   .eh_frame_hdr = g.eh_frame_hdr,
			   .eh_frame_hdr_bytes = g.eh_frame_hdr_bytes,
			   .epoch_loaded = g.epoch_loaded,
			   .epoch_closed = UINT32_MAX,
			   .loaded = g.loaded,
			   .guest = g.flags & MG_MODULE_GUEST};
	m.kind = m.guest ? MODULE_GUEST : g.flags & MG_MODULE_VDSO ? MODULE_VDSO : MODULE_FILE;
	const char *name = m.kind == MODULE_VDSO ? "[vdso]"
			   : g.path[0]           ? g.path
						 : all->process->exe;
	bool gone = __atomic_load_n(&all->table[i].closed, __ATOMIC_ACQUIRE);
	if (g.build_id_bytes <= sizeof m.build_id) {
		m.build_id_size = (uint8_t)g.build_id_bytes;
		memcpy(m.build_id, g.build_id, g.build_id_bytes);
	}
	/* Mappings read earlier may belong to a previous module at this address. The first modules
	 * were mapped when the process waited for the answer to its handshake. */
	bool first = !again && !all->attached && all->maps_read_ns &&
		     i < __atomic_load_n(&all->mem->modules_first, __ATOMIC_ACQUIRE);
	bool old = !first && all->maps_stamp < m.loaded;
	if (m.kind != MODULE_VDSO && !gone && (old || !map_of(all, m.start, m.end))) {
		modules_read_maps(all);
		gone = __atomic_load_n(&all->table[i].closed, __ATOMIC_ACQUIRE);
	}
	all->entries[i] =
		(struct module_entry){.loaded = g.loaded, .number = add(all, m, name, gone) - 1};
}

/* Copies entry `i` of the table from the parent's modules. Returns false if the parent did not have
 * it. */
static bool inherit_entry(struct modules *all, uint32_t i, struct modules *parent)
{
	const struct mg_module *g = &all->table[i];
	struct module *p = i < parent->seen ? &parent->all.v[parent->entries[i].number] : NULL;
	if (!p || p->start != __atomic_load_n(&g->start, __ATOMIC_RELAXED) ||
	    p->bias != __atomic_load_n(&g->bias, __ATOMIC_RELAXED) ||
	    p->loaded != __atomic_load_n(&g->loaded, __ATOMIC_RELAXED))
		return false;
	struct module m = *p;
	m.path = ms_xstrdup(p->path);
	m.name = p->name ? ms_xstrdup(p->name) : NULL;
	m.same = 0;
	m.epoch_closed = UINT32_MAX;
	uint32_t number = place(all, &m);
	all->entries[i] = (struct module_entry){.loaded = m.loaded, .number = number};
	note_epoch(all, m.loaded, m.epoch_loaded);
	const struct attach_map *at = map_of(all, m.start, m.end);
	bool deleted = at && m.kind == MODULE_FILE && strstr(at->path, " (deleted)");
	write_module(all, number + 1, &m, at, deleted, 0);
	return true;
}

void modules_inherit(struct modules *all, struct modules *parent)
{
	uint32_t n = __atomic_load_n(&all->mem->module_count, __ATOMIC_ACQUIRE);
	if (!all->maps.n)
		for (size_t i = 0; i < parent->maps.n; i++) {
			struct attach_map m = parent->maps.v[i];
			m.path = ms_xstrdup(m.path);
			*MS_PUSH(&all->maps) = m;
		}
	while (all->seen < n && all->seen < all->table_max && inherit_entry(all, all->seen, parent))
		all->seen++;
}

static void note_closed(struct modules *all)
{
	for (uint32_t i = 0; i < all->seen; i++) {
		struct module_entry *e = &all->entries[i];
		const struct module *m = &all->all.v[e->number];
		uint64_t closed = __atomic_load_n(&all->table[i].closed, __ATOMIC_ACQUIRE);
		if (!closed || e->closed)
			continue;
		e->closed = true;
		close_module(all, e->number, all->table[i].epoch_closed);
		/* The guest increments the epoch once more after it has closed a module. */
		note_epoch(all, closed, m->epoch_closed + 1);
		write_unloaded(all, m->same ? m->same : e->number + 1,
			       clock_ns(all->clock, closed));
		attach_maps_free(&all->maps); /* the mappings last read may include the closed
						 module */
		if (!all->attached)
			__atomic_store_n(&all->table[i].taken, 1, __ATOMIC_RELEASE);
	}
}

/* Adds modules whose table entries the guest has reused after closing other modules. Skips entries
 * still being filled in: they have no load stamp, or one later than the close stamp, which still
 * belongs to the previous module. Returns whether any module was added. */
static bool take_again(struct modules *all)
{
	bool some = false;
	for (uint32_t i = 0; i < all->seen; i++) {
		const struct module_entry *e = &all->entries[i];
		if (!e->closed)
			continue;
		uint64_t closed = __atomic_load_n(&all->table[i].closed, __ATOMIC_ACQUIRE);
		uint64_t loaded = __atomic_load_n(&all->table[i].loaded, __ATOMIC_RELAXED);
		if (loaded <= e->loaded || (closed && closed < loaded))
			continue;
		add_entry(all, i, true);
		some = true;
	}
	return some;
}

/* Wakes threads of the process that are about to close modules: they wait until we hold the
 * modules' files open. */
static void answer(struct modules *all, uint32_t asked)
{
	if (asked == __atomic_load_n(&all->mem->modules_looked, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&all->mem->modules_looked, asked, __ATOMIC_RELEASE);
	syscall(SYS_futex, &all->mem->modules_looked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int modules_update(struct modules *all)
{
	if (all->attached)
		attach_modules_look(all);
	uint32_t asked = __atomic_load_n(&all->mem->modules_asked, __ATOMIC_ACQUIRE);
	uint32_t n = __atomic_load_n(&all->mem->module_count, __ATOMIC_ACQUIRE);
	if (n > all->table_max)
		return -1;
	uint32_t epoch = __atomic_load_n(&all->mem->epoch, __ATOMIC_ACQUIRE);
	if (epoch != all->closed_epoch) {
		all->closed_epoch = epoch;
		note_closed(all);
	}
	bool some = all->seen != n;
	some |= take_again(all);
	/* Under a seccomp filter the guest cannot ask the kernel for memory of its own. */
	modules_back(all, all->mem->seccomp_seen ? UINT32_MAX : n);
	for (; all->seen < n; all->seen++)
		add_entry(all, all->seen, false);
	if (some)
		note_closed(all); /* the modules of new entries may be closed already, in the same
				     epoch */
	answer(all, asked);
	return 0;
}

/* ---- look-up ---- */

static bool fits(const struct module *m, uint64_t ip, uint32_t epoch)
{
	return ip >= m->start && ip < m->end && m->epoch_loaded <= epoch &&
	       epoch <= m->epoch_closed;
}

/* Returns the id of the module that contained `ip` in `epoch`; if there was none, of the latest one
 * that ever contained it; 0 = none. */
static uint32_t look(const struct modules *all, uint64_t ip, uint32_t epoch)
{
	const struct module *v = all->all.v, *best = NULL;
	for (size_t i = 0; i < all->open.n; i++)
		if (fits(&v[all->open.v[i]], ip, epoch))
			return all->open.v[i] + 1;
	for (size_t i = all->all.n; i-- > 0;) {
		if (fits(&v[i], ip, epoch))
			return (uint32_t)i + 1;
		if (ip >= v[i].start && ip < v[i].end &&
		    (!best || v[i].epoch_loaded > best->epoch_loaded))
			best = &v[i];
	}
	return best ? (uint32_t)(best - v) + 1 : 0;
}

/* Returns the difference between the memory address and the file's virtual address for a mapped
 * part of a file. The part may be a second, separate mapping. */
static uint64_t bias_of(const struct ms_elf_reader *f, const struct attach_map *p)
{
	uint64_t bias = 0;
	for (unsigned i = 0; i < f->segment_count; i++) {
		const Elf64_Phdr *h = &f->segments[i];
		uint64_t skew = h->p_offset & 4095;
		uint64_t into = p->offset - (h->p_offset - skew);
		if (h->p_type == PT_LOAD && into < skew + h->p_filesz)
			bias = p->start - into - (h->p_vaddr - skew);
	}
	return bias;
}

/* Adds code that the guest did not report: a file mapped by the program itself, or code made at run
 * time. */
static uint32_t add_unnamed(struct modules *all, const struct attach_map *p, uint32_t epoch)
{
	struct module m = {.start = p->start,
			   .end = p->end,
			   .epoch_loaded = epoch,
			   .epoch_closed = UINT32_MAX,
			   .loaded = clock_stamp(all->clock),
			   .kind = p->path[0] == '/' ? MODULE_FILE : MODULE_ANONYMOUS};
	struct ms_elf_reader f;
	bool other = false;
	int fd = m.kind == MODULE_FILE ? module_file_open(all->process, p, p->path, &other) : -1;
	if (ms_elf_read(&f, ms_elf_in_file(fd)))
		m.bias = bias_of(&f, p);
	descriptor_close(fd);
	return add(all, m, "[anonymous code]", false);
}

/* Returns the module of which `m` is another description, with the same path and address; NULL = there
 * is none. */
static struct module *described(const struct modules *all, const struct module *m, const char *path)
{
	for (size_t i = 0; i < all->all.n; i++) {
		struct module *v = &all->all.v[i];
		if (v->epoch_closed != UINT32_MAX && v->start == m->start && v->bias == m->bias &&
		    v->path && !strcmp(v->path, path))
			return v;
	}
	return NULL;
}

/* Adds a module of an image, or opens the one that was described before. Returns whether it was. */
static bool add_in_image(struct modules *all, struct module m, const struct attach_map *p)
{
	struct module *old = described(all, &m, p->path);
	bool deleted = false;
	if (!old) {
		add(all, m, p->path, false);
		return false;
	}
	module_file_find(all, &m, p->path, m.kind == MODULE_VDSO ? NULL : p, &deleted);
	free(old->path);
	*old = m;
	*MS_PUSH(&all->open) = (uint32_t)(old - all->all.v);
	return true;
}

unsigned modules_in_image(struct modules *all, const struct attach_memory *memory,
			  const struct attach_maps *maps)
{
	struct attach_module m;
	unsigned known = 0;
	all->maps_read_ns = UINT64_MAX - MAPS_AGAIN_NS; /* never again */
	for (size_t i = 0; i < maps->n; i++) {
		struct attach_map p = maps->v[i];
		p.path = ms_xstrdup(p.path);
		*MS_PUSH(&all->maps) = p;
	}
	for (size_t i = 0; i < maps->n && all->all.n < MODULES_MOST; i++) {
		const struct attach_map *p = &maps->v[i];
		struct ms_elf_reader f;
		if (!strncmp(p->path, OUR_IMAGE, sizeof OUR_IMAGE - 1) ||
		    !attach_elf_module(memory, maps, p, &m))
			continue;
		struct module to = {.start = m.start,
				    .end = m.end,
				    .bias = m.bias,
				    .eh_frame_hdr = m.eh_frame_hdr,
				    .eh_frame_hdr_bytes = m.eh_frame_hdr_bytes,
				    .epoch_closed = UINT32_MAX,
				    .kind = !strcmp(p->path, "[vdso]") ? MODULE_VDSO : MODULE_FILE};
		if (ms_elf_read(&f, attach_elf_at(memory, m.start)))
			to.build_id_size = (uint8_t)ms_elf_build_id(&f, to.build_id);
		known += add_in_image(all, to, p);
	}
	return known;
}

uint32_t modules_named(struct modules *all, uint32_t kind, const char *name)
{
	struct module m = {.kind = kind, .epoch_closed = UINT32_MAX, .path = ms_xstrdup(name)};
	*MS_PUSH(&all->all) = m;
	uint32_t id = (uint32_t)all->all.n;
	struct ms_record_writer *w = batch_record(&all->records, strlen(name) + 64);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_string(w, MS_MODULE_PATH, name);
	ms_record_number(w, MS_MODULE_KIND, kind);
	ms_record_end(w);
	return id;
}

void modules_function(struct modules *all, uint32_t id, uint32_t number, const char *name)
{
	struct ms_record_writer *w = batch_record(&all->records, strlen(name) + 64);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_number(w, MS_MODULE_NUMBER, number);
	ms_record_string(w, MS_MODULE_FUNCTION, name);
	ms_record_end(w);
}

static uint32_t find(struct modules *all, uint64_t ip, uint32_t epoch)
{
	uint32_t id = look(all, ip, epoch);
	if (id)
		return id;
	modules_update(all);
	if ((id = look(all, ip, epoch)))
		return id;
	const struct attach_map *p = map_of(all, ip, ip + 1);
	if (!p && (all->maps_old || clock_now(all->clock) > all->maps_read_ns + MAPS_AGAIN_NS)) {
		modules_read_maps(all);
		p = map_of(all, ip, ip + 1);
	}
	return p && p->exec ? add_unnamed(all, p, epoch) : 0;
}

uint32_t modules_find(struct modules *all, uint64_t *ip, uint32_t epoch)
{
	uint32_t id = find(all, *ip, epoch);
	const struct module *m = id ? &all->all.v[id - 1] : NULL;
	if (!m || !m->same)
		return id;
	*ip += all->all.v[m->same - 1].bias - m->bias;
	return m->same;
}

uint32_t modules_epoch_at(const struct modules *all, uint64_t stamp)
{
	const struct module_epoch *v = all->epochs.v;
	size_t n = MS_COUNT_UP_TO(v, all->epochs.n, stamp, stamp);
	return n ? v[n - 1].epoch : 0;
}
