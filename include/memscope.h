/* SPDX-License-Identifier: MIT
 * Marks for MemScope: name moments of a program, and tell about a custom allocator's blocks. Header
 * only.
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

#ifdef __cplusplus
}
#endif

#endif
