/* SPDX-License-Identifier: MIT
 * One recorded process image: shared memory and identity.
 */
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "attach_modules.h"
#include "ms-record/heap/preexisting.h"
#include "format/trace.h"
#include "ms-record/heap/heaps.h"
#include "ms-record/attach/hook_late.h"
#include "libcommon/base/arena.h"
#include "ms-record/heap/forks.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "modules.h"
#include "options.h"
#include "pool.h"
#include "ms-record/base/ready.h"
#include "ms-record/drain/remote.h"
#include "ms-record/drain/ring.h"
#include "samples.h"
#include "ms-record/scan/scan.h"

#define TIDS_AGAIN_NS UINT64_C(10000000)
#define TRIVIAL_ALLOCATIONS 100u
#define TRIVIAL_BYTES 65536u

static void use_memory(struct session *s, const struct extents *e, uint64_t at)
{
	s->memory = s->pool->memory;
	s->module_max = e->module_max;
	s->ring_max = e->ring_max;
	s->window_bytes = e->window_bytes;
	s->data_offset = at + e->data;
	s->mem = (struct mg_session *)(s->memory + at);
	s->mem_modules = (struct mg_module *)(s->memory + at + e->modules);
	s->mem_rings = (struct mg_ring *)(s->memory + at + e->rings);
	s->ranges.list = (struct mg_range *)(s->memory + at + e->ranges);
	s->ranges.max = e->range_max;
}

static void fill_header(struct session *s)
{
	bool tsc = clock_tsc_usable();
	uint64_t hz = clock_tsc_hz(); /* the guest times its waits by it, whatever orders events */
	struct mg_session *m = s->mem;
	m->magic = MG_MAGIC;
	m->version = MG_LAYOUT_VERSION;
	m->clock = tsc ? MG_CLOCK_TSC : MG_CLOCK_SEQUENCE;
	m->tsc_hz = s->tsc_hz = hz;
	m->wait_ticks = (uint64_t)((double)s->opt->wait_ns * (double)hz / 1e9);
	m->verify = s->opt->verify;
	m->sample_bytes = s->opt->sample_bytes;
	m->sample_seed = s->opt->sample_seed;
	m->free_stacks = s->opt->free_stacks;
	m->usable_size = s->opt->usable_size;
	m->mapped = s->opt->mapped;
	m->end_wait_ms = s->opt->leak_check == SCAN_NO || s->opt->sample_bytes || s->opt->pids.n
				 ? 0
				 : (uint32_t)(s->opt->leak_ns / 1000000);
	m->sequence = 1;
	clock_start(&s->clock, tsc && !m->blind ? NULL : &m->sequence);
	clock_watch(&s->clock, m);
	m->heartbeat = clock_stamp(&s->clock);
	m->ticks = __rdtsc();
}

