/* SPDX-License-Identifier: MIT
 * The guest's rules by code: of written instructions, of this program's functions, where they have to
 * agree with its tables, and of bytes of chance, of which nothing outside is read.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ms-record/guest/eh_frame.c"
#include "ms-record/guest/x86_64_code.c"
#include "ms-record/guest/x86_64_flow.c"

#define PAGES 16384u

enum { SAVED = MG_BP_AT_CFA, KEPT = MG_BP_SAME };

/* ---- written ---- */

static unsigned char *room; /* between pages that cannot be read */

static const struct {
	const char *text;   /* what it is */
	const char *before; /* instructions from the beginning to the address; spaces for nothing */
	const char *after;  /* and from there */
	unsigned type, mode; /* of the rule */
	int cfa, bp;
	bool exact; /* it was interrupted there */
} cases[] = {
	{"a frame", "554889e5 e800000010", "5d c3", MG_RULE_FLOW_BP, SAVED, 16, -16, false},
	{"a frame that never ends", "554889e5 e800000010", "ebfe", MG_RULE_FLOW_BP, SAVED, 16, -16,
	 false},
	{"a frame by another encoding", "55488bec 90", "ebfe", MG_RULE_FLOW_BP, SAVED, 16, -16,
	 false},
	{"a frame that begins in two parts", "55 4989f8 31c0 4889e5 90", "ebfe", MG_RULE_FLOW_BP,
	 SAVED, 16, -16, false},
	{"leave", "", "c9 c3", MG_RULE_FLOW_BP, SAVED, 16, -16, false},
	{"lea and pops", "", "488d65d8 5b 415c 415d 415e 415f 5d c3", MG_RULE_FLOW_BP, SAVED, 16,
	 -16, false},
	{"no frame pointer", "4883ec18 e800000010", "4883c418 c3", MG_RULE_FLOW_SP, KEPT, 32, 0,
	 false},
	{"it is saved and used otherwise", "55 53 4883ec08 89fd", "4883c408 5b 5d c3",
	 MG_RULE_FLOW_SP, SAVED, 32, -16, false},
	{"it is stored and loaded", "", "488b6c2410 4883c418 c3", MG_RULE_FLOW_SP, SAVED, 32, -16,
	 false},
	{"a way that branches", "", "85c0 7406 4883c408 c3 cc 0f0b", MG_RULE_FLOW_SP, KEPT, 16, 0,
	 false},
	{"a branch that returns", "", "85c0 7502 ebfe 4883c408 c3", MG_RULE_FLOW_SP, KEPT, 16, 0,
	 false},
	{"on to another function", "", "5d ffe0", MG_RULE_FLOW_SP, SAVED, 16, -16, false},
	{"by the linkage table", "", "4883c408 ff2500000000", MG_RULE_FLOW_SP, KEPT, 16, 0, false},
	{"arguments on the stack", "", "4883c418 50 51 e800000010 4883c438 5b c3", MG_RULE_FLOW_SP,
	 KEPT, 80, 0, false},
	{"vectors between", "", "c5f877 62f17c48100d00000000 c4e27918c0 660f3a0fc108 4883c408 c3",
	 MG_RULE_FLOW_SP, KEPT, 16, 0, false},
	/* code that proves nothing */
	{"into the next function", "4883ec08", "e800000010 554889e5 e800000010 5d c3", MG_RULE_NONE,
	 0, 0, 0, false},
	{"no multiple of 16", "", "4883c410 c3", MG_RULE_NONE, 0, 0, 0, false},
	{"a computed jump", "", "5b 59 ffe1", MG_RULE_NONE, 0, 0, 0, false},
	{"another stack", "", "4889dc c3", MG_RULE_NONE, 0, 0, 0, false},
	{"rbp is lost", "", "89c5 4883c408 c3", MG_RULE_NONE, 0, 0, 0, false},
	{"an address that was pushed", "", "4883c410 50 c3", MG_RULE_NONE, 0, 0, 0, false},
	{"arguments taken off", "", "4883c408 c21000", MG_RULE_NONE, 0, 0, 0, false},
	{"the frame of the function before", "554889e5 5d c3 4883ec08", "ebfe", MG_RULE_NONE, 0, 0,
	 0, false},
	{"of one before that never returns", "554889e5 e800000010 53", "ebfe", MG_RULE_NONE, 0, 0,
	 0, false},
	{"a frame that is down", "554889e5 5d", "ebfe", MG_RULE_NONE, 0, 0, 0, false},
	{"a frame on a stack that was aligned", "4c8d542408 4883e4e0 41ff72f8 554889e5 90", "ebfe",
	 MG_RULE_NONE, 0, 0, 0, false},
	{"into the next function, interrupted", "4883ec08", "e800000010 4883ec18 90 4883c418 c3",
	 MG_RULE_NONE, 0, 0, 0, true},
	{"behind a function with a frame", "554889e5 7401 90 5d c3 5353", "ebfe", MG_RULE_NONE, 0,
	 0, 0, false},
	{"rbp is not the frame any more", "554889e5 4883ed10", "ebfe", MG_RULE_NONE, 0, 0, 0,
	 false},
	{"what is no instruction", "", "06 4883c408 c3", MG_RULE_NONE, 0, 0, 0, false},
	{"interrupted in a prologue", "55", "4889e5 5d c3", MG_RULE_FLOW_SP, SAVED, 16, -16, true},
	{"interrupted at a return", "554889e5 5d", "c3", MG_RULE_FLOW_SP, KEPT, 8, 0, true},
	{"rbp is another value", "554889e5 4889fd", "ebfe", MG_RULE_NONE, 0, 0, 0, false},
};

