/* SPDX-License-Identifier: MIT
 * The processes of a run.
 */
#include "run.h"

#include "libcommon/base/dest.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/trace/recording.h"
#include "format/trace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libcommon/model/model.h"

/* ---- one trace ---- */

/* Opens a trace for its totals: without its events, unless it has no end block and must be
 * replayed. Returns NULL if it is not a trace. */
static struct ms_recording *open_trace(const char *path, bool *replayed)
{
	struct ms_err ignored = {0};
	uint64_t next;
	struct ms_recording *t = ms_recording_open_parts(path, &ignored);
	*replayed = false;
	if (t && t->has_end)
		return t;
	ms_recording_close(t);
	t = ms_recording_open(path, &ignored);
	*replayed = t && ms_recording_run(t, MS_NEVER, &next, &ignored) >= 0;
	return t;
}

static uint64_t end_figure(const struct ms_recording *t, unsigned field)
{
	return t->has_end && ms_has(&t->end, field) ? t->end.number[field] : UNKNOWN;
}

static uint64_t unreachable(const struct ms_recording *t)
{
	const struct ms_verdict_scan *end = ms_recording_end_scan(t);
	uint64_t bytes = 0;
	if (!end || end->state != MS_SCAN_DONE)
		return UNKNOWN;
	for (size_t i = 0; i < t->verdicts.n; i++) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		if (!v->is_scan && v->site.scan == end->scan)
			bytes += v->site.bytes[MS_VERDICT_IS_DIRECT] +
				 v->site.bytes[MS_VERDICT_IS_INDIRECT];
	}
	return bytes;
}

static struct run_process process_of(struct run *r, const struct ms_recording *t, const char *path,
				     bool replayed)
{
	const struct ms_fields *i = &t->info;
	const char *exe = i->text[MS_INFO_EXE], *next = t->end.text[MS_END_SUCCESSOR];
	struct run_process p = {
		.path = path,
		.exe = exe ? ms_arena_strdup(&r->arena, exe) : NULL,
		.pid = ms_has(i, MS_INFO_PID) ? i->number[MS_INFO_PID] : UNKNOWN,
		.peak_bytes = end_figure(t, MS_END_PEAK_BYTES),
		.unfreed_bytes = end_figure(t, MS_END_UNFREED_BYTES),
		.events_lost = end_figure(t, MS_END_LOST),
		.unreachable_bytes = unreachable(t),
		.image = i->number[MS_INFO_IMAGE],
		.sampled = i->number[MS_INFO_SAMPLE_BYTES] != 0,
		.goes_on = t->has_end && next && *next,
	};
	if (replayed) {
		p.peak_bytes = t->replay.peak_bytes;
		p.unfreed_bytes = t->replay.live_bytes;
	}
	return p;
}

/* ---- all of them ---- */

static bool same_run(const struct ms_recording *a, const struct ms_recording *b)
{
	const char *x = a->info.text[MS_INFO_SESSION], *y = b->info.text[MS_INFO_SESSION];
	uint64_t n = a->info.number[MS_INFO_SESSION];
	return x && y && n == b->info.number[MS_INFO_SESSION] && memcmp(x, y, n) == 0;
}

/* Tells whether folder FILE.d belongs to the owner of FILE, to root or to us. In a shared directory
 * anybody can create such a folder. */
static bool is_its(const char *folder, const struct stat *file)
{
	struct stat st;
	return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_uid == file->st_uid || st.st_uid == 0 || ms_dest_ours(&st));
}

static int is_trace_name(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 6 && strcmp(e->d_name + n - 6, ".trace") == 0;
}

static void add(struct run *r, const struct ms_recording *first, const char *path)
{
	bool replayed;
	struct stat st;
	struct ms_recording *t =
		stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open_trace(path, &replayed) : NULL;
	if (t && same_run(t, first))
		*MS_PUSH(&r->processes) = process_of(r, t, path, replayed);
	ms_recording_close(t);
}

