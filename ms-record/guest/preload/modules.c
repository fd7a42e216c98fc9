/* SPDX-License-Identifier: MIT
 * The preload backend: maintains the table of modules, filled at the start from the dynamic linker,
 * then at the first sight of an address, and corrected around dlclose.
 *
 * One thread writes at a time, under a lock that is never waited for: a thread that finds it taken
 * treats the address as unknown for now, which costs a stack copy and is never wrong. Readers use
 * the entries below module_count, which is stored with release after the entry, unless they are
 * closed: a reused entry is closed until it is complete. _dl_find_object (glibc 2.35) reports
 * without a lock what is mapped now, so a module that was unloaded or replaced without a dlclose
 * that we see (gconv, NSS) is noticed at the next new address in its range.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

#define NOTES_MOST 4096u
#define ASKED_MS 1000u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/* Holds data of a module that only this process needs, at the same index as in the table of
 * modules. */
struct module_facts {
	/* copy of the table's entry, for use after a fork, when the table belongs to the parent
	 * process */
	struct mg_module module;
	uint64_t low, high;
	uint64_t code_low, code_high; /* the largest readable code segment */
	uint32_t seen;                /* number of the last scan that found the module */
	bool known;                   /* ms-record has opened the module's file */
};
static struct module_facts *facts;
static uint32_t lock, scan_number;
static uint32_t count; /* number of entries that this process made */

/* Hashes, of path and build-id, of the files that ms-record has opened: a plugin that is opened
 * and closed repeatedly waits for ms-record only once. */
#define KNOWN_FILES 256u
static uint64_t known_files[KNOWN_FILES];
static bool unanswered;

extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

static int32_t find_open(uint64_t ip)
{
	uint32_t n = __atomic_load_n(&mg.session->module_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = n; i-- > 0;) {
		const struct mg_module *m = &mg.modules[i];
		if (!__atomic_load_n(&m->closed, __ATOMIC_ACQUIRE) &&
		    ip - m->start < m->end - m->start)
			return (int32_t)i;
	}
	return -1;
}

/* ---- identifying the file ---- */

/* Stores the build-id found among the notes at `at`. */
static void read_notes(struct mg_module *m, uint64_t at, uint64_t bytes)
{
	static const char owner[4] = "GNU";
	bytes = bytes < NOTES_MOST ? bytes : NOTES_MOST;
	for (uint64_t end = at + bytes; end - at >= sizeof(Elf64_Nhdr) + sizeof owner;) {
		const Elf64_Nhdr *h = (const void *)at;
		uint64_t name = at + sizeof *h,
			 desc = name + ((h->n_namesz + UINT64_C(3)) & ~UINT64_C(3)),
			 next = desc + ((h->n_descsz + UINT64_C(3)) & ~UINT64_C(3));
		if (next > end)
			return;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == sizeof owner &&
		    !__builtin_memcmp((const void *)name, owner, sizeof owner) &&
		    h->n_descsz <= sizeof m->build_id) {
			__builtin_memcpy(m->build_id, (const void *)desc, h->n_descsz);
			m->build_id_bytes = h->n_descsz;
			return;
		}
		at = next;
	}
}

/* Finds the build ID among the notes; reads only notes that lie in a readable segment. */
static void find_build_id(struct mg_module *m, const Elf64_Phdr *ph, unsigned n)
{
	for (unsigned i = 0; i < n && !m->build_id_bytes; i++)
		for (unsigned k = 0; k < n && ph[i].p_type == PT_NOTE; k++)
			if (ph[k].p_type == PT_LOAD && ph[k].p_flags & PF_R &&
			    ph[i].p_vaddr - ph[k].p_vaddr < ph[k].p_filesz &&
			    ph[i].p_filesz <= ph[k].p_filesz - (ph[i].p_vaddr - ph[k].p_vaddr))
				read_notes(m, m->bias + ph[i].p_vaddr, ph[i].p_filesz);
}

/* Returns a hash that identifies the file; 0 = without a build-id it cannot be identified. */
static uint64_t file_hash(const struct mg_module *m)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (uint32_t i = 0; i < m->build_id_bytes; i++)
		h = (h ^ m->build_id[i]) * UINT64_C(0x100000001b3);
	for (const char *p = m->path; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	return m->build_id_bytes ? h | 1 : 0;
}

static bool is_known_file(uint64_t hash)
{
	return hash && known_files[hash / 2 % KNOWN_FILES] == hash;
}

/* ---- the table ---- */

/* Fills in the members that follow from the program headers, and the segment that holds
 * .eh_frame_hdr. */
