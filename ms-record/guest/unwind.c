/* SPDX-License-Identifier: MIT
 * Takes a thread's call stack by stepping only where it differs from the thread's previous one.
 *
 *   previous stack, outermost first:
 *
 *     0       1     2   ...   j    j+1   ...   frames-1
 *     _start  main  a   ...   f    g     ...
 *     <--------- kept -------->|<------ replaced ----->
 *
 *   a frame's slots lie in its callee:
 *
 *     slot[i]        where ip[i] was read (mg_slot_of; for the hook's caller sp - 8); where sp
 *                    of frame i is not a fixed distance above, need[i] tells it (mg_above)
 *     checks         where bp[i] was read, when it matters (need[i]),
 *                    and where sp was read, for a realigned stack
 *     checks_to[i]   the entries of the frames 0..i
 *
 * A frame is found by its slot: an index of 1,024 entries, by the slot's address, says which frame
 * was there last. It is a hint: an entry that another frame took over costs steps.
 *
 * Walks that come again and again are remembered whole, as paths: from the hook's caller to the
 * frame of the previous stack that was met, each return address and where it was read. A path is
 * found by the caller's ip and sp and, because the same function allocates for many others, by how
 * deep the previous stack was and how much of it was kept. That too is only a hint.
 *
 * Why reuse is sound. The state of a frame is (ip, sp, bp). Its caller's state is a function of
 * that state and the contents of the slots that the rule of ip names: the return address, and where
 * they are in memory the saved bp and the saved sp. Nothing else is read. So if this walk reaches
 * a state that frame j of the previous stack had, and all slots of frames j-1..0 hold what they
 * held then, each step from j outwards gives the same state as then, by induction. No history is
 * assumed: whether the memory was rewritten meanwhile (longjmp, exceptions, alloca, a callee that
 * returned and was called again) is seen by its contents, and if it was rewritten with the same
 * values the result is the same.
 *
 *  U1 bp is part of the state only where a later step can depend on it: need is false for a frame
 *     whose CFA is not taken from bp and whose caller's bp comes from memory; a frame that hands
 *     bp on needs it if its caller does.
 *
 *  U2 Slots of frame i are in its callee, which may be another one this time. When frame j was
 *     reached through new callees its own entries in `checks` are replaced by those just read; else
 *     a later walk would verify a slot that no longer feeds it.
 *
 *  U3 A slot is read only in [sp, high] of the stack that it runs on (see stack.c), sp being the
 *     walk's first. A thread that comes to another one forgets its previous stack. Every slot of
 *     frames outside j is above slot[j], which is at least that, because a rule whose slots
 *     are below its frame's sp is not simple.
 *
 *  U4 Rules can change only with an epoch. A thread that sees a new epoch forgets its previous
 *     stack and its paths.
 *
 *  U5 Kept is only what this argument covers: no stack with a signal frame, through unknown code,
 *     that ended because of memory contents instead of a rule, or taken while a module is being
 *     closed. (That code at an ip is V8's or Java's, and its frame at bp, stays true.)
 *
 *     A rule by code (MG_RULE_FLOW_SP, MG_RULE_FLOW_BP) is kept like one of a table: the module's code
 *     does not change in an epoch either, and that a call left the return address is a function of
 *     that address, which is compared. Where it is not so the walk ends, by memory contents.
 *
 *  U6 A path is the same induction for the frames inside j: it begins in the same state and all its
 *     slots are compared. It is kept only where no rule on it reads bp or a saved sp and frame j
 *     does not need bp, and used only if that is so of the frame that it leads to now; then those
 *     inside need none either and have nothing in `checks`. Its slots lie between the walk's sp and
 *     frame j's slot, which is compared with `high`.
 */
#include "core.h"
#include "step.h"

/* Returns the innermost frame of the previous stack that may still be unchanged, given that a
 * slot of a frame outside `k`, or one of the first `q` checks, has changed. */
