/* SPDX-License-Identifier: MIT
 * Appends the names of its frames to a finished trace, so that the file is self-contained on any
 * machine.
 */
#include "symbols.h"
#include "libcommon/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/io.h"
#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"
#include "libcommon/trace/recording_private.h"
#include "libcommon/trace/trace_tail.h"
#include "frame_places.h"

/* BLOCK_BYTES: size at which a symbols block is closed. MAX_CHAIN: a longer chain keeps its
 * innermost frames and the function itself. ZSTD_LEVEL: high, since the blocks are written once and
 * kept. */
enum { BLOCK_BYTES = 1 << 20, MAX_CHAIN = 64, ZSTD_LEVEL = 9 };

/* ---- the trace ---- */

/* Holds a frame to look up: `address` is relative to its ELF file; for a return address, it is
 * within the call instruction. */
struct wanted_frame {
	uint32_t frame, module; /* module: its id, 0 = none */
	uint64_t address;
};

struct wanted {
	struct ms_recording *t;
	struct ms_held_files held;
	MS_ARRAY(struct wanted_frame) frames; /* sorted by module and address, the cheapest order */
	struct ms_trace_tail tail;
};

static int by_module_and_address(const void *a, const void *b)
{
	const struct wanted_frame *x = a, *y = b;
	return MS_ORDER(x->module, y->module) ?:
	       MS_ORDER(x->address, y->address) ?:
	       MS_ORDER(x->frame, y->frame);
}

static void choose_frames(struct wanted *c)
{
	struct ms_frame_question q;
	for (size_t i = 1; i < c->t->frames.n; i++) {
		const struct ms_frame *f = &c->t->frames.v[i];
		if (!ms_frame_note(f) && ms_frame_question(c->t, f, &q))
			*MS_PUSH(&c->frames) =
				(struct wanted_frame){(uint32_t)i, f->module, q.address};
	}
	MS_SORT(c->frames.v, c->frames.n, by_module_and_address);
}

/* ---- writing symbols ---- */

struct output {
	struct ms_trace_writer *to;
	struct ms_record_writer w;
	MS_ARRAY(const char *) strings; /* strings of the current block; index = number - 1 */
	struct ms_lookup string_index;  /* finds a string's number, by content */
	uint64_t ns;
	bool failed;
};

/* Makes room for a record of `n` bytes and its framing. */
static void make_room(struct output *o, size_t n)
{
	size_t need = o->w.size + n + 64, room = o->w.room ? o->w.room : 1 << 16;
	while (room < need)
		room *= 2;
	if (room != o->w.room)
		o->w.data = ms_xrealloc(o->w.data, room, 1);
	o->w.room = room;
}

/* Returns the number of a string, which is written first if the block does not have it; 0 for
 * NULL. */
static uint32_t number_of(struct output *o, const char *text)
{
	if (!text)
		return 0;
	uint32_t hash = ms_hash_text(text), n;
	for (size_t at = hash; (n = ms_lookup_next(&o->string_index, hash, &at));)
		if (strcmp(o->strings.v[n - 1], text) == 0)
			return n;
	*MS_PUSH(&o->strings) = text;
	ms_lookup_add(&o->string_index, hash, (uint32_t)o->strings.n);
	make_room(o, strlen(text));
	ms_record_begin(&o->w);
	ms_record_string(&o->w, MS_SYM_STRING, text);
	o->failed |= !ms_record_end(&o->w);
	return (uint32_t)o->strings.n;
}

/* Writes the records so far as a block; string numbers start again in the next one. */
static void flush(struct output *o, struct ms_err *err)
{
	struct ms_column col = ms_record_column(&o->w);
	if (o->w.size && ms_trace_write(o->to, MS_BLOCK_SYMBOLS, o->ns, o->ns, &col, 1, err))
		o->failed = true;
	ms_record_writer_init(&o->w, o->w.data, o->w.room);
	ms_lookup_clear(&o->string_index);
	o->strings.n = 0;
}

