/* SPDX-License-Identifier: MIT
 * The preload backend: the entry points called most often, and their fast paths while sampling.
 *
 * A call that is not recorded, as nearly every call while sampling, continues directly in the real
 * function: an allocation costs a subtraction, a free a look at one byte. All others continue in
 * preload.c as if they had been called there. So this file is compiled like the core, without a
 * frame pointer, and with calls at the end of a function compiled as jumps.
 */
#include "ms-record/guest/record.h"
#include "preload.h"

/* Tells whether this thread's countdown certainly does not reach a sample point within `size`
 * bytes, and if so counts down. Sizes of 2^63 and more are excluded, because they would increase
 * the countdown. */
MG_INLINE bool passes(uint64_t size)
{
	if (MG_LIKELY(mg_gate_now() != MG_GATE_SAMPLING) || mg_passing() ||
	    MG_UNLIKELY((int64_t)size < 0 || mg_own.until_sample - 1 <= (int64_t)size))
		return false;
	mg_count_down(&mg_own.until_sample, size + !size);
	return true;
}

/* Stores the block for later recording; false = the allocation failed, and preload.c retries it
 * and records the failure. */
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

/* Takes the fast path unless `size` is 0: then the old block may be freed although no new one is
 * returned. */
MG_EXPORT void *realloc(void *old, size_t size)
{
	bool quick = size && free_passes(old) && passes(size);
	void *block = quick ? mg_real.realloc(old, size) : NULL;
	return quick && passed(block) ? block : mg_realloc(old, size);
}

/* If the program has its own realloc, calls that, as glibc's reallocarray does. The program's
 * realloc is hooked, and records the caller of reallocarray. */
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

/* Defines the other names of free as aliases, because some libcs have them. */
#define NAMED_SAME(name) __asm__(".globl " #name "\n.set " #name ", free\n");
#define NAMED_PLAIN(name)
#define NAMED_ENTRY(name)
#define NAMED_OVER(name)
#define MS_HOOK_FREE(name, form, preload, attached) NAMED_##preload(name)
#include "format/functions.def"
