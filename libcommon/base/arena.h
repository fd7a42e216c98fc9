/* SPDX-License-Identifier: MIT
 * Arena: memory that is freed all at once, and a growing array on malloc.
 *
 * Running out of memory here ends the program with one line on standard error: the one exception to
 * "only main prints and exits" (CONTRIBUTING.md). The status is 2 unless main set another.
 */
#pragma once

#include <stddef.h>

extern int ms_out_of_memory_status;

struct ms_arena {
	struct ms_arena_chunk *chunk; /* newest chunk */
	char *at, *end;               /* unused part of the newest chunk */
};

/* Holds a state of an arena that ms_arena_release can return to. */
struct ms_arena_mark {
	struct ms_arena_chunk *chunk;
	char *at;
};

/* Returns `size` bytes, zeroed and aligned to 16; never NULL. They live until the arena is released
 * to an earlier mark. */
void *ms_arena_alloc(struct ms_arena *a, size_t size);
/* Returns a copy of `n` bytes of `s`, terminated by a NUL. */
char *ms_arena_strndup(struct ms_arena *a, const char *s, size_t n);
char *ms_arena_strdup(struct ms_arena *a, const char *s);
char *ms_arena_printf(struct ms_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct ms_arena_mark ms_arena_mark(const struct ms_arena *a);
/* Frees everything allocated after the mark. A zeroed mark frees all. */
void ms_arena_release(struct ms_arena *a, struct ms_arena_mark m);
void ms_arena_free(struct ms_arena *a);

/* Calls realloc, checks `count * size` for overflow, and does not return on failure. */
void *ms_xrealloc(void *p, size_t count, size_t size);
/* Calls calloc, and does not return on failure. The pages of a large allocation are not touched. */
void *ms_xcalloc(size_t count, size_t size);
/* Copy a string as strdup and strndup do, and do not return on failure. */
char *ms_xstrdup(const char *s);
char *ms_xstrndup(const char *s, size_t n);
/* Prints one line and ends the program. Also called when a library runs out of memory, since the
 * library would continue with incomplete results. */
_Noreturn void ms_out_of_memory(void);

/* Returns the array `v` with room for at least `n` elements of `size` bytes; new ones are zero.
 * *have is its capacity in elements. */
void *ms_xgrow(void *v, size_t *have, size_t n, size_t size);

/* Frees each of the `n` pointers in `v`. */
void ms_free_all(void *const *v, size_t n);
#define MS_FREE(...)                                                                               \
	ms_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* Declares a growing array on malloc: `n` elements of type T in `v`. All zero = empty. */
#define MS_ARRAY(T)                                                                                \
	struct {                                                                                   \
		T *v;                                                                              \
		size_t n, cap;                                                                     \
	}

/* Appends an element, which is not initialised, to an MS_ARRAY or to a struct with these members.
 * Evaluates to that element. */
#define MS_PUSH(a) MS_APPEND((a)->v, (a)->n, (a)->cap)
/* Appends an element as MS_PUSH does, to an array whose three members have other names. */
#define MS_APPEND(v, n, cap)                                                                       \
	((n) == (cap) ? ((v) = ms_xrealloc((v), (cap) = (cap) ? (cap)*2 : 16, sizeof *(v))) : (v), \
	 &(v)[(n)++])