static void put_module(struct output *o, uint32_t id, int state)
{
	make_room(o, 64);
	ms_record_begin(&o->w);
	ms_record_number(&o->w, MS_SYM_MODULE, id);
	ms_record_number(&o->w, MS_SYM_STATE, (uint64_t)state);
	o->failed |= !ms_record_end(&o->w);
}

static void put_frame(struct output *o, uint32_t frame, const struct ms_location *l, size_t n)
{
	uint32_t function[MAX_CHAIN], file[MAX_CHAIN];
	for (size_t i = 0; i < n; i++) {
		function[i] = number_of(o, l[i].function);
		file[i] = number_of(o, l[i].file);
	}
	make_room(o, 64 * (n + 1));
	ms_record_begin(&o->w);
	ms_record_number(&o->w, MS_SYM_FRAME, frame);
	for (size_t i = 0; i < n; i++) {
		ms_record_number(&o->w, MS_SYM_FUNCTION, function[i]);
		if (file[i])
			ms_record_number(&o->w, MS_SYM_FILE, file[i]);
		if (l[i].line)
			ms_record_number(&o->w, MS_SYM_LINE, l[i].line);
		if (l[i].column)
			ms_record_number(&o->w, MS_SYM_COLUMN, l[i].column);
	}
	o->failed |= !ms_record_end(&o->w);
}

/* ---- looking up ----
 *
 * Half of the addresses are looked up by a second thread, with a symbolizer of its own. The results
 * of both are then written in order, so that the blocks do not depend on the number of threads.
 */

#define STACK_BYTES (8u << 20) /* libdw's usual stack size */
/* Least number of addresses per thread; fewer are looked up faster than a second symbolizer opens
 * its files. */
#define HALF_MIN 2000u

struct share {
	const struct wanted *c;
	size_t first, end; /* range in c->frames */
	struct ms_symbols *s;
	int *handles; /* handle of each module by id; -1 = not requested yet */
	MS_ARRAY(struct ms_location) found;
	struct found_chain {
		size_t at, n; /* range in `found` */
	} * chains;           /* chain of each frame of the range */
};

static void begin_share(struct share *h, const struct wanted *c, size_t first, size_t end,
			struct ms_symbols *s)
{
	size_t handles = (c->t->modules.n + 1) * sizeof *h->handles;
	*h = (struct share){.c = c, .first = first, .end = end, .s = s};
	h->handles = memset(ms_xrealloc(NULL, handles, 1), -1, handles);
	h->chains = ms_xcalloc(end - first, sizeof *h->chains);
}

static void *look_up(void *arg)
{
	struct share *h = arg;
	struct ms_location chain[MAX_CHAIN];
	struct ms_frame_question q;
	for (size_t i = h->first; i < h->end; i++) {
		const struct wanted_frame *w = &h->c->frames.v[i];
		struct found_chain *to = &h->chains[i - h->first];
		int *handle = &h->handles[w->module];
		if (i > h->first && w->module == w[-1].module && w->address == w[-1].address) {
			*to = to[-1];
			continue;
		}
		if (*handle < 0 && ms_frame_question(h->c->t, &h->c->t->frames.v[w->frame], &q)) {
			q.module.held = w->module < h->c->held.n ? h->c->held.v[w->module] : 0;
			*handle = ms_symbols_module_of(h->s, &q.module);
		}
		to->at = h->found.n;
		to->n = ms_symbols_find(h->s, *handle, w->address, chain, MAX_CHAIN);
		for (size_t k = 0; k < to->n; k++)
			*MS_PUSH(&h->found) = chain[k];
	}
	return NULL;
}

static bool one_thread(size_t frames)
{
	cpu_set_t set;
	return frames < HALF_MIN || sched_getaffinity(0, sizeof set, &set) != 0 ||
	       CPU_COUNT(&set) < 2;
}

