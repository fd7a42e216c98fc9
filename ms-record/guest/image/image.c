/* SPDX-License-Identifier: MIT
 * The backend for a process that runs already: the hooks that slots call, and the start of a
 * session, at the first event.
 *
 *  A1 Threads never wait: the session says so (wait_ticks 0), and a full ring drops records. No
 *     system call is made (seccomp_seen is set), so no filter is in the way and no descriptor is
 *     needed. There are exceptions. A thread that opens a module (while sampling, only with
 *     --hook) spins until the functions in it are hooked, and maps a page for that when ms-record
 *     asks for it (late.c). Where mg_may_call allows it, memory is locked here if the program locks
 *     all of its memory (apart.c), an exit asks for the thread's tid, and a forked child for its
 *     pid, while its other threads wait for that thread (fork.c).
 *  A2 Events caused inside a hooked function are not the program's: while the function of a hook
 *     runs on this thread, hooks further down its stack pass through (`inside`). If the function
 *     was left for good, by a longjmp, this is noticed because its return address is no longer on
 *     the stack.
 *  A3 Threads begin and end unnoticed; a place is found by the thread pointer, and its owner is
 *     identified by the tid in the thread's control block.
 *  A4 A forked child has a copy of everything except the session, which it shares with its parent;
 *     its gate is zeroed. At its first event it takes a slot of the session (fork.c), if one is
 *     ready. It is not recorded if its tid is unknown: the C library knows the tid only of children
 *     that it made itself. If a signal handler forked inside a hook, the child ends that hook in
 *     memory that exists, and publishes nothing.
 *  A5 When ms-record is gone, rings fill up. A thread that drops a record checks the recorder's
 *     heartbeat, and shuts the gate if the heartbeat has stopped.
 *  A6 The list of modules is ms-record's. When the dynamic linker is about to remove modules, the
 *     table is void until ms-record has updated it: nothing of it is read until then.
 */
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "ms-record/guest/sample.h"
#include "ms-record/guest/tell.h"

#define EXPORT __attribute__((visibility("default"), used))
#define ENTRY __attribute__((visibility("hidden"), used))
/* seconds without a heartbeat after which ms-record is considered gone */
#define STILL_SECONDS 5u
/* events without a heartbeat after which ms-record is considered gone, if stamps are counts */
#define STILL_EVENTS (1u << 26)

_Static_assert(sizeof(struct mg_image_gate) == sizeof(struct mg_gate), "the gate's layout");
_Static_assert(sizeof(struct mg_place) <= MG_PLACE_BYTES, "room for places");
_Static_assert(sizeof(struct mg_slot_head) <= MG_SLOT_DISPLACED, "room for a slot's head");

void mg_entry_alloc(void);
void mg_entry_free(void);
void mg_entry_linker(void);
extern const char mg_entry_back[] __attribute__((visibility("hidden")));
ENTRY void mg_image_before(uint64_t *frame, const struct mg_hook *h);
ENTRY void mg_image_after(const uint64_t *frame, const struct mg_hook *h);
ENTRY void mg_image_free(const uint64_t *frame, const struct mg_hook *h);
ENTRY void mg_image_linker(const uint64_t *frame, const struct mg_hook *h);

/* Lists the indices of the frame words in which the entry code saves arguments and the result. */
enum { ARG_0 = MG_ENTRY_ARG, ARG_1 = ARG_0 - 1, ARG_2 = ARG_0 - 2, RESULT = MG_ENTRY_RESULT };

EXPORT struct mg_manifest mg_manifest = {
	.magic = MG_MANIFEST_MAGIC,
	.bytes = sizeof(struct mg_manifest),
	.enter_alloc = (uint64_t)mg_entry_alloc,
	.enter_free = (uint64_t)mg_entry_free,
	.enter_linker = (uint64_t)mg_entry_linker,
	.enter_custom = (uint64_t)mg_entry_custom,
	.gate_variable = (uint64_t)&mg.gate,
	.places_variable = (uint64_t)&mg_places,
};

struct mg_place *mg_places;
static bool laid_out;
static uint32_t process;  /* the process's pid, or the tid of one of its threads */
static uint32_t removals; /* number of times that the dynamic linker removed modules */

/* ---- places ---------------------------------------------------------------------------------- */

