/* SPDX-License-Identifier: MIT
 * Finds which functions a function calls, level by level, so that the symbols of a large file are
 * read once per level and not once per function.
 */
#include "hook_calls.h"

#include <string.h>

#include "libcommon/base/err.h"
#include "patch.h"

#define FUNCTIONS_MOST 64u
#define SLOTS_MOST 64u
#define BODY_MOST 4096u
#define BODY_FIRST 512u   /* bytes of a function searched for reads of its arguments */
#define BODY_UNKNOWN 256u /* bytes searched in a function without a symbol */

struct function {
	uint64_t address, bytes; /* address; size in bytes, 0 = no symbol, or its size is 0 */
	bool symbol, skipped;
};

struct walk {
	const struct hook_code *code;
	hook_calls_fn *is;
	const void *arg;
	uint64_t slots[SLOTS_MOST]; /* addresses of pointers, set by the linker, to functions
				       searched for */
	unsigned slot_count;
	struct function todo[FUNCTIONS_MOST]; /* functions reached so far, without duplicates */
	unsigned count;
	bool found;
};

/* ---- slots of the linker ---- */

static void take_slots(struct walk *w, const struct elfmap_table *names, const Elf64_Rela *r,
		       uint64_t n)
{
	for (uint64_t k = 0; k < n && w->slot_count < SLOTS_MOST; k++) {
		uint64_t symbol = ELF64_R_SYM(r[k].r_info);
		if (symbol && symbol < names->count &&
		    w->is(w->arg, elfmap_name(names, &names->symbols[symbol]), true))
			w->slots[w->slot_count++] = r[k].r_offset;
	}
}

static void find_slots(struct walk *w)
{
	const struct elfmap *m = w->code->file;
	struct elfmap_table names;
	for (unsigned i = 0; i < m->elf.section_count; i++) {
		const Elf64_Shdr *s = &m->elf.sections[i];
		const Elf64_Rela *r = s->sh_type == SHT_RELA && s->sh_offset % 8 == 0
					      ? elfmap_part(m, s->sh_offset, s->sh_size)
					      : NULL;
		if (r && elfmap_table(m, s->sh_link, &names))
			take_slots(w, &names, r, s->sh_size / sizeof *r);
	}
}

static bool is_slot(const struct walk *w, uint64_t address)
{
	for (unsigned i = 0; i < w->slot_count; i++)
		if (w->slots[i] == address)
			return true;
	return false;
}

/* ---- functions ---- */

static const uint8_t *code_at(const struct elfmap *m, uint64_t address, uint64_t *most)
{
	uint64_t at;
	const Elf64_Phdr *p = ms_elf_loaded(&m->elf, PF_X, address, &at);
	if (p && p->p_filesz - at < *most)
		*most = p->p_filesz - at;
	return p ? elfmap_part(m, p->p_offset + at, *most) : NULL;
}

static void reach(struct walk *w, uint64_t address)
{
	for (unsigned i = 0; i < w->count; i++)
		if (w->todo[i].address == address)
			return;
	if (w->count < FUNCTIONS_MOST)
		w->todo[w->count++] = (struct function){.address = address};
}

/* Stores the size of a function, and whether the search is for its name. Skips C++ runtime
 * functions (__cxa_): the memory that they allocate for exceptions does not count. */
static void take_symbol(struct walk *w, struct function *f, const Elf64_Sym *y, const char *name)
{
	f->symbol = true;
	f->bytes = y->st_size > f->bytes ? y->st_size : f->bytes;
	f->skipped |= !strncmp(name, "__cxa_", 6);
	w->found |= f != w->todo && w->is(w->arg, name, false);
}

static unsigned bit_of(uint64_t address)
{
	return address / 16 % 64;
}

/* Looks up the symbols of the functions added last, from index `first` on. */
static void look_up(struct walk *w, unsigned first)
{
	uint64_t some = 0;
	for (unsigned i = first; i < w->count; i++)
		some |= UINT64_C(1) << bit_of(w->todo[i].address);
	for (unsigned k = 0; k < w->code->n; k++) {
		const struct elfmap_table *t = &w->code->tables[k];
		for (size_t n = 0; n < t->count; n++) {
			const Elf64_Sym *y = &t->symbols[n];
			if (!(some >> bit_of(y->st_value) & 1) || y->st_shndx == SHN_UNDEF ||
			    ELF64_ST_TYPE(y->st_info) != STT_FUNC)
				continue;
			for (unsigned i = first; i < w->count; i++)
				if (w->todo[i].address == y->st_value)
					take_symbol(w, &w->todo[i], y, elfmap_name(t, y));
		}
	}
}

/* Describes the function being decoded. Branches within the function are ignored. */
struct body {
	struct walk *w;
	uint64_t address, bytes;
};

