/* SPDX-License-Identifier: MIT
 * Matches spots that equal names do not match: inlining and tail calls add or remove frames,
 * functions are renamed, code moves.
 *
 * Only spots left on both sides are compared, and each method only pairs spots that the previous
 * methods left. Each match needs evidence, which is reported: for missing frames, equal figures;
 * for another name, that the old name no longer exists in the program and the new one did not exist
 * before.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"

enum {
	MOST_PAIRS = 4000000, /* above this, only spots with equal figures are compared */
	MOST_NAMES = 3,       /* maximum functions of one stack renamed at once */
	MOST_FRAMES = 2,      /* maximum frames added or removed if figures are only similar */
};

/* Holds the unmatched spots (places that allocate, see spots.h) of a side: one entry per spot, and
 * one per chain with several spots. */
struct left {
	struct leftover {
		uint32_t spot;     /* first spot */
		const uint32_t *v; /* all spots of the entry */
		size_t n;
		double allocations, bytes;
		const struct link *chain;
		size_t length;
		uint32_t program;
	} * v;
	size_t n, cap;
};

static int by_figures(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;
	return MS_ORDER(x->allocations, y->allocations) ?:
	       MS_ORDER(x->bytes, y->bytes) ?:
	       MS_ORDER(x->spot, y->spot);
}

/* Adds one leftover: a single spot, or all spots of one chain together. */
static void add(struct matching *m, struct left *l, const uint32_t *spots, size_t n)
{
	struct leftover *x = MS_PUSH(l);
	*x = (struct leftover){.spot = spots[0], .v = spots, .n = n};
	for (size_t i = 0; i < n; i++) {
		x->allocations += m->s->all.v[spots[i]].allocations;
		x->bytes += m->s->all.v[spots[i]].bytes;
	}
	x->chain = spot_chain(m->s, &m->s->all.v[spots[0]], &x->length);
	x->program = x->chain[-1].function;
}

static void add_chain(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n)
{
	struct left *l = arg;
	uint32_t *v = memcpy(ms_arena_alloc(&m->arena, n * sizeof *v), spots, n * sizeof *v);
	(void)old;
	for (size_t i = 0; i < n; i++)
		add(m, l, v + i, 1);
	if (n > 1)
		add(m, l, v, n);
}

/* Collects the unmatched spots of a side. Omits spots whose code has the same build on both sides:
 * if unmatched, they are new or gone. */
static struct left collect(struct matching *m, enum side side)
{
	struct left l = {0};
	uint32_t *chains = ms_xrealloc(NULL, m->s->all.n + 1, sizeof *chains);
	for (uint32_t i = 0; i < m->s->all.n; i++) {
		const struct spot *p = &m->s->all.v[i];
		chains[i] = p->side == side && p->row == NONE && !p->same_build ? p->key : NONE;
	}
	match_groups(m, chains, add_chain, &l);
	free(chains);
	MS_SORT(l.v, l.n, by_figures);
	return l;
}

struct search {
	struct matching *m;
	struct left left[2];
	void *context;
};

static bool is_left(const struct search *q, const struct leftover *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (q->m->s->all.v[x->v[i]].row != NONE)
			return false;
	return true;
}

static bool equal(const struct leftover *a, const struct leftover *b)
{
	return a->allocations == b->allocations && a->bytes == b->bytes && a->allocations > 0;
}

static bool within_twice(double a, double b)
{
	return a <= 2 * b && b <= 2 * a;
}

/* Tells whether the numbers of allocations and the mean block sizes differ by at most a factor of
 * two each. */
static bool alike(const struct leftover *a, const struct leftover *b)
{
	return a->allocations > 0 && b->allocations > 0 &&
	       within_twice(a->allocations, b->allocations) &&
	       within_twice(a->bytes * b->allocations, b->bytes * a->allocations);
}

typedef void each_pair(struct search *q, const struct leftover *o, const struct leftover *n);

