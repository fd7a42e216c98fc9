/* SPDX-License-Identifier: MIT
 * Does a program have an operator new of its own that allocates by itself?
 *
 * One that calls malloc is recorded by that. Whether it does is read from its code: what it calls
 * or jumps to, and what that calls, as far as the addresses stand in the code. Calls through
 * pointers are not followed. What the file says may be anything: nothing is read outside of it.
 */
#include "hook_families.h"

#include <fcntl.h>
#include <string.h>

#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/elfmap.h"
#include "patch.h"

#define FUNCTIONS_MOST 64u
#define BODY_MOST 4096u
#define BODY_UNKNOWN 256u /* of a function without a symbol */

struct program {
	struct elfmap map;
	uint64_t todo[FUNCTIONS_MOST]; /* functions that are reached, each once */
	unsigned count;
	bool allocates; /* malloc and its like are reached */
};

/* The function of that name, or, without, at that address; NULL = there is no symbol. */
static const Elf64_Sym *find(const struct program *p, const char *wanted, uint64_t address,
			     const char **name)
{
	struct elfmap_table t;
	for (unsigned i = 0; i < p->map.head->e_shnum; i++) {
		size_t n = elfmap_table(&p->map, i, &t) ? t.count : 0;
		for (size_t k = 0; k < n; k++) {
			const Elf64_Sym *y = &t.symbols[k];
			if (y->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(y->st_info) != STT_FUNC ||
			    (!wanted && y->st_value != address))
				continue;
			*name = elfmap_name(&t, y);
			if (!wanted || !strcmp(*name, wanted))
				return y;
		}
	}
	return NULL;
}

static bool is_allocation(const char *name)
{
	static const char *const names[] = {"malloc",  "calloc",        "realloc", "memalign",
					    "valloc",  "aligned_alloc", "pvalloc", "posix_memalign",
					    "mallocx", "__libc_malloc"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The name of what the linker puts at that address. */
static const char *imported(const struct program *p, uint64_t address)
{
	struct elfmap_table t;
	for (unsigned i = 0; i < p->map.head->e_shnum; i++) {
		uint64_t bytes;
		const Elf64_Rela *r = elfmap_section(&p->map, i, SHT_RELA, &bytes);
		unsigned table = p->map.sections[i].sh_link;
		if (!r || table >= p->map.head->e_shnum || !elfmap_table(&p->map, table, &t))
			continue;
		for (uint64_t k = 0; k < bytes / sizeof *r; k++)
			if (r[k].r_offset == address && ELF64_R_SYM(r[k].r_info) < t.count)
				return elfmap_name(&t, &t.symbols[ELF64_R_SYM(r[k].r_info)]);
	}
	return "";
}

static const uint8_t *code_at(const struct program *p, uint64_t address, uint64_t *most)
{
	const Elf64_Ehdr *e = p->map.head;
	const Elf64_Phdr *h = elfmap_part(&p->map, e->e_phoff, e->e_phnum * sizeof *h);
	for (unsigned i = 0; h && i < e->e_phnum; i++) {
		uint64_t at = address - h[i].p_vaddr;
		if (h[i].p_type != PT_LOAD || !(h[i].p_flags & PF_X) || at >= h[i].p_filesz)
			continue;
		*most = h[i].p_filesz - at < *most ? h[i].p_filesz - at : *most;
		return elfmap_part(&p->map, h[i].p_offset + at, *most);
	}
	return NULL;
}

static void reach(struct program *p, uint64_t address)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->todo[i] == address)
			return;
	if (p->count < FUNCTIONS_MOST)
		p->todo[p->count++] = address;
}

/* A function in hand: of its branches those out of it count. */
struct body {
	struct program *p;
	uint64_t address, bytes;
};

static void take_branch(void *arg, uint64_t to, bool slot)
{
	const struct body *b = arg;
	if (slot)
		b->p->allocates |= is_allocation(imported(b->p, to));
	else if (to - b->address >= b->bytes)
		reach(b->p, to);
}

/* What this function calls and jumps to. An exception that it throws has memory of its own. What
 * has no symbol may be an entry of a linkage table, which a jump ends. */
static void follow(struct program *p, uint64_t address)
{
	const char *name = "";
	const Elf64_Sym *y = find(p, NULL, address, &name);
	if (!strncmp(name, "__cxa_", 6))
		return;
	struct body b = {p, address, y && y->st_size ? y->st_size : BODY_UNKNOWN};
	b.bytes = b.bytes < BODY_MOST ? b.bytes : BODY_MOST;
	const uint8_t *code = code_at(p, address, &b.bytes);
	if (code && !patch_branches(code, b.bytes, address, !y, take_branch, &b))
		p->allocates = true; /* it is not known */
	p->allocates |= address != p->todo[0] && is_allocation(name);
}

static bool look(struct program *p)
{
	const char *name;
	if (p->map.head->e_machine != CPU_MACHINE || p->map.head->e_phoff % 8)
		return false;
	const Elf64_Sym *y = find(p, "_Znwm", 0, &name);
	if (!y || find(p, "malloc", 0, &name))
		return false;
	reach(p, y->st_value);
	for (unsigned i = 0; i < p->count && !p->allocates; i++)
		follow(p, p->todo[i]);
	return !p->allocates;
}

bool hook_operators_own(int proc)
{
	struct program p = {0};
	int fd = openat(proc, "exe", O_RDONLY | O_CLOEXEC);
	bool own = elfmap_open(&p.map, fd) && look(&p);
	elfmap_close(&p.map);
	descriptor_close(fd);
	return own;
}