static __attribute__((noinline)) int32_t first_changed(const struct mg_writer *t, int32_t k,
						       int32_t q)
{
	while (--k >= 0 && mg_code_bits(load(t->slot[k])) == t->ip[k])
		continue;
	if (k >= 0)
		return k;
	while (--q > 0 && load(t->checks[q].address) == t->checks[q].value)
		continue;
	for (k = 0; (int32_t)t->frame[k].checks_to <= q;)
		k++;
	return k;
}

/* Implements suffix_holds() for a stack that may be read only where it is verified: compares from
 * call to call outwards, then the words in between. */
static __attribute__((noinline)) bool suffix_holds_careful(const struct mg_writer *t, int32_t j,
							   int32_t *next)
{
	uint32_t q = 0, all = j > 0 ? t->frame[j - 1].checks_to : 0;
	for (*next = j - 1; *next >= 0; --*next)
		if (mg_code_bits(load(t->slot[*next])) != t->ip[*next])
			return false;
	while (q < all && load(t->checks[q].address) == t->checks[q].value)
		q++;
	if (q < all)
		*next = -1;
	return q == all;
}

/* Tells whether the previous stack's frames outside frame `j` are unchanged. If not, *next is
 * the innermost frame that may still be unchanged. Compares whole blocks, including padding, so
 * that stacks of similar depth take the same branches. */
MG_INLINE bool suffix_holds(const struct mg_writer *t, int32_t j, int32_t *next)
{
	const uint64_t *ip = t->ip, *slot = t->slot;
	int64_t k = j, q = j > 0 ? (int64_t)t->frame[j - 1].checks_to : 0;
	if (MG_UNLIKELY(t->careful))
		return suffix_holds_careful(t, j, next);
	for (; k > 0; k -= 8) {
		uint64_t x = 0;
#pragma GCC unroll 8
		for (int i = 1; i <= 8; i++)
			x |= load(slot[k - i]) ^ ip[k - i];
		if (MG_UNLIKELY(mg_code_bits(x))) {
			*next = first_changed(t, (int32_t)k, (int32_t)q);
			return false;
		}
	}
	const struct mg_slot *checks = t->checks;
	for (; q > 0; q -= 4) {
		uint64_t x = 0;
#pragma GCC unroll 4
		for (int i = 1; i <= 4; i++)
			x |= load(checks[q - i].address) ^ checks[q - i].value;
		if (MG_UNLIKELY(x)) {
			*next = first_changed(t, 0, (int32_t)q);
			return false;
		}
	}
	return true;
}

MG_INLINE uint16_t *index_of(const struct mg_writer *t, uint64_t slot)
{
	return (uint16_t *)(t->rules + MG_OWN_RULES) + (slot >> 3 & (MG_INDEX - 1));
}

/* Adds frame `at`, whose ip was read at `slot`, to `checks`: the addresses from which its bp and
 * its sp were read, if they were. `from`: the step to the frame, or NULL. */
static void add_checks(struct mg_writer *t, uint32_t at, const struct mg_step *from, uint64_t slot,
		       uint64_t bp)
{
	uint32_t n = at ? t->frame[at - 1].checks_to : 0;
	uint64_t bp_slot = 0, cfa_slot = 0;
	if (from && from->rule & MG_STEP_OTHER) {
		bp_slot = from->bp_slot;
		cfa_slot = from->cfa_slot;
	} else if (from && from->rule & MG_OWN_LOADS_BP) {
		bp_slot = MG_OWN_BP_SLOT(from->rule, slot);
	}
	if (bp_slot && t->frame[at].need & 1)
		t->checks[n++] = (struct mg_slot){bp_slot, bp};
	if (cfa_slot)
		t->checks[n++] = (struct mg_slot){cfa_slot, slot + 8};
	t->frame[at].bp = bp;
	t->frame[at].checks_to = n;
}

/* Returns mg_above of the frame of step `s`. */
MG_INLINE uint32_t above_of(const struct mg_step *s)
{
	return MG_RETURN_BELOW ? 0 : (uint32_t)(s->rule >> 32) & (MG_ABOVE_END - 2);
}

