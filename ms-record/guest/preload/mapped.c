/* SPDX-License-Identifier: MIT
 * The preload backend: mmap, munmap, mremap, brk and sbrk, recorded with --mmap.
 *
 * Each passes all arguments, including unknown flags, to the next provider, and notes what the
 * allocator maps for itself (arenas.c); without --mmap it does nothing else. Only anonymous memory
 * is recorded. The C library's internal calls do not come here (its malloc, its threads' stacks);
 * those of other allocators do, and count as address space that such an allocator took.
 *
 * Before the functions are looked up, mmap, munmap and mremap are plain system calls, as the C
 * library's are, so that they work whatever lock is held or not yet set up. brk and sbrk store the
 * end of the heap in the C library and can only be its own.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

/* Repeats constants of the kernel's interface: the header that defines them declares these
 * functions with other types. */
#define MAP_FAILED ((void *)-1)
#define MAP_ANONYMOUS 0x20
#define MAP_HUGETLB 0x40000
#define MAP_HUGE_SHIFT 26
#define MAP_HUGE_MASK 0x3f
#define MREMAP_DONTUNMAP 4

#define PAGE UINT64_C(4096)
#define HUGE_PAGE_USUAL (UINT64_C(2) << 20)

/* ---- before the lookup ----------------------------------------------------------------------- */

static long result(long r)
{
	if (r >= 0 || r <= -4096)
		return r;
	errno = (int)-r;
	return -1;
}

void *mg_early_mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset)
{
	return (void *)result(mg_syscall(SYS_mmap, (uint64_t)address, bytes, (uint64_t)prot,
					 (uint64_t)flags, (uint64_t)fd, (uint64_t)offset));
}

int mg_early_munmap(void *address, size_t bytes)
{
	return (int)result(mg_syscall(SYS_munmap, (uint64_t)address, bytes, 0, 0, 0, 0));
}

void *mg_early_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *to = va_arg(ap, void *);
	va_end(ap);
	return (void *)result(mg_syscall(SYS_mremap, (uint64_t)old, old_bytes, bytes,
					 (uint64_t)flags, (uint64_t)to, 0));
}

/* ---- mmap, munmap, mremap -------------------------------------------------------------------- */

typedef void *mmap_fn(void *address, size_t bytes, int prot, int flags, int fd, long offset);
typedef int munmap_fn(void *address, size_t bytes);
typedef void *mremap_fn(void *old, size_t old_bytes, size_t bytes, int flags, ...);

MG_INLINE bool recording(void)
{
	return MG_UNLIKELY(mg.mapping);
}

static uint64_t whole_pages(uint64_t bytes, uint64_t page)
{
	return (bytes + page - 1) & ~(page - 1);
}

static uint64_t mapped_bytes(uint64_t bytes, int flags)
{
	uint64_t page = PAGE;
	uint32_t huge = (uint32_t)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
	if (flags & MAP_HUGETLB)
		page = huge ? UINT64_C(1) << huge : HUGE_PAGE_USUAL;
	return whole_pages(bytes, page);
}

static void record_map(const uint64_t *frame, void *p, size_t bytes, int flags)
{
	if (p == MAP_FAILED)
		return;
	struct mg_span span = {(uint64_t)p, mapped_bytes(bytes, flags)};
	if (flags & MAP_ANONYMOUS)
		mg_on_map(frame, span, 0, 0);
	else
		mg_on_cover(frame, span);
}

/* Notes a mapping for arenas.c. The caller is identified by the return address of the function
 * into which this is inlined. */
MG_INLINE void note_map(const void *caller, const void *p, size_t bytes, int flags)
{
	if (p == MAP_FAILED)
		return;
	if (flags & MAP_ANONYMOUS)
		mg_arena_mapped(caller, p, mapped_bytes(bytes, flags));
	else
		mg_arena_gone(p, mapped_bytes(bytes, flags));
}

MG_INLINE void *map(mmap_fn *next, void *address, size_t bytes, int prot, int flags, int fd,
		    long offset)
{
	void *p = next(address, bytes, prot, flags, fd, offset);
	note_map(__builtin_return_address(0), p, bytes, flags);
	if (recording())
		record_map(MG_FRAME, p, bytes, flags);
	return p;
}

MG_EXPORT void *mmap(void *address, size_t bytes, int prot, int flags, int fd, long offset)
{
	return map(mg_real.mmap, address, bytes, prot, flags, fd, offset);
}

/* mmap64 is the same function, because off_t has 64 bits here. */
__asm__(".globl mmap64\n.set mmap64, mmap\n");

