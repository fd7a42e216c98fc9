/* SPDX-License-Identifier: MIT
 * libmemscope: processes, their regions, rings of samples.
 */
#include "memscope-read.h"
#include "public.h"

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc_sample.h"
#include "libcommon/stats/trend.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct memscope_process {
	struct ms_proc_sampler sampler;
	uint64_t start_ns;
	struct ms_regions regions; /* regions for the caller; the sampler has other ones */
	struct memscope_region *v;
	size_t room;
};

int memscope_read_version(void)
{
	return MEMSCOPE_READ_VERSION;
}

void ms_public_error(char *error, const struct ms_err *err)
{
	if (error)
		memcpy(error, err->text, sizeof err->text);
}

struct memscope_process *memscope_process_open(pid_t pid, char *error)
{
	struct ms_err err = {0};
	struct memscope_process *p = ms_xcalloc(1, sizeof *p);
	if (ms_proc_open(&p->sampler.proc, NULL, pid, &err) == 0) {
		p->start_ns = ms_clock_ns(CLOCK_MONOTONIC);
		return p;
	}
	ms_public_error(error, &err);
	memscope_process_close(p);
	return NULL;
}

void memscope_process_close(struct memscope_process *p)
{
	if (!p)
		return;
	ms_proc_close(&p->sampler.proc);
	ms_regions_free(&p->sampler.regions);
	ms_regions_free(&p->regions);
	MS_FREE(p->v, p);
}

pid_t memscope_process_pid(const struct memscope_process *p)
{
	return p->sampler.proc.pid;
}

const char *memscope_process_name(const struct memscope_process *p)
{
	return p->sampler.proc.name;
}

/* ---- samples ---- */

int memscope_process_sample(struct memscope_process *p, int exact, struct memscope_sample *out)
{
	struct ms_proc_sample s;
	if (!ms_proc_sample_take(&p->sampler, ms_clock_ns(CLOCK_MONOTONIC) - p->start_ns,
				 exact != 0, &s))
		return 0;
	*out = (struct memscope_sample){
		.time_ns = s.ns,
		.rss_bytes = s.rss,
		.heap_bytes = s.heap,
		.vsz_bytes = s.vsz,
		.pss_bytes = s.exact ? s.pss : MEMSCOPE_UNKNOWN,
		.private_bytes = s.exact ? s.private : MEMSCOPE_UNKNOWN,
		.shared_bytes = s.exact ? s.shared : MEMSCOPE_UNKNOWN,
		.swap_bytes = s.exact ? s.swap : MEMSCOPE_UNKNOWN,
		.minor_faults = s.counted ? s.minflt : MEMSCOPE_UNKNOWN,
		.major_faults = s.counted ? s.majflt : MEMSCOPE_UNKNOWN,
		.user_ns = s.counted ? s.utime : MEMSCOPE_UNKNOWN,
		.system_ns = s.counted ? s.stime : MEMSCOPE_UNKNOWN,
		.threads = s.counted ? s.threads : MEMSCOPE_UNKNOWN,
	};
	return 1;
}

/* Waits until the time `at`. Returns false if the process has ended. */
static bool wait_until(const struct memscope_process *p, uint64_t at)
{
	struct pollfd end = {.fd = p->sampler.proc.pidfd, .events = POLLIN};
	for (uint64_t now; (now = ms_clock_ns(CLOCK_MONOTONIC)) < at;) {
		struct timespec t = ms_timespec(at - now);
		if (ppoll(&end, 1, &t, NULL) > 0)
			return false;
	}
	return true;
}

int memscope_process_watch(struct memscope_process *p, uint64_t interval_ns,
			   int (*f)(void *arg, const struct memscope_sample *sample), void *arg,
			   char *error)
{
	struct ms_err err = {0};
	struct memscope_sample s;
	if (interval_ns < 1000000) {
		ms_err_set(&err, "the interval must be at least 1 ms");
		ms_public_error(error, &err);
		return -1;
	}
	int rc = 0;
	for (uint64_t at = ms_clock_ns(CLOCK_MONOTONIC); rc == 0; at += interval_ns) {
		if (!wait_until(p, at) || !memscope_process_sample(p, 0, &s))
			break;
		rc = f(arg, &s);
	}
	return rc;
}

