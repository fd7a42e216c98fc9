/* SPDX-License-Identifier: MIT
 * Names of frames, looked up by a second thread.
 */
#include "frame_names.h"

#include <pthread.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/names/runtime.h"
#include "libcommon/names/shorten.h"
#include "libcommon/names/wrappers.h"
#include "libcommon/base/thread.h"

#define STACK_BYTES (8u << 20) /* libdw's usual stack size */

enum slot_state { UNKNOWN, ASKED, ANSWERED, TOLD };

struct slot {
	struct ms_named *v;
	uint32_t n;
	enum slot_state state;
};

struct question {
	uint32_t frame, module;
	uint32_t variable; /* index of the variable that is asked for, + 1; 0 = a frame is */
	struct ms_frame_question ask;
};

struct variable {
	uint32_t module;
	uint64_t address;
	bool in_thread, answered;
	struct ms_variable at;
};

struct ms_names {
	struct ms_arena arena;  /* main thread's memory, for symbols from the trace */
	struct ms_arena lookup; /* names thread's memory */
	struct ms_symbols *symbols;
	const struct ms_wrappers *wrappers;
	MS_ARRAY(int) handles; /* handle by module id; -1 = not requested; names thread only */
	pthread_t thread;
	bool alone; /* no second thread could be started */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct slot *slots; /* indexed by frame number */
	size_t count;
	bool stop, busy; /* busy: a question is being looked up */
	MS_ARRAY(struct variable) variables;
	MS_ARRAY(struct question) questions;
	size_t taken; /* number of questions removed from the queue */
	uint64_t answered;
};

static struct ms_named name_of(const struct ms_names *n, struct ms_arena *a, bool runtime,
			       const struct ms_location *l)
{
	return (struct ms_named){
		.at = *l,
		.brief = l->function ? ms_name_short(a, l->function) : NULL,
		.runtime = runtime,
		.wrapper = !runtime && ms_is_wrapper(l->function, n->wrappers),
	};
}

/* ---- files ---- */

/* Returns the handle of the module's file, requested once: the trace adds facts about a module over
 * time, but its file stays the same. */
static int handle_of(struct ms_names *n, const struct question *q)
{
	while (n->handles.n <= q->module)
		*MS_PUSH(&n->handles) = -1;
	int *handle = &n->handles.v[q->module];
	if (*handle < 0)
		*handle = ms_symbols_module_of(n->symbols, &q->ask.module);
	return *handle;
}

static struct slot look_up(struct ms_names *n, const struct question *q)
{
	struct ms_location found[MS_CHAIN_MAX];
	const struct ms_frame_question *f = &q->ask;
	int handle = handle_of(n, q);
	size_t count = ms_symbols_find(n->symbols, handle, f->address, found, MS_CHAIN_MAX);
	struct ms_named *v = ms_arena_alloc(&n->lookup, count * sizeof *v);
	for (size_t i = 0; i < count; i++)
		v[i] = name_of(
			n, &n->lookup,
			f->module.kind == MS_SYMBOLS_RECORDER ||
				ms_is_runtime(f->module.path, found[i].function, found[i].file),
			&found[i]);
	return (struct slot){v, (uint32_t)count, ANSWERED};
}

/* Looks up a variable. Releases the lock meanwhile. */
static void answer_variable(struct ms_names *n, const struct question *q)
{
	struct variable v = n->variables.v[q->variable - 1];
	pthread_mutex_unlock(&n->lock);
	ms_symbols_variable(n->symbols, handle_of(n, q), v.address, v.in_thread, &v.at);
	pthread_mutex_lock(&n->lock);
	v.answered = true;
	n->variables.v[q->variable - 1] = v;
}

static void answer_frame(struct ms_names *n, const struct question *q)
{
	pthread_mutex_unlock(&n->lock);
	struct slot s = look_up(n, q);
	pthread_mutex_lock(&n->lock);
	/* in the meantime the trace may have named the frame */
	if (n->slots[q->frame].state == ASKED)
		n->slots[q->frame] = s;
}

/* Answers all queued questions. Releases the lock only during a lookup. */
static void answer_all(struct ms_names *n)
{
	while (n->taken < n->questions.n && !n->stop) {
		struct question q = n->questions.v[n->taken++];
		n->busy = true;
		if (q.variable)
			answer_variable(n, &q);
		else
			answer_frame(n, &q);
		n->busy = false;
		n->answered++;
	}
	n->questions.n = n->taken = 0;
	pthread_cond_broadcast(&n->changed);
}

