/* SPDX-License-Identifier: MIT
 * Defines for aarch64 the inline functions that cpu.h declares.
 */
#pragma once

/* ---- CFI ---- */

/* DWARF register numbers. No frame has a CFA or a bp that only an expression finds, so the opcode
 * of the expression "bp + n" is one that does not exist. MG_DW_IGNORED: that the return address is
 * signed from here on (its signature is dropped, see mg_code_bits). */
enum { MG_DW_BP = 29, MG_DW_SP = 31, MG_DW_RA = 30, MG_DW_OP_BREG_BP = 0x100 };
enum { MG_DW_IGNORED = 0x2d };
/* Returns the index of a callee-saved register, x19 to x28; -1 = another register, or bp. */
MG_INLINE int mg_kept_of(uint64_t dwarf)
{
	return dwarf - 19 < MG_KEPT ? (int)dwarf - 19 : -1;
}
/* Layout of the kernel's signal frame: offsets in it, at sp, and the number of bytes read. It
 * begins with siginfo, and struct ucontext follows. */
enum { MG_SIGNAL_BP = 544, MG_SIGNAL_LINK = 552, MG_SIGNAL_SP = 560, MG_SIGNAL_IP = 568 };
enum { MG_SIGNAL_BYTES = 576 };

/* Layout of a rule in a thread's own table (rules.h): number of bits of the distance from the CFA
 * to the words saved, and the unit of the CFA's offset. Frames save bp and the return address at
 * their lower end, however large they are. */
enum { MG_OWN_WHERE_BITS = 13, MG_OWN_CFA_UNIT = 16 };

/* The offset in a rule is that of bp, with the return address right above it, or, where bp is not
 * saved, of the return address; 0 = that is not saved either. */
#define MG_RETURN_SLOT(rule, cfa)                                                                  \
	((cfa) + (uint64_t)MG_RULE_BP_OFFSET(rule) + (MG_RULE_BP(rule) == MG_BP_SAME ? 0 : 8))
#define MG_OWN_RETURN_SLOT(rule, cfa)                                                              \
	((cfa)-MG_OWN_WHERE(rule) + ((rule)&MG_OWN_LOADS_BP) * (8 / MG_OWN_LOADS_BP))
#define MG_OWN_BP_SLOT(rule, slot) ((slot)-8)

MG_INLINE bool mg_pack_return(bool saved, int64_t at, bool bp_saved, int64_t *bp)
{
	if (bp_saved)
		return saved && at == *bp + 8 && at < 0;
	*bp = saved ? at : 0;
	return !saved || at < 0;
}

MG_INLINE uint64_t mg_code_bits(uint64_t word)
{
	return word & (MG_ADDRESS_END - 1);
}

/* ---- entries ---- */

/* A function saves bp and the return address somewhere in its frame, so the frame of a hook has
 * copies of them, and its caller's sp. */
#define MG_FRAME                                                                                   \
	((const uint64_t[]){*(const uint64_t *)__builtin_frame_address(0),                         \
			    (uint64_t)__builtin_return_address(0),                                 \
			    (uint64_t)__builtin_dwarf_cfa()})
#define MG_FRAME_SP(frame) ((frame)[2])

/* Word offsets from the frame, at which the entries of hooked functions save the arguments in
 * their order (downwards), the result, and the callee-saved registers. The frame has 4 words. */
enum { MG_ENTRY_ARG = -11, MG_ENTRY_RESULT = -20, MG_ENTRY_KEPT = -1 };
enum { MG_IMAGE_RETURN = -30, MG_IMAGE_CALLED = -29 };
enum { MG_CUSTOM_HOOK = -31, MG_CUSTOM_RETURN = -30 };
/* MG_ARGS_IN_REGISTERS: number of arguments passed in registers; MG_ARGS_ON_STACK: word offset of
 * the first argument on the stack from the frame */
enum { MG_ARGS_IN_REGISTERS = 8, MG_ARGS_ON_STACK = 4 };

/* Words of an entry stay on the stack until something overwrites them, and are the same for each
 * call: they alone do not tell. Reads between both frames only. */
