/* SPDX-License-Identifier: MIT
 * x86-64: defines the four functions that a compiler may call implicitly in freestanding code. They
 * are hidden, so that no other module uses them.
 */
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n);
HIDDEN void *memmove(void *to, const void *from, size_t n);
HIDDEN void *memset(void *to, int c, size_t n);
HIDDEN int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *r = to;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return r;
}

void *memmove(void *to, const void *from, size_t n)
{
	if ((char *)to <= (const char *)from)
		return memcpy(to, from, n);
	for (; n; n--)
		((volatile char *)to)[n - 1] = ((const char *)from)[n - 1];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	void *r = to;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return r;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
