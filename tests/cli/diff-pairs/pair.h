/* SPDX-License-Identifier: MIT
 * What the programs of the corpus of ms-diff share: a loop that allocates, and what keeps its blocks.
 */
#pragma once
#include <stdlib.h>

extern
#ifdef __cplusplus
	"C"
#endif
	void *volatile kept;

/* Allocates `n` blocks, all at one call of malloc. */
#define TAKE(n) ALL(n, malloc(64))
#define ALL(n, call)                                                                               \
	for (volatile int i_ = 0; i_ < (n); i_++)                                                  \
	kept = (call)
#define NOINLINE __attribute__((noinline, noipa))
