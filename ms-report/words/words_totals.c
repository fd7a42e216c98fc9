/* SPDX-License-Identifier: MIT
 * Sentences about the figures of the whole run: their scope and their parts.
 */
#include "words.h"

#include "names.h"
#include "table.h"

#include "libcommon/model/facts.h"

#include <string.h>

#define SOON_PART 5 /* least part of allocations freed soon but not temporary: 1/SOON_PART */
#define MANY 1000   /* minimum allocations; in shorter runs nearly all are freed soon */
#define ELSEWHERE (UINT64_C(16) << 20) /* bytes: smallest RSS worth explaining */
#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* Names a program image by its number among the images of its process, or a process without exec by
 * its pid. */
const char *words_image(struct model *m, uint32_t image)
{
	if (image == NONE)
		return NULL;
	const struct process *p = &m->processes.v[image];
	size_t number = 1, all = 1;
	for (uint32_t at = image, i = image; i-- > 0;)
		if (m->processes.v[i].became == at) {
			at = i;
			number++;
			all++;
		}
	for (const struct process *q = p; q->became != NONE; all++)
		q = &m->processes.v[q->became];
	const char *name = p->exe ? name_clean(&m->arena, base_name(p->exe), false) : "unknown";
	if (all > 1)
		return SAY(", in %s, program %zu of %zu (exec)", name, number, all);
	return SAY(", of %s (pid %llu)", name, (unsigned long long)p->pid);
}

const char *words_exec(struct model *m)
{
	if (!m->images)
		return NULL;
	return SAY("%s, discarded when exec replaced %s",
		   say_live(m, (struct live){m->totals.exec_bytes, m->totals.exec_blocks}),
		   say_things(m, m->images, "program"));
}

const char *words_unscanned(const struct model *m)
{
	static const char *const reasons[UNSCANNED_COUNT] = {
		[UNSCANNED_KILLED] = "the program was killed, or ended without calling exit()",
		[UNSCANNED_TIME] =
			"the scan would have taken longer than ms-record --leak-check allows",
		[UNSCANNED_UNREADABLE] = "some of the program's memory could not be read",
		[UNSCANNED_THREADS] = "the program's threads could not be stopped",
		[UNSCANNED_LOST] = "events were lost",
		[UNSCANNED_SAMPLED] = "only a sample of the blocks was recorded",
		[UNSCANNED_MEMORY] =
			"the recorder had too little memory for the pointers that it found",
		[UNSCANNED_STOPPED] = "recording was stopped before the program ended",
		[UNSCANNED_FILES] = "the recorder ran out of file descriptors",
	};
	return reasons[m->unscanned];
}

const char *words_verdict(struct model *m)
{
	const char *late = m->late.blocks ? SAY(", %s not judged", say_size(m, m->late.bytes)) : "";
	if (verdicts_known(m))
		return SAY("%s of it unreachable%s", say_size(m, m->totals.unreachable_bytes),
			   late);
	if (strcmp(m->at_label, "end") != 0 || !m->unscanned)
		return "not checked for leaks";
	return SAY("not checked for leaks: %s", words_unscanned(m));
}

struct words words_scan_terms(struct model *m)
{
	struct end_scan all = {0};
	struct words w = {0};
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct end_scan *s = &m->processes.v[i].end_scan;
		all.mask = all.mask || all.align ? all.mask : s->mask;
		all.align = all.align ? all.align : s->align;
		all.ignored += s->ignored;
		all.roots += s->roots;
		all.refused += s->refused;
	}
	if (all.align == 1)
		words_add(&w, "for pointers at unaligned addresses, too (--leak-check=align:1)");
	else if (all.align == 4)
		words_add(&w, "for pointers at multiples of 4 bytes (--leak-check=align:4)");
	if (all.mask)
		words_add(&w, SAY("pointer bits %s ignored (--leak-check=mask)", all.mask));
	if (all.ignored)
		words_add(&w, SAY("%s ignored (ms_ignore)", say_things(m, all.ignored, "block")));
	if (all.roots)
		words_add(&w, SAY("%s %s (ms_root)", say_count(m, all.roots),
				  all.roots == 1 ? "range is a root" : "ranges are roots"));
	if (all.refused)
		words_add(&w, SAY("%s given to ms_root NOT SCANNED (too many): blocks that only %s "
				  "points to count as unreachable",
				  say_things(m, all.refused, "range"),
				  all.refused == 1 ? "it" : "such a range"));
	return w;
}

const char *words_one_time(struct model *m)
{
	struct one_time sum = one_time_sum(m);
	return sum.live_bytes && sum.live_bytes != UNKNOWN
		       ? SAY("one-time allocations of the runtime: %s (shown by ms-filter "
			     "--only=one-time)",
			     say_size(m, sum.live_bytes))
		       : NULL;
}

