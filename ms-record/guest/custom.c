/* SPDX-License-Identifier: MIT
 * Records functions of the program that are hooked: custom allocators, by --hook or by known names.
 *
 *  C1 An allocating function gets a frame of ours below it (NAME_custom.S), so that its result is
 *     seen; all others are recorded at their entry and get no frame. Only one function of a thread
 *     at a time has such a frame: functions called inside it are part of its work, and only pass
 *     through.
 *  C2 Blocks that malloc returns meanwhile are the heap's backing: recorded separately, or hidden,
 *     never counted with the blocks cut from them. Whether the function is still running is decided
 *     by the words of its frame, because a longjmp may have left it. If an exception leaves it, the
 *     frame's personality function notices.
 *  C3 Frees inside the function are recorded, because only ms-record knows which table an address
 *     is in. Only the old block of a reallocation is not, because the reallocation has a record of
 *     its own. A function that frees blocks of malloc's heap has a frame too, so that functions
 *     that it calls do not free them again.
 *  C4 While sampling, the blocks count down like others. If a sample point falls on backing,
 *     nothing is recorded; sample points are independent, so that changes nothing for other blocks.
 *     Blocks in a pool are freed by its reset, which is not seen here, so a block noted as sampled
 *     may no longer exist: frees are sent as unsure from then on.
 *  C5 Functions found by name alone may be wrappers of malloc, whose blocks are recorded as
 *     malloc's. The first block that a family returns decides: it is a wrapper if the block lies in
 *     one that malloc returned inside. Until then the family's frees and reallocations pass
 *     through, and those of wrappers always do.
 */
#include "record.h"

extern const char mg_entry_custom_back[] __attribute__((visibility("hidden")));
int mg_custom_before(const uint64_t *frame, const struct mg_hook *h);
void mg_custom_after(const uint64_t *frame, const struct mg_hook *h);
int mg_custom_personality(int version, int actions, uint64_t class, void *exception, void *context);

/* C5 */
enum family { UNDECIDED, ALLOCATES, WRAPS };
static uint8_t families[MG_FAMILIES];

static enum family family_of(const struct mg_hook *h)
{
	uint32_t f = h->custom.family;
	return f ? (enum family)__atomic_load_n(&families[f % MG_FAMILIES], __ATOMIC_RELAXED)
		 : ALLOCATES;
}

static uint64_t argument(const uint64_t *frame, unsigned n)
{
	return n <= MG_ARGS_IN_REGISTERS ? frame[MG_ENTRY_ARG + 1 - (int)n]
					 : frame[MG_ARGS_ON_STACK + n - MG_ARGS_IN_REGISTERS - 1];
}

static uint64_t size_of(const uint64_t *frame, const struct mg_custom *c)
{
	uint64_t size = c->size ? argument(frame, c->size) : 0, n = 1, all;
	if (c->flags & MG_CUSTOM_SIZE32)
		size = (uint32_t)size;
	if (c->nmemb)
		n = argument(frame, c->nmemb);
	if (c->flags & MG_CUSTOM_NMEMB32)
		n = (uint32_t)n;
	return __builtin_mul_overflow(size, n, &all) ? UINT64_MAX : all;
}

static uint64_t key_of(const struct mg_custom *c, uint64_t block)
{
	return block | (c->heap ? MG_SAMPLE_USER : 0);
}

/* Tells whether the call at `frame` was made inside the hooked function that this thread runs
 * (C2). Only compares words of t->custom, because that memory may belong to the program by now. */
bool mg_custom_within(const struct mg_writer *t, const uint64_t *frame)
{
	const uint64_t *outer = t->custom;
	return outer && frame < outer &&
	       ((const volatile uint64_t *)outer)[MG_CUSTOM_RETURN] ==
		       (uint64_t)mg_entry_custom_back &&
	       ((const volatile uint64_t *)outer)[MG_CUSTOM_HOOK] == (uint64_t)t->custom_hook &&
	       !mg_has_left(frame, outer);
}