static void look(struct search *q, each_pair *f, const struct leftover *o, const struct leftover *n)
{
	if (o->program == n->program && is_left(q, o) && is_left(q, n))
		f(q, o, n);
}

/* Calls `f` for pairs worth comparing: all pairs, or only those with equal figures, if `only_equal`
 * or if there are too many pairs. Groups of very many spots with equal figures are skipped:
 * equality proves nothing there. */
static void for_pairs(struct search *q, bool only_equal, each_pair *f)
{
	const struct left *o = &q->left[OLD], *n = &q->left[NEW];
	bool all = !only_equal && (o->n == 0 || n->n <= MOST_PAIRS / o->n);
	size_t from = 0, end = n->n;
	for (size_t i = 0, to; i < o->n; i = to) {
		const struct leftover *x = &o->v[i];
		for (to = i + 1; !all && to < o->n && equal(x, &o->v[to]);)
			to++;
		while (!all && from < n->n && by_figures(&n->v[from], x) < 0 &&
		       !equal(&n->v[from], x))
			from++;
		for (end = all ? end : from; !all && end < n->n && equal(x, &n->v[end]);)
			end++;
		if (!all && end > from && to - i > MOST_PAIRS / (end - from))
			continue;
		for (size_t a = i; a < to; a++)
			for (size_t k = from; k < end; k++)
				look(q, f, &o->v[a], &n->v[k]);
	}
}

/* ---- frames added or removed ---- */

/* Tells whether all links of `a` are in `b`, in order, and the outermost links are equal. */
static bool is_part(const struct leftover *a, const struct leftover *b)
{
	if (!a->length || a->length > b->length ||
	    a->chain[a->length - 1].function != b->chain[b->length - 1].function)
		return false;
	size_t i = 0;
	for (size_t k = 0; k < b->length && i < a->length; k++)
		i += a->chain[i].function == b->chain[k].function;
	return i == a->length;
}

/* Tells whether chain `b` is chain `a` with additional outermost links, for instance because a
 * thread now does what main did. More than one common link is required. */
static bool is_inner_part(const struct leftover *a, const struct leftover *b)
{
	size_t i = 0;
	while (i < a->length && i < b->length && a->chain[i].function == b->chain[i].function)
		i++;
	return i == a->length && i > 1;
}

/* Returns the first function of the longer chain `b` that is not in `a`. */
static const char *extra(const struct spots *s, const struct leftover *a, const struct leftover *b)
{
	size_t i = 0;
	for (size_t k = 0; k < b->length; k++) {
		if (i == a->length || a->chain[i].function != b->chain[k].function)
			return spot_name(s, b->chain[k].function);
		i++;
	}
	return "?";
}

static const char *say_frames(struct matching *m, const struct leftover *o,
			      const struct leftover *n)
{
	bool fewer = n->length < o->length;
	size_t by = fewer ? o->length - n->length : n->length - o->length;
	return ms_arena_printf(&m->arena, "%zu frame%s %s, such as '%s'; %s figures", by,
			       by == 1 ? "" : "s", fewer ? "fewer" : "more",
			       fewer ? extra(m->s, n, o) : extra(m->s, o, n),
			       equal(o, n) ? "equal" : "alike");
}

static void pair(struct matching *m, enum matched how, const char *evidence,
		 const struct leftover *o, const struct leftover *n)
{
	uint32_t *v = ms_xrealloc(NULL, o->n + n->n, sizeof *v);
	memcpy(v, o->v, o->n * sizeof *v);
	memcpy(v + o->n, n->v, n->n * sizeof *v);
	match_row(m, how, evidence, v, o->n + n->n);
	free(v);
}

/* Pairs two chains whose lengths differ by exactly the number of frames in the context. Callers
 * begin with the smallest number. */
