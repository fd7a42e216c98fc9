/* SPDX-License-Identifier: MIT
 * Takes call stacks while sampling, by remembering whole ones.
 *
 * Samples are so far apart in time that little of the data of unwind.c is still cached, and most of
 * a walk's time is spent waiting for memory. So for each stack that occurs again, all words that
 * its walk read are stored in one place, and compared.
 *
 * This is sound by the argument of unwind.c, with the hook's caller as the frame that is met, and
 * the root as the outermost one. The caller's ip and sp are compared, its bp if needed, and all
 * slots and all `checks` of the stack; and only stacks that unwind.c may keep are kept here.
 *
 *  W1 The kept part of the previous stack is the part that is equal in both, including slots.
 *  W2 Of the arrays of unwind.c only ip and slot belong to the stack taken last. So a walk begins
 *     with no previous stack; it meets none of its frames, and looks for no path, because the whole
 *     stacks take the paths' memory.
 */
#include "core.h"

/* entries of value[] prefetched: enough for most stacks, and as many as share cache lines with
 * at[0] */
#define AHEAD 16
/* number of callers in the key: the same functions allocate for many callers */
#define KEY_STEPS 3

/* Returns the table entry for stacks like the current one. Returns NULL if the thread is on another
 * stack than at its last event, and the bounds of that stack are not known yet. */
static struct mg_whole *whole_of(const struct mg_writer *t, const uint64_t *frame)
{
	uint64_t ip = frame[1], sp = MG_FRAME_SP(frame);
	if (sp - t->low >= t->high - t->low)
		return NULL;
	uint64_t key = (ip ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < KEY_STEPS; i++) {
		uint64_t rule = t->rules[MG_OWN_INDEX(ip)] ^ MG_OWN_REST(ip);
		if (rule - 1 >= (1 << MG_OWN_RULE_BITS) - 1 || rule & MG_OWN_FROM_BP)
			break;
		sp += MG_OWN_OFFSET(rule);
		if (sp > t->high)
			break;
		ip = mg_code_bits(load(MG_OWN_RETURN_SLOT(rule, sp)));
		key = (key ^ ip) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return &mg_memory_of(t)->wholes[key >> (64 - MG_WHOLE_BITS)];
}

bool mg_whole_holds(const struct mg_writer *t, const struct mg_whole *m, const uint64_t *frame)
{
	uint64_t base = MG_FRAME_SP(frame) - 8, x = 0;
	if (m->sp != base + 8 || m->ip != frame[1] || !m->frames ||
	    (m->need && m->bp != frame[0]) || base + m->top * UINT64_C(8) + 8 > t->high)
		return false;
	/* Compare from call to call, in the order of a walk: an earlier stack here may have been
	 * larger. */
	for (uint32_t i = m->frames - 1u; !x && i-- > 0;)
		x = mg_code_bits(load(base + m->at[i] * UINT64_C(8)) ^ m->value[i]);
	for (uint32_t i = m->frames; !x && i < m->words; i++)
		x = load(base + m->at[i] * UINT64_C(8)) ^ m->value[i];
#ifdef MG_SEED_STALE_WHOLE
	x = 0;
#endif
	return !x;
}

/* Makes `m` the previous stack, and writes into the ring the frames that differ. */
static void take_whole(struct mg_writer *t, const struct mg_whole *m, uint32_t words)
{
	uint64_t base = m->sp - 8;
	uint32_t k = 0, n = m->frames;
	while (k < n && k < t->frames && t->ip[k] == m->value[k] &&
	       t->slot[k] == base + m->at[k] * UINT64_C(8))
		k++;
	uint64_t *out = (uint64_t *)(void *)(t->window + t->offset) + words;
	if (MG_UNLIKELY(!mg_has_room(t, words + n - k)))
		out = t->ip + k;
	t->keep = k;
	for (; k < n; k++) {
		t->ip[k] = *out++ = m->value[k];
		t->slot[k] = base + m->at[k] * UINT64_C(8);
	}
	t->frames = n;
	t->root_flags = m->flags;
}

static void put_word(struct mg_whole *m, uint64_t address, uint64_t value)
{
	uint16_t at = (uint16_t)((address - (m->sp - 8)) / 8);
	m->at[m->words] = at;
	m->value[m->words++] = value;
	if (at > m->top)
		m->top = at;
}

/* Stores in `m` the words that the last walk read, if a walk with the same start has occurred
 * before. */
static void remember_whole(struct mg_writer *t, struct mg_whole *m, const uint64_t *frame)
{
	uint64_t sp = MG_FRAME_SP(frame);
	uint32_t n = t->frames, checks = n ? t->frame[n - 1].checks_to : 0;
	bool again = m->sp == sp && m->ip == frame[1];
	m->ip = frame[1];
	m->sp = sp;
	m->frames = m->words = m->sent = 0;
	m->top = 0;
	if (!again || !n || n + checks > MG_WHOLE_MOST || t->high - sp > UINT16_MAX * UINT64_C(8))
		return;
	t->rules_used = true;
	m->bp = frame[0];
	m->need = t->frame[n - 1].need != 0;
	m->flags = (uint8_t)t->root_flags;
	for (uint32_t i = 0; i < n; i++)
		put_word(m, t->slot[i], t->ip[i]);
	for (uint32_t i = 0; i < checks; i++)
		put_word(m, t->checks[i].address, t->checks[i].value);
	m->frames = (uint8_t)n;
}

struct mg_whole *mg_whole_ahead(const struct mg_writer *t, const uint64_t *frame)
{
	struct mg_whole *m = whole_of(t, frame);
	for (const char *p = (const char *)m; m && p < (const char *)(m->value + AHEAD); p += 64)
		__builtin_prefetch(p);
	if (m)
		__builtin_prefetch(m->at);
	for (uint32_t i = 0; i < 16; i += 8) {
		__builtin_prefetch(t->ip + i, 1);
		__builtin_prefetch(t->slot + i, 1);
	}
	return m;
}

bool mg_unwind_whole(struct mg_writer *t, struct mg_whole *m, const uint64_t *frame, uint32_t words)
{
	if (m && mg_whole_holds(t, m, frame)) {
		take_whole(t, m, words);
		if (MG_UNLIKELY(mg.verify))
			mg_verify(t, frame, t->root_flags & MG_F_TRUNCATED);
		return true;
	}
	mg_forget(t);
	if (!mg_unwind(t, frame, words))
		return false;
	if (m && t->keepable && mg_may_keep())
		remember_whole(t, m, frame);
	return true;
}

bool mg_unwind_sampled(struct mg_writer *t, const uint64_t *frame, uint32_t words)
{
	return mg_unwind_whole(t, whole_of(t, frame), frame, words);
}