static void look_up_both(struct share *own, struct share *other)
{
	pthread_t thread;
	bool running = other->first < other->end &&
		       ms_thread_start(&thread, STACK_BYTES, look_up, other) == 0;
	look_up(own);
	if (running)
		pthread_join(thread, NULL);
	else
		look_up(other);
}

static void put_frames(const struct share *h, struct output *o, struct ms_err *err)
{
	for (size_t i = h->first; i < h->end && !o->failed; i++) {
		struct found_chain f = h->chains[i - h->first];
		const struct ms_location *chain = &h->found.v[f.at];
		if (f.n > 1 || chain->function || chain->file)
			put_frame(o, h->c->frames.v[i].frame, chain, f.n);
		if (o->w.size > BLOCK_BYTES)
			flush(o, err);
	}
}

/* ---- variables ---- */

/* Returns the handle of a module; -1 = nothing can be looked up there. */
static int handle_of(struct share *h, uint32_t module)
{
	struct ms_frame_question q;
	if (h->handles[module] < 0 &&
	    ms_frame_question(h->c->t, &(struct ms_frame){.module = module}, &q)) {
		q.module.held = module < h->c->held.n ? h->c->held.v[module] : 0;
		h->handles[module] = ms_symbols_module_of(h->s, &q.module);
	}
	return h->handles[module];
}

static void put_variable(struct output *o, const struct ms_retention_root *r,
			 const struct ms_variable *v)
{
	uint32_t type = number_of(o, v->type), file = number_of(o, v->file),
		 members = number_of(o, v->members);
	make_room(o, 128);
	ms_record_begin(&o->w);
	ms_record_number(&o->w, MS_SYM_VARIABLE, r->module);
	ms_record_number(&o->w, MS_SYM_ADDRESS, r->offset);
	if (r->kind == MS_KEEPER_THREAD_LOCAL)
		ms_record_number(&o->w, MS_SYM_IN_THREAD, 1);
	if (type)
		ms_record_number(&o->w, MS_SYM_TYPE, type);
	if (members)
		ms_record_number(&o->w, MS_SYM_MEMBERS, members);
	if (file)
		ms_record_number(&o->w, MS_SYM_FILE, file);
	if (v->line)
		ms_record_number(&o->w, MS_SYM_LINE, v->line);
	o->failed |= !ms_record_end(&o->w);
}

static int by_variable(const void *a, const void *b)
{
	const struct ms_retention_root *x = *(const struct ms_retention_root *const *)a,
				       *y = *(const struct ms_retention_root *const *)b;
	return MS_ORDER(x->module, y->module) ?:
	       MS_ORDER(x->kind, y->kind) ?:
	       MS_ORDER(x->offset, y->offset);
}

/* Writes where the variables are declared that are roots of any scan, each once. */
static void put_variables(struct share *h, struct output *o, struct ms_err *err)
{
	const struct ms_recording *t = h->c->t;
	const struct ms_retention_root **v = ms_xcalloc(t->retention.roots.n + 1, sizeof *v);
	struct ms_variable found;
	size_t n = 0;
	for (size_t i = 0; i < t->retention.roots.n; i++) {
		const struct ms_retention_root *r = &t->retention.roots.v[i];
		bool variable = r->kind == MS_KEEPER_VARIABLE || r->kind == MS_KEEPER_THREAD_LOCAL;
		if (variable && r->module && r->module <= t->modules.n)
			v[n++] = r;
	}
	qsort(v, n, sizeof *v, by_variable);
	for (size_t i = 0; i < n && !o->failed; i++) {
		int handle = handle_of(h, (uint32_t)v[i]->module);
		if ((!i || by_variable(&v[i - 1], &v[i])) && handle >= 0 &&
		    ms_symbols_variable(h->s, handle, v[i]->offset,
					v[i]->kind == MS_KEEPER_THREAD_LOCAL, &found))
			put_variable(o, v[i], &found);
		if (o->w.size > BLOCK_BYTES)
			flush(o, err);
	}
	free(v);
}