static void pair_frames(struct search *q, const struct leftover *o, const struct leftover *n)
{
	size_t by = o->length < n->length ? n->length - o->length : o->length - n->length;
	if (by != *(size_t *)q->context || (by > MOST_FRAMES && !equal(o, n)))
		return;
	if (!equal(o, n) && !alike(o, n))
		return;
	bool part = is_part(o, n) || is_part(n, o);
	if (part || (equal(o, n) && (is_inner_part(o, n) || is_inner_part(n, o))))
		pair(q->m, MATCHED_FRAMES, say_frames(q->m, o, n), o, n);
}

/* Merges several calls of one side with one call of the other side, if their chains are all longer
 * than its chain (or all shorter), and their figures add up to its figures. */
static void merge_frames(struct search *q, int one_side)
{
	const struct left *ones = &q->left[one_side], *others = &q->left[!one_side];
	uint32_t *v = ms_xrealloc(NULL, others->n + 1, sizeof *v);
	bool many = ones->n && others->n > MOST_PAIRS / ones->n;
	for (size_t i = 0; i < ones->n && !many; i++) {
		const struct leftover *x = &ones->v[i];
		double allocations = 0, bytes = 0;
		size_t n = 0;
		for (size_t k = 0; k < others->n && is_left(q, x); k++) {
			const struct leftover *y = &others->v[k];
			if (y->n > 1 || x->n > 1 || !is_left(q, y) || y->program != x->program ||
			    !(is_part(x, y) || is_part(y, x)))
				continue;
			v[n++] = y->spot;
			allocations += y->allocations;
			bytes += y->bytes;
		}
		if (n < 2 || allocations == 0 || allocations != x->allocations || bytes != x->bytes)
			continue;
		v[n++] = x->spot;
		match_row(q->m, MATCHED_FRAMES,
			  ms_arena_printf(&q->m->arena,
					  "%zu stacks of one run are a single one in the other; "
					  "their figures were added up",
					  n - 1),
			  v, n);
	}
	free(v);
}

/* ---- renamed functions ---- */

struct rename {
	uint32_t from, to;
	size_t votes;
};

struct renames {
	struct match_functions f; /* `to`: new name of each old name */
	MS_ARRAY(struct rename) all;
	struct ms_lookup by_names;
};

static bool only_on(const struct spots *s, uint32_t name, enum side side)
{
	return name < s->sides.n && s->sides.v[name] == 1 << side;
}

static void vote(struct renames *r, uint32_t from, uint32_t to)
{
	uint32_t hash = ms_hash(from, to), n;
	for (size_t at = hash; (n = ms_lookup_next(&r->by_names, hash, &at));)
		if (r->all.v[n - 1].from == from && r->all.v[n - 1].to == to) {
			r->all.v[n - 1].votes++;
			return;
		}
	*MS_PUSH(&r->all) = (struct rename){from, to, 1};
	ms_lookup_add(&r->by_names, hash, (uint32_t)r->all.n);
}

/* Returns the number of different links in chains of equal length, SIZE_MAX = lengths differ. `at`
 * receives the index of one of these links. */
static size_t differences(const struct leftover *o, const struct leftover *n, size_t *at)
{
	size_t count = 0;
	if (o->length != n->length)
		return SIZE_MAX;
	for (size_t i = 0; i < o->length && count <= MOST_NAMES; i++)
		if (o->chain[i].function != n->chain[i].function) {
			*at = i;
			count++;
		}
	return count;
}

static void vote_for_names(struct search *q, const struct leftover *o, const struct leftover *n)
{
	struct renames *r = q->context;
	size_t at, count = differences(o, n, &at);
	if (count == 0 || count > MOST_NAMES || !(equal(o, n) || (count == 1 && alike(o, n))))
		return;
	for (size_t i = 0; i < o->length; i++) {
		const struct link *a = &o->chain[i], *b = &n->chain[i];
		if (a->function != b->function &&
		    !(only_on(r->f.s, a->function, OLD) && only_on(r->f.s, b->function, NEW) &&
		      link_is_named(r->f.s, a) && link_is_named(r->f.s, b)))
			return;
	}
	for (size_t i = 0; i < o->length; i++)
		if (o->chain[i].function != n->chain[i].function)
			vote(r, o->chain[i].function, n->chain[i].function);
}