static bool need_of(const struct mg_step *s, bool of_caller)
{
	if (s->rule & MG_STEP_OTHER) {
		uint32_t need = s->rule & 3;
		return need == MG_NEED_INHERIT ? of_caller : need == MG_NEED_YES;
	}
	return s->rule & MG_OWN_FROM_BP || (!(s->rule & MG_OWN_LOADS_BP) && of_caller);
}

/* Replaces the frames inside frame `base` (-1 = all frames) by the walk's `n` steps. */
static __attribute__((noinline)) void take(struct mg_writer *t, int32_t base, uint32_t n,
					   uint64_t bp, uint64_t *out)
{
	bool need = base >= 0 && t->frame[base].need & 1;
	(void)bp; /* unused if the fault below is seeded for a test */
#ifndef MG_SEED_STALE_SLOT
	if (base >= 0 && n) /* U2 */
		add_checks(t, (uint32_t)base, &t->steps[n - 1], t->slot[base], bp);
#endif
	uint32_t at = (uint32_t)(base + 1);
	for (uint32_t i = n; i-- > 0; at++) {
		const struct mg_step *s = &t->steps[i];
		need = need_of(s, need);
		t->ip[at] = *out++ = s->ip;
		t->slot[at] = s->slot;
		*index_of(t, s->slot) = (uint16_t)at;
		t->frame[at].need = need | above_of(s);
		add_checks(t, at, i ? s - 1 : NULL, s->slot, s->bp);
	}
}

/* Replaces frames as take() does, by steps that do not need bp and whose sp is computed from the
 * sp of the inner frame: later walks compare only the return addresses of these frames. */
MG_INLINE void take_plain(struct mg_writer *t, int32_t base, uint32_t n, uint64_t *out)
{
	uint32_t at = (uint32_t)(base + 1), checks = base ? t->frame[base - 1].checks_to : 0;
	uint64_t *ip = t->ip + at, *slot = t->slot + at;
	struct mg_frame *f = t->frame + at;
	f[-1].checks_to = checks; /* U2 */
	for (const struct mg_step *s = t->steps + n; s-- > t->steps;) {
		*ip++ = *out++ = s->ip;
		*slot++ = s->slot;
		*index_of(t, s->slot) = (uint16_t)at++;
		*f++ = (struct mg_frame){.bp = 0, .checks_to = checks, .need = above_of(s)};
	}
}

/* Handles a stack deeper than the limit, of which only the innermost part was walked. Lowers the
 * limit until a whole stack is seen again, which bounds the cost of deep recursion. */
static __attribute__((noinline)) void too_deep(struct mg_writer *t)
{
	if (t->limit == t->capacity) {
		t->limit = MG_FRAMES_SHORT < t->capacity ? MG_FRAMES_SHORT : t->capacity;
		t->tries = 0;
	} else if (++t->tries % 64 == 0) {
		t->limit = t->capacity;
	}
}

/* ---- a thread's own rules -------------------------------------------------------------------- */

/* Converts a rule to the form of a thread's own table. Returns 0 if that is impossible. If the CFA
 * is computed from sp, the word in which bp is saved lies between sp and the CFA. */
static uint32_t own_rule_of(uint64_t rule)
{
	uint32_t type = MG_RULE_TYPE(rule), mode = MG_RULE_BP(rule);
	int64_t cfa = MG_RULE_CFA_OFFSET(rule),
		bp = mode == MG_BP_SAME ? (int64_t)MG_RETURN_SLOT(rule, UINT64_C(0))
					: MG_RULE_BP_OFFSET(rule);
	if ((type != MG_RULE_FROM_SP && type != MG_RULE_FROM_BP) || mode == MG_BP_AT_BP ||
	    cfa < 0 || cfa % MG_OWN_CFA_UNIT ||
	    cfa / MG_OWN_CFA_UNIT >> (MG_OWN_RULE_BITS - MG_OWN_CFA_SHIFT) || bp >= 0 ||
	    bp <= -8 * (int64_t)MG_OWN_WHERE_END || bp & 7)
		return 0;
	if (type == MG_RULE_FROM_SP && cfa < -bp)
		return 0;
	return (uint32_t)(cfa / MG_OWN_CFA_UNIT) << MG_OWN_CFA_SHIFT | (uint32_t)(-bp / 8) << 2 |
	       (mode == MG_BP_SAME ? 0 : MG_OWN_LOADS_BP) |
	       (type == MG_RULE_FROM_BP ? MG_OWN_FROM_BP : 0);
}

