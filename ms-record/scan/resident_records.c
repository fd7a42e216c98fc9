/* SPDX-License-Identifier: MIT
 * Writes resident memory as records for the trace, and as text for users.
 */
#include "resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/trace.h"
#include "libcommon/base/order.h"
#include "libcommon/base/units.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "ms-record/write/batch.h"
#include "scan_work.h"

#define FILES_MOST 64u /* files listed by name; the rest are summed in one record */
#define HEAD_BYTES (32u * 20u)

struct file {
	const char *name;
	uint64_t bytes;
	bool shared; /* no file of a disk */
};

static int by_name(const void *a, const void *b)
{
	const struct file *x = a, *y = b;
	return strcmp(x->name, y->name) ?: x->shared - y->shared;
}

static int most_bytes(const void *a, const void *b)
{
	const struct file *x = a, *y = b;
	return MS_ORDER(y->bytes, x->bytes) ?: strcmp(x->name, y->name);
}

/* Sums the mappings of each file into `v`, largest first. Returns the number of files. */
static size_t sum_files(const struct work *k, struct file *v)
{
	const struct resident *r = &k->resident;
	size_t n = 0, to = 0;
	struct stat own;
	uint64_t device = fstat(k->s->pool->memfd, &own) ? 0 : own.st_dev;
	for (size_t i = 0; i < r->regions.n; i++) {
		const char *name = r->regions.v[i].map.path;
		if (!*name && i) /* zeroed data (.bss) of the mapping before */
			name = r->regions.v[i - 1].map.path;
		if (r->region_bytes[i])
			v[n++] = (struct file){name, r->region_bytes[i],
					       resident_is_shared(r, &r->regions.v[i].map, device)};
	}
	qsort(v, n, sizeof *v, by_name);
	for (size_t i = 0; i < n; i++)
		if (to && !by_name(&v[to - 1], &v[i]))
			v[to - 1].bytes += v[i].bytes;
		else
			v[to++] = v[i];
	qsort(v, to, sizeof *v, most_bytes);
	return to;
}

static void put_file(struct session *s, uint64_t moment, const struct file *f)
{
	struct ms_record_writer *w = batch_record(&s->queued.resident, 80 + strlen(f->name));
	ms_record_number(w, MS_RESIDENT_MOMENT, moment);
	ms_record_string(w, MS_RESIDENT_FILE, f->name);
	ms_record_number(w, MS_RESIDENT_BYTES, f->bytes);
	if (f->shared)
		ms_record_number(w, MS_RESIDENT_NO_FILE, 1);
	ms_record_end(w);
}

static void put_files(const struct work *k, uint64_t moment)
{
	struct file *v = ms_xrealloc(NULL, k->resident.regions.n + 1, sizeof *v);
	struct file rest[2] = {{"", 0, false}, {"", 0, true}};
	size_t n = sum_files(k, v);
	for (size_t i = 0; i < n; i++)
		if (i < FILES_MOST)
			put_file(k->s, moment, &v[i]);
		else
			rest[v[i].shared].bytes += v[i].bytes;
	for (unsigned i = 0; i < 2; i++)
		if (rest[i].bytes)
			put_file(k->s, moment, &rest[i]);
	free(v);
}

static uint64_t untouched(const struct resident_site *s)
{
	uint64_t there = s->live + s->elsewhere;
	return s->bytes > there ? s->bytes - there : 0;
}

static void put_sites(struct session *s, const struct resident *r, uint64_t moment)
{
	for (size_t i = 0; i < r->site_count; i++) {
		const struct resident_site *v = &r->sites[i];
		if (!v->blocks)
			continue;
		struct ms_record_writer *w = batch_record(&s->queued.resident, 8 * 20);
		ms_record_number(w, MS_RESIDENT_MOMENT, moment);
		ms_record_number(w, MS_RESIDENT_STACK, i);
		ms_record_number(w, MS_RESIDENT_BLOCKS, v->blocks);
		ms_record_number(w, MS_RESIDENT_BYTES, v->bytes);
		ms_record_number(w, MS_RESIDENT_LIVE, v->live);
		ms_record_number(w, MS_RESIDENT_UNTOUCHED, untouched(v));
		ms_record_number(w, MS_RESIDENT_PINNED, v->pinned);
		ms_record_number(w, MS_RESIDENT_ALONE, v->alone);
		ms_record_end(w);
	}
}