MS_COMPARE(by_image, struct run_process, MS_ORDER(x->image, y->image))

MS_COMPARE(by_peak, struct run_process,
	   MS_ORDER(figure_or_0(y->peak_bytes), figure_or_0(x->peak_bytes))
		   ?: MS_ORDER(x->image, y->image))

/* Returns the program image from which `p` came by exec, or NULL. */
static struct run_process *image_before(struct run_process *v, size_t n,
					const struct run_process *p)
{
	while (n--)
		if (v[n].pid == p->pid && v[n].goes_on)
			return &v[n];
	return NULL;
}

/* Joins the program images of each process into one entry, in order of image number. */
static void join_images(struct run *r)
{
	struct run_process *v = r->processes.v;
	size_t n = 0;
	qsort(v, r->processes.n, sizeof *v, by_image);
	for (size_t i = 0; i < r->processes.n; i++) {
		struct run_process p = v[i], *of = image_before(v, n, &p);
		if (!of) {
			v[n++] = p;
			continue;
		}
		if (figure_or_0(p.peak_bytes) >= figure_or_0(of->peak_bytes)) {
			of->peak_bytes = p.peak_bytes;
			of->exe = p.exe;
		}
		of->unfreed_bytes = p.unfreed_bytes;
		of->unreachable_bytes = p.unreachable_bytes;
		of->events_lost = figure_add(of->events_lost, p.events_lost);
		of->goes_on = p.goes_on;
		of->sampled |= p.sampled;
	}
	r->processes.n = n;
}

void run_find(struct run *r, const char *file)
{
	*r = (struct run){.file = file};
	const char *folder = ms_arena_printf(&r->arena, "%s.d", file);
	struct stat st;
	struct ms_recording *t = NULL;
	struct dirent **names = NULL;
	bool replayed = false;
	int n = 0;
	if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && is_its(folder, &st))
		t = open_trace(file, &replayed);
	if (t)
		n = scandir(folder, &names, is_trace_name, alphasort);
	for (int i = 0; i < n; i++) {
		add(r, t, ms_arena_printf(&r->arena, "%s/%s", folder, names[i]->d_name));
		free(names[i]);
	}
	if (n > 0)
		free(names);
	if (t && r->processes.n) {
		struct run_process *p = MS_PUSH(&r->processes);
		*p = process_of(r, t, file, replayed);
		p->first = true;
		r->missed = figure_or_0(end_figure(t, MS_END_IMAGES_MISSED));
		join_images(r);
		qsort(r->processes.v, r->processes.n, sizeof *r->processes.v, by_peak);
	}
	ms_recording_close(t);
}

/* ---- one of them ---- */

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static bool is_called(const struct run_process *p, const char *which)
{
	char pid[24];
	snprintf(pid, sizeof pid, "%llu", (unsigned long long)p->pid);
	return strcmp(which, pid) == 0 || strcmp(which, base_of(p->path)) == 0 ||
	       (p->exe && strcmp(which, base_of(p->exe)) == 0);
}

int run_choose(struct run *r, const char *which, struct ms_err *err)
{
	const char *all = "";
	r->shown = 0;
	for (size_t i = 0; which && i < r->processes.n; i++) {
		const struct run_process *p = &r->processes.v[i];
		r->shown = i;
		if (is_called(p, which))
			return 0;
		if (i < 6)
			all = ms_arena_printf(&r->arena, "%s%s%s (%llu)", all, *all ? ", " : "",
					      p->exe ? base_of(p->exe) : "?",
					      (unsigned long long)p->pid);
	}
	if (!which)
		return 0;
	return ms_err_set(err, "no process '%s' in the run of '%s': it has %s%s", which, r->file,
			  all, r->processes.n > 6 ? " and more" : "");
}

void run_free(struct run *r)
{
	free(r->processes.v);
	ms_arena_free(&r->arena);
}