/* Gets a rule that is not in the thread's own table, and stores it there, unless a module is
 * being closed. */
static __attribute__((noinline)) uint32_t own_rule_miss(struct mg_writer *t, uint64_t ip)
{
	uint32_t r = ip & MG_EXACT_IP || t->brief ? 0 : own_rule_of(rule_of(ip, t->epoch));
	if (r && mg_may_keep()) {
		t->rules_used = true;
		t->rules[MG_OWN_INDEX(ip)] = MG_OWN_REST(ip) | r;
	}
	return r;
}

MG_INLINE struct mg_path *path_of(const struct mg_writer *t, uint64_t ip, uint64_t sp)
{
	return &mg_memory_of(t)
			->paths[((ip << 16 ^ sp ^ (uint64_t)(t->keep * 37 + t->frames) << 40) *
				 UINT64_C(0x9e3779b97f4a7c15)) >>
				(64 - MG_PATH_BITS)];
}

void mg_own_rules_forget(struct mg_writer *t)
{
	union mg_memory *m = mg_memory_of(t);
	for (uint32_t i = 0; t->rules_used && i < MG_OWN_RULES; i++)
		t->rules[i] = 0;
	for (uint32_t i = 0; t->rules_used && i < MG_PATHS; i++)
		m->paths[i].sp = 0;
	for (uint32_t i = 0; t->rules_used && i < MG_WHOLES; i++)
		m->wholes[i].sp = 0;
	t->rules_used = false;
}

/* ---- paths ---- */

/* Stores and returns mg_above of a path's return address `i`. */
MG_INLINE void put_above(struct mg_path *p, uint32_t i, uint32_t above)
{
	if (!MG_RETURN_BELOW)
		p->above[i] = above & ~1u;
}

MG_INLINE uint32_t path_above(const struct mg_path *p, uint32_t i)
{
	return MG_RETURN_BELOW ? 0 : p->above[i];
}

/* Stores in a path a walk of `n` steps to frame `base`, all by rules of the form CFA = sp +
 * offset. */
static __attribute__((noinline)) void fill_path(const struct mg_writer *t, struct mg_path *p,
						int32_t base, uint32_t n)
{
	p->n = n;
	for (uint32_t i = 0; i + 1 < n; i++) {
		p->at[i] = (struct mg_slot){t->steps[i + 1].slot, t->steps[i + 1].ip};
		put_above(p, i, above_of(&t->steps[i + 1]));
	}
	p->at[n - 1] = (struct mg_slot){t->slot[base], t->ip[base]};
	put_above(p, n - 1, t->frame[base].need);
	for (; n % 4; n++)
		p->at[n] = (struct mg_slot){(uint64_t)&t->zero, 0};
}

/* Stores a walk in a path from its second occurrence on: most walks that occur once never occur
 * again. */
MG_INLINE void remember_path(struct mg_writer *t, struct mg_path *p, const uint64_t *frame,
			     int32_t base, uint32_t n)
{
	uint64_t ip = frame[1], sp = MG_FRAME_SP(frame);
	if (p->sp != sp || p->ip != ip) {
		p->ip = ip;
		p->sp = sp;
		p->n = 0;
	} else if (mg_may_keep()) {
		t->rules_used = true;
		fill_path(t, p, base, n);
	}
}

