/* SPDX-License-Identifier: MIT
 * The preload backend: the entry points that are called most, and what they do while sampling.
 *
 * A call of which nothing is to be recorded, which is nearly every one then, goes on to the real
 * function from here: an allocation costs a subtraction, a free a look at a byte. All others go on
 * in preload.c as if they had come there at once. So this file is compiled as the core is, without
 * a frame pointer, and calls at the end of a function are jumps.
 */
#include "ms-record/guest/record.h"
#include "preload.h"

/* Is this thread's countdown certain to pass over so many bytes? Then it does. No block has 2^63 and
 * more, and the countdown would go up. */
MG_INLINE bool passes(uint64_t size)
{
	if (MG_LIKELY(mg_gate_now() != MG_GATE_SAMPLING) || mg_passing() ||
	    MG_UNLIKELY((int64_t)size < 0 || mg_own.until_sample - 1 <= (int64_t)size))
		return false;
	mg_count_down(&mg_own.until_sample, size + !size);
	return true;
}

/* The block was made; where none was made, preload.c tries again, and records that. */
MG_INLINE bool passed(const void *block)
{
	mg_own.passed = block;
	return MG_LIKELY(block);
}

MG_INLINE bool free_passes(const void *block)
{
	return mg_gate_now() == MG_GATE_SAMPLING && MG_LIKELY(mg_sample_unknown((uint64_t)block));
}

MG_EXPORT void *malloc(size_t size)
{
	bool quick = passes(size);
	void *block = quick ? mg_real.malloc(size) : NULL;
	return quick && passed(block) ? block : mg_malloc(size);
}

MG_EXPORT void *calloc(size_t n, size_t size)
{
	uint64_t all;
	bool quick = !__builtin_mul_overflow(n, size, &all) && passes(all);
	void *block = quick ? mg_real.calloc(n, size) : NULL;
	return quick && passed(block) ? block : mg_calloc(n, size);
}

/* Goes the quick way but for 0 bytes, after which the old block may be gone without a new one. */
MG_EXPORT void *realloc(void *old, size_t size)
{
	bool quick = size && free_passes(old) && passes(size);
	void *block = quick ? mg_real.realloc(old, size) : NULL;
	return quick && passed(block) ? block : mg_realloc(old, size);
}

/* Goes on to the program's own realloc, whose block it is, as glibc's does: that is hooked, and sees our
 * caller. */
MG_EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t all;
	if (MG_LIKELY(!mg_real.own_realloc) || __builtin_mul_overflow(n, size, &all))
		return mg_reallocarray(old, n, size);
	return mg_real.own_realloc(old, all);
}

MG_EXPORT void free(void *block)
{
	if (free_passes(block))
		mg_real.free(block);
	else
		mg_free(block);
}

/* The others are free by their definitions, and not every libc has them. */
#define NAMED_SAME(name) __asm__(".globl " #name "\n.set " #name ", free\n");
#define NAMED_PLAIN(name)
#define NAMED_ENTRY(name)
#define NAMED_OVER(name)
#define MS_HOOK_FREE(name, form, preload, attached) NAMED_##preload(name)
#include "format/functions.def"