/* Holds the maximum number of votes for a name, and whether several pairs have this number. */
struct most {
	size_t votes;
	bool tie;
};

static void count(struct most *m, size_t votes)
{
	m->tie = votes == m->votes || (m->tie && votes < m->votes);
	m->votes = votes > m->votes ? votes : m->votes;
}

static bool has_most(const struct most *m, size_t votes)
{
	return !m->tie && votes == m->votes;
}

/* Chooses for each old name the new name with the most votes, if no other new name has as many
 * votes, and no other old name has as many votes for the new name. */
static void decide_names(struct renames *r)
{
	size_t n = r->f.s->names.all.n;
	struct most *from = ms_xcalloc(n + 1, sizeof *from), *to = ms_xcalloc(n + 1, sizeof *to);
	r->f.to = ms_xrealloc(NULL, n + 1, sizeof *r->f.to);
	for (size_t i = 0; i < n; i++)
		r->f.to[i] = (uint32_t)i;
	for (size_t i = 0; i < r->all.n; i++) {
		const struct rename *x = &r->all.v[i];
		count(&from[x->from], x->votes);
		count(&to[x->to], x->votes);
	}
	for (size_t i = 0; i < r->all.n; i++) {
		const struct rename *x = &r->all.v[i];
		if (has_most(&from[x->from], x->votes) && has_most(&to[x->to], x->votes))
			r->f.to[x->from] = x->to;
	}
	MS_FREE(from, to);
}

/* Records for each row which function was renamed. */
static void say_names(struct matching *m, const struct renames *r, size_t first_row)
{
	for (size_t i = 0; i < m->s->all.n; i++) {
		const struct spot *p = &m->s->all.v[i];
		size_t n;
		const struct link *v = spot_chain(m->s, p, &n);
		if (p->side != OLD || p->row == NONE || p->row < first_row)
			continue;
		struct row *row = &m->rows.v[p->row];
		for (size_t k = 0; k < n && !row->evidence; k++) {
			uint32_t to = r->f.to[v[k].function];
			if (to != v[k].function)
				row->evidence = ms_arena_printf(
					&m->arena, "'%s' is now named '%s': %s",
					spot_name(m->s, v[k].function), spot_name(m->s, to),
					"only the old run has the first name, only the new run the "
					"second");
		}
	}
}

static void match_renamed(struct search *q)
{
	struct renames r = {.f.s = q->m->s};
	size_t first_row = q->m->rows.n;
	q->context = &r;
	for_pairs(q, false, vote_for_names);
	if (r.all.n) {
		decide_names(&r);
		match_by(q->m, match_functions_key, &r.f, MATCHED_RENAMED, NULL);
		say_names(q->m, &r, first_row);
	}
	MS_FREE(r.f.to, r.all.v, r.by_names.slots);
	intern_free(&r.f.keys);
}

/* ---- moved code ---- */

/* Notes spot `b` as possible partner of spot `a` in `partner`, which is indexed by spot. NONE = no
 * partner yet; partner[a] = a: several. */
static void note_move(uint32_t *partner, uint32_t a, uint32_t b)
{
	partner[a] = partner[a] == NONE ? b : a;
}

static void find_move(struct search *q, const struct leftover *o, const struct leftover *n)
{
	size_t at;
	if (o->n > 1 || n->n > 1 || !equal(o, n) || differences(o, n, &at) != 1 || o->length < 2)
		return;
	note_move(q->context, o->spot, n->spot);
	note_move(q->context, n->spot, o->spot);
}