static struct session *blank(const struct options *opt, struct writer *writer,
			     uint64_t *buffer_used)
{
	struct session *s = ms_xrealloc(NULL, 1, sizeof *s);
	memset(s, 0, sizeof *s);
	s->opt = opt;
	s->hooks = &opt->hooks;
	s->writer = writer;
	s->pidfd = s->proc = -1;
	s->exit_status = -1;
	s->buffer_used = buffer_used;
	s->who = identity_new();
	s->scan = scan_new();
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void make_tables(struct session *s)
{
	s->readers = ms_xcalloc(s->ring_max, sizeof *s->readers);
	stacks_init(&s->stacks);
	live_init(&s->live);
	modules_init(&s->modules, s->module_max);
}

/* The image never makes a system call: who waits for us spins. A process that was not started by us
 * never waits. */
static void fill_attached(struct session *s)
{
	if (s->opt->pids.n)
		s->mem->wait_ticks = 0;
	s->mem->seccomp_seen = 1;
	s->mem->end_wait_ms = 0;
	s->mem->modules_epoch = ~0u;
}

/* Of the process `pid`, which is there. 0, or -1 with `err` set. */
static int open_process(struct session *s, pid_t pid, struct ms_err *err)
{
	char path[32];
	s->pid = pid;
	s->known = s->settled = true;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	s->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc < 0)
		return ms_err_sys(err, "cannot open '%s'", path);
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/* The pool is there. */
static void begin(struct session *s)
{
	use_memory(s, &s->pool->image, 0);
	fill_header(s);
	if (s->attach_modules)
		fill_attached(s);
	pool_seal(s->pool, s);
	s->signature = session_signature(s->proc);
	make_tables(s);
	s->inherited_heap = inherited_heap_new(s, s->pool->head_serial);
}

static struct session *give_up(struct session *s)
{
	session_free(s);
	return NULL;
}

/* `memfd`: of an attached process, or -1. */
static struct session *make(const struct options *opt, struct writer *writer, struct output *out,
			    pid_t pid, uint64_t *buffer_used, bool forks, int memfd,
			    struct ms_err *err)
{
	struct session *s = blank(opt, writer, buffer_used);
	s->attach_modules = memfd >= 0 ? attach_modules_new() : NULL;
	if (open_process(s, pid, err) || !(s->pool = pool_new(pid, forks, memfd, err)))
		return give_up(s);
	begin(s);
	s->mem->state = MG_ON;
	s->out = out;
	ring_prepare(s);
	return s;
}

struct session *session_new(const struct options *opt, struct writer *writer, struct output *out,
			    pid_t pid, uint64_t *buffer_used, bool forks, struct ms_err *err)
{
	return make(opt, writer, out, pid, buffer_used, forks, -1, err);
}

struct session *session_attached(const struct options *opt, struct writer *writer,
				 struct output *out, pid_t pid, uint64_t *buffer_used, bool forks,
				 int memfd, struct ms_err *err)
{
	return make(opt, writer, out, pid, buffer_used, forks, memfd, err);
}

struct session *session_new_standby(const struct options *opt, pid_t pid, uint64_t *buffer_used,
				    struct ms_err *err)
{
	struct session *s = blank(opt, NULL, buffer_used);
	if (open_process(s, pid, err) || !(s->pool = pool_new(pid, true, -1, err)))
		return give_up(s);
	begin(s);
	return s;
}

struct session *session_attach_standby(const struct options *opt, struct writer *writer,
				       struct output *out, pid_t pid, uint64_t *buffer_used,
				       const struct pool_shape *shape, uint32_t wake, int memfd,
				       struct ms_err *err)
{
	struct session *s = blank(opt, writer, buffer_used);
	if (open_process(s, pid, err) || !(s->pool = pool_map_existing(shape, wake, memfd, err)))
		return give_up(s);
	begin(s);
	struct mg_session *m = s->mem;
	m->forks = m->ranges_count[0] = m->ranges_count[1] = 0;
	m->no_ring_lost = m->reentry_lost = m->not_taken = m->passed_early = 0;
	s->wake = wake;
	s->standby = true;
	s->out = out;
	return s;
}

void session_wake(struct session *s)
{
	struct mg_session *m = s->mem;
	uint32_t state = s->pause.waiting ? MG_WAITING : MG_ON;
	m->told_paused = s->pause.told;
	__atomic_store_n(&m->wake, s->wake, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&m->epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->state, state, __ATOMIC_SEQ_CST);
	mg_settle(m);
}

void session_wake_slot(struct session *s)
{
	struct mg_session *m = s->mem, *head = s->pool->head;
	m->told_paused = __atomic_load_n(&head->told_paused, __ATOMIC_SEQ_CST);
	m->user_began = __atomic_load_n(&m->user_paused, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->wake, s->wake, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&m->epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->state, __atomic_load_n(&head->state, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
	mg_settle(m);
}

struct session *session_in_slot(struct pool *p, uint32_t slot)
{
	struct session *s = blank(p->opt, p->writer, p->buffer_used);
	pool_ref(p);
	s->pool = p;
	s->slot = slot + 1;
	s->forked = true;
	if (p->head_session)
		s->hooks = p->head_session->hooks;
	s->found_ns = clock_mono();
	s->tsc_hz = p->config.tsc_hz;
	use_memory(s, &p->each, pool_slot_at(p, slot));
	if (p->attached)
		s->attach_modules = attach_modules_forked(
			p->head_session ? p->head_session->attach_modules : NULL);
	make_tables(s);
	if (!p->slots[slot].old) {
		ring_adopt(s, POOL_FIRST_RINGS);
		return s;
	}
	s->standby = true;
	s->wake = __atomic_load_n(&s->mem->wake, __ATOMIC_RELAXED) + 1;
	ring_take_over(s, false);
	return s;
}

void session_forbid_clock(struct session *s)
{
	s->mem->sequence = __rdtsc() + s->tsc_hz;
	s->mem->blind = 1;
}

bool session_trivial(const struct session *s)
{
	bool few = !s->opt->sample_bytes && s->stats.allocations < TRIVIAL_ALLOCATIONS;
	return few || s->stats.allocated_bytes < TRIVIAL_BYTES;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->readers)
		for (uint32_t i = 0; i < s->prepared; i++)
			ring_free(&s->readers[i]);
	free(s->readers);
	remote_free(s->remote);
	heaps_free(s->heaps);
	hook_late_free(s->late);
	inherited_heap_unref(s->inherited_heap);
	modules_free(&s->modules);
	attach_modules_free(s->attach_modules);
	preexisting_free(s->preexisting);
	stacks_free(&s->stacks);
	live_free(&s->live);
	ms_ranges_free(&s->mapped);
	identity_unref(s->who);
	identity_unref(s->parent_who);
	batch_free(s->batch);
	samples_free(s->sampler);
	scan_free(s->scan);
	free(s->taken.v);
	free(s->alive.v);
	free(s->threads.v);
	free(s->tids.v);
	free(s->samples.data);
	free(s->points.v);
	pool_unref(s->pool);
	__atomic_sub_fetch(s->buffer_used, s->buffer_mine, __ATOMIC_RELAXED);
	int fds[] = {s->pidfd, s->proc};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	output_free(s->out);
	pthread_mutex_destroy(&s->lock);
	free(s->exe);
	free(s->name);
	free(s->file);
	free(s->successor);
	free(s->became);
	free(s->became_why);
	free(s);
}

/* Those fields that belong to the address space: code, stack, data, arguments, environment. */
uint64_t session_signature(int proc)
{
	struct ms_proc_stat st;
	uint64_t h = 0, any = 0;
	ms_proc_stat_at(proc, &st);
	for (unsigned i = 26; i < st.fields && i <= 51; i++)
		if (i <= 28 || (i >= 45 && i != 47)) {
			any |= st.field[i] > 1;
			h = (h ^ st.field[i]) * UINT64_C(0x100000001b3) + 1;
		}
	return any ? h : 0;
}

bool session_hidden(int proc)
{
	struct ms_proc_stat st;
	return ms_proc_stat_at(proc, &st) && st.state != 'Z' && st.state != 'X' &&
	       st.field[MS_STAT_VSZ] && session_signature(proc) == 0;
}

int session_exit_status(int proc)
{
	struct ms_proc_stat st;
	bool known = ms_proc_stat_at(proc, &st) && st.state == 'Z' && st.fields > MS_STAT_EXIT;
	return known ? (int)st.field[MS_STAT_EXIT] : -1;
}

struct batch *session_batch(struct session *s)
{
	if (!s->batch) {
		s->batch = writer_batch(s->writer);
		s->batch->first_number = s->number;
		s->batch->first_event = s->stats.events;
		s->batch->first_ns = session_now(s);
	}
	return s->batch;
}

/* New frames and nodes go ahead of the events that use them. */
static void add_stacks(struct session *s, struct batch *b)
{
	b->first_frame = s->frames_sent + 1;
	b->first_node = s->nodes_sent + 1;
	for (; s->frames_sent < s->stacks.frames.n; s->frames_sent++)
		*MS_PUSH(&b->frames) = s->stacks.frames.v[s->frames_sent];
	for (; s->nodes_sent < s->stacks.nodes.n; s->nodes_sent++)
		*MS_PUSH(&b->nodes) = s->stacks.nodes.v[s->nodes_sent];
}

/* Is the batch kept back, because the trace may never be written? */
static bool held_back(struct session *s, struct batch *b)
{
	if (!s->may_drop || s->kept_for_sure)
		return false;
	if (session_trivial(s)) {
		if (!b->close)
			return b->events.n + 2 <= BLOCK_EVENTS;
		s->batch = NULL; /* and never is */
		s->batch_left = 0;
		batch_free(b);
		__atomic_store_n(&s->out->closed, 1, __ATOMIC_RELEASE);
		return true;
	}
	__atomic_store_n(&s->kept_for_sure, 1, __ATOMIC_RELEASE);
	return false;
}

/* Nothing of a trace that may never be written leaves; and under --max-size a block is written
 * whole or not at all, so it is handed over whole. */
static bool whole_blocks(const struct session *s)
{
	return (s->may_drop && !s->kept_for_sure) || s->writer->limit.max;
}

static void hand_over(struct session *s, struct batch *b)
{
	if (b->events.n) {
		uint64_t first = b->events.v[0].time_ticks * MS_TRACE_TICK_NS;
		b->first_ns = first < b->first_ns ? first : b->first_ns;
	}
	b->last_ns = session_now(s);
	b->stats = s->stats;
	b->out = s->out;
	s->block_events = b->ends ? 0 : s->block_events + b->events.n;
	s->batch = NULL;
	s->batch_left = 0;
	writer_push(s->writer, b);
}

/* Hands over what is full. */
static void make_way(struct session *s, struct batch *b, size_t n)
{
	if (s->block_events + b->events.n + n > BLOCK_EVENTS)
		session_flush(s);
	else if (b->events.n + n > BATCH_EVENTS && !whole_blocks(s))
		hand_over(s, b);
}

void session_room(struct session *s, size_t n)
{
	if (s->batch_left >= n)
		return;
	make_way(s, session_batch(s), n);
	struct batch *b = session_batch(s);
	if (!b->events.n && !s->block_events)
		s->batch_since = session_now(s);
	while (b->events.cap < b->events.n + n) {
		b->events.cap = b->events.cap ? b->events.cap * 2 : BATCH_EVENTS;
		b->events.v = ms_xrealloc(b->events.v, b->events.cap, sizeof *b->events.v);
		if (s->stats.events > BATCH_EVENTS) /* it will be filled */
			ready_memory(b->events.v, b->events.cap * sizeof *b->events.v);
	}
	size_t block = s->block_events + b->events.n, left = BLOCK_EVENTS - block;
	s->batch_left = b->events.cap - b->events.n;
	s->batch_left = s->batch_left < left ? s->batch_left : left;
}

void session_flush(struct session *s)
{
	struct batch *b = session_batch(s);
	if (held_back(s, b))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->samples.size) {
		struct ms_record_writer swap = b->samples;
		b->samples = s->samples;
		s->samples = swap;
	}
	scan_take(s, b);
	pthread_mutex_unlock(&s->lock);
	add_stacks(s, b);
	if (batch_empty(b) && !s->block_events)
		return;
	b->ends = true;
	hand_over(s, b);
}

int session_damaged(struct session *s, const char *fmt, ...)
{
	va_list ap;
	if (!s->damaged) {
		va_start(ap, fmt);
		vsnprintf(s->damage, sizeof s->damage, fmt, ap);
		va_end(ap);
		s->damaged = true;
		__atomic_store_n(&s->mem->state, MG_OFF, __ATOMIC_RELEASE);
	}
	return -1;
}

uint64_t session_now(const struct session *s)
{
	return clock_now(&s->clock);
}

/* The number of a thread in its own namespace. 0 = it is gone. */
static uint32_t inner_tid(const struct session *s, const char *outer)
{
	char path[300], text[4096];
	snprintf(path, sizeof path, "task/%s/status", outer);
	return ms_proc_text_at(s->proc, path, text, sizeof text) ? ms_proc_status_inner(text) : 0;
}

static void read_tids(struct session *s)
{
	int fd = openat(s->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t start = session_now(s);
	s->tids.n = 0;
	s->tids_ns = start;
	s->tids_again_ns = start + TIDS_AGAIN_NS;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		uint32_t inner = e->d_name[0] == '.' ? 0 : inner_tid(s, e->d_name);
		if (inner)
			*MS_PUSH(&s->tids) =
				(struct tid_pair){inner, (uint32_t)strtoul(e->d_name, NULL, 10)};
	}
	closedir(d);
	uint64_t now = session_now(s), took = now - start;
	s->tids_again_ns = now + (took > TIDS_AGAIN_NS / 8 ? took * 8 : TIDS_AGAIN_NS);
}

uint32_t session_outer_tid(struct session *s, uint32_t tid)
{
	if (s->same_pidns)
		return tid;
	if (!s->tids_ns || session_now(s) > s->tids_again_ns)
		read_tids(s);
	for (size_t i = 0; i < s->tids.n; i++)
		if (s->tids.v[i].inner == tid)
			return s->tids.v[i].outer;
	return 0;
}

bool session_thread_alive(struct session *s, uint32_t index)
{
	char name[32];
	struct thread *t = &s->threads.v[index];
	if (s->proc < 0 && !s->known)
		return true; /* nobody knows which process it is */
	if (!t->outer) {
		/* It can be younger than the list, and a list that is read while threads end can be
		 * short. */
		t->outer = session_outer_tid(s, t->tid);
		if (t->missed_ns != s->tids_ns && !t->outer) {
			t->missed_ns = s->tids_ns;
			t->missed++;
		}
		return t->outer || t->missed < 3;
	}
	snprintf(name, sizeof name, "task/%u", t->outer);
	return faccessat(s->proc, name, F_OK, 0) == 0;
}
