/* SPDX-License-Identifier: MIT
 * Takes a thread's call stack by stepping only where it differs from the thread's previous one.
 *
 *   previous stack, outermost first              a frame's slots lie in its callee:
 *
 *   0     1     2           j    j+1  ... frames-1       slot[i]    where ip[i] was read (sp of
 * frame i, minus 8) _start main  a     ...  f     g                      checks     where bp[i] was
 * read, when it matters (need[i]),
 *   <------ kept -------->|<-- replaced -->                         and where sp was read, for a
 * realigned stack checks_to[i] = entries of the frames 0..i
 *
 * Why reuse is sound. The state of a frame is (ip, sp, rbp). Its caller's state is a function of
 * that state and the contents of the slots that the rule of ip names: the return address, and where
 * they are in memory the saved rbp and the saved sp. Nothing else is read. So if this walk reaches
 * a state that frame j of the previous stack had, and all slots of frames j-1..0 hold what they
 * held then, each step from j outwards gives the same state as then, by induction. No history is
 * assumed: whether the memory was rewritten meanwhile (longjmp, exceptions, alloca, a callee that
 * returned and was called again) is seen by its contents, and if it was rewritten with the same
 * values the result is the same. U1 rbp is part of the state only where a later step can depend on
 * it: need[i] is false for a frame whose CFA is not taken from rbp and whose caller's rbp comes
 * from memory; a frame that hands rbp on needs it if its caller does. U2 Slots of frame i are in
 * its callee, which may be another one this time. When frame j was reached through new callees its
 * own entries in `checks` are replaced by those just read; else a later walk would verify a slot
 * that no longer feeds it. U3 A slot is read only in [sp, high] of the thread's own stack, sp being
 * the walk's first. Every slot of frames outside j is above slot[j], which is at least that,
 * because a rule whose slots are below its frame's sp is not simple. U4 Rules can change only with
 * an epoch. A thread that sees a new epoch forgets its previous stack. U5 Kept is only what this
 * argument covers: no stack with a signal frame, on a foreign stack, through unknown code, that
 * ended because of memory contents instead of a rule, or taken while a module is being closed.
 */
#include "core.h"

MG_INLINE uint64_t load(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

MG_INLINE uint64_t rule_of(uint64_t ip, uint32_t epoch)
{
	const struct mg_rule_table *t = __atomic_load_n(&mg.table, __ATOMIC_ACQUIRE);
	uint64_t key = MG_RULE_KEY(ip, epoch), hash = MG_RULE_HASH(key);
	uint64_t h = hash >> t->shift, mask = (UINT64_C(1) << (64 - t->shift)) - 1;
	for (uint32_t i = 0; i < MG_RULE_PROBES; i++) {
		const struct mg_rule_slot *slot = &t->slots[(h + i) & mask];
		uint64_t k = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
		if (MG_LIKELY(k == key)) {
			uint64_t rule = __atomic_load_n(&slot->rule, __ATOMIC_ACQUIRE);
			if (MG_LIKELY(__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) == key &&
				      (rule >> 24 & 0xff) == MG_RULE_CHECK(hash, epoch)))
				return rule;
			break;
		}
		if (!k)
			break;
	}
	return mg_rule_miss(ip, epoch);
}

/* A walk under way. */
struct walk {
	uint64_t ip, sp, bp;
	uint64_t low, high; /* slots may be read in [low, high) */
	uint64_t bp_slot, bp_value, cfa_slot, cfa_value;
	uint32_t flags;
	bool copy; /* cannot go on: send a copy */
	bool keepable;
	bool deep; /* more frames than there is room for */
};

/* Do the frames outside `j` still hold? If not, *next is the innermost frame that may still be met.
 */
