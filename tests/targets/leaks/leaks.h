/* SPDX-License-Identifier: MIT
 * Blocks whose name tells the truth about them: the innermost function on the call stack that is
 * called direct_, indirect_ or reachable_ something says what a leak scan at the end has to find.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

APART static void *direct_block(size_t n)
{
	void *p = malloc(n);
	memset(p, 0, n);
	return p;
}

APART static void *indirect_block(size_t n)
{
	void *p = malloc(n);
	memset(p, 0, n);
	return p;
}

APART static void *reachable_block(size_t n)
{
	void *p = malloc(n);
	memset(p, 0, n);
	return p;
}

/* Wipes what earlier calls left on the stack and in registers. */
APART static void scrub(void)
{
	volatile char room[4096];
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
	__asm__ volatile("xor %%ebx, %%ebx\n xor %%r12d, %%r12d\n xor %%r13d, %%r13d\n"
			 "xor %%r14d, %%r14d\n xor %%r15d, %%r15d" ::
				 : "rbx", "r12", "r13", "r14", "r15", "memory");
}
