/* SPDX-License-Identifier: MIT
 * Frames of CPython, put into the stack of C between the frames that they belong to.
 *
 * The interpreter's loop, _PyEval_EvalFrameDefault, runs many Python frames in one frame of C. That
 * holds something of the loop's own, a constant below its CFA: in 3.11 and 3.12 a _PyCFrame, which
 * says which Python frame it runs now, from 3.13 on a frame, which is the last of the loop's chain.
 * From the frame that runs `previous` leads to the one that the loop was entered with. Before 3.11 a
 * loop runs one frame.
 *
 *   C:       main   eval 1                  list_sort   eval 2        malloc
 *   Python:           <module> < load               < key
 *   sent:    main   <module>  load  eval 1  list_sort   key  eval 2    malloc
 *
 * They go before their loop's frame, whose place in the loop is another one at nearly each event.
 *
 * Nothing of the interpreter is called and no lock of it is needed:
 *
 *  P1 A loop's frame on the stack that is in a call has its own set up, before its first call,
 *     and leads to live frames of this very thread until it returns. Where it may be otherwise
 *     there are no Python frames: a signal interrupted the stack, or memory was just unmapped.
 *  P2 All frames from there to the entered one are live: whoever pops one links it out before. So
 *     they may be read, whether or not this thread holds the interpreter's lock; nobody else writes
 *     to them. Their code objects live as long as they do.
 *  P3 All the same nothing is read that is not in a mapping that ms-record listed, or that the
 *     kernel was asked about (stack.c); nor of the thread's own stack what is not in use, such as
 *     its guard page, which glibc's block names. What is not there ends the chain, and is counted.
 *  P4 How far below the CFA that is, is found out (python_loops.c) by what it has to hold: the one of
 *     the next loop further out, and a frame whose chain ends where that goes on, all with code; or
 *     by where the chain ends that the thread's state names. Until then nothing is followed that may
 *     be left from earlier on the stack: what it names may be gone, as stacks of threads are, though
 *     it is listed. The outermost _PyCFrame leads to the thread's state, which the interpreter keeps
 *     as data of the thread; and that names the innermost one.
 *  P5 What switches stacks (greenlet) leaves frames of C beyond the root of the one that runs, as they
 *     were once. So loops count only where each names the next one further out, up to the state of
 *     the thread, and that names the innermost. Those of another state further out are another such
 *     row.
 *
 *  P6 Frames of functions lie in chunks that the thread's state names, newest first, each with the
 *     one before it and its size. It names none that is not there. They come and go faster than
 *     lists of mappings do, and of a process that is attached to the kernel is not asked (P3).
 *
 * The thread's previous stack, with its Python frames, is known to ms-record. Equal frames of C do
 * not say that those of Python are, so each chain is walked, and compared from the outermost on.
 */
#include "python.h"

#define OWNED_BY_GENERATOR 1u

struct mg_python mg_py;
static bool no_memory;
static unsigned char *chunks[MG_CHUNKS];

size_t mg_python_bytes(void)
{
	return (sizeof(struct mg_python_stack) + 63) & ~(size_t)63;
}

void mg_python_lay(void *memory)
{
	mg.python = no_memory = false;
	mg_grow_whole(chunks, memory, memory ? mg.writers_all : 0, mg_python_bytes());
}

