/* SPDX-License-Identifier: MIT
 * From which frame of Python on the chain of each loop goes, and that it may be followed: P4 and P5
 * in python.c.
 *
 * In 3.11 and 3.12 each loop has a _PyCFrame, which names the frame that it runs now and that of
 * the next loop further out; the outermost one's leads to the thread's state, and that names the
 * innermost one.
 *
 * From 3.13 on the thread's state names the frame that runs now. Its chain ends at the frame that the
 * innermost loop has of its own on the stack of C; the one before that is what the next loop further
 * out runs. So a chain that ends at the very place where its loop's own frame is, is that loop's.
 *
 * Up to 3.10 each loop runs one frame, and the thread's state names the innermost. Where there are as
 * many of the ones as of the others, each frame is that of its loop.
 */
#include "python.h"

/* maximum number of steps from a loop's _PyCFrame to the thread's state; greenlet adds one */
#define HOPS_MOST 4u
#define TRIES 4096u
/* bytes searched below the thread's control block, in the thread-local data of libraries */
#define DATA_BYTES 1024u
#define SLOTS 4u
#define LOOP_BYTES 4096u /* maximum size of a loop's C frame */
#define STATE_BYTES 240u

uint64_t mg_python_below;
static uint32_t tries;
/* Lists the offsets, from the thread's control block, of thread-local words that point to the
 * thread's state; unused for 3.11 and 3.12. The offsets are the same in every thread that runs
 * the interpreter. */
struct slots {
	uint64_t at[SLOTS];
	uint32_t n;
};
static struct slots slots;

static uint64_t own_of(const struct mg_python_stack *p, uint32_t i)
{
	return p->cfa[i] - mg_python_below;
}

static bool is_code(struct mg_python_stack *p, uint64_t code)
{
	return !(code & 7) && can_read(p, code, CODE_BYTES) && word(code + 8) == mg_py.code_type;
}

/* ---- 3.11 and 3.12 -------------------------------------------------------------------------- */

static bool thread_keeps(uint64_t value)
{
	struct mg_range block = mg_thread_block();
	for (; block.start < block.end; block.start += 8)
		if (word(block.start) == value)
			return true;
	return false;
}

/* Tells whether the thread state that contains the _PyCFrame `root` can be read. This thread's
 * own state exists as long as the thread's data point to it, even if it is too new to be in a
 * list of mappings. */
static bool can_read_state(struct mg_python_stack *p, uint64_t root)
{
	return can_read(p, root - mg_py.root, mg_py.root + 24u) || thread_keeps(root - mg_py.root);
}

/* Tells whether the _PyCFrame at `outermost` leads to a thread's state that points to
 * `innermost` (P5). */
static bool is_current(struct mg_python_stack *p, uint64_t outermost, uint64_t innermost)
{
	uint64_t at = outermost;
	for (uint32_t i = 0; i < HOPS_MOST; i++) {
		at = word(at + mg_py.outer);
		if (at & 7 || (!can_read(p, at, 24) && !can_read_state(p, at)))
			return false;
		if (word(at + mg_py.current) || word(at + mg_py.outer))
			continue;
		if (!can_read_state(p, at) || word(at - mg_py.root + mg_py.now) != innermost)
			return false;
		p->state = p->state ? p->state : at - mg_py.root;
		return true;
	}
	return false;
}

/* Tells whether a _PyCFrame is at `at` whose next outer one is at `outer` (P4). `outer` is 0 for
 * the outermost: the next one is then in the thread's state, which points to `innermost`. */