struct mg_place *mg_place_far(uint64_t tp, uint32_t first)
{
	for (uint32_t i = 0; i < MG_PLACES; i++) {
		struct mg_place *p = &mg_places[(first + i) % MG_PLACES];
		uint64_t whose = __atomic_load_n(&p->tp, __ATOMIC_RELAXED);
		if (whose == tp)
			return p;
		if (!whose && __atomic_compare_exchange_n(&p->tp, &whose, tp, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return p;
	}
	return NULL;
}

static uint32_t own_tid(void)
{
	return *(const volatile uint32_t *)(mg_thread_pointer() + mg_manifest.tid_offset);
}

/* Prepares the place (per-thread data) of an ended thread for a new thread with the same thread
 * pointer. */
static __attribute__((noinline)) void reset_thread_slot(struct mg_place *p, uint32_t tid)
{
	p->self = 0;
	p->inside = NULL;
	p->held = NULL;
	p->lost = 0;
	__atomic_store_n(&p->tid, tid, __ATOMIC_RELEASE);
}

/* A2 */
static bool within(const struct mg_place *p, const uint64_t *frame)
{
	const uint64_t *outer = p->inside;
	return outer && frame < outer &&
	       *(const volatile uint64_t *)(outer + MG_IMAGE_RETURN) == (uint64_t)mg_entry_back;
}

static bool recorder_is_gone(const struct mg_session *s)
{
	uint64_t beat = __atomic_load_n(&s->heartbeat, __ATOMIC_RELAXED);
	if (mg.sequence)
		return __atomic_load_n(&s->sequence, __ATOMIC_RELAXED) - beat > STILL_EVENTS;
	return mg_heartbeat_timeout(s, STILL_SECONDS);
}

/* A5 */
static __attribute__((noinline)) void look_at_recorder(struct mg_place *p, uint64_t lost)
{
	struct mg_session *s = mg.session;
	p->lost = lost;
	if (!recorder_is_gone(s))
		return;
	static const char why[] = "heartbeat timeout: ms-record did not read for too long";
	for (uint32_t i = 0; i < sizeof(why); i++)
		s->disabled_why[i] = why[i];
	__atomic_store_n(&s->guest_disabled, 1, __ATOMIC_RELEASE);
	mg.gate->counted = 1;
	__atomic_store_n(&mg.gate->on, MG_GATE_SHUT, __ATOMIC_RELEASE);
}

/* Returns this thread's place; NULL = nothing is recorded, or the call was made inside another
 * hooked function. */
MG_INLINE struct mg_place *place_for(const uint64_t *frame)
{
	if (MG_UNLIKELY(!__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE)) && !mg_is_open(frame))
		return NULL;
	struct mg_place *p = mg_place_here();
	if (MG_UNLIKELY(!p)) {
		__atomic_fetch_add(&mg.session->no_ring_lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	uint32_t tid = own_tid();
	if (MG_UNLIKELY(p->tid != tid))
		reset_thread_slot(p, tid);
	if (MG_UNLIKELY(p->inside) && within(p, frame))
		return NULL;
	if (p->self && !(p->self & 1)) {
		const struct mg_ring *r = ((const struct mg_writer *)p->self)->ring;
		if (MG_UNLIKELY(r->lost != p->lost))
			look_at_recorder(p, r->lost);
	}
	return p;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static bool is_realloc(const struct mg_hook *h, const uint64_t *frame)
{
	return (h->kind == MG_HOOK_REALLOC || h->kind == MG_HOOK_REALLOCARRAY) && frame[ARG_0];
}

/* Multiplies sizes; an overflowing product becomes SIZE_MAX, with which every allocation fails. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t all;
	return __builtin_mul_overflow(a, b, &all) ? UINT64_MAX : all;
}

static uint64_t size_of(const struct mg_hook *h, const uint64_t *frame)
{
	switch (h->kind) {
	case MG_HOOK_CALLOC:
		return times(frame[ARG_0], frame[ARG_1]);
	case MG_HOOK_REALLOCARRAY:
		return times(frame[ARG_1], frame[ARG_2]);
	case MG_HOOK_REALLOC:
	case MG_HOOK_MEMALIGN:
		return frame[ARG_1];
	case MG_HOOK_POSIX_MEMALIGN:
		return frame[ARG_2];
	default:
		return frame[ARG_0];
	}
}

static uint64_t succeed(void)
{
	return 0;
}

/* Tells whether the call is finished: madvise was given only memory of the guest, or mlockall
 * has been executed here. See apart.c. */
static bool is_done(const uint64_t *frame, const struct mg_hook *h)
{
	uint64_t start = frame[ARG_0], end = start + frame[ARG_1];
	struct mg_span part;
	if (h->kind == MG_HOOK_MADVISE)
		return start < end && !mg_next_apart(&start, end, &part);
	return mg_may_call() && !mg_lock_all((uint32_t)frame[ARG_0]);
}

/* Stores the exit status in the session; not in a child of vfork, which shares its parent's
 * session, and whose tid differs from the one that the C library stores. */
static void before_exit(int status)
{
	if (__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE) && mg_may_call() &&
	    (uint32_t)mg_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) == own_tid())
		__atomic_store_n(&mg.session->end_status, mg_end_status(status), __ATOMIC_RELEASE);
}

/* Reports the program that is about to be executed. Writes to the stack only, because the caller
 * may be a child of vfork. */
static void before_exec(const uint64_t *frame, const struct mg_hook *h)
{
	char room[MG_NAME_BYTES];
	const struct mg_session *s = (const struct mg_session *)mg_manifest.session;
	bool by_name = h->kind == MG_HOOK_EXECVE, at = h->kind == MG_HOOK_EXECVEAT;
	const char *path = by_name ? (const char *)frame[ARG_0]
			   : at    ? (const char *)frame[ARG_1]
				   : "";
	if (!path || !s || !mg_manifest.socket[0] || mg.filtered ||
	    !__atomic_load_n(&s->unfiltered, __ATOMIC_RELAXED))
		return;
	if (!by_name)
		path = mg_file_name((int32_t)frame[ARG_0], path, room);
	if (mg_stays_out(path))
		mg_tell_exec(mg_manifest.socket, path, MG_EXEC_SELF);
}

/* Runs before hooked functions that belong neither to an allocator nor to the dynamic linker.
 * Handlers that fork() calls (pthread_atfork) count as the program's code. */
static __attribute__((noinline)) void before_other(uint64_t *frame, const struct mg_hook *h)
{
	enum { SET_SECCOMP = 22, STRICT = 1, SET_TSC = 26, SIGSEGV = 2 };
	uint32_t option = (uint32_t)frame[ARG_0], value = (uint32_t)frame[ARG_1];
	if (h->kind == MG_HOOK_EXIT) {
		before_exit((int)frame[ARG_0]);
		return;
	}
	if (h->kind >= MG_HOOK_EXECVE) {
		before_exec(frame, h);
		return;
	}
	bool forks = h->kind == MG_HOOK_FORK, control = h->kind == MG_HOOK_PRCTL;
	bool clock = control && (option == SET_TSC ? value == SIGSEGV
						   : option == SET_SECCOMP && value == STRICT);
	if (!forks && !control) {
		if (place_for(frame) && is_done(frame, h))
			frame[MG_IMAGE_CALLED] = (uint64_t)succeed;
		return;
	}
	if (control && option == SET_SECCOMP)
		mg.filtered = true;
	if (!(forks ? __atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE) : clock) || !place_for(frame))
		return;
	if (forks)
		mg_fork_begin(frame);
	else
		mg_confine(false, true);
}

void mg_image_before(uint64_t *frame, const struct mg_hook *h)
{
	if (MG_UNLIKELY(h->kind >= MG_HOOK_FORK)) {
		before_other(frame, h);
		return;
	}
	struct mg_place *p = place_for(frame);
	if (!p)
		return;
	p->inside = frame;
	p->held = NULL;
	if (MG_UNLIKELY(is_realloc(h, frame))) {
		uint64_t before = 0;
		p->held = mg_realloc_begin(frame, (const void *)frame[ARG_0], &before);
		p->before = before;
	}
}

void mg_image_after(const uint64_t *frame, const struct mg_hook *h)
{
	struct mg_place *p = mg_places ? mg_place_here() : NULL;
	if (MG_UNLIKELY(h->kind == MG_HOOK_FORK) && p && laid_out)
		mg_fork_end(frame, mg.fork_stamp, !(uint32_t)frame[RESULT]);
	if (!p || p->inside != frame)
		return;
	const void *block = (const void *)frame[RESULT];
	uint64_t size = size_of(h, frame);
	struct mg_writer *held = p->held;
	p->held = NULL;
	p->inside = NULL;
	if (h->kind == MG_HOOK_POSIX_MEMALIGN)
		block = (uint32_t)frame[RESULT] ? NULL : *(const void *const *)frame[ARG_0];
	if (MG_UNLIKELY(is_realloc(h, frame)))
		mg_realloc_end(held, frame, p->before, (const void *)frame[ARG_0], block, size);
	else if (MG_LIKELY(block))
		mg_on_alloc(frame, block, size);
	else if (size)
		mg_on_failed(frame, size);
}

/* Tells whether the allocator itself called the hooked function. */
static bool is_inner(const struct mg_hook *h, uint64_t ip)
{
	return MG_UNLIKELY(ip - h->inner_low < h->inner_high - h->inner_low) &&
	       mg_is_call_of(ip, h->entry);
}

void mg_image_free(const uint64_t *frame, const struct mg_hook *h)
{
	const void *block = (const void *)frame[ARG_0];
	if (block && !is_inner(h, frame[1]) && place_for(frame))
		mg_on_free(frame, block);
}

bool mg_custom_is_open(const uint64_t *frame)
{
	return place_for(frame) != NULL;
}

/* Returns this thread's writer; NULL after a detach, because the table of threads (places) is
 * gone. */
struct mg_writer *mg_custom_writer(void)
{
	const struct mg_place *p = mg_places ? mg_place_here() : NULL;
	return p && !(p->self & 1) ? (struct mg_writer *)p->self : NULL;
}

/* Handles a change of the dynamic linker's list of modules (A6), or the begin of exit. The linker
 * holds its lock, so for modules this runs in one thread at a time. */
void mg_image_linker(const uint64_t *frame, const struct mg_hook *h)
{
	enum { CONSISTENT = 0, DELETE = 2 };
	bool opened = false;
	if (h->kind == MG_HOOK_LEAVE) {
		if (place_for(frame))
			mg_on_exit(frame);
		return;
	}
	uint32_t state = *(const volatile uint32_t *)mg_manifest.debug_state;
	if (!__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE) && !mg_is_open(frame))
		return;
	struct mg_session *s = mg.session;
	if (state == DELETE)
		__atomic_fetch_add(&removals, 1, __ATOMIC_SEQ_CST);
	if (state == DELETE && !s->modules_closing) {
		__atomic_store_n(&s->modules_closing, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&mg.closing, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&s->epoch, 1, __ATOMIC_SEQ_CST);
	} else if (state == CONSISTENT && s->modules_closing) {
		__atomic_fetch_add(&s->epoch, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_sub(&mg.closing, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->modules_closing, 0, __ATOMIC_SEQ_CST);
	} else {
		opened = state == CONSISTENT;
	}
	__atomic_fetch_add(&s->modules_wanted, 1, __ATOMIC_RELEASE);
	if (!opened)
		return;
	mg_late_ask();
	mg_custom_open(mg_manifest.hooks, mg_manifest.hook_count);
}

void mg_custom_linker(const uint64_t *frame)
{
	(void)frame; /* the guest image hooks the linker by mg_image_linker() */
}

/* ---- the start of a session ------------------------------------------------------------------ */

/* Holds the table of modules when it was last correct, which a forked child copies, and the
 * number of removals of modules at that time. Other threads may write it during a fork: any
 * mixture of old and new values is correct, because entries are only added, and removed modules
 * are closed before the table is correct again. */
static struct {
	const struct mg_module *table;
	uint32_t count, epoch, removals;
} known;

/* Fills the table of modules of a forked child; modules keep their indices. If the table stays
 * empty, marks it invalid until ms-record has filled it. */
static void modules_forked(void)
{
	struct mg_session *s = mg.session;
	uint32_t n = known.removals == removals ? known.count : 0;
	n = n < s->module_max ? n : s->module_max;
	for (uint32_t i = 0; i < n; i++)
		mg.modules[i] = known.table[i];
	__atomic_store_n(&s->epoch, known.epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&s->modules_epoch, n ? known.epoch : known.epoch - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->module_count, n, __ATOMIC_RELEASE);
}

static bool find_unwind_info(uint64_t ip, struct mg_unwind_info *info)
{
	uint32_t before = __atomic_load_n(&removals, __ATOMIC_ACQUIRE);
	const struct mg_session *s = mg.session;
	uint32_t n = __atomic_load_n(&s->module_count, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&s->modules_epoch, __ATOMIC_ACQUIRE) !=
	    __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE))
		return false;
	known.table = mg.modules;
	known.count = n;
	known.epoch = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&known.removals, before, __ATOMIC_RELEASE);
	for (uint32_t i = n; i-- > 0;) {
		const struct mg_module *m = &mg.modules[i];
		if (ip - m->start >= m->end - m->start ||
		    __atomic_load_n(&m->closed, __ATOMIC_ACQUIRE))
			continue;
		*info = (struct mg_unwind_info){
			m->start,    m->end,       m->low, m->high, m->eh_frame_hdr,
			m->code_low, m->code_high, NULL,   0};
		mg_unwind_info_frames(info, m->frames);
		return true;
	}
	return false;
}