bool mg_custom_backing(const uint64_t *frame, const void *block, uint64_t size)
{
	const struct mg_writer *own = mg_custom_writer();
	if (!own || !mg_custom_within(own, frame))
		return false;
	const struct mg_custom *c = &own->custom_hook->custom;
	bool hidden = c->flags & MG_CUSTOM_HIDE;
	struct mg_writer *t = mg_enter_open(frame);
	if (!t)
		return true;
	t->custom_inner = (uint64_t)block;
	t->custom_inner_bytes = size;
	/* If the hooked function has no heap of its own, it is another name of malloc: the block
	 * is recorded when the function returns. */
	if (!mg_waiting() && c->heap)
		mg_put(t,
		       (struct mg_record){.kind = MG_HEAP_BACKING,
					  .words = BACKING_WORDS,
					  .a = (uint64_t)block,
					  .b = size,
					  .c = c->heap | (hidden ? MG_HEAP_HIDDEN : 0)},
		       (struct mg_stack){0}, mg_now(t));
	t->last_block = (uint64_t)block;
	mg_leave(t);
	return true;
}

bool mg_custom_hides(const uint64_t *frame)
{
	const struct mg_writer *own = mg_custom_writer();
	return own && mg_custom_within(own, frame);
}

/* Tells whether a hooked realloc function is freeing its own old block. An old block of malloc's
 * heap has been recorded already; that of a custom heap may be a block of malloc itself, whose
 * free is recorded here. */
bool mg_custom_freeing(const uint64_t *frame, const void *block)
{
	const struct mg_writer *own = mg_custom_writer();
	if (!own || !own->custom || own->custom_old != (uint64_t)block ||
	    !mg_custom_within(own, frame))
		return false;
	struct mg_writer *t = own->custom_hook->custom.heap ? mg_enter(frame) : NULL;
	if (!t)
		return true;
	mg_put_gone(t, MG_FREE, block, MG_F_UNSURE, 0);
	mg_leave(t);
	return true;
}

/* ---- at the entry ---------------------------------------------------------------------------- */

/* Records the free of the function's argument. `inner`: the thread's writer if another hooked
 * function made the call, else NULL. */
static void release(const uint64_t *frame, const struct mg_hook *h, const struct mg_writer *inner)
{
	const void *block = (const void *)argument(frame, h->custom.block);
	if (!block)
		return;
	if (inner && inner->custom_old == (uint64_t)block) /* C3 */
		return;
	if (h->custom.heap)
		mg_on_user_free(frame, block);
	else
		mg_on_free(frame, block);
}

static void begin(struct mg_writer *t, const uint64_t *frame, const struct mg_hook *h)
{
	const struct mg_custom *c = &h->custom;
	t->custom_hook = h;
	t->custom_size = size_of(frame, c);
	t->custom_out = c->flags & MG_CUSTOM_OUT ? argument(frame, c->block) : 0;
	t->custom_old = c->block && !t->custom_out ? argument(frame, c->block) : 0;
	t->custom_inner = t->custom_inner_bytes = 0;
	t->custom_pool = c->pool ? argument(frame, c->pool) : 0;
	/* If another thread gets the old block's address meanwhile, its record must have a later
	 * stamp than this one. A record written inside the function, for example by a signal
	 * handler, gives up the stamp (mg_put); ms-record then assumes the earliest possible
	 * time for the old block's free. */
	bool plain = t->custom_old && c->what == MG_CUSTOM_REALLOC && !c->heap && !t->custom_pool;
	t->custom_before = plain ? mg_hold(t) : t->custom_old ? mg_stamp(t) : 0;
	t->custom_known = MG_SAMPLED_YES;
	if (mg_gate_now() == MG_GATE_SAMPLING && (c->heap || c->pool) && t->custom_old)
		t->custom_known = mg_sample_free(key_of(c, t->custom_old));
	__asm__ volatile("" ::: "memory");
	t->custom = frame;
}

