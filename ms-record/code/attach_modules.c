/* SPDX-License-Identifier: MIT
 * The table of modules of an attached process.
 *
 * The guest reports changes by the dynamic linker (modules_wanted). While the linker removes
 * modules, and until we have updated the table, the table is invalid: `epoch` is ahead of
 * `modules_epoch`. So the guest never reads unwind tables that are no longer mapped.
 */
#include "attach_modules.h"

#include <stdlib.h>
#include <string.h>

#include "frame_lists.h"
#include "libcommon/base/arena.h"
#include "code.h"
#include "modules.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/process.h"
#include "ms-record/ptrace/attach_elf.h"

struct attach_modules {
	uint64_t inode[MODULES_MOST]; /* inode of each entry's file */
	bool seen[MODULES_MOST];      /* the current update found the module mapped */
	bool begun, opened;           /* begun: the table was updated before; opened: update the
					 table even if nothing seems changed */
	uint32_t wanted;              /* value of modules_wanted at the last update */
};

struct attach_modules *attach_modules_new(void)
{
	return ms_xcalloc(1, sizeof(struct attach_modules));
}

struct attach_modules *attach_modules_forked(const struct attach_modules *parent)
{
	struct attach_modules *m = attach_modules_new();
	if (parent)
		memcpy(m->inode, parent->inode, sizeof m->inode);
	m->begun = true;
	return m;
}

/* Returns the number of table entries, limited to the table's size because the process could
 * overwrite the number. */
static uint32_t entries(const struct modules *all)
{
	uint32_t n = __atomic_load_n(&all->mem->module_count, __ATOMIC_RELAXED);
	return n < all->table_max ? n : all->table_max;
}

/* Returns the index of the open entry of module `m`, or -1. */
static int find(const struct modules *all, const struct attach_module *m)
{
	const struct attach_modules *a = all->attached;
	for (uint32_t i = 0, n = entries(all); i < n; i++) {
		const struct mg_module *e = &all->table[i];
		if (!e->closed && e->start == m->start && e->end == m->end &&
		    e->eh_frame_hdr == m->eh_frame_hdr && a->inode[i] == m->map->inode)
			return (int)i;
	}
	return -1;
}

static void add(struct modules *all, const struct attach_module *m, uint32_t epoch)
{
	uint32_t n = entries(all);
	if (n == all->table_max || !modules_back(all, n + 1))
		return;
	struct mg_module *e = &all->table[n];
	bool vdso = !strcmp(m->map->path, "[vdso]");
	*e = (struct mg_module){.start = m->start,
				.end = m->end,
				.bias = m->bias,
				.eh_frame_hdr = m->eh_frame_hdr,
				.eh_frame_hdr_bytes = m->eh_frame_hdr_bytes,
				.loaded = clock_stamp(all->clock),
				.epoch_loaded = epoch,
				.flags = vdso ? MG_MODULE_VDSO : 0,
				.low = m->low,
				.high = m->high,
				.code_low = m->code_low,
				.code_high = m->code_high};
	const struct attach_memory mem = attach_memory_of_process(all->process);
	struct ms_elf_reader f;
	if (ms_elf_read(&f, attach_elf_at(&mem, m->start)))
		e->build_id_bytes = (uint32_t)ms_elf_build_id(&f, e->build_id);
	strncpy(e->path, m->map->path, sizeof e->path - 1);
	e->frames = m->eh_frame_hdr || vdso ? 0 : frame_lists_add(all->lists, all->process, m->map);
	all->attached->inode[n] = m->map->inode;
	all->attached->seen[n] = true;
	__atomic_store_n(&all->mem->module_count, n + 1, __ATOMIC_RELEASE);
}

/* Updates the table. First closes modules that are no longer mapped, because new modules may be
 * mapped at the same addresses. */
static void refresh(struct modules *all, const struct attach_maps *maps, uint32_t epoch)
{
	struct attach_modules *a = all->attached;
	const struct attach_memory mem = attach_memory_of_process(all->process);
	MS_ARRAY(struct attach_module) new = {0};
	memset(a->seen, 0, sizeof a->seen);
	for (size_t i = 0; i < maps->n; i++) {
		struct attach_module m;
		if (strstr(maps->v[i].path, "/memfd:" MG_IMAGE_NAME) == maps->v[i].path ||
		    !attach_elf_module(&mem, maps, &maps->v[i], &m))
			continue;
		int have = find(all, &m);
		if (have >= 0)
			a->seen[have] = true;
		else
			*MS_PUSH(&new) = m;
	}
	for (uint32_t i = 0, n = entries(all); i < n; i++)
		if (!a->seen[i] && !all->table[i].closed) {
			all->table[i].epoch_closed = epoch;
			__atomic_store_n(&all->table[i].closed, clock_stamp(all->clock),
					 __ATOMIC_RELEASE);
		}
	for (size_t i = 0; i < new.n; i++)
		add(all, &new.v[i], epoch);
	free(new.v);
}

void attach_modules_opened(struct modules *all)
{
	all->attached->opened = true;
}

void attach_modules_look(struct modules *all)
{
	struct attach_modules *a = all->attached;
	struct mg_session *m = all->mem;
	struct attach_maps maps;
	uint32_t wanted = __atomic_load_n(&m->modules_wanted, __ATOMIC_ACQUIRE);
	uint32_t epoch = __atomic_load_n(&m->epoch, __ATOMIC_ACQUIRE);
	bool right = epoch == __atomic_load_n(&m->modules_epoch, __ATOMIC_RELAXED);
	if ((a->begun && right && wanted == a->wanted && !a->opened) ||
	    __atomic_load_n(&m->modules_closing, __ATOMIC_ACQUIRE))
		return;
	if (attach_maps_read(&maps, all->process->folder, NULL))
		return; /* the process is ending */
	refresh(all, &maps, epoch);
	attach_maps_free(&maps);
	if (!a->begun)
		m->modules_first = entries(all);
	a->begun = true;
	a->opened = false;
	a->wanted = wanted;
	if (!__atomic_load_n(&m->modules_closing, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&m->epoch, __ATOMIC_SEQ_CST) == epoch)
		__atomic_store_n(&m->modules_epoch, epoch, __ATOMIC_RELEASE);
}
