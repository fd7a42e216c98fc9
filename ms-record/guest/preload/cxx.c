/* SPDX-License-Identifier: MIT
 * The preload backend: C++'s operators new and delete, of allocators present from the start.
 *
 * The operators of libstdc++ and libc++ call malloc and free, and are recorded through them. Those
 * of tcmalloc or jemalloc allocate by themselves, and are called through a wrapper that records. If
 * such a provider calls malloc, free or another operator for the same block after all, the block is
 * counted once: mg_nesting_begin and mg_nesting_end. This file is compiled with unwind tables and
 * holds nothing across the call that an exception would have to undo.
 *
 * Only the constructor looks for providers, among the modules loaded at start: these come first in
 * the lookup of every module, and stay loaded. Operators that need no wrapper, or have no provider
 * yet, are removed from our own symbols: a module that refers to them from then on, for example one
 * opened later, gets from the dynamic linker what it would get without us.
 */
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

/* Numbers the operators; the first NEWS of them allocate. */
enum {
#define MS_HOOK_NEW(name) OPERATOR##name,
#include "format/functions.def"
	NEWS,
	LAST_NEW = NEWS - 1,
#define MS_HOOK_DELETE(name) OPERATOR##name,
#include "format/functions.def"
	OPERATORS
};

/* defined in operators.inc */
extern void *mg_cxx_target[OPERATORS] __attribute__((visibility("hidden")));
extern void *const mg_cxx_wrapper[OPERATORS] __attribute__((visibility("hidden")));
extern const char *const mg_cxx_name[OPERATORS] __attribute__((visibility("hidden")));

static void *provider[OPERATORS];
static bool foreign[NEWS]; /* true: the operator is in another module than malloc */

/* ---- calls of operators ------------------------------------------------------------------------
 *
 * The first argument is the one with which every operator new (a size) and delete (a block) begins;
 * operators.inc adds the last one.
 */

void *mg_cxx_new(size_t size, uint64_t b, uint64_t c, uint32_t i);
void *mg_cxx_new(size_t size, uint64_t b, uint64_t c, uint32_t i)
{
	mg_nesting_begin(NULL);
	mg_own.passed = NULL;
	void *block = ((void *(*)(size_t, uint64_t, uint64_t))provider[i])(size, b, c);
	if (mg_nesting_end(block) || (block && block == mg_own.passed))
		return block;
	if (!block)
		mg_on_failed(MG_FRAME, size);
	else if (foreign[i])
		mg_on_foreign_alloc(MG_FRAME, block, size);
	else
		mg_on_alloc(MG_FRAME, block, size);
	return block;
}

void mg_cxx_delete(void *block, uint64_t b, uint64_t c, uint32_t i);
void mg_cxx_delete(void *block, uint64_t b, uint64_t c, uint32_t i)
{
	if (block)
		mg_on_free(MG_FRAME, block);
	mg_nesting_begin(block);
	((void (*)(void *, uint64_t, uint64_t))provider[i])(block, b, c);
	mg_nesting_end(NULL);
}

/* Replaces an operator new that no module provides but a program refers to, or that is called
 * before the constructor. It cannot throw, so it returns NULL on failure. */
void *mg_cxx_plain_new(size_t size, uint64_t b, uint64_t c);
void *mg_cxx_plain_new(size_t size, uint64_t b, uint64_t c)
{
	(void)c;
	/* The second argument is an alignment if it is a small number, else the address of a
	 * nothrow_t. */
	return b >= 16 && b <= 4096 && !(b & (b - 1)) ? aligned_alloc(b, (size + b - 1) & ~(b - 1))
						      : malloc(size);
}

void mg_cxx_plain_delete(void *block);
void mg_cxx_plain_delete(void *block)
{
	free(block);
}

/* ---- providers ------------------------------------------------------------------------------- */

/* Looks up the provider of operator `i`, and tells whether its calls are recorded without a
 * wrapper. */
static bool look_up(uint32_t i)
{
	const struct link_map *m = NULL;
	void *p = mg_next(mg_cxx_name[i], &m);
	const char *name = p ? mg_base_name(m->l_name) : "";
	bool plain = !p || mg_starts(name, "libstdc++") || mg_starts(name, "libc++");
	provider[i] = p;
	if (i < NEWS)
		foreign[i] = m != mg_malloc_map;
	if (p)
		mg_cxx_target[i] = plain ? p : mg_cxx_wrapper[i];
	return plain;
}

void mg_cxx_init(void)
{
	struct mg_symbols y;
	mg_symbols_read(&y, mg_own_map);
	uint64_t first = (uint64_t)y.symbols & ~UINT64_C(4095);
	/* the string table follows the symbol table */
	uint64_t bytes = (uint64_t)y.strings - first;
	if (bytes > 65536 ||
	    mg_syscall(SYS_mprotect, first, bytes, PROT_READ | PROT_WRITE, 0, 0, 0))
		bytes = 0;
	for (uint32_t i = 0; i < OPERATORS; i++) {
		Elf64_Sym *own = (Elf64_Sym *)(uintptr_t)mg_symbol(&y, mg_cxx_name[i]);
		if (look_up(i) && bytes) {
			own->st_shndx = SHN_UNDEF;
			own->st_value = 0;
		}
	}
	if (bytes)
		mg_syscall(SYS_mprotect, first, bytes, PROT_READ, 0, 0, 0);
}