/* C5 */
static bool passes(const uint64_t *frame, const struct mg_hook *h)
{
	const struct mg_custom *c = &h->custom;
	enum family f = family_of(h);
	if (c->what == MG_CUSTOM_FREE && frame[1] - h->inner_low < h->inner_high - h->inner_low &&
	    mg_is_call_of(frame[1], h->entry))
		return true; /* the allocator itself returns the block to its caches */
	return f == WRAPS || (f == UNDECIDED && c->what != MG_CUSTOM_ALLOC &&
			      (c->what != MG_CUSTOM_REALLOC || argument(frame, c->block)));
}

/* Returns 1 if the hook also has to run when the function returns; 0 = the entry jumps to the
 * function. */
int mg_custom_before(const uint64_t *frame, const struct mg_hook *h)
{
	if (h->kind == MG_HOOK_LINKER)
		mg_custom_linker(frame);
	else if (h->kind == MG_HOOK_LEAVE)
		mg_on_exit(frame);
	if (h->kind != MG_HOOK_CUSTOM || passes(frame, h) || !mg_custom_is_open(frame))
		return 0;
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return 0;
	bool inner = mg_custom_within(t, frame);
	if (!inner)
		t->custom = NULL;
	bool frees = h->custom.what == MG_CUSTOM_FREE;
	bool entry_only = (frees && h->custom.heap) || h->custom.what == MG_CUSTOM_RESET;
	mg_leave(t);
	if (frees)
		release(frame, h, inner ? t : NULL);
	if (!entry_only && !inner)
		begin(t, frame, h);
	if (h->custom.what == MG_CUSTOM_RESET)
		mg_on_pool(frame, MG_POOL_RESET, (const void *)argument(frame, h->custom.pool),
			   NULL);
	return !entry_only && !inner;
}

/* ---- when it returns ------------------------------------------------------------------------- */

/* Decides whether the block with this key is sampled (C4); if so, adds it to the sampled blocks. */
static bool take_sample(uint64_t key, uint64_t size, bool pooled)
{
	struct mg_writer *own = mg_custom_writer();
	if (!own || !mg_sample_due(own, key | MG_SAMPLE_USER, mg_user_size(size)))
		return false;
	mg_sample_again(own);
	if (pooled)
		mg_sample_keep_once(key);
	else
		mg_sample_keep(key);
	if (pooled)
		mg.pools_sampled = true;
	return true;
}

/* Tells whether the block that a hooked function returned is sampled. Also records that the old
 * block of a realloc was freed, unless the new block's record will include that. */
static bool is_sampled(struct mg_writer *t, uint64_t block)
{
	const struct mg_custom *c = &t->custom_hook->custom;
	bool taken = take_sample(key_of(c, block), t->custom_size, t->custom_pool);
	bool both = taken && t->custom_known == MG_SAMPLED_YES;
	if (t->custom_old && t->custom_known != MG_SAMPLED_NO && !both)
		mg_put(t,
		       (struct mg_record){.kind = MG_HEAP_REALLOC,
					  .words = HEAP_REALLOC_WORDS,
					  .c = t->custom_old,
					  .d = t->custom_before,
					  .e = c->heap ? c->heap : MG_HEAP_PLAIN},
		       (struct mg_stack){.flags = MG_F_UNSURE}, mg_now(t));
	if (!both)
		t->custom_old = 0;
	return taken;
}