static void *work(void *arg)
{
	struct ms_names *n = arg;
	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		answer_all(n);
		if (!n->stop)
			pthread_cond_wait(&n->changed, &n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct ms_names *ms_names_new(const struct ms_wrappers *wrappers)
{
	struct ms_names *n = ms_xcalloc(1, sizeof *n);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	n->symbols = ms_symbols_new(NULL);
	n->wrappers = wrappers;
	n->alone = ms_thread_start(&n->thread, STACK_BYTES, work, n) != 0;
	return n;
}

static void ask(struct ms_names *n, const struct question *q)
{
	*MS_PUSH(&n->questions) = *q;
	if (n->alone)
		answer_all(n);
	else
		pthread_cond_broadcast(&n->changed);
}

uint64_t ms_names_answers(struct ms_names *n, bool *pending)
{
	pthread_mutex_lock(&n->lock);
	uint64_t answered = n->answered;
	if (pending)
		*pending = n->busy || n->taken < n->questions.n;
	pthread_mutex_unlock(&n->lock);
	return answered;
}

/* ---- what is known at once ---- */

/* Returns the table entry of a frame without a name; its module may still show that it belongs to
 * the runtime. */
static struct slot nameless(struct ms_names *n, const struct ms_recording *t, uint32_t frame)
{
	const struct ms_frame *f = &t->frames.v[frame];
	struct ms_named *v = ms_arena_alloc(&n->arena, sizeof *v);
	v->runtime = !frame || ms_frame_note(f) ||
		     ms_frame_is_runtime(t, f, &(struct ms_location){.function = NULL});
	return (struct slot){v, 1, TOLD};
}

static struct slot told(struct ms_names *n, const struct ms_recording *t, uint32_t frame)
{
	const struct ms_frame *f = &t->frames.v[frame];
	uint32_t count = ms_frame_told_count(t, frame);
	if (!count)
		return nameless(n, t, frame);
	struct ms_named *v = ms_arena_alloc(&n->arena, count * sizeof *v);
	for (uint32_t i = 0; i < count; i++) {
		struct ms_location l = ms_frame_told_at(t, frame, i);
		v[i] = name_of(n, &n->arena, ms_frame_is_runtime(t, f, &l), &l);
	}
	return (struct slot){v, count, TOLD};
}

/* Fills the table entry of the frame at once if possible; else queues a question. */
static void find(struct ms_names *n, const struct ms_recording *t, uint32_t frame)
{
	const struct ms_frame *f = &t->frames.v[frame];
	struct question q = {.frame = frame, .module = f->module};
	struct slot *s = &n->slots[frame];
	if (!frame || ms_frame_note(f))
		*s = nameless(n, t, frame);
	else if (ms_frame_told(t, frame))
		*s = told(n, t, frame);
	else if (s->state != UNKNOWN)
		return;
	else if (!f->module || !ms_frame_question(t, f, &q.ask))
		*s = nameless(n, t, frame);
	else {
		s->state = ASKED;
		ask(n, &q);
	}
}

struct ms_frame_names ms_names_of(struct ms_names *n, const struct ms_recording *t, uint32_t frame)
{
	if (frame >= t->frames.n)
		frame = 0;
	pthread_mutex_lock(&n->lock);
	n->slots = ms_xgrow(n->slots, &n->count, t->frames.n, sizeof *n->slots);
	struct slot *s = &n->slots[frame];
	/* symbols in the trace replace symbols from files */
	if (s->state == UNKNOWN || (s->state != TOLD && ms_frame_told(t, frame)))
		find(n, t, frame);
	struct ms_frame_names names = {s->v, s->n};
	pthread_mutex_unlock(&n->lock);
	return names;
}

bool ms_names_variable(struct ms_names *n, const struct ms_recording *t, uint32_t module,
		       uint64_t address, bool in_thread, struct ms_variable *out)
{
	struct question q = {.module = module};
	*out = (struct ms_variable){0};
	if (ms_variable_told(t, module, address, in_thread, out))
		return true;
	pthread_mutex_lock(&n->lock);
	const struct variable *v = NULL;
	for (size_t i = 0; i < n->variables.n && !v; i++) {
		const struct variable *x = &n->variables.v[i];
		if (x->module == module && x->address == address && x->in_thread == in_thread)
			v = x;
	}
	bool found = v && v->answered;
	if (found)
		*out = v->at;
	if (!v && ms_frame_question(t, &(struct ms_frame){.module = module}, &q.ask)) {
		*MS_PUSH(&n->variables) = (struct variable){module, address, in_thread, false, {0}};
		q.variable = (uint32_t)n->variables.n;
		ask(n, &q);
	}
	pthread_mutex_unlock(&n->lock);
	return found;
}

void ms_names_forget(struct ms_names *n)
{
	pthread_mutex_lock(&n->lock);
	n->questions.n = n->taken = 0;
	while (n->busy)
		pthread_cond_wait(&n->changed, &n->lock);
	n->handles.n = n->variables.n = 0;
	if (n->count)
		memset(n->slots, 0, n->count * sizeof *n->slots);
	pthread_mutex_unlock(&n->lock);
	ms_arena_free(&n->arena);
}

void ms_names_free(struct ms_names *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
	if (!n->alone)
		pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	ms_symbols_free(n->symbols);
	ms_arena_free(&n->arena);
	ms_arena_free(&n->lookup);
	MS_FREE(n->slots, n->handles.v, n->variables.v, n->questions.v, n);
}