/* Tells whether the walk from here would take the same steps as path `p`. Compares every word
 * that the walk would read. */
MG_INLINE bool path_holds(const struct mg_path *p, const struct walk *w, bool careful)
{
	if (p->sp != w->sp || p->ip != w->ip || !p->n || p->at[p->n - 1].address > w->high - 8)
		return false;
	uint64_t i = 0;
	for (; MG_UNLIKELY(careful) && i < p->n; i++)
		if (mg_code_bits(load(p->at[i].address)) != p->at[i].value)
			return false;
	for (i = 0; i < p->n; i += 4) {
		uint64_t x = 0;
#pragma GCC unroll 4
		for (uint64_t k = i; k < i + 4; k++)
			x |= load(p->at[k].address) ^ p->at[k].value;
#ifdef MG_SEED_STALE_PATH
		x = 0;
#endif
		if (MG_UNLIKELY(mg_code_bits(x)))
			return false;
	}
	return true;
}

/* Returns the frame of the previous stack to which the path leads, or -1; *n: number of new
 * frames inside that frame. */
MG_INLINE int32_t follow_path(struct mg_writer *t, const struct mg_path *p, const struct walk *w,
			      int32_t last, uint32_t *n)
{
	uint64_t slot = w->sp - 8, ip = w->ip;
	int32_t j = *index_of(t, slot), next;
	if (!((t->slot[j] ^ slot) | (t->ip[j] ^ ip)) && j <= last &&
	    mg_same_above(t->frame[j].need, mg_above(w->sp, slot)) &&
	    (!(t->frame[j].need & 1) || t->frame[j].bp == w->bp)) {
		if (MG_LIKELY(suffix_holds(t, j, &last)))
			return j;
	}
	if (!path_holds(p, w, t->careful))
		return -1;
	uint32_t left = (uint32_t)p->n;
	slot = p->at[left - 1].address;
	ip = p->at[left - 1].value;
	j = *index_of(t, slot);
	if (((t->slot[j] ^ slot) | (t->ip[j] ^ ip)) || j > last ||
	    !mg_same_above(t->frame[j].need, path_above(p, left - 1)) || t->frame[j].need & 1 ||
	    !suffix_holds(t, j, &next) || (uint32_t)j + left >= t->capacity)
		return -1;
	/* Frames further inside may also equal frames of the previous stack. */
	for (; left > 1 && j < last; left--, j++)
		if (t->slot[j + 1] != p->at[left - 2].address ||
		    t->ip[j + 1] != p->at[left - 2].value ||
		    !mg_same_above(t->frame[j + 1].need, path_above(p, left - 2)))
			break;
	*n = left;
	return j;
}

/* Replaces the frames inside frame `base` by the first `n` frames of a path, which need no bp and
 * add nothing to `checks`. */
MG_INLINE void take_path(struct mg_writer *t, const struct mg_path *p, int32_t base, uint32_t n,
			 uint64_t *out)
{
	uint32_t at = (uint32_t)(base + 1), checks = base ? t->frame[base - 1].checks_to : 0;
	t->frame[base].checks_to = checks; /* U2 */
	for (uint32_t i = n; i-- > 0; at++) {
		uint64_t ip = i ? p->at[i - 1].value : p->ip;
		uint64_t slot = i ? p->at[i - 1].address : p->sp - 8;
		t->ip[at] = *out++ = ip;
		t->slot[at] = slot;
		uint32_t above = i ? path_above(p, i - 1) : mg_above(p->sp, slot);
		*index_of(t, slot) = (uint16_t)at;
		t->frame[at] = (struct mg_frame){.bp = 0, .checks_to = checks, .need = above};
	}
}

/* Makes a step by a rule that does not fit into the thread's own table, then further ones up to a
 * frame whose rule may fit. Returns false if the walk ends here. */