static struct resident_site sum_sites(const struct resident *r, uint64_t *never)
{
	struct resident_site sum = {0};
	*never = 0;
	for (size_t i = 0; i < r->site_count; i++) {
		sum.blocks += r->sites[i].blocks;
		sum.bytes += r->sites[i].bytes;
		sum.live += r->sites[i].live;
		*never += untouched(&r->sites[i]);
	}
	return sum;
}

static void put_parts(struct ms_record_writer *w, const struct work *k)
{
	const struct resident *r = &k->resident;
	uint64_t never;
	struct resident_site sum = sum_sites(r, &never);
	const struct {
		uint32_t field;
		uint64_t value;
	} figures[] = {{MS_RESIDENT_BLOCKS, sum.blocks},
		       {MS_RESIDENT_BYTES, sum.bytes},
		       {MS_RESIDENT_LIVE, sum.live},
		       {MS_RESIDENT_UNTOUCHED, never},
		       {MS_RESIDENT_PINNED, r->pinned},
		       {MS_RESIDENT_RSS, r->rss},
		       {MS_RESIDENT_SWAP, r->swap},
		       {MS_RESIDENT_FILES, r->files},
		       {MS_RESIDENT_SHARED, r->shared},
		       {MS_RESIDENT_HUGE, r->huge},
		       {MS_RESIDENT_RECORDER, r->recorder},
		       {MS_RESIDENT_STACKS, r->stacks},
		       {MS_RESIDENT_FREE, r->free},
		       {MS_RESIDENT_OTHER, r->other},
		       {MS_RESIDENT_WIDE, k->q->live.wide},
		       /* The figures below are known only for glibc. */
		       {MS_RESIDENT_SLACK, r->slack},
		       {MS_RESIDENT_TRIM, r->trim},
		       {MS_RESIDENT_ARENAS, r->arenas},
		       {MS_RESIDENT_ARENA_FREE, r->arena_free},
		       {MS_RESIDENT_GAPS, r->gaps}};
	size_t n = sizeof figures / sizeof *figures - (r->glibc ? 0 : 5);
	for (size_t i = 0; i < n; i++)
		ms_record_number(w, figures[i].field, figures[i].value);
}

uint64_t resident_state(const struct resident *r)
{
	return r->state != MS_SCAN_DONE || r->taken ? r->state
	       : r->late                            ? MS_SCAN_TIME
						    : MS_SCAN_UNREADABLE;
}

void resident_put(struct work *w, const char *label, uint64_t time_ns, uint64_t event)
{
	struct session *s = w->s;
	const struct resident *r = &w->resident;
	bool known = resident_state(r) == MS_SCAN_DONE;
	if (w->q->moments == MS_RESIDENT_MOMENTS_MAX) /* only a mark reaches this limit: see
							 scanner_ask */
		return;
	uint64_t moment = ++w->q->moments;
	struct ms_record_writer *to = batch_record(&s->queued.resident, HEAD_BYTES + strlen(label));
	ms_record_number(to, MS_RESIDENT_MOMENT, moment);
	ms_record_string(to, MS_RESIDENT_LABEL, label);
	ms_record_number(to, MS_RESIDENT_TIME, time_ns);
	ms_record_number(to, MS_RESIDENT_EVENT, event);
	ms_record_number(to, MS_RESIDENT_STATE, resident_state(r));
	ms_record_number(to, MS_RESIDENT_PAUSE, r->pause_ns);
	if (known)
		put_parts(to, w);
	ms_record_end(to);
	if (!known)
		return;
	put_sites(s, r, moment);
	put_files(w, moment);
}

bool resident_say(const struct work *w, char *text, size_t room)
{
	const struct resident *r = &w->resident;
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], c[MS_UNIT_BUF], d[MS_UNIT_BUF];
	uint64_t never;
	struct resident_site sum = sum_sites(r, &never);
	if (resident_state(r) != MS_SCAN_DONE)
		return false;
	snprintf(text, room, "RSS %s: %s live data, %s free or slack, %s not heap",
		 ms_format_size(a, r->rss), ms_format_size(b, sum.live),
		 ms_format_size(c, r->free + r->slack),
		 ms_format_size(d, r->files + r->shared + r->recorder + r->stacks + r->other));
	return true;
}
