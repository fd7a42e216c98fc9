/* SPDX-License-Identifier: MIT
 * Every figure of the live-heap model against a naive one that keeps all blocks that ever were, and
 * asks of each whether it was live then: random events of all kinds, some of them bad, in portions,
 * with moments, of which one may be where counting begins, and with what is recorded beside the heap.
 */
#include "model.h"

/* ---- totals ---- */

/* Compares the frees of unknown blocks, and what explains them, among all events that were read. */
static void compare_unknown(void)
{
	uint64_t unknown = 0, frees[2] = {0}, sizes[2] = {0};
	bool explained = false;
	for (size_t i = 0, n = 0; i < EVENTS; i++) {
		const struct ms_event *ev = &events[i];
		bool gone = ms_event_releases(ev->kind) && ev->kind != MS_EV_FREE_INFERRED;
		bool before = ev->kind == MS_EV_EXT && ev->ext == MS_EXT_BEFORE;
		bool inherited = ev->kind == MS_EV_EXT && ev->ext == MS_EXT_INHERITED;
		for (; n < made && gone && !(blocks[n].died == i); n++)
			;
		gone &= n == made;
		n = 0;
		if (i == begin) {
			unknown = 0;
			memset(frees, 0, sizeof frees);
			memset(sizes, 0, sizeof sizes);
		}
		if (bad[i])
			continue;
		unknown += !explained && (gone || ev->kind == MS_EV_FREE_UNKNOWN ||
					  ev->kind == MS_EV_REALLOC_UNKNOWN);
		explained = inherited || (before && ev->freed != MS_BEFORE_EARLIER);
		unknown -= unknown && before && !explained;
		frees[before] += inherited || before;
		sizes[before] += inherited || before ? ev->size : 0;
	}
	bool some = begin < EVENTS;
	EQUAL(r.unknown_frees, some ? unknown : 0, "-");
	EQUAL(r.inherited_frees, some ? frees[0] : 0, "-");
	EQUAL(r.inherited_freed_bytes, some ? sizes[0] : 0, "-");
	EQUAL(r.before_frees, some ? frees[1] : 0, "-");
	EQUAL(r.before_freed_bytes, some ? sizes[1] : 0, "-");
}

static void compare_totals(void)
{
	uint64_t good = 0, failed = 0, again = 0, inferred = 0, temporary = 0, frees = 0, soon = 0,
		 allocations = 0, size = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		good += !bad[i] && i >= begin;
		failed += !bad[i] && i >= begin && events[i].kind == MS_EV_FAILED;
		again += !bad[i] && i >= begin && ms_event_allocates(events[i].kind) &&
			 events[i].kind != MS_EV_ALLOC;
	}
	for (const struct block *b = blocks; b < blocks + made; b++) {
		bool goes = b->died != SIZE_MAX && b->died >= begin;
		inferred += goes && !b->freed;
		frees += goes && b->freed;
		soon += goes && b->freed && b->between < 10;
		temporary += goes && b->temporary;
		allocations += b->born >= begin;
		size += b->born >= begin ? b->size : 0;
	}
	EQUAL(r.events, good, "-");
	EQUAL(r.position, EVENTS, "-");
	EQUAL(r.failed, failed, "-");
	EQUAL(r.reallocations, again, "-");
	EQUAL(r.inferred_frees, inferred, "-");
	EQUAL(r.frees, frees, "-");
	EQUAL(r.freed_soon, soon, "-");
	EQUAL(r.temporary, temporary, "-");
	EQUAL(r.allocations, allocations, "-");
	EQUAL(r.bytes, size, "-");
	EQUAL(r.live_bytes, bytes[ALL][EVENTS], "-");
	EQUAL(r.live_blocks, live[ALL][EVENTS], "-");
	EQUAL(r.peak_bytes, bytes[ALL][peak], "-");
	EQUAL(r.peak_blocks, live[ALL][peak], "-");
	EQUAL(r.peak_position, peak, "-");
	EQUAL(r.peak_tick, peak > begin ? events[peak - 1].time_ticks : begin_tick, "-");
	EQUAL(r.run_max, r.peak_bytes, "-");
	EQUAL(r.run_max_tick, r.peak_tick, "-");
	EQUAL(r.from_tick, begin_tick, "-");
}

