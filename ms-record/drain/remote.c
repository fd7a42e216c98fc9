/* SPDX-License-Identifier: MIT
 * Unwinds stacks that the guest could not, by libunwind with accessors of our own: registers and
 * stack come from the copy, text and unwind tables from the module's file or, while the target
 * lives, from its memory.
 */
#include "remote.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drained.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/elf_reader.h"
#include "ms-record/session/pool.h"
#include "ms-record/base/held_files.h"
#include "ms-record/session/session.h"
#include MS_CPU_H

#define PAGE 4096u
#define PAGES 256u

/* Looks up an address in a binary search table, reading memory by access functions. libunwind
 * exports this function but declares it in no public header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_info, void *arg);

struct remote {
	unw_addr_space_t space;
	struct page {
		uint64_t address; /* page's address + 1; 0 = empty */
		uint32_t module, epoch;
		bool valid;
		uint8_t bytes[PAGE];
	} pages[PAGES];
	/* the stack being unwound */
	struct session *s;
	struct reader *r;
};

static struct module *module_at(const struct session *s, uint64_t address)
{
	for (size_t i = s->modules.all.n; i-- > 0;) {
		struct module *m = &s->modules.all.v[i];
		if (address >= m->start && address < m->end && m->epoch_closed == UINT32_MAX)
			return m;
	}
	return NULL;
}

static bool read_process(const struct session *s, uint64_t address, void *out, size_t n)
{
	if (s->process.folder < 0)
		return false; /* the process ended before we opened its /proc folder */
	struct iovec to = {out, n}, from = {(void *)(uintptr_t)address, n};
	return process_vm_readv(s->process.pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* Reads a page of a module from its file, at the place that the program headers give. */
static bool read_file(const struct module *m, uint64_t address, uint8_t *out)
{
	struct ms_elf_reader f;
	int fd = m->file ? m->file->fd : -1;
	if (!ms_elf_read(&f, ms_elf_in_file(fd)))
		return false;
	for (unsigned i = 0; i < f.segment_count; i++) {
		const Elf64_Phdr *p = &f.segments[i];
		uint64_t start = (p->p_vaddr & ~(uint64_t)(PAGE - 1)) + m->bias;
		uint64_t skew = p->p_vaddr & (PAGE - 1);
		if (p->p_type != PT_LOAD || address < start ||
		    address >= start + skew + p->p_filesz)
			continue;
		off_t at = (off_t)(p->p_offset - skew + (address - start));
		memset(out, 0, PAGE);
		return pread(fd, out, PAGE, at) > 0;
	}
	return false;
}

/* Reads a page through a cache, because code and unwind tables do not change while their module is
 * mapped. */
static bool read_page(struct remote *c, uint64_t address, const uint8_t **bytes)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);
	struct page *p = &c->pages[(page / PAGE) % PAGES];
	struct module *m = module_at(c->s, page);
	uint32_t id = m ? (uint32_t)(m - c->s->modules.all.v) + 1 : 0;
	if (!m)
		return false;
	if (p->address != page + 1 || p->module != id) {
		p->address = page + 1;
		p->module = id;
		p->valid = read_process(c->s, page, p->bytes, PAGE) || read_file(m, page, p->bytes);
	}
	*bytes = p->bytes;
	return p->valid;
}

static bool read_code(struct remote *c, uint64_t address, void *out, size_t n)
{
	for (size_t done = 0; done < n;) {
		const uint8_t *bytes;
		size_t at = (address + done) & (PAGE - 1);
		size_t part = n - done < PAGE - at ? n - done : PAGE - at;
		if (!read_page(c, address + done, &bytes))
			return false;
		memcpy((uint8_t *)out + done, bytes + at, part);
		done += part;
	}
	return true;
}

/* ---- accessors ---- */

/* Offset added to addresses in frame lists, to distinguish them: no program has such addresses. */
#define LISTED (UINT64_C(1) << 63)

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct remote *c = arg;
	const struct reader *r = c->r;
	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (address >= LISTED)
		return frame_lists_read(&c->s->pool->lists, address - LISTED, value) ? 0
										     : -UNW_EINVAL;
	uint64_t into = address - r->copy_start;
	if (into < r->copy_bytes && r->copy_bytes - into >= sizeof *value) {
		memcpy(value, r->copy + into, sizeof *value);
		return 0;
	}
	return read_code(c, address, value, sizeof *value) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	static const int8_t where[] = REMOTE_REGISTERS;
	const struct remote *c = arg;
	(void)as;
	if (write || reg < 0 || (size_t)reg >= sizeof where || !where[reg])
		return -UNW_EBADREG;
	*value = c->r->regs[where[reg] - 1];
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

