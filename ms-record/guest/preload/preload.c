/* SPDX-License-Identifier: MIT
 * The preload backend: the interposed entry points.
 *
 * Each calls the next provider and then the hook; only a free is recorded before the call.
 * Functions that begin with mg_ are called by entry.c. They are compiled with a frame pointer, from
 * which the hook takes its caller's ip, sp and bp. dlopen is not interposed: it finds libraries by
 * its caller's RUNPATH, and a wrapper would be the caller. A module is added to the table at the
 * first sight of one of its addresses (modules.c).
 */
#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

#define SET_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH (since Linux 5.11) */

__thread struct mg_own mg_own __attribute__((tls_model("initial-exec")));

MG_INLINE void *done(const uint64_t *frame, void *block, uint64_t size)
{
	if (MG_LIKELY(block))
		mg_on_alloc(frame, block, size);
	else if (size)
		mg_on_failed(frame, size);
	return block;
}

MG_INLINE void *resize(const uint64_t *frame, void *(*const *next)(void *, size_t), void *old,
		       size_t size)
{
	uint64_t before = 0;
	if (!old)
		return done(frame, (*next)(NULL, size), size);
	struct mg_writer *t = mg_realloc_begin(frame, old, &before);
	void *block = (*next)(old, size);
	mg_realloc_end(t, frame, before, old, block, size);
	return block;
}

/* ---- the allocator's functions, generated from functions.def --------------------------------- */

#define LIKE_MALLOC(export, name, next)                                                            \
	export void *name(size_t size)                                                             \
	{                                                                                          \
		return done(MG_FRAME, mg_real.next(size), size);                                   \
	}
#define LIKE_CALLOC(export, name, next)                                                            \
	export void *name(size_t n, size_t size)                                                   \
	{                                                                                          \
		uint64_t all;                                                                      \
		if (MG_UNLIKELY(__builtin_mul_overflow(n, size, &all)))                            \
			all = UINT64_MAX;                                                          \
		return done(MG_FRAME, mg_real.next(n, size), all);                                 \
	}
#define LIKE_REALLOC(export, name, next)                                                           \
	export void *name(void *old, size_t size)                                                  \
	{                                                                                          \
		return resize(MG_FRAME, &mg_real.next, old, size);                                 \
	}
#define LIKE_MEMALIGN(export, name, next)                                                          \
	export void *name(size_t align, size_t size)                                               \
	{                                                                                          \
		return done(MG_FRAME, mg_real.next(align, size), size);                            \
	}
#define LIKE_POSIX_MEMALIGN(export, name, next)                                                    \
	export int name(void **out, size_t align, size_t size)                                     \
	{                                                                                          \
		int r = mg_real.next(out, align, size);                                            \
		done(MG_FRAME, r ? NULL : *out, size);                                             \
		return r;                                                                          \
	}
#define LIKE_FREE(export, name, next)                                                              \
	export void name(void *block)                                                              \
	{                                                                                          \
		if (!block)                                                                        \
			return;                                                                    \
		mg_on_free(MG_FRAME, block);                                                       \
		mg_real.next(block);                                                               \
	}

#define MADE_PLAIN(name, form) LIKE_##form(MG_EXPORT, name, name)
#define MADE_ENTRY(name, form) LIKE_##form(, mg_##name, name)
#define MADE_OVER(name, form)
#define MADE_SAME(name, form)
#define MS_HOOK_ALLOC(name, form, preload, attached) MADE_##preload(name, form)
#define MS_HOOK_FREE(name, form, preload, attached) MADE_##preload(name, form)
#include "format/functions.def"

/* Does not call glibc's reallocarray, which calls realloc through its symbol and so would
 * re-enter this library. */
void *mg_reallocarray(void *old, size_t n, size_t size)
{
	size_t all;
	if (MG_UNLIKELY(__builtin_mul_overflow(n, size, &all))) {
		mg_on_failed(MG_FRAME, UINT64_MAX);
		errno = ENOMEM;
		return NULL;
	}
	return resize(MG_FRAME, &mg_real.realloc, old, all);
}

/* ---- memscope.h ------------------------------------------------------------------------------ */

MG_EXPORT void memscope_v1_mark(const char *name)
{
	if (name)
		mg_on_mark(MG_FRAME, name, 0);
}

MG_EXPORT void memscope_v1_label_push(const char *label)
{
	mg_on_label(MG_FRAME, label ? label : "", ++mg_own.labels);
}

MG_EXPORT void memscope_v1_label_pop(void)
{
	if (mg_own.labels)
		mg_on_label(MG_FRAME, "", --mg_own.labels);
}

/* Called by memscope_v1_retention (NAME_preload.S) with its frame. */
void mg_retention(const uint64_t *frame, const char *name);
void mg_retention(const uint64_t *frame, const char *name)
{
	if (name)
		mg_on_moment(frame, name);
}

