/* SPDX-License-Identifier: MIT
 * aarch64: saves and restores vector registers around calls of the dynamic linker.
 */
#include "cpu.h"

void mg_vectors_init(void)
{
}

#define ALL(op)                                                                                    \
	".arch_extension simd\n\t" op " q0, q1, [%0]\n\t" op " q2, q3, [%0, #32]\n\t" op           \
	" q4, q5, [%0, #64]\n\t" op " q6, q7, [%0, #96]\n\t" op " q8, q9, [%0, #128]\n\t" op       \
	" q10, q11, [%0, #160]\n\t" op " q12, q13, [%0, #192]\n\t" op                              \
	" q14, q15, [%0, #224]\n\t" op " q16, q17, [%0, #256]\n\t" op                              \
	" q18, q19, [%0, #288]\n\t" op " q20, q21, [%0, #320]\n\t" op                              \
	" q22, q23, [%0, #352]\n\t" op " q24, q25, [%0, #384]\n\t" op                              \
	" q26, q27, [%0, #416]\n\t" op " q28, q29, [%0, #448]\n\t" op " q30, q31, [%0, #480]\n\t"

void mg_vectors_save(void *area)
{
	uint64_t control, status;
	__asm__ volatile(ALL("stp") "mrs %1, fpcr\n\tmrs %2, fpsr"
			 : "+r"(area), "=&r"(control), "=&r"(status)
			 :
			 : "memory");
	((uint64_t *)area)[64] = control;
	((uint64_t *)area)[65] = status;
}

void mg_vectors_restore(const void *area)
{
	const uint64_t *word = area;
	__asm__ volatile(ALL("ldp") "msr fpcr, %1\n\tmsr fpsr, %2"
			 :
			 : "r"(area), "r"(word[64]), "r"(word[65])
			 : "memory");
}
