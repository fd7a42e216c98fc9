/* SPDX-License-Identifier: MIT
 * The preload backend: the entry points that are called most, and what they do while sampling.
 *
 * A call of which nothing is to be recorded, which is nearly every one then, goes on to the real
 * function from here: an allocation costs a subtraction, a free a look at a byte. All others go on
 * in preload.c as if they had come there at once. So this file is compiled as the core is, without
 * a frame pointer, and calls at the end of a function are jumps.
 */
#include "record.h"
#include "preload.h"

/* This thread's countdown, if it is certain to pass over so many bytes; else NULL. */
MG_INLINE struct mg_writer *passes(uint64_t size)
{
	if (MG_LIKELY(mg_gate_now() != MG_GATE_SAMPLING) || mg_passing())
		return NULL;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	if (MG_UNLIKELY(!t || (uintptr_t)t & 1 || t->until_sample - 1 <= (int64_t)size))
		return NULL;
	return t;
}

/* The block was made; where none was made, preload.c tries again, and records that. */
MG_INLINE bool passed(struct mg_writer *t, const void *block, uint64_t size)
{
	if (MG_UNLIKELY(!block))
		return false;
	mg_count_down(&t->until_sample, size + !size);
	t->last_block = (uint64_t)block; /* it was decided: see mg_nesting_end */
	return true;
}

MG_INLINE bool free_passes(const void *block)
{
	return mg_gate_now() == MG_GATE_SAMPLING && MG_LIKELY(mg_sample_unknown((uint64_t)block));
}

MG_EXPORT void *malloc(size_t size)
{
	struct mg_writer *t = passes(size);
	void *block = t ? mg_real.malloc(size) : NULL;
	return t && passed(t, block, size) ? block : mg_malloc(size);
}

MG_EXPORT void *calloc(size_t n, size_t size)
{
	uint64_t all;
	struct mg_writer *t = __builtin_mul_overflow(n, size, &all) ? NULL : passes(all);
	void *block = t ? mg_real.calloc(n, size) : NULL;
	return t && passed(t, block, all) ? block : mg_calloc(n, size);
}

/* Not to 0 bytes: then the block is gone and there is none. */
MG_EXPORT void *realloc(void *old, size_t size)
{
	struct mg_writer *t = size && free_passes(old) ? passes(size) : NULL;
	void *block = t ? mg_real.realloc(old, size) : NULL;
	return t && passed(t, block, size) ? block : mg_realloc(old, size);
}

MG_EXPORT void free(void *block)
{
	if (free_passes(block))
		mg_real.free(block);
	else
		mg_free(block);
}

/* The others are free by their definitions, and not every libc has them. */
__asm__(".globl cfree, free_sized, free_aligned_sized\n"
	".set cfree, free\n"
	".set free_sized, free\n"
	".set free_aligned_sized, free\n");
