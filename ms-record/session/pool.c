/* SPDX-License-Identifier: MIT
 * The shared memory of one executed image, and its slots.
 *
 *   +---------------------------------------------+--------+--------+-- ...
 *   | image: session, modules, rings, directory,  | slot 0 | slot 1 |
 *   |        lists of functions, windows          |        |        |
 *   +---------------------------------------------+--------+--------+-- ...
 *
 * A slot takes no memory until it is prepared. A few are prepared before the image runs, so that
 * its first children need not wait; more are prepared when these run out. After a slot's process
 * has ended and all its records are read, its pages are freed, so that the next child finds zeros.
 */
#include "pool.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/wake.h"
#include "session.h"

#define SLOT_RINGS 1024u /* a power of two, as chunks of windows are: see guest/grow.c */
#define SLOT_WINDOW 65536u
#define RINGS_AT_ONCE 64u /* number of structures allocated together */
#define SLOT_MODULES 1024u
#define SLOT_RANGES 2048u
#define READY_FIRST 2u /* rings made ready at first; each takes two pages */
#define ATTACHED_READY_FIRST 16u
/* Sizes for an attached process, whose threads never wait for space and so get larger rings. */
#define ATTACHED_RINGS 512u
#define ATTACHED_LAP (2u << 20)
#define ATTACHED_SLOTS 64u
#define ENTRIES_BYTES (UINT64_C(16) << 20)
#define PROBE_NS UINT64_C(200000000)
/* number of bits for the serials of children in one recording of a standby process */
#define SERIALS_SHIFT 16

static uint32_t last_serial; /* atomic */

static uint32_t new_serial(void)
{
	return __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
}

static uint64_t page_up(uint64_t n)
{
	return (n + 4095) & ~UINT64_C(4095);
}

/* ---- sizes ---- */

/* Computes the offsets of a session's parts. `directory`: number of entries between rings and
 * windows. */
static void lay_out(struct extents *e, uint32_t directory)
{
	e->modules = page_up(sizeof(struct mg_session));
	e->rings = page_up(e->modules + e->module_max * sizeof(struct mg_module));
	e->frames = page_up(e->rings + e->ring_max * sizeof(struct mg_ring) +
			    directory * sizeof(struct mg_fork_slot));
	e->entries = e->frames +
		     (e->entries_bytes ? page_up(MG_LISTS_MAX * sizeof(struct mg_frames)) : 0);
	e->ranges = e->entries + e->entries_bytes;
	e->wide = page_up(e->ranges + 2 * e->range_max * sizeof(struct mg_range));
	e->data = e->wide + e->wide_count * (uint64_t)MG_WIDE_BYTES;
	e->bytes = e->data + e->ring_max * e->window_bytes;
}

/* Chooses the sizes. With RLIMIT_AS, the mapping counts against the program's limit: it may take
 * a sixteenth of the limit, and the program's children get no slots. */
static void choose_sizes(struct pool *p, pid_t pid, bool forks, bool attached)
{
	struct rlimit as;
	uint64_t window = attached ? page_up(ATTACHED_LAP + MG_SLACK) : MG_RING_LARGEST + MG_SLACK;
	uint32_t most = attached ? ATTACHED_RINGS : SESSION_RINGS;
	p->shape.image = (struct extents){.module_max = MODULES_MOST,
					  .ring_max = most,
					  .range_max = POOL_RANGES,
					  .wide_count = attached ? 0 : MG_WIDE_RINGS,
					  .window_bytes = window,
					  .entries_bytes = ENTRIES_BYTES};
	p->shape.each = (struct extents){
		.module_max = SLOT_MODULES,
		.range_max = SLOT_RANGES,
		.ring_max = attached ? MG_CHUNK_FIRST : SLOT_RINGS,
		.window_bytes = attached ? page_up(POOL_ATTACHED_LAP + MG_SLACK) : SLOT_WINDOW};
	lay_out(&p->shape.each, 0);
	p->shape.slot_max = !forks ? 0 : attached ? ATTACHED_SLOTS : POOL_SLOTS;
	p->target = attached ? ATTACHED_READY_FIRST : READY_FIRST;
	if (!prlimit(pid, RLIMIT_AS, NULL, &as) && as.rlim_cur != RLIM_INFINITY) {
		uint64_t share = as.rlim_cur / 16;
		p->shape.image.entries_bytes =
			share / 8 < ENTRIES_BYTES ? page_up(share / 8) : ENTRIES_BYTES;
		uint64_t rings = (share - p->shape.image.entries_bytes) / window;
		p->shape.image.ring_max = rings < 8 ? 8 : rings > most ? most : (uint32_t)rings;
		p->shape.image.module_max = 512;
		p->shape.image.range_max = 512;
		p->shape.image.wide_count = 0;
		p->shape.slot_max = 0;
	}
	lay_out(&p->shape.image, p->shape.slot_max);
	p->shape.slots_start = p->shape.image.bytes;
	p->shape.bytes = p->shape.slots_start + p->shape.slot_max * p->shape.each.bytes;
}

