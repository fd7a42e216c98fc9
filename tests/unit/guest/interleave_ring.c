/* SPDX-License-Identifier: MIT
 * A ring under every order of its writers and its reader that differs in a few places: records come
 * whole, once, in order and not below a watermark; nobody sleeps for ever or spins; what is left for
 * later is read in the end.
 *
 * The code is the guest's (entering, records, waiting) and the draining thread's (reading, parsing,
 * going to sleep). Its clock is the shared counter, rings hold three records, and the merge is a
 * comparison with the watermark.
 */
#include "interleave.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ms-record/guest/core.h"

static uintptr_t selves[IL_THREADS];
#undef MG_SELF
#define MG_SELF (&selves[il_self()])
#define new_epoch guest_new_epoch
#include "ms-record/guest/ring.c"
#include "ms-record/guest/record.c"
#include "ms-record/guest/thread.c"
#undef new_epoch

#include "ms-record/code/modules.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/threads.h"

static uint64_t model_now(const struct session *s);
static bool model_alive(const struct session *s, uint32_t thread);
static bool model_waits(const struct session *s, uint32_t thread, uint64_t *cpu);
static uint32_t model_thread(struct session *s, uint32_t tid, uint64_t stamp);
static long model_syscall(long nr, ...);
#define session_now model_now
#define session_thread_alive model_alive
#define session_thread_waits model_waits
#define threads_add model_thread
#define session_update_modules(s) ((void)(s))
#define modules_epoch_at(all, stamp) 0
#define fallocate(fd, how, at, bytes) ((void)(fd), (void)(at), (void)(bytes), 0)
#define syscall model_syscall
#include "ms-record/base/wake.c"
#include "ms-record/drain/ring.c"
#include "ms-record/drain/parse.c"
#include "ms-record/drain/drain.c"
#undef syscall

enum { WRITERS = 2, LAP = 96, FRAMES = 8 };

/* Holds what the threads share, and what else each run begins anew. */
static struct memory {
	struct mg_session session;
	struct mg_ring rings[WRITERS];
	uint8_t window[WRITERS][1024];
	struct session host;
} * memory;
static struct session *host;
static struct drained drained;
static struct drain d;
static struct pool its_pool;
static struct reader readers[WRITERS + 1];
static struct session_options options = {.buffer_bytes = 1 << 20, .depth = 64};
static uint64_t used, ns, watermark;
static long patient;

/* The process ends with its threads; the merge is far behind all the time; a sleep of the reader may end
 * early; who is not chosen has no processor for longer than a pending stamp holds up the merge. */
enum { ENDS = 1, BEHIND = 2, BY_TIME = 4, BUSY = 8 };
static struct scenario {
	const char *name;
	unsigned bound;
	const char *records[WRITERS]; /* of each writer: in full, or short */
	uint32_t window;
	unsigned how;
} now;
static unsigned writers;
static struct {
	unsigned records;
	uint64_t stamp;
} got[WRITERS];

/* ---- what the code calls ---- */

bool mg_filtered(void)
{
	return false;
}

void mg_futex(const uint32_t *word, uint32_t op, uint32_t value, uint64_t most)
{
	(void)most;
	if (op == MG_FUTEX_WAIT)
		il_sleep(&word, &value, 1);
	else
		il_wake(word, value);
}