/* Writes, for each module, the worse of its states in the two shares, into which the addresses were
 * divided for two threads. From MS_SYMBOLS_DWARF on, higher states are worse; lower ones are equal
 * in both shares. States are final only after all lookups. */
static void put_modules(const struct share shares[2], struct output *o)
{
	for (uint32_t id = 1; id <= shares->c->t->modules.n; id++) {
		int worst = -1;
		for (const struct share *h = shares; h < shares + 2; h++) {
			int handle = h->handles[id],
			    is = handle < 0 ? -1 : ms_symbols_module_state(h->s, handle, NULL);
			worst = is > worst ? is : worst;
		}
		if (worst >= 0)
			put_module(o, id, worst);
	}
}

static void put_all(const struct wanted *c, struct ms_symbols *s, struct output *o,
		    struct ms_err *err)
{
	size_t n = c->frames.n, middle = one_thread(n) ? n : n / 2;
	struct ms_symbols *again = middle < n ? ms_symbols_again(s) : NULL;
	struct share shares[2];
	begin_share(&shares[0], c, 0, middle, s);
	begin_share(&shares[1], c, middle, n, again);
	look_up_both(&shares[0], &shares[1]);
	put_frames(&shares[0], o, err);
	put_frames(&shares[1], o, err);
	put_variables(&shares[0], o, err);
	put_modules(shares, o);
	flush(o, err);
	ms_symbols_free(again);
	for (size_t i = 0; i < 2; i++)
		MS_FREE(shares[i].handles, shares[i].found.v, shares[i].chains);
}

/* Writes the blocks to the memory file `fd`: symbols, then a copy of the end block. */
static int build_blocks(const struct wanted *c, struct ms_symbols *s, int fd, struct ms_err *err)
{
	struct output o = {.to = ms_trace_writer_append(fd, c->tail.next_block, ZSTD_LEVEL, err),
			   .ns = c->tail.last_ns};
	if (!o.to)
		return -1;
	ms_record_writer_init(&o.w, NULL, 0);
	put_all(c, s, &o, err);
	if (!o.failed && ms_trace_tail_write(&c->tail, o.to, err))
		o.failed = true;
	ms_trace_writer_free(o.to);
	MS_FREE(o.strings.v, o.string_index.slots, o.w.data);
	return o.failed ? ms_err_set(err, "cannot add symbols to the trace: a symbol is too long")
			: 0;
}

/* ---- appending ---- */

int ms_symbols_embed(const char *path, struct ms_symbols *s, const struct ms_held_files *held,
		     struct ms_err *err)
{
	struct wanted c = {.held = held ? *held : (struct ms_held_files){0}};
	const uint64_t types = MS_TYPE_BIT(MS_BLOCK_STACKS) | MS_TYPE_BIT(MS_BLOCK_SYMBOLS) |
			       MS_TYPE_BIT(MS_BLOCK_MODULES) | MS_TYPE_BIT(MS_BLOCK_INFO) |
			       MS_TYPE_BIT(MS_BLOCK_RETENTION);
	struct ms_symbols *own = NULL;
	int rc = -1, memory = -1;
	c.t = ms_trace_tail_read(&c.tail, path, types, "symbols", err);
	if (!c.t)
		goto out;
	if (c.tail.has >> MS_BLOCK_SYMBOLS & 1) {
		rc = 0;
		goto out;
	}
	choose_frames(&c);
	memory = ms_trace_tail_memory(err);
	if (memory < 0)
		goto out;
	if (!s)
		s = own = ms_symbols_new(NULL);
	if (!build_blocks(&c, s, memory, err))
		rc = ms_trace_tail_append(&c.tail, path, memory, err);
out:
	ms_close(memory);
	ms_symbols_free(own);
	ms_recording_close(c.t);
	MS_FREE(c.frames.v, c.tail.end.v);
	return rc;
}