MG_INLINE bool suffix_holds(const struct mg_writer *t, int32_t j, int32_t *next)
{
	const uint64_t *ip = t->ip, *slot = t->slot;
	int32_t k = j - 1;
	for (; k >= 7; k -= 8) {
		uint64_t x = 0;
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			x |= load(slot[k - i]) ^ ip[k - i];
		if (MG_UNLIKELY(x))
			break;
	}
	while (k >= 0 && load(slot[k]) == ip[k])
		k--;
	int32_t q = j > 0 ? (int32_t)t->checks_to[j - 1] - 1 : -1;
	const struct mg_slot *checks = t->checks;
	for (; q >= 3; q -= 4) {
		uint64_t x = 0;
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			x |= load(checks[q - i].address) ^ checks[q - i].value;
		if (MG_UNLIKELY(x))
			break;
	}
	while (q >= 0 && load(checks[q].address) == checks[q].value)
		q--;
	if (MG_LIKELY(k < 0 && q < 0))
		return true;
	if (q >= 0) { /* the frame that this entry belongs to */
		int32_t f = j - 1;
		while (f > 0 && (int32_t)t->checks_to[f - 1] > q)
			f--;
		if (f > k)
			k = f;
	}
	*next = k;
	return false;
}

/* U3: may [at, at + 8) be a slot of a frame whose sp is `sp`? */
MG_INLINE bool is_slot(const struct walk *w, uint64_t sp, uint64_t at)
{
	return at - sp < w->high - sp && w->high - at >= 8 && !(at & 7);
}

/* The kernel's frame: sp points at struct ucontext, whose gregs begin at 40: rbp is the 11th, rsp
 * the 16th, rip the 17th. */
static bool step_signal(struct walk *w)
{
	if (w->high < w->sp || w->high - w->sp < 176) {
		w->copy = true;
		return false;
	}
	uint64_t uc = w->sp;
	w->ip = load(uc + 168) | MG_EXACT_IP;
	w->bp = load(uc + 120);
	w->sp = load(uc + 160);
	w->bp_slot = w->cfa_slot = 0;
	w->keepable = false;
	/* The handler may have run on a stack of its own: then the interrupted frames are
	 * elsewhere, and only our own stack is known. */
	if (w->sp - w->low >= w->high - w->low || w->sp & 7)
		w->copy = true;
	return !w->copy;
}

/* The steps that are not CFA = register + offset, and the ends. */
static bool step_rare(struct walk *w, uint64_t rule, uint64_t *cfa)
{
	uint64_t at;
	switch (MG_RULE_TYPE(rule)) {
	case MG_RULE_DEREF:
		at = w->bp + (uint64_t)MG_RULE_CFA_OFFSET(rule);
		if (!is_slot(w, w->sp, at))
			break;
		w->cfa_slot = at;
		w->cfa_value = *cfa = load(at);
		return true;
	case MG_RULE_END:
		return false;
	case MG_RULE_NONE:
		/* The dynamic linker's entry, which has no CFI, is the root of what it calls. */
		if (w->sp - (mg.main_entry - 64) >= 128)
			w->flags |= MG_F_TRUNCATED;
		return false;
	}
	w->copy = true;
	return false;
}

/* Steps to the caller; false = the walk ends here, or has to be a copy. */
MG_INLINE bool step(struct walk *w, uint64_t rule)
{
	uint32_t type = MG_RULE_TYPE(rule);
	uint64_t cfa = (type & 1 ? w->sp : w->bp) + (uint64_t)MG_RULE_CFA_OFFSET(rule);
	w->cfa_slot = 0;
	if (MG_UNLIKELY(type > MG_RULE_RBP)) {
		if (type == MG_RULE_SIGNAL)
			return step_signal(w);
		if (!step_rare(w, rule, &cfa))
			return false;
	}
	if (MG_UNLIKELY(cfa <= w->sp || cfa > w->high || cfa & 7)) {
		w->flags |= MG_F_TRUNCATED;
		w->keepable = false;
		return false;
	}
	w->bp_slot = 0;
	if (MG_RULE_BP(rule) != MG_BP_SAME) {
		uint64_t base = MG_RULE_BP(rule) == MG_BP_AT_CFA ? cfa : w->bp;
		uint64_t at = base + (uint64_t)MG_RULE_BP_OFFSET(rule);
		if (MG_UNLIKELY(!is_slot(w, w->sp, at))) {
			w->copy = true;
			return false;
		}
		w->bp_slot = at;
		w->bp_value = w->bp = load(at);
	}
	w->ip = load(cfa - 8);
	w->sp = cfa;
	if (MG_UNLIKELY(w->ip - 4096 >= (UINT64_C(1) << 47) - 4096)) {
		if (w->ip) /* a 0 says that this was the root; no frame follows either way */
			w->flags |= MG_F_TRUNCATED;
		w->keepable = false;
		return false;
	}
	return true;
}

