/* SPDX-License-Identifier: MIT
 * Finds the frames of stopped threads, by libunwind with accessors of our own: registers and stacks
 * were saved during the scan; code and unwind tables come from the files of modules. So threads are
 * unwound after their process continued, or ended.
 */
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "scan_keep.h"
#include MS_CPU_H

#define STACK_MOST ((uint64_t)8 << 20)
#define STORAGE_MOST 1024u
#define FRAMES_MOST 4096u
#define WORD 8u

/* Looks up an address in a binary search table, reading memory by access functions. libunwind
 * exports this function but declares it in no public header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_info, void *arg);

/* ---- while the memory can be read ---- */

struct saving {
	uint64_t start;
	uint64_t *to;
};

static void save(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
	const struct saving *s = arg;
	memcpy(s->to + (address - s->start) / WORD, words, n * WORD);
}

/* Reads the addresses of the thread's storage from the C library's table (dtv). glibc's has pairs of
 * words, of which the first are a count and, in the pair before, the capacity; musl's has a word for
 * each module behind their number, where the second word of glibc's is 0. */
static void read_storage(struct kept_thread *t, const struct memory *m)
{
	uint64_t table, first[2], capacity, words[2 * STORAGE_MOST], tp = t->regs->tp;
	if (!tp || !memory_get(m, tp + WORD, &table, sizeof table) ||
	    !memory_get(m, table, first, sizeof first))
		return;
	bool musl = first[1] && first[1] < tp;
	if (!musl && !memory_get(m, table - 2 * WORD, &capacity, sizeof capacity))
		return;
	size_t n = musl ? first[0] : capacity, step = musl ? 1 : 2;
	n = n < STORAGE_MOST ? n : STORAGE_MOST;
	if (!n || !memory_get(m, table + step * WORD, words, n * step * WORD))
		return;
	t->storage = ms_xrealloc(NULL, n, sizeof *t->storage);
	for (size_t i = 0; i < n; i++)
		t->storage[i] = words[step * i];
	t->storage_count = n;
}

struct graph_range kept_thread_find(struct kept_thread *t, const struct memory *m)
{
	uint64_t tp = t->regs->tp, low = tp;
	const struct memory_map *map = tp ? memory_at(m, tp) : NULL;
	read_storage(t, m);
	for (size_t i = 0; i < t->storage_count && map; i++)
		if (t->storage[i] >= map->start && t->storage[i] < low)
			low = t->storage[i];
	t->low = low;
	uint64_t end = map && map->end - tp > KEPT_CONTROL ? tp + KEPT_CONTROL : tp;
	return (struct graph_range){low, end};
}

void kept_thread_read(struct kept_thread *t, struct memory *m)
{
	const struct scan_thread *r = t->regs;
	const struct memory_map *map = memory_at(m, r->sp);
	if (!map || map->heap || !map->anonymous)
		return; /* a stack that the program has made of other memory */
	/* In a call, the return address lies right below. */
	t->start = (r->sp & ~(uint64_t)(WORD - 1)) - WORD;
	t->start = t->start < map->start ? map->start : t->start;
	t->end = t->low > r->sp && t->low < map->end ? t->low & ~(uint64_t)(WORD - 1) : map->end;
	uint64_t end = t->end - t->start > STACK_MOST ? t->start + STACK_MOST : t->end;
	t->words = ms_xcalloc((size_t)(end - t->start) / WORD + 1, WORD);
	struct saving s = {t->start, t->words};
	memory_words(m, t->start, end, MEMORY_TOUCHED, save, &s);
}

void kept_thread_free(struct kept_thread *t)
{
	MS_FREE(t->words, t->storage, t->frames.v);
}

/* ---- accessors ---- */

struct unwinding {
	unw_addr_space_t space;
	const struct kept_thread *t;
	struct kept_module *modules;
	size_t module_count;
	uint64_t ip; /* where the thread was */
};

struct kept_module *kept_module_at(struct kept_module *v, size_t n, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(v, n, start, address);
	return i && address < v[i - 1].end ? &v[i - 1] : NULL;
}

