/* SPDX-License-Identifier: MIT
 * Does a program have an operator new of its own that allocates by itself?
 *
 * One that calls malloc is recorded by that. Whether it does is read from its code: what it calls
 * or jumps to, and what that calls, as far as the addresses stand in the code. Calls through
 * pointers are not followed. What the file says may be anything: nothing is read outside of it.
 */
#include "hook_operators.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_branch(csh capstone, const cs_insn *in)
{
	return cs_insn_group(capstone, in, CS_GRP_CALL) || cs_insn_group(capstone, in, CS_GRP_JUMP);
}

/* What this function calls and jumps to. An exception that it throws has memory of its own. */
static void follow(struct program *p, csh capstone, uint64_t address)
{
	const char *name = "";
	const Elf64_Sym *y = find(p, NULL, address, &name);
	if (!strncmp(name, "__cxa_", 6))
		return;
	uint64_t bytes = y && y->st_size && y->st_size < BODY_MOST ? y->st_size
			 : y && y->st_size                         ? BODY_MOST
								   : BODY_UNKNOWN;
	const uint8_t *code = code_at(p, address, &bytes);
	cs_insn *in = NULL;
	size_t n = code ? cs_disasm(capstone, code, bytes, address, 0, &in) : 0;
	for (size_t i = 0; i < n; i++) {
		const cs_x86_op *to = &in[i].detail->x86.operands[0];
		if (!is_branch(capstone, &in[i]) || in[i].detail->x86.op_count != 1)
			continue;
		if (to->type == X86_OP_MEM && to->mem.base == X86_REG_RIP)
			p->allocates |= is_allocation(
				imported(p, in[i].address + in[i].size + (uint64_t)to->mem.disp));
		else if (to->type == X86_OP_IMM && (uint64_t)to->imm - address >= bytes)
			reach(p, (uint64_t)to->imm);
		if (!y && in[i].id == X86_INS_JMP)
			break; /* the end of a linkage table's entry */
	}
	if (n)
		cs_free(in, n);
	p->allocates |= address != p->todo[0] && is_allocation(name);
}

static bool look(struct program *p)
{
	const char *name;
	csh capstone;
	p->head = part(p, 0, sizeof *p->head);
	if (!p->head || memcmp(p->head->e_ident, ELFMAG, SELFMAG) ||
	    p->head->e_ident[EI_CLASS] != ELFCLASS64 || p->head->e_machine != EM_X86_64 ||
	    p->head->e_shentsize != sizeof(Elf64_Shdr) || p->head->e_shoff % 8 ||
	    p->head->e_phoff % 8)
		return false;
	p->sections = part(p, p->head->e_shoff, p->head->e_shnum * sizeof(Elf64_Shdr));
	const Elf64_Sym *y = p->sections ? find(p, "_Znwm", 0, &name) : NULL;
	if (!y || find(p, "malloc", 0, &name) || cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		return false;
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	reach(p, y->st_value);
	for (unsigned i = 0; i < p->count && !p->allocates; i++)
		follow(p, capstone, p->todo[i]);
	cs_close(&capstone);
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