/* ---- sites, threads, both, and sizes ---- */

static unsigned class_of(uint64_t size)
{
	return size ? 64u - (unsigned)__builtin_clzll(size) : 0;
}

/* Figures of blocks of a site, a thread and a size class; UINT32_MAX = of all. */
struct figures {
	uint64_t allocations, bytes, frees, temporary, inferred, live_bytes, live, peak_bytes, peak,
		lived, between, oldest, least, most, classes;
};

static struct figures figures(uint32_t stack, uint32_t thread, uint32_t class)
{
	struct figures f = {.oldest = MS_NEVER, .least = UINT64_MAX};
	for (const struct block *b = blocks; b < blocks + made; b++) {
		if ((stack != UINT32_MAX && b->stack != stack) ||
		    (thread != UINT32_MAX && b->thread != thread) ||
		    (class != UINT32_MAX && class_of(b->size) != class))
			continue;
		bool goes = b->died != SIZE_MAX && b->died >= begin, is = b->died == SIZE_MAX;
		bool at_peak = alive(b, peak);
		f.frees += goes && b->freed;
		f.inferred += goes && !b->freed;
		f.temporary += goes && b->temporary;
		f.lived += goes && b->freed ? events[b->died].time_ticks - b->tick : 0;
		f.between += goes && b->freed ? b->between : 0;
		f.live += is;
		f.live_bytes += is ? b->size : 0;
		f.oldest = is && b->tick < f.oldest ? b->tick : f.oldest;
		f.peak += at_peak;
		f.peak_bytes += at_peak ? b->size : 0;
		f.classes |=
			b->born >= begin || b->died >= begin ? UINT64_C(1) << class_of(b->size) : 0;
		if (b->born < begin)
			continue;
		f.allocations++;
		f.bytes += b->size;
		f.least = b->size < f.least ? b->size : f.least;
		f.most = b->size > f.most ? b->size : f.most;
	}
	return f;
}

static void compare_level(const struct ms_level *l, const struct figures *w, const char *what,
			  unsigned which)
{
	uint64_t at_peak[2];
	ms_replay_at_peak(&r, l, &at_peak[0], &at_peak[1]);
	EQUAL(l->bytes, w->live_bytes, "%s %u", what, which);
	EQUAL(l->blocks, w->live, "%s %u", what, which);
	EQUAL(at_peak[0], w->peak_bytes, "%s %u", what, which);
	EQUAL(at_peak[1], w->peak, "%s %u", what, which);
}

static void compare_events_of(const struct ms_replay_site *s)
{
	uint64_t first = MS_NEVER, latest = 0, failed = 0, again = 0;
	for (size_t i = begin; i < EVENTS; i++) {
		const struct ms_event *ev = &events[i];
		bool fails = ev->kind == MS_EV_FAILED;
		if (bad[i] || site_of(ev->stack) != s->node ||
		    !(fails || ms_event_allocates(ev->kind)))
			continue;
		first = first == MS_NEVER ? ev->time_ticks : first;
		latest = ev->time_ticks;
		failed += fails;
		again += !fails && ev->kind != MS_EV_ALLOC;
	}
	EQUAL(s->first_tick, first, "site %u", s->node);
	EQUAL(s->last_tick, latest, "site %u", s->node);
	EQUAL(ms_replay_rare_of(&r, s)->failed, failed, "site %u", s->node);
	EQUAL(ms_replay_rare_of(&r, s)->reallocations, again, "site %u", s->node);
}