/* Takes the next `bytes` bytes of the private memory; NULL = too little is left. */
static void *cut(uint64_t *at, uint64_t bytes)
{
	uint64_t end = mg_manifest.private + mg_manifest.private_bytes;
	uint64_t start = *at, next = start + ((bytes + 63) & ~UINT64_C(63));
	if (next > end || next < start)
		return NULL;
	*at = next;
	return (void *)start;
}

/* Allocates one writer per ring, as far as memory allows; if memory is short, with room for
 * fewer frames each. */
static bool lay_writers(uint64_t *at, uint64_t room, uint32_t rings)
{
	enum { FEW = 16 };
	for (uint32_t frames = MG_FRAMES_USUAL; frames >= 128; frames /= 2) {
		size_t each = mg_writer_bytes(frames);
		uint64_t n = room / each < rings ? room / each : rings;
		if (n < (rings < FEW ? rings : FEW) || !n)
			continue;
		void *writers = cut(at, n * each);
		mg.writer_bytes = each;
		mg.frames = frames;
		mg.writer_count = mg.writers_all = (uint32_t)n;
		mg_grow_whole(mg.writers, writers, (uint32_t)n, each);
		return writers != NULL;
	}
	return false;
}

static bool lay_out(const struct mg_session *s)
{
	uint64_t at = mg_manifest.private + MG_PLACES * (uint64_t)MG_PLACE_BYTES;
	void *rules = cut(&at, MG_RULE_BYTES);
	if (!rules)
		return false;
	mg_rules_init(rules);
	if (s->sample_bytes) {
		void *samples = cut(&at, mg_sample_table_bytes(MG_SAMPLE_BITS_MOST));
		if (!samples)
			return false;
		mg_sample_table_init(samples, MG_SAMPLE_BITS_MOST);
	}
	uint64_t room = mg_manifest.private + mg_manifest.private_bytes - at;
	if (!lay_writers(&at, room - room / 4, s->ring_max))
		return false;
	mg_python_lay(s->python.ready ? cut(&at, mg.writers_all * mg_python_bytes()) : NULL);
	for (uint32_t i = 0; i < MG_DEEP_MAX; i++)
		mg.deep[i] = cut(&at, mg_deep_bytes());
	return true;
}