static struct mg_record record_of(const struct mg_writer *t, const void *block)
{
	uint64_t heap = t->custom_hook->custom.heap;
	if (!heap)
		heap = MG_HEAP_PLAIN;
	if (t->custom_old)
		return (struct mg_record){.kind = MG_HEAP_REALLOC,
					  .words = HEAP_REALLOC_WORDS,
					  .a = (uint64_t)block,
					  .b = t->custom_size,
					  .c = t->custom_old,
					  .d = t->custom_before,
					  .e = heap,
					  .f = t->custom_pool};
	return (struct mg_record){.kind = MG_HEAP_ALLOC,
				  .words = HEAP_ALLOC_WORDS,
				  .a = (uint64_t)block,
				  .b = t->custom_size,
				  .c = heap,
				  .d = t->custom_pool};
}

/* Records a block that a hooked function allocated from its custom heap; NULL = the allocation
 * failed. */
static void heap_block(const uint64_t *frame, const void *block)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	if (mg_passing())
		mg_pass(t, NULL);
	else if (block && mg_gate_now() == MG_GATE_SAMPLING && !is_sampled(t, (uint64_t)block))
		mg_leave(t);
	else
		mg_record(t, frame, record_of(t, block));
}

/* Keeps the old block of a failed reallocation among the sampled blocks. */
static void keep_old(const struct mg_writer *t)
{
	const struct mg_custom *c = &t->custom_hook->custom;
	if (mg_gate_now() == MG_GATE_SAMPLING && (c->heap || c->pool) && t->custom_old &&
	    t->custom_known != MG_SAMPLED_NO)
		mg_sample_keep(key_of(c, t->custom_old));
}

/* Releases the stamp that begin() reserved for the record of this call. */
static void let_go(struct mg_writer *t)
{
	if (!t->holding)
		return;
	t->holding = false;
	mg_stamped(t);
}

static void failed(const uint64_t *frame, struct mg_writer *t, const struct mg_hook *h)
{
	let_go(t);
	keep_old(t);
	if (h->custom.heap) {
		t->custom_old = 0;
		heap_block(frame, NULL);
	} else {
		mg_on_failed(frame, t->custom_size);
	}
}

/* Tells whether the block is, or lies in, the last one that malloc returned inside the hooked
 * function (C5). */
static bool is_inner(const struct mg_writer *t, const void *block)
{
	return t->custom_inner && (uint64_t)block - t->custom_inner <= t->custom_inner_bytes;
}

