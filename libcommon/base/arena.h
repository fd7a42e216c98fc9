/* SPDX-License-Identifier: MIT
 * Arena: memory that is given back all at once, and a growing array on malloc.
 *
 * Running out of memory here ends the program with one line on standard error: the one exception to
 * "only main prints and exits" (CONTRIBUTING.md). The status is 2 unless main set another.
 */
#pragma once

#include <stddef.h>

extern int ms_out_of_memory_status;

struct ms_arena {
	struct ms_arena_chunk *chunk; /* newest */
	char *at, *end;               /* free part of it */
};

/* A moment to go back to. */
struct ms_arena_mark {
	struct ms_arena_chunk *chunk;
	char *at;
};

/* `size` bytes, zeroed, aligned to 16; never NULL. Lives until the arena is released past it. */
void *ms_arena_alloc(struct ms_arena *a, size_t size);
/* Copy of `n` bytes of `s` with a NUL after them. */
char *ms_arena_strndup(struct ms_arena *a, const char *s, size_t n);
char *ms_arena_strdup(struct ms_arena *a, const char *s);
char *ms_arena_printf(struct ms_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct ms_arena_mark ms_arena_mark(const struct ms_arena *a);
/* Frees everything allocated after the mark. A zeroed mark frees all. */
void ms_arena_release(struct ms_arena *a, struct ms_arena_mark m);
void ms_arena_free(struct ms_arena *a);

/* realloc that does not return on failure; `count * size` is checked. */
void *ms_xrealloc(void *p, size_t count, size_t size);
/* calloc that does not return on failure: of large ones no page is touched. */
void *ms_xcalloc(size_t count, size_t size);
/* strdup and strndup that do not return on failure. */
char *ms_xstrdup(const char *s);
char *ms_xstrndup(const char *s, size_t n);
/* One line, and the end: also for libraries that would go on with less than was asked for. */
_Noreturn void ms_out_of_memory(void);

/* The array `v` with at least `n` elements of `size` bytes, new ones zero; *have is how many it has.
 */
void *ms_xgrow(void *v, size_t *have, size_t n, size_t size);

/* Frees all of these. */
void ms_free_all(void *const *v, size_t n);
#define MS_FREE(...)                                                                               \
	ms_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* A growing array of T on malloc: `n` elements `v`. Zero = empty. */
#define MS_ARRAY(T)                                                                                \
	struct {                                                                                   \
		T *v;                                                                              \
		size_t n, cap;                                                                     \
	}

/* Appends an element to an MS_ARRAY, or to a struct with these members, and evaluates to it: it is
 * not initialised. */
#define MS_PUSH(a) MS_APPEND((a)->v, (a)->n, (a)->cap)
/* Appends an element as MS_PUSH does, to an array whose three parts have other names. */
#define MS_APPEND(v, n, cap)                                                                       \
	((n) == (cap) ? ((v) = ms_xrealloc((v), (cap) = (cap) ? (cap)*2 : 16, sizeof *(v))) : (v), \
	 &(v)[(n)++])