/* Returns how much RSS exceeds the parts, or the parts exceed RSS. */
static const char *rest_of(struct model *m, uint64_t rss, uint64_t parts)
{
	if (rss == UNKNOWN || m->est) /* estimated parts: the difference would not be exact */
		return "";
	if (parts > rss)
		return SAY(", at least %s of this sum not resident", say_size(m, parts - rss));
	return SAY(", %s other", say_size(m, rss - parts));
}

const char *words_rss(struct model *m, const char *label)
{
	struct moment at = moment_sum(m, label);
	struct mmap_usage b = at.mmap;
	uint64_t live = at.live.bytes, rss = at.rss_bytes;
	/* an ended process has no RSS: takes the last known one */
	if (rss == UNKNOWN && strcmp(label, "end") == 0)
		rss = m->totals.end_rss_bytes;
	if ((b.usable == UNKNOWN && b.mapped == UNKNOWN) || live == UNKNOWN)
		return NULL;
	bool apart = moment_heap_is_apart(m);
	uint64_t parts = b.usable == UNKNOWN ? live : b.usable;
	enum est_figure f = strcmp(label, "peak") == 0 ? EST_PEAK : EST_END;
	const char *words = SAY("live %s", est_size(m, live, est_of(m->est, f)));
	if (b.usable != UNKNOWN)
		words = SAY("%s + slack %s", words, say_size(m, figure_sub(b.usable, live)));
	if (b.mapped != UNKNOWN && apart) {
		words = SAY("%s + mapped %s", words, say_size(m, b.mapped));
		parts = figure_add(parts, b.mapped);
	}
	words = SAY("%s%s", words, rest_of(m, rss, parts));
	if (b.mapped != UNKNOWN && !apart)
		words = SAY("%s; mapped %s, including the allocator's own", words,
			    say_size(m, b.mapped));
	return rss == UNKNOWN ? words : SAY("RSS %s: %s", say_size(m, rss), words);
}

/* Returns the live heap including blocks that were not recorded: earlier ones and inherited
 * ones. */
static uint64_t heap_at_most(const struct model *m, uint64_t recorded)
{
	uint64_t all = recorded;
	if (figure_some(m->quality.attached))
		all = figure_add(all, m->before.state ? m->before.bytes : UNKNOWN);
	return figure_add(all, m->inherited.processes ? m->inherited.bytes : 0);
}

/* Tells whether live heap is known, and less than half of an RSS that is worth explaining. */
static bool is_little(uint64_t heap, uint64_t rss)
{
	return heap != UNKNOWN && rss != UNKNOWN && rss > ELSEWHERE && heap < rss / 2;
}

/* Tells whether the report is about all blocks of one process. */
static bool is_one(struct model *m)
{
	return m->processes.n - m->images == 1 && !m->proc_only && !provenance_some(m);
}

/* Returns the parts of `rss` as of one sample, the first in the SQL order `order`; `rest`: text on
 * the live heap. */
static const char *parts_of_rss(struct model *m, uint64_t rss, const char *order, const char *rest)
{
	uint64_t at[3] = {0};
	sqlite3_stmt *q = model_ask(m,
				    "SELECT s.time_ns + coalesce(p.offset_ns, 0), rss_bytes,"
				    " heap_bytes FROM sample s JOIN process p ON p.id = s.process"
				    " WHERE heap_bytes <= rss_bytes ORDER BY %s LIMIT 1",
				    order);
	while (model_next(&q))
		for (int i = 0; i < 3; i++)
			at[i] = figure_in(q, i);
	if (at[1] < rss / 2)
		return SAY("most of RSS is not live heap; what the rest is was not recorded; %s",
			   rest);
	return SAY("of RSS %s at %s: %s in anonymous mappings, including stacks and what the "
		   "allocator keeps, %s in files; %s",
		   say_size(m, at[1]), say_time(m, at[0]), say_size(m, at[2]),
		   say_size(m, at[1] - at[2]), rest);
}

const char *words_elsewhere(struct model *m)
{
	uint64_t heap = heap_at_most(m, m->totals.peak_bytes), rss = m->totals.peak_rss_bytes;
	return is_one(m) && is_little(heap, rss)
		       ? parts_of_rss(m, rss, "rss_bytes DESC, 1",
				      SAY("live heap was never more than %s", say_size(m, heap)))
		       : NULL;
}

const char *words_beside_heap(struct model *m)
{
	uint64_t heap = heap_at_most(m, m->totals.unfreed_bytes), rss = m->totals.end_rss_bytes;
	const char *all_along = words_elsewhere(m);
	if (all_along || !is_one(m) || !is_little(heap, rss))
		return all_along;
	if (resident_known(m) && strcmp(m->at_label, "end") == 0)
		return resident_answer(m);
	return parts_of_rss(m, rss, "1 DESC",
			    SAY("live heap was %s at the end", say_size(m, heap)));
}

