/* SPDX-License-Identifier: MIT
 * Samples of /proc.
 */
#include "samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/proc/proc_sample.h"
#include "ms-record/base/descriptor.h"
#include "session.h"
#include "session_options.h"

#define ROLLUP_NS UINT64_C(1000000000)
#define ROLLUP_RSS (UINT64_C(16) << 20)
#define POINTS_MAX 65536u

struct sample_point {
	uint64_t ns, rss;
};

struct sampler {
	struct ms_proc proc;
	uint64_t rollup_ns, rollup_took; /* start and duration of the last read of smaps_rollup */
	uint64_t rollup_rss; /* RSS at the last read of smaps_rollup; UINT64_MAX = not read because
				RSS rises */
	uint64_t seen;       /* sum of the values of the previous sample */
	/* RSS over time for the summary: one of `every` + 1 samples is kept. */
	MS_ARRAY(struct sample_point) points;
	unsigned every, skip;
};

static struct sampler *make(const struct session *s)
{
	struct sampler *p = ms_xcalloc(1, sizeof *p);
	ms_proc_open_at(&p->proc, s->process.folder);
	if (s->forked) /* reading smaps_rollup is costly, and many children end soon */
		p->rollup_ns = clock_mono(), p->rollup_rss = UINT64_MAX;
	return p;
}

/* Reads the memory size through another thread: after the main thread has ended, only the remaining
 * threads show it. */
static void read_by_thread(const struct session *s, struct sampler *p, struct ms_proc_statm *m)
{
	char path[48];
	size_t n = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)s->process.pid);
	pid_t *tids = ms_proc_list(path, &n, NULL);
	for (size_t i = 0; i < n && !m->vsz; i++) {
		snprintf(path, sizeof path, "task/%d/statm", (int)tids[i]);
		descriptor_close(p->proc.statm);
		p->proc.statm = openat(s->process.folder, path, O_RDONLY | O_CLOEXEC);
		snprintf(path, sizeof path, "task/%d/smaps_rollup", (int)tids[i]);
		descriptor_close(p->proc.rollup);
		p->proc.rollup = openat(s->process.folder, path, O_RDONLY | O_CLOEXEC);
		if (!ms_proc_read_statm(&p->proc, m))
			*m = (struct ms_proc_statm){0};
	}
	free(tids);
}

void samples_free(struct sampler *p)
{
	if (!p)
		return;
	ms_proc_close(&p->proc);
	MS_FREE(p->points.v, p);
}

/* Tells whether to read smaps_rollup, for which the kernel walks all mappings. A rise of RSS by
 * half makes it due at once: the peak of a process that ends soon would be unknown otherwise. This
 * happens rarely. */
static bool rollup_due(const struct sampler *p, uint64_t now, uint64_t rss, bool often)
{
	uint64_t rest = p->rollup_took * (often ? 100 : 1000), least = ROLLUP_NS * (often ? 1 : 10);
	return !p->rollup_ns || now >= p->rollup_ns + (rest > least ? rest : least) ||
	       (rss >= ROLLUP_RSS && rss / 3 * 2 >= p->rollup_rss);
}

static void read_rollup(struct sampler *p, struct ms_proc_sample *f, bool often, bool must)
{
	struct ms_proc_memory m;
	uint64_t start = clock_mono();
	if (!must && !rollup_due(p, start, f->rss, often))
		return;
	bool ok = ms_proc_read_rollup(&p->proc, &m);
	p->rollup_ns = start;
	p->rollup_rss = f->rss;
	p->rollup_took = clock_mono() - start;
	if (!ok)
		return;
	f->exact = true;
	f->rss = m.rss; /* taken together with PSS and the other parts, as the process may grow */
	f->pss = m.pss;
	f->private = m.private_clean + m.private_dirty;
	f->swap = m.swap;
	f->heap = m.anonymous;
}

void samples_put(struct ms_record_writer *to, const struct ms_proc_sample *f, bool heap)
{
	struct ms_record_writer *w = batch_record(to, 13 * 16);
	ms_record_number(w, MS_SAMPLE_TIME, f->ns);
	if (f->vsz) {
		ms_record_number(w, MS_SAMPLE_RSS, f->rss);
		ms_record_number(w, MS_SAMPLE_VSZ, f->vsz);
	}
	if (heap)
		ms_record_number(w, MS_SAMPLE_HEAP, f->heap);
	if (f->exact) {
		ms_record_number(w, MS_SAMPLE_PSS, f->pss);
		ms_record_number(w, MS_SAMPLE_PRIVATE, f->private);
		ms_record_number(w, MS_SAMPLE_SWAP, f->swap);
	}
	if (f->counted) {
		ms_record_number(w, MS_SAMPLE_MINFLT, f->minflt);
		ms_record_number(w, MS_SAMPLE_MAJFLT, f->majflt);
		ms_record_number(w, MS_SAMPLE_UTIME, f->utime);
		ms_record_number(w, MS_SAMPLE_STIME, f->stime);
		ms_record_number(w, MS_SAMPLE_THREADS, f->threads);
	}
	ms_record_end(w);
}