/* Entries of a frame in `checks`, from where the walk read its state. */
MG_INLINE uint32_t add_checks(struct mg_writer *t, uint32_t n, const struct mg_step *s, bool need)
{
	if (s->bp_slot && need)
		t->checks[n++] = (struct mg_slot){s->bp_slot, s->bp_value};
	if (s->cfa_slot)
		t->checks[n++] = (struct mg_slot){s->cfa_slot, s->cfa_value};
	return n;
}

/* Makes the walk's `n` steps the part of the stack inside frame `base` (-1 = all of it is new). */
MG_INLINE void take(struct mg_writer *t, int32_t base, uint32_t n, const struct walk *w)
{
	(void)w; /* unused with the seeded fault */
	bool need = base >= 0 && t->need[base];
	uint32_t checks = base >= 0 ? t->checks_to[base] : 0;
#ifndef MG_SEED_STALE_SLOT
	if (base >= 0 && n) { /* U2 */
		const struct mg_step met = {.bp_slot = w->bp_slot,
					    .bp_value = w->bp_value,
					    .cfa_slot = w->cfa_slot,
					    .cfa_value = w->cfa_value};
		t->bp[base] = w->bp;
		checks = add_checks(t, base > 0 ? t->checks_to[base - 1] : 0, &met, need);
		t->checks_to[base] = checks;
	}
#endif
	uint32_t at = (uint32_t)(base + 1);
	for (uint32_t i = n; i-- > 0; at++) {
		const struct mg_step *s = &t->steps[i];
		if (MG_RULE_NEED(s->rule) != MG_NEED_INHERIT)
			need = MG_RULE_NEED(s->rule) == MG_NEED_YES;
		t->ip[at] = s->ip;
		t->slot[at] = s->slot;
		t->bp[at] = s->bp;
		t->need[at] = need;
		checks = add_checks(t, checks, s, need);
		t->checks_to[at] = checks;
	}
	t->frames = at;
	t->keep = (uint32_t)(base + 1);
}

/* The stack was deeper than the limit: only its leaf part was walked. Until a stack is seen whole
 * again, few frames are tried, so that what a deep recursion costs is bounded. */
static void too_deep(struct mg_writer *t, struct walk *w)
{
	w->flags |= MG_F_TRUNCATED;
	w->keepable = false;
	if (t->limit == t->capacity) {
		t->limit = MG_FRAMES_SHORT < t->capacity ? MG_FRAMES_SHORT : t->capacity;
		t->tries = 0;
	} else if (++t->tries % 64 == 0) {
		t->limit = t->capacity;
	}
}

static bool own_stack(struct mg_writer *t, struct walk *w)
{
	w->low = __atomic_load_n(&t->ring->stack_low, __ATOMIC_RELAXED);
	w->high = __atomic_load_n(&t->ring->stack_high, __ATOMIC_RELAXED);
	return w->sp - w->low < w->high - w->low && w->high >= w->low;
}

#ifdef MG_JUDGE
void mg_judge(struct mg_writer *t, const uint64_t *frame) __attribute__((visibility("hidden")));
#endif