static void decide(const struct mg_hook *h, bool wraps)
{
	uint8_t is = UNDECIDED;
	__atomic_compare_exchange_n(&families[h->custom.family % MG_FAMILIES], &is,
				    wraps ? WRAPS : ALLOCATES, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* Records a reallocation in malloc's heap as one record, which includes the earliest time at
 * which the old block may have been freed, because another thread may have got its address
 * since. Returns false if the caller has to record the free and the allocation separately,
 * because each is sampled or counted by itself. */
static bool plain_realloc(const uint64_t *frame, const void *block, const struct mg_writer *own)
{
	const struct mg_record r = {.kind = MG_REALLOC,
				    .words = REALLOC_WORDS,
				    .a = (uint64_t)block,
				    .b = own->custom_size,
				    .c = own->custom_old,
				    .d = own->custom_before};
	if (mg_gate_now() == MG_GATE_SAMPLING || mg_passing())
		return false;
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return true;
	mg_record(t, frame, r);
	return true;
}

/* Records a block of malloc's heap that a hooked function other than malloc returned. Also
 * records a block that malloc returned inside that function for another purpose. */
static void plain_block(const uint64_t *frame, const void *block, struct mg_writer *t,
			const struct mg_hook *h)
{
	const void *old = (const void *)t->custom_old;
	uint64_t size = t->custom_size, inner_bytes = t->custom_inner_bytes;
	const void *inner = (const void *)t->custom_inner;
	bool within = is_inner(t, block);
	bool wraps = h->custom.family && family_of(h) != ALLOCATES && within;
	if (h->custom.family)
		decide(h, wraps);
	bool again = old && !wraps && plain_realloc(frame, block, t);
	let_go(t);
	if (old && !again)
		mg_on_free(frame, old);
	if (inner && (wraps || !within))
		mg_on_alloc(frame, inner, inner_bytes);
	if (!wraps && !again)
		mg_on_alloc(frame, block, size);
}

void mg_custom_after(const uint64_t *frame, const struct mg_hook *h)
{
	struct mg_writer *t = mg_custom_writer();
	if (!t || t->custom != frame)
		return;
	t->custom = NULL;
	const void *block = (const void *)frame[MG_ENTRY_RESULT];
	if (h->custom.what == MG_CUSTOM_FREE)
		return;
	if (t->custom_out)
		block = (uint32_t)frame[MG_ENTRY_RESULT] ? NULL
							 : *(const void *const *)t->custom_out;
	if (h->custom.what == MG_CUSTOM_CREATE) {
		if (block)
			mg_on_pool(frame, MG_POOL_MADE, block, NULL);
	} else if (block && (h->custom.heap || t->custom_pool)) {
		heap_block(frame, block);
	} else if (block) {
		plain_block(frame, block, t, h);
	} else if (t->custom_size) {
		failed(frame, t, h);
	} else if (t->custom_old && h->custom.heap) { /* a realloc to 0 bytes: a free */
		keep_old(t);
		mg_on_user_free(frame, (const void *)t->custom_old);
	} else if (t->custom_old) {
		let_go(t);
		keep_old(t);
		mg_on_free(frame, (const void *)t->custom_old);
	}
}

/* Serves as personality routine: runs when an exception, or the end of the thread, unwinds the
 * hooked function's frame. */
int mg_custom_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	enum { CLEANUP_PHASE = 2, FORCE_UNWIND = 8, CONTINUE_UNWIND = 8 };
	struct mg_writer *t = actions & CLEANUP_PHASE ? mg_custom_writer() : NULL;
	(void)version, (void)class, (void)exception, (void)context;
	const uint64_t *frame = t ? t->custom : NULL;
	if (!frame)
		return CONTINUE_UNWIND;
	t->custom = NULL;
	if (!(actions & FORCE_UNWIND) && t->custom_size &&
	    t->custom_hook->custom.what <= MG_CUSTOM_REALLOC)
		failed(frame, t, t->custom_hook);
	return CONTINUE_UNWIND;
}

/* ---- opening the gate ------------------------------------------------------------------------ */

void mg_custom_open(const struct mg_hook *hooks, uint32_t count)
{
	uint32_t all = MG_GATE_ALL, python = MG_GATE_PYTHON;
	for (uint32_t i = 0; i < count && !mg.hooked; i++)
		mg.hooked = hooks[i].kind == MG_HOOK_CUSTOM;
	if (!mg.hooked || __atomic_compare_exchange_n(&mg.gate->on, &all, MG_GATE_HOOKED, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_compare_exchange_n(&mg.gate->on, &python, MG_GATE_HOOKED, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

/* ---- pools ----------------------------------------------------------------------------------- */

void mg_on_pool(const uint64_t *frame, uint32_t step, const void *pool, const char *name)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	uint32_t n = 0;
	while (name && n < MG_POOL_NAME_MOST && name[n])
		n++;
	mg_put_words(t, MG_POOL, (const uint64_t[]){step, 0, (uint64_t)pool, n}, 4, name, n);
	mg_leave(t);
}

void mg_on_pool_alloc(const uint64_t *frame, const void *pool, const void *block, uint64_t size)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	const struct mg_record r = {.kind = MG_HEAP_ALLOC,
				    .words = HEAP_ALLOC_WORDS,
				    .a = (uint64_t)block,
				    .b = size,
				    .d = (uint64_t)pool};
	if (mg_passing())
		mg_pass(t, NULL);
	else if (mg_gate_now() == MG_GATE_SAMPLING &&
		 !take_sample((uint64_t)block | MG_SAMPLE_USER, size, true))
		mg_leave(t);
	else
		mg_record(t, frame, r);
}
