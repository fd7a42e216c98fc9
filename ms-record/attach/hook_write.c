/* SPDX-License-Identifier: MIT
 * One hook written into a process.
 */
#include "hook_write.h"

#include <string.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "patch.h"

bool hook_peek(int mem, uint64_t address, void *to, size_t bytes)
{
	return pread(mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool hook_poke(int mem, uint64_t address, const void *from, size_t bytes)
{
	return pwrite(mem, from, bytes, (off_t)address) == (ssize_t)bytes;
}

static int plan(const struct hook_write *w, const struct hook_place *place, struct patch *p,
		struct ms_err *err)
{
	uint8_t code[PATCH_BODY_MOST];
	size_t want = place->bytes ? place->bytes : 512;
	want = want < 64 ? 64 : want > sizeof code ? sizeof code : want;
	if (!hook_peek(w->mem, place->address, code, want) &&
	    !hook_peek(w->mem, place->address, code, want = 64))
		return ms_err_set(err, "its code cannot be read");
	return patch_plan(p, place->address, code, want, place->bytes, w->slot, err);
}

int hook_write(const struct hook_write *w, const struct hook_place *place, struct mg_hook *h,
	       struct ms_err *err)
{
	struct patch p;
	uint8_t slot[MG_SLOT_BYTES];
	if (plan(w, place, &p, err))
		return -1;
	*h = (struct mg_hook){.entry = place->address,
			      .slot = w->slot,
			      .kind = w->kind,
			      .bytes = p.bytes,
			      .custom = w->custom};
	memcpy(h->original, p.original, sizeof h->original);
	memcpy(h->patched, p.patched, sizeof h->patched);
	patch_slot(&p, w->enter, w->hook, slot);
	if (!hook_poke(w->mem, w->hook, h, sizeof *h) ||
	    !hook_poke(w->mem, w->slot, slot, sizeof slot) ||
	    !hook_poke(w->mem, h->entry, h->patched, h->bytes))
		return ms_err_set(err, "its memory cannot be written to");
	return 0;
}
