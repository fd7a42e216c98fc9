/* SPDX-License-Identifier: MIT
 * The preload's constructor: meets the recorder, maps the session, prepares all memory, opens the
 * gate.
 *
 * Every step may fail, and then the program goes on unrecorded; once the session is mapped,
 * disabled_why says why. After this there are no system calls but futex. No descriptor stays open.
 */
#include <gnu/libc-version.h>
#include <link.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <linux/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "ms-record/guest/core.h"
#include "ms-record/guest/sample.h"
#include "preload.h"

extern void *__libc_stack_end __attribute__((weak));
extern char **__environ __attribute__((weak));
/* NULL: the C library is not glibc; the program runs unrecorded */
#pragma weak gnu_get_libc_version

static long call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return mg_syscall(nr, a, b, c, d, 0, 0);
}

static bool failed(long r)
{
	return r < 0 && r > -4096;
}

/* ---- the handshake --------------------------------------------------------------------------- */

static char socket_name[MG_SOCKET_BYTES]; /* "" = no ms-record answered there */

const char *mg_socket_name(void)
{
	return socket_name;
}

static const char *variable(char **env, const char *name)
{
	for (; env && *env; env++)
		if (mg_starts(*env, name)) {
			const char *value = *env;
			while (*name++)
				value++;
			return value;
		}
	return NULL;
}

const char *mg_variable(const char *name)
{
	return &__environ ? variable(__environ, name) : NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *map(size_t bytes, int fd, uint64_t offset)
{
	long r = mg_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    (uint64_t)(int64_t)fd, offset);
	if (failed(r))
		return NULL;
	call(SYS_madvise, (uint64_t)r, bytes, MADV_DONTDUMP, 0);
	mg_note_ours((const void *)r, bytes);
	return (void *)r;
}

static void disable(const char *why)
{
	struct mg_session *s = mg.session;
	mg_append(s->disabled_why, sizeof(s->disabled_why), 0, why);
	__atomic_store_n(&s->guest_disabled, 1, __ATOMIC_RELEASE);
}

/* Maps the session with the first data windows and the first page of the memory for forked
 * children: see grow.c. Sets mg.writer_count to the number of rings that can be used. */
static bool map_session(int fd, uint64_t bytes)
{
	struct mg_session *s = map(sizeof(*s), fd, 0);
	if (!s)
		return false;
	struct mg_session head = *s;
	call(SYS_munmap, (uint64_t)s, sizeof(*s), 0, 0);
	mg.held_count = 0;
	uint32_t rings = head.ring_max < MG_CHUNK_FIRST ? head.ring_max : MG_CHUNK_FIRST;
	uint64_t first = head.data_offset + rings * head.window_bytes;
	if (head.magic != MG_MAGIC || head.version != MG_LAYOUT_VERSION || first > bytes ||
	    !rings || head.ring_max > MG_RINGS_MOST || !(s = map(first, fd, 0)))
		return false;
	mg.slot_memory = head.slot_max ? map(4096, fd, head.slots_start) : NULL;
	mg.slot_count = mg.slot_memory ? head.slot_max : 0;
	mg.slots = (struct mg_fork_slot *)(void *)((char *)s + head.slots_offset);
	mg.writer_count = mg.writers_all = head.ring_max;
	mg.modules = (struct mg_module *)(void *)((char *)s + head.modules_offset);
	mg.rings = (struct mg_ring *)(void *)((char *)s + head.rings_offset);
	mg.windows[0] = (unsigned char *)s + head.data_offset;
	mg.session = mg.head = s;
	mg.serial = head.serial;
	mg.sequence = head.clock != MG_CLOCK_TSC;
	mg.verify = head.verify;
	mg.free_stacks = head.free_stacks;
	return true;
}

/* Maps the other private memory, in one piece. The gate (the word that each hook reads first) has a
 * page of its own, which the kernel zeroes in forked children. */
static const char *map_rest(void)
{
	size_t modules = (mg_modules_bytes(mg.session->module_max) + 4095) & ~(size_t)4095;
	char *m = mg_grow_own(4096 + MG_RULE_BYTES + modules);
	if (!m)
		return "no memory for the rule table";
	if (failed(call(SYS_madvise, (uint64_t)m, 4096, MADV_WIPEONFORK, 0)))
		return "this kernel cannot wipe a page on fork (Linux 4.14 can)";
	mg_rules_init(m + 4096);
	mg.backend.find_unwind_info = mg_find_unwind_info;
	mg.backend.modules_forked = mg_modules_forked;
	mg_modules_init(m + 4096 + MG_RULE_BYTES);
	mg.gate = (struct mg_gate *)(void *)m;
	mg.gate->counted = 1; /* the gate (the word that each hook reads first) is shut, but not
				 because this is a forked child */
	return NULL;
}