static void compare_site(size_t i)
{
	const struct ms_replay_site *s = &r.sites[i];
	const struct ms_replay_rare *rare = ms_replay_rare_of(&r, s);
	const struct ms_replay_lifetimes *lived = ms_replay_lifetimes_of(&r, s);
	struct figures w = figures(s->node, UINT32_MAX, UINT32_MAX);
	uint64_t most[2] = {0};
	for (size_t at = begin; at <= EVENTS; at++) {
		most[0] = bytes[s->node][at] > most[0] ? bytes[s->node][at] : most[0];
		most[1] = live[s->node][at] > most[1] ? live[s->node][at] : most[1];
	}
	compare_level(&s->live, &w, "site", s->node);
	compare_events_of(s);
	EQUAL(s->max_live_bytes, most[0], "site %u", s->node);
	EQUAL(s->max_live_blocks, most[1], "site %u", s->node);
	EQUAL(s->allocations, w.allocations, "site %u", s->node);
	EQUAL(s->bytes, w.bytes, "site %u", s->node);
	EQUAL(rare->frees, w.frees, "site %u", s->node);
	EQUAL(s->temporary, w.temporary, "site %u", s->node);
	EQUAL(rare->marked, w.inferred != 0, "site %u", s->node);
	EQUAL(lived->ticks, w.lived, "site %u", s->node);
	EQUAL(lived->allocations, w.between, "site %u", s->node);
	EQUAL(s->min_size, w.least, "site %u", s->node);
	EQUAL(s->max_size, w.most, "site %u", s->node);
	EQUAL(rare->classes, w.classes, "site %u", s->node);
	EQUAL(r.oldest[i], w.oldest, "site %u", s->node);
	EQUAL(r.site_of_node[s->node], i + 1, "site %u", s->node);
}

static void compare_threads(void)
{
	for (uint32_t t = 0; t < THREADS; t++) {
		struct figures w = figures(UINT32_MAX, t, UINT32_MAX);
		const struct ms_replay_thread *got = &r.threads[t];
		uint64_t first = 0, latest = 0, frees = 0, n = 0;
		for (size_t i = 0; i < EVENTS; i++) {
			if (bad[i] || events[i].thread != t)
				continue;
			first = n++ ? first : events[i].time_ticks;
			latest = events[i].time_ticks;
		}
		for (const struct block *b = blocks; b < blocks + made; b++)
			frees += b->freed && b->died >= begin && events[b->died].thread == t;
		compare_level(&got->live, &w, "thread", t);
		EQUAL(got->allocations, w.allocations, "thread %u", t);
		EQUAL(got->bytes, w.bytes, "thread %u", t);
		EQUAL(got->temporary, w.temporary, "thread %u", t);
		EQUAL(got->frees, frees, "thread %u", t);
		EQUAL(got->first_tick, first, "thread %u", t);
		EQUAL(got->last_tick, latest, "thread %u", t);
	}
}

static void compare_records(void)
{
	size_t want = 0;
	for (uint32_t k = 0; k < SITES * THREADS; k++) {
		struct figures w = figures(k / THREADS, k % THREADS, UINT32_MAX);
		want += w.allocations || w.live;
	}
	EQUAL(r.record_count, want, "pairs of site and thread");
	for (size_t i = 0; i < r.record_count; i++) {
		const struct ms_replay_site_thread *got = &r.records[i];
		struct figures w = figures(r.sites[got->site].node, got->thread, UINT32_MAX);
		EQUAL(got->allocations, w.allocations, "pair %zu", i);
		EQUAL(got->bytes, w.bytes, "pair %zu", i);
		EQUAL(got->live_bytes, w.live_bytes, "pair %zu", i);
		EQUAL(got->live_blocks, w.live, "pair %zu", i);
	}
}

