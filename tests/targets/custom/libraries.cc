// SPDX-License-Identifier: MIT
// Allocators of libraries, by their own functions: what was asked of each, as heap|allocations|frees|bytes|live.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

static unsigned long allocations, frees, bytes, live;

static size_t some(int i)
{
	return static_cast<size_t>(i * 7919 % 200 + 1);
}
static void made(size_t n)
{
	allocations++, bytes += n, live += n;
}
[[maybe_unused]] static void gone(size_t n)
{
	frees++, live -= n;
}

#if defined JEMALLOC
extern "C" void *mallocx(size_t, int), *rallocx(void *, size_t, int);
extern "C" void dallocx(void *, int), sdallocx(void *, size_t, int);
static void use()
{
	for (int i = 0; i < 3000; i++) {
		void *p = mallocx(some(i), i % 3 ? 0 : 6 /* to 64 bytes */);
		made(some(i));
		if (i % 5 == 0) {
			p = rallocx(p, 3000, 0);
			gone(some(i)), made(3000);
		}
		size_t size = i % 5 ? some(i) : 3000;
		if (i % 4 == 0)
			dallocx(p, 0), gone(size);
		if (i % 4 == 1)
			sdallocx(p, size, 0), gone(size);
		if (i % 4 == 2)
			free(p), gone(size);
	}
}
#elif defined MIMALLOC
extern "C" void *mi_heap_new(), *mi_heap_malloc(void *, size_t), *mi_heap_calloc(void *, size_t, size_t);
extern "C" void *mi_heap_realloc(void *, void *, size_t), *mi_malloc(size_t), *mi_zalloc(size_t);
extern "C" void mi_free(void *), mi_heap_destroy(void *), mi_heap_delete(void *);
static void use()
{
	for (int round = 0; round < 10; round++) {
		void *heap = mi_heap_new();
		unsigned long of = 0, inside = 0;
		for (int i = 0; i < 300; i++) {
			void *p = i % 2 ? mi_heap_malloc(heap, some(i)) : mi_heap_calloc(heap, some(i), 1);
			made(some(i));
			of++, inside += some(i);
			if (i % 7 == 0) {
				p = mi_heap_realloc(heap, p, 1000);
				gone(some(i)), made(1000);
				inside += 1000 - some(i);
			}
			if (i % 3 == 0) {
				mi_free(p);
				gone(i % 7 ? some(i) : 1000);
				of--, inside -= i % 7 ? some(i) : 1000;
			}
		}
		if (round < 9) {
			mi_heap_destroy(heap);
			frees += of, live -= inside;
		}
	}
	for (int i = 0; i < 50; i++) {
		mi_free(mi_malloc(some(i))), made(some(i)), gone(some(i));
		mi_zalloc(some(i)), made(some(i));
	}
}
#elif defined TCMALLOC
extern "C" void *tc_malloc(size_t), *tc_calloc(size_t, size_t), *tc_realloc(void *, size_t);
extern "C" void tc_free(void *);
static void use()
{
	for (int i = 0; i < 500; i++) {
		void *p = tc_malloc(some(i));
		made(some(i));
		p = tc_realloc(p, 2000);
		gone(some(i)), made(2000);
		if (i % 2)
			tc_free(p), gone(2000);
		char *volatile c = new char[some(i)];
		made(some(i));
		if (i % 3)
			delete[] c, gone(some(i));
		void *volatile d = operator new(some(i), std::nothrow);
		made(some(i));
		if (i % 3)
			operator delete(d), gone(some(i));
		tc_free(tc_calloc(3, some(i))), made(3 * some(i)), gone(3 * some(i));
	}
}
#elif defined SLICES
extern "C" void *g_slice_alloc(size_t), *g_slice_alloc0(size_t);
extern "C" void g_slice_free1(size_t, void *);
static void use()
{
	void *kept[64] = {};
	size_t sizes[64];
	for (int i = 0; i < 4000; i++) {
		int k = i * 31 % 64;
		if (kept[k])
			g_slice_free1(sizes[k], kept[k]), gone(sizes[k]);
		kept[k] = i % 9 ? g_slice_alloc(sizes[k] = some(i)) : g_slice_alloc0(sizes[k] = some(i));
		made(sizes[k]);
	}
}
#elif defined APR
extern "C" int apr_initialize(), apr_pool_create_ex(void **, void *, void *, void *);
extern "C" void *apr_palloc(void *, size_t), *apr_pcalloc(void *, size_t);
extern "C" void apr_pool_clear(void *), apr_pool_destroy(void *);
extern "C" char *apr_pstrdup(void *, const char *);
static void use()
{
	void *root;
	apr_initialize();
	apr_pool_create_ex(&root, nullptr, nullptr, nullptr);
	unsigned long before = allocations;
	for (int round = 0; round < 20; round++) {
		void *p, *q;
		apr_pool_create_ex(&p, root, nullptr, nullptr);
		apr_pool_create_ex(&q, p, nullptr, nullptr);
		unsigned long n = 0, inside = 0;
		for (int i = 0; i < 200; i++) {
			apr_palloc(i % 2 ? p : q, some(i)), made(some(i));
			n++, inside += some(i);
		}
		if (round == 7)
			apr_pool_clear(p); /* and its child goes */
		else if (round < 19)
			apr_pool_destroy(p);
		else
			n = inside = 0;
		frees += n, live -= inside;
	}
	(void)before;
}
#endif

int main(int argc, char **argv)
{
	char go;
	setvbuf(stdout, nullptr, _IONBF, 0);
	if (argc > 1) { /* until it is recorded */
		fputs(argv[1], stderr);
		if (read(0, &go, 1) != 1)
			return 1;
	}
	use();
	printf("%lu|%lu|%lu|%lu\n", allocations, frees, bytes, live);
	return 0;
}