static bool is_cframe(struct mg_python_stack *p, uint64_t at, uint64_t outer, uint64_t innermost)
{
	uint64_t head = word(at + mg_py.current), next = word(at + mg_py.outer);
	if (head & 7 || next & 7 || !head || !next || head == next || (outer && next != outer) ||
	    (!outer && (!thread_keeps(next - mg_py.root) || !is_current(p, at, innermost))) ||
	    !can_read(p, next, 24) ||
	    (!outer && (word(next + mg_py.current) || word(next + mg_py.outer))))
		return false;
	uint32_t none = 0;
	int32_t n = mg_python_follow(p, at, head, 0, 0, &none);
	if (n <= 0 || p->beyond != word(next + mg_py.current))
		return false;
	for (int32_t i = 0; i < n; i++) {
		uint64_t code = p->found[i].code;
		if (!is_code(p, code) ||
		    p->found[i].instruction + 2 - code - mg_py.instructions > word(code + 16) * 2)
			return false;
	}
	return true;
}

static uint64_t find_cframes(const struct mg_writer *t, struct mg_python_stack *p)
{
	for (uint32_t i = p->loops; i-- > 0;) {
		uint64_t top = p->cfa[i], low = t->slot[p->loop[i]] + 8;
		uint64_t outer = i ? p->cfa[i - 1] : 0, last = p->cfa[p->loops - 1];
		if (!top || !last || (i && !outer) || top - low > LOOP_BYTES)
			continue;
		for (uint64_t at = low; at + 32 <= top; at += 8)
			if (is_cframe(p, at, i ? outer - (top - at) : 0, last - (top - at)))
				return top - at;
	}
	return 0;
}

/* Sets the heads of all loops' chains, from the innermost loop on, one sequence of linked loops
 * at a time (P5). */
static void link_cframes(struct mg_python_stack *p)
{
	for (uint32_t end = p->loops, i; end; end = i) {
		uint64_t innermost = own_of(p, end - 1), at = innermost, next;
		for (i = end - 1; i; i--, at = next) {
			next = own_of(p, i - 1);
			if (at + mg_python_below == 0 || word(at + mg_py.outer) != next)
				break;
		}
		bool good = at + mg_python_below && innermost + mg_python_below &&
			    is_current(p, at, innermost);
		for (uint32_t k = i; k < end; k++)
			p->head[k] = good ? word(own_of(p, k) + mg_py.current) : NOT_READ;
	}
}

/* ---- the thread's state ---------------------------------------------------------------------- */

/* Returns the thread state to which this thread's word at `slot` points; 0 = none, or another
 * thread's. */
static uint64_t state_at(struct mg_python_stack *p, uint64_t slot)
{
	uint64_t tp = mg_thread_pointer(), state = word(tp + slot);
	return state && !(state & 7) && can_read(p, state, STATE_BYTES) &&
			       word(state + mg_py.thread) == tp
		       ? state
		       : 0;
}

/* Finds thread-local words between `at` and `end` that point to the same thread state as the
 * slots found before. */
static void find_slots(struct mg_python_stack *p, uint64_t at, uint64_t end, struct slots *found)
{
	uint64_t tp = mg_thread_pointer();
	for (; at < end && found->n < SLOTS; at += 8)
		if (state_at(p, at - tp) && (!found->n || word(at) == word(tp + found->at[0])))
			found->at[found->n++] = at - tp;
}

/* Returns the loop's own frame at which the chain from `at` ends; 0 = none. */
static uint64_t end_of(struct mg_python_stack *p, uint64_t at)
{
	for (uint32_t i = 0;
	     i < FRAMES_MOST && !(at & 7) && can_read(p, at, mg_python_frame_bytes());
	     i++, at = word(at + mg_py.previous)) {
		if (byte(at + mg_py.owner) == OWNED_BY_C)
			return at;
		if (!is_code(p, code_of(at)))
			break;
	}
	return 0;
}

/* Returns the current frame of the thread's state; 0 = none. */
static uint64_t find_current(struct mg_python_stack *p, struct slots *found)
{
	uint64_t tp = mg_thread_pointer();
	struct mg_range block = mg_thread_block();
	if (can_read(p, tp - DATA_BYTES, DATA_BYTES))
		find_slots(p, tp - DATA_BYTES, tp, found);
	find_slots(p, block.start, block.end, found);
	return found->n ? word(word(tp + found->at[0]) + mg_py.now) : 0;
}