/* ---- making and giving up ---- */

static int map_memory(struct pool *p)
{
	void *m = mmap(NULL, p->shape.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       p->memfd, 0);
	p->memory = m == MAP_FAILED ? NULL : m;
	if (!p->memory)
		return -1;
	p->head = (struct mg_session *)p->memory;
	p->dir = (struct mg_fork_slot *)(p->memory + p->shape.image.rings +
					 p->shape.image.ring_max * sizeof(struct mg_ring));
	p->lists.memfd = p->memfd;
	p->lists.memory = p->memory;
	p->lists.mem = p->head;
	p->lists.lists = p->shape.image.frames;
	p->lists.low = p->shape.image.entries;
	p->lists.bytes = p->shape.image.entries_bytes;
	return 0;
}

/* Allocates memory for everything before the windows, except for most of the modules and rings: see
 * modules_back and pool_back_ring. */
static int back_head(const struct pool *p)
{
	uint64_t rest = p->shape.image.rings + p->shape.image.ring_max * sizeof(struct mg_ring);
	return fallocate(p->memfd, 0, 0, (off_t)p->shape.image.modules) ||
	       fallocate(p->memfd, 0, (off_t)rest, (off_t)(p->shape.image.entries - rest));
}

bool pool_back_ring(const struct pool *p, const struct session *s, uint32_t i)
{
	uint64_t at = (uint64_t)((uint8_t *)&s->rings.shared[i] - p->memory);
	uint32_t n = s->rings.max - i < RINGS_AT_ONCE ? s->rings.max - i : RINGS_AT_ONCE;
	return i % RINGS_AT_ONCE ||
	       !fallocate(p->memfd, FALLOC_FL_KEEP_SIZE, (off_t)at, n * sizeof(struct mg_ring));
}

#define PAGE_BYTES 4096 /* of the guest */
static int make_memory(struct pool *p, struct ms_err *err)
{
	struct stat st;
	char size[MS_UNIT_BUF];
	if (sysconf(_SC_PAGESIZE) != PAGE_BYTES)
		return ms_err_set(
			err,
			"this kernel's pages have %ld KiB, and ms-record records only where "
			"they have 4 KiB",
			sysconf(_SC_PAGESIZE) / 1024);
	if (p->memfd < 0)
		p->memfd = memfd_create("memscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->memfd < 0 || ftruncate(p->memfd, (off_t)p->shape.bytes) ||
	    fcntl(p->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) || back_head(p) ||
	    fstat(p->memfd, &st))
		return ms_err_sys(err, "cannot create shared memory of %s",
				  ms_format_size(size, p->shape.bytes));
	p->inode = st.st_ino;
	if (map_memory(p))
		return ms_err_sys(err, "cannot map shared memory of %s",
				  ms_format_size(size, p->shape.bytes));
	return 0;
}

size_t pool_attached_bytes(pid_t pid, bool forks)
{
	struct pool p = {0};
	choose_sizes(&p, pid, forks, true);
	return p.shape.bytes;
}