static bool describe(struct mg_module *m, struct module_facts *im, uint64_t bias,
		     const Elf64_Phdr *ph, unsigned n)
{
	*im = (struct module_facts){0};
	*m = (struct mg_module){.start = UINT64_MAX, .bias = bias, .closed = 1};
	for (unsigned i = 0; i < n; i++) {
		uint64_t low = bias + ph[i].p_vaddr, high = low + ph[i].p_memsz;
		if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->eh_frame_hdr = low;
			m->eh_frame_hdr_bytes = ph[i].p_memsz;
		}
		if (ph[i].p_type != PT_LOAD)
			continue;
		if ((low & ~UINT64_C(4095)) < m->start)
			m->start = low & ~UINT64_C(4095);
		if (high > m->end)
			m->end = (high + 4095) & ~UINT64_C(4095);
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t low = bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_LOAD && m->eh_frame_hdr - low < ph[i].p_filesz &&
		    ph[i].p_flags & PF_R) {
			im->low = low;
			im->high = low + ph[i].p_filesz;
		}
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
		    ph[i].p_filesz > im->code_high - im->code_low) {
			im->code_low = low;
			im->code_high = low + ph[i].p_filesz;
		}
	}
	if (!im->low)
		m->eh_frame_hdr = m->eh_frame_hdr_bytes = 0;
	find_build_id(m, ph, n);
	return m->start < m->end;
}

static void new_epoch(void)
{
	mg.epoch = __atomic_add_fetch(&mg.session->epoch, 1, __ATOMIC_SEQ_CST);
}

static void close_module(uint32_t i)
{
	struct mg_module *m = &mg.modules[i], *ours = &facts[i].module;
	m->epoch_closed = ours->epoch_closed =
		__atomic_load_n(&mg.session->epoch, __ATOMIC_RELAXED);
	ours->closed = mg_clock();
	__atomic_store_n(&m->closed, ours->closed, __ATOMIC_RELEASE);
}

/* Tells whether entry `i` of the table has memory. ms-record allocates some in good time, unless more
 * modules are loaded at a time than it expects; then the kernel is asked for it, because a write
 * would end the process if there were none. */
static bool has_memory(uint32_t i)
{
	if (i < __atomic_load_n(&mg.session->modules_ready, __ATOMIC_ACQUIRE))
		return true;
	uint64_t from = (uint64_t)&mg.modules[i] & ~UINT64_C(4095);
	uint64_t bytes = (uint64_t)&mg.modules[i + 1] - from;
	__atomic_fetch_add(&mg.calling, 1, __ATOMIC_SEQ_CST); /* see C1 in confine.c */
	bool has = !mg_filtered() &&
		   !mg_syscall(SYS_madvise, from, bytes, MADV_POPULATE_WRITE, 0, 0, 0);
	__atomic_fetch_sub(&mg.calling, 1, __ATOMIC_SEQ_CST);
	return has;
}

/* Returns the index of the entry for a module, a new one if needed, or -1. Closes modules that
 * overlap it. The lock has to be held. */
static int32_t add(const struct mg_module *new, const struct module_facts *im, const char *path)
{
	uint32_t n = mg.session->module_count, at = n;
	bool replaced = false;
	for (uint32_t i = 0; i < n; i++) {
		struct mg_module *o = &mg.modules[i];
		if (o->taken)
			at = i;
		if (o->closed || o->start >= new->end || new->start >= o->end)
			continue;
		facts[i].seen = scan_number;
		if (o->start == new->start && o->eh_frame_hdr == new->eh_frame_hdr)
			return (int32_t)i;
		close_module(i);
		replaced = true;
	}
	if (at >= mg.session->module_max || !has_memory(at))
		return -1;
	struct mg_module *m = &mg.modules[at];
	*m = *new;
	mg_append(m->path, sizeof(m->path), 0, path ? path : "");
	m->frames = m->eh_frame_hdr ? 0 : mg_frames_of(m->start);
	m->loaded = mg_clock();
	m->epoch_loaded = mg.session->epoch;
	if ((uint64_t)&facts - m->start < m->end - m->start)
		m->flags |= MG_MODULE_GUEST;
	if (mg_starts(m->path, "linux-vdso"))
		m->flags |= MG_MODULE_VDSO;
	if (!n)
		m->flags |= MG_MODULE_EXE;
	facts[at] = *im;
	facts[at].seen = scan_number;
	facts[at].known = is_known_file(file_hash(m));
	__atomic_store_n(&m->closed, 0, __ATOMIC_RELEASE);
	facts[at].module = *m;
	count = n + (at == n);
	__atomic_store_n(&mg.session->module_count, count, __ATOMIC_RELEASE);
	if (replaced)
		new_epoch();
	return (int32_t)at;
}

static int scan_one(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	struct mg_module m;
	struct module_facts im;
	if (describe(&m, &im, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum))
		add(&m, &im, info->dlpi_name);
	return 0;
}

/* Updates the table from the dynamic linker's list, and closes modules missing from the list.
 * Not to be called from a hook, because it takes the linker's lock. */
static void scan(void)
{
	if (!mg_try_lock(&lock, 100000))
		return;
	scan_number++;
	mg_real.dl_iterate_phdr(scan_one, NULL);
	for (uint32_t i = 0; i < mg.session->module_count; i++)
		if (!mg.modules[i].closed && facts[i].seen != scan_number)
			close_module(i);
	mg_unlock(&lock);
}

static bool some_unknown(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!mg.modules[i].closed && !facts[i].known)
			return true;
	return false;
}

