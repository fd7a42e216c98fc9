/* SPDX-License-Identifier: MIT
 * Does a program have an operator new of its own that allocates by itself?
 *
 * One that calls malloc is recorded by that. Whether it does is read from its code: what it calls
 * or jumps to, and what that calls, as far as the addresses stand in the code. Calls through
 * pointers are not followed. What the file says may be anything: nothing is read outside of it.
 */
#include "hook_operators.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms-record/base/cpu.h"
#include "patch.h"

#define FUNCTIONS_MOST 64u
#define BODY_MOST 4096u
#define BODY_UNKNOWN 256u /* of a function without a symbol */

struct program {
	const uint8_t *file;
	uint64_t bytes;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	uint64_t todo[FUNCTIONS_MOST]; /* functions that are reached, each once */
	unsigned count;
	bool allocates; /* malloc and its like are reached */
};

static const void *part(const struct program *p, uint64_t offset, uint64_t bytes)
{
	return offset <= p->bytes && bytes <= p->bytes - offset ? p->file + offset : NULL;
}

/* Section `i`, or NULL if it is not of that type or not in the file. */
static const void *section(const struct program *p, unsigned i, uint32_t type, uint64_t *bytes)
{
	if (i >= p->head->e_shnum || p->sections[i].sh_type != type || p->sections[i].sh_offset % 8)
		return NULL;
	*bytes = p->sections[i].sh_size;
	return part(p, p->sections[i].sh_offset, *bytes);
}

static const char *name_of(const struct program *p, const Elf64_Shdr *table, const Elf64_Sym *y)
{
	if (table->sh_link >= p->head->e_shnum)
		return "";
	const Elf64_Shdr *s = &p->sections[table->sh_link];
	const char *names = part(p, s->sh_offset, s->sh_size);
	bool good = names && s->sh_size && !names[s->sh_size - 1] && y->st_name < s->sh_size;
	return good ? names + y->st_name : "";
}

/* The function of that name, or, without, at that address; NULL = there is no symbol. */
static const Elf64_Sym *find(const struct program *p, const char *wanted, uint64_t address,
			     const char **name)
{
	for (unsigned i = 0; i < p->head->e_shnum; i++) {
		uint64_t bytes;
		const Elf64_Sym *y = section(p, i, SHT_SYMTAB, &bytes);
		if (!y)
			y = section(p, i, SHT_DYNSYM, &bytes);
		for (uint64_t k = 0; y && k < bytes / sizeof *y; k++) {
			if (y[k].st_shndx == SHN_UNDEF || ELF64_ST_TYPE(y[k].st_info) != STT_FUNC ||
			    (!wanted && y[k].st_value != address))
				continue;
			*name = name_of(p, &p->sections[i], &y[k]);
			if (!wanted || !strcmp(*name, wanted))
				return &y[k];
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
	for (unsigned i = 0; i < p->head->e_shnum; i++) {
		uint64_t bytes, all;
		const Elf64_Rela *r = section(p, i, SHT_RELA, &bytes);
		unsigned table = p->sections[i].sh_link;
		const Elf64_Sym *y = r ? section(p, table, SHT_DYNSYM, &all) : NULL;
		for (uint64_t k = 0; y && k < bytes / sizeof *r; k++)
			if (r[k].r_offset == address && ELF64_R_SYM(r[k].r_info) < all / sizeof *y)
				return name_of(p, &p->sections[table],
					       &y[ELF64_R_SYM(r[k].r_info)]);
	}
	return "";
}

static const uint8_t *code_at(const struct program *p, uint64_t address, uint64_t *most)
{
	const Elf64_Phdr *h = part(p, p->head->e_phoff, p->head->e_phnum * sizeof *h);
	for (unsigned i = 0; h && i < p->head->e_phnum; i++) {
		uint64_t at = address - h[i].p_vaddr;
		if (h[i].p_type != PT_LOAD || !(h[i].p_flags & PF_X) || at >= h[i].p_filesz)
			continue;
		*most = h[i].p_filesz - at < *most ? h[i].p_filesz - at : *most;
		return part(p, h[i].p_offset + at, *most);
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
	p->head = part(p, 0, sizeof *p->head);
	if (!p->head || memcmp(p->head->e_ident, ELFMAG, SELFMAG) ||
	    p->head->e_ident[EI_CLASS] != ELFCLASS64 || p->head->e_machine != CPU_MACHINE ||
	    p->head->e_shentsize != sizeof(Elf64_Shdr) || p->head->e_shoff % 8 ||
	    p->head->e_phoff % 8)
		return false;
	p->sections = part(p, p->head->e_shoff, p->head->e_shnum * sizeof(Elf64_Shdr));
	const Elf64_Sym *y = p->sections ? find(p, "_Znwm", 0, &name) : NULL;
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
	struct stat st;
	bool own = false;
	int fd = openat(proc, "exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			p.file = file;
			p.bytes = (uint64_t)st.st_size;
			own = look(&p);
			munmap(file, (size_t)st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return own;
}