/* Maps the table of sampled blocks, a smaller one if address space is limited. */
static bool map_samples(void)
{
	uint32_t bits = MG_SAMPLE_BITS_MOST;
	while (bits > 8 && mg_sample_table_bytes(bits) > mg_grow_budget() / 4)
		bits -= 2;
	void *m = mg_grow_own(mg_sample_table_bytes(bits));
	if (m)
		mg_sample_table_init(m, bits);
	return m != NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool tid_in_block;

static uint32_t tid_of_thread(void)
{
	if (mg_thread_pointer() == mg.raw_tp)
		return mg.raw_tid;
	if (!tid_in_block)
		return mg_filtered() ? 0 : (uint32_t)call(SYS_gettid, 0, 0, 0, 0);
	return *(const volatile uint32_t *)(mg_thread_pointer() + MG_TID_GLIBC);
}

static void learn_thread_block(void)
{
	uint32_t tid = (uint32_t)call(SYS_gettid, 0, 0, 0, 0);
	tid_in_block = true;
	tid_in_block = tid_of_thread() == tid;
	mg.backend.tid = tid_of_thread;
}

static void learn_stacks(void)
{
	mg.main_tp = mg_thread_pointer();
	mg.main_entry = &__libc_stack_end ? (uint64_t)__libc_stack_end : 0;
	mg.main_low = (uint64_t)__builtin_frame_address(0) & ~UINT64_C(4095);
	mg.main_high = ((mg.main_entry ? mg.main_entry : mg.main_low) | 4095) + 1;
	mg.session->main_entry = mg.main_entry;
	mg.session->main_tp = mg.main_tp;
}

/* Stores the name of the next provider of malloc, for display. */
static void learn_allocator(void)
{
	struct mg_session *s = mg.session;
	const char *name = mg_base_name(mg_malloc_map->l_name);
	bool libc = mg_starts(name, "libc.so.") || mg_starts(name, "libc-");
	mg_arenas_init(libc);
	if (!libc) {
		mg_append(s->allocator, sizeof(s->allocator), 0, name);
		return;
	}
	size_t at = mg_append(s->allocator, sizeof(s->allocator), 0, "glibc ");
	mg_append(s->allocator, sizeof(s->allocator), at, gnu_get_libc_version());
}

static void begin_session(int fd)
{
	struct mg_session *s = mg.session;
	learn_thread_block();
	learn_stacks();
	mg.frames = MG_FRAMES_USUAL;
	mg.writer_bytes = mg_writer_bytes(mg.frames);
	mg_grow_init();
	if (!mg_grow(mg.writers, 0, mg.writer_bytes)) {
		disable("no memory for the threads' state");
		return;
	}
	const char *why = map_rest();
	if (why) {
		disable(why);
		return;
	}
	if (s->sample_bytes && !map_samples()) {
		disable("no memory for the table of sampled blocks");
		return;
	}
	learn_allocator();
	mg_roots_init();
	mg.mapping = s->mapped;
	if (s->usable_size && !mg_resolve_usable())
		s->no_usable = 1;
	if (call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) != SECCOMP_MODE_DISABLED) {
		mg_grow_ahead(true);
		__atomic_store_n(&s->seccomp_seen, 1, __ATOMIC_RELAXED);
	}
	s->passed_early = mg.early;
	mg_end_init();
	mg_custom_prepare(s, fd);
	mg.gate->counted = 0;
	__atomic_store_n(&mg.gate->on, mg_gate_open(), __ATOMIC_RELEASE);
	__atomic_store_n(&s->guest_ready, 1, __ATOMIC_RELEASE);
}

/* Runs before all other constructors (-z initfirst), so that allocations in libraries'
 * constructors are recorded. */
__attribute__((constructor)) static void start(int argc, char **argv, char **env)
{
	mg_resolve();
	mg_cxx_init();
	const char *name = gnu_get_libc_version ? variable(env, MG_ENV_SOCKET "=") : NULL;
	int fd = name && *name ? mg_tell_connect(name) : -1;
	mg_closed_gate.counted = 1;
	if (fd < 0)
		return;
	struct mg_handshake_reply w = {0};
	int memory = mg_tell_send(fd, argc > 0 ? argv[0] : "", MG_EXEC_NONE)
			     ? mg_tell_receive(fd, &w)
			     : -1;
	bool mapped = memory >= 0 && map_session(memory, w.bytes);
	if (memory >= 0)
		call(SYS_close, (uint64_t)memory, 0, 0, 0);
	if (mapped) {
		mg_append(socket_name, sizeof(socket_name), 0, name);
		begin_session(fd);
	}
	call(SYS_close, (uint64_t)fd, 0, 0, 0);
}