/* Notes the guest's mappings other than the guest image: see apart.c. */
static void note_ours(void)
{
	const struct mg_manifest *m = &mg_manifest;
	mg.held_count = 0;
	mg_note_ours((const void *)m->session, m->session_bytes);
	mg_note_ours((const void *)m->private, m->private_bytes);
	mg_note_ours((const void *)m->gate, 4096);
}

static bool start(void)
{
	struct mg_session *s = (struct mg_session *)mg_manifest.session;
	laid_out = false;
	note_ours();
	mg_places = (struct mg_place *)mg_manifest.private;
	mg.modules = (struct mg_module *)(void *)((char *)s + s->modules_offset);
	mg.rings = (struct mg_ring *)(void *)((char *)s + s->rings_offset);
	mg_grow_whole(mg.windows, (char *)s + s->data_offset, s->ring_max, s->window_bytes);
	mg.slot_memory = (unsigned char *)s + s->slots_start;
	mg.slots_mapped = true;
	mg.serial = s->serial;
	mg.blind = s->blind;
	mg.sequence = mg.blind || s->clock != MG_CLOCK_TSC;
	mg.verify = s->verify;
	mg.free_stacks = s->free_stacks;
	mg.stack_field = mg_manifest.stack_field;
	mg.main_tp = mg_manifest.main_tp;
	mg.main_low = mg_manifest.main_low;
	mg.main_high = mg_manifest.main_high;
	mg.main_entry = mg_manifest.main_entry;
	mg.backend.find_unwind_info = find_unwind_info;
	mg.backend.tid = own_tid;
	mg.backend.modules_forked = modules_forked;
	mg.closing = s->modules_closing;
	mg.hooked = false;
	mg_custom_open(mg_manifest.hooks, mg_manifest.hook_count);
	mg.session = mg.head = s;
	process =
		mg.main_tp ? *(const volatile uint32_t *)(mg.main_tp + mg_manifest.tid_offset) : 0;
	mg.slots = (struct mg_fork_slot *)(void *)((char *)s + s->slots_offset);
	mg.slot_count = s->slot_max;
	/* An earlier session, or the parent process, may have left other values here. */
	mg.writer_base = mg.writers_used = 0;
	mg.fork_stamp = mg.missed = 0;
	/* At epoch 0, none of the modules present at the attachment has been removed. */
	known.table = mg.modules;
	known.count = s->epoch || s->modules_closing ? 0 : s->modules_first;
	known.epoch = 0;
	known.removals = removals;
	for (uint32_t i = 0; i < MG_DEEP_MAX; i++)
		mg.deep_taken[i] = 0;
	laid_out = lay_out(s);
	return laid_out;
}