/* Queues a sample for the next batch. Two threads take samples: a sample that is queued late gets a
 * time after that of the sample queued before it. */
static void put(struct session *s, struct ms_proc_sample *f, bool heap)
{
	pthread_mutex_lock(&s->queued.lock);
	if (f->ns <= s->queued.sample_ns)
		f->ns = s->queued.sample_ns + 1;
	s->queued.sample_ns = f->ns;
	samples_put(&s->queued.samples, f, heap);
	ms_proc_peak_note(&s->queued.peak_rss, f, session_mid_run(s));
	pthread_mutex_unlock(&s->queued.lock);
}

/* Keeps one sample, then skips p->every; drops every second point when there are too many. */
static void keep_point(struct sampler *p, uint64_t ns, uint64_t rss)
{
	if (p->skip++ < p->every)
		return;
	p->skip = 0;
	if (p->points.n == POINTS_MAX) {
		for (size_t i = 0; i < POINTS_MAX / 2; i++)
			p->points.v[i] = p->points.v[2 * i];
		p->points.n = POINTS_MAX / 2;
		p->every = p->every * 2 + 1;
	}
	*MS_PUSH(&p->points) = (struct sample_point){ns, rss};
}

/* Tells whether the process has run or its memory has changed since the previous sample. */
static bool has_moved(struct sampler *p, const struct ms_proc_sample *f)
{
	uint64_t sum = f->utime + f->stime + f->minflt + f->majflt + f->threads + f->rss + f->vsz;
	bool moved = sum != p->seen;
	p->seen = sum;
	return moved;
}

bool samples_take(struct session *s, bool last)
{
	struct ms_proc_sample f = {.ns = session_now(s)};
	struct ms_proc_statm m = {0};
	struct ms_proc_stat stat = {0};
	if (!s->sampler)
		s->sampler = make(s);
	if (!ms_proc_read_statm(&s->sampler->proc, &m))
		m = (struct ms_proc_statm){0};
	ms_proc_sample_counts(&s->sampler->proc, &f, &stat);
	if (!m.vsz && stat.state == 'Z' && f.threads > 1)
		read_by_thread(s, s->sampler, &m);
	f.vsz = m.vsz;
	f.rss = m.rss;
	s->process.signature_seen = process_signature_of(&stat);
	if (s->process.signature_seen && s->process.signature &&
	    s->process.signature_seen != s->process.signature)
		return false; /* the process has executed another program, whose values these
				 already are */
	bool moved = has_moved(s->sampler, &f);
	if (f.vsz)
		read_rollup(s->sampler, &f, moved && !s->opt->sample_bytes, last);
	if (!f.vsz && !(last && f.counted))
		return moved; /* a zombie: its memory is freed, its CPU times are final */
	put(s, &f, f.exact);
	if (f.vsz)
		keep_point(s->sampler, f.ns, f.rss);
	return moved;
}

void samples_held(struct session *s)
{
	struct ms_proc_sample f = {0};
	struct ms_proc_statm m = {0};
	struct ms_proc proc;
	ms_proc_open_memory_at(&proc, s->process.folder);
	bool known = ms_proc_read_statm(&proc, &m) && m.vsz;
	f.peak_rss = ms_proc_peak_rss(&proc);
	ms_proc_close(&proc);
	f.vsz = m.vsz;
	f.rss = m.rss;
	f.ns = session_now(s);
	if (known)
		put(s, &f, false);
}

uint64_t samples_rss(const struct session *s)
{
	struct ms_proc_statm m;
	return s->sampler && ms_proc_read_statm(&s->sampler->proc, &m) ? m.rss : 0;
}

uint64_t samples_rss_at(const struct session *s, uint64_t ns, uint64_t *at_ns)
{
	uint64_t best = 0, distance = UINT64_MAX;
	const struct sampler *p = s->sampler;
	for (size_t i = 0; p && i < p->points.n; i++) {
		uint64_t at = p->points.v[i].ns, d = at > ns ? at - ns : ns - at;
		if (d < distance) {
			distance = d;
			best = p->points.v[i].rss;
			*at_ns = at;
		}
	}
	return best;
}
