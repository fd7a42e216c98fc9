/* SPDX-License-Identifier: MIT
 * Prints the output of --poll: a live table on a terminal, CSV, and the diagnosis at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/stats/sparkline.h"
#include "libcommon/stats/trend.h"
#include "libcommon/base/units.h"
#include "poll.h"

/* Minimum time between two lines of the live table, in ns. */
#define TABLE_NS UINT64_C(250000000)
#define SPARK_COLUMNS 40

/* Formats a value as text, which is valid until the end of the block around the call. */
#define SIZE(bytes) ms_format_size((char[MS_UNIT_BUF]){0}, bytes)
#define COUNT(n) ms_format_count((char[MS_UNIT_BUF]){0}, n)
#define DURATION(ns) ms_format_duration((char[MS_UNIT_BUF]){0}, ns)

/* ---- while it runs ---- */

int poll_say_start(struct poll *p, struct ms_err *err)
{
	const char *csv = p->opt->csv;
	setlocale(LC_CTYPE, "");
	p->table = !p->opt->quiet && isatty(STDERR_FILENO);
	if (!csv)
		return 0;
	int fd = strcmp(csv, "-") ? ms_open_output(csv, err) : -1;
	p->csv = strcmp(csv, "-") ? fdopen(fd, "w") : stdout;
	if (!p->csv)
		return ms_err_sys(err, "cannot open '%s'", csv);
	fputs("time_s,rss_bytes,heap_bytes,vsz_bytes,pss_bytes,private_bytes,shared_bytes,"
	      "swap_bytes,minor_faults,major_faults,user_s,system_s,threads\n",
	      p->csv);
	return 0;
}

/* Writes a line of CSV; figures not read for this sample are empty. */
static void say_csv(FILE *f, const struct ms_proc_sample *s)
{
	fprintf(f, "%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64, (double)s->ns / 1e9, s->rss, s->heap,
		s->vsz);
	if (s->exact)
		fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, s->pss, s->private,
			s->shared, s->swap);
	else
		fputs(",,,,", f);
	if (s->counted)
		fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%.2f,%.2f,%" PRIu64 "\n", s->minflt, s->majflt,
			(double)s->utime / 1e9, (double)s->stime / 1e9, s->threads);
	else
		fputs(",,,,,\n", f);
}

/* Prints a line of the table: time since the start, RSS, heap, change of the heap since the
 * previous line, address space. */
static void say_row(struct poll *p, const struct ms_proc_sample *s)
{
	char delta[MS_UNIT_BUF];
	if (s->ns < p->table_ns)
		return;
	p->table_ns = s->ns + TABLE_NS;
	if (p->series.samples == 1)
		fprintf(stderr, "%10s %11s %11s %11s %11s\n", "Time", "RSS", "Heap", "Delta",
			"VSZ");
	uint64_t s100 = s->ns / 10000000;
	int64_t change = p->series.samples == 1 ? 0 : (int64_t)(s->heap - p->last.heap);
	fprintf(stderr, "%5" PRIu64 ":%02" PRIu64 ".%" PRIu64 " %11s %11s %11s %11s\n", s100 / 6000,
		s100 / 100 % 60, s100 / 10 % 10, SIZE(s->rss), SIZE(s->heap),
		ms_format_delta(delta, change), SIZE(s->vsz));
	p->last = *s;
}

void poll_say_sample(struct poll *p, const struct ms_proc_sample *s)
{
	if (p->csv)
		say_csv(p->csv, s);
	if (p->csv && s->counted) /* s->counted marks a full sample, taken ten times a second */
		fflush(p->csv);
	if (p->csv && ferror(p->csv) && !p->csv_errno)
		p->csv_errno = errno;
	p->unread |= p->csv == stdout && p->csv_errno;
	if (p->table)
		say_row(p, s);
}

int poll_say_close(struct poll *p, struct ms_err *err)
{
	if (!p->csv)
		return 0;
	bool out = p->csv == stdout;
	if ((out ? fflush(p->csv) : fclose(p->csv)) != 0 && !p->csv_errno)
		p->csv_errno = errno;
	if (!p->csv_errno)
		return 0;
	errno = p->csv_errno;
	return out ? ms_err_sys(err, "cannot write to standard output")
		   : ms_err_sys(err, "cannot write '%s'", p->opt->csv);
}