static void tell_layout(struct mg_session *m, const struct extents *e)
{
	m->modules_offset = e->modules;
	m->rings_offset = e->rings;
	m->data_offset = e->data;
	m->ranges_offset = e->ranges;
	m->range_max = e->range_max;
	m->window_bytes = e->window_bytes;
	m->wide_offset = e->wide;
	m->wide_bytes = MG_WIDE_BYTES;
	m->wide_count = e->wide_count;
	m->module_max = e->module_max;
	m->ring_max = e->ring_max;
}

struct pool *pool_new(pid_t pid, bool forks, int memfd, struct ms_err *err)
{
	struct pool *p = ms_xcalloc(1, sizeof *p);
	p->refs = 1;
	p->memfd = memfd;
	p->attached = memfd >= 0;
	choose_sizes(p, pid, forks, p->attached);
	if (make_memory(p, err)) {
		/* on failure the caller still owns the memfd */
		p->memfd = memfd >= 0 ? -1 : p->memfd;
		pool_unref(p);
		return NULL;
	}
	p->shape.head_serial = new_serial();
	p->slots = ms_xcalloc(p->shape.slot_max + 1, sizeof *p->slots);
	struct mg_session *m = p->head;
	tell_layout(m, &p->shape.image);
	m->frames_offset = p->shape.image.frames;
	m->slots_offset = p->shape.image.rings + p->shape.image.ring_max * sizeof(struct mg_ring);
	m->slots_start = p->shape.slots_start;
	m->slot_bytes = p->shape.each.bytes;
	m->slot_first = p->shape.each.data + MG_CHUNK_FIRST * p->shape.each.window_bytes;
	m->slot_max = p->shape.slot_max;
	m->serial = p->shape.head_serial;
	return p;
}

/* Finds the pool slots that children took in an earlier recording. Slots only prepared for that
 * recording are no longer usable. */
static void find_old(struct pool *p)
{
	for (uint32_t i = 0; i < p->shape.slot_max; i++) {
		const struct mg_fork_slot *d = &p->dir[i];
		if (__atomic_load_n(&d->state, __ATOMIC_ACQUIRE) != MG_SLOT_TAKEN)
			continue;
		bool ready = __atomic_load_n(&d->ready, __ATOMIC_ACQUIRE);
		p->slots[i].prepared = p->slots[i].old = ready;
		p->slots[i].dead = !ready;
		p->slots[i].serial = new_serial();
		p->prepared = i + 1;
	}
}

/* Tells whether the offsets match those of lay_out, for sizes within ms-record's limits. */
static bool is_layout(const struct extents *e, uint32_t directory)
{
	struct extents own = *e;
	if (e->module_max > MODULES_MOST || e->range_max > POOL_RANGES ||
	    e->ring_max < POOL_FIRST_RINGS || e->ring_max > SESSION_RINGS ||
	    e->wide_count > MG_WIDE_RINGS || e->wide_count > e->ring_max ||
	    e->entries_bytes > ENTRIES_BYTES || e->entries_bytes != page_up(e->entries_bytes) ||
	    e->window_bytes < MG_RING_FIRST + MG_SLACK ||
	    e->window_bytes > page_up(ATTACHED_LAP + MG_SLACK) ||
	    e->window_bytes != page_up(e->window_bytes))
		return false;
	lay_out(&own, directory);
	return own.modules == e->modules && own.rings == e->rings && own.frames == e->frames &&
	       own.entries == e->entries && own.ranges == e->ranges && own.wide == e->wide &&
	       own.data == e->data && own.bytes == e->bytes;
}

/* Tells whether the layout is safe: the holder may be a user whom root does not trust fully. All
 * parts must be inside the memory, which must not be able to shrink. */
static bool is_sound(const struct pool *p)
{
	struct stat st;
	int seals = fcntl(p->memfd, F_GET_SEALS);
	return p->shape.slot_max <= POOL_SLOTS && is_layout(&p->shape.image, p->shape.slot_max) &&
	       is_layout(&p->shape.each, 0) && p->shape.slots_start == p->shape.image.bytes &&
	       p->shape.bytes == p->shape.slots_start + p->shape.slot_max * p->shape.each.bytes &&
	       seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(p->memfd, &st) && st.st_size >= 0 &&
	       (uint64_t)st.st_size >= p->shape.bytes;
}