static void compare_class(void *arg, unsigned class, const struct ms_replay_size *c)
{
	uint32_t stack = *(const uint32_t *)arg;
	struct figures w = figures(stack, UINT32_MAX, class);
	compare_level(&c->live, &w, "class", class);
	EQUAL(c->allocations, w.allocations, "site %u class %u", stack, class);
	EQUAL(c->bytes, w.bytes, "site %u class %u", stack, class);
	EQUAL(c->temporary, w.temporary, "site %u class %u", stack, class);
}

static void compare_sizes(void)
{
	uint32_t all = UINT32_MAX;
	for (unsigned class = 0; class < 16; class ++)
		compare_class(&all, class, &r.sizes[class]);
	for (size_t i = 0; i < r.site_count; i++)
		ms_replay_each_class(&r, i, compare_class, &r.sites[i].node);
}

/* ---- the timeline, and moments ---- */

static bool within(size_t i, uint64_t span)
{
	return i >= begin && !bad[i] && events[i].time_ticks / r.span_ticks == span;
}

static void compare_timeline(void)
{
	size_t at = begin; /* events before the span */
	EQUAL(r.span, end_tick / r.span_ticks, "the last span");
	for (uint64_t s = 0; s < begin_tick / r.span_ticks; s++)
		EQUAL(r.spans[s].live_max, 0, "nothing is known before it begins");
	for (uint64_t s = begin_tick / r.span_ticks; s <= r.span; s++) {
		uint64_t low = bytes[ALL][at], high = low, n = 0, frees = 0, size = 0;
		for (; at < EVENTS && (bad[at] || within(at, s)); at++) {
			uint64_t now = bytes[ALL][at + 1];
			low = now < low ? now : low;
			high = now > high ? now : high;
		}
		for (const struct block *b = blocks; b < blocks + made; b++) {
			n += within(b->born, s);
			size += within(b->born, s) ? b->size : 0;
			frees += b->freed && within(b->died, s);
		}
		const struct ms_replay_span *got = &r.spans[s];
		EQUAL(got->live_min, low, "span %u", (unsigned)s);
		EQUAL(got->live_max, high, "span %u", (unsigned)s);
		EQUAL(got->live_last, bytes[ALL][at], "span %u", (unsigned)s);
		EQUAL(got->blocks_last, live[ALL][at], "span %u", (unsigned)s);
		EQUAL(got->mapped_last, r.beside ? mapped[ALL][at] : 0, "span %u", (unsigned)s);
		EQUAL(got->allocations, n, "span %u", (unsigned)s);
		EQUAL(got->bytes, size, "span %u", (unsigned)s);
		EQUAL(got->frees, frees, "span %u", (unsigned)s);
	}
}

/* How many events lie before it. */
static size_t place_of(uint64_t tick, uint64_t event)
{
	size_t i = 0;
	while (i < EVENTS &&
	       (bad[i] || (tick != MS_NEVER ? events[i].time_ticks < tick : i < event)))
		i++;
	return i;
}

static void compare_moment(const struct ms_replay_moment *m)
{
	size_t at = place_of(m->tick, m->event), n = 0, beside = 0;
	EQUAL(m->taken, m->tick == MS_NEVER || m->tick <= end_tick + 1, "-");
	if (!m->taken)
		return;
	EQUAL(m->live_bytes, bytes[ALL][at], "-");
	EQUAL(m->live_blocks, live[ALL][at], "-");
	for (size_t i = 0; i < r.site_count; i++) {
		uint32_t k = r.sites[i].node;
		uint64_t oldest = MS_NEVER;
		for (const struct block *b = blocks; b < blocks + made; b++)
			if (b->stack == k && alive(b, at) && b->tick < oldest)
				oldest = b->tick;
		if (live[k][at] && n < m->figure_count) {
			const struct ms_replay_figure *f = &m->figures[n];
			EQUAL(f->site, i, "-");
			EQUAL(f->live_bytes, bytes[k][at], "site %u", k);
			EQUAL(f->live_blocks, live[k][at], "site %u", k);
			EQUAL(f->oldest_tick, r.moment_count > 64 ? MS_NEVER : oldest, "site %u",
			      k);
		}
		n += live[k][at] != 0;
		if (r.beside && (slack[k][at] || mapped[k][at]) && beside < m->beside.count) {
			const struct ms_beside_figure *f = &m->beside.figures[beside++];
			EQUAL(f->site, i, "-");
			EQUAL(f->slack_bytes, slack[k][at], "site %u", k);
			EQUAL(f->mapped_bytes, mapped[k][at], "site %u", k);
		}
	}
	EQUAL(m->figure_count, n, "sites");
	EQUAL(m->beside.count, beside, "sites");
	EQUAL(m->beside.slack_bytes, r.beside ? slack[ALL][at] : 0, "-");
	EQUAL(m->beside.mapped_bytes, r.beside ? mapped[ALL][at] : 0, "-");
}