/* ---- regions ---- */

_Static_assert((int)MEMSCOPE_OTHER == (int)MS_REGION_UNKNOWN, "kinds go in the same order");

static struct memscope_region region_of(const struct ms_region *r, bool figures)
{
	const struct ms_proc_memory *m = &r->memory;
	struct memscope_region out = {.start = r->map.start,
				      .end = r->map.end,
				      .file_offset = r->map.offset,
				      .kind = (enum memscope_kind)r->kind,
				      .path = r->map.path};
	memcpy(out.perms, r->map.perms, sizeof out.perms);
	const uint64_t from[] = {m->rss,          m->pss,           m->shared_clean,
				 m->shared_dirty, m->private_clean, m->private_dirty,
				 m->swap};
	uint64_t *to[] = {&out.rss_bytes,           &out.pss_bytes,
			  &out.shared_clean_bytes,  &out.shared_dirty_bytes,
			  &out.private_clean_bytes, &out.private_dirty_bytes,
			  &out.swap_bytes};
	for (size_t i = 0; i < sizeof to / sizeof *to; i++)
		*to[i] = figures ? from[i] : MEMSCOPE_UNKNOWN;
	return out;
}

const struct memscope_region *memscope_process_regions(struct memscope_process *p, int figures,
						       size_t *n, char *error)
{
	struct ms_err err = {0};
	const struct ms_proc *proc = &p->sampler.proc;
	*n = 0;
	int rc = ms_regions_read(proc, figures != 0, &p->regions);
	if (rc == 0 && !p->regions.n && !ms_proc_alive(proc)) {
		errno = ESRCH;
		rc = -1;
	}
	if (rc != 0) {
		ms_err_sys(&err, "cannot read the memory regions of process %d", (int)proc->pid);
		ms_public_error(error, &err);
		return NULL;
	}
	if (p->room <= p->regions.n)
		p->v = ms_xrealloc(p->v, p->room = p->regions.n + 64, sizeof *p->v);
	for (size_t i = 0; i < p->regions.n; i++)
		p->v[i] = region_of(&p->regions.v[i], figures != 0);
	*n = p->regions.n;
	return p->v;
}

const char *memscope_kind_name(enum memscope_kind kind)
{
	return ms_region_word((enum ms_region_kind)kind);
}

/* ---- the last samples ---- */

struct memscope_ring {
	size_t size, count, next;
	struct memscope_sample v[];
};

struct memscope_ring *memscope_ring_new(size_t n)
{
	struct memscope_ring *r = NULL;
	size_t bytes;
	n = n ? n : 1;
	if (!__builtin_mul_overflow(n, sizeof *r->v, &bytes) && bytes < SIZE_MAX - sizeof *r)
		r = calloc(1, sizeof *r + bytes);
	if (r)
		r->size = n;
	return r;
}

void memscope_ring_free(struct memscope_ring *r)
{
	free(r);
}

void memscope_ring_add(struct memscope_ring *r, const struct memscope_sample *s)
{
	r->v[r->next] = *s;
	r->next = (r->next + 1) % r->size;
	r->count += r->count < r->size;
}

size_t memscope_ring_count(const struct memscope_ring *r)
{
	return r->count;
}

const struct memscope_sample *memscope_ring_get(const struct memscope_ring *r, size_t i)
{
	return i < r->count ? &r->v[(r->next + r->size - r->count + i) % r->size] : NULL;
}

_Static_assert((int)MEMSCOPE_DOUBLING == (int)MS_TREND_DOUBLING, "trends go in the same order");

enum memscope_trend memscope_ring_trend(const struct memscope_ring *r, double *rate,
					double *confidence)
{
	struct ms_trend_sample *v = ms_xcalloc(r->count, sizeof *v);
	for (size_t i = 0; i < r->count; i++) {
		const struct memscope_sample *s = memscope_ring_get(r, i);
		v[i] = (struct ms_trend_sample){(double)s->time_ns / 1e9, (double)s->heap_bytes};
	}
	struct ms_trend t = ms_trend_of(v, r->count);
	free(v);
	if (rate)
		*rate = t.slope;
	if (confidence)
		*confidence = t.confidence;
	return (enum memscope_trend)t.kind;
}