static __attribute__((noinline)) bool step_other(struct mg_writer *t, struct walk *w, uint32_t *n)
{
	do {
		w->deep = *n >= t->limit;
		w->copy = t->brief; /* a brief writer ends the walk here, but does not send a copy
				       of the stack */
		if (w->deep || w->copy)
			return false;
		uint64_t rule = rule_of(w->ip, t->epoch);
		if (rule == MG_RULE_NO_CODE && *n) {
			w->flags |= MG_F_TRUNCATED;
			w->keepable = false;
			return false;
		}
		struct mg_step *s = &t->steps[(*n)++];
		*s = (struct mg_step){.ip = w->ip,
				      .slot = mg_slot_of(w->sp, w->slot),
				      .bp = w->bp,
				      .rule = MG_STEP_OTHER | MG_RULE_NEED(rule)};
		s->rule |= MG_STEP_ABOVE(mg_above(w->sp, s->slot));
		if (!step(w, rule))
			return false;
		if (w->v8 == w->sp)
			s->rule |= MG_NEED_YES;
		s->bp_slot = w->bp_slot;
		s->cfa_slot = w->cfa_slot;
	} while (w->ip & MG_EXACT_IP);
	return true;
}

/* Steps from the hook's caller to a frame of the previous stack, or to the end. Returns the
 * index of that frame, or -1; stores in *count the number of steps, and in *rules the bits of
 * their rules. One function, so that the state of the walk stays in registers. */
MG_INLINE int32_t follow(struct mg_writer *t, struct walk *w, uint32_t *count, uint64_t *rules)
{
	uint64_t ip = w->ip, sp = w->sp, bp = w->bp, all = 0, slot = w->sp - 8;
	uint64_t high = w->high;
	const struct mg_step *end = t->steps + t->limit;
	struct mg_step *s = t->steps;
	int32_t last = (int32_t)t->frames - 1, j;
	for (;;) {
		slot = mg_slot_of(sp, slot);
		j = *index_of(t, slot);
		if (!((t->slot[j] ^ slot) | (t->ip[j] ^ ip)) && MG_LIKELY(j <= last) &&
		    MG_LIKELY(mg_same_above(t->frame[j].need, mg_above(sp, slot))) &&
		    MG_LIKELY(!(t->frame[j].need & 1) || t->frame[j].bp == bp) &&
		    MG_LIKELY(suffix_holds(t, j, &last)))
			break;
		uint64_t rule = t->rules[MG_OWN_INDEX(ip)] ^ MG_OWN_REST(ip);
		if (MG_UNLIKELY(rule - 1 >= (1 << MG_OWN_RULE_BITS) - 1)) {
			rule = own_rule_miss(t, ip);
			if (!rule)
				goto other;
		}
		uint64_t cfa = sp + MG_OWN_OFFSET(rule), at = cfa - MG_OWN_WHERE(rule);
		bool good = s < end;
		if (rule & MG_OWN_FROM_BP) {
			cfa = bp + MG_OWN_OFFSET(rule);
			at = cfa - MG_OWN_WHERE(rule);
			good &= cfa > sp && !(cfa & 7) && at >= sp;
		}
		uint64_t next = 0, from = MG_OWN_RETURN_SLOT(rule, cfa);
		if (MG_LIKELY(cfa <= high && good))
			next = mg_code_bits(load(from));
		if (MG_LIKELY(next - 4096 < MG_ADDRESS_END - 4096)) {
			uint64_t loaded = load(at);
			s->ip = ip;
			s->slot = slot;
			s->bp = bp;
			s->rule = rule | MG_STEP_ABOVE(mg_above(sp, slot));
			s++;
			all |= rule;
			/* Both outcomes are equally frequent, so a branch would often be predicted
			 * wrongly. */
			bp = mg_choose(bp, loaded, rule, MG_OWN_LOADS_BP);
			ip = next;
			sp = cfa;
			slot = from;
			continue;
		}
	other:;
		uint32_t n = (uint32_t)(s - t->steps);
		struct walk other; /* without zeros for what the step sets */
		other.ip = ip;
		other.sp = sp;
		other.bp = bp;
		other.slot = slot;
		other.link = 0;
		other.low = w->low;
		other.high = high;
		other.v8 = w->v8;
		other.flags = w->flags;
		other.epoch = t->epoch;
		other.keepable = w->keepable;
		bool on = step_other(t, &other, &n);
		s = t->steps + n;
		all |= MG_STEP_OTHER;
		*w = other;
		ip = w->ip;
		sp = w->sp;
		slot = w->slot;
		bp = w->bp;
		high = w->high; /* changed if the signal handler ran on another stack */
		j = -1;
		if (!on)
			break;
		if (!w->keepable)
			last = -1;
	}
	*count = (uint32_t)(s - t->steps);
	*rules = all;
	w->bp = bp;
	if (j < 0)
		return -1;
	w->deep = (uint32_t)j + *count >= t->capacity;
	return w->deep ? -1 : j;
}

