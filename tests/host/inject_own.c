/* SPDX-License-Identifier: MIT
 * An allocator that a program brings along, and that counts what it is asked for: classes of powers
 * of two with a list of free blocks each, under one lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef OWN
#define OWN
#endif
#define CLASSES 40u
#define PIECE (UINT64_C(1) << 20)

/* In front of every block. */
struct head {
	size_t size;
	uint32_t class;
	uint32_t offset; /* of the block, from the start of its place */
};

unsigned long own_counts[6]; /* allocations, frees, reallocs, failed, live bytes, live blocks */
static void *lists[CLASSES];
static char *piece;
static size_t left;
static int lock;

static void enter(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void leave(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static struct head *head_of(void *block)
{
	return (struct head *)block - 1;
}

static char *fresh(size_t bytes)
{
	if (bytes > PIECE) {
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		return p == MAP_FAILED ? NULL : p;
	}
	if (left < bytes) {
		piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (piece == MAP_FAILED)
			return NULL;
		left = PIECE;
	}
	left -= bytes;
	return piece + left;
}

/* Under the lock. */
static void *take(size_t align, size_t size)
{
	uint32_t class = 6;
	size_t want = size + sizeof(struct head) + (align > 16 ? align : 0);
	if (size > SIZE_MAX / 4)
		return NULL;
	while (class < CLASSES && (size_t)1 << class < want)
		class ++;
	char *place = class < CLASSES ? lists[class] : NULL;
	if (place)
		lists[class] = *(void **)(void *)place;
	else if (class < CLASSES)
		place = fresh((size_t)1 << class);
	if (!place)
		return NULL;
	uintptr_t at = (uintptr_t)place + sizeof(struct head);
	if (align > 16)
		at = (at + align - 1) & ~(align - 1);
	*head_of((void *)at) = (struct head){size, class, (uint32_t)(at - (uintptr_t)place)};
	return (void *)at;
}

static void give(void *block)
{
	struct head *h = head_of(block);
	uint32_t class = h->class;
	char *place = (char *)block - h->offset;
	*(void **)(void *)place = lists[class];
	lists[class] = place;
}

static void *made(void *block, size_t size)
{
	if (!block) {
		own_counts[3] += size != 0;
		errno = ENOMEM;
		return NULL;
	}
	own_counts[0]++;
	own_counts[4] += size;
	own_counts[5]++;
	return block;
}

static void gone(void *block)
{
	own_counts[1]++;
	own_counts[4] -= head_of(block)->size;
	own_counts[5]--;
}

static void *aligned(size_t align, size_t size)
{
	enter();
	void *p = made(take(align, size), size);
	leave();
	return p;
}

OWN void *malloc(size_t size)
{
	return aligned(16, size);
}

OWN void free(void *block)
{
	if (!block)
		return;
	enter();
	gone(block);
	give(block);
	leave();
}

OWN void *calloc(size_t n, size_t size)
{
	size_t all;
	if (__builtin_mul_overflow(n, size, &all))
		all = SIZE_MAX;
	void *p = aligned(16, all);
	return p ? memset(p, 0, all) : NULL;
}

OWN void *realloc(void *old, size_t size)
{
	if (!old)
		return malloc(size);
	if (!size) {
		free(old);
		return NULL;
	}
	enter();
	void *p = take(16, size);
	size_t before = head_of(old)->size;
	if (p) {
		own_counts[2]++;
		memcpy(p, old, before < size ? before : size);
		gone(old);
		give(old);
	}
	p = made(p, size);
	leave();
	return p;
}

OWN void *reallocarray(void *old, size_t n, size_t size)
{
	size_t all;
	if (__builtin_mul_overflow(n, size, &all))
		return NULL;
	return realloc(old, all);
}

OWN void *memalign(size_t align, size_t size)
{
	return aligned(align, size);
}

OWN void *aligned_alloc(size_t align, size_t size)
{
	return aligned(align, size);
}

OWN int posix_memalign(void **p, size_t align, size_t size)
{
	*p = aligned(align, size);
	return *p ? 0 : ENOMEM;
}

OWN void *valloc(size_t size)
{
	return aligned(4096, size);
}

OWN void *pvalloc(size_t size)
{
	return aligned(4096, (size + 4095) & ~(size_t)4095);
}
