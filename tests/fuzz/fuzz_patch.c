/* SPDX-License-Identifier: MIT
 * Fuzzes the plan of a hook: any bytes as the beginning of a function.
 *
 * Input: { length of the function, place in its page (2), distance of the slot (4) }, its code.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/err.h"
#include "ms-record/attach/patch.h"

#define HEAD 7u

static void check(const struct patch *p, const uint8_t *code)
{
	uint8_t slot[MG_SLOT_BYTES];
	if (p->hook.bytes < MG_JUMP_BYTES || p->hook.bytes > MG_DISPLACED_MAX || !p->moved_count ||
	    p->moved_count > PATCH_INSTRUCTIONS || p->displaced_bytes > sizeof p->displaced ||
	    memcmp(p->hook.original, code, p->hook.bytes) != 0 || p->hook.patched[0] != 0xe9)
		abort();
	for (uint32_t i = 0; i < p->moved_count; i++) {
		uint64_t to = patch_moved(p, p->hook.entry + p->moved[i].from);
		if (p->moved[i].from >= p->hook.bytes ||
		    p->moved[i].to >= MG_SLOT_DISPLACED + p->displaced_bytes)
			abort();
		if (i && (to <= p->hook.slot || to >= p->hook.slot + MG_SLOT_BYTES))
			abort();
	}
	patch_slot(p, 1, 2, slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_err err = {0};
	struct patch p;
	int32_t distance;
	if (n < HEAD)
		return 0;
	memcpy(&distance, data + 3, sizeof distance);
	uint64_t entry = UINT64_C(0x7f1200000000) + (data[1] | (uint64_t)data[2] << 8);
	uint64_t slot = (entry + (uint64_t)(int64_t)distance) & ~(uint64_t)(MG_SLOT_BYTES - 1);
	if (patch_plan(&p, entry, data + HEAD, n - HEAD, data[0], slot, &err) == 0)
		check(&p, data + HEAD);
	else if (!err.text[0])
		abort();
	return 0;
}