static size_t put(unsigned char *to, const char *hex)
{
	size_t n = 0;
	for (; *hex; hex += 2, n++) {
		for (; *hex == ' '; hex++)
			continue;
		char two[3] = {hex[0], hex[1]};
		to[n] = (unsigned char)strtoul(two, NULL, 16);
	}
	return n;
}

static int check_written(void)
{
	int failures = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(room, 0xcc, PAGES);
		size_t before = put(room + 4096, cases[i].before);
		put(room + 4096 + before, cases[i].after);
		struct mg_unwind_info info = {.code_low = (uint64_t)room,
					      .code_high = (uint64_t)room + PAGES};
		uint64_t r = mg_flow_rule(&info, (uint64_t)room + 4096 + before, cases[i].exact);
		if (MG_RULE_TYPE(r) == cases[i].type &&
		    (cases[i].type == MG_RULE_NONE ||
		     (MG_RULE_BP(r) == cases[i].mode && MG_RULE_CFA_OFFSET(r) == cases[i].cfa &&
		      MG_RULE_BP_OFFSET(r) == cases[i].bp)))
			continue;
		printf("%s: type %u, mode %u, cfa %d, bp %d\n", cases[i].text, MG_RULE_TYPE(r),
		       MG_RULE_BP(r), (int)MG_RULE_CFA_OFFSET(r), (int)MG_RULE_BP_OFFSET(r));
		failures++;
	}
	return failures;
}

/* A call that may not return, and a jump far away: true only where rbp agrees. */
static int check_far(void)
{
	struct mg_unwind_info info = {.code_low = (uint64_t)room,
				      .code_high = (uint64_t)room + PAGES};
	uint64_t at = info.code_low + 4096, rule[2];
	for (int i = 0; i < 2; i++) {
		memset(room, 0xcc, PAGES);
		put(room + 4096, "e800000010 e900200000");
		put(room + 4096 + 10 + 0x2000, i ? "4883c408 c3" : "5d c3");
		rule[i] = mg_flow_rule(&info, at, false);
	}
	if (MG_RULE_TYPE(rule[0]) == MG_RULE_FLOW_SP && MG_RULE_BP(rule[0]) == MG_BP_AT_BP &&
	    MG_RULE_CFA_OFFSET(rule[0]) == 16 && MG_RULE_TYPE(rule[1]) == MG_RULE_NONE)
		return 0;
	printf("far away: %#lx, %#lx\n", (unsigned long)rule[0], (unsigned long)rule[1]);
	return 1;
}

