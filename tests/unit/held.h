/* SPDX-License-Identifier: MIT
 * Counts what a test's program has allocated and mapped, so that it can say that all was given back.
 * Sanitizers have allocators of their own, and look themselves.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long held_blocks, held_bytes; /* of the heap; of mappings, whole pages */

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static void *held_add(void *p, int blocks)
{
	__atomic_fetch_add(&held_blocks, p ? blocks : 0, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t n)
{
	return held_add(__libc_malloc(n), 1);
}

void *calloc(size_t n, size_t size)
{
	return held_add(__libc_calloc(n, size), 1);
}

void *realloc(void *p, size_t n)
{
	bool gone = p && !n;
	void *q = held_add(__libc_realloc(p, n), !p);
	__atomic_fetch_sub(&held_blocks, gone, __ATOMIC_RELAXED);
	return q;
}

void free(void *p)
{
	held_add(p, -1);
	__libc_free(p);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	__atomic_fetch_add(&held_bytes, (long)((n + 4095) & ~(size_t)4095), __ATOMIC_RELAXED);
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

int munmap(void *at, size_t n)
{
	__atomic_fetch_sub(&held_bytes, (long)((n + 4095) & ~(size_t)4095), __ATOMIC_RELAXED);
	return (int)syscall(SYS_munmap, at, n);
}
#endif

/* Descriptors that are open. */
static inline unsigned held_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}