MG_INLINE bool mg_has_left(const uint64_t *frame, const uint64_t *outer)
{
	enum { NEAR = 1 << 17 }; /* words */
	const uint64_t *at = (const uint64_t *)frame[0];
	if (outer - frame > NEAR)
		return false;
	while (at > frame && at < outer && !((uint64_t)at & 15)) {
		frame = at;
		at = (const uint64_t *)*(const volatile uint64_t *)at;
	}
	return at > outer && at - outer < NEAR && !((uint64_t)at & 15);
}

#define MG_VECTORS_BYTES 528u /* q0 to q31, fpcr, fpsr */

/* ---- instructions ---- */

MG_INLINE uint64_t mg_counter(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks << MG_COUNTER_SHIFT;
}

MG_INLINE void mg_order_counter(void)
{
	__asm__ volatile("isb" ::: "memory");
}

MG_INLINE void mg_relax(void)
{
	__asm__ volatile("yield");
}

MG_INLINE uint64_t mg_thread_pointer(void)
{
	uint64_t tp;
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

MG_INLINE long mg_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			  uint64_t f)
{
	register long x8 __asm__("x8") = nr;
	register uint64_t x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register uint64_t x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return (long)x0;
}

/* A signal makes the store fail. */
MG_INLINE bool mg_count_down(int64_t *left, uint64_t by)
{
	int64_t now;
	uint32_t failed;
	__asm__ volatile("0:\tldxr %0, %2\n\tsub %0, %0, %3\n\tstxr %w1, %0, %2\n\tcbnz %w1, 0b"
			 : "=&r"(now), "=&r"(failed), "+Q"(*left)
			 : "r"(by));
	return now <= 0;
}

MG_INLINE bool mg_swap_pair(void *at, const uint64_t old[2], const uint64_t new[2])
{
	uint64_t low, high;
	uint32_t failed;
	__asm__ volatile("0:\tldaxp %0, %1, %3\n\t"
			 "cmp %0, %4\n\tccmp %1, %5, #0, eq\n\tcset %w2, ne\n\tb.ne 1f\n\t"
			 "stlxp %w2, %6, %7, %3\n\tcbnz %w2, 0b\n1:"
			 : "=&r"(low), "=&r"(high), "=&r"(failed), "+Q"(*(uint64_t(*)[2])at)
			 : "r"(old[0]), "r"(old[1]), "r"(new[0]), "r"(new[1])
			 : "cc", "memory");
	return !failed;
}

MG_INLINE uint64_t mg_choose(uint64_t a, uint64_t b, uint64_t flags, uint64_t bit)
{
	__asm__("tst %1, %3\n\tcsel %0, %2, %0, ne"
		: "+r"(a)
		: "r"(flags), "r"(b), "i"(bit)
		: "cc");
	return a;
}

/* Saves the registers for a stack copy in `r`. */
#ifndef MG_IMAGE
/* Saves the registers as they are inside the guest: ms-record unwinds the guest's frames too,
 * and drops them. */
#define MG_TAKE_REGISTERS(r, frame)                                                                \
	__asm__ volatile("0:\tadr x9, 0b\n\tmov x10, sp\n\tstp x9, x10, [%0]\n\t"                  \
			 "stp x29, x30, [%0, #16]\n\tstp x19, x20, [%0, #32]\n\t"                  \
			 "stp x21, x22, [%0, #48]\n\tstp x23, x24, [%0, #64]\n\t"                  \
			 "stp x25, x26, [%0, #80]\n\tstp x27, x28, [%0, #96]"                      \
			 :                                                                         \
			 : "r"(r)                                                                  \
			 : "x9", "x10", "memory")
#else
/* Saves the registers of the hook's caller, as aarch64_image.S stored them, because no unwinder
 * knows the guest image. The return address - 4 is the call instruction. */
#define MG_TAKE_REGISTERS(r, frame)                                                                \
	do {                                                                                       \
		(r)[MG_REG_IP] = (frame)[1] - 4;                                                   \
		(r)[MG_REG_SP] = MG_FRAME_SP(frame);                                               \
		(r)[MG_REG_BP] = (frame)[0];                                                       \
		(r)[MG_REG_LINK] = 0;                                                              \
		for (int i = 0; i < (int)MG_KEPT; i++)                                             \
			(r)[MG_REG_X19 + i] = (frame)[MG_ENTRY_KEPT - i];                          \
	} while (0)
#endif
