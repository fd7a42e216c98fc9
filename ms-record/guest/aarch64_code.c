/* SPDX-License-Identifier: MIT
 * aarch64: derives facts from the instructions around a return address.
 */
#include "core.h"
#include "cursor.h"

static uint32_t code_at(uint64_t at)
{
	struct cursor c = {.at = at, .end = at + 4, .low = at, .high = at + 4};
	return (uint32_t)bytes(&c, 4);
}

/* Compares the code with `mov x8, #139; svc #0`. */
bool mg_is_sigreturn(const struct mg_unwind_info *info, uint64_t ip)
{
	if (ip & 3 || ip < info->code_low || ip > info->code_high || info->code_high - ip < 8)
		return false;
	return code_at(ip) == 0xd2801168 && code_at(ip + 4) == 0xd4000001;
}

bool mg_is_called(uint64_t ip, uint64_t low, uint64_t high)
{
	return ip < low + MG_CALL_MOST || ip > high || mg_is_call((const uint8_t *)ip);
}

bool mg_is_call_of(uint64_t ip, uint64_t entry)
{
	uint32_t code = code_at(ip - 4);
	int64_t words = (int32_t)(code << 6) >> 6;
	return code >> 26 == 0x25 && ip - 4 + (uint64_t)words * 4 == entry;
}

uint64_t mg_code_rule(uint64_t ip, const struct mg_range *r)
{
	return mg_is_called(ip, r->start, r->end & ~MG_RANGE_FLAGS) ? MG_RULE_CODE_END
								    : MG_RULE_NO_CODE;
}