static long model_syscall(long nr, ...)
{
	const uint32_t *word[IL_WORDS];
	uint32_t value[IL_WORDS];
	unsigned n = 0;
	va_list ap;
	va_start(ap, nr);
	if (nr == SYS_futex_waitv) {
		const struct futex_waitv *v = va_arg(ap, const struct futex_waitv *);
		size_t all = va_arg(ap, size_t);
		for (size_t i = 0; i < all; i++)
			if (il_is_shared((const void *)(uintptr_t)v[i].uaddr)) {
				word[n] = (const uint32_t *)(uintptr_t)v[i].uaddr;
				value[n++] = (uint32_t)v[i].val;
			}
	} else {
		const uint32_t *of = va_arg(ap, const uint32_t *);
		int op = va_arg(ap, int);
		if (op == FUTEX_WAKE)
			il_wake(of, va_arg(ap, uint32_t));
	}
	va_end(ap);
	if (!n || il_sleep(word, value, n))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

uint64_t mg_ticks(void)
{
	return 0;
}

void *mg_grow(unsigned char **chunks, uint32_t i, size_t each)
{
	return chunks[0] + i * each;
}

void *mg_grow_own(uint64_t bytes)
{
	(void)bytes;
	return NULL;
}

bool mg_shut(const uint64_t *frame)
{
	return frame == NULL;
}

bool mg_still_inside(struct mg_writer *t, const uint64_t *frame)
{
	return t && frame;
}

void mg_own_rules_forget(struct mg_writer *t)
{
	(void)t;
}

void mg_sample_begin(struct mg_writer *t)
{
	(void)t;
}

void mg_python_look(void)
{
}

void mg_python_merge(struct mg_writer *t, uint32_t words, struct mg_stack *st, uint64_t *stamp)
{
	(void)t, (void)words, (void)st, (void)stamp;
}

bool mg_unwind(struct mg_writer *t, const uint64_t *frame, uint32_t words)
{
	return t && frame && words;
}

uint32_t mg_send_copy(struct mg_writer *t, const uint64_t *frame)
{
	return t && frame;
}

static uint32_t tid(void)
{
	return il_self() + 1;
}

/* Each look is later than a thread may be held up before it is looked for. */
static uint64_t model_now(const struct session *of)
{
	(void)of;
	return ns += now.how & BUSY ? 2 * PENDING_NS : 6000000;
}

static bool model_alive(const struct session *of, uint32_t thread)
{
	(void)of;
	return !il_is_done(thread);
}

static bool model_waits(const struct session *of, uint32_t thread, uint64_t *cpu)
{
	(void)of, (void)cpu;
	return now.how & BUSY && !il_is_done(thread);
}

static uint32_t model_thread(struct session *of, uint32_t number, uint64_t stamp)
{
	(void)of, (void)stamp;
	return number - 1;
}

/* ---- the threads ---- */

static bool writers_done(void)
{
	bool done = true;
	for (unsigned i = 0; i < writers; i++)
		done &= il_is_done(i);
	return done;
}

/* Frees of addresses 16, 32... */
static void write_records(void)
{
	const char *kind = now.records[il_self()];
	for (unsigned i = 1; kind[i - 1]; i++) {
		struct mg_writer *t = mg_enter(MG_FRAME);
		if (!t)
			il_fail("no writer for record %u", i);
		uint64_t stamp = mg_now(t);
		if (kind[i - 1] == 'f')
			mg_put_free_full(t, i * UINT64_C(16), stamp);
		else
			mg_put_free(t, i * UINT64_C(16), stamp);
		mg_leave(t);
	}
	if (now.how & ENDS) {
		unsigned left = 0;
		for (unsigned i = 0; i < writers; i++)
			left += i != il_self() && !il_is_done(i);
		if (!left)
			__atomic_store_n(&host->ending, SESSION_EXITED, __ATOMIC_RELEASE);
	}
}

static void check_item(const struct reader *r, const struct item *it)
{
	unsigned who = r->thread;
	uint64_t stamp = it->key >> 1;
	if (it->kind != ITEM_FREE || it->address != ++got[who].records * UINT64_C(16))
		il_fail("thread %u: record %u is of kind %u, address %lu", who, got[who].records,
			it->kind, (unsigned long)it->address);
	if (stamp <= got[who].stamp)
		il_fail("thread %u: stamp %lu after %lu", who, (unsigned long)stamp,
			(unsigned long)got[who].stamp);
	if (stamp < watermark)
		il_fail("thread %u: stamp %lu, below the watermark %lu", who, (unsigned long)stamp,
			(unsigned long)watermark);
	got[who].stamp = stamp;
}

/* Does a round like round_events, with a merge that only drops. */
static uint64_t look(void)
{
	size_t had[WRITERS + 1] = {0};
	uint64_t limit, stamp = __atomic_load_n(&memory->session.sequence, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < writers; i++)
		had[i] = readers[i].count - readers[i].first;
	uint64_t bytes = ring_read_all(host, stamp, &limit);
	if (host->damaged)
		il_fail("damaged: %s", host->damage);
	for (unsigned i = 0; i < writers; i++) {
		struct reader *r = &readers[i];
		for (size_t k = r->first + had[i]; k < r->count; k++)
			check_item(r, &r->items[k]);
		while (r->first < r->count && r->items[r->first].key >> 1 < limit)
			r->first++;
	}
	host->merged_to = limit;
	watermark = limit > watermark ? limit : watermark;
	return bytes;
}

static bool all_read(void)
{
	bool done = writers_done();
	for (unsigned i = 0; i < writers; i++)
		done &= got[i].records == strlen(now.records[i]);
	return done;
}

static void read_records(void)
{
	for (;;) {
		uint64_t bytes = look();
		if (all_read())
			return;
		patient = patience(&d, bytes);
		sleep_a_while(&d, 0, patient);
	}
}

/* Tells whether a wait times out: the reader's may, when all writers are done or it looks often. */
static bool times_out(unsigned thread)
{
	bool waits = false;
	for (unsigned i = 0; i < writers; i++)
		waits |= il.thread[i].state != IL_DONE;
	return thread == writers && (now.how & BY_TIME || !waits || patient <= BUSY_NS);
}

/* ---- a run ---- */

static void begin_guest(void)
{
	struct mg_session *m = &memory->session;
	memset(memory->rings, 0, sizeof memory->rings);
	memset(memory->window, 0, sizeof memory->window);
	*m = (struct mg_session){.ring_max = writers,
				 .window_bytes = now.window,
				 .wait_ticks = 1,
				 .state = MG_ON,
				 .sequence = 1000};
	m->free_rings[0] = (1u << writers) - 1;
	for (unsigned i = 0; i < writers; i++) {
		memory->rings[i].state = MG_RING_FREE;
		memory->rings[i].size_allowed = LAP;
		selves[i] = 0;
	}
	mg.session = mg.head = m;
	mg.rings = memory->rings;
	mg.windows[0] = memory->window[0];
	mg.writer_count = writers;
	mg.generation++;
}

static void begin_reader(void)
{
	struct item *items = readers[WRITERS].items ? readers[WRITERS].items : NULL;
	MS_ARRAY(struct reader *) taken = {host->rings.taken.v, 0, host->rings.taken.cap};
	if (!items)
		items = mmap(NULL, (BACKLOG_MAX + 1) * sizeof *items, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*host = (struct session){.opt = &options,
				 .mem = &memory->session,
				 .rings.shared = memory->rings,
				 .rings.memory = (uint8_t *)memory,
				 .rings.readers = readers,
				 .drained = &drained,
				 .pool = &its_pool,
				 .buffer_used = &used,
				 .rings.prepared = writers,
				 .rings.max = writers,
				 .rings.window_bytes = now.window,
				 .rings.data_offset = offsetof(struct memory, window),
				 .settled = true};
	memcpy(&host->rings.taken, &taken, sizeof taken);
	session_link(host);
	drained = (struct drained){0};
	d.idle = 0;
	used = ns = watermark = 0;
	for (unsigned i = 0; i <= WRITERS; i++) {
		struct reader kept = readers[i];
		readers[i] = (struct reader){.items = kept.items, .room = kept.room};
		set_up(host, &readers[i]);
		readers[i].allowed = LAP;
	}
	readers[WRITERS].ring = &mg.void_ring;
	readers[WRITERS].items = items;
	readers[WRITERS].count = BACKLOG_MAX + 1;
	if (now.how & BEHIND)
		*MS_PUSH(&host->rings.taken) = &readers[WRITERS];
}

static void begin_run(void)
{
	begin_guest();
	begin_reader();
	memset(got, 0, sizeof got);
}

static const char *end(void)
{
	for (unsigned i = 0; i < writers; i++)
		if (memory->rings[i].lost || memory->rings[i].pending)
			return "a record was lost, or a stamp is pending";
	return NULL;
}

static void begin_once(void)
{
	static struct mg_gate gate = {.on = MG_GATE_ALL};
	static struct pool *pools[] = {&its_pool};
	static struct session *sessions[1];
	memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	sessions[0] = host = &memory->host;
	its_pool.head = &memory->session;
	d.pools.v = pools;
	d.sessions.v = sessions;
	d.pools.n = d.sessions.n = 1;
	mg.gate = &gate;
	mg.frames = FRAMES;
	mg.writer_bytes = mg_writer_bytes(FRAMES);
	mg.writers[0] = calloc(WRITERS, mg.writer_bytes);
	mg.writers_all = WRITERS;
	mg.sequence = true;
	mg.backend.tid = tid;
}

static bool explore(const struct scenario *what, unsigned more)
{
	static const char *const names[] = {"writer 0", "writer 1"};
	now = *what;
	now.bound += more;
	for (writers = 0; writers < WRITERS && now.records[writers];)
		writers++;
	il_share(&memory->session.sleeping, sizeof memory->session.sleeping, false);
	il_share(&memory->session.sequence, sizeof memory->session.sequence, false);
	il_share(memory->session.free_rings, sizeof *memory->session.free_rings, false);
	il_share(memory->rings, sizeof memory->rings, false);
	il_share(memory->window, sizeof memory->window, true);
	il_share(&host->ending, sizeof host->ending, false);
	for (unsigned i = 0; i < writers; i++)
		il_thread(names[i], write_records);
	il_thread("reader", read_records);
	il.times_out = times_out;
	unsigned long runs = il_explore(now.name, now.bound, begin_run, end);
	printf("%s: %lu runs with up to %u changes\n", now.name, runs, now.bound);
	return !il.failed;
}

int main(int argc, char **argv)
{
	enum { ONE = LAP + MG_SLACK, FOUR = 4 * ONE };
	static const struct scenario all[] = {
		{"one ring", 2, {"fsssfffffs"}, ONE, 0},
		{"a full ring", 3, {"fff"}, ONE, 0},
		{"a ring that grows", 2, {"fsfsfsfsfsfs"}, FOUR, 0},
		{"two rings", 2, {"fsf", "sfs"}, ONE, 0},
		{"the end", 2, {"fsf"}, ONE, ENDS},
		{"a thread that ends", 3, {"fs"}, ONE, BY_TIME},
		{"a busy machine", 3, {"fsf"}, ONE, BY_TIME | BUSY},
		{"two on a busy machine", 2, {"fs", "sf"}, ONE, BY_TIME | BUSY},
		{"left for later", 1, {"f", "sfsfsfsfsf"}, ONE, BEHIND},
	};
	unsigned more = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	bool good = true;
	begin_once();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		good &= explore(&all[i], more);
	return !good;
}
