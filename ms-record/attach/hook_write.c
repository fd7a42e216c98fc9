/* SPDX-License-Identifier: MIT
 * Writes hooks into a process.
 */
#include "hook_write.h"

#include <fcntl.h>

#include "libcommon/base/err.h"
#include "ms-record/base/descriptor.h"

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

int hook_work_open(struct hook_work *w, int proc)
{
	w->h.mem = openat(proc, "mem", O_RDWR | O_CLOEXEC);
	w->memory = attach_memory_of(&w->h);
	return w->h.mem < 0 ? -1 : attach_maps_read(&w->maps, proc, NULL);
}

void hook_work_close(struct hook_work *w)
{
	hook_modules_free(&w->modules);
	attach_maps_free(&w->maps);
	descriptor_close(w->h.mem);
}

/* ---- where hooks go ---- */

static uint64_t page_of(uint64_t slot)
{
	return slot & ~(uint64_t)(MG_NEAR_BYTES - 1);
}

bool hook_reaches(uint64_t slot, const struct attach_module *m)
{
	const int64_t most = (int64_t)MG_JUMP_REACH;
	int64_t low = (int64_t)(page_of(slot) - m->code_high);
	int64_t high = (int64_t)(page_of(slot) + MG_NEAR_BYTES - m->code_low);
	return low > -most && low < most && high > -most && high < most;
}

/* Returns the address of a free hook slot in a mapped page or in a new one; 0 = no room. */
static uint64_t slot_for(struct hook_work *w, const struct attach_module *m)
{
	for (uint32_t i = 0; i < w->count; i++) {
		uint64_t page = page_of(w->hooks[i].slot), last = 0;
		for (uint32_t k = 0; k < w->count; k++)
			if (page_of(w->hooks[k].slot) == page && w->hooks[k].slot > last)
				last = w->hooks[k].slot;
		if (hook_reaches(page, m) && last + MG_SLOT_BYTES < page + MG_NEAR_BYTES)
			return last + MG_SLOT_BYTES;
	}
	if (!w->spare || !hook_reaches(w->spare, m))
		w->spare = w->new_page(w, m);
	return w->spare;
}

/* ---- one hook ---- */

int hook_write(struct hook_work *w, uint32_t i, uint32_t kind, const struct mg_custom *custom,
	       const struct hook_place *place, struct ms_err *err)
{
	struct patch p = {.hook = {.kind = kind, .custom = *custom}};
	if (place->libc) {
		p.hook.inner_low = place->module.code_low;
		p.hook.inner_high = place->module.code_high;
	}
	uint8_t slot[MG_SLOT_BYTES], code[PATCH_BODY_MOST];
	uint64_t hook = w->hooks_at + i * sizeof(struct mg_hook);
	if (i == MG_HOOKS_MAX)
		return ms_err_set(err, HOOK_LIMIT_REACHED);
	if (!w->hooks_at)
		return ms_err_set(err, "memory for the hook could not be allocated in the program");
	uint64_t at = i < w->count ? w->hooks[i].slot : slot_for(w, &place->module);
	if (!at)
		return ms_err_set(
			err,
			w->waits(w)
				? "no address space for the hook is free within " MG_JUMP_REACH_NAME
				  " of it"
				: "the program stopped waiting for the hook and ran on");
	size_t n = hook_code(&w->h, place->address, place->bytes, code);
	if (patch_plan(&p, place->address, code, n, place->bytes, at, err))
		return -1;
	if (!w->waits(w))
		return ms_err_set(err, "the program stopped waiting for the hook and ran on");
	struct mg_hook *h = &w->hooks[i];
	*h = p.hook;
	patch_slot(&p, w->enter, hook, slot);
	if (hijack_write(&w->h, hook, h, sizeof *h) || hijack_write(&w->h, at, slot, sizeof slot) ||
	    hijack_write(&w->h, h->entry, h->patched, h->bytes))
		return ms_err_set(err, "its code cannot be written to");
	w->count += i == w->count;
	w->spare = page_of(at) == w->spare ? 0 : w->spare;
	return 0;
}