void mg_python_look(void)
{
	uint32_t all = MG_GATE_ALL;
	if (!__atomic_load_n(&mg.head->python.ready, __ATOMIC_ACQUIRE))
		return;
	mg_py = mg.head->python;
	__atomic_store_n(&mg.python, true, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&mg.gate->on, &all, MG_GATE_PYTHON, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

static struct mg_python_stack *state_of(struct mg_writer *t)
{
	struct mg_python_stack *p = t->python;
	if (p || !__atomic_load_n(&mg.head->python.ready, __ATOMIC_RELAXED))
		return p;
	uint32_t i = mg.writer_base + (uint32_t)(t->ring - mg.rings);
	p = t->ring == &mg.void_ring ? NULL
	    : no_memory              ? mg_grown(chunks, i, mg_python_bytes())
				     : mg_grow(chunks, i, mg_python_bytes());
	if (!p) {
		no_memory = true; /* avoids a new attempt at each event */
		return NULL;
	}
	p->n = p->loops = p->scanned = p->range = 0;
	p->skip = false;
	p->event = 1;
	for (uint32_t k = 0; k < RANGES; k++)
		p->ranges[k] = (struct mg_range){0};
	for (uint32_t k = 0; k < MG_CODE_SLOTS; k++)
		p->codes[k] = (struct code){0};
	return t->python = p;
}

void mg_python_skip(struct mg_writer *t)
{
	struct mg_python_stack *p = mg.python ? state_of(t) : NULL;
	if (p)
		p->skip = true;
}

static void count_unread(void)
{
	if (__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		__atomic_fetch_add(&mg.session->python.unread, 1, __ATOMIC_RELAXED);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* P6 */
static bool is_in_chunk(const struct mg_python_stack *p, uint64_t at, uint64_t bytes)
{
	uint64_t chunk = p->state ? word(p->state + mg_py.chunk) : 0;
	for (uint32_t i = 0; i < FRAMES_MOST && chunk; i++, chunk = word(chunk)) {
		uint64_t size = word(chunk + 8);
		if (at - chunk < size && size - (at - chunk) >= bytes)
			return true;
	}
	return false;
}

bool mg_python_find(struct mg_python_stack *p, uint64_t at, uint64_t bytes)
{
	struct mg_range r, more;
	if (at - 4096 >= MG_ADDRESS_END - 4096 - MG_CODE_LINES_MOST)
		return false;
	if (is_in_chunk(p, at, bytes))
		return true;
	if (!mg_find_data(at, &r))
		return false;
	while (r.end - at < bytes) { /* the mapping may have grown since it was listed */
		if (!mg_find_data(r.end, &more) || more.start > r.end)
			return false;
		r.end = more.end;
	}
	p->range = (p->range + 1) % RANGES;
	p->ranges[p->range] = r;
	return true;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Tells whether a frame has reached its first traceable instruction; before that, the
 * interpreter hides the frame too. */
static bool is_begun(struct mg_python_stack *p, const struct frame *f)
{
	if (!mg_py.owner)
		return true;
	uint64_t into = f->instruction - f->code - mg_py.instructions;
	return into < 8192 && can_read(p, f->code, CODE_BYTES)
		       ? into / 2 >= (uint32_t)word(f->code + mg_py.traceable)
		       : into >> 63 == 0;
}

/* Tells whether the interpreter loop of _PyCFrame `cframe` was entered with frame `f`. If a
 * generator waits for another one, throw() puts the generator's frame into the chain of the
 * calling loop, although the frame is still marked as entered; its `previous` then differs from
 * the frame that the next outer loop runs. */
MG_INLINE bool is_entered(const struct frame *f, uint64_t cframe)
{
	if (!mg_py.owner)
		return true;
	return mg_py.entry && byte(f->at + mg_py.entry) &&
	       (byte(f->at + mg_py.owner) != OWNED_BY_GENERATOR ||
		f->previous == word(word(cframe + mg_py.outer) + mg_py.current));
}

/* Tells whether the frame is a loop's own. From 3.12 on, each loop has on the C stack a frame
 * that belongs to no function; it follows, in the chain, the frame with which the loop was
 * entered. */
MG_INLINE bool is_loops_own(uint64_t at)
{
	return !mg_py.entry && mg_py.owner && byte(at + mg_py.owner) == OWNED_BY_C;
}

/* Tells whether frames [k, end) of the previous stack are still the chain from frame `at` to the
 * frame with which the loop was entered. A frame read for the previous stack may be read again
 * as long as it is in the chain (P2). The last frame is the entered one if its `previous` is
 * unchanged, because that is the head of the next outer loop. */
MG_INLINE bool is_rest(const struct mg_python_stack *p, uint64_t at, uint32_t k, uint32_t end)
{
	const struct frame *first = &p->frames[k], *f = &p->frames[end];
	const uint64_t instruction = mg_py.instruction, previous = mg_py.previous;
	const uint64_t name = mg_py.object[MG_CODE_NAME], lines = mg_py.object[MG_CODE_LINES];
	if (f == first || f[-1].at != at)
		return false;
	while (f-- > first) {
		if ((code_of(f->at) ^ f->code) | (word(f->at + previous) ^ f->previous) |
		    (word(f->at + instruction) ^ f->instruction))
			return false;
		if (word(f->code + name) ^ word(f->code + lines) ^ f->what)
			return false;
		/* One frame between frames f[-1] and f may have been left out; it exists as long
		 * as f. */
		if (f > first && f->previous != f[-1].at &&
		    word(f->previous + previous) != f[-1].at)
			return false;
	}
	return true;
}

int32_t mg_python_follow(struct mg_python_stack *p, uint64_t own, uint64_t at, uint32_t loop,
			 uint32_t k, uint32_t *end)
{
	uint32_t j = *end;
	while (j > k && p->frames[j - 1].at != at) /* inner frames may have returned */
		j--;
	if (j == k)
		j = *end;
	*end = k;
	for (uint32_t n = 0, steps = 0; steps < FRAMES_MOST; steps++) {
		if (at & 7)
			return -1;
		if (j > k && p->frames[j - 1].at == at) {
			if (is_rest(p, at, k, j)) {
				*end = j;
				return (int32_t)n;
			}
			j--;
		} else if (!can_read(p, at, mg_python_frame_bytes())) {
			return -1;
		} else if (is_loops_own(at)) {
			if (mg_py.thread && at != own)
				return -1;
			p->beyond = word(at + mg_py.previous);
			return (int32_t)n;
		}
		struct frame *f = &p->found[n];
		*f = (struct frame){.at = at,
				    .code = code_of(at),
				    .instruction = word(at + mg_py.instruction),
				    .previous = word(at + mg_py.previous),
				    .loop = loop};
		bool entered = is_entered(f, own);
		p->beyond = at = f->previous;
		n += (n && mg_py.entry) || is_begun(p, f);
		if (entered)
			return (int32_t)n;
	}
	return -1;
}

/* ---- the stack ------------------------------------------------------------------------------- */

/* Drops the previous stack's Python frames that are run by C frame `i` or one inside it. */
static void drop_frames(struct mg_python_stack *p, uint32_t i)
{
	while (p->n && p->frames[p->n - 1].loop >= i)
		p->n--;
}

/* Finds the C frames that run Python frames. Returns false if they may not be followed (P1). */
static bool find_loops(const struct mg_writer *t, struct mg_python_stack *p)
{
	while (p->loops && p->loop[p->loops - 1] >= t->keep)
		p->loops--;
	uint32_t i = p->scanned < t->keep ? p->scanned : t->keep;
	if (t->keep == t->frames || !mg_python_is_loop(&mg_py, t->ip[t->keep]))
		drop_frames(p, t->keep);
	for (p->scanned = t->frames; i < t->frames; i++) {
		bool loop = mg_python_is_loop(&mg_py, t->ip[i]);
		if (t->ip[i] & MG_EXACT_IP || (loop && p->loops == LOOPS_MOST)) {
			p->scanned = i;
			return false;
		}
		if (loop) {
			uint32_t first = p->n;
			while (first && p->frames[first - 1].loop >= i)
				first--;
			p->first[p->loops] = first;
			p->cfa[p->loops] = i ? t->slot[i - 1] + 8 : 0;
			p->loop[p->loops++] = (uint16_t)i;
		}
	}
	return true;
}

/* Marks where the stack begins to differ from the previous one. */
struct from {
	uint32_t c, python;
	bool changed;
};

/* Tells whether two frames of the same loop's chain are equal. */
static bool is_same_frame(const struct frame *f, const struct frame *g)
{
	return f->at == g->at && f->code == g->code && f->instruction == g->instruction &&
	       f->previous == g->previous && (f->at == NOT_READ || what_of(f->code) == f->what);
}

/* Stores the `n` frames just found as frames of loop `i`. The loop's frames up to index `at` are
 * unchanged from the previous stack, in which they ended at `end`. */
static bool take_chain(struct mg_python_stack *p, uint32_t i, uint32_t at, uint32_t end, uint32_t n,
		       uint32_t keep, struct from *from)
{
	uint32_t loop = p->loop[i];
	if (!from->changed) {
		for (; n && at < end && is_same_frame(&p->frames[at], &p->found[n - 1]); at++)
			n--;
		if (!n && at == end)
			return true;
		*from = (struct from){loop < keep ? loop : keep, at, true};
		p->n = at;
	}
	if (p->n + n > FRAMES_MOST)
		return false;
	while (n)
		p->frames[p->n++] = p->found[--n];
	return true;
}

/* Replaces an unreadable chain by one NOT_READ frame. Returns the number of frames. */
static int32_t give_up(struct mg_python_stack *p, uint32_t loop)
{
	count_unread();
	p->found[0] = (struct frame){.at = NOT_READ, .loop = loop};
	return 1;
}

/* Reads the chain of loop `i` as mg_python_follow() does; the previous stack's frames [k, *end)
 * are of this loop. */
static int32_t read_chain(struct mg_python_stack *p, uint32_t i, uint32_t k, uint32_t *end)
{
	const uint64_t *head = p->head[i] ? &p->head[i] : p->current;
	const uint64_t *last = head + (p->head[i] ? 1 : p->current_count);
	uint64_t own = p->cfa[i] - mg_python_below;
	int32_t n = -1;
	for (uint32_t all = *end; n < 0 && head < last; head++) {
		*end = all;
		n = !(*head & 7) && is_rest(p, *head, k, all)
			    ? 0
			    : mg_python_follow(p, own, *head, p->loop[i], k, end);
	}
	return n;
}

/* Reads the chains of all loops. False = too many frames. */
static bool take_chains(const struct mg_writer *t, struct mg_python_stack *p, struct from *from)
{
	*from = (struct from){t->keep, p->n, false};
	mg_python_link(p);
	for (uint32_t i = 0; i < p->loops; i++) {
		if (from->changed)
			p->first[i] = p->n;
		uint32_t k = p->first[i], at, all;
		at = all = from->changed ? k : i + 1 < p->loops ? p->first[i + 1] : p->n;
		int32_t n = read_chain(p, i, k, &at);
		if (n < 0)
			n = give_up(p, p->loop[i]);
		if (!take_chain(p, i, at, all, (uint32_t)n, t->keep, from))
			return false;
	}
	return true;
}

/* Merges C and Python frames from *from on into p->out. Returns their number, or -1. */
static int32_t put_together(struct mg_writer *t, struct mg_python_stack *p, const struct from *from)
{
	uint32_t n = 0, k = from->python, i = from->c;
	if (t->frames - i + p->n - k > OUT_MOST)
		return -1;
	for (; i < t->frames; i++) {
		while (k < p->n && p->frames[k].loop <= i) {
			struct frame *f = &p->frames[k++];
			p->out[n] = f->at == NOT_READ ? MG_NOT_READ : mg_python_sent(t, p, f);
			if (!p->out[n++])
				return -1;
			f->what = f->at == NOT_READ ? 0 : what_of(f->code);
		}
		p->out[n++] = t->ip[i];
	}
	return (int32_t)n;
}

/* Replaces each loop's chain by one NOT_READ frame. Keeps the frames of the previous stack that
 * are NOT_READ frames already. */
static void take_none(const struct mg_writer *t, struct mg_python_stack *p, struct from *from)
{
	uint32_t n = 0, kept = 0;
	count_unread();
	while (kept < p->loops && p->loop[kept] <= t->keep)
		kept++;
	while (n < p->n && n < kept && p->frames[n].at == NOT_READ)
		n++;
	*from = (struct from){t->keep, n, true};
	if (n < p->n || n < kept)
		*from = (struct from){0, 0, true};
	for (uint32_t i = 0; i < p->loops; i++) {
		p->first[i] = i;
		p->frames[i] = (struct frame){.at = NOT_READ, .loop = p->loop[i]};
	}
	p->n = p->loops;
}

/* Sends only the C frames, none of them kept from the previous stack. */
static void send_plain(struct mg_writer *t, struct mg_python_stack *p, struct mg_stack *s)
{
	p->n = p->scanned = p->loops = 0;
	s->keep = 0;
	s->count = t->frames;
	s->frames = t->ip;
}

void mg_python_merge(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp)
{
	struct mg_python_stack *p = state_of(t);
	struct from from;
	if (!p) {
		count_unread();
		return;
	}
	p->event++;
	p->state = 0;
	p->restamp = false;
	drop_frames(p, t->keep + 1);
	bool good = find_loops(t, p) && !p->skip;
	p->skip = false;
	if (good && !p->loops)
		return;
	int32_t n = -1;
	if (good && mg_python_learn(t, p) && take_chains(t, p, &from)) {
		if (!from.changed) { /* no Python frame has changed, and the new C frames are in the
					record already */
			s->keep = t->keep + p->n;
			return;
		}
		n = put_together(t, p, &from);
	}
	if (n < 0) {
		take_none(t, p, &from);
		n = put_together(t, p, &from);
	}
	if (n < 0) {
		send_plain(t, p, s);
	} else {
		s->keep = from.c + from.python;
		s->count = (uint32_t)n;
		s->frames = p->out;
	}
	if (p->restamp)
		*stamp = mg_now(t);
	if (s->count <= MG_FRAMES_RECORD && mg_has_room(t, words + s->count)) {
		uint64_t *w = (uint64_t *)(void *)(t->window + t->offset) + words;
		for (uint32_t i = 0; i < s->count; i++)
			w[i] = s->frames[i];
	}
}
