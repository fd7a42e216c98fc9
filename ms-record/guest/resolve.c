/* SPDX-License-Identifier: MIT
 * Finds the next provider of each function by dlsym, with a buffer of its own for what is asked for
 * meanwhile.
 *
 * Never `__libc_malloc` and the like: the program's allocator may be another one, and a block must
 * go back where it came from.
 */
#include <dlfcn.h>
#include <errno.h>

#include "core.h"
#include "preload.h"

#define BUFFER_ALIGN 64u
#define EXIT_GROUP 231

/* Each block is preceded by its size. */
unsigned char mg_early[MG_EARLY_BYTES] __attribute__((aligned(BUFFER_ALIGN)));
static size_t used;
static bool resolving;

static void *early_block(size_t size, size_t align)
{
	if (align < 16)
		align = 16;
	if (size > MG_EARLY_BYTES || align > BUFFER_ALIGN)
		return NULL;
	size_t at = (used + sizeof(size_t) + align - 1) & ~(align - 1);
	if (at + size > MG_EARLY_BYTES)
		return NULL;
	*(size_t *)(void *)(mg_early + at - sizeof(size_t)) = size;
	used = at + size;
	return mg_early + at;
}

void *mg_early_realloc(void *block, size_t size)
{
	size_t old = ((size_t *)block)[-1];
	void *p = resolving ? early_block(size, 16) : mg_real.malloc(size);
	for (size_t i = 0; p && i < (old < size ? old : size); i++)
		((char *)p)[i] = ((char *)block)[i];
	return p;
}

/* ---- the functions as they are before the first call --------------------------------------------
 */

static void *early_malloc(size_t size)
{
	mg_resolve();
	return mg_real.malloc == early_malloc ? early_block(size, 16) : mg_real.malloc(size);
}

static void early_free(void *block)
{
	mg_resolve();
	if (mg_real.free != early_free)
		mg_real.free(block);
}

static void *early_calloc(size_t n, size_t size)
{
	size_t all;
	mg_resolve();
	if (mg_real.calloc != early_calloc)
		return mg_real.calloc(n, size);
	return __builtin_mul_overflow(n, size, &all) ? NULL : early_block(all, 16);
}

static void *early_realloc(void *block, size_t size)
{
	mg_resolve();
	return mg_real.realloc == early_realloc ? early_block(size, 16)
						: mg_real.realloc(block, size);
}

static void *early_memalign(size_t align, size_t size)
{
	mg_resolve();
	return mg_real.memalign == early_memalign ? early_block(size, align)
						  : mg_real.memalign(align, size);
}

static void *early_aligned_alloc(size_t align, size_t size)
{
	mg_resolve();
	return mg_real.aligned_alloc == early_aligned_alloc ? early_block(size, align)
							    : mg_real.aligned_alloc(align, size);
}

static int early_posix_memalign(void **out, size_t align, size_t size)
{
	mg_resolve();
	if (mg_real.posix_memalign != early_posix_memalign)
		return mg_real.posix_memalign(out, align, size);
	*out = early_block(size, align);
	return *out ? 0 : 12;
}

static void *early_valloc(size_t size)
{
	mg_resolve();
	return mg_real.valloc == early_valloc ? NULL : mg_real.valloc(size);
}

static void *early_pvalloc(size_t size)
{
	mg_resolve();
	return mg_real.pvalloc == early_pvalloc ? NULL : mg_real.pvalloc(size);
}

static int early_dlclose(void *handle)
{
	mg_resolve();
	return mg_real.dlclose == early_dlclose ? -1 : mg_real.dlclose(handle);
}

static int early_fork(void)
{
	mg_resolve();
	return mg_real.fork == early_fork ? -1 : mg_real.fork();
}

static void early_exit(int status)
{
	mg_resolve();
	if (mg_real._exit != early_exit)
		mg_real._exit(status);
	mg_syscall(EXIT_GROUP, (uint64_t)status, 0, 0, 0, 0, 0);
}

struct mg_real mg_real = {
	.malloc = early_malloc,
	.free = early_free,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.memalign = early_memalign,
	.aligned_alloc = early_aligned_alloc,
	.posix_memalign = early_posix_memalign,
	.valloc = early_valloc,
	.pvalloc = early_pvalloc,
	.dlclose = early_dlclose,
	.mmap = mg_early_mmap,
	.mmap64 = mg_early_mmap,
	.munmap = mg_early_munmap,
	.mremap = mg_early_mremap,
	.brk = mg_early_brk,
	.sbrk = mg_early_sbrk,
	.fork = early_fork,
	._exit = early_exit,
};

static void *next(const char *name, void *otherwise)
{
	void *p = dlsym(RTLD_NEXT, name);
	return p ? p : otherwise;
}

/* All are looked up before one is used, so that blocks of the buffer are asked for only here. Only
 * names that every libc has: the first call may come with any of libc's locks held, and the message
 * about a missing name, or clearing it by dlerror, takes the locale's. */
void mg_resolve(void)
{
	if (resolving || mg_real.malloc != early_malloc)
		return;
	int error = errno;
	resolving = true;
	struct mg_real r = mg_real;
	r.free = next("free", r.free);
	r.calloc = next("calloc", r.calloc);
	r.realloc = next("realloc", r.realloc);
	r.memalign = next("memalign", r.memalign);
	r.aligned_alloc = next("aligned_alloc", r.memalign);
	r.posix_memalign = next("posix_memalign", r.posix_memalign);
	r.valloc = next("valloc", r.valloc);
	r.pvalloc = next("pvalloc", r.pvalloc);
	r.dlclose = next("dlclose", r.dlclose);
	r.mmap = next("mmap", r.mmap);
	r.mmap64 = next("mmap64", r.mmap64);
	r.munmap = next("munmap", r.munmap);
	r.mremap = next("mremap", r.mremap);
	r.brk = next("brk", r.brk);
	r.sbrk = next("sbrk", r.sbrk);
	r.fork = next("fork", r.fork);
	r.vfork = next("vfork", NULL);
	r._exit = next("_exit", r._exit);
	r.malloc = next("malloc", r.malloc);
	mg_real = r;
	resolving = false;
	errno = error;
}

/* ---- usable sizes -------------------------------------------------------------------------------
 */

static size_t (*real_usable)(void *);

static uint64_t usable(const void *block)
{
	return mg_is_early(block) ? ((const size_t *)block)[-1] : real_usable((void *)block);
}

bool mg_same_module(const void *a, const void *b)
{
	Dl_info x, y;
	return dladdr(a, &x) && dladdr(b, &y) && x.dli_fbase == y.dli_fbase;
}

/* The function of one allocator given a block of another one's would read what is not a header. */
bool mg_resolve_usable(void)
{
	void *p = dlsym(RTLD_NEXT, "malloc_usable_size");
	if (!p)
		dlerror(); /* not the program's to read */
	if (!p || !mg_same_module(p, *(void **)(void *)&mg_real.malloc))
		return false;
	*(void **)(void *)&real_usable = p;
	mg.usable = usable;
	return true;
}
