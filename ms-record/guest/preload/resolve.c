/* SPDX-License-Identifier: MIT
 * Finds the next provider of each function: in the modules behind us, by their hash tables.
 *
 * No dlsym: it takes the dynamic linker's lock, which dlopen holds while constructors run, changes
 * what dlerror says, and allocates. What was loaded at start stays loaded, in the order of the
 * linker's list, which is that of its look-ups; only that part is read here.
 *
 * Never `__libc_malloc` and the like: the program's allocator may be another one, and a block must
 * go back where it came from.
 */
#include <link.h>

#include "ms-record/guest/core.h"
#include "preload.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
/* Declares the lists of modules of glibc's and musl's dynamic linkers. This library is also
 * preloaded by musl's linker, if a glibc program executes a musl program. */
#pragma weak _r_debug
extern const struct r_debug *const _dl_debug_addr __attribute__((weak));

const struct link_map *mg_own_map, *mg_malloc_map;

/* ---- a module's symbols ---------------------------------------------------------------------- */

void mg_symbols_read(struct mg_symbols *y, const struct link_map *m)
{
	uint64_t bias = m->l_addr;
	*y = (struct mg_symbols){0};
	for (const Elf64_Dyn *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		/* The dynamic linker relocates this address in place, unless the segment is
		 * read-only. */
		const void *p = (void *)(d->d_un.d_ptr + (d->d_un.d_ptr < bias ? bias : 0));
		if (d->d_tag == DT_SYMTAB)
			y->symbols = p;
		else if (d->d_tag == DT_STRTAB)
			y->strings = p;
		else if (d->d_tag == DT_VERSYM)
			y->versions = p;
		else if (d->d_tag == DT_HASH)
			y->hash = p;
		else if (d->d_tag == DT_GNU_HASH)
			y->gnu_hash = p;
	}
}

/* Tells whether symbol `i` defines `name`, in its default version. */
static bool is_it(const struct mg_symbols *y, uint32_t i, const char *name)
{
	const Elf64_Sym *s = &y->symbols[i];
	const char *is = y->strings + s->st_name;
	for (; *is && *is == *name; is++)
		name++;
	return *is == *name && s->st_shndx != SHN_UNDEF && s->st_value &&
	       !(y->versions && y->versions[i] & 0x8000);
}

/* Returns a symbol's index; 0 = not found. */
static uint32_t index_of(const struct mg_symbols *y, const char *name)
{
	const uint32_t *h = y->gnu_hash;
	uint32_t hash = 5381, i = !h && y->hash ? y->hash[1] : 0;
	/* DT_HASH alone is so rare that it is searched linearly */
	while (i > 0 && !is_it(y, --i, name))
		continue;
	if (!h || !h[0])
		return i;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	const uint64_t *bloom = (const uint64_t *)(const void *)(h + 4);
	const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + h[2]);
	const uint32_t *chain = buckets + h[0] - h[1];
	uint64_t word = bloom[hash / 64 & (h[2] - 1)];
	if (word >> (hash & 63) & word >> (hash >> h[3] & 63) & 1)
		for (i = buckets[hash % h[0]]; i; i = chain[i] & 1 ? 0 : i + 1)
			if ((chain[i] ^ hash) < 2 && is_it(y, i, name))
				break;
	return i;
}

const Elf64_Sym *mg_symbol(const struct mg_symbols *y, const char *name)
{
	uint32_t i = y->symbols && y->strings ? index_of(y, name) : 0;
	return i ? y->symbols + i : NULL;
}

void *mg_next(const char *name, const struct link_map **where)
{
	for (const struct link_map *m = mg_own_map->l_next; m; m = m->l_next) {
		struct mg_symbols y;
		mg_symbols_read(&y, m);
		const Elf64_Sym *s = mg_symbol(&y, name);
		if (!s)
			continue;
		void *p = (void *)(m->l_addr + s->st_value);
		*where = m;
		return ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? ((void *(*)(void))p)() : p;
	}
	return NULL;
}

/* Returns the function of that name in the executable, the only module that the dynamic linker
 * searches before this library; or NULL. */
static void *ahead(const char *name)
{
	for (const struct link_map *m = (&_r_debug ? &_r_debug : _dl_debug_addr)->r_map;
	     m != mg_own_map; m = m->l_next) {
		struct mg_symbols y;
		mg_symbols_read(&y, m);
		const Elf64_Sym *s = mg_symbol(&y, name);
		if (s)
			return (void *)(m->l_addr + s->st_value);
	}
	return NULL;
}

/* ---- the functions before the first call ----------------------------------------------------- */

#define X(type, name, parameters, ...)                                                             \
	static type early_of_##name parameters                                                     \
	{                                                                                          \
		mg_resolve();                                                                      \
		return mg_real.name(__VA_ARGS__);                                                  \
	}
#include "next.def"

struct mg_real mg_real = {
#define X(type, name, ...) .name = early_of_##name,
#include "next.def"
	.mmap = mg_early_mmap, .munmap = mg_early_munmap, .mremap = mg_early_mremap};

void mg_resolve(void)
{
	const struct link_map *m;
	if (mg_own_map)
		return;
	for (m = (&_r_debug ? &_r_debug : _dl_debug_addr)->r_map; m->l_ld != _DYNAMIC;)
		m = m->l_next;
	mg_own_map = m;
#define NEXT(name) *(void **)(void *)&mg_real.name = mg_next(#name, &m);
#define X(type, name, ...) NEXT(name)
#include "next.def"
	NEXT(mmap)
	NEXT(munmap)
	NEXT(mremap)
	NEXT(on_exit)
	NEXT(__cxa_at_quick_exit)
	NEXT(dl_iterate_phdr)
	mg_exec_resolve();
	mg_next("malloc", &mg_malloc_map);
	*(void **)(void *)&mg_real.own_realloc = ahead("realloc");
}

/* ---- usable sizes ---------------------------------------------------------------------------- */

/* Requires that the function belongs to the same allocator as malloc: for a block of another
 * allocator, it would read bytes that are not a block header. */
bool mg_resolve_usable(void)
{
	const struct link_map *m = NULL;
	*(void **)(void *)&mg.usable = mg_next("malloc_usable_size", &m);
	if (m != mg_malloc_map)
		mg.usable = NULL;
	return mg.usable;
}
