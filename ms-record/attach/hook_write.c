/* SPDX-License-Identifier: MIT
 * One hook written into a process.
 */
#include "hook_write.h"

#include "libcommon/base/err.h"

enum patch_state hook_state(const struct hijack *h, const struct mg_hook *hook)
{
	uint8_t now[MG_DISPLACED_MAX];
	bool known = hook->bytes >= MG_JUMP_BYTES && hook->bytes <= sizeof now &&
		     !hijack_read(h, hook->entry, now, hook->bytes);
	return known ? patch_state(hook, now) : PATCH_OTHERS;
}

size_t hook_code(const struct hijack *h, uint64_t entry, uint64_t size,
		 uint8_t code[PATCH_BODY_MOST])
{
	enum { LEAST = 64, UNKNOWN = 512 };
	size_t n = size < LEAST ? size ? LEAST : UNKNOWN : size;
	n = n < PATCH_BODY_MOST ? n : PATCH_BODY_MOST;
	if (!hijack_read(h, entry, code, n))
		return n;
	return hijack_read(h, entry, code, LEAST) ? 0 : LEAST;
}

int hook_write(const struct hook_write *w, const struct hook_place *place, struct mg_hook *h,
	       struct ms_err *err)
{
	struct patch p;
	uint8_t slot[MG_SLOT_BYTES], code[PATCH_BODY_MOST];
	size_t n = hook_code(w->h, place->address, place->bytes, code);
	if (patch_plan(&p, place->address, code, n, place->bytes, w->slot, err))
		return -1;
	*h = (struct mg_hook){.kind = w->kind, .custom = w->custom};
	patch_hook(&p, h);
	patch_slot(&p, w->enter, w->hook, slot);
	if (hijack_write(w->h, w->hook, h, sizeof *h) ||
	    hijack_write(w->h, w->slot, slot, sizeof slot) ||
	    hijack_write(w->h, h->entry, h->patched, h->bytes))
		return ms_err_set(err, "its memory cannot be written to");
	return 0;
}
