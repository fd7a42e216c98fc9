/* SPDX-License-Identifier: MIT
 * Implements one step from a frame to its caller, by the rule of its ip, from which every walk is
 * built. All but the rare cases is inlined into the walks.
 */
#pragma once

#include "core.h"

/* Holds the state of a stack walk in progress. */
struct walk {
	uint64_t ip, sp, bp;
	uint64_t slot;      /* where ip was read; see mg_slot_of */
	uint64_t link;      /* the return address, if it may still be in a register; else 0 */
	uint64_t low, high; /* stack words may be read in [low, high) */
	uint64_t bp_slot, cfa_slot; /* addresses from which bp and sp were read, 0 = none */
	uint64_t v8;                /* sp after the last step from a frame of V8's or Java's code */
	uint32_t flags;
	uint32_t epoch; /* epoch of the rules */
	bool copy;      /* the walk cannot continue: a copy of the stack has to be sent */
	bool keepable;
	bool deep; /* the stack has more frames than fit */
};

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

/* Tells whether [at, at + 8) may be a stack word of a frame whose sp is `sp` (U3 in unwind.c). */
MG_INLINE bool is_slot(const struct walk *w, uint64_t sp, uint64_t at)
{
	return at - sp < w->high - sp && w->high - at >= 8 && !(at & 7);
}

/* Steps from the kernel's signal frame, in which sp points at struct ucontext. */
static bool step_signal(struct walk *w)
{
	struct mg_range r = {0};
	uint64_t uc = w->sp;
	w->keepable = false;
	w->flags |= MG_F_TRUNCATED; /* stays set if the walk ends here */
	if (w->high < uc || w->high - uc < MG_SIGNAL_BYTES)
		return false;
	w->ip = load(uc + MG_SIGNAL_IP) | MG_EXACT_IP;
	w->bp = load(uc + MG_SIGNAL_BP);
	w->sp = load(uc + MG_SIGNAL_SP);
	w->slot = w->sp - 8;
	w->link = MG_SIGNAL_LINK ? mg_code_bits(load(uc + MG_SIGNAL_LINK)) : 0;
	w->bp_slot = w->cfa_slot = 0;
	/* The handler may have run on a stack of its own; then the interrupted frames are on
	 * another stack. */
	if (w->sp & 7 || (w->sp - w->low >= w->high - w->low && !mg_find_stack(w->sp, &r)))
		return false;
	if (r.end)
		w->high = r.end;
	w->low = w->sp;
	w->flags &= ~MG_F_TRUNCATED;
	return true;
}

/* Tells whether bp points to the current frame, as in code of V8 and Java, which has no CFI.
 *
 * V8's garbage collector follows bp from a frame that calls other code, through all of V8's
 * frames up to the one that other code called, so bp points to each of these frames. Below its
 * bp, the calling frame holds its kind, a small even number, and the sp with which it calls. No
 * outer frame can contain that sp, so it identifies the frame. Other calls of V8, some from code
 * without a frame, are never seen by its collector.
 *
 * Java's code keeps bp if the virtual machine was started with that option, which ms-record
 * reads from the machine's memory. Two stubs are exceptions, which call out when an exception is
 * thrown or optimized code is left. They do not change bp, and have bp and their return address
 * at their sp. (The interpreter may have the same there: a leftover value and an address within
 * the code that it executes.) */
static bool is_at_bp(struct walk *w, uint64_t rule)
{
	uint32_t type = MG_RULE_TYPE(rule);
	uint64_t bp = w->bp, low = w->v8 == w->sp || type == MG_RULE_FRAMED ? bp : bp - 16;
	if (type == MG_RULE_COMPLEX || type == MG_RULE_NO_CODE ||
	    (type == MG_RULE_NONE && MG_RULE_CFA_OFFSET(rule)) || /* the address follows no call */
	    !is_slot(w, w->sp, low) || !is_slot(w, w->sp, bp + 8) ||
	    (low != bp && (load(low) != w->sp || load(bp - 8) & ~UINT64_C(126))))
		return false;
	if (type == MG_RULE_FRAMED && w->v8 != w->sp && load(w->sp) == bp &&
	    w->ip - load(w->sp + 8) > 255 && MG_RULE_TYPE(mg_rule_outside(load(w->sp + 8))) == type)
		return false;
	w->v8 = bp + 16;
	return true;
}

/* Tells whether the return address below `cfa` follows a call; on a stack that the program made
 * itself, the outermost one need not. Also checks that bp is the frame pointer, if the rule
 * requires that. */