static void note_known(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (mg.modules[i].closed || facts[i].known)
			continue;
		uint64_t hash = file_hash(&mg.modules[i]);
		facts[i].known = true;
		if (hash)
			known_files[hash / 2 % KNOWN_FILES] = hash;
	}
}

/* Has ms-record open the files of mapped modules, because the program may remove or replace them
 * at any time. Waits at most ASKED_MS. Does not wait once ms-record has failed to answer in
 * time, nor under a seccomp filter, under which ms-record cannot be woken. */
static void have_files_opened(void)
{
	struct mg_session *s = mg.session;
	uint32_t n = __atomic_load_n(&s->module_count, __ATOMIC_ACQUIRE), looked;
	if (unanswered || mg_filtered() || !some_unknown(n) || mg_nobody_records(s))
		return;
	uint32_t asked = __atomic_add_fetch(&s->modules_asked, 1, __ATOMIC_SEQ_CST);
	uint64_t start = mg_ticks(), most = s->tsc_hz / 1000 * ASKED_MS;
	mg_wake_recorder();
	while ((int32_t)((looked = __atomic_load_n(&s->modules_looked, __ATOMIC_ACQUIRE)) - asked) <
	       0) {
		if (mg_ticks() - start > most || mg_nobody_records(s)) {
			unanswered = true;
			return;
		}
		mg_futex(&s->modules_looked, MG_FUTEX_WAIT, looked, 20000000);
	}
	note_known(n);
}

void mg_modules_before_close(void)
{
	have_files_opened();
#ifndef MG_SEED_EPOCH
	__atomic_fetch_add(&mg.closing, 1, __ATOMIC_SEQ_CST);
	new_epoch();
#endif
}

void mg_modules_after_close(void)
{
#ifndef MG_SEED_EPOCH
	scan();
	new_epoch();
	__atomic_fetch_sub(&mg.closing, 1, __ATOMIC_SEQ_CST);
#endif
}

static int32_t add_object(const struct dl_find_object *o)
{
	const struct link_map *map = o->dlfo_link_map;
	const Elf64_Ehdr *e = o->dlfo_map_start;
	struct mg_module m;
	struct module_facts im;
	if (!map || e->e_ident[0] != 0x7f || e->e_ident[1] != 'E' || e->e_ident[2] != 'L' ||
	    e->e_ident[3] != 'F' || e->e_phentsize != sizeof(Elf64_Phdr) ||
	    e->e_phoff + e->e_phnum * sizeof(Elf64_Phdr) > 4096)
		return -1;
	const Elf64_Phdr *ph = (const void *)((const char *)e + e->e_phoff);
	if (!describe(&m, &im, map->l_addr, ph, e->e_phnum) || !mg_try_lock(&lock, 1))
		return -1;
	int32_t r = add(&m, &im, map->l_name);
	mg_unlock(&lock);
	return r;
}

/* Returns the index of the module now mapped at `ip`, or -1. */
static int32_t module_at(uint64_t ip)
{
	int32_t i = find_open(ip);
	struct dl_find_object o;
	if (!_dl_find_object || (i >= 0 && mg.modules[i].flags & MG_MODULE_VDSO))
		return i;
	if (_dl_find_object((void *)ip, &o)) {
		if (i >= 0 && mg_try_lock(&lock, 1)) {
			close_module((uint32_t)i);
			new_epoch();
			mg_unlock(&lock);
		}
		return -1;
	}
#ifndef MG_SEED_EPOCH
	if (i >= 0 &&
	    ((uint64_t)o.dlfo_eh_frame == mg.modules[i].eh_frame_hdr ||
	     (!mg.modules[i].eh_frame_hdr && (uint64_t)o.dlfo_map_start == mg.modules[i].start)))
		return i;
#else
	if (i >= 0 && mg.modules[i].start == (uint64_t)o.dlfo_map_start)
		return i;
#endif
	return add_object(&o);
}

bool mg_find_unwind_info(uint64_t ip, struct mg_unwind_info *info)
{
	int32_t i = module_at(ip);
	if (i < 0)
		return false;
	const struct mg_module *m = &mg.modules[i];
	const struct module_facts *im = &facts[i];
	*info = (struct mg_unwind_info){
		m->start,     m->end,        im->low, im->high, m->eh_frame_hdr,
		im->code_low, im->code_high, NULL,    0};
	mg_unwind_info_frames(info, im->module.frames);
	return true;
}

size_t mg_modules_bytes(uint32_t module_max)
{
	return module_max * sizeof(struct module_facts);
}

void mg_modules_init(void *memory)
{
	facts = memory;
	scan();
	__atomic_store_n(&mg.session->modules_first, count, __ATOMIC_RELEASE);
}

/* Copies only entries that this process made itself: the parent's table may have changed, or
 * belong to another process. */
void mg_modules_forked(void)
{
	struct mg_session *s = mg.session;
	uint32_t n = count < s->module_max ? count : s->module_max;
	for (uint32_t i = 0; i < n; i++)
		mg.modules[i] = facts[i].module;
	__atomic_store_n(&s->epoch, mg.epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&s->module_count, n, __ATOMIC_RELEASE);
	lock = 0;
	unanswered = false;
}