/* ---- the samples kept, and their trend ---- */

void poll_keep(struct poll_series *s, const struct ms_proc_sample *p)
{
	struct poll_point at = {p->ns, {p->heap, p->rss, p->vsz}};
	if (!s->samples++)
		s->first = s->peak = at;
	s->last = at;
	for (unsigned f = 0; f < POLL_FIGURES; f++)
		if (at.figure[f] > s->peak.figure[f])
			s->peak.figure[f] = at.figure[f];
	if (s->n && s->skip++ < s->every)
		return;
	s->skip = 0;
	if (s->n == POLL_POINTS) {
		for (size_t i = 0; i < POLL_POINTS / 2; i++)
			s->v[i] = s->v[2 * i];
		s->n = POLL_POINTS / 2;
		s->every = s->every * 2 + 1;
	}
	*MS_PUSH(s) = at;
}

struct ms_trend poll_trend(const struct poll *p, enum poll_figure f)
{
	const struct poll_series *s = &p->series;
	struct ms_trend_sample *v = ms_xrealloc(NULL, s->n + 1, sizeof *v);
	for (size_t i = 0; i < s->n; i++)
		v[i] = (struct ms_trend_sample){(double)s->v[i].ns / 1e9,
						(double)s->v[i].figure[f]};
	struct ms_trend_span *room = ms_xrealloc(NULL, s->n + 1, sizeof *room);
	bool ended = p->over && p->end == POLL_ENDED;
	struct ms_trend t =
		ms_trend_until(v, s->n, ended ? ms_trend_teardown_of(v, s->n, room) : 0);
	MS_FREE(room, v);
	return t;
}

/* ---- at the end ---- */

static void say_how(const struct poll *p, FILE *to)
{
	char name[sizeof p->taker.proc.name];
	ms_one_line(strcpy(name, p->taker.proc.name));
	fprintf(to, "ms-record: %s (pid %d) polled for %s, %s %s; ", name, p->pid_out,
		DURATION(p->duration_ns), COUNT(p->series.samples),
		p->series.samples == 1 ? "sample" : "samples");
	if (p->end == POLL_MAX_HEAP)
		fprintf(to, "its heap is over %s\n", SIZE(p->opt->max_heap));
	else if (p->end == POLL_STOPPED)
		fputs("it goes on\n", to);
	else if (p->status >= 0 && WIFEXITED(p->status))
		fprintf(to, "it exited with %d\n", WEXITSTATUS(p->status));
	else if (p->status >= 0 && WIFSIGNALED(p->status))
		fprintf(to, "it was killed by signal %d (%s)\n", WTERMSIG(p->status),
			strsignal(WTERMSIG(p->status)));
	else
		fputs("it ended\n", to);
}

static void say_figure(const struct poll *p, FILE *to, const char *label, enum poll_figure f)
{
	const struct poll_series *s = &p->series;
	char line[MS_SPARKLINE_COLUMNS * 3 + 1];
	double *v = ms_xrealloc(NULL, s->n + 1, sizeof *v);
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	for (size_t i = 0; i < s->n; i++)
		v[i] = (double)s->v[i].figure[f];
	ms_sparkline(line, v, s->n, SPARK_COLUMNS, !utf8);
	fprintf(to, "  %-5s %s  first %s, last %s, peak %s\n", label, line,
		SIZE(s->first.figure[f]), SIZE(s->last.figure[f]), SIZE(s->peak.figure[f]));
	free(v);
}

static void say_shares(const struct poll *p, FILE *to)
{
	const struct ms_proc_sample *s = &p->taker.last_one;
	if (p->taker.detailed)
		fprintf(to, "  last sample: private %s, shared %s (PSS %s), swapped out %s\n",
			SIZE(s->private), SIZE(s->shared), SIZE(s->pss), SIZE(s->swap));
	else
		fputs("  smaps cannot be read, so the heap here is all anonymous memory, with "
		      "stacks and modified pages of mapped files\n",
		      to);
}

