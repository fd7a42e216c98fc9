/* SPDX-License-Identifier: MIT
 * aarch64: defines the four functions that a compiler may call implicitly in freestanding code. They
 * are hidden, so that no other module uses them.
 */
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n);
HIDDEN void *memmove(void *to, const void *from, size_t n);
HIDDEN void *memset(void *to, int c, size_t n);
HIDDEN int memcmp(const void *a, const void *b, size_t n);

/* A word at any address. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word;

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;
	for (; n >= sizeof(word); n -= sizeof(word), t += sizeof(word), f += sizeof(word))
		*(word *)t = *(const word *)f;
	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);
	for (; n; n--)
		((volatile char *)to)[n - 1] = ((const char *)from)[n - 1];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	unsigned char *t = to;
	word all = (unsigned char)c * UINT64_C(0x0101010101010101);
	for (; n >= sizeof(word); n -= sizeof(word), t += sizeof(word))
		*(word *)t = all;
	while (n--)
		*t++ = (unsigned char)c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
