/* SPDX-License-Identifier: MIT
 * Replays the events of one site only, and writes what its blocks tell: its cohorts, and what sets
 * those that were live at the end apart from the freed ones.
 */
#include "libcommon/replay/replay_calls.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/base/progress.h"

#include <stdlib.h>
#include <string.h>

/* ---- the second replay ---- */

struct one_site {
	uint32_t node;
	size_t node_count;
	struct ms_calls calls;
};

/* Makes events of other sites such as change nothing. */
static void keep_site(void *arg, struct ms_event *ev, size_t n)
{
	struct one_site *s = arg;
	for (size_t i = 0; i < n; i++, ev++) {
		uint32_t node = ev->stack < s->node_count ? ev->stack : 0;
		if (ms_event_allocates(ev->kind) && node != s->node)
			ev->kind = ev->kind == MS_EV_REALLOC ? MS_EV_FREE : MS_EV_FREE_UNKNOWN;
		ms_calls_event(&s->calls, ev);
	}
}

/* Tells whether the recording can be read again, as far and from where it was read. */
static bool can_read_again(const struct ms_fill *w)
{
	return !w->p->counted_from && !w->t->parts && !w->t->skipped && w->p->to_ns == MS_NEVER &&
	       strcmp(w->t->path, "-") != 0;
}

static struct ms_recording *read_again(const struct ms_fill *w, struct one_site *s)
{
	struct ms_err ignored = {0};
	uint64_t next;
	int rc = 1;
	struct ms_recording *t = ms_recording_open(w->t->path, &ignored);
	if (!t)
		return NULL;
	t->on_events = keep_site;
	t->on_events_arg = s;
	/* a trace may have grown */
	ms_recording_stop_at(t, ms_recording_reached(w->t), MS_NEVER, w->r->position);
	while (rc > 0)
		rc = ms_recording_run(t, UINT64_MAX, &next, &ignored);
	if (rc == 0)
		return t;
	ms_recording_close(t);
	return NULL;
}

/* ---- facts ---- */

static const char *thread_name(const struct ms_recording *t, size_t index)
{
	size_t of = ms_thread_of(t, index);
	return of < t->threads.n ? t->threads.v[of].text[MS_THREAD_NAME - 2] : NULL;
}

struct by_text {
	const struct ms_recording *t;
	const char *(*text)(const struct ms_recording *t, size_t index);
};

static int by_text(const void *a, const void *b, void *arg)
{
	const struct by_text *by = arg;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const char *x = by->text(by->t, i), *y = by->text(by->t, k);
	return strcmp(x ? x : "", y ? y : "") ?: MS_ORDER(i, k);
}

/* Numbers indices of threads: those with the same text have that of the first of them, plus 1; those
 * without have 0. */
static uint32_t *number_texts(struct by_text by, size_t n)
{
	size_t *v = ms_xrealloc(NULL, n, sizeof *v);
	uint32_t *number = ms_xcalloc(n, sizeof *number);
	const char *last = NULL;
	for (size_t i = 0; i < n; i++)
		v[i] = i;
	qsort_r(v, n, sizeof *v, by_text, &by);
	for (size_t i = 0; i < n; i++) {
		const char *text = by.text(by.t, v[i]);
		bool same = text && last && strcmp(text, last) == 0;
		number[v[i]] = !text ? 0 : same ? number[v[i - 1]] : (uint32_t)v[i] + 1;
		last = text;
	}
	free(v);
	return number;
}

/* Returns the name of the thread, or the label, that a fact is about. */
static const char *name_of(const struct ms_recording *t, const struct ms_call_fact *f)
{
	return f->kind == MS_CALL_LABEL    ? ms_label_of(t, (size_t)f->low - 1)
	       : f->kind == MS_CALL_THREAD ? thread_name(t, (size_t)f->low - 1)
					   : NULL;
}

static void put_fact(const struct ms_fill *w, struct ms_insert *in, size_t number,
		     const struct ms_call_fact *f)
{
	static const char *const kinds[] = {
		[MS_CALL_THREAD] = "thread", [MS_CALL_LABEL] = "label", [MS_CALL_SIZE] = "size",
		[MS_CALL_EVERY] = "every",   [MS_CALL_RANGE] = "calls", [MS_CALL_ALL] = "all",
		[MS_CALL_AGE] = "age"};
	uint64_t unit = f->kind == MS_CALL_AGE ? w->tick_ns : 1;
	bool low = f->kind >= MS_CALL_SIZE && f->kind != MS_CALL_ALL,
	     high = low && f->kind != MS_CALL_AGE;
	ms_put_row(in, ms_int("site", (uint64_t)w->f->site), ms_int("fact", number),
		   ms_text("kind", kinds[f->kind]), ms_text("name", name_of(w->t, f)),
		   ms_int_if("low", low, f->low * unit), ms_int_if("high", high, f->high),
		   ms_int("unfreed_blocks", f->live), ms_int("of_unfreed_blocks", f->of_live),
		   ms_int("freed_blocks", f->freed), ms_int("of_freed_blocks", f->of_freed));
}

static int fill_facts(const struct ms_fill *w, const struct ms_calls *calls)
{
	struct ms_insert in = ms_rows(w, "site_unfreed");
	size_t n = w->r->thread_count > w->t->threads.n ? w->r->thread_count : w->t->threads.n;
	uint32_t *thread = number_texts((struct by_text){w->t, thread_name}, n),
		 *label = number_texts((struct by_text){w->t, ms_label_of}, n);
	struct ms_call_names names = {thread, label, n};
	struct ms_call_fact facts[MS_CALL_FACTS];
	size_t count = ms_calls_facts(calls, &names, w->r->sampled != NULL, facts);
	for (size_t i = 0; i < count; i++)
		put_fact(w, &in, i + 1, &facts[i]);
	MS_FREE(thread, label);
	return ms_insert_close(&in);
}

int ms_fill_site(struct ms_fill *w)
{
	size_t i = 0;
	while (i < w->r->site_count && w->row_of_site[i] != w->f->site)
		i++;
	if (!w->f->site || i == w->r->site_count || !can_read_again(w))
		return 0;
	struct one_site s = {.node = w->r->sites[i].node, .node_count = w->r->node_count};
	ms_calls_init(&s.calls);
	ms_progress("replaying the site", NULL, 0, 0, NULL);
	struct ms_recording *t = read_again(w, &s);
	struct ms_insert in = ms_rows(w, "cohort");
	int rc = 0;
	if (t) {
		struct ms_fill one = *w;
		one.t = t;
		one.r = &t->replay;
		ms_put_cohorts(&one, &in, w->f->site);
		rc = fill_facts(w, &s.calls);
	}
	ms_recording_close(t);
	ms_calls_free(&s.calls);
	return ms_insert_close(&in) || rc ? -1 : 0;
}
