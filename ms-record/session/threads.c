/* SPDX-License-Identifier: MIT
 * Threads of a recorded image: their numbers, names and ends.
 */
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"
#include "session.h"
#include "session_options.h"

/* Times between checks of a thread's name: short at first, as many threads are named just after
 * they start, then ever longer. */
#define FIRST_LOOK_NS UINT64_C(5000000)
#define LAST_LOOK_NS UINT64_C(1000000000)
#define LOOKS_NS UINT64_C(1000000) /* maximum ns that one call spends on checks */
#define LABELLED_MAX 65536u        /* indices made for labels; beyond, one more for each thread */
#define LOOKS_SHARE 8u             /* pause after a call, in multiples of the call's duration */

static void relabel(struct session *s, uint32_t index);
static void rename_label(struct session *s, uint32_t index);

static void read_name(struct session *s, uint32_t index)
{
	struct thread *t = &s->threads.all.v[index];
	char path[40], name[32];
	snprintf(path, sizeof path, "task/%u/comm", t->outer);
	if (!ms_proc_text_at(s->process.folder, path, name, sizeof name))
		return;
	name[strcspn(name, "\n")] = '\0';
	name[sizeof t->name - 1] = '\0';
	if (!strcmp(name, t->name))
		return;
	memcpy(t->name, name, sizeof t->name);
	t->dirty = true;
	if (s->opt->label_names && t->names++ == 1)
		rename_label(s, index);
	if (s->opt->label_names)
		relabel(s, index);
}

/* Checks for a seccomp filter that the guest did not notice, installed by the program's own system
 * call. */
