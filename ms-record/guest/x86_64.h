/* SPDX-License-Identifier: MIT
 * Defines for x86-64 the inline functions that cpu.h declares.
 */
#pragma once

/* ---- CFI ---- */

/* DWARF register numbers, and the opcode of the expression "bp + n". */
enum { MG_DW_BP = 6, MG_DW_SP = 7, MG_DW_RA = 16, MG_DW_OP_BREG_BP = 0x76 };
enum { MG_DW_IGNORED = 0 }; /* all opcodes say something */
/* Returns the index of a callee-saved register, in the order in which the entries save them; -1
 * = another register, or bp. */
MG_INLINE int mg_kept_of(uint64_t dwarf)
{
	return dwarf == 3 ? 0 : dwarf - 12 < MG_KEPT - 1 ? (int)dwarf - 11 : -1;
}
/* Layout of the kernel's signal frame: offsets in the struct ucontext at sp, and the number of
 * bytes read. */
enum { MG_SIGNAL_BP = 120, MG_SIGNAL_SP = 160, MG_SIGNAL_IP = 168, MG_SIGNAL_BYTES = 176 };
enum { MG_SIGNAL_LINK = 0 }; /* no register has a return address */

/* Layout of a rule in a thread's own table (rules.h): number of bits of the distance from the CFA
 * to the words saved, and the unit of the CFA's offset. */
enum { MG_OWN_WHERE_BITS = 6, MG_OWN_CFA_UNIT = 8 };

/* A return address is right below the CFA. */
#define MG_RETURN_SLOT(rule, cfa) ((void)(rule), (cfa)-MG_RETURN_BELOW)
#define MG_OWN_RETURN_SLOT(rule, cfa) ((void)(rule), (cfa)-MG_RETURN_BELOW)
#define MG_OWN_BP_SLOT(rule, slot) ((slot) + MG_RETURN_BELOW - MG_OWN_WHERE(rule))

MG_INLINE bool mg_pack_return(bool saved, int64_t at, bool bp_saved, int64_t *bp)
{
	(void)bp_saved, (void)bp;
	return saved && at == -(int64_t)MG_RETURN_BELOW;
}

MG_INLINE uint64_t mg_code_bits(uint64_t word)
{
	return word;
}

/* ---- entries ---- */

/* The frame of a hook is that of its function, with the caller's stack right above it. */
#define MG_FRAME ((const uint64_t *)__builtin_frame_address(0))
#define MG_FRAME_SP(frame) ((uint64_t)((frame) + 2))

/* Word offsets from the frame, at which the entries of hooked functions save the arguments in
 * their order (downwards), the result, and the callee-saved registers. */
enum { MG_ENTRY_ARG = -6, MG_ENTRY_RESULT = -14, MG_ENTRY_KEPT = -1 };
enum { MG_IMAGE_RETURN = -21, MG_IMAGE_CALLED = -18 }; /* word offsets used in x86_64_image.S */
enum { MG_CUSTOM_HOOK = -17, MG_CUSTOM_RETURN = -35 }; /* word offsets used in x86_64_custom.S */
/* MG_ARGS_IN_REGISTERS: number of arguments passed in registers; MG_ARGS_ON_STACK: word offset of
 * the first argument on the stack from the frame */
enum { MG_ARGS_IN_REGISTERS = 6, MG_ARGS_ON_STACK = 2 };

/* Left to the words of the entry: one is the return address, which other calls overwrite. */
MG_INLINE bool mg_has_left(const uint64_t *frame, const uint64_t *outer)
{
	(void)frame, (void)outer;
	return false;
}

#define MG_VECTORS_BYTES 2752u /* x87 to AVX-512 state and its header; aligned to 64 bytes */

/* ---- instructions ---- */

MG_INLINE uint64_t mg_counter(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

MG_INLINE void mg_order_counter(void)
{
	__asm__ volatile("lfence" ::: "memory");
}

MG_INLINE void mg_relax(void)
{
	__asm__ volatile("pause");
}

MG_INLINE uint64_t mg_thread_pointer(void)
{
	uint64_t tp;
	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

MG_INLINE long mg_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			  uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	long r;
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

MG_INLINE bool mg_count_down(int64_t *left, uint64_t by)
{
	bool over;
	__asm__("subq %2, %0" : "+m"(*left), "=@ccle"(over) : "r"(by) : "cc");
	return over;
}

MG_INLINE bool mg_swap_pair(void *at, const uint64_t old[2], const uint64_t new[2])
{
	uint64_t low = old[0], high = old[1];
	bool done;
	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(uint64_t(*)[2])at), "+a"(low), "+d"(high)
			 : "b"(new[0]), "c"(new[1])
			 : "memory");
	return done;
}

MG_INLINE uint64_t mg_choose(uint64_t a, uint64_t b, uint64_t flags, uint64_t bit)
{
	__asm__("testb %3, %b1\n\tcmovne %2, %0" : "+r"(a) : "q"(flags), "r"(b), "i"(bit) : "cc");
	return a;
}

/* Saves the registers for a stack copy in `r`. */
#ifndef MG_IMAGE
/* Saves the registers as they are inside the guest: ms-record unwinds the guest's frames too,
 * and drops them. */
#define MG_TAKE_REGISTERS(r, frame)                                                                \
	__asm__ volatile(                                                                          \
		"lea 0f(%%rip), %%rax\n0:\n\tmov %%rax, %0\n\tmov %%rsp, %1\n\tmov %%rbp, "        \
		"%2\n\tmov %%rbx, %3\n\t"                                                          \
		"mov %%r12, %4\n\tmov %%r13, %5\n\tmov %%r14, %6\n\tmov %%r15, %7"                 \
		: "=m"((r)[MG_REG_IP]), "=m"((r)[MG_REG_SP]), "=m"((r)[MG_REG_BP]),                \
		  "=m"((r)[MG_REG_RBX]), "=m"((r)[MG_REG_R12]), "=m"((r)[MG_REG_R13]),             \
		  "=m"((r)[MG_REG_R14]), "=m"((r)[MG_REG_R15])                                     \
		:                                                                                  \
		: "rax")
#else
/* Saves the registers of the hook's caller, as x86_64_image.S stored them, because no unwinder
 * knows the guest image. The return address - 1 lies in the call instruction. */
#define MG_TAKE_REGISTERS(r, frame)                                                                \
	do {                                                                                       \
		(r)[MG_REG_IP] = (frame)[1] - 1;                                                   \
		(r)[MG_REG_SP] = (uint64_t)((frame) + 2);                                          \
		(r)[MG_REG_BP] = (frame)[0];                                                       \
		for (int i = 0; i < 5; i++)                                                        \
			(r)[MG_REG_RBX + i] = (frame)[MG_ENTRY_KEPT - i];                          \
	} while (0)
#endif