/* Publishes the thread-local slots found. Several threads may do this at once, because slots are
 * never removed. */
static void keep_slots(const struct slots *found)
{
	for (uint32_t i = 0; i < found->n; i++)
		__atomic_store_n(&slots.at[i], found->at[i], __ATOMIC_RELAXED);
	__atomic_store_n(&slots.n, found->n, __ATOMIC_RELEASE);
}

static uint64_t find_own(const struct mg_writer *t, struct mg_python_stack *p)
{
	struct slots found = {.n = 0};
	uint64_t at = find_current(p, &found), far = 0;
	for (uint32_t i = p->loops; i-- > 0 && at; at = word(at + mg_py.previous)) {
		at = end_of(p, at);
		if (!at || at < t->slot[p->loop[i]] + 8 || p->cfa[i] - at > LOOP_BYTES ||
		    (far && p->cfa[i] - at != far))
			return 0;
		far = p->cfa[i] - at;
	}
	if (far)
		keep_slots(&found);
	return far;
}

static void link_own(struct mg_python_stack *p)
{
	uint32_t n = __atomic_load_n(&slots.n, __ATOMIC_ACQUIRE);
	p->current_count = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t state = state_at(p, __atomic_load_n(&slots.at[i], __ATOMIC_RELAXED));
		if (!state || state == p->state || p->current_count == CURRENT_MOST)
			continue;
		p->current[p->current_count++] = word(state + mg_py.now);
		p->state = p->state ? p->state : state;
	}
	uint64_t head = 0;
	for (uint32_t i = p->loops; i-- > 0;) {
		uint64_t own = own_of(p, i);
		bool known = p->cfa[i] && byte(own + mg_py.owner) == OWNED_BY_C;
		p->head[i] = known ? head : NOT_READ;
		head = known ? word(own + mg_py.previous) : 0;
	}
}

/* ---- one frame a loop ------------------------------------------------------------------------ */

/* Assigns each interpreter loop (C function that runs Python code) the Python frame that it runs,
 * from the innermost loop on. Returns false if the numbers of loops and frames differ. */
static bool link_frames(struct mg_python_stack *p, uint64_t at)
{
	for (uint32_t i = p->loops; i-- > 0; at = word(at + mg_py.previous)) {
		if (!at || at & 7 || !can_read(p, at, mg_python_frame_bytes()))
			return false;
		p->head[i] = at;
	}
	return !at;
}

static uint64_t find_frames(struct mg_python_stack *p)
{
	struct slots found = {.n = 0};
	if (!link_frames(p, find_current(p, &found)))
		return 0;
	for (uint32_t i = 0; i < p->loops; i++)
		if (!is_code(p, code_of(p->head[i])))
			return 0;
	keep_slots(&found);
	return 1;
}

static void link_single(struct mg_python_stack *p)
{
	uint64_t state = state_at(p, __atomic_load_n(&slots.at[0], __ATOMIC_RELAXED));
	if (!link_frames(p, state ? word(state + mg_py.now) : 0))
		for (uint32_t i = 0; i < p->loops; i++)
			p->head[i] = NOT_READ;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool mg_python_learn(const struct mg_writer *t, struct mg_python_stack *p)
{
	if (__atomic_load_n(&mg_python_below, __ATOMIC_ACQUIRE))
		return true;
	if (tries++ >= TRIES)
		return false;
	for (uint32_t i = 0; i < RANGES; i++) /* discards the mappings looked up earlier */
		p->ranges[i] = (struct mg_range){0};
	uint64_t found = !mg_py.thread ? find_cframes(t, p)
			 : mg_py.owner ? find_own(t, p)
				       : find_frames(p);
	if (found)
		__atomic_store_n(&mg_python_below, found, __ATOMIC_RELEASE);
	return found;
}

void mg_python_link(struct mg_python_stack *p)
{
	if (!mg_py.thread)
		link_cframes(p);
	else if (mg_py.owner)
		link_own(p);
	else
		link_single(p);
}
