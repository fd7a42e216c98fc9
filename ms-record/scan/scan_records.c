/* SPDX-License-Identifier: MIT
 * Writes the findings of a leak scan as records for the trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ms-record/write/batch.h"
#include "format/trace.h"
#include "format/verdict.h"
#include "libcommon/base/order.h"
#include "ms-record/session/session_options.h"
#include "scan_work.h"
#include "ms-record/session/session.h"

uint64_t scan_events(const struct scan *q)
{
	return __atomic_load_n(&q->events, __ATOMIC_RELAXED);
}

void scan_figures(const struct scan *q, uint64_t *live_bytes, uint64_t *failed)
{
	*live_bytes = __atomic_load_n(&q->live_bytes, __ATOMIC_RELAXED);
	*failed = __atomic_load_n(&q->failed, __ATOMIC_RELAXED);
}

bool scan_holds(const struct scan *q, uint64_t *read, uint64_t *due)
{
	*read = __atomic_load_n(&q->read_bytes, __ATOMIC_RELAXED);
	*due = __atomic_load_n(&q->due_bytes, __ATOMIC_RELAXED);
	return __atomic_load_n(&q->held, __ATOMIC_RELAXED);
}

const struct scan_result *scan_result(const struct scan *q)
{
	return &q->result;
}

const char *scan_state_words(uint64_t state)
{
	static const char *const why[] = {
		[MS_SCAN_KILLED] = "the program was killed, or ended without calling exit()",
		[MS_SCAN_TIME] = "the scan would have taken longer than --leak-check allows",
		[MS_SCAN_UNREADABLE] = "some of the program's memory could not be read",
		[MS_SCAN_THREADS] = "the program's threads could not be stopped",
		[MS_SCAN_LOST] = "events were lost",
		[MS_SCAN_MEMORY] =
			"the recorder had too little memory for the pointers that it found",
		[MS_SCAN_ENDED] = "the program ended before it could be scanned",
		[MS_SCAN_FILES] = "the recorder ran out of file descriptors",
	};
	return state < sizeof why / sizeof *why ? why[state] : NULL;
}

static void put_head(struct session *s, const struct ms_verdict_scan *head)
{
	struct scan *q = s->scan;
	batch_record(&s->queued.verdicts, MS_VERDICT_RECORD_BYTES + head->label_size);
	ms_verdict_put_scan(&s->queued.verdicts, head);
	bool exit = !strcmp(head->label, "exit");
	if (exit)
		q->result.exit_state = head->state;
	if (exit || !strcmp(head->label, "end"))
		q->result.pause_ns += head->pause_ns;
	if (strcmp(head->label, "end"))
		return;
	q->result.state = head->state;
	q->result.read_bytes = head->read_bytes;
	q->result.took_ns = head->took_ns;
}

/* Tells whether the process called exit but could not wait for the scan, or not long enough. */
static bool was_late(const struct session *s)
{
	return __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE) == MG_END_LATE ||
	       __atomic_load_n(&s->mem->end_unheard, __ATOMIC_RELAXED);
}

void scan_put_none(struct session *s, const char *label, uint64_t why)
{
	pthread_mutex_lock(&s->queued.lock);
	put_head(s, &(struct ms_verdict_scan){.scan = ++s->scan->scans,
					      .label = label,
					      .label_size = strlen(label),
					      .time_ns = session_now(s),
					      .event = s->stats.events,
					      .state = why});
	pthread_mutex_unlock(&s->queued.lock);
}

void scan_finish(struct session *s)
{
	struct scan *q = s->scan;
	bool wanted = s->opt->leak_check || s->opt->resident;
	if (!wanted || s->opt->attached || s->unwatched || q->ended || !s->stats.allocations)
		return;
	bool stopped =
		s->ending == SESSION_STOPPED || __atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE);
	uint64_t why = s->opt->sample_bytes ? MS_SCAN_SAMPLED
		       : stopped            ? MS_SCAN_STOPPED
		       : was_late(s)        ? MS_SCAN_TIME
					    : MS_SCAN_KILLED;
	if (s->ending == SESSION_EXECED)
		return; /* the process has not ended: it runs another program now */
	struct work none = {.s = s, .q = q, .resident.state = why};
	if (s->opt->leak_check)
		scan_put_none(s, "end", why);
	pthread_mutex_lock(&s->queued.lock);
	if (s->opt->resident)
		resident_put(&none, "end", session_now(s), s->stats.events);
	pthread_mutex_unlock(&s->queued.lock);
}