static void pair_move(struct search *q, const struct leftover *o, const struct leftover *n)
{
	const uint32_t *partner = q->context;
	const struct spots *s = q->m->s;
	size_t at;
	if (o->n > 1 || n->n > 1 || partner[o->spot] != n->spot || partner[n->spot] != o->spot ||
	    differences(o, n, &at) != 1)
		return;
	pair(q->m, MATCHED_MOVED,
	     ms_arena_printf(
		     &q->m->arena, "'%s' instead of '%s'; else an equal stack and equal figures",
		     spot_name(s, n->chain[at].function), spot_name(s, o->chain[at].function)),
	     o, n);
}

static void match_moved(struct search *q)
{
	size_t n = q->m->s->all.n;
	uint32_t *partner = q->context = ms_xrealloc(NULL, n + 1, sizeof *partner);
	memset(partner, 0xff, n * sizeof *partner);
	for_pairs(q, true, find_move);
	for_pairs(q, true, pair_move);
	free(partner);
}

void match_left_over(struct matching *m)
{
	struct search q = {.m = m, .left = {collect(m, OLD), collect(m, NEW)}};
	size_t by;
	q.context = &by;
	for (by = 0; q.left[OLD].n && q.left[NEW].n && by < 32; by++)
		for_pairs(&q, true, pair_frames);
	if (q.left[OLD].n && q.left[NEW].n) {
		merge_frames(&q, NEW);
		merge_frames(&q, OLD);
		match_renamed(&q);
		merge_frames(&q, NEW);
		merge_frames(&q, OLD);
	}
	q.context = &by;
	for (by = 1; q.left[OLD].n && q.left[NEW].n && by <= MOST_FRAMES; by++)
		for_pairs(&q, false, pair_frames);
	if (q.left[OLD].n && q.left[NEW].n)
		match_moved(&q);
	MS_FREE(q.left[OLD].v, q.left[NEW].v);
}

/* ---- increases of rows that balance decreases of others ----
 *
 * A helper that became a tail call, or was inlined, disappears from stacks. If its caller allocates
 * too, the remaining stack is that of a row with both sides, which gains the helper's blocks. */

struct balance {
	bool *settled; /* by row: already balanced */
	bool moved;    /* compare chains that differ in one function; else those with frames added
			  or removed */
};

/* Adds a row to the leftovers of the side with more allocations, if the sides differ. `spots` are
 * those of the row. */
static void add_excess(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n)
{
	struct left *l = arg;
	double allocations = 0, bytes = 0;
	for (size_t i = 0; i < n; i++) {
		const struct spot *p = &m->s->all.v[spots[i]];
		allocations += i < old ? -p->allocations : p->allocations;
		bytes += i < old ? -p->bytes : p->bytes;
	}
	enum side side = allocations > 0 ? NEW : OLD;
	double sign = side == NEW ? 1 : -1;
	const struct spot *first = &m->s->all.v[spots[side == NEW ? old : 0]];
	if (allocations == 0 || bytes * sign < 0 || first->same_build ||
	    m->rows.v[first->row].hidden)
		return;
	struct leftover *x = MS_PUSH(&l[side]);
	*x = (struct leftover){.spot = spots[side == NEW ? old : 0],
			       .allocations = allocations * sign,
			       .bytes = bytes * sign};
	x->chain = spot_chain(m->s, first, &x->length);
	x->program = x->chain[-1].function;
}

static uint32_t row_of(const struct search *q, const struct leftover *x)
{
	return q->m->s->all.v[x->spot].row;
}

/* Tells whether the decrease of row `o` may have become the increase of row `n`. At least one of
 * the rows must be matched: unmatched rows were compared with each other before. */
static bool may_settle(const struct search *q, const struct leftover *o, const struct leftover *n)
{
	const struct balance *b = q->context;
	uint32_t from = row_of(q, o), to = row_of(q, n);
	size_t at;
	if (b->settled[from] || b->settled[to] || o->program != n->program ||
	    (q->m->rows.v[from].matched == MATCHED_NONE &&
	     q->m->rows.v[to].matched == MATCHED_NONE))
		return false;
	return b->moved ? o->length > 1 && differences(o, n, &at) == 1
			: is_part(o, n) || is_part(n, o);
}

