/* SPDX-License-Identifier: MIT
 * The preload dress: what its files offer each other.
 */
#ifndef MG_PRELOAD_H
#define MG_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MG_EXPORT __attribute__((visibility("default")))

/* What is exported: the allocator's entry points, memscope.h's, and dlclose. */
void *malloc(size_t size);
void free(void *block);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
void *reallocarray(void *old, size_t n, size_t size);
void *memalign(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);
int dlclose(void *handle);
void *mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
void *mmap64(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int munmap(void *address, size_t bytes);
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);
int brk(void *end);
void *sbrk(intptr_t more);
int fork(void);
_Noreturn void _exit(int status);
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

/* The next provider's functions. Until the first call each is a function that looks all of them up.
 */
struct mg_real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	int (*dlclose)(void *);
	void *(*mmap)(void *, size_t, int, int, int, long);
	void *(*mmap64)(void *, size_t, int, int, int, long);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*fork)(void);
	int (*vfork)(void); /* NULL = not looked up yet */
	void (*_exit)(int);
};
extern struct mg_real mg_real __attribute__((visibility("hidden")));

/* Looks the functions up, once. */
void mg_resolve(void);
/* Sets mg.usable, if the allocator behind malloc tells usable sizes. False = it does not. Only
 * where a missing name may be asked for: in the constructor. */
bool mg_resolve_usable(void);
/* Do both addresses lie in one module? */
bool mg_same_module(const void *a, const void *b);
/* mapped.c: the functions above as they are before they were looked up. */
void *mg_early_mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset);
int mg_early_munmap(void *address, size_t bytes);
void *mg_early_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);
int mg_early_brk(void *end);
void *mg_early_sbrk(intptr_t more);
/* Is this a block of the buffer that serves calls made while the functions are looked up? It is
 * never freed. */
#define MG_EARLY_BYTES 65536u
extern unsigned char mg_early[MG_EARLY_BYTES] __attribute__((visibility("hidden")));
static inline __attribute__((always_inline)) bool mg_is_early(const void *block)
{
	return (uintptr_t)block - (uintptr_t)mg_early < MG_EARLY_BYTES;
}
/* Copies an early block into one of the real allocator's; as realloc. */
void *mg_early_realloc(void *block, size_t size);

/* arenas.c: memory of the allocator's own. Anonymous memory was mapped at `address`, by the code at
 * `caller`; address space is about to be unmapped, or was mapped by anybody. */
void mg_arena_mapped(const void *caller, const void *address, uint64_t bytes);
void mg_arena_gone(const void *address, uint64_t bytes);
/* From the constructor: the allocator is known now, and is or is not the C library's. */
void mg_arenas_init(bool by_libc);

struct mg_session;
/* custom_preload.c: what the session says is to be hooked. `fd`: the socket to ms-record, which
 * does it. */
void mg_custom_prepare(struct mg_session *s, int fd);

/* end.c: has the end of the process wait for ms-record, from the constructor on. */
void mg_end_init(void);

/* modules.c: the table of modules in the session. Private memory of mg_modules_bytes() bytes,
 * zeroed, is kept. */
size_t mg_modules_bytes(uint32_t module_max);
void mg_modules_init(void *memory);
void mg_modules_scan(void);
/* Around the real dlclose. */
void mg_modules_before_close(void);
void mg_modules_after_close(void);
/* In a forked child: fills the new session's table with what was there at the fork. */
void mg_modules_forked(void);
struct mg_image;
/* The module that holds `ip`, added to the table at first sight. Without a lock; false = unknown.
 */
bool mg_find_image_of(uint64_t ip, struct mg_image *image);

/* The base name of a module's path. */
const char *mg_base_name(const char *path);
bool mg_starts(const char *s, const char *prefix);

#endif
