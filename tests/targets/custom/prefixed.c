/* SPDX-License-Identifier: MIT
 * Blocks of jemalloc with the prefix P: 5005 of them with 5000958 bytes, of which 2501 are freed.
 */
#include <stddef.h>
#include <stdlib.h>

#define JOIN(a, b) a##b
#define NAMED(p, name) JOIN(p, name)
#define F(name) NAMED(P, name)

extern void *F(malloc)(size_t);
extern void F(free)(void *);
extern void *F(calloc)(size_t, size_t);
extern void *F(realloc)(void *, size_t);
extern void *F(mallocx)(size_t, int);
extern int F(posix_memalign)(void **, size_t, size_t);

static void *volatile kept[5000];

__attribute__((noinline)) static void work(void)
{
	void *out = NULL;
	for (int i = 0; i < 5000; i++)
		kept[i] = F(malloc)(1000);
	for (int i = 0; i < 2500; i++)
		F(free)(kept[i]);
	kept[0] = F(realloc)(F(calloc)(10, 10), 300);
	kept[1] = F(mallocx)(400, 0);
	kept[2] = F(posix_memalign)(&out, 64, 58) ? NULL : out;
	kept[3] = F(malloc)(100);
}

int main(void)
{
	work();
	return 0;
}