/* Joins two rows: moves the spots of `from` to `to`. */
static void join_rows(struct search *q, uint32_t from, uint32_t to, enum matched how,
		      const char *evidence)
{
	struct row *r = &q->m->rows.v[to];
	for (size_t i = 0; i < q->m->s->all.n; i++)
		if (q->m->s->all.v[i].row == from)
			q->m->s->all.v[i].row = to;
	r->matched = r->matched > how ? r->matched : how;
	r->weak |= q->m->rows.v[from].weak;
	r->evidence = r->evidence ?: evidence;
}

static void settle_pair(struct search *q, const struct leftover *o, const struct leftover *n)
{
	const struct balance *b = q->context;
	if (!may_settle(q, o, n) || !equal(o, n))
		return;
	uint32_t from = row_of(q, o), to = row_of(q, n);
	const struct spots *s = q->m->s;
	size_t at = 0;
	b->settled[from] = b->settled[to] = true;
	if (b->moved && differences(o, n, &at))
		join_rows(q, from, to, MATCHED_MOVED,
			  ms_arena_printf(&q->m->arena,
					  "'%s' instead of '%s'; else an equal stack and equal "
					  "figures",
					  spot_name(s, n->chain[at].function),
					  spot_name(s, o->chain[at].function)));
	else
		join_rows(q, from, to, MATCHED_FRAMES, say_frames(q->m, o, n));
}

/* Balances the change of one row with the sum of opposite changes in related rows, if they are
 * equal. */
static void settle_sums(struct search *q, int one_side)
{
	const struct left *ones = &q->left[one_side], *others = &q->left[!one_side];
	const struct balance *b = q->context;
	const struct leftover **v = ms_xrealloc(NULL, others->n + 1, sizeof *v);
	bool many = ones->n && others->n > MOST_PAIRS / ones->n;
	for (size_t i = 0; i < ones->n && !many; i++) {
		const struct leftover *x = &ones->v[i];
		struct leftover sum = {0};
		size_t n = 0;
		for (size_t k = 0; k < others->n; k++) {
			const struct leftover *y = &others->v[k];
			if (!may_settle(q, one_side == OLD ? x : y, one_side == OLD ? y : x))
				continue;
			v[n++] = y;
			sum.allocations += y->allocations;
			sum.bytes += y->bytes;
		}
		if (n < 2 || !equal(&sum, x))
			continue;
		uint32_t to = row_of(q, x);
		const char *evidence = ms_arena_printf(&q->m->arena,
						       "%zu stacks of one run are a single one in "
						       "the other; their figures were added up",
						       n);
		for (size_t k = 0; k < n; k++)
			join_rows(q, row_of(q, v[k]), to, MATCHED_FRAMES, evidence);
		b->settled[to] = true;
	}
	free(v);
}

void match_balance(struct matching *m)
{
	struct left left[2] = {{0}, {0}};
	uint32_t *rows = ms_xrealloc(NULL, m->s->all.n + 1, sizeof *rows);
	for (size_t i = 0; i < m->s->all.n; i++)
		rows[i] = m->s->all.v[i].row;
	match_groups(m, rows, add_excess, left);
	free(rows);
	struct balance b = {.settled = ms_xcalloc(m->rows.n + 1, sizeof *b.settled)};
	struct search q = {.m = m, .left = {left[OLD], left[NEW]}, .context = &b};
	if (left[OLD].n && left[NEW].n) {
		for (int side = OLD; side <= NEW; side++)
			qsort(left[side].v, left[side].n, sizeof *left[side].v, by_figures);
		for_pairs(&q, true, settle_pair);
		settle_sums(&q, OLD);
		settle_sums(&q, NEW);
		b.moved = true;
		for_pairs(&q, true, settle_pair);
	}
	MS_FREE(left[OLD].v, left[NEW].v, b.settled);
}