static uint64_t rounded(double v)
{
	return v > 0 ? (uint64_t)llround(fmin(v, 9e18)) : 0;
}

static bool is_warned(const struct poll *p, const struct ms_trend *t)
{
	return t->kind == MS_TREND_GROWING && t->slope >= p->opt->warn_rate;
}

static void say_growth(FILE *to, const char *what, const struct ms_trend *t)
{
	fprintf(to, "%s: +%s/s (%s/min, 95 %% interval %s to %s/min), confidence %.2f\n", what,
		SIZE(rounded(t->slope)), SIZE(rounded(t->slope * 60)), SIZE(rounded(t->low * 60)),
		SIZE(rounded(t->high * 60)), t->confidence);
}

/* Prints why there is no warning of growth. */
static void say_no_growth(const struct poll *p, FILE *to, const struct ms_trend *t)
{
	switch (t->kind) {
	case MS_TREND_SHORT:
		fprintf(to,
			"Growth cannot be judged: at least %.0f s and %u samples are needed after "
			"the warm-up (the first tenth of the run)\n",
			MS_TREND_SECONDS, MS_TREND_SAMPLES);
		break;
	case MS_TREND_GROWING:
		fprintf(to, "No growth of %s/s or more: the heap grows by %s/s, confidence %.2f\n",
			SIZE(rounded(p->opt->warn_rate)), SIZE(rounded(t->slope)), t->confidence);
		break;
	case MS_TREND_DOUBLING:
		fprintf(to,
			"The heap " MS_TREND_DOUBLINGS
			": it rose by %s, in jumps that get larger\n",
			SIZE(rounded(t->rise)));
		break;
	case MS_TREND_STEP:
		fprintf(to, "No steady growth: the heap rose by %s in one step\n",
			SIZE(rounded(t->rise)));
		break;
	case MS_TREND_FILLING:
		fprintf(to, "No steady growth: the heap rose by %s, levelling off\n",
			SIZE(rounded(t->rise)));
		break;
	case MS_TREND_FALLING:
		fputs("No growth: the heap is shrinking\n", to);
		break;
	default:
		fputs("No growth: the heap is steady\n", to);
	}
}

bool poll_say_too_fast(const struct poll *p, FILE *to)
{
	double limit = p->opt->max_growth;
	bool grows = p->heap.kind == MS_TREND_GROWING && p->heap.slope > limit;
	if (limit < 0)
		return false;
	if (grows)
		fprintf(to,
			"ms-record: the heap grows by %s/min, faster than the %s/min of "
			"--fail-on\n",
			SIZE(rounded(p->heap.slope * 60)), SIZE(rounded(limit * 60)));
	else if (p->heap.kind == MS_TREND_SHORT && !p->opt->quiet)
		fputs("ms-record: --fail-on: the run was too short to judge growth\n", to);
	return grows;
}

void poll_say_end(struct poll *p, FILE *to)
{
	const struct poll_series *s = &p->series;
	say_how(p, to);
	if (!s->n) {
		fputs("Growth cannot be judged: no sample of the process's memory could be taken\n",
		      to);
		return;
	}
	say_figure(p, to, "heap", POLL_HEAP);
	say_figure(p, to, "RSS", POLL_RSS);
	say_figure(p, to, "VSZ", POLL_VSZ);
	say_shares(p, to);
	struct ms_trend heap = p->heap, rss = poll_trend(p, POLL_RSS),
			vsz = poll_trend(p, POLL_VSZ);
	bool warned = is_warned(p, &heap);
	if (!warned && is_warned(p, &rss))
		say_growth(to, "  RSS (not the heap) grows", &rss);
	if (!warned && vsz.rise > 1 << 20 && vsz.rise > 2 * fmax(rss.rise, 0))
		fprintf(to,
			"  VSZ rose by %s more than RSS: reserved address space, not a memory "
			"leak\n",
			SIZE(rounded(vsz.rise - fmax(rss.rise, 0))));
	if (warned)
		say_growth(to, "Warning: linear heap growth detected", &heap);
	else
		say_no_growth(p, to, &heap);
}
