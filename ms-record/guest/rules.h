/* SPDX-License-Identifier: MIT
 * How to step from a frame to its caller: rules, the table that all threads share (rules.c), where
 * they come from (eh_frame.c), and a thread's own copy of them.
 */
#pragma once

#include "cpu.h"

/* Names the types of an unwinding rule, a word that tells how to step from a frame to its caller:
 *
 *   bits 0-3    type
 *        4-5    location of the caller's bp
 *        6-7    whether this frame's bp is needed
 *        8-23   bp's offset
 *        24-31  check bits
 *        32-63  CFA's offset
 *
 * 0 is no rule. */
enum mg_rule_type {
	MG_RULE_FROM_SP = 1, /* CFA = sp + offset */
	MG_RULE_FROM_BP = 2, /* CFA = bp + offset */
	MG_RULE_DEREF = 3,   /* CFA = *(bp + offset): a realigned stack */
	MG_RULE_SIGNAL = 4,  /* the kernel's signal frame; its layout is ABI */
	MG_RULE_END = 5,     /* the outermost frame: no return address */
	/* neither a known module's .eh_frame nor its code gives a rule for this ip */
	MG_RULE_NONE = 6,
	MG_RULE_COMPLEX = 7, /* any other CFI rule: ms-record unwinds a copy of the stack */
	/* Rules of addresses outside all known modules, which are never stored. */
	MG_RULE_UNKNOWN = 8,   /* code of a mapped file: ms-record unwinds a copy of the stack */
	MG_RULE_CODE_SP = 9,   /* code generated at run time; CFA as in MG_RULE_FROM_SP */
	MG_RULE_CODE_BP = 10,  /* code generated at run time; CFA as in MG_RULE_FROM_BP */
	MG_RULE_CODE_END = 11, /* code generated at run time, without a known rule */
	MG_RULE_NO_CODE = 12,  /* not known to be code */
	MG_RULE_FRAMED = 13,   /* code that keeps a frame pointer, as reported by ms-record */
	/* Rules derived from the code of a known module without CFI. They are stored, and used
	 * only if the return address to which they lead follows a call; with MG_BP_AT_BP, only
	 * if bp is right below that address. */
	MG_RULE_FLOW_BP = 14, /* CFA as in MG_RULE_FROM_BP */
	MG_RULE_FLOW_SP = 15, /* CFA as in MG_RULE_FROM_SP */
};
enum mg_rule_bp { MG_BP_SAME = 0, MG_BP_AT_CFA = 1, MG_BP_AT_BP = 2 };
enum mg_rule_need { MG_NEED_INHERIT = 0, MG_NEED_YES = 1, MG_NEED_NO = 2 };

#define MG_RULE_TYPE(r) ((uint32_t)(r)&15)
#define MG_RULE_BP(r) ((uint32_t)(r) >> 4 & 3)
#define MG_RULE_NEED(r) ((uint32_t)(r) >> 6 & 3)
#define MG_RULE_BP_OFFSET(r) ((int64_t)(int16_t)((r) >> 8))
#define MG_RULE_CFA_OFFSET(r) ((int64_t)(r) >> 32)
/* Defines the rule of code that keeps a frame pointer. */
#define MG_RULE_FRAME                                                                              \
	(MG_RULE_FROM_BP | MG_BP_AT_CFA << 4 | MG_NEED_YES << 6 | UINT64_C(0xfff0) << 8 |          \
	 UINT64_C(16) << 32)

/* Describes the memory of one module that may be read for its .eh_frame. */
struct mg_unwind_info {
	uint64_t start, end; /* the module */
	uint64_t low,
		high; /* the mapped segment that holds .eh_frame_hdr; [low, high) is readable */
	uint64_t hdr; /* 0 = none */
	uint64_t code_low, code_high; /* a segment of code that may be read too; 0, 0 = none */
	/* function list instead of .eh_frame_hdr; [low, high) is .eh_frame */
	const struct mg_frames_entry *frames;
	uint32_t frame_count; /* 0 = none */
};
/* Returns 1 + the index of ms-record's function list for the module that begins at `start`, 0 =
 * none. mg_unwind_info_frames stores that list in `info`. */
uint32_t mg_frames_of(uint64_t start);
void mg_unwind_info_frames(struct mg_unwind_info *info, uint32_t frames);

/* Returns the rule for `ip` from its module's .eh_frame; MG_EXACT_IP set = an interrupted
 * instruction. Reads only within [low, high) and [code_low, code_high). */
uint64_t mg_eh_frame_rule(const struct mg_unwind_info *info, uint64_t ip);
/* Returns the rule of `ip` like mg_eh_frame_rule, and fills `kept` with the offsets from the CFA
 * at which the caller's other callee-saved registers are saved; 0 = still in the register. */
#define MG_KEPT_LOST 1 /* value in `kept`: the register's location is unknown */
uint64_t mg_eh_frame_kept(const struct mg_unwind_info *info, uint64_t ip, int16_t kept[MG_KEPT]);

/* Returns the unwinding rule of an address outside all known modules. */
uint64_t mg_rule_outside(uint64_t ip);