struct pool *pool_map_existing(const struct pool_shape *shape, uint32_t wake, int memfd,
			       struct ms_err *err)
{
	struct pool *p = ms_xcalloc(1, sizeof *p);
	struct stat st;
	p->refs = 1;
	p->memfd = memfd;
	p->shape = *shape;
	p->standby = true;
	p->target = READY_FIRST;
	if (!is_sound(p) || fstat(memfd, &st) || map_memory(p)) {
		p->memfd = -1; /* on failure the caller still owns the memfd */
		pool_unref(p);
		ms_err_set(err, "cannot map the shared memory of a process on standby");
		return NULL;
	}
	p->inode = st.st_ino;
	/* Skips the serial numbers of children from earlier recordings, which may still fork
	 * children themselves. */
	uint32_t least = wake << SERIALS_SHIFT,
		 now = __atomic_load_n(&last_serial, __ATOMIC_RELAXED);
	if (now < least)
		__atomic_store_n(&last_serial, least, __ATOMIC_RELAXED);
	p->slots = ms_xcalloc(p->shape.slot_max + 1, sizeof *p->slots);
	find_old(p);
	frame_lists_take(&p->lists);
	return p;
}

void pool_ref(struct pool *p)
{
	__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
}

void pool_unref(struct pool *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (p->memory)
		munmap(p->memory, p->shape.bytes);
	descriptor_close(p->memfd);
	MS_FREE(p->slots, p);
}

/* ---- slots ---- */

uint32_t pool_first_rings(const struct pool *p)
{
	return p->attached ? p->shape.each.ring_max : POOL_FIRST_RINGS;
}

static void fill(struct pool *p, uint32_t i, uint32_t serial)
{
	struct mg_session *m = (struct mg_session *)(p->memory + pool_slot_at(p, i));
	struct mg_ring *rings = (struct mg_ring *)((uint8_t *)m + p->shape.each.rings);
	memcpy(m, &p->config, offsetof(struct mg_session, state));
	tell_layout(m, &p->shape.each);
	m->modules_ready = m->module_max; /* memory is allocated as they are written */
	m->sequence = 1;
	m->serial = serial;
	memcpy(m->start_mark, p->head->start_mark, sizeof m->start_mark);
	memcpy(m->allocator, p->head->allocator, sizeof m->allocator);
	for (uint32_t r = 0; r < pool_first_rings(p); r++) {
		rings[r].size_allowed = p->attached ? POOL_ATTACHED_LAP : POOL_FEW_LAP;
		rings[r].state = MG_RING_FREE;
		m->free_rings[0] |= UINT64_C(1) << r;
	}
	m->sample_seed += (uint64_t)serial << 32;
	m->state = MG_ON;
}

static void prepare(struct pool *p, uint32_t i)
{
	struct mg_fork_slot *d = &p->dir[i];
	p->slots[i].serial = new_serial();
	fill(p, i, p->slots[i].serial);
	d->ready = d->pid = d->parent = 0;
	d->fork_stamp = d->first_stamp = 0;
	p->slots[i].prepared = true;
	if (i >= p->prepared)
		p->prepared = i + 1;
	__atomic_store_n(&d->state, MG_SLOT_FREE, __ATOMIC_RELEASE);
}

/* Counts the pool slots that children can take. */
static uint32_t count_free(const struct pool *p)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->prepared; i++)
		n += p->slots[i].prepared && !p->slots[i].session &&
		     __atomic_load_n(&p->dir[i].state, __ATOMIC_RELAXED) == MG_SLOT_FREE;
	return n;
}

static void keep_ready(struct pool *p)
{
	bool wanted = __atomic_exchange_n(&p->head->slots_wanted, 0, __ATOMIC_SEQ_CST);
	uint32_t have = count_free(p), before = have;
	if (wanted && have < 2) /* the free slots ran out */
		p->target *= 4;
	if (p->target > p->shape.slot_max)
		p->target = p->shape.slot_max;
	for (uint32_t i = 0; i < p->shape.slot_max && have < p->target; i++) {
		if (p->slots[i].prepared || p->slots[i].dead)
			continue;
		prepare(p, i);
		have++;
	}
	if (have == before)
		return;
	wake_shared(&p->head->slots_futex, INT_MAX);
}

