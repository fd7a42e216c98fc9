/* SPDX-License-Identifier: MIT
 * Declares what the files of the preload backend share.
 */
#pragma once

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/tell.h"

/* Mirrors the C library's stack_t. */
struct mg_signal_stack {
	void *start;
	int flags;
	size_t bytes;
};

#define MG_EXPORT __attribute__((visibility("default")))

/* Declares the interposed functions that have a next provider, then the other exported
 * functions. */
#define X(type, name, parameters, ...) type name parameters;
#include "next.def"
void *reallocarray(void *old, size_t n, size_t size);
void *mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int munmap(void *address, size_t bytes);
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);
_Noreturn void _Exit(int status);
void memscope_v1_mark(const char *name);
void memscope_v1_label_push(const char *label);
void memscope_v1_label_pop(void);
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

/* Holds pointers to the next provider's functions. Initially, each leads to a function that
 * looks up all of them. */
struct dl_phdr_info;
struct mg_real {
#define X(type, name, parameters, ...) type(*name) parameters;
#include "next.def"
	void *(*own_realloc)(void *,
			     /* the program's own realloc, which symbol lookup finds before ours;
			      * or NULL */
			     size_t);
	void *(*mmap)(void *, size_t, int, int, int, long);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	/* Functions of the C library itself. A sanitizer in the program may define its own
	 * versions, which are not initialized yet. */
	int (*on_exit)(void (*f)(int, void *), void *arg);
	int (*__cxa_at_quick_exit)(void (*f)(void *), void *dso);
	int (*dl_iterate_phdr)(int (*f)(struct dl_phdr_info *, size_t, void *), void *arg);
};
extern struct mg_real mg_real __attribute__((visibility("hidden")));

/* preload.c: the slow paths of entry.c's entry points, which entry.c skips for most calls while
 * sampling. */
void *mg_malloc(size_t size);
void *mg_calloc(size_t n, size_t size);
void *mg_realloc(void *old, size_t size);
void mg_free(void *block);
void *mg_reallocarray(void *old, size_t n, size_t size);

/* Looks up the functions of mg_real, once. */
void mg_resolve(void);
/* Points to the guest's module, and to the module of the next malloc, once mg_resolve has run. */
struct link_map;
extern const struct link_map *mg_own_map __attribute__((visibility("hidden")));
extern const struct link_map *mg_malloc_map __attribute__((visibility("hidden")));
/* Returns the next provider's function of that name, and its module in *where; or NULL. To be
 * called from the constructor only. */
void *mg_next(const char *name, const struct link_map **where);
/* Holds the tables of a module's symbols. mg_symbol returns the symbol that the module defines
 * under that name, or NULL. */
struct mg_symbols {
	const Elf64_Sym *symbols;
	const char *strings;
	const uint16_t *versions;
	const uint32_t *hash, *gnu_hash;
};
void mg_symbols_read(struct mg_symbols *y, const struct link_map *m);
const Elf64_Sym *mg_symbol(const struct mg_symbols *y, const char *name);
/* Sets mg.usable if the allocator behind malloc reports usable sizes. Returns false if it does
 * not. */
bool mg_resolve_usable(void);
/* mapped.c: the values of mg_real's mmap, munmap and mremap before the lookup. */
void *mg_early_mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int mg_early_munmap(void *address, size_t bytes);
void *mg_early_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);

/* arenas.c: tracks the allocator's own memory. mg_arena_mapped: anonymous memory was mapped at
 * `address`, by the code at `caller`. mg_arena_gone: this address space is about to be unmapped,
 * or was mapped by other code. */
void mg_arena_mapped(const void *caller, const void *address, uint64_t bytes);
void mg_arena_gone(const void *address, uint64_t bytes);
/* Notes that the end of the heap was moved up; the C library does not report that to the guest. */
void mg_arena_brk(void);
/* Called from the constructor, once the allocator is known. `by_libc`: the allocator is the C
 * library's. */
void mg_arenas_init(bool by_libc);

/* roots.c: lets ms-record read the program's roots. Called from the constructor. */
void mg_roots_init(void);

/* cxx.c: determines which of C++'s operators need a wrapper. Called from the constructor. */
void mg_cxx_init(void);

/* end_frame.c: notes the frame from which the calling thread ends the process. `frame`: a frame
 * of the guest, below which its caller's registers are saved. NULL = the caller is unknown.
 * mg_end_frame_init is called from the constructor. */
struct mg_end_frame *mg_end_frame_note(const uint64_t *frame);
void mg_end_frame_init(void);

struct mg_session;
/* custom_preload.c: has ms-record hook the functions that the session asks for. `fd`: the socket
 * to ms-record. */
void mg_custom_prepare(struct mg_session *s, int fd);

/* exec.c: finds the next providers of exec and posix_spawn. */
void mg_exec_resolve(void);
/* Returns the function that NAME_preload.S jumps to for call `which` of exec.c. `first`,
 * `second`: the first two arguments of that call. */
void *mg_exec_next(uint32_t which, const char *first, const char *second);
/* start.c: returns the name of ms-record's socket; "" = no ms-record answered there. */
const char *mg_socket_name(void);
/* Returns the value of a variable of the program's environment, or NULL. `name` ends with "=". */
const char *mg_variable(const char *name);

/* end.c: makes the end of the process wait for ms-record. Called from the constructor. */
void mg_end_init(void);

/* modules.c: maintains the session's table of modules. `memory`: private memory of
 * mg_modules_bytes() bytes, zeroed, which modules.c keeps. */
size_t mg_modules_bytes(uint32_t module_max);
void mg_modules_init(void *memory);
/* Called before and after the real dlclose. */
void mg_modules_before_close(void);
void mg_modules_after_close(void);
/* Fills the table of modules of a forked child's new session with the modules at the fork. */
void mg_modules_forked(void);
struct mg_unwind_info;
/* Finds the module that holds `ip`, and adds it to the table if it is new. Takes no lock. False
 * = unknown. */
bool mg_find_unwind_info(uint64_t ip, struct mg_unwind_info *info);

/* Takes a lock that threads hold only for a short time; false = another thread still holds it. */
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