struct mg_rule_slot {
	uint64_t key; /* 0 = empty */
	uint64_t rule;
};
struct mg_rule_table {
	struct mg_rule_slot *slots;
	uint32_t shift; /* 64 - log2(number of slots): shifting a hash right by it gives an index */
	uint32_t used;
};
#define MG_RULE_KEY(ip, epoch) (MG_CODE_KEY(ip) | (uint64_t)((epoch)&0xffff) << MG_CODE_BITS)
#define MG_RULE_HASH(key) ((key)*UINT64_C(0x9e3779b97f4a7c15))
#define MG_RULE_CHECK(hash, epoch) ((((hash) >> 30) + ((epoch) >> 16)) & 0xff)
#define MG_RULE_TABLES 4u
#define MG_RULE_BITS_FIRST 12u
#define MG_RULE_BITS_STEP 2u
#define MG_RULE_PROBES 32u
/* Size of all tables together, in bytes. */
#define MG_RULE_BYTES ((size_t)16 << 12 | (size_t)16 << 14 | (size_t)16 << 16 | (size_t)16 << 18)

/* Layout of a rule in a thread's own table, which holds the rules that most steps need, one word
 * each, found without probing:
 *
 *   bit  0      CFA = bp + offset, not sp + offset
 *        1      the caller's bp is in memory
 *        2-     n: bp is saved at CFA - 8 n; MG_OWN_WHERE_BITS bits
 *        -27    CFA's offset / MG_OWN_CFA_UNIT
 *        28-63  the ip's upper bits
 *
 * Index and upper bits determine the ip, so an entry is never mistaken for another ip's. If bp is
 * not in memory, n is that of the return address, so that the word at CFA - 8 n can always be
 * read. */
#define MG_OWN_BITS 11u
#define MG_OWN_RULES (1u << MG_OWN_BITS)
#define MG_OWN_INDEX(ip) ((MG_CODE_KEY(ip) ^ MG_CODE_KEY(ip) >> MG_OWN_BITS) & (MG_OWN_RULES - 1))
#define MG_OWN_REST(ip) (MG_CODE_KEY(ip) >> MG_OWN_BITS << MG_OWN_RULE_BITS)
#define MG_OWN_RULE_BITS (17u + MG_OWN_BITS)
_Static_assert(MG_CODE_BITS - MG_OWN_BITS <= 64 - MG_OWN_RULE_BITS, "a rule's word holds the rest");
#define MG_OWN_FROM_BP 1u
#define MG_OWN_LOADS_BP 2u
#define MG_OWN_WHERE_END (1u << MG_OWN_WHERE_BITS)
#define MG_OWN_CFA_SHIFT (2 + MG_OWN_WHERE_BITS)
#define MG_OWN_OFFSET(rule) (((rule) >> MG_OWN_CFA_SHIFT) * MG_OWN_CFA_UNIT)
#define MG_OWN_WHERE(rule) (((rule) & (MG_OWN_WHERE_END - 1) << 2) * 2)
#define MG_INDEX 1024u

/* Sizes of a thread's table of paths. A path is a remembered walk from the state (ip, sp) of a
 * hook's caller through `n` frames to a frame that was remembered already. See unwind.c. */
#define MG_PATH_BITS 7u
#define MG_PATHS (1u << MG_PATH_BITS)
#define MG_PATH_MOST 12u /* maximum number of return addresses of a path; a multiple of 4 */
struct mg_slot {
	uint64_t address, value;
};
struct mg_path {
	uint64_t ip, sp; /* 0 = empty */
	uint64_t n;
	struct mg_slot at[MG_PATH_MOST]; /* return addresses, padded to a multiple of 4 entries */
	uint32_t above[MG_RETURN_BELOW ? 0 : MG_PATH_MOST]; /* mg_above of these frames */
};

/* Sizes of the table of whole stacks, which takes the memory of the paths while sampling. See
 * whole.c. */
#define MG_WHOLE_BITS 6u
_Static_assert(MG_WHOLES == 1u << MG_WHOLE_BITS, "as the layout has it");
#define MG_WHOLE_MOST 40u
struct mg_whole {
	_Alignas(64) uint64_t ip; /* ip of the hook's caller */
	uint64_t sp;              /* sp of the hook's caller; 0 = empty */
	uint64_t bp;              /* bp of the hook's caller, if `need` is set */
	uint8_t need;             /* 1 = bp is compared too */
	/* number of frames; number of words in `value`; 0 = stack seen only once */
	uint8_t frames, words;
	uint8_t flags;
	uint8_t sent; /* 1 = ms-record has this stack */
	uint16_t top; /* highest value in `at` */
	/* Words that the walk read, and their offsets in words from sp - 8: return addresses,
	 * outermost first, then other words. */
	uint64_t value[MG_WHOLE_MOST];
	uint16_t at[MG_WHOLE_MOST];
};
union mg_memory {
	struct mg_path paths[MG_PATHS];
	struct mg_whole wholes[MG_WHOLES];
};

/* Places the tables in zeroed memory of MG_RULE_BYTES bytes. */
void mg_rules_init(void *memory);
/* Computes the rule of `ip` without the table, for verification. */
uint64_t mg_rule_derive(uint64_t ip);
uint64_t mg_rule_miss(uint64_t ip, uint32_t epoch);
struct mg_writer;
/* Empties the thread's own table of rules, and its paths. */
void mg_own_rules_forget(struct mg_writer *t);