void pool_seal(struct pool *p, struct session *s)
{
	p->config = *p->head;
	p->head_session = s;
	p->opt = s->opt;
	p->writer = s->writer;
	p->buffer_used = s->buffer_used;
	if (p->writer && !p->standby) /* children that fork at once should not have to wait */
		keep_ready(p);
}

static bool waits(const struct pool *p, uint32_t i)
{
	const struct slot *k = &p->slots[i];
	return k->prepared && !k->session &&
	       __atomic_load_n(&p->dir[i].state, __ATOMIC_ACQUIRE) == MG_SLOT_TAKEN &&
	       __atomic_load_n(&p->dir[i].ready, __ATOMIC_ACQUIRE);
}

bool pool_slot_wanted(const struct pool *p)
{
	bool any = __atomic_load_n(&p->head->slots_wanted, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < p->prepared && !any; i++)
		any = waits(p, i);
	return any;
}

/* Returns the pool slot of the oldest ancestor waiting like the child in slot `i`: a child may take
 * a slot before its parent does. The parents noted in slots may be wrong, even circular. */
static uint32_t oldest_waiting(const struct pool *p, uint32_t i)
{
	for (uint32_t up = 0, k = 0; up < p->prepared && k < p->prepared; up++) {
		uint32_t parent = __atomic_load_n(&p->dir[i].parent, __ATOMIC_RELAXED);
		for (k = 0; k < p->prepared && !(p->slots[k].serial == parent && waits(p, k)); k++)
			continue;
		i = k < p->prepared ? k : i;
	}
	return i;
}

void pool_round(struct pool *p, void (*on_child)(void *arg, struct pool *p, uint32_t slot),
		void *arg)
{
	for (uint32_t i = 0; i < p->prepared; i++)
		while (waits(p, i))
			on_child(arg, p, oldest_waiting(p, i));
	if (p->shape.slot_max && __atomic_load_n(&p->head->state, __ATOMIC_RELAXED) != MG_OFF)
		keep_ready(p);
}

void pool_release_slot(struct pool *p, uint32_t slot, bool reuse)
{
	struct slot *k = &p->slots[slot];
	uint64_t at = pool_slot_at(p, slot);
	k->session = NULL;
	k->prepared = false;
	k->old = false;
	if (!reuse && p->standby) {
		k->dead = true;
		return; /* the slot stays: the next recorder finds the process in it */
	}
	k->dead = !reuse || fallocate(p->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				      (off_t)at, (off_t)p->shape.each.bytes);
	__atomic_store_n(&p->dir[slot].state, MG_SLOT_UNREADY, __ATOMIC_RELEASE);
}

/* Releases the part of the pool that the program image itself uses, except the header and the
 * directory of slots, because children may still fork. */
void pool_release_image(struct pool *p, bool gone)
{
	p->head_session = NULL;
	if (gone && p->shape.slot_max)
		fallocate(p->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)p->shape.image.wide,
			  (off_t)(p->shape.slots_start - p->shape.image.wide));
}

void pool_shut(struct pool *p)
{
	__atomic_store_n(&p->head->state, MG_OFF, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < p->shape.slot_max; i++) {
		uint32_t is_free = MG_SLOT_FREE;
		__atomic_compare_exchange_n(&p->dir[i].state, &is_free, MG_SLOT_UNREADY, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
}

/* Uses the kernel's refusal to seal the memory against writes while a process has it mapped for
 * writing. */
bool pool_unused(struct pool *p, uint64_t now_ns)
{
	if (__atomic_load_n(&p->refs, __ATOMIC_ACQUIRE) != 1 || now_ns < p->probed_ns + PROBE_NS)
		return false;
	p->probed_ns = now_ns;
	if (p->shape.slot_max == 0 || !p->memory)
		return true;
	munmap(p->memory, p->shape.bytes);
	p->memory = NULL;
	if (!fcntl(p->memfd, F_ADD_SEALS, F_SEAL_WRITE))
		return true;
	return map_memory(p) != 0;
}
