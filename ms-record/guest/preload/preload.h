/* SPDX-License-Identifier: MIT
 * The preload backend: what its files offer each other.
 */
#pragma once

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/tell.h"

/* The C library's stack_t. */
struct mg_signal_stack {
	void *start;
	int flags;
	size_t bytes;
};

#define MG_EXPORT __attribute__((visibility("default")))

/* Declares what has a next provider, and what else is exported. */
#define X(type, name, parameters, ...) type name parameters;
#include "next.def"
void *reallocarray(void *old, size_t n, size_t size);
void *mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int munmap(void *address, size_t bytes);
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);
_Noreturn void _Exit(int status);
void memscope_v1_mark(const char *name);
void memscope_v1_alloc(const void *block, size_t size);
void memscope_v1_free(const void *block);
void memscope_v1_realloc(const void *old, const void *block, size_t size);
void memscope_v1_pause(void);
void memscope_v1_pool_create(const void *pool, const char *name);
void memscope_v1_pool_alloc(const void *pool, const void *block, size_t size);
void memscope_v1_pool_reset(const void *pool);
void memscope_v1_pool_destroy(const void *pool);
void memscope_v1_resume(void);
void memscope_v1_ignore(const void *block);
void memscope_v1_root(const void *start, size_t bytes);

/* The next provider's functions. Until the first call each is a function that looks all of them up.
 */
struct dl_phdr_info;
struct mg_real {
#define X(type, name, parameters, ...) type(*name) parameters;
#include "next.def"
	void *(*own_realloc)(void *,
			     size_t); /* the program's, which is bound before ours; or NULL */
	void *(*mmap)(void *, size_t, int, int, int, long);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	/* functions of the C library, where a sanitizer in the program has its own, which is not
	 * ready yet */
	int (*on_exit)(void (*f)(int, void *), void *arg);
	int (*__cxa_at_quick_exit)(void (*f)(void *), void *dso);
	int (*dl_iterate_phdr)(int (*f)(struct dl_phdr_info *, size_t, void *), void *arg);
};
extern struct mg_real mg_real __attribute__((visibility("hidden")));

/* preload.c: what the entry points of entry.c do but for most calls while sampling. */
void *mg_malloc(size_t size);
void *mg_calloc(size_t n, size_t size);
void *mg_realloc(void *old, size_t size);
void mg_free(void *block);
void *mg_reallocarray(void *old, size_t n, size_t size);

/* Looks the functions up, once. */
void mg_resolve(void);
/* Points to our module and to the one whose malloc is the next, once mg_resolve has run. */
struct link_map;
extern const struct link_map *mg_own_map __attribute__((visibility("hidden")));
extern const struct link_map *mg_malloc_map __attribute__((visibility("hidden")));
/* The next provider's function of that name, and its module, or NULL. From the constructor only. */
void *mg_next(const char *name, const struct link_map **where);
/* Holds what is read of a module's symbols. mg_symbol returns the one that the module defines under
 * that name, or NULL. */
struct mg_symbols {
	const Elf64_Sym *symbols;
	const char *strings;
	const uint16_t *versions;
	const uint32_t *hash, *gnu_hash;
};
void mg_symbols_read(struct mg_symbols *y, const struct link_map *m);
const Elf64_Sym *mg_symbol(const struct mg_symbols *y, const char *name);
/* Sets mg.usable, if the allocator behind malloc tells usable sizes. False = it does not. */
bool mg_resolve_usable(void);
/* mapped.c: the functions above as they are before they were looked up. */
void *mg_early_mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int mg_early_munmap(void *address, size_t bytes);
void *mg_early_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);

/* arenas.c: memory of the allocator's own. Anonymous memory was mapped at `address`, by the code at
 * `caller`; address space is about to be unmapped, or was mapped by anybody. */
void mg_arena_mapped(const void *caller, const void *address, uint64_t bytes);
void mg_arena_gone(const void *address, uint64_t bytes);
/* The end of the heap was moved up; the C library does not call us for that. */
void mg_arena_brk(void);
/* From the constructor: the allocator is known now, and is or is not the C library's. */
void mg_arenas_init(bool by_libc);

/* roots.c: from the constructor: ms-record may read the program's roots. */
void mg_roots_init(void);

/* cxx.c: from the constructor: which of C++'s operators need a wrapper. */
void mg_cxx_init(void);

/* end_frame.c: notes from where the calling thread ends the process, as seen from a function of ours
 * with that frame, below which its caller's registers are saved; NULL = that is not known. Init: from
 * the constructor. */
struct mg_end_frame *mg_end_frame_note(const uint64_t *frame);
void mg_end_frame_init(void);

struct mg_session;
/* custom_preload.c: what the session says is to be hooked. `fd`: the socket to ms-record, which
 * does it. */
void mg_custom_prepare(struct mg_session *s, int fd);

/* exec.c: finds the next providers of exec and posix_spawn. */
void mg_exec_resolve(void);
/* The function that NAME_preload.S goes on to, from that one of the calls in exec.c, with its first
 * two parameters. */
void *mg_exec_next(uint32_t which, const char *first, const char *second);
/* start.c: the name of ms-record's socket; "" = nobody answered there. */
const char *mg_socket_name(void);
/* The value of a variable of the program's environment, or NULL; "NAME=". */
const char *mg_variable(const char *name);

/* end.c: has the end of the process wait for ms-record, from the constructor on. */
void mg_end_init(void);

/* modules.c: the table of modules in the session. Private memory of mg_modules_bytes() bytes,
 * zeroed, is kept. */
size_t mg_modules_bytes(uint32_t module_max);
void mg_modules_init(void *memory);
/* Around the real dlclose. */
void mg_modules_before_close(void);
void mg_modules_after_close(void);
/* In a forked child: fills the new session's table with what was there at the fork. */
void mg_modules_forked(void);
struct mg_unwind_info;
/* The module that holds `ip`, added to the table at first sight. Without a lock; false = unknown.
 */
bool mg_find_unwind_info(uint64_t ip, struct mg_unwind_info *info);

/* A lock that nobody waits for long: false = it is taken. */
static inline bool mg_try_lock(uint32_t *lock, unsigned tries)
{
	while (tries--) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return true;
		mg_relax();
	}
	return false;
}
static inline void mg_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
