/* SPDX-License-Identifier: MIT
 * Sessions made, woken and freed.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ms-record/code/attach_modules.h"
#include "ms-record/base/cpu.h"
#include "info.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/code/modules.h"
#include "session_options.h"
#include "pool.h"
#include "samples.h"
#include "ms-record/base/descriptor.h"
#include "session.h"
#include "threads.h"

void session_link(struct session *s)
{
	s->modules.process = s->ranges.process = &s->process;
	s->modules.clock = s->ranges.clock = &s->clock;
	s->modules.mem = s->ranges.mem = s->mem;
	s->modules.image = s->slot ? s->pool->head : s->mem;
	s->modules.lists = s->pool ? &s->pool->lists : NULL;
	s->modules.no_interpreter = s->opt->no_interpreter;
}

static void use_memory(struct session *s, const struct extents *e, uint64_t at)
{
	s->rings.memory = s->pool->memory;
	s->rings.max = e->ring_max;
	s->rings.window_bytes = e->window_bytes;
	s->rings.data_offset = at + e->data;
	s->rings.wide_offset = at + e->wide;
	s->rings.wide_count = e->wide_count;
	s->mem = (struct mg_session *)(s->rings.memory + at);
	s->rings.shared = (struct mg_ring *)(s->rings.memory + at + e->rings);
	s->ranges.list = (struct mg_range *)(s->rings.memory + at + e->ranges);
	s->ranges.max = e->range_max;
	s->ranges.memfd = s->pool->memfd;
	s->ranges.at = at + e->ranges;
	stacks_init(&s->stacks);
	s->modules.table = (struct mg_module *)(s->rings.memory + at + e->modules);
	s->modules.table_max = e->module_max;
	/* all of it in an earlier recording, or only as it is written */
	s->modules.backed = s->slot || s->pool->standby ? e->module_max : 0;
	s->modules.entries = ms_xrealloc(NULL, e->module_max, sizeof *s->modules.entries);
	session_link(s);
}

static void fill_header(struct session *s)
{
	bool tsc = cpu_counter_usable();
	uint64_t hz = clock_tsc_hz(); /* unit of the guest's waits, whichever clock is used */
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
	m->end_wait_ms = s->opt->end_wait_ms;
	m->moment_ms = s->opt->moment_ms;
	m->exit_scan = s->opt->hooks.exit;
	m->sequence = 1;
	clock_start(&s->clock, tsc && !m->blind ? NULL : &m->sequence);
	clock_watch(&s->clock, m);
	m->heartbeat = clock_stamp(&s->clock);
	m->ticks = cpu_counter();
}

static struct session *blank(const struct session_options *opt, struct writer *writer,
			     uint64_t *buffer_used)
{
	struct session *s = ms_xcalloc(1, sizeof *s);
	s->opt = opt;
	s->hooks = &opt->hooks;
	s->writer = writer;
	s->process.pidfd = s->process.folder = -1;
	s->end.status = -1;
	s->buffer_used = buffer_used;
	s->who = identity_new();
	pthread_mutex_init(&s->queued.lock, NULL);
	return s;
}

/* Adapts the header for an attached process. Waits of the guest are disabled: the guest image makes
 * no system calls, so a thread could only wait by spinning. */
static void fill_attached(struct session *s)
{
	if (s->opt->attached)
		s->mem->wait_ticks = 0;
	s->mem->seccomp_seen = 1;
	s->mem->end_wait_ms = 0;
	s->mem->modules_epoch = ~0u;
}

/* Opens the running process `pid`. Returns 0, or -1 with `err` set. */
static int open_process(struct session *s, pid_t pid, struct ms_err *err)
{
	s->process.pid = pid;
	s->known = s->settled = true;
	s->process.folder = process_folder(pid);
	if (s->process.folder < 0)
		return ms_err_sys(err, "cannot open '/proc/%d'", (int)pid);
	s->process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/* Sets up the session in its pool. */
static void begin(struct session *s)
{
	use_memory(s, &s->pool->shape.image, 0);
	fill_header(s);
	if (s->modules.attached)
		fill_attached(s);
	pool_seal(s->pool, s);
	s->process.signature = process_signature(s->process.folder);
}

static struct session *give_up(struct session *s)
{
	session_free(s);
	return NULL;
}

struct session *session_new(const struct session_options *opt, struct writer *writer,
			    struct output *out, pid_t pid, uint64_t *buffer_used, bool forks,
			    int memfd, struct ms_err *err)
{
	struct session *s = blank(opt, writer, buffer_used);
	s->modules.attached = memfd >= 0 ? attach_modules_new() : NULL;
	if (open_process(s, pid, err) || !(s->pool = pool_new(pid, forks, memfd, err)))
		return give_up(s);
	begin(s);
	s->mem->state = writer ? MG_ON : MG_OFF;
	s->out = out;
	return s;
}

struct session *session_attach_standby(const struct session_options *opt, struct writer *writer,
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

static void wake(struct session *s, uint32_t state, uint32_t told_paused)
{
	struct mg_session *m = s->mem;
	m->moment_ms = s->opt->moment_ms;
	m->exit_scan = s->opt->hooks.exit;
	m->moment = 0;
	m->told_paused = told_paused;
	__atomic_store_n(&m->wake, s->wake, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&m->epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_and(&m->stamps, MG_STAMPS_ALL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->state, state, __ATOMIC_SEQ_CST);
	mg_settle(m);
}

void session_wake(struct session *s)
{
	wake(s, s->pause.waiting ? MG_WAITING : MG_ON, s->pause.told);
}

void session_wake_slot(struct session *s)
{
	const struct mg_session *head = s->pool->head;
	s->mem->user_began = __atomic_load_n(&s->mem->user_paused, __ATOMIC_SEQ_CST);
	wake(s, __atomic_load_n(&head->state, __ATOMIC_SEQ_CST),
	     __atomic_load_n(&head->told_paused, __ATOMIC_SEQ_CST));
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
	s->fork.found_ns = clock_mono();
	s->tsc_hz = p->config.tsc_hz;
	use_memory(s, &p->shape.each, pool_slot_at(p, slot));
	if (p->attached)
		s->modules.attached = attach_modules_forked(
			p->head_session ? p->head_session->modules.attached : NULL);
	s->standby = p->slots[slot].old;
	if (s->standby)
		s->wake = __atomic_load_n(&s->mem->wake, __ATOMIC_RELAXED) + 1;
	return s;
}

void session_count(struct session *s, uint64_t last)
{
	struct mg_session *m = s->mem;
	__atomic_store_n(&m->sequence, last + s->tsc_hz, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&m->stamps, MG_STAMPS_ALL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->blind, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&m->epoch, 1, __ATOMIC_SEQ_CST);
}

void session_forbid_clock(struct session *s)
{
	s->mem->sequence = cpu_counter() + s->tsc_hz;
	s->mem->blind = 1;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	modules_free(&s->modules);
	stacks_free(&s->stacks);
	identity_unref(s->who);
	identity_unref(s->parent_who);
	batch_free(s->open.batch);
	samples_free(s->sampler);
	threads_free(s);
	MS_FREE(s->rings.taken.v, s->queued.samples.data, s->queued.verdicts.data,
		s->queued.resident.data, s->queued.retention.data);
	pool_unref(s->pool);
	descriptor_close(s->process.pidfd);
	descriptor_close(s->process.folder);
	output_free(s->out);
	pthread_mutex_destroy(&s->queued.lock);
	MS_FREE(s->process.exe, s->name, s->end.successor, s->exec.program, s->exec.why, s);
}
