/* SPDX-License-Identifier: MIT
 * Samples of /proc.
 */
#include "samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/arena.h"
#include "session.h"

#define ROLLUP_NS UINT64_C(1000000000)
#define POINTS_MAX 65536u

struct sampler {
	int statm, stat, rollup; /* descriptors kept open: a read costs a few microseconds */
	uint64_t rollup_next;
	uint64_t page, tick_ns;
};

struct figures {
	uint64_t vsz, rss, pss, private, swap, heap, minflt, majflt, utime, stime, threads;
	bool statm, stat, rollup;
};

static struct sampler *make(const struct session *s)
{
	struct sampler *p = ms_xrealloc(NULL, 1, sizeof *p);
	*p = (struct sampler){.statm = openat(s->proc, "statm", O_RDONLY | O_CLOEXEC),
			      .stat = openat(s->proc, "stat", O_RDONLY | O_CLOEXEC),
			      .rollup = openat(s->proc, "smaps_rollup", O_RDONLY | O_CLOEXEC),
			      .page = (uint64_t)sysconf(_SC_PAGESIZE),
			      .tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)};
	if (s->forked) /* as costly as its parent is large, and often for a short life */
		p->rollup_next = clock_mono() + ROLLUP_NS;
	return p;
}

void samples_free(struct sampler *p)
{
	if (!p)
		return;
	int fds[] = {p->statm, p->stat, p->rollup};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(p);
}

static bool read_text(int fd, char *text, size_t room)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static void read_statm(const struct sampler *p, struct figures *f)
{
	char text[256];
	unsigned long long size, resident;
	if (!read_text(p->statm, text, sizeof text) ||
	    sscanf(text, "%llu %llu", &size, &resident) != 2 || !resident)
		return;
	f->statm = true;
	f->vsz = size * p->page;
	f->rss = resident * p->page;
}

static void read_stat(const struct sampler *p, struct figures *f)
{
	char text[1024];
	unsigned long long minflt, majflt, utime, stime, threads;
	if (!read_text(p->stat, text, sizeof text))
		return;
	const char *at = strrchr(text, ')');
	if (!at ||
	    sscanf(at + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d %*d %llu",
		   &minflt, &majflt, &utime, &stime, &threads) != 5)
		return;
	f->stat = true;
	f->minflt = minflt;
	f->majflt = majflt;
	f->utime = utime * p->tick_ns;
	f->stime = stime * p->tick_ns;
	f->threads = threads;
}

/* Value of a "Name:   123 kB" line in bytes, 0 when absent. */
static uint64_t line_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void read_rollup(struct sampler *p, struct figures *f)
{
	char text[4096];
	uint64_t start = clock_mono();
	if (start < p->rollup_next)
		return;
	bool ok = read_text(p->rollup, text, sizeof text);
	uint64_t took = clock_mono() - start;
	p->rollup_next = start + (took * 100 > ROLLUP_NS ? took * 100 : ROLLUP_NS);
	if (!ok)
		return;
	f->rollup = true;
	f->pss = line_of(text, "\nPss:");
	f->private = line_of(text, "\nPrivate_Clean:") + line_of(text, "\nPrivate_Dirty:");
	f->swap = line_of(text, "\nSwap:");
	f->heap = line_of(text, "\nAnonymous:");
}

static void write_sample(struct session *s, uint64_t ns, const struct figures *f)
{
	pthread_mutex_lock(&s->lock);
	struct ms_record_writer *w = batch_record(&s->samples, 13 * 16);
	ms_record_number(w, MS_SAMPLE_TIME, ns);
	if (f->statm) {
		ms_record_number(w, MS_SAMPLE_RSS, f->rss);
		ms_record_number(w, MS_SAMPLE_VSZ, f->vsz);
	}
	if (f->rollup) {
		ms_record_number(w, MS_SAMPLE_PSS, f->pss);
		ms_record_number(w, MS_SAMPLE_PRIVATE, f->private);
		ms_record_number(w, MS_SAMPLE_SWAP, f->swap);
		ms_record_number(w, MS_SAMPLE_HEAP, f->heap);
	}
	if (f->stat) {
		ms_record_number(w, MS_SAMPLE_MINFLT, f->minflt);
		ms_record_number(w, MS_SAMPLE_MAJFLT, f->majflt);
		ms_record_number(w, MS_SAMPLE_UTIME, f->utime);
		ms_record_number(w, MS_SAMPLE_STIME, f->stime);
		ms_record_number(w, MS_SAMPLE_THREADS, f->threads);
	}
	ms_record_end(w);
	pthread_mutex_unlock(&s->lock);
}

/* RSS over time for the summary: every second point goes when there are too many. */
static void keep_point(struct session *s, uint64_t ns, uint64_t rss)
{
	if (s->point_skip++ < s->point_every)
		return;
	s->point_skip = 0;
	if (s->points.n == POINTS_MAX) {
		for (size_t i = 0; i < POINTS_MAX / 2; i++)
			s->points.v[i] = s->points.v[2 * i];
		s->points.n = POINTS_MAX / 2;
		s->point_every = s->point_every * 2 + 1;
	}
	*MS_PUSH(&s->points) = (struct sample_point){ns, rss};
}

void samples_take(struct session *s, bool last)
{
	struct figures f = {0};
	if (!s->sampler)
		s->sampler = make(s);
	if (last)
		s->sampler->rollup_next = 0;
	uint64_t ns = session_now(s);
	read_statm(s->sampler, &f);
	read_stat(s->sampler, &f);
	if (f.statm)
		read_rollup(s->sampler, &f);
	if (!f.statm && !(last && f.stat))
		return; /* a zombie: its memory is gone, its times are final */
	write_sample(s, ns, &f);
	if (f.statm)
		keep_point(s, ns, f.rss);
}

uint64_t samples_rss_at(const struct session *s, uint64_t ns)
{
	uint64_t best = 0, distance = UINT64_MAX;
	for (size_t i = 0; i < s->points.n; i++) {
		uint64_t at = s->points.v[i].ns, d = at > ns ? at - ns : ns - at;
		if (d < distance) {
			distance = d;
			best = s->points.v[i].rss;
		}
	}
	return best;
}
