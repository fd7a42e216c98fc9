/* SPDX-License-Identifier: MIT
 * The preload backend of hooked functions: memory for their slots, which ms-record fills while the
 * constructor waits, and memscope.h's pools.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

/* Tells whether the call is to be recorded. Calls made by the guest itself are not: the malloc
 * that the guest calls may be hooked under another name. */
bool mg_custom_is_open(const uint64_t *frame)
{
	if (frame[1] - (uint64_t)__ehdr_start < (uint64_t)(_etext - __ehdr_start))
		return false;
	return mg_is_open(frame);
}

struct mg_writer *mg_custom_writer(void)
{
	return mg_own_writer();
}

/* Finds a module and preserves the vector registers, which the dynamic linker may use when it is
 * called for a new address. */
static bool find_unwind_info_kept(uint64_t ip, struct mg_unwind_info *info)
{
	_Alignas(64) unsigned char area[MG_VECTORS_BYTES];
	mg_vectors_save(area);
	bool found = mg_find_unwind_info(ip, info);
	mg_vectors_restore(area);
	return found;
}

/* ---- the hooks ------------------------------------------------------------------------------- */

/* Asks ms-record for its next step, and waits for the answer; false = the connection is lost. */
static bool exchange(int fd)
{
	enum { NO_SIGNAL = 0x4000 };
	char byte = 0;
	return mg_wait_call(SYS_sendto, (uint64_t)fd, (uint64_t)&byte, 1, NO_SIGNAL, 0, 0) == 1 &&
	       mg_wait_call(SYS_recvfrom, (uint64_t)fd, (uint64_t)&byte, 1, 0, 0, 0) == 1;
}

void mg_custom_prepare(struct mg_session *s, int fd)
{
	s->enter_custom = (uint64_t)mg_entry_custom;
	s->malloc_at = (uint64_t)mg_real.malloc;
	if (!s->hooks_wanted)
		return;
	s->hooks = mg_map(0, MG_HOOKS_MAX * sizeof(struct mg_hook), PROT_READ, 0);
	while (exchange(fd) && s->late_page)
		s->late_page = mg_map_near(s->late_page);
	if (s->hooks_wanted == MG_HOOKS_REFUSED)
		mg_syscall(SYS_exit_group, 125, 0, 0, 0, 0, 0);
	if (!s->hook_count)
		return;
	/* the program has its own malloc, whose blocks malloc_usable_size does not know */
	if (s->malloc_at != (uint64_t)mg_real.malloc && mg.usable) {
		mg.usable = NULL;
		s->no_usable = 1;
	}
	mg_vectors_init();
	mg.backend.find_unwind_info = find_unwind_info_kept;
	mg_custom_open((const struct mg_hook *)s->hooks, s->hook_count);
}

/* Asks ms-record for hooks when dlopen has changed the list of modules; after a dlclose none are
 * needed. */
void mg_custom_linker(const uint64_t *frame)
{
	enum { CONSISTENT = 0, DELETE = 2 };
	static uint32_t last;
	uint32_t before = last;
	last = *(const volatile uint32_t *)mg.head->debug_state;
	if (last == CONSISTENT && before != DELETE && mg_is_open(frame)) {
		mg_late_ask();
		mg_custom_open((const struct mg_hook *)mg.head->hooks, mg.head->hook_count);
	}
}

/* ---- memscope.h's pools ---------------------------------------------------------------------- */

MG_EXPORT void memscope_v1_pool_create(const void *pool, const char *name)
{
	if (pool)
		mg_on_pool(MG_FRAME, MG_POOL_MADE, pool, name);
}

MG_EXPORT void memscope_v1_pool_alloc(const void *pool, const void *block, size_t size)
{
	if (pool && block)
		mg_on_pool_alloc(MG_FRAME, pool, block, size);
}

MG_EXPORT void memscope_v1_pool_reset(const void *pool)
{
	if (pool)
		mg_on_pool(MG_FRAME, MG_POOL_RESET, pool, NULL);
}

MG_EXPORT void memscope_v1_pool_destroy(const void *pool)
{
	if (pool)
		mg_on_pool(MG_FRAME, MG_POOL_GONE, pool, NULL);
}
