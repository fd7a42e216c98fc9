/* SPDX-License-Identifier: MIT
 * A library to be preloaded: counts what one program calls, in a file that others read meanwhile.
 *
 * COUNTING_PROGRAM its name, COUNTING_FILE the file: three numbers of 64 bits: allocations, frees (a realloc of a block is one of each), and
 * bytes asked for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
	atomic_ulong allocations, frees, bytes;
};

static struct counts nowhere, *counts = &nowhere;
static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t),
	*(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);

/* The first call is the dynamic linker's, in the only thread. */
static void find_next(void)
{
	if (next_malloc)
		return;
	next_calloc = (__typeof__(next_calloc))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (__typeof__(next_realloc))dlsym(RTLD_NEXT, "realloc");
	next_free = (__typeof__(next_free))dlsym(RTLD_NEXT, "free");
	next_posix_memalign = (__typeof__(next_posix_memalign))dlsym(RTLD_NEXT, "posix_memalign");
	next_aligned_alloc = (__typeof__(next_aligned_alloc))dlsym(RTLD_NEXT, "aligned_alloc");
	next_malloc = (__typeof__(next_malloc))dlsym(RTLD_NEXT, "malloc");
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("COUNTING_PROGRAM"), *file = getenv("COUNTING_FILE");
	if (!program || !file || strcmp(program, program_invocation_short_name) != 0)
		return;
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof *counts))
		return;
	struct counts *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	memcpy(p, &nowhere, sizeof *p);
	counts = p;
}

static void *counted(void *p, size_t size)
{
	if (p) {
		counts->allocations++;
		counts->bytes += size;
	}
	return p;
}

void *malloc(size_t size)
{
	find_next();
	return counted(next_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
	find_next();
	return counted(next_calloc(n, size), n * size);
}

void *realloc(void *p, size_t size)
{
	find_next();
	void *q = next_realloc(p, size);
	if (p && (q || !size))
		counts->frees++;
	return counted(q, size);
}

void free(void *p)
{
	find_next();
	if (p)
		counts->frees++;
	next_free(p);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	find_next();
	int e = next_posix_memalign(p, align, size);
	if (!e)
		counted(*p, size);
	return e;
}

void *aligned_alloc(size_t align, size_t size)
{
	find_next();
	return counted(next_aligned_alloc(align, size), size);
}