/* ---- beside the heap ---- */

/* At the end no bytes are held any more. */
static uint64_t mapped_at_end(uint32_t k)
{
	uint64_t n = mapped[k][EVENTS];
	for (uint32_t t = 0; t < SITES * THREADS; t++)
		n -= k == ALL || t / THREADS == k ? space.held[t / THREADS][t % THREADS] * 4096 : 0;
	return n;
}

static void compare_beside_site(size_t i)
{
	const struct ms_beside_site *s = ms_beside_site(r.beside, (uint32_t)i);
	uint32_t k = r.sites[i].node;
	uint64_t now, ignored, maps = 0, size = 0;
	for (size_t at = begin; at < EVENTS; at++) {
		const struct ms_event *ev = &events[at];
		if (!is_mapping(at) || ev->ext != MS_EXT_MAP || site_of(ev->stack) != k)
			continue;
		maps += ev->size != 0;
		size += ev->size;
	}
	EQUAL(s->slack.bytes, slack[k][EVENTS], "site %u", k);
	EQUAL(s->mapped.bytes, mapped_at_end(k), "site %u", k);
	ms_replay_at_peak(&r, &s->slack, &now, &ignored);
	EQUAL(now, slack[k][peak], "site %u", k);
	ms_replay_at_peak(&r, &s->mapped, &now, &ignored);
	EQUAL(now, mapped[k][peak], "site %u", k);
	EQUAL(s->maps, maps, "site %u", k);
	EQUAL(s->mapped_bytes, size, "site %u", k);
}

static void compare_mapped(void)
{
	const struct ms_beside *b = r.beside;
	uint64_t most = mapped[ALL][begin], tick = begin > 0 ? begin_tick : 0, maps = 0, size = 0;
	for (size_t i = begin; i < EVENTS; i++) {
		if (!is_mapping(i) || events[i].ext != MS_EXT_MAP)
			continue;
		maps += events[i].size != 0;
		size += events[i].size;
		if (mapped[ALL][i + 1] <= most || !events[i].size)
			continue;
		most = mapped[ALL][i + 1];
		tick = events[i].time_ticks;
	}
	EQUAL(b->maps, maps, "-");
	EQUAL(b->taken_bytes, size, "-");
	EQUAL(b->most_bytes, most, "-");
	EQUAL(b->most_tick, tick, "-");
	EQUAL(b->mapped_bytes, mapped_at_end(ALL), "-");
	EQUAL(b->peak_mapped_bytes, mapped[ALL][peak], "-");
	EQUAL(b->peak_slack_bytes, slack[ALL][peak], "-");
	EQUAL(b->slack_bytes, slack[ALL][EVENTS], "-");
	for (size_t i = 0; i < r.site_count; i++)
		compare_beside_site(i);
}