/* Indexes block numbers by their high bits; few block numbers have the same high bits. */
struct stack_index {
	const struct number_stack *v; /* sorted by number */
	uint32_t *from;               /* index in `v` of the first number with each value of the
					 high bits */
	uint64_t first, last;
	unsigned shift;
};

static struct stack_index index_stacks(const struct number_stack *v, size_t n)
{
	struct stack_index x = {.v = v};
	x.first = n ? v[0].number : 1;
	x.last = n ? v[n - 1].number : 0;
	while (n && (x.last - x.first) >> x.shift >= n)
		x.shift++;
	size_t parts = n ? ((x.last - x.first) >> x.shift) + 1 : 0;
	x.from = ms_xrealloc(NULL, parts + 1, sizeof *x.from);
	for (size_t i = 0, part = 0; part <= parts; part++) {
		while (i < n && (v[i].number - x.first) >> x.shift < part)
			i++;
		x.from[part] = (uint32_t)i;
	}
	return x;
}

static int by_number(const void *key, const void *b)
{
	const struct number_stack *x = key, *y = b;
	return MS_ORDER(x->number, y->number);
}

/* Returns the stack of a block, by its number; 0 = not known. */
static uint32_t stack_of(const struct stack_index *x, uint64_t number)
{
	if (number < x->first || number > x->last)
		return 0;
	const uint32_t *from = &x->from[(number - x->first) >> x->shift];
	const struct number_stack key = {.number = number};
	const struct number_stack *f =
		bsearch(&key, x->v + from[0], from[1] - from[0], sizeof *x->v, by_number);
	return f ? f->stack : 0;
}

void scan_name_stacks(struct scan_live *l)
{
	struct stack_index stacks = index_stacks(l->stacks.v, l->stacks.n);
	for (uint32_t i = 0; i < l->count; i++)
		l->blocks[i].stack = stack_of(&stacks, l->blocks[i].number);
	MS_FREE(stacks.from, l->stacks.v);
	memset(&l->stacks, 0, sizeof l->stacks);
}

/* Counts indirect blocks of one stack that blocks of the stack `root` retain. */
struct lost_with {
	uint32_t stack, root;
	uint64_t blocks, bytes;
};

struct sites {
	struct ms_verdict_site *of_stack; /* indexed by the number of the stack node */
	const struct graph *graph;
	MS_ARRAY(struct lost_with) lost;
};

static void add_retained(void *arg, uint32_t direct, uint32_t block)
{
	struct sites *t = arg;
	const struct graph_block *root = &t->graph->v[direct], *b = &t->graph->v[block];
	t->of_stack[root->stack].retained_blocks++;
	t->of_stack[root->stack].retained_bytes += b->size;
	if (block == direct)
		return;
	struct lost_with *last = t->lost.n ? &t->lost.v[t->lost.n - 1] : NULL;
	if (!last || last->stack != b->stack || last->root != root->stack) {
		last = MS_PUSH(&t->lost);
		*last = (struct lost_with){b->stack, root->stack, 0, 0};
	}
	last->blocks++;
	last->bytes += b->size;
}

static int by_stacks(const void *a, const void *b)
{
	const struct lost_with *x = a, *y = b;
	return MS_ORDER(x->stack, y->stack) ?: MS_ORDER(x->root, y->root);
}

