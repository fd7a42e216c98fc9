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
/* Reads the address from the global offset table, so that the dynamic linker resolves it even in an
 * executable that is not position-independent, where a plain weak reference would always be 0. */
#define MEMSCOPE_FUNCTION(type, symbol)                                                            \
	(__extension__({                                                                           \
		type *memscope_f;                                                                  \
		__asm__(".weak " #symbol "\n\tmov " #symbol "@GOTPCREL(%%rip), %0"                 \
			: "=r"(memscope_f));                                                       \
		memscope_f;                                                                        \
	}))
#else
extern memscope_mark_fn memscope_v1_mark __attribute__((weak));
extern memscope_mark_fn memscope_v1_retention __attribute__((weak));
extern memscope_mark_fn memscope_v1_label_push __attribute__((weak));
extern memscope_pause_fn memscope_v1_label_pop __attribute__((weak));
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

/* Names this moment as ms_mark does, and has ms-record find what keeps blocks reachable here. The
 * calling thread waits until the process has been stopped for that, or a copy of it forked. */
static inline void ms_retention(const char *name)
{
	memscope_mark_fn *f = MEMSCOPE_FUNCTION(memscope_mark_fn, memscope_v1_retention);
	if (f)
		f(name);
}

/* Labels what this thread allocates from now on, such as "tenant=42", until ms_label_pop. Labels nest: an
 * allocation has all of them, 8 at most. At most 64 bytes of each are kept. */
static inline void ms_label_push(const char *label)
{
	memscope_mark_fn *f = MEMSCOPE_FUNCTION(memscope_mark_fn, memscope_v1_label_push);
	if (f)
		f(label);
}

/* Takes off the label that this thread pushed last. */
static inline void ms_label_pop(void)
{
	memscope_pause_fn *f = MEMSCOPE_FUNCTION(memscope_pause_fn, memscope_v1_label_pop);
	if (f)
		f();
}

/* Begins a section in which this thread is not to allocate, such as the cycle of a real-time thread.
 * What it allocates nevertheless is recorded, with the label "no-alloc": `ms-report --no-alloc`. */
static inline void ms_no_alloc_begin(void)
{
	ms_label_push("no-alloc");
}

/* Ends the section that this thread began last. */
static inline void ms_no_alloc_end(void)
{
	ms_label_pop();
}

/* Reports that a custom allocator allocated `size` bytes at `block`. */
static inline void ms_alloc(const void *block, size_t size)
{
	memscope_alloc_fn *f = MEMSCOPE_FUNCTION(memscope_alloc_fn, memscope_v1_alloc);
	if (f)
		f(block, size);
}

/* Reports that a custom allocator freed the block. NULL is ignored. */
static inline void ms_free(const void *block)
{
	memscope_free_fn *f = MEMSCOPE_FUNCTION(memscope_free_fn, memscope_v1_free);
	if (f)
		f(block);
}

/* Reports that a custom allocator reallocated block `old` as `block` (may be the same) with `size`
 * bytes. If `old` is NULL, this is an allocation. If `block` is NULL, this is a free of `old` (size
 * 0) or a failure, which leaves `old` allocated (other sizes). */
static inline void ms_realloc(const void *old, const void *block, size_t size)
{
	memscope_realloc_fn *f = MEMSCOPE_FUNCTION(memscope_realloc_fn, memscope_v1_realloc);
	if (f)
		f(old, block, size);
}

/* Pauses the recording for all threads of this process: allocations are only counted until
 * ms_resume. */
static inline void ms_pause(void)
{
	memscope_pause_fn *f = MEMSCOPE_FUNCTION(memscope_pause_fn, memscope_v1_pause);
	if (f)
		f();
}

/* Resumes the recording, once called as often as ms_pause. Without a preceding ms_pause it does
 * nothing. */
static inline void ms_resume(void)
{
	memscope_pause_fn *f = MEMSCOPE_FUNCTION(memscope_pause_fn, memscope_v1_resume);
	if (f)
		f();
}

/* Reports a new pool, identified by any address. Its blocks belong to the heap called `name`, which
 * pools may share; NULL: to no named heap. Live blocks of an earlier pool at that address count as
 * freed. At most 255 bytes of the name are kept. */
static inline void ms_pool_create(const void *pool, const char *name)
{
	memscope_pool_create_fn *f =
		MEMSCOPE_FUNCTION(memscope_pool_create_fn, memscope_v1_pool_create);
	if (f)
		f(pool, name);
}

/* Reports that the pool allocated `size` bytes at `block`. */
static inline void ms_pool_alloc(const void *pool, const void *block, size_t size)
{
	memscope_pool_alloc_fn *f =
		MEMSCOPE_FUNCTION(memscope_pool_alloc_fn, memscope_v1_pool_alloc);
	if (f)
		f(pool, block, size);
}

/* Reports that the pool freed the block. */
static inline void ms_pool_free(const void *pool, const void *block)
{
	(void)pool;
	ms_free(block);
}

/* Reports that all blocks of the pool were freed at once. */
static inline void ms_pool_reset(const void *pool)
{
	memscope_pool_fn *f = MEMSCOPE_FUNCTION(memscope_pool_fn, memscope_v1_pool_reset);
	if (f)
		f(pool);
}

/* Reports that the pool was destroyed, which frees all its blocks. */
static inline void ms_pool_destroy(const void *pool)
{
	memscope_pool_fn *f = MEMSCOPE_FUNCTION(memscope_pool_fn, memscope_v1_pool_destroy);
	if (f)
		f(pool);
}

/* Marks a block as no leak: until it is freed or reallocated, it counts as reachable, and so do all
 * blocks that it points to, directly or indirectly. `ptr` may point into the block. */
static inline void ms_ignore(const void *ptr)
{
	memscope_ignore_fn *f = MEMSCOPE_FUNCTION(memscope_ignore_fn, memscope_v1_ignore);
	if (f)
		f(ptr);
}

/* Makes `size` bytes of any memory a root: blocks that pointers in it lead to are reachable. A
 * second call with the same `ptr` changes the size; 0 removes the root. */
static inline void ms_root(const void *ptr, size_t size)
{
	memscope_root_fn *f = MEMSCOPE_FUNCTION(memscope_root_fn, memscope_v1_root);
	if (f)
		f(ptr, size);
}

#ifdef __cplusplus
}

/* Labels what this thread allocates while the object lives. */
class ms_label
{
      public:
	explicit ms_label(const char *label)
	{
		ms_label_push(label);
	}
	~ms_label()
	{
		ms_label_pop();
	}
	ms_label(const ms_label &) = delete;
	ms_label &operator=(const ms_label &) = delete;
};
#endif

#endif