static void look_for_filter(struct session *s, const char *status)
{
	char text[4096];
	uint32_t none = 0;
	if ((session_seccomp(s) && !s->mem->unfiltered) ||
	    !ms_proc_text_at(s->process.folder, status, text, sizeof text) ||
	    !ms_proc_status_number(text, "\nSeccomp:", 0))
		return;
	__atomic_store_n(&s->mem->unfiltered, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&s->mem->seccomp_seen, &none, 1, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* Tells whether the process has run since the last call. Only then can a thread have installed a
 * filter; most processes of a build wait, and reading their status costs much more. */
static bool has_run(struct session *s)
{
	clockid_t clock;
	struct timespec t;
	if (s->process.pid <= 0 || clock_getcpuclockid(s->process.pid, &clock) ||
	    clock_gettime(clock, &t))
		return true;
	bool more = ms_ns_of(t) != s->threads.ran_ns;
	s->threads.ran_ns = ms_ns_of(t);
	return more;
}

uint32_t threads_add(struct session *s, uint32_t tid, uint64_t stamp)
{
	/* A signal handler inside a hook writes to a second ring of the same thread. */
	for (size_t i = 0; i < s->threads.alive.n; i++)
		if (s->threads.alive.v[i].tid == tid &&
		    !s->threads.all.v[s->threads.alive.v[i].index].gone)
			return s->threads.alive.v[i].index;
	*MS_PUSH(&s->threads.alive) = (struct alive){tid, (uint32_t)s->threads.all.n};
	struct thread *t = MS_PUSH(&s->threads.all);
	uint64_t now = session_now(s);
	*t = (struct thread){.tid = tid,
			     .outer = session_outer_tid(s, tid),
			     .start_ns = clock_ns(&s->clock, stamp),
			     .last_number = UINT64_MAX,
			     .look_after = FIRST_LOOK_NS,
			     .look_ns = now + FIRST_LOOK_NS,
			     .dirty = true};
	uint32_t index = (uint32_t)s->threads.all.n - 1;
	read_name(s, index);
	return index;
}

void threads_gone(struct session *s, uint32_t index)
{
	if (index >= s->threads.all.n)
		return;
	struct thread *t = &s->threads.all.v[index];
	t->gone = t->dirty = true;
	t->end_ns = session_now(s);
}

static void write_thread(struct session *s, uint32_t index)
{
	struct thread *t = &s->threads.all.v[index];
	struct ms_record_writer *w = batch_record(&session_batch(s)->threads, 160);
	ms_record_number(w, MS_THREAD_INDEX, index);
	ms_record_number(w, MS_THREAD_TID, t->tid);
	if (t->name[0])
		ms_record_string(w, MS_THREAD_NAME, t->name);
	ms_record_number(w, MS_THREAD_START, t->start_ns);
	if (t->gone)
		ms_record_number(w, MS_THREAD_END, t->end_ns);
	if (t->lost)
		ms_record_number(w, MS_THREAD_EVENTS_LOST, t->lost);
	if (t->waited)
		ms_record_number(w, MS_THREAD_WAITED, t->waited);
	ms_record_end(w);
	t->dirty = false;
}

/* ---- labels ---- */

#define ALL_LABELS (16 + THREAD_LABELS * (MG_LABEL_MOST + 2) + 1)

/* Writes the labels of the thread, outermost first, into `text`, with --with=label-thread-names its
 * name first. */
static void join_labels(const struct session *s, const struct thread *t, char text[ALL_LABELS])
{
	size_t n = 0, room = ALL_LABELS;
	text[0] = '\0';
	if (s->opt->label_names)
		n += (size_t)snprintf(text, room, "%s", t->name);
	for (unsigned i = 0; i < THREAD_LABELS && t->stack; i++)
		if (t->stack->v[i])
			n += (size_t)snprintf(text + n, room - n, "%s%s", n ? ", " : "",
					      t->stack->v[i]);
}

/* Returns the number, from 1, of the index made for labels of a thread; 0 = there is none. */
static uint32_t find_labelled(const struct threads *t, uint32_t index, const char *labels,
			      uint32_t hash)
{
	uint32_t n;
	for (size_t at = hash; (n = ms_lookup_next(&t->labelled, hash, &at));)
		if (t->all.v[n - 1].of == index && !strcmp(t->all.v[n - 1].labels, labels))
			break;
	return n;
}

/* Writes the record of an index made for labels. */
static void write_label(struct session *s, uint32_t index)
{
	const struct thread *t = &s->threads.all.v[index];
	struct ms_record_writer *w =
		batch_record(&session_batch(s)->threads, 40 + strlen(t->labels));
	ms_record_number(w, MS_THREAD_INDEX, index);
	ms_record_number(w, MS_THREAD_OF, t->of);
	ms_record_string(w, MS_THREAD_NAME, t->labels);
	ms_record_end(w);
}

/* Returns the index under which a thread's events with these labels are written. */
static uint32_t labelled(struct session *s, uint32_t index, const char *labels)
{
	if (s->threads.labelled.n >= LABELLED_MAX)
		labels = "(more labels)";
	uint32_t hash = ms_hash(index, ms_hash_text(labels));
	uint32_t n = find_labelled(&s->threads, index, labels, hash);
	if (n)
		return n - 1;
	struct thread *t = MS_PUSH(&s->threads.all);
	n = (uint32_t)s->threads.all.n;
	*t = (struct thread){.of = index, .labels = ms_xstrdup(labels), .last_number = UINT64_MAX};
	ms_lookup_add(&s->threads.labelled, hash, n);
	write_label(s, n - 1);
	return n - 1;
}

static void relabel(struct session *s, uint32_t index)
{
	char all[ALL_LABELS];
	join_labels(s, &s->threads.all.v[index], all);
	uint32_t as = all[0] ? labelled(s, index, all) + 1 : 0; /* may move the threads */
	s->threads.all.v[index].labelled = as;
}

/* Gives the label that a thread has by its first name, which it inherited, its second name. */
static void rename_label(struct session *s, uint32_t index)
{
	const struct thread *t = &s->threads.all.v[index];
	if (!t->labelled || t->stack)
		return;
	struct thread *own = &s->threads.all.v[t->labelled - 1];
	free(own->labels);
	own->labels = ms_xstrdup(t->name);
	ms_lookup_add(&s->threads.labelled, ms_hash(index, ms_hash_text(own->labels)), t->labelled);
	write_label(s, t->labelled - 1);
}

void threads_label(struct session *s, uint32_t index, char *text, uint32_t depth)
{
	struct thread *t = &s->threads.all.v[index];
	if (!t->stack)
		t->stack = ms_xcalloc(1, sizeof *t->stack);
	for (uint32_t i = *text && depth ? depth - 1 : depth; i < THREAD_LABELS; i++) {
		free(t->stack->v[i]);
		t->stack->v[i] = NULL;
	}
	if (*text && depth - 1 < THREAD_LABELS)
		t->stack->v[depth - 1] = text;
	else
		free(text);
	relabel(s, index);
}

void threads_free(struct session *s)
{
	for (size_t i = 0; i < s->threads.all.n; i++) {
		struct thread *t = &s->threads.all.v[i];
		for (size_t k = 0; t->stack && k < THREAD_LABELS; k++)
			free(t->stack->v[k]);
		MS_FREE(t->stack, t->labels);
	}
	MS_FREE(s->threads.all.v, s->threads.alive.v, s->threads.tids.v, s->threads.labelled.slots);
}

/* ---- names ---- */

static void look_again(struct session *s, uint32_t index, uint64_t now)
{
	char status[40];
	read_name(s, index);
	struct thread *t = &s->threads.all.v[index];
	snprintf(status, sizeof status, "task/%u/status", t->outer);
	if (t->outer != (uint32_t)s->process.pid) /* the main thread's is the process's */
		look_for_filter(s, status);
	if (t->look_after < LAST_LOOK_NS)
		t->look_after *= 4;
	t->look_ns = now + t->look_after;
}

/* Writes a record of each thread that changed, and removes ended threads from the list. */
static void write_changes(struct session *s)
{
	for (size_t i = 0; i < s->threads.alive.n;) {
		uint32_t index = s->threads.alive.v[i].index;
		const struct thread *t = &s->threads.all.v[index];
		if (t->dirty)
			write_thread(s, index);
		if (t->gone)
			s->threads.alive.v[i] = s->threads.alive.v[--s->threads.alive.n];
		else
			i++;
	}
}

void threads_look(struct session *s, bool all)
{
	uint64_t start = session_now(s), now = start;
	if (has_run(s) || all)
		look_for_filter(s, "status");
	for (size_t n = all || now >= s->threads.names_ns ? s->threads.alive.n : 0; n; n--) {
		size_t i = s->threads.name_next++ % s->threads.alive.n;
		struct thread *t = &s->threads.all.v[s->threads.alive.v[i].index];
		if (t->gone || (!all && now < t->look_ns))
			continue;
		look_again(s, s->threads.alive.v[i].index, now);
		now = session_now(s);
		if (!all && now > start + LOOKS_NS) {
			s->threads.names_ns = now + (now - start) * LOOKS_SHARE;
			break;
		}
	}
	write_changes(s);
}