static void compare_frees(void)
{
	uint64_t pairs[SITES][SITES][2] = {0}, want = 0;
	for (const struct block *b = blocks; b < blocks + made; b++)
		if (b->freed && b->died >= begin) {
			uint64_t *to = pairs[b->stack][site_of(events[b->died].stack)];
			want += !to[0];
			to[0]++;
			to[1] += b->size;
		}
	EQUAL(r.beside->frees.n, want, "pairs");
	for (size_t i = 0; i < r.beside->frees.n; i++) {
		const struct ms_beside_free *f = &r.beside->frees.v[i];
		const uint64_t *w = pairs[r.sites[f->site].node][f->stack];
		EQUAL(f->frees, w[0], "pair %zu", i);
		EQUAL(f->bytes, w[1], "pair %zu", i);
	}
}

/* ---- */

static void compare_all(void)
{
	compare_totals();
	compare_unknown();
	for (size_t i = 0; i < r.site_count; i++)
		compare_site(i);
	compare_threads();
	compare_records();
	compare_sizes();
	compare_timeline();
	for (size_t i = 0; i < r.moment_count; i++)
		compare_moment(&r.moments[i]);
	if (!r.beside)
		return;
	compare_mapped();
	compare_frees();
}

/* Counting begins at the first moment. */
static void ask_moments(struct stream *s, unsigned options)
{
	size_t n = options & MANY_MOMENTS ? MOMENTS : 5, first;
	begin = begin_tick = 0;
	for (size_t i = 0; i < n; i++) {
		bool by_event = options & BY_EVENT ? i % 2 == 0 : i % 2;
		uint64_t tick = by_event ? MS_NEVER : stream_random(s) % (end_tick + 4),
			 event = by_event ? stream_random(s) % (EVENTS + 9) : MS_NEVER;
		first = ms_replay_moment(&r, tick, event);
		if (i || !(options & BEGINS))
			continue;
		ms_replay_count_from(&r, first);
		begin = place_of(tick, event);
		for (size_t k = 0; k < begin && by_event; k++)
			begin_tick = bad[k] ? begin_tick : events[k].time_ticks;
		begin_tick = by_event || !tick ? begin_tick : tick - 1;
		begin_tick = begin_tick > end_tick ? end_tick : begin_tick;
	}
}

static void test(uint64_t seed, unsigned options)
{
	struct stream s = {.seed = seed * OPTIONS + options, .threads = THREADS, .ext = false};
	ms_replay_init(&r);
	ms_replay_nodes(&r, SITES);
	if (options & BESIDE)
		ms_beside_start(&r, MS_OPTION_MMAP | MS_OPTION_USABLE | MS_OPTION_FREE_STACKS);
	make_events(&s, options);
	for (size_t i = 0; i < EVENTS && !(options & BESIDE); i++)
		if (is_mapping(i)) /* there would be something beside the heap */
			events[i].ext = MS_EXT_INHERITED;
	ask_moments(&s, options);
	run_naive();
	for (size_t i = 0, n; i < EVENTS; i += n) {
		n = 1 + stream_random(&s) % 60;
		n = n < EVENTS - i ? n : EVENTS - i;
		ms_replay_events(&r, events + i, n);
		if (n > 40)
			ms_replay_sum_cells(&r); /* changes no later figure */
	}
	uint64_t count_bad = 0;
	for (size_t i = 0; i < EVENTS; i++)
		count_bad += bad[i];
	ms_replay_finish(&r, end_tick);
	int before = failures;
	EQUAL(r.bad_events, count_bad, "-");
	compare_all();
	if (failures != before)
		printf("seed %u, options %u\n", (unsigned)seed, options);
	ms_replay_free(&r);
	stream_end(&s);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		for (unsigned options = 0; options < OPTIONS; options++)
			test(seed, options);
	/* Counting begins behind what explains a free, or an event's number comes again. */
	test(33, BEGINS | BY_EVENT | FAR_APART);
	test(37, OPTIONS - 1);
	test(53, BEGINS | BY_EVENT);
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%d failures\n", failures);
	return failures != 0;
}