/* Finds unwind information through .eh_frame_hdr. It has a version, three encodings, a pointer, a
 * count, and a table of (start, FDE) relative to the header. Only the encodings that linkers write
 * are supported: pcrel sdata4, udata4, datarel sdata4. A module without .eh_frame_hdr has a
 * function list instead. */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct remote *c = arg;
	const struct module *m = module_at(c->s, ip);
	const struct mg_frames *f;
	struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int32_t frame;
		uint32_t count;
	} h;
	if (!m)
		return -UNW_ENOINFO;
	unw_dyn_info_t di = {
		.start_ip = m->start, .end_ip = m->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE};
	if (!m->eh_frame_hdr) {
		f = c->s->pool ? frame_lists_find(&c->s->pool->lists, m->start) : NULL;
		if (!f)
			return -UNW_ENOINFO;
		h.count = f->count;
		di.u.rti.segbase = m->start;
		di.u.rti.table_data = LISTED + f->offset;
	} else {
		if (!read_code(c, m->eh_frame_hdr, &h, sizeof h) || h.version != 1 ||
		    h.frame_encoding != 0x1b || h.count_encoding != 0x03 ||
		    h.table_encoding != 0x3b || h.count > (1u << 24))
			return -UNW_ENOINFO;
		di.u.rti.segbase = m->eh_frame_hdr;
		di.u.rti.table_data = m->eh_frame_hdr + sizeof h;
	}
	di.u.rti.table_len = (uint64_t)h.count * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, c);
}

/* ---- unwinding ---- */

static struct remote *make(struct session *s)
{
	static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
					    .put_unwind_info = put_unwind_info,
					    .get_dyn_info_list_addr = dyn_info_list,
					    .access_mem = access_mem,
					    .access_reg = access_reg};
	struct remote *c = ms_xcalloc(1, sizeof *c);
	c->s = s;
	c->space = unw_create_addr_space(&accessors, 0);
	if (c->space)
		unw_set_caching_policy(c->space, UNW_CACHE_NONE);
	return c;
}

void remote_free(struct remote *c)
{
	if (!c)
		return;
	if (c->space)
		unw_destroy_addr_space(c->space);
	free(c);
}

static struct remote *of(struct session *s)
{
	if (!s->drained->remote)
		s->drained->remote = make(s);
	return s->drained->remote;
}

/* Tells whether a call instruction precedes `ip` in the process, like the guest's mg_is_called. */
bool remote_called(struct session *s, uint64_t ip)
{
	uint8_t code[MG_CALL_MOST];
	return !read_code(of(s), ip - sizeof code, code, sizeof code) ||
	       mg_is_call(code + sizeof code);
}

static bool in_guest(const struct session *s, uint64_t ip)
{
	const struct module *m = module_at(s, ip);
	return m && m->guest;
}

/* Tells whether the caller of this frame can be found reliably. Without unwind information
 * libunwind guesses, from bp and from words that look like addresses. */
static bool is_known(struct remote *c, unw_cursor_t *cursor, uint64_t ip, bool exact)
{
	unw_proc_info_t pi;
	unw_word_t bp = 1;
	if (!find_proc_info(c->space, exact ? ip : ip - 1, &pi, 0, c))
		return true;
	unw_get_reg(cursor, REMOTE_BP, &bp);
	return !bp || unw_is_signal_frame(cursor) > 0; /* bp 0 marks the outermost frame, by the
							  ABI */
}

size_t remote_unwind(struct session *s, struct reader *r, uint64_t *frames, bool *whole)
{
	unw_cursor_t cursor;
	size_t n = 0;
	struct remote *c = of(s);
	c->r = r;
	if (!c->space || unw_init_remote(&cursor, c->space, c))
		return 0;
	bool exact = false; /* after a signal frame, the ip is exact: that of the interrupted
			       instruction */
	for (unsigned steps = 0; steps < 2 * REMOTE_FRAMES && n < REMOTE_FRAMES; steps++) {
		unw_word_t ip = 0;
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip) {
			*whole = !ip;
			break;
		}
		/* The guest image sends an address inside the call instruction, so 1 is added to
		 * get a value like a return address. */
		if (!n && s->modules.attached)
			ip++;
		if (!in_guest(s, ip))
			frames[n++] = ip | (exact ? MG_EXACT_IP : 0);
		if (!is_known(c, &cursor, ip, exact))
			break;
		exact = unw_is_signal_frame(&cursor) > 0;
		int step = unw_step(&cursor);
		if (step <= 0) {
			*whole = step == 0;
			break;
		}
	}
	return n;
}