/* Returns the argument of `option` in a command that cut the trace; NULL = the command lacks it. */
static const char *argument_of(struct model *m, const char *cut, const char *option)
{
	const char *at = cut ? strstr(cut, option) : NULL;
	if (!at)
		return NULL;
	at += strlen(option);
	size_t n = *at == '\'' ? strcspn(at + 1, "'") + 2 : strcspn(at, " ");
	return name_clean(&m->arena, ms_arena_strndup(&m->arena, at, strnlen(at, n)), true);
}

const char *words_born(struct model *m)
{
	const struct totals *t = &m->totals;
	const char *cut = provenance_cut(m, NONE), *born = argument_of(m, cut, "--when=born:"),
		   *at = argument_of(m, cut, "--when=alive-at:");
	if (!born && !at)
		return NULL;
	const char *end =
		t->unfreed_blocks == t->allocations
			? ""
			: SAY(", %s still live at the end",
			      est_live(m, (struct live){t->unfreed_bytes, t->unfreed_blocks},
				       m->est, EST_END));
	struct live all = {t->allocated_bytes, t->allocations};
	return SAY("%s%s%s%s%s: %s%s", born ? "born " : "", born ? born : "",
		   born && at ? " and " : "", at ? "alive at " : "", at ? at : "",
		   est_live(m, all, m->est, EST_ALLOCATED), end);
}

const char *words_rss_peak_time(struct model *m)
{
	uint64_t ns = m->totals.peak_rss_time_ns;
	return ns == UNKNOWN ? "between samples" : SAY("at %s", say_time(m, ns));
}

const char *words_share(struct model *m, const struct list *l, bool both)
{
	const struct site *s = l->rows[0];
	const char *bytes = both ? SAY(" and %s of bytes",
				       say_share(m, s->allocated_bytes, m->totals.allocated_bytes))
				 : "";
	if (l->metric == METRIC_CHURN)
		return SAY("%s of all calls%s", say_share(m, s->allocations, l->total.a), bytes);
	if (l->metric == METRIC_ALLOCATED)
		return SAY("%s of all bytes, in %s", say_share(m, s->allocated_bytes, l->total.a),
			   say_things(m, s->allocations, "call"));
	const char *share = s->est ? est_count(m, s->allocations, est_of(s->est, EST_ALLOCATIONS))
				   : SAY("%s of", say_share(m, s->allocations, l->total.a));
	return SAY("%s calls%s, %s temporary", share, bytes,
		   say_share(m, s->temporary, s->allocations));
}

struct words words_besides(struct model *m, const struct site *s, const struct style *st)
{
	struct words w = {0};
	if (s->allocated_bytes != UNKNOWN && !s->est)
		words_add(&w, SAY("mean %s", say_size(m, s->allocated_bytes / s->allocations)));
	if (model_thread_count(m) < 2 ||
	    s->folded) /* nothing on threads for a folded row, whose sites may
					      have different threads */
		return w;
	struct table t = site_threads(m, s, false);
	const struct thread *only = model_thread(m, s->thread);
	const char *name = t.n == 1 ? t.rows[0].cells[SITE_THREAD_NAME].s
			   : only   ? only->name
				    : NULL;
	uint64_t tid = t.n == 1 ? t.rows[0].cells[SITE_THREAD_TID].n : only ? only->tid : 0;
	if (t.n == 1 || only)
		words_add(&w, name ? SAY("thread %s", name_clean(&m->arena, name, st->ascii))
				   : SAY("thread %llu", (unsigned long long)tid));
	return w;
}

struct words words_churn(struct model *m, const struct site *s)
{
	const char *sites = s->folded ? SAY("%s, the busiest #%lld",
					    say_things(m, s->folded + 1, "site"), (long long)s->id)
				      : SAY("#%lld", (long long)s->id);
	return (struct words){.v = {say_things(m, s->allocations, "block"),
				    SAY("%s freed within 10 allocations",
					say_share(m, s->freed_soon, s->allocations)),
				    sites},
			      .n = 3};
}

const char *words_soon(struct model *m)
{
	const struct totals *t = &m->totals;
	uint64_t n = model_number(m, "SELECT CASE WHEN count(freed_soon) = count(*) THEN"
				     " sum(freed_soon) END FROM process");
	bool known = n != UNKNOWN && t->allocations != UNKNOWN &&
		     t->temporary_allocations != UNKNOWN && t->allocations >= MANY;
	if (!known || n <= t->temporary_allocations ||
	    (n - t->temporary_allocations) < t->allocations / SOON_PART)
		return "";
	return SAY(", %s freed within 10 allocations", say_share(m, n, t->allocations));
}