MG_EXPORT void memscope_v1_alloc(const void *block, size_t size)
{
	if (block)
		mg_on_user_alloc(MG_FRAME, block, size);
}

MG_EXPORT void memscope_v1_free(const void *block)
{
	if (block)
		mg_on_user_free(MG_FRAME, block);
}

MG_EXPORT void memscope_v1_realloc(const void *old, const void *block, size_t size)
{
	if (old && block)
		mg_on_user_realloc(MG_FRAME, old, block, size);
	else if (block)
		mg_on_user_alloc(MG_FRAME, block, size);
	else if (old && !size)
		mg_on_user_free(MG_FRAME, old);
}

MG_EXPORT void memscope_v1_pause(void)
{
	mg_on_pause(MG_FRAME, true);
}

MG_EXPORT void memscope_v1_resume(void)
{
	mg_on_pause(MG_FRAME, false);
}

MG_EXPORT void memscope_v1_ignore(const void *block)
{
	if (block)
		mg_on_ignore(MG_FRAME, block);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Begins a new epoch of the table of modules before the real dlclose, for stacks taken while
 * destructors run, and another one after it, because addresses may be reused by other modules. */
MG_EXPORT int dlclose(void *handle)
{
	if (!mg.session || !mg_is_open(MG_FRAME))
		return mg_real.dlclose(handle);
	uint32_t generation = mg.generation;
	mg_modules_before_close();
	int r = mg_real.dlclose(handle);
	/* If a destructor forked, the child's table of modules does not expect this dlclose. */
	if (mg.generation == generation && mg_is_open(MG_FRAME))
		mg_modules_after_close();
	return r;
}

/* ---- forks ----------------------------------------------------------------------------------- */

/* Interposes fork. posix_spawn and raw system calls are not interposed (see fork.c); end.c
 * handles vfork. */
MG_EXPORT int fork(void)
{
	uint64_t stamp = mg_fork_begin(MG_FRAME);
	int r = mg_real.fork();
	mg_fork_end(MG_FRAME, stamp, r == 0);
	return r;
}

/* ---- system calls and clocks that the program forbids itself: confine.c ---------------------- */

/* Notifies confine.c of a system call that may forbid system calls, or may turn system calls
 * made outside the program's code into a signal (user dispatch, per thread). A call that only
 * queries the kernel's abilities has flags with the strict mode, or no filter. */
static void confine(long number, unsigned long a, unsigned long b, unsigned long c)
{
	bool control = number == SYS_prctl, seccomp = control && (int)a == PR_SET_SECCOMP;
	bool strict = seccomp ? b == SECCOMP_MODE_STRICT : !control && !a && !b;
	bool filter = c && (seccomp ? b == SECCOMP_MODE_FILTER : !control && a == 1);
	bool clock = control && (int)a == PR_SET_TSC && b == PR_TSC_SIGSEGV;
	bool dispatch = control && (int)a == SET_DISPATCH && b;
	mg_confine(strict || filter || dispatch, strict || clock);
}

MG_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	confine(SYS_prctl, (unsigned long)option, a, b);
	return mg_real.prctl(option, a, b, c, d);
}

/* ---- calls that concern all mappings: apart.c ------------------------------------------------ */

MG_EXPORT int madvise(void *address, size_t bytes, int advice)
{
	uint64_t start = (uint64_t)address, end = start + bytes;
	struct mg_span part;
	int result = 0, why = 0;
	if (!bytes || end < start)
		return mg_real.madvise(address, bytes, advice);
	while (mg_next_apart(&start, end, &part))
		if (mg_real.madvise((void *)part.address, part.bytes, advice) && !result) {
			result = -1;
			why = errno;
		}
	if (result)
		errno = why;
	return result;
}

MG_EXPORT int mlockall(int flags)
{
	bool recorded = mg.session && !mg_filtered();
	long r = recorded ? mg_lock_all((unsigned)flags) : 1;
	if (r > 0)
		r = mg_real.mlockall(flags);
	else if (r < 0)
		errno = (int)-r;
	else
		return 0;
	if (!r && recorded)
		mg_unlock_ours();
	return r ? -1 : 0;
}

/* Handles madvise, mlockall, and calls that install filters, when the program makes them by
 * syscall() (NAME_preload.S). */
long mg_rare_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d, unsigned long e, unsigned long f);
long mg_rare_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d, unsigned long e, unsigned long f)
{
	if (number == SYS_madvise)
		return madvise((void *)a, b, (int)c);
	if (number == SYS_mlockall)
		return mlockall((int)a);
	confine(number, a, b, c);
	return mg_real.syscall(number, a, b, c, d, e, f);
}
