/* SPDX-License-Identifier: MIT
 * Counting for the test targets: a program says what it allocates and this counts it, independent
 * of MemScope.
 *
 * The macros call the real function from the program's own function, so that this is the innermost
 * frame of the stack, and note the result under that function's name. The totals are written as
 * JSON to the file named by TRUTH_FILE when the program ends (or by tm_dump), without any
 * allocation.
 *
 * Words are those of design: a realloc of a block is one allocation, one free and one reallocation;
 * a temporary block is freed by its own thread before that thread allocates again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Holds what was known of a block that a realloc is about to replace. */
struct tm_old {
	int held;
	size_t size;
	int site;
	uint32_t thread;
	uint64_t number;
};

/* 1 (the default): one lock is held around each real call, so that the order of all threads' calls,
 * and with it the peak, is known. 0: only the counting is locked, the peak is not known. Set before
 * threads start. */
extern int tm_serial;
/* 1: nothing but the program's own counted calls may allocate in this process. */
extern int tm_pure;

void tm_enter(void);
void tm_leave(void);
/* Notes a block made by function; NULL with a size above 0 is a failed call. */
void tm_alloc(const char *function, const void *block, size_t size);
/* Notes that block is about to be freed; NULL is ignored. */
void tm_free(const void *block);
struct tm_old tm_replace(const void *block);
void tm_replaced(const char *function, struct tm_old old, const void *oldblock, const void *block,
		 size_t size);
/* Takes tm_replace back: nothing happened to the block. */
void tm_kept(struct tm_old old, const void *block);
/* Notes an allocation made and freed inside the C or C++ library on behalf of function. */
void tm_passing(const char *function, size_t size);
/* Notes blocks that a library function makes by itself; compared under that function's name. */
void tm_via(const char *library_function, size_t size);
/* Writes the truth now. A forked child's call does nothing. */
void tm_dump(void);
/* Writes text to standard output, unbuffered, without allocating. */
void tm_say(const char *text);
void tm_say_number(const char *what, long number);
/* Pseudo-random numbers of the tests' own. */
uint64_t tm_random(uint64_t *state);

#ifdef __cplusplus
}
#endif

/* A function that stays one frame with its own name. */
#define SITE __attribute__((noipa))

#define TM_NEW(size, call)                                                                         \
	__extension__({                                                                            \
		size_t tm_n = (size);                                                              \
		tm_enter();                                                                        \
		void *tm_p = (call);                                                               \
		tm_alloc(__func__, tm_p, tm_n);                                                    \
		tm_leave();                                                                        \
		tm_p;                                                                              \
	})
#define MALLOC(n) TM_NEW((n), malloc(tm_n))
#define CALLOC(c, n) TM_NEW((size_t)(c) * (n), calloc((c), (n)))
#define MEMALIGN(a, n) TM_NEW((n), memalign((a), tm_n))
#define ALIGNED_ALLOC(a, n) TM_NEW((n), aligned_alloc((a), tm_n))
#define VALLOC(n) TM_NEW((n), valloc(tm_n))
#define PVALLOC(n) TM_NEW((n), pvalloc(tm_n))
#define STRDUP(s) TM_NEW(strlen(s) + 1, strdup(s))
#define POSIX_MEMALIGN(a, n)                                                                       \
	TM_NEW((n), __extension__({                                                                \
		       void *tm_q = NULL;                                                          \
		       posix_memalign(&tm_q, (a), tm_n) == 0 ? tm_q : NULL;                        \
	       }))
#define TM_RESIZE(p, size, call)                                                                   \
	__extension__({                                                                            \
		size_t tm_n = (size);                                                              \
		void *tm_o = (p);                                                                  \
		tm_enter();                                                                        \
		struct tm_old tm_was = tm_replace(tm_o);                                           \
		void *tm_p = (call);                                                               \
		tm_replaced(__func__, tm_was, tm_o, tm_p, tm_n);                                   \
		tm_leave();                                                                        \
		tm_p;                                                                              \
	})
#define REALLOC(p, n) TM_RESIZE((p), (n), realloc(tm_o, tm_n))
#define REALLOCARRAY(p, c, n) TM_RESIZE((p), (size_t)(c) * (n), reallocarray(tm_o, (c), (n)))
#define TM_END(p, call)                                                                            \
	__extension__({                                                                            \
		void *tm_o = (void *)(p);                                                          \
		tm_enter();                                                                        \
		tm_free(tm_o);                                                                     \
		call;                                                                              \
		tm_leave();                                                                        \
	})
#define FREE(p) TM_END((p), free(tm_o))
