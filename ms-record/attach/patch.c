/* SPDX-License-Identifier: MIT
 * State of a hooked function's entry, and new addresses of its displaced instructions.
 */
#include "patch.h"

#include <string.h>

enum patch_state patch_state(const struct mg_hook *h, const uint8_t *now)
{
	const uint8_t *rest = now + MG_JUMP_FIRST;
	size_t n = h->bytes - MG_JUMP_FIRST;
	bool original = !memcmp(rest, h->original + MG_JUMP_FIRST, n);
	bool patched = !memcmp(rest, h->patched + MG_JUMP_FIRST, n);
	if ((original || patched) && !memcmp(now, patch_wait, MG_JUMP_FIRST))
		return PATCH_WAITS;
	if (original && !memcmp(now, h->original, MG_JUMP_FIRST))
		return PATCH_ORIGINAL;
	return patched && !memcmp(now, h->patched, MG_JUMP_FIRST) ? PATCH_JUMPS : PATCH_OTHERS;
}

uint64_t patch_moved(const struct patch *p, uint64_t ip)
{
	for (uint32_t i = 1; i < p->moved_count; i++)
		if (ip == p->hook.entry + p->moved[i].from)
			return p->hook.slot + p->moved[i].to;
	return ip;
}

uint64_t patch_left(const struct mg_hook *h, uint64_t ip)
{
	return ip > h->entry && ip < h->entry + h->bytes ? h->slot : ip;
}