static bool is_left(const struct walk *w, uint64_t rule, uint64_t cfa)
{
	if (cfa <= w->sp || cfa > w->high || cfa & 7 ||
	    (MG_RULE_BP(rule) == MG_BP_AT_BP && w->bp != cfa - 16))
		return false;
	uint64_t slot = MG_RETURN_SLOT(rule, cfa);
	rule = rule_of(mg_code_bits(load(slot)), w->epoch);
	if (MG_RULE_TYPE(rule) == MG_RULE_NONE && MG_RULE_CFA_OFFSET(rule))
		return !mg_own_stack(slot, &(struct mg_range){0});
	return MG_RULE_TYPE(rule) != MG_RULE_NO_CODE;
}

/* Computes the CFA for rules other than register + offset; false = the walk ends here, or the
 * stack has to be sent as a copy. */
static bool step_rare(struct walk *w, uint64_t rule, uint64_t *cfa)
{
	switch (MG_RULE_TYPE(rule)) {
	case MG_RULE_DEREF:
		w->cfa_slot = w->bp + (uint64_t)MG_RULE_CFA_OFFSET(rule);
		if (!is_slot(w, w->sp, w->cfa_slot))
			break;
		*cfa = load(w->cfa_slot);
		return true;
	case MG_RULE_END:
		return false;
	case MG_RULE_CODE_SP:
	case MG_RULE_CODE_BP:
		w->keepable = false;
		return true;
	case MG_RULE_FLOW_SP:
	case MG_RULE_FLOW_BP:
		if (is_left(w, rule, *cfa))
			return true;
		__attribute__((fallthrough));
	case MG_RULE_CODE_END:
	case MG_RULE_NO_CODE:
	case MG_RULE_FRAMED:
		w->keepable = false;
		w->flags |= MG_F_TRUNCATED;
		return false;
	case MG_RULE_NONE:
		/* The dynamic linker's entry, which has no CFI, is the outermost frame of the
		 * code that it calls. On a stack that the program made itself, an address that
		 * follows no call is the outermost one, too. */
		if (w->sp - (mg.main_entry - 64) >= 128 &&
		    (!MG_RULE_CFA_OFFSET(rule) || mg_own_stack(w->sp - 8, &(struct mg_range){0})))
			w->flags |= MG_F_TRUNCATED;
		return false;
	}
	w->copy = true;
	return false;
}

/* Takes the return address of the frame that ends at `cfa`; false = it is lost. */
MG_INLINE bool take_return(struct walk *w, uint64_t rule, uint64_t cfa)
{
	w->slot = MG_RETURN_SLOT(rule, cfa);
	if (MG_RETURN_BELOW || (w->slot != cfa && is_slot(w, w->sp, w->slot))) {
		w->ip = mg_code_bits(load(w->slot));
		w->link = 0;
		return true;
	}
	w->ip = w->slot == cfa ? w->link : 0;
	w->slot = cfa - 8;
	w->link = 0;
	return w->ip;
}

/* Steps to the caller; false = the walk ends here, or the stack has to be sent as a copy. */
MG_INLINE bool step(struct walk *w, uint64_t rule)
{
	if (MG_UNLIKELY(MG_RULE_TYPE(rule) >= MG_RULE_NONE) && is_at_bp(w, rule))
		rule = MG_RULE_FRAME;
	uint32_t type = MG_RULE_TYPE(rule);
	uint64_t cfa = (type & 1 ? w->sp : w->bp) + (uint64_t)MG_RULE_CFA_OFFSET(rule);
	w->cfa_slot = 0;
	if (MG_UNLIKELY(type > MG_RULE_FROM_BP)) {
		if (type == MG_RULE_SIGNAL)
			return step_signal(w);
		if (!step_rare(w, rule, &cfa))
			return false;
	}
	if (MG_UNLIKELY((cfa <= w->sp && !(MG_SIGNAL_LINK && w->link && cfa == w->sp)) ||
			cfa > w->high || cfa & 7)) {
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
		w->bp = load(at);
	}
	bool lost = !take_return(w, rule, cfa);
	w->sp = cfa;
	if (MG_UNLIKELY(w->ip - 4096 >= MG_ADDRESS_END - 4096)) {
		if (w->ip || lost) /* ip 0 marks the outermost frame: the walk is complete */
			w->flags |= MG_F_TRUNCATED;
		w->keepable = false;
		return false;
	}
	return true;
}
