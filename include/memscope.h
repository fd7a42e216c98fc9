/* SPDX-License-Identifier: MIT
 * Marks for MemScope: name moments of a program, leave parts of it out, tell about a custom
 * allocator's blocks and pools, and say what is no leak. Header only.
 *
 * Include it and call; there is nothing to link. In a program that is not being recorded every call
 * is a test of a pointer that is null. In one that is, the functions of ms-record's preload library
 * are found by the dynamic linker. See memscope(3).
 */
#ifndef MEMSCOPE_H
#define MEMSCOPE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void memscope_mark_fn(const char *name);
typedef void memscope_alloc_fn(const void *block, size_t size);
typedef void memscope_free_fn(const void *block);
typedef void memscope_realloc_fn(const void *old, const void *block, size_t size);
typedef void memscope_pause_fn(void);
typedef void memscope_pool_create_fn(const void *pool, const char *name);
typedef void memscope_pool_alloc_fn(const void *pool, const void *block, size_t size);
typedef void memscope_pool_fn(const void *pool);
typedef void memscope_ignore_fn(const void *block);
typedef void memscope_root_fn(const void *start, size_t size);

#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__)
/* The address is read from the global offset table, so that it stays a question to the dynamic
 * linker in an executable that is not position-independent too; a plain weak reference there would
 * be 0 for ever. */
#define MEMSCOPE_FUNCTION(type, symbol)                                                            \
	(__extension__({                                                                           \
		type *memscope_f;                                                                  \
		__asm__(".weak " #symbol "\n\tmov " #symbol "@GOTPCREL(%%rip), %0"                 \
			: "=r"(memscope_f));                                                       \
		memscope_f;                                                                        \
	}))
#else
extern memscope_mark_fn memscope_v1_mark __attribute__((weak));
extern memscope_alloc_fn memscope_v1_alloc __attribute__((weak));
extern memscope_free_fn memscope_v1_free __attribute__((weak));
extern memscope_realloc_fn memscope_v1_realloc __attribute__((weak));
extern memscope_pause_fn memscope_v1_pause __attribute__((weak));
extern memscope_pause_fn memscope_v1_resume __attribute__((weak));
extern memscope_pool_create_fn memscope_v1_pool_create __attribute__((weak));
extern memscope_pool_alloc_fn memscope_v1_pool_alloc __attribute__((weak));
extern memscope_pool_fn memscope_v1_pool_reset __attribute__((weak));
extern memscope_pool_fn memscope_v1_pool_destroy __attribute__((weak));
extern memscope_ignore_fn memscope_v1_ignore __attribute__((weak));
extern memscope_root_fn memscope_v1_root __attribute__((weak));
#define MEMSCOPE_FUNCTION(type, symbol) (&symbol)
#endif

/* Names this moment: `ms-snap --at mark:NAME`. At most 255 bytes of the name are kept. */
static inline void ms_mark(const char *name)
{
	memscope_mark_fn *f = MEMSCOPE_FUNCTION(memscope_mark_fn, memscope_v1_mark);
	if (f)
		f(name);
}

/* A custom allocator gave out `size` bytes at `block`. */
static inline void ms_alloc(const void *block, size_t size)
{
	memscope_alloc_fn *f = MEMSCOPE_FUNCTION(memscope_alloc_fn, memscope_v1_alloc);
	if (f)
		f(block, size);
}

/* And took the block back. NULL is nothing. */
static inline void ms_free(const void *block)
{
	memscope_free_fn *f = MEMSCOPE_FUNCTION(memscope_free_fn, memscope_v1_free);
	if (f)
		f(block);
}

/* Block `old` became `block`, which may be the same, of `size` bytes: a reallocation. `old` NULL is
 * ms_alloc; `block` NULL with a size of 0 is ms_free, with another one a failure that changes
 * nothing. */
static inline void ms_realloc(const void *old, const void *block, size_t size)
{
	memscope_realloc_fn *f = MEMSCOPE_FUNCTION(memscope_realloc_fn, memscope_v1_realloc);
	if (f)
		f(old, block, size);
}

/* Allocations of this process, in all its threads, are only counted from here on... */
static inline void ms_pause(void)
{
	memscope_pause_fn *f = MEMSCOPE_FUNCTION(memscope_pause_fn, memscope_v1_pause);
	if (f)
		f();
}

/* ...until it was called as often as ms_pause. Without one it does nothing. */
static inline void ms_resume(void)
{
	memscope_pause_fn *f = MEMSCOPE_FUNCTION(memscope_pause_fn, memscope_v1_resume);
	if (f)
		f();
}

/* There is a pool, whatever address stands for it. Its blocks are of the heap called `name`, which
 * pools may share; NULL: of no heap of their own. What was live of a pool at that address is freed.
 * At most 255 bytes of the name are kept. */
static inline void ms_pool_create(const void *pool, const char *name)
{
	memscope_pool_create_fn *f =
		MEMSCOPE_FUNCTION(memscope_pool_create_fn, memscope_v1_pool_create);
	if (f)
		f(pool, name);
}

/* The pool gave out `size` bytes at `block`. */
static inline void ms_pool_alloc(const void *pool, const void *block, size_t size)
{
	memscope_pool_alloc_fn *f =
		MEMSCOPE_FUNCTION(memscope_pool_alloc_fn, memscope_v1_pool_alloc);
	if (f)
		f(pool, block, size);
}

/* And took one back. */
static inline void ms_pool_free(const void *pool, const void *block)
{
	(void)pool;
	ms_free(block);
}

/* All its blocks are freed... */
static inline void ms_pool_reset(const void *pool)
{
	memscope_pool_fn *f = MEMSCOPE_FUNCTION(memscope_pool_fn, memscope_v1_pool_reset);
	if (f)
		f(pool);
}

/* ...and it is no more. */
static inline void ms_pool_destroy(const void *pool)
{
	memscope_pool_fn *f = MEMSCOPE_FUNCTION(memscope_pool_fn, memscope_v1_pool_destroy);
	if (f)
		f(pool);
}

/* The block is no leak: until it is freed or reallocated it is reachable, and so is all that it
 * leads to. `ptr` may point into it. */
static inline void ms_ignore(const void *ptr)
{
	memscope_ignore_fn *f = MEMSCOPE_FUNCTION(memscope_ignore_fn, memscope_v1_ignore);
	if (f)
		f(ptr);
}

/* Makes `size` bytes of any memory a root: blocks to which pointers in them lead are reachable. A second
 * call with the same `ptr` changes the size; 0 takes it back. */
static inline void ms_root(const void *ptr, size_t size)
{
	memscope_root_fn *f = MEMSCOPE_FUNCTION(memscope_root_fn, memscope_v1_root);
	if (f)
		f(ptr, size);
}

#ifdef __cplusplus
}
#endif

#endif