MG_INLINE int unmap(munmap_fn *next, void *address, size_t bytes)
{
	uint64_t before = 0;
	mg_arena_gone(address, whole_pages(bytes, PAGE));
	if (!recording())
		return next(address, bytes);
	struct mg_writer *t = mg_unmap_begin(MG_FRAME, &before);
	int r = next(address, bytes);
	struct mg_span span = {(uint64_t)address, whole_pages(bytes, PAGE)};
	mg_unmap_end(t, MG_FRAME, before, span, 0, r == 0);
	return r;
}

MG_EXPORT int munmap(void *address, size_t bytes)
{
	return unmap(mg_real.munmap, address, bytes);
}

MG_INLINE void *remap(mremap_fn *next, void *old, size_t old_bytes, size_t bytes, int flags,
		      void *to)
{
	mg_arena_gone(old, whole_pages(old_bytes, PAGE));
	if (!recording())
		return next(old, old_bytes, bytes, flags, to);
	uint64_t before = 0, all = whole_pages(bytes, PAGE);
	/* makes a second mapping; the old one stays */
	if (!old_bytes || flags & MREMAP_DONTUNMAP) {
		void *p = next(old, old_bytes, bytes, flags, to);
		if (p != MAP_FAILED)
			mg_on_map(MG_FRAME, (struct mg_span){(uint64_t)p, all}, 0, (uint64_t)old);
		return p;
	}
	struct mg_writer *t = mg_unmap_begin(MG_FRAME, &before);
	void *p = next(old, old_bytes, bytes, flags, to);
	mg_remap_end(t, MG_FRAME, before,
		     (struct mg_span){(uint64_t)old, whole_pages(old_bytes, PAGE)},
		     (struct mg_span){(uint64_t)p, all}, p != MAP_FAILED);
	return p;
}

/* A caller with four arguments leaves the fifth undefined; it is passed on unchanged. */
MG_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *to = va_arg(ap, void *);
	va_end(ap);
	return remap(mg_real.mremap, old, old_bytes, bytes, flags, to);
}

/* Handles mmap, munmap or mremap made by syscall(), as a plain system call: the next provider of
 * mmap may itself be the caller of syscall(), which would recurse endlessly. */
long mg_map_syscall(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		    unsigned long e, unsigned long f);
long mg_map_syscall(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		    unsigned long e, unsigned long f)
{
	if (number == SYS_mmap)
		return (long)map(mg_early_mmap, (void *)a, b, (int)c, (int)d, (int)e, (long)f);
	if (number == SYS_munmap)
		return unmap(mg_early_munmap, (void *)a, b);
	return (long)remap(mg_early_mremap, (void *)a, b, c, (int)d, (void *)e);
}

/* ---- brk and sbrk ---------------------------------------------------------------------------- */

MG_EXPORT int brk(void *end)
{
	uint64_t before = 0, old = (uint64_t)mg_real.sbrk(0), now = (uint64_t)end;
	if (old != UINT64_MAX && now < old)
		mg_arena_gone(end, old - now);
	else if (old != UINT64_MAX && now > old)
		mg_arena_brk();
	if (!recording())
		return mg_real.brk(end);
	if (old == UINT64_MAX || now >= old) {
		int r = mg_real.brk(end);
		if (r == 0 && old != UINT64_MAX && now > old)
			mg_on_map(MG_FRAME, (struct mg_span){old, now - old}, MG_MAP_BRK, 0);
		return r;
	}
	struct mg_writer *t = mg_unmap_begin(MG_FRAME, &before);
	int r = mg_real.brk(end);
	mg_unmap_end(t, MG_FRAME, before, (struct mg_span){now, old - now}, MG_MAP_BRK, r == 0);
	return r;
}

MG_EXPORT void *sbrk(intptr_t more)
{
	if (!more)
		return mg_real.sbrk(more);
	if (more > 0) {
		mg_arena_brk();
		void *p = mg_real.sbrk(more);
		if (p != (void *)-1)
			mg_arena_mapped(__builtin_return_address(0), p, (uint64_t)more);
		if (p != (void *)-1 && recording())
			mg_on_map(MG_FRAME, (struct mg_span){(uint64_t)p, (uint64_t)more},
				  MG_MAP_BRK, 0);
		return p;
	}
	uint64_t before = 0, less = -(uint64_t)more;
	mg_arena_gone((char *)mg_real.sbrk(0) - less, less);
	if (!recording())
		return mg_real.sbrk(more);
	struct mg_writer *t = mg_unmap_begin(MG_FRAME, &before);
	void *p = mg_real.sbrk(more);
	mg_unmap_end(t, MG_FRAME, before, (struct mg_span){(uint64_t)p - less, less}, MG_MAP_BRK,
		     p != (void *)-1);
	return p;
}