static void take_branch(void *arg, uint64_t to, bool slot)
{
	const struct body *b = arg;
	if (slot)
		b->w->found |= is_slot(b->w, to);
	else if (to - b->address >= b->bytes)
		reach(b->w, to);
}

/* Adds the functions that function `f` calls or jumps to. Code without a symbol may be an entry of
 * a linkage table, so it is decoded only up to its first jump. */
static void follow(struct walk *w, const struct function *f)
{
	struct body b = {w, f->address, f->bytes ? f->bytes : BODY_UNKNOWN};
	b.bytes = b.bytes < BODY_MOST ? b.bytes : BODY_MOST;
	const uint8_t *code = f->skipped ? NULL : code_at(w->code->file, f->address, &b.bytes);
	if (code && !patch_branches(code, b.bytes, f->address, !f->symbol, take_branch, &b))
		w->found = true; /* code that cannot be decoded counts as found */
}

bool hook_calls(const struct hook_code *c, uint64_t entry, unsigned depth, hook_calls_fn *is,
		const void *arg)
{
	struct walk w = {.code = c, .is = is, .arg = arg};
	find_slots(&w);
	reach(&w, entry);
	for (unsigned first = 0, level = 0; first < w.count && level <= depth && !w.found;
	     level++) {
		unsigned end = w.count;
		look_up(&w, first);
		for (; first < end && !w.found; first++) {
			struct function f = w.todo[first]; /* a copy, because follow() may extend
							      the list */
			if (level < depth || !f.symbol)
				follow(&w, &f);
		}
	}
	return w.found;
}

/* ---- arguments ---- */

/* Holds which of the original arguments reach each function unchanged, one bit per argument. */
struct passed {
	struct walk *w;
	unsigned holds[FUNCTIONS_MOST]; /* argument bits, by index in todo */
	unsigned now;                   /* argument bits of the function being decoded */
};

static void take_passed(void *arg, uint64_t to, unsigned holds)
{
	struct passed *p = arg;
	if (holds & p->now)
		reach(p->w, to);
	for (unsigned i = 0; i < p->w->count; i++)
		if (p->w->todo[i].address == to)
			p->holds[i] |= holds & p->now;
}

static bool is_nothing(const void *unused, const char *name, bool imported)
{
	(void)unused, (void)name, (void)imported;
	return false;
}

unsigned hook_arguments(const struct hook_code *c, uint64_t entry, unsigned depth)
{
	struct walk w = {.code = c, .is = is_nothing};
	struct passed p = {.w = &w, .holds = {15}};
	unsigned read = 0;
	reach(&w, entry);
	for (unsigned first = 0, level = 0; first < w.count && level <= depth; level++) {
		unsigned end = w.count;
		look_up(&w, first);
		for (; first < end; first++) {
			const struct function *f = &w.todo[first];
			uint64_t bytes = f->bytes < BODY_FIRST ? f->bytes : BODY_FIRST;
			const uint8_t *code =
				f->bytes ? code_at(c->file, f->address, &bytes) : NULL;
			p.now = p.holds[first];
			if (code)
				read |= p.now &
					patch_arguments(code, bytes, f->address, take_passed, &p);
		}
	}
	return read;
}

/* ---- callees ---- */

struct callees {
	uint64_t low, high; /* address range of the function */
	uint64_t *v;
	unsigned n, most;
};

static void take_callee(void *arg, uint64_t to, bool slot)
{
	struct callees *c = arg;
	if (!slot && (to < c->low || to >= c->high) && c->n < c->most)
		c->v[c->n++] = to;
}

unsigned hook_callees(const struct hook_code *c, const Elf64_Sym *y, uint64_t *v, unsigned most)
{
	struct callees all = {y->st_value, y->st_value + y->st_size, v, 0, most};
	uint64_t bytes = y->st_size < BODY_MOST ? y->st_size : BODY_MOST;
	const uint8_t *code = bytes ? code_at(c->file, y->st_value, &bytes) : NULL;
	if (code)
		patch_branches(code, bytes, y->st_value, false, take_callee, &all);
	return all.n;
}

/* ---- behind a jump ---- */

/* Tells whether the code at `entry` can be hooked. */
static bool can_be_hooked(const struct elfmap *m, uint64_t entry)
{
	struct patch p = {0};
	struct ms_err ignored = {0};
	uint64_t bytes = BODY_FIRST;
	const uint8_t *code = code_at(m, entry, &bytes);
	return code && !patch_plan(&p, entry, code, bytes, 0, entry, &ignored);
}

uint64_t hook_begins(const struct hook_code *c, const Elf64_Sym *y)
{
	uint64_t bytes = y->st_size < BODY_MOST ? y->st_size : BODY_MOST;
	const uint8_t *code = bytes ? code_at(c->file, y->st_value, &bytes) : NULL;
	uint64_t to = code ? patch_leads(y->st_value, code, bytes) : 0;
	return to && can_be_hooked(c->file, to) ? to : y->st_value;
}