/* Waits while another thread begins the session, which takes microseconds. Gives up if the other
 * thread does not run, or is this thread, interrupted by a signal handler: a block allocated now
 * then counts as preexisting. */
static bool begun_meanwhile(const struct mg_gate *g)
{
	enum { TURNS = 10000 };
	for (uint32_t i = 0; i < TURNS; i++) {
		if (__atomic_load_n(&g->on, __ATOMIC_ACQUIRE))
			return true;
		if (g->counted || __atomic_load_n(&g->adopting, __ATOMIC_ACQUIRE) != MG_BEGIN + 1)
			return false;
		mg_relax();
	}
	return false;
}

/* Starts the session in a forked child whose parent had no event yet, so that the guest's memory
 * is not divided up yet (A4). */
static bool start_forked(struct mg_gate *g)
{
	uint64_t nobody = 0;
	if (!__atomic_compare_exchange_n(&g->adopting, &nobody, MG_BEGIN + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	bool good = start();
	process = 0; /* start() may have stored this process's own tid */
	g->counted = !good;
	__atomic_store_n(&g->adopting, 0, __ATOMIC_RELEASE);
	return good;
}

/* A4 */
static bool begin_forked(const uint64_t *frame, struct mg_gate *g)
{
	if ((!mg_places || !laid_out) && !start_forked(g))
		return false;
	const struct mg_place *p = mg_place_here();
	uint32_t tid = own_tid();
	if (mg.slot_count && (g->adopting || (p && p->tid != tid && tid != process))) {
		process = tid;
		return mg_shut_forked(frame);
	}
	__atomic_fetch_add(&mg.head->forks, 1, __ATOMIC_RELAXED);
	g->counted = 1;
	return false;
}

/* Handles a call while the gate (the word that each hook reads first) is shut although recording is
 * on: the first event of the session or of a forked child. */
bool mg_shut(const uint64_t *frame)
{
	struct mg_gate *g = mg.gate;
	uint64_t begin = MG_BEGIN;
	if (!__atomic_compare_exchange_n(&g->adopting, &begin, MG_BEGIN + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return begin == MG_BEGIN + 1 ? begun_meanwhile(g) : begin_forked(frame, g);
	if (!start()) {
		g->counted = 1;
		return false;
	}
	__atomic_store_n(&mg.session->guest_ready, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&g->on, mg_gate_open(), __ATOMIC_RELEASE);
	return true;
}