/* Sets each stack's roots from t->lost. Returns the array that holds them, to be freed. */
static struct ms_verdict_root *find_roots(struct sites *t)
{
	struct ms_verdict_root *roots = ms_xrealloc(NULL, t->lost.n + 1, sizeof *roots);
	size_t n = 0;
	if (t->lost.n)
		qsort(t->lost.v, t->lost.n, sizeof *t->lost.v, by_stacks);
	for (size_t i = 0; i < t->lost.n; i++) {
		const struct lost_with *x = &t->lost.v[i];
		struct ms_verdict_site *s = &t->of_stack[x->stack];
		if (!i || by_stacks(x, x - 1)) {
			s->roots = s->root_count ? s->roots : &roots[n];
			s->root_count++;
			roots[n++] = (struct ms_verdict_root){.stack = x->root};
		}
		roots[n - 1].blocks += x->blocks;
		roots[n - 1].bytes += x->bytes;
	}
	return roots;
}

/* Writes a record for each stack with its blocks by verdict. */
static void put_sites(struct work *w, uint64_t scan)
{
	struct scan *q = w->q;
	struct graph *g = &w->graph;
	size_t n = 1;
	for (uint32_t i = 0; i < g->count; i++)
		n = g->v[i].stack >= n ? (size_t)g->v[i].stack + 1 : n;
	struct sites t = {.of_stack = ms_xcalloc(n, sizeof *t.of_stack), .graph = g};
	for (uint32_t i = 0; i < g->count; i++) {
		struct ms_verdict_site *s = &t.of_stack[g->v[i].stack];
		s->stack = g->v[i].stack;
		s->scan = scan;
		s->blocks[g->v[i].verdict]++;
		s->bytes[g->v[i].verdict] += g->v[i].size;
	}
	graph_retained(g, add_retained, &t);
	struct ms_verdict_root *roots = find_roots(&t);
	for (size_t i = 0; i < n; i++) {
		const struct ms_verdict_site *s = &t.of_stack[i];
		if (!s->scan)
			continue;
		batch_record(&w->s->queued.verdicts,
			     MS_VERDICT_RECORD_BYTES + s->root_count * MS_VERDICT_ROOT_BYTES_MAX);
		ms_verdict_put_site(&w->s->queued.verdicts, s);
		for (int v = MS_VERDICT_IS_DIRECT; v <= MS_VERDICT_IS_INDIRECT; v++) {
			q->result.unreachable_blocks += s->blocks[v];
			q->result.unreachable_bytes += s->bytes[v];
		}
	}
	MS_FREE(roots, t.lost.v, t.of_stack);
}

void scan_put_result(struct work *w)
{
	struct scan *q = w->q;
	const char *const labels[] = {[SCAN_BY_END] = "end",
				      [SCAN_BY_TELL] = "request",
				      [SCAN_BY_MARK] = q->label,
				      [SCAN_BY_TELL_RESIDENT] = w->scanner->label,
				      [SCAN_BY_RESIDENT] = q->label};
	const char *label = labels[w->request.asker];
	struct ms_verdict_scan head = {.label = label,
				       .label_size = strlen(label),
				       .time_ns = w->answered ? q->live.time_ns : session_now(w->s),
				       .event = w->answered ? q->live.event : scan_events(q),
				       .state = w->state,
				       .pause_ns = scan_pause(w),
				       .read_bytes = w->memory.bytes,
				       .wide = q->live.wide,
				       .align = w->align,
				       .cleared = w->cleared,
				       .ignored = w->ignored,
				       .roots = w->root_count,
				       .roots_refused = w->roots ? w->roots->refused : 0,
				       .number = w->answered ? q->live.number : 0};
	resident_solve(w);
	pthread_mutex_lock(&w->s->queued.lock);
	q->ended |= w->request.asker == SCAN_BY_END;
	if (w->unjudged && w->request.asker == SCAN_BY_END)
		q->result.pause_ns = head.pause_ns;
	if (!w->unjudged) {
		q->result.unreachable_blocks = q->result.unreachable_bytes = 0;
		head.scan = ++q->scans;
		head.took_ns = clock_mono() - w->start_ns;
		w->number = head.scan;
		put_head(w->s, &head);
	}
	if (w->graphed)
		put_sites(w, head.scan);
	if (w->resident.wanted)
		resident_put(w, label, head.time_ns, head.event);
	pthread_mutex_unlock(&w->s->queued.lock);
}
