/* SPDX-License-Identifier: MIT
 * A static allocator whose callers keep values in registers that the calling convention lets it
 * change
 * (-fipa-ra). First as the compiler does it, then all of them: general ones, flags, vector
 * registers with their upper halves. It must be as without a hook: status 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char memory[1 << 22];
static size_t used;

/* Changes nothing but rax, the first argument and flags when compiled at -O2. */
static __attribute__((noinline, noclone)) void *pool_alloc(size_t size)
{
	void *p = memory + used;
	used += size;
	return p;
}

/* Eleven values that live across the call. */
static __attribute__((noinline)) uint64_t mix(const uint64_t *v, int rounds)
{
	uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];
	double x = (double)a, y = (double)b;
	for (int i = 0; i < rounds; i++) {
		char *p = pool_alloc(16 + (size_t)(i & 7));
		*p = (char)i;
		a = a * 31 + b + (uint64_t)i;
		b ^= c << 7 | d >> 57;
		c += d * 3 + e;
		d = d * 5 + f;
		e ^= a >> 3;
		f += e ^ b;
		x = x * 0.5 + (double)(uint32_t)a;
		y = y * 0.25 + x;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ (uint64_t)x ^ (uint64_t)y;
}

/* ---- all of them ---- */

/* The allocator as a compiler with much to do would write it. */
__asm__(".text\n.globl asm_alloc\n.type asm_alloc, @function\nasm_alloc:\n\t.cfi_startproc\n"
	"	mov asm_used(%rip), %rax\n	lea (%rax,%rdi), %rdi\n	mov %rdi, asm_used(%rip)\n"
	"	nop\n	nop\n	ret\n	.cfi_endproc\n.size asm_alloc, .-asm_alloc\n"
	".data\n.balign 8\nasm_used:\n	.quad 0x100000\n.text\n");

#define LOAD(n) "vmovdqu %%ymm" #n ", 32*" #n "(%[to])\n\t"
#define FILL(n) "vmovdqu 32*" #n "(%[from]), %%ymm" #n "\n\t"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define LOAD5(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%[to])\n\t"
#define FILL5(n) "vmovdqu64 64*" #n "(%[from]), %%zmm" #n "\n\t"
#define ALL5(f)                                                                                    \
	ALL(f)                                                                                     \
	f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30)  \
		f(31)

#define SEEN __attribute__((used, externally_visible))
/* rdx rcx rsi r8 r9 r10 r11 flags */
SEEN uint64_t in[8], out[8];
static uint8_t vectors[2][32 * 64] __attribute__((aligned(64)));
SEEN uint64_t masks[2][8];

#define GENERAL_IN                                                                                 \
	"mov in(%%rip), %%rdx\n\tmov in+8(%%rip), %%rcx\n\tmov in+16(%%rip), %%rsi\n\tmov "        \
	"in+24(%%rip), %%r8\n\t"                                                                   \
	"mov in+32(%%rip), %%r9\n\tmov in+40(%%rip), %%r10\n\tmov in+48(%%rip), %%r11\n\t"         \
	"pushq in+56(%%rip)\n\tpopfq\n\tmov $24, %%edi\n\tcall asm_alloc\n\tpushfq\n\tpopq "       \
	"out+56(%%rip)\n\tcld\n\t"                                                                 \
	"mov %%rdx, out(%%rip)\n\tmov %%rcx, out+8(%%rip)\n\tmov %%rsi, out+16(%%rip)\n\tmov "     \
	"%%r8, out+24(%%rip)\n\t"                                                                  \
	"mov %%r9, out+32(%%rip)\n\tmov %%r10, out+40(%%rip)\n\tmov %%r11, out+48(%%rip)\n\t"
#define CLOBBERS "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory"

__attribute__((target("avx"), noinline)) static void call_avx(void)
{
	__asm__ volatile("sub $256, %%rsp\n\t" ALL(FILL)
				 GENERAL_IN ALL(LOAD) "add $256, %%rsp\n\tvzeroupper"
			 :
			 : [from] "r"((void *)vectors[0]), [to] "b"((void *)vectors[1])
			 : CLOBBERS, "r12");
}

__attribute__((target("avx512f"), noinline)) static void call_avx512(void)
{
	__asm__ volatile(
		"sub $256, %%rsp\n\t" ALL5(
			FILL5) "kmovw masks(%%rip), %%k1\n\tkmovw masks+8(%%rip), "
			       "%%k7\n\t" GENERAL_IN ALL5(
				       LOAD5) "kmovw %%k1, %%eax\n\tmov %%rax, "
					      "masks+64(%%rip)\n\tkmovw %%k7, %%eax\n\tmov "
					      "%%rax, masks+72(%%rip)\n\t"
					      "add $256, %%rsp\n\tvzeroupper"
		:
		: [from] "r"((void *)vectors[0]), [to] "b"((void *)vectors[1])
		: CLOBBERS, "r12");
}

static int compare(int round, size_t bytes, int with_masks)
{
	int bad = 0;
	for (int i = 0; i < 8; i++)
		if (in[i] != out[i])
			bad = printf("round %d: general register %d: %lx became %lx\n", round, i,
				     (unsigned long)in[i], (unsigned long)out[i]);
	if (memcmp(vectors[0], vectors[1], bytes))
		bad = printf("round %d: a vector register changed\n", round);
	if (with_masks && (masks[0][0] != masks[1][0] || masks[0][1] != masks[1][1]))
		bad = printf("round %d: a mask register changed\n", round);
	return bad;
}

static int check(int rounds)
{
	int avx512 = __builtin_cpu_supports("avx512f"), bad = 0;
	if (!__builtin_cpu_supports("avx"))
		return 0;
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < 7; i++)
			in[i] = 0x9e3779b97f4a7c15u * (uint64_t)(r * 8 + i + 1);
		/* carry, parity, adjust, zero, sign, overflow, and the bit that is always set;
		 * interrupts */
		in[7] = 0x202 | (r & 1 ? 0x8d5 : 0) | (r & 2 ? 0x40 : 0);
		for (size_t i = 0; i < sizeof vectors[0]; i++)
			vectors[0][i] = (uint8_t)(i * 7 + (size_t)r);
		masks[0][0] = (uint16_t)(r * 40503 + 1);
		masks[0][1] = (uint16_t)(r * 30011 + 2);
		if (avx512)
			call_avx512();
		else
			call_avx();
		/* The function itself changes flags by nothing: mov and lea. */
		bad |= compare(r, avx512 ? sizeof vectors[0] : 16 * 32, avx512);
	}
	return bad;
}

int main(int argc, char **argv)
{
	char go;
	if (argc > 1) { /* until it is recorded */
		fputs(argv[1], stderr);
		if (read(0, &go, 1) != 1)
			return 1;
	}
	static const uint64_t v[6] = {1, 22, 333, 4444, 55555, 666666};
	printf("%lx\n", (unsigned long)mix(v, 20000));
	int bad = check(2000);
	printf("used %zu\n", used);
	return bad != 0;
}