/* Verification: the same stack by a walk that uses nothing remembered, neither frames nor rules. */
static __attribute__((noinline)) void verify(struct mg_writer *t, const uint64_t *frame, bool cut)
{
	struct walk w = {
		.ip = frame[1], .sp = (uint64_t)(frame + 2), .bp = frame[0], .keepable = true};
	bool same = own_stack(t, &w);
	w.low = w.sp;
	uint32_t at = t->frames;
	while (same) {
		same = at > 0 && t->ip[--at] == w.ip;
		if (!at && cut)
			break; /* no more was sent, whatever comes */
		if (!same || !step(&w, mg_rule_derive(w.ip)))
			break;
	}
	if (!same || at != 0 || w.copy)
		t->ring->mismatched++;
	t->ring->verified++;
#ifdef MG_JUDGE
	mg_judge(t, frame);
#endif
}

/* Steps from the hook's caller to a frame that the previous stack holds, or to the end. Returns
 * that frame's index or -1, and in *n the number of steps kept. */
MG_INLINE int32_t follow(struct mg_writer *t, struct walk *w, uint32_t *n)
{
	int32_t j = (int32_t)t->frames - 1;
	for (;;) {
		uint64_t slot = w->sp - 8;
		while (j >= 0 && t->slot[j] < slot)
			j--;
		if (j >= 0 && t->slot[j] == slot && t->ip[j] == w->ip &&
		    (t->bp[j] == w->bp || !t->need[j]) && w->keepable &&
		    MG_LIKELY(suffix_holds(t, j, &j))) {
			w->deep = (uint32_t)j + *n >= t->capacity;
			return w->deep ? -1 : j;
		}
		w->deep = *n >= t->limit;
		if (MG_UNLIKELY(w->deep))
			return -1;
		uint64_t rule = rule_of(w->ip, t->epoch);
		t->steps[(*n)++] =
			(struct mg_step){w->ip,       slot,        w->bp,        w->bp_slot,
					 w->bp_value, w->cfa_slot, w->cfa_value, rule};
		if (!step(w, rule))
			return -1;
	}
}

bool mg_unwind(struct mg_writer *t, const uint64_t *frame)
{
	struct walk w = {
		.ip = frame[1], .sp = (uint64_t)(frame + 2), .bp = frame[0], .keepable = true};
	if (MG_UNLIKELY(!own_stack(t, &w))) {
		mg_forget(t);
		return false;
	}
	w.low = w.sp;
	uint32_t n = 0;
	int32_t base = follow(t, &w, &n);
	if (MG_UNLIKELY(w.copy)) {
		mg_forget(t);
		return false;
	}
	if (MG_UNLIKELY(w.deep)) {
		if (mg_deepen(t))
			return mg_unwind(t, frame);
		too_deep(t, &w);
	}
	take(t, base, n, &w);
	if (base < 0) {
		t->root_flags = w.flags;
		if (n < t->limit)
			t->limit = t->capacity;
	}
	t->keepable &= w.keepable;
	t->ring->stepped += n;
	t->ring->reused += t->keep;
	if (MG_UNLIKELY(mg.session->verify))
		verify(t, frame, w.deep);
	return true;
}

/* A live hook's return address is read by a walk that comes past it, through the signal handler's
 * frame; two live hooks have not one frame. */
bool mg_still_inside(struct mg_writer *t, const uint64_t *frame)
{
	struct walk w = {.ip = frame[1], .sp = (uint64_t)(frame + 2), .bp = frame[0]};
	uint64_t slot = t->busy + 8;
	if (!own_stack(t, &w))
		return true; /* a signal stack */
	if (t->busy - w.low >= w.high - w.low)
		return false; /* was on another stack, and this is not one that a signal interrupts
				 it with */
	w.low = w.sp;
	uint32_t epoch = __atomic_load_n(&mg.session->epoch, __ATOMIC_ACQUIRE);
	for (uint32_t n = 0; w.sp - 8 <= slot; n++) {
		if (w.sp - 8 == slot)
			return n > 0;
		if (n == MG_FRAMES_MAX || !step(&w, rule_of(w.ip, epoch)))
			return true;
	}
	return false;
}
