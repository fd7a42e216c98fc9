/* SPDX-License-Identifier: MIT
 * How to step from a frame to its caller: rules, the table that all threads share (rules.c), where
 * they come from (eh_frame.c), and a thread's own copy of them.
 */
#pragma once

#include "cpu.h"

/* How to step from a frame to its caller, in one word:
 *
 *   bits 0-3    type
 *        4-5    where the caller's bp is
 *        6-7    whether this frame's bp matters
 *        8-23   bp's offset
 *        24-31  check
 *        32-63  CFA's offset
 *
 * 0 is no rule. */
enum mg_rule_type {
	MG_RULE_FROM_SP = 1, /* CFA = sp + offset */
	MG_RULE_FROM_BP = 2, /* CFA = bp + offset */
	MG_RULE_DEREF = 3,   /* CFA = *(bp + offset): a realigned stack */
	MG_RULE_SIGNAL = 4,  /* the kernel's signal frame; its layout is ABI */
	MG_RULE_END = 5,     /* the root: no return address */
	MG_RULE_NONE = 6,    /* a known module says nothing about this ip, nor does its code */
	MG_RULE_COMPLEX = 7, /* true, but not one of ours: ms-record unwinds a copy */
	/* rules of addresses in no known module; never kept */
	MG_RULE_UNKNOWN = 8,   /* a file's: ms-record unwinds a copy */
	MG_RULE_CODE_SP = 9,   /* made at run time, as MG_RULE_FROM_SP, */
	MG_RULE_CODE_BP = 10,  /* and MG_RULE_FROM_BP, */
	MG_RULE_CODE_END = 11, /* or nothing can be said */
	MG_RULE_NO_CODE = 12,  /* not seen to be code */
	MG_RULE_FRAMED = 13,   /* keeps a frame pointer, as ms-record knows */
	/* rules by the code itself, where a known module says nothing: kept, and used if a call
	 * left the return address that they lead to; with MG_BP_AT_BP, only if bp is right below
	 * it */
	MG_RULE_FLOW_BP = 14, /* as MG_RULE_FROM_BP */
	MG_RULE_FLOW_SP = 15, /* as MG_RULE_FROM_SP */
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

/* The memory of one module that may be read for its .eh_frame. */
struct mg_unwind_info {
	uint64_t start, end; /* the module */
	uint64_t low,
		high; /* the mapped segment that holds .eh_frame_hdr; [low, high) is readable */
	uint64_t hdr; /* 0 = none */
	uint64_t code_low, code_high; /* a segment of code that may be read too; 0, 0 = none */
	const struct mg_frames_entry *frames; /* instead of a header; [low, high) is .eh_frame */
	uint32_t frame_count;                 /* 0 = none */
};
/* Returns the index + 1 of the list that ms-record has for the module, 0 = none; the other puts
 * that list into `info`. */
uint32_t mg_frames_of(uint64_t start);
void mg_unwind_info_frames(struct mg_unwind_info *info, uint32_t frames);

/* The rule for `ip` (MG_EXACT_IP set: an interrupted instruction) of a module, by its .eh_frame.
 * Every read lies in [low, high) or [code_low, code_high). */
uint64_t mg_eh_frame_rule(const struct mg_unwind_info *info, uint64_t ip);
/* Returns the rule of `ip` like mg_eh_frame_rule, and where the caller's other kept registers are:
 * from the CFA; 0 = still in themselves. */
#define MG_KEPT_LOST 1 /* not to be told */
uint64_t mg_eh_frame_kept(const struct mg_unwind_info *info, uint64_t ip, int16_t kept[MG_KEPT]);

/* Returns the rule of an address in no known module. */
uint64_t mg_rule_outside(uint64_t ip);

struct mg_rule_slot {
	uint64_t key; /* 0 = empty */
	uint64_t rule;
};
struct mg_rule_table {
	struct mg_rule_slot *slots;
	uint32_t shift; /* 64 - log2(slots) */
	uint32_t used;
};
#define MG_RULE_KEY(ip, epoch) ((ip) | (uint64_t)((epoch)&0xffff) << 47)
#define MG_RULE_HASH(key) ((key)*UINT64_C(0x9e3779b97f4a7c15))
#define MG_RULE_CHECK(hash, epoch) ((((hash) >> 30) + ((epoch) >> 16)) & 0xff)
#define MG_RULE_TABLES 4u
#define MG_RULE_BITS_FIRST 12u
#define MG_RULE_BITS_STEP 2u
#define MG_RULE_PROBES 32u
/* Bytes of all tables together. */
#define MG_RULE_BYTES ((size_t)16 << 12 | (size_t)16 << 14 | (size_t)16 << 16 | (size_t)16 << 18)

/* A thread's own copy of the rules that most steps need, one word each and no probing:
 *
 *   bit  0      CFA = bp + offset, not sp + offset
 *        1      the caller's bp is in memory
 *        2-7    where: at CFA - 8 n
 *        8-27   CFA's offset / 8
 *        28-63  the ip's upper bits
 *
 * Index and upper bits are one to one with the ip, so that an entry is never another ip's. n is 1,
 * the return address, where bp is not in memory: there is always something that may be read. */
#define MG_OWN_BITS 11u
#define MG_OWN_RULES (1u << MG_OWN_BITS)
#define MG_OWN_INDEX(ip) (((ip) ^ (ip) >> MG_OWN_BITS) & (MG_OWN_RULES - 1))
#define MG_OWN_REST(ip) ((ip) >> MG_OWN_BITS << MG_OWN_RULE_BITS)
#define MG_OWN_RULE_BITS (17u + MG_OWN_BITS)
#define MG_OWN_FROM_BP 1u
#define MG_OWN_LOADS_BP 2u
#define MG_OWN_OFFSET(rule) (((rule) >> 8) * 8)
#define MG_OWN_WHERE(rule) (((rule)&63u << 2) * 2)
#define MG_INDEX 1024u

/* A thread's memory of walks: from the state (ip, sp) of a hook's caller through `n` frames, the
 * last of which was remembered already. See unwind.c. */
#define MG_PATH_BITS 7u
#define MG_PATHS (1u << MG_PATH_BITS)
#define MG_PATH_MOST 12u /* a multiple of 4 */
struct mg_slot {
	uint64_t address, value;
};
struct mg_path {
	uint64_t ip, sp; /* 0 = empty */
	uint64_t n;
	struct mg_slot at[MG_PATH_MOST]; /* return addresses; filled up to a multiple of 4 */
};

/* In the same memory while sampling: whole stacks. See whole.c. */
#define MG_WHOLE_BITS 6u
_Static_assert(MG_WHOLES == 1u << MG_WHOLE_BITS, "as the layout has it");
#define MG_WHOLE_MOST 40u
struct mg_whole {
	_Alignas(64) uint64_t ip; /* of the hook's caller, */
	uint64_t sp;              /* sp of the hook's caller; 0 = empty */
	uint64_t bp;              /* bp of the hook's caller, if it matters, */
	uint8_t need;             /* as this says */
	uint8_t frames, words;    /* 0 = seen once */
	uint8_t flags;
	uint8_t sent; /* 1 = ms-record knows what stands here */
	uint16_t top; /* the highest of these: */
	/* words that were read, and where, in words from sp - 8: return addresses, outermost first,
	 * then other words */
	uint64_t value[MG_WHOLE_MOST];
	uint16_t at[MG_WHOLE_MOST];
};
union mg_memory {
	struct mg_path paths[MG_PATHS];
	struct mg_whole wholes[MG_WHOLES];
};

/* Lays the tables into zeroed memory of MG_RULE_BYTES bytes. */
void mg_rules_init(void *memory);
/* The rule, not from the table and not kept: for verification. */
uint64_t mg_rule_derive(uint64_t ip);
uint64_t mg_rule_miss(uint64_t ip, uint32_t epoch);
struct mg_writer;
/* Empties the thread's own copy, and its paths. */
void mg_own_rules_forget(struct mg_writer *t);