/* Copies bytes of a module from its file. */
static bool read_code(const struct unwinding *u, uint64_t address, void *to, size_t bytes)
{
	struct kept_module *m = kept_module_at(u->modules, u->module_count, address);
	uint64_t into;
	if (!m)
		return false;
	kept_module_read(m);
	const Elf64_Phdr *p =
		m->has_file ? ms_elf_loaded(&m->file.elf, 0, address - m->bias, &into) : NULL;
	const void *from = p && p->p_filesz - into >= bytes
				   ? elfmap_part(&m->file, p->p_offset + into, bytes)
				   : NULL;
	if (from)
		memcpy(to, from, bytes);
	return from != NULL;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	const struct unwinding *u = arg;
	const struct kept_thread *t = u->t;
	uint64_t into = address - t->start;
	uint64_t saved = t->end - t->start < STACK_MOST ? t->end - t->start : STACK_MOST;
	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (into < saved && saved - into >= WORD) {
		memcpy(value, (const uint8_t *)t->words + into, WORD);
		return 0;
	}
	return read_code(u, address, value, WORD) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	static const int8_t stopped[] = SCAN_STOPPED_REGISTERS, ended[] = SCAN_END_REGISTERS;
	const struct unwinding *u = arg;
	const struct scan_thread *r = u->t->regs;
	const int8_t *where = r->calls ? ended : stopped;
	size_t n = r->calls ? sizeof ended : sizeof stopped;
	(void)as;
	if (write || reg < 0)
		return -UNW_EBADREG;
	if (reg == UNW_REG_IP)
		*value = u->ip;
	else if (reg == UNW_REG_SP)
		*value = r->sp;
	else if ((size_t)reg < n && where[reg] && (unsigned)where[reg] <= r->reg_count)
		*value = r->regs[where[reg] - 1];
	else
		return -UNW_EBADREG;
	return 0;
}

static int dyn_info_list(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	(void)as, (void)list, (void)arg;
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)arg;
	free(pi->unwind_info);
	pi->unwind_info = NULL;
}

/* Finds unwind information through .eh_frame_hdr, with the encodings that linkers write (see
 * find_proc_info in drain/remote.c). */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct unwinding *u = arg;
	const struct kept_module *m = kept_module_at(u->modules, u->module_count, ip);
	struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int32_t frame;
		uint32_t count;
	} h;
	if (!m || !m->eh_frame_hdr || !read_code(u, m->eh_frame_hdr, &h, sizeof h) ||
	    h.version != 1 || h.frame_encoding != 0x1b || h.count_encoding != 0x03 ||
	    h.table_encoding != 0x3b || h.count > (1u << 24))
		return -UNW_ENOINFO;
	unw_dyn_info_t di = {
		.start_ip = m->start, .end_ip = m->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE};
	di.u.rti.segbase = m->eh_frame_hdr;
	di.u.rti.table_data = m->eh_frame_hdr + sizeof h;
	di.u.rti.table_len = (uint64_t)h.count * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, u);
}

/* ---- unwinding ---- */

/* Tells whether the caller of this frame can be found: without unwind information libunwind would
 * guess. */
static bool is_known(struct unwinding *u, unw_cursor_t *cursor, uint64_t ip, bool exact)
{
	unw_proc_info_t pi;
	return !find_proc_info(u->space, exact ? ip : ip - 1, &pi, 0, u) ||
	       unw_is_signal_frame(cursor) > 0;
}

/* Walks the stack. Returns false if the outermost frame was not reached. */
static bool walk(struct unwinding *u, struct kept_thread *t)
{
	unw_cursor_t cursor;
	bool exact = !t->regs->calls;
	if (unw_init_remote(&cursor, u->space, u))
		return false;
	while (t->frames.n < FRAMES_MOST) {
		unw_word_t ip = 0, sp = 0;
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip)
			return !ip;
		if (unw_get_reg(&cursor, UNW_REG_SP, &sp) || sp >= t->end ||
		    (t->frames.n && sp <= t->frames.v[t->frames.n - 1].sp))
			return false;
		*MS_PUSH(&t->frames) = (struct kept_frame){sp, ip, exact};
		if (!is_known(u, &cursor, ip, exact))
			return false;
		exact = unw_is_signal_frame(&cursor) > 0;
		int step = unw_step(&cursor);
		if (step <= 0)
			return step == 0;
	}
	return false;
}

/* Returns the address of a thread's next instruction; 0 = not known. */
static uint64_t ip_of(const struct kept_thread *t)
{
	const struct scan_thread *r = t->regs;
	if (!r->calls)
		return r->ip;
	return r->reg_count == MG_KEPT + 1 && t->start + WORD == r->sp ? t->words[0] : 0;
}

void kept_thread_unwind(struct kept_thread *t, struct kept_module *v, size_t n)
{
	static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
					    .put_unwind_info = put_unwind_info,
					    .get_dyn_info_list_addr = dyn_info_list,
					    .access_mem = access_mem,
					    .access_reg = access_reg};
	struct unwinding u = {.t = t, .modules = v, .module_count = n, .ip = ip_of(t)};
	if (t->unwound)
		return;
	t->unwound = true;
	u.space = t->words && u.ip ? unw_create_addr_space(&accessors, 0) : NULL;
	if (!u.space)
		return;
	unw_set_caching_policy(u.space, UNW_CACHE_NONE);
	/* The end of the last frame that was found is not known, so it is one with its callers. */
	if (!walk(&u, t) && t->frames.n)
		t->frames.v[t->frames.n - 1].ip = 0;
	unw_destroy_addr_space(u.space);
}