/* Kept as one function for speed, because every allocation waits for its result. */
bool mg_unwind(struct mg_writer *t, const uint64_t *frame, uint32_t words)
{
	struct walk w = {.ip = frame[1],
			 .sp = MG_FRAME_SP(frame),
			 .bp = frame[0],
			 .high = t->high,
			 .keepable = true};
	if (MG_UNLIKELY(w.sp - t->low >= w.high - t->low))
		w.high = mg_new_stack(t, w.sp);
	w.low = w.sp;
	uint32_t n = 0;
	struct mg_path *p = path_of(t, w.ip, w.sp);
	int32_t base = -1;
	if (MG_LIKELY(t->frames)) /* paths are not used while sampling: see whole.c */
		base = follow_path(t, p, &w, (int32_t)t->frames - 1, &n);
	if (base >= 0) {
		if (n) {
			uint64_t *out = (uint64_t *)(void *)(t->window + t->offset) + words;
			if (MG_UNLIKELY(!mg_has_room(t, words + n)))
				out = t->ip + base + 1;
			take_path(t, p, base, n, out);
		}
		t->frames = (uint32_t)base + 1 + n;
		t->keep = (uint32_t)(base + 1);
		if (MG_UNLIKELY(mg.verify))
			mg_verify(t, frame, false);
		return true;
	}
	uint64_t rules = 0;
	base = follow(t, &w, &n, &rules);
	if (MG_UNLIKELY(w.copy)) {
		mg_forget(t);
		return false;
	}
	if (MG_UNLIKELY(w.deep)) {
		if (mg_deepen(t))
			return mg_unwind(t, frame, words);
		too_deep(t);
		w.flags |= MG_F_TRUNCATED;
		w.keepable = false;
	}
	if (MG_LIKELY(!n && base >= 0 && !mg.verify)) {
		t->frames = t->keep = (uint32_t)base + 1;
		return true;
	}
	uint64_t *out = (uint64_t *)(void *)(t->window + t->offset) + words;
	if (MG_UNLIKELY(n > MG_FRAMES_RECORD || !mg_has_room(t, words + n)))
		out = t->ip + base + 1; /* position of the new frames in t->ip */
	if (base >= 0 && !(rules & (MG_STEP_OTHER | MG_OWN_FROM_BP)) &&
	    !(t->frame[base].need & 1)) {
		if (n) {
			take_plain(t, base, n, out);
			if (n <= MG_PATH_MOST && w.keepable && t->keepable)
				remember_path(t, p, frame, base, n);
		}
	} else {
		take(t, base, n, w.bp, out);
	}
	t->frames = (uint32_t)base + 1 + n;
	t->keep = (uint32_t)(base + 1);
	if (MG_UNLIKELY(base < 0)) {
		t->root_flags = (uint16_t)w.flags;
		if (n < t->limit)
			t->limit = t->capacity;
	}
	if (MG_UNLIKELY(!w.keepable))
		t->keepable = false;
	if (MG_UNLIKELY(mg.verify))
		mg_verify(t, frame, w.flags & MG_F_TRUNCATED);
	return true;
}
