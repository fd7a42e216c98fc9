/* SPDX-License-Identifier: MIT
 * Arena: memory that is freed all at once, and a growing array on malloc.
 */
#include "arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct ms_arena_chunk {
	struct ms_arena_chunk *prev;
	char *end;
};

int ms_out_of_memory_status = 2;

void ms_out_of_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	exit(ms_out_of_memory_status);
}

void *ms_xrealloc(void *p, size_t count, size_t size)
{
	size_t n;
	if (__builtin_mul_overflow(count, size, &n) || !(p = realloc(p, n ? n : 1)))
		ms_out_of_memory();
	return p;
}

void *ms_xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);
	if (!p)
		ms_out_of_memory();
	return p;
}

char *ms_xstrndup(const char *s, size_t n)
{
	char *p = strndup(s, n);
	if (!p)
		ms_out_of_memory();
	return p;
}

char *ms_xstrdup(const char *s)
{
	return ms_xstrndup(s, strlen(s));
}

void *ms_xgrow(void *v, size_t *have, size_t n, size_t size)
{
	size_t want = *have ? *have : 64;
	if (n <= *have)
		return v;
	while (want < n)
		want *= 2;
	v = ms_xrealloc(v, want, size);
	memset((char *)v + *have * size, 0, (want - *have) * size);
	*have = want;
	return v;
}

void ms_free_all(void *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
}

void *ms_arena_alloc(struct ms_arena *a, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if ((size_t)(a->end - a->at) < size || !a->chunk) {
		size_t head = (sizeof(struct ms_arena_chunk) + 15) & ~(size_t)15;
		size_t want = size > CHUNK_SIZE - head ? size + head : CHUNK_SIZE;
		if (want < size)
			ms_out_of_memory();
		struct ms_arena_chunk *c = ms_xrealloc(NULL, want, 1);
		c->prev = a->chunk;
		c->end = (char *)c + want;
		a->chunk = c;
		a->at = (char *)c + head;
		a->end = c->end;
	}
	void *p = a->at;
	a->at += size;
	return memset(p, 0, size);
}

char *ms_arena_strndup(struct ms_arena *a, const char *s, size_t n)
{
	char *p = ms_arena_alloc(a, n + 1);
	return memcpy(p, s, n);
}

char *ms_arena_strdup(struct ms_arena *a, const char *s)
{
	return ms_arena_strndup(a, s, strlen(s));
}

char *ms_arena_printf(struct ms_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	char *p = ms_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return p;
}

struct ms_arena_mark ms_arena_mark(const struct ms_arena *a)
{
	return (struct ms_arena_mark){a->chunk, a->at};
}

void ms_arena_release(struct ms_arena *a, struct ms_arena_mark m)
{
	while (a->chunk && a->chunk != m.chunk) {
		struct ms_arena_chunk *prev = a->chunk->prev;
		free(a->chunk);
		a->chunk = prev;
	}
	a->at = a->chunk ? m.at : NULL;
	a->end = a->chunk ? a->chunk->end : NULL;
}

void ms_arena_free(struct ms_arena *a)
{
	ms_arena_release(a, (struct ms_arena_mark){NULL, NULL});
}