static uint32_t seed = 1;
static unsigned char chance(void)
{
	seed = seed * 1664525 + 1013904223;
	return (unsigned char)(seed >> 16);
}

/* Checks that nonsense, and code at the very edges, is not read beyond: that would end the test. */
static void check_bounds(void)
{
	static const unsigned char likely[] = {0x55, 0x48, 0x89, 0xe5, 0x0f, 0xc5,
					       0xc4, 0x62, 0x66, 0x74, 0xeb};
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < PAGES; i++)
			room[i] = round % 2 ? chance() : likely[chance() % sizeof likely];
		struct mg_unwind_info info = {.code_low = (uint64_t)room,
					      .code_high = (uint64_t)room + PAGES};
		for (uint64_t at = 0; at<PAGES; at += at> 64 && at < PAGES - 64 ? 61 : 1)
			mg_flow_rule(&info, (uint64_t)room + at, at & 1);
	}
}

/* ---- compiled ---- */

struct counts {
	unsigned calls, same, none, wrong;
};

/* Compares the rules behind the calls of a function. Where its table goes by rbp and the code by rsp,
 * they may be the same. */
static void check_function(const struct mg_unwind_info *info, const struct fde *f, struct counts *n)
{
	struct cursor c = {.at = f->start, .end = f->start + f->size};
	struct instruction in;
	while (c.at < c.end && read_instruction(&c, &in)) {
		if (in.map != ONE || (in.op != 0xe8 && (in.op != 0xff || (in.reg & 7) != 2)) ||
		    c.at == c.end)
			continue;
		uint64_t table = mg_eh_frame_rule(info, c.at),
			 code = mg_flow_rule(info, c.at, false);
		bool by_bp = MG_RULE_TYPE(table) == MG_RULE_FROM_BP,
		     to_bp = MG_RULE_TYPE(code) == MG_RULE_FLOW_BP;
		if (MG_RULE_TYPE(table) > MG_RULE_FROM_BP || (by_bp && !to_bp))
			continue;
		n->calls++;
		if (MG_RULE_TYPE(code) == MG_RULE_NONE || MG_RULE_BP(code) == MG_BP_AT_BP)
			n->none++;
		else if (by_bp == to_bp && (table ^ code) >> 32 == 0 &&
			 MG_RULE_BP(table) == MG_RULE_BP(code) &&
			 MG_RULE_BP_OFFSET(table) == MG_RULE_BP_OFFSET(code))
			n->same++;
		else
			n->wrong++;
	}
}

/* The main program's. */
static int check_compiled(struct dl_phdr_info *i, size_t size, void *out)
{
	struct mg_unwind_info info = {0};
	(void)size;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_GNU_EH_FRAME)
			info.hdr = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;
	for (int k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];
		uint64_t low = i->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && info.hdr - low < p->p_filesz) {
			info.low = low;
			info.high = low + p->p_filesz;
		}
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			info.code_low = low;
			info.code_high = low + p->p_filesz;
		}
	}
	struct cursor segment = {.low = info.low, .high = info.high};
	const int32_t *table = (const int32_t *)(info.hdr + 12);
	uint32_t count = ((const uint32_t *)info.hdr)[2];
	for (uint32_t k = 0; k < count; k++) {
		struct fde f = {0};
		if (read_fde(&segment, info.hdr + (uint64_t)(int64_t)table[2 * k + 1], &f) &&
		    f.start >= info.code_low && f.start + f.size <= info.code_high)
			check_function(&info, &f, out);
	}
	return 1;
}

int main(void)
{
	room = mmap(NULL, PAGES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED || mprotect(room + 4096, PAGES, PROT_READ | PROT_WRITE))
		return 1;
	room += 4096;
	int failures = check_written() + check_far();
	check_bounds();
	struct counts n = {0};
	dl_iterate_phdr(check_compiled, &n);
	if (n.wrong || n.calls < 20 || n.same < n.calls / 2) {
		printf("of %u calls %u are right, %u not known, %u wrong\n", n.calls, n.same,
		       n.none, n.wrong);
		failures++;
	}
	return failures;
}
