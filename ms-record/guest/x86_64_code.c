/* SPDX-License-Identifier: MIT
 * x86-64: derives facts from the instructions around a return address.
 */
#include "core.h"
#include "cursor.h"

enum { CODE_MOST = 32 }; /* maximum number of code bytes read */

/* Compares the code with `mov $15, %rax; syscall`. */
bool mg_is_sigreturn(const struct mg_unwind_info *info, uint64_t ip)
{
	static const uint8_t code[9] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	if (ip < info->code_low || ip > info->code_high || info->code_high - ip < sizeof(code))
		return false;
	for (unsigned i = 0; i < sizeof(code); i++)
		if (((const uint8_t *)ip)[i] != code[i])
			return false;
	return true;
}

bool mg_is_called(uint64_t ip, uint64_t low, uint64_t high)
{
	return ip < low + MG_CALL_MOST || ip > high || mg_is_call((const uint8_t *)ip);
}

bool mg_is_call_of(uint64_t ip, uint64_t entry)
{
	struct cursor call = {.at = ip - 5, .end = ip};
	return bytes(&call, 1) == 0xe8 && ip + (uint64_t)bytes_signed(&call, 4) == entry;
}

/* Reads the rest of an instruction, between a call and the return, with the opcode `op`
 * (including REX), and adds its change of rsp to *offset. Returns false if it is unknown or may
 * branch. *bp: set if rsp is loaded from rbp. */
static bool unwinds(struct cursor *c, uint64_t op, int64_t *offset, bool *bp)
{
	uint64_t operand = op >= 0x58 && op <= 0x5f ? 0 : bytes(c, 1);
	switch (op << 8 | operand) {
	case 0x4883c4: /* add $n, %rsp */
		*offset += bytes_signed(c, 1);
		return true;
	case 0x4881c4:
		*offset += bytes_signed(c, 4);
		return true;
	case 0x488d65: /* lea n(%rbp), %rsp */
	case 0x4889ec: /* mov %rbp, %rsp */
	case 0x488be5:
		*offset = op == 0x488d ? bytes_signed(c, 1) : 0;
		*bp = true;
		return true;
	}
	*offset += 8;
	return op == 0x41 ? operand >= 0x58 && operand <= 0x5f : op - 0x58 < 8 && op != 0x5c;
}

/* Returns the rule for code without CFI, if all instructions between the call and the return are
 * known. */
uint64_t mg_code_rule(uint64_t ip, const struct mg_range *r)
{
	struct cursor c = {.at = ip, .end = r->end & ~MG_RANGE_FLAGS};
	bool from_bp = false;
	uint64_t mode = MG_BP_SAME;
	int64_t offset = 0, bp_at = 0;
	if (!mg_is_called(ip, r->start, c.end))
		return MG_RULE_NO_CODE;
	while (c.at - ip < CODE_MOST && !c.bad) {
		uint64_t op = bytes(&c, 1);
		if (op == 0xc3 || op == 0xc2) /* ret */
			return (from_bp ? MG_RULE_CODE_BP : MG_RULE_CODE_SP) | mode << 4 |
			       MG_NEED_YES << 6 |
			       (uint64_t)(uint16_t)(mode ? bp_at - offset - 8 : 0) << 8 |
			       (uint64_t)(offset + 8) << 32;
		if (op == 0x48)
			op = op << 8 | bytes(&c, 1);
		if (op == 0xc9 && mode == MG_BP_SAME) { /* leave */
			from_bp = true;
			offset = 0;
			op = 0x5d;
		}
		if (op == 0x5d) { /* pop %rbp */
			mode = MG_BP_AT_CFA;
			bp_at = offset;
		}
		bool bp = false;
		if (!unwinds(&c, op, &offset, &bp) || (bp && mode != MG_BP_SAME))
			break;
		from_bp |= bp;
	}
	return MG_RULE_CODE_END;
}
