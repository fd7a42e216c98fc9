/* SPDX-License-Identifier: MIT
 * Runs real code that several threads share in every order that differs in a few places, with every
 * value that C's memory model lets a load find there.
 *
 * The unit is compiled with -fsanitize=thread and linked without its library: each access and each
 * fence is a call of a function below. Accesses to memory that was named with il_share go by a
 * model, all others are left alone. Threads are coroutines, which change at these calls only.
 *
 *   location   [0: value, view] [1: value, view] ... [n: value, view]     what was stored, in order
 *   view       of each location, the oldest one that may still be seen
 *   thread     cur: its view; rel: what a relaxed store hands on; acq: what an acquire fence takes
 *   sc         what the next seq_cst fence has seen of all before
 *
 *  V1 A load finds any value that is not older than the thread's view has it, and moves that. An
 *     acquire load takes over the view of what it found.
 *  V2 A store goes behind all others of its location. A release store leaves the thread's view
 *     with it, a relaxed one that of the last release fence. A read-modify-write finds the last one,
 *     and hands on its view too.
 *  V3 A seq_cst fence joins `sc` and the thread's view. A seq_cst store or read-modify-write tells
 *     `sc` of itself alone, and a seq_cst load sees what `sc` knows of its location: neither is a
 *     fence for others, though some processors make it one.
 *  V4 A plain access is a relaxed one. Nothing is read that is stored later.
 *  V5 Threads change before an access; in memory that is data only before the first of several that
 *     follow each other: what is between them is told by what they find.
 *
 * Orders: a run makes choices, and the next one changes the last of them that has another option
 * left. To change the thread where it could go on, to find another value than the last, and to end
 * a sleep early cost one each; no run spends more than il_explore is told.
 *
 * A futex is the kernel's, without spurious ends. Nobody's sleep ends by time, but where il_times_out
 * says so: threads that all sleep are a lost wake-up. A run that does not end is an error as well.
 */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define IL __attribute__((no_sanitize("thread"), noinline, unused))

enum { IL_THREADS = 4, IL_RANGES = 16, IL_LOCATIONS = 128, IL_VALUES = 100, IL_HASH = 1024 };
enum { IL_STEPS = 4000, IL_WORDS = 4, IL_STACK = 1 << 18 };

typedef uint8_t il_bytes __attribute__((vector_size(16)));
union il_view {
	uint8_t at[IL_LOCATIONS];
	il_bytes part[IL_LOCATIONS / sizeof(il_bytes)];
};
struct il_location {
	uintptr_t address;
	unsigned bytes, count;
	struct {
		uint64_t value;
		union il_view view;
	} of[IL_VALUES];
};
struct il_thread {
	const char *name;
	void (*body)(void);
	ucontext_t at;
	void *stack;
	union il_view cur, rel, acq;
	enum { IL_READY, IL_ASLEEP, IL_DONE } state;
	bool timed_out;
	bool in_data;             /* so was its last access */
	uintptr_t word[IL_WORDS]; /* that it sleeps on */
	uintptr_t written;        /* a plain store is under way there, */
	unsigned written_bytes;   /* of so many bytes */
};
static struct {
	struct {
		uintptr_t start, end;
		bool data;
	} shared[IL_RANGES];
	uintptr_t low, high; /* of all of them */
	unsigned ranges, threads, locations;
	struct il_thread thread[IL_THREADS], *now; /* now: NULL = none, nothing is modelled */
	struct il_location location[IL_LOCATIONS];
	struct {
		uintptr_t address;
		unsigned run, location;
	} hash[IL_HASH];
	union il_view sc;
	struct {
		uint8_t taken, options;
	} choice[IL_STEPS];
	unsigned choices, made, spent, bound, steps, run;
	ucontext_t home;
	bool failed, telling;
	char why[400];
	bool (*times_out)(unsigned thread);
} il;

/* ---- choices ---- */

IL static void il_fail(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(il.why, sizeof il.why, format, ap);
	va_end(ap);
	il.failed = true;
	il.now = NULL;
	setcontext(&il.home);
}

IL static void il_tell(const char *format, ...)
{
	va_list ap;
	if (!il.telling)
		return;
	printf("    %-9s ", il.now ? il.now->name : "");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* One of so many options, of which all but the first cost. */
IL static unsigned il_choose(unsigned options, unsigned cost)
{
	if (options < 2 || il.spent + cost > il.bound)
		return 0;
	if (il.made == IL_STEPS)
		il_fail("no end after %u choices", il.made);
	if (il.made == il.choices) {
		il.choice[il.choices].taken = 0;
		il.choice[il.choices++].options = (uint8_t)options;
	}
	unsigned k = il.choice[il.made++].taken;
	il.spent += k ? cost : 0;
	return k;
}

/* The next run. False: there is none. */
IL static bool il_next(void)
{
	while (il.choices) {
		if (++il.choice[il.choices - 1].taken < il.choice[il.choices - 1].options)
			return true;
		il.choices--;
	}
	return false;
}

/* ---- the model ---- */

IL static int il_range(const volatile void *p)
{
	if (!il.now || (uintptr_t)p - il.low >= il.high - il.low)
		return -1;
	for (unsigned i = 0; i < il.ranges; i++)
		if ((uintptr_t)p - il.shared[i].start < il.shared[i].end - il.shared[i].start)
			return (int)i;
	return -1;
}

IL static bool il_is_shared(const volatile void *p)
{
	return il_range(p) >= 0;
}

IL static uint64_t il_memory(uintptr_t at, unsigned bytes)
{
	uint64_t v = 0;
	memcpy(&v, (const void *)at, bytes);
	return v;
}

IL static unsigned il_locate(const volatile void *p, unsigned bytes)
{
	uintptr_t address = (uintptr_t)p;
	unsigned h = (unsigned)(address >> 2) * 2654435761u >> 22;
	for (; il.hash[h].run == il.run; h = (h + 1) % IL_HASH)
		if (il.hash[h].address == address) {
			struct il_location *l = &il.location[il.hash[h].location];
			if (l->bytes != bytes)
				il_fail("accesses of %u and %u bytes to one place", l->bytes,
					bytes);
			return il.hash[h].location;
		}
	if (il.locations == IL_LOCATIONS)
		il_fail("more than %u locations", IL_LOCATIONS);
	struct il_location *l = &il.location[il.locations];
	il.hash[h].address = l->address = address;
	il.hash[h].run = il.run;
	il.hash[h].location = il.locations;
	l->bytes = bytes;
	l->count = 1;
	l->of[0].value = il_memory(address, bytes);
	memset(&l->of[0].view, 0, sizeof l->of[0].view);
	return il.locations++;
}

IL static void il_join(union il_view *to, const union il_view *from)
{
	for (unsigned i = 0; i < sizeof to->part / sizeof *to->part; i++) {
		il_bytes a = to->part[i], b = from->part[i], more = (il_bytes)(a > b);
		to->part[i] = (a & more) | (b & ~more);
	}
}

/* V3 */
IL static void il_fence(int order)
{
	struct il_thread *t = il.now;
	if (order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order >= __ATOMIC_ACQ_REL)
		t->cur = t->acq;
	if (order == __ATOMIC_SEQ_CST) {
		il_join(&t->cur, &il.sc);
		t->acq = il.sc = t->cur;
	}
	if (order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL)
		t->rel = t->cur;
}

IL static bool il_releases(int order)
{
	return order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL;
}

IL static bool il_acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order >= __ATOMIC_ACQ_REL;
}

IL static void il_find(unsigned i, unsigned which, int order)
{
	struct il_thread *t = il.now;
	t->cur.at[i] = t->acq.at[i] = (uint8_t)which;
	il_join(&t->acq, &il.location[i].of[which].view);
	if (il_acquires(order))
		il_join(&t->cur, &il.location[i].of[which].view);
}

/* V1 */
IL static uint64_t il_see(unsigned i, int order)
{
	struct il_location *l = &il.location[i];
	unsigned oldest = il.now->cur.at[i], last = l->count - 1;
	if (order == __ATOMIC_SEQ_CST && il.sc.at[i] > oldest)
		oldest = il.sc.at[i];
	unsigned k = il_choose(last - oldest + 1, 1);
	il_find(i, last - k, order);
	if (k)
		il_tell("(finds one that is %u older)", k);
	return l->of[last - k].value;
}

/* V2; `after`: the view of what a read-modify-write found, or NULL. */
IL static void il_put(unsigned i, uint64_t value, int order, const union il_view *after)
{
	struct il_thread *t = il.now;
	struct il_location *l = &il.location[i];
	if (l->count == IL_VALUES)
		il_fail("no end after %u values of one location", IL_VALUES);
	unsigned n = l->count++;
	t->cur.at[i] = t->acq.at[i] = (uint8_t)n;
	l->of[n].value = value;
	l->of[n].view = il_releases(order) ? t->cur : t->rel;
	if (after)
		il_join(&l->of[n].view, after);
	l->of[n].view.at[i] = (uint8_t)n;
	if (order == __ATOMIC_SEQ_CST)
		il.sc.at[i] = (uint8_t)n;
	memcpy((void *)l->address, &value, l->bytes);
}

/* ---- threads ---- */

IL static unsigned il_self(void)
{
	return (unsigned)(il.now - il.thread);
}

IL static void il_switch(struct il_thread *to)
{
	struct il_thread *from = il.now;
	if (to == from)
		return;
	il.now = to;
	swapcontext(&from->at, &to->at);
}

/* The value of the plain store under way is in memory now. */
IL static void il_settle(void)
{
	struct il_thread *t = il.now;
	uintptr_t at = t->written;
	t->written = 0;
	if (!at)
		return;
	unsigned i = il_locate((void *)at, t->written_bytes);
	uint64_t value = il_memory(at, t->written_bytes);
	il_put(i, value, __ATOMIC_RELAXED, NULL);
	il_tell("%#lx = %lu", (unsigned long)at & 0xfffff, (unsigned long)value);
}

IL static unsigned il_list(struct il_thread **can, unsigned n, int state)
{
	for (unsigned i = 0; i < il.threads; i++)
		if (&il.thread[i] != il.now && (int)il.thread[i].state == state &&
		    (state == IL_READY || (il.times_out && il.times_out(i))))
			can[n++] = &il.thread[i];
	return n;
}

/* No thread can go on. */
IL static void il_stuck(void)
{
	for (unsigned i = 0; i < il.threads; i++)
		if (il.thread[i].state != IL_DONE)
			il_fail("a lost wake-up: all threads sleep");
	il.now = NULL;
	setcontext(&il.home);
}

/* Lets any thread go on: this one cannot, or is about to do something that others see. */
IL static void il_point(void)
{
	struct il_thread *t = il.now, *can[2 * IL_THREADS] = {t};
	bool awake = t->state == IL_READY;
	il_settle();
	if (++il.steps > IL_STEPS)
		il_fail("no end after %u steps", il.steps);
	unsigned ready = il_list(can, awake, IL_READY);
	unsigned all = il_list(can, ready, IL_ASLEEP);
	if (t->state == IL_ASLEEP && il.times_out && il.times_out(il_self()))
		can[all++] = t;
	if (!all)
		il_stuck();
	/* Whose sleep ends by time is one more option of who goes on. */
	unsigned k = awake ? il_choose(all, 1) : il_choose(ready ? ready : all, 0);
	if (!awake && ready && all > ready) {
		unsigned early = il_choose(1 + all - ready, 1);
		k = early ? ready + early - 1 : k;
	}
	if (k >= ready) {
		can[k]->state = IL_READY;
		can[k]->timed_out = true;
	}
	if (can[k] != t)
		il_tell("-> %s%s", can[k]->name, k < ready ? "" : ", by time");
	il_switch(can[k]);
}

/* V5 */
IL static void il_access(const volatile void *p)
{
	struct il_thread *t = il.now;
	bool data = il.shared[il_range(p)].data;
	if (data && t->in_data)
		il_settle();
	else
		il_point();
	t->in_data = data;
}

IL static void il_begin(void)
{
	il.now->body();
	il_settle();
	il.now->state = IL_DONE;
	il_point();
	abort();
}

/* Sleeps on words of shared memory, unless one is another than it should be. */
IL static bool il_sleep(const uint32_t *const *word, const uint32_t *value, unsigned n)
{
	struct il_thread *t = il.now;
	il_point();
	il_fence(__ATOMIC_SEQ_CST);
	for (unsigned k = 0; k < n; k++) {
		const struct il_location *l = &il.location[il_locate(word[k], 4)];
		t->word[k] = (uintptr_t)word[k];
		if ((uint32_t)l->of[l->count - 1].value != value[k])
			return true;
	}
	memset(t->word + n, 0, (IL_WORDS - n) * sizeof *t->word);
	il_tell("sleeps");
	t->state = IL_ASLEEP;
	t->timed_out = false;
	il_point();
	return !t->timed_out;
}

IL static void il_wake(const uint32_t *word, uint32_t most)
{
	il_point();
	il_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; most && i < il.threads; i++)
		for (unsigned k = 0; k < IL_WORDS; k++)
			if (il.thread[i].state == IL_ASLEEP &&
			    il.thread[i].word[k] == (uintptr_t)word) {
				il.thread[i].state = IL_READY;
				il_tell("wakes %s", il.thread[i].name);
				most--;
			}
}

/* Sleeps until somebody wakes those on `word`; false: it ended by time. */
IL static bool il_doze(const void *word)
{
	struct il_thread *t = il.now;
	memset(t->word, 0, sizeof t->word);
	t->word[0] = (uintptr_t)word;
	t->state = IL_ASLEEP;
	t->timed_out = false;
	il_tell("sleeps");
	il_point();
	return !t->timed_out;
}

/* ---- what the test calls ---- */

IL static void il_share(const volatile void *p, size_t bytes, bool data)
{
	if (il.ranges == IL_RANGES)
		abort();
	il.shared[il.ranges].data = data;
	il.shared[il.ranges].start = (uintptr_t)p;
	il.shared[il.ranges].end = (uintptr_t)p + bytes;
	if (!il.ranges || (uintptr_t)p < il.low)
		il.low = (uintptr_t)p;
	if (!il.ranges || (uintptr_t)p + bytes > il.high)
		il.high = (uintptr_t)p + bytes;
	il.ranges++;
}

IL static void il_thread(const char *name, void (*body)(void))
{
	if (il.threads == IL_THREADS)
		abort();
	struct il_thread *t = &il.thread[il.threads++];
	t->name = name;
	t->body = body;
	if (!t->stack)
		t->stack = malloc(IL_STACK);
}

/* Tells whether a thread has ended; if so, the caller sees all that it did. */
IL static bool il_is_done(unsigned thread)
{
	const struct il_thread *t = &il.thread[thread];
	if (t->state != IL_DONE)
		return false;
	il_join(&il.now->cur, &t->cur);
	il_join(&il.now->acq, &t->cur);
	return true;
}

/* Once; `begin` sets everything to what it is at the start. */
IL static void il_once(void (*begin)(void))
{
	begin();
	il.run++;
	il.locations = il.made = il.spent = il.steps = 0;
	memset(&il.sc, 0, sizeof il.sc);
	for (unsigned i = 0; i < il.threads; i++) {
		struct il_thread *t = &il.thread[i];
		memset(&t->cur, 0, sizeof t->cur);
		t->rel = t->acq = t->cur;
		t->state = IL_READY;
		t->written = 0;
		t->in_data = false;
		getcontext(&t->at);
		t->at.uc_stack.ss_sp = t->stack;
		t->at.uc_stack.ss_size = IL_STACK;
		t->at.uc_link = NULL;
		makecontext(&t->at, il_begin, 0);
	}
	volatile bool over = false;
	getcontext(&il.home);
	if (over)
		return;
	over = true;
	il.now = &il.thread[0];
	setcontext(&il.now->at);
}

/* All runs that spend no more than `bound`; `end` looks at what is left after each, and returns what
 * is wrong or NULL. Returns how many there were; when one fails it is shown, and none follows. */
IL static unsigned long il_explore(const char *what, unsigned bound, void (*begin)(void),
				   const char *(*end)(void))
{
	unsigned long runs = 0;
	il.bound = bound;
	il.choices = 0;
	il.failed = false;
	do {
		const char *why = NULL;
		runs++;
		il_once(begin);
		if (!il.failed && (why = end()) != NULL) {
			il.failed = true;
			snprintf(il.why, sizeof il.why, "%s", why);
		}
	} while (!il.failed && il_next());
	if (il.failed) {
		printf("%s: %s, in run %lu:\n", what, il.why, runs);
		il.telling = true;
		il_once(begin);
		il.telling = false;
		il.failed = true;
	}
	il.ranges = il.threads = 0;
	return runs;
}

/* ---- the calls that -fsanitize=thread makes ---- */

#define IL_PLAIN(bytes)                                                                            \
	void __tsan_read##bytes(void *p);                                                          \
	IL void __tsan_read##bytes(void *p)                                                        \
	{                                                                                          \
		il_plain_read(p, bytes);                                                           \
	}                                                                                          \
	void __tsan_write##bytes(void *p);                                                         \
	IL void __tsan_write##bytes(void *p)                                                       \
	{                                                                                          \
		il_plain_write(p, bytes);                                                          \
	}
#define IL_UNALIGNED(bytes)                                                                        \
	void __tsan_unaligned_read##bytes(void *p);                                                \
	IL void __tsan_unaligned_read##bytes(void *p)                                              \
	{                                                                                          \
		il_plain_read(p, bytes);                                                           \
	}                                                                                          \
	void __tsan_unaligned_write##bytes(void *p);                                               \
	IL void __tsan_unaligned_write##bytes(void *p)                                             \
	{                                                                                          \
		il_plain_write(p, bytes);                                                          \
	}

/* Puts what a plain read may see where it reads. */
IL static void il_plain_read(void *p, unsigned bytes)
{
	if (!il_is_shared(p))
		return;
	il_access(p);
	for (unsigned at = 0; at < bytes; at += 8) {
		unsigned part = bytes - at < 8 ? bytes - at : 8;
		uint64_t v = il_see(il_locate((char *)p + at, part), __ATOMIC_RELAXED);
		memcpy((char *)p + at, &v, part);
		il_tell("%#lx is %lu", ((unsigned long)p + at) & 0xfffff, (unsigned long)v);
	}
}

/* Notes a plain write: what it stores is known at the thread's next call. */
IL static void il_plain_write(void *p, unsigned bytes)
{
	if (!il_is_shared(p))
		return;
	il_access(p);
	if (bytes > 8)
		il_fail("a plain store of %u bytes", bytes);
	il_locate(p, bytes); /* what was there */
	il.now->written = (uintptr_t)p;
	il.now->written_bytes = bytes;
}

IL_PLAIN(1)
IL_PLAIN(2)
IL_PLAIN(4)
IL_PLAIN(8)
IL_PLAIN(16)
IL_UNALIGNED(2)
IL_UNALIGNED(4)
IL_UNALIGNED(8)
IL_UNALIGNED(16)

void __tsan_init(void);
IL void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc);
IL void __tsan_func_entry(void *pc)
{
	(void)pc;
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch" /* gcc 12 declares a parameter */
void __tsan_func_exit(void);
IL void __tsan_func_exit(void)
{
}
#pragma GCC diagnostic pop
void __tsan_read_range(void *p, long bytes);
IL void __tsan_read_range(void *p, long bytes)
{
	if (il_is_shared(p))
		il_fail("%ld bytes are read in one", bytes);
}
void __tsan_write_range(void *p, long bytes);
IL void __tsan_write_range(void *p, long bytes)
{
	if (il_is_shared(p))
		il_fail("%ld bytes are written in one", bytes);
}

IL static uint64_t il_load(const volatile void *p, unsigned bytes, int order)
{
	il_access(p);
	uint64_t v = il_see(il_locate(p, bytes), order);
	il_tell("%#lx is %lu", (unsigned long)p & 0xfffff, (unsigned long)v);
	return v;
}

IL static void il_store(volatile void *p, unsigned bytes, uint64_t value, int order)
{
	il_access(p);
	unsigned i = il_locate(p, bytes);
	il_put(i, value, order, NULL);
	il_tell("%#lx = %lu", (unsigned long)p & 0xfffff, (unsigned long)value);
}

/* Begins a read-modify-write; il_put ends it. */
IL static uint64_t il_change(const volatile void *p, unsigned bytes, int order, unsigned *i)
{
	il_access(p);
	*i = il_locate(p, bytes);
	struct il_location *l = &il.location[*i];
	il_find(*i, l->count - 1, order);
	return l->of[l->count - 1].value;
}

IL static uint64_t il_apply(int what, uint64_t old, uint64_t v)
{
	return what == 'x'   ? v
	       : what == '+' ? old + v
	       : what == '-' ? old - v
	       : what == '&' ? old & v
	       : what == '|' ? old | v
			     : old ^ v;
}

IL static uint64_t il_modify(volatile void *p, unsigned bytes, int what, uint64_t v, int order)
{
	unsigned i;
	uint64_t old = il_change(p, bytes, order, &i);
	uint64_t new = il_apply(what, old, v);
	new &= bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
	const struct il_location *l = &il.location[i];
	il_put(i, new, order, &l->of[l->count - 1].view);
	il_tell("%#lx is %lu, = %lu", (unsigned long)p & 0xfffff, (unsigned long)old,
		(unsigned long)new);
	return old;
}

IL static bool il_compare(volatile void *p, unsigned bytes, uint64_t *old, uint64_t new, int order,
			  int order_if_not)
{
	unsigned i;
	uint64_t found = il_change(p, bytes, order_if_not, &i);
	if (found != *old) {
		*old = found;
		return false;
	}
	struct il_location *l = &il.location[i];
	il_find(i, l->count - 1, order);
	il_put(i, new, order, &l->of[l->count - 1].view);
	il_tell("%#lx is %lu, = %lu", (unsigned long)p & 0xfffff, (unsigned long)found,
		(unsigned long)new);
	return true;
}

/* Two words at once, by an instruction that is a fence. */
IL static bool il_swap_pair(void *p, const uint64_t old[2], const uint64_t new[2])
{
	bool same = !memcmp(p, old, 16);
	if (!il_is_shared(p)) {
		if (same)
			memcpy(p, new, 16);
		return same;
	}
	il_access(p);
	unsigned at[2] = {il_locate(p, 8), il_locate((uint64_t *)p + 1, 8)};
	struct il_location *l[2] = {&il.location[at[0]], &il.location[at[1]]};
	same = true;
	il_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++) {
		il_find(at[i], l[i]->count - 1, __ATOMIC_SEQ_CST);
		same &= l[i]->of[l[i]->count - 1].value == old[i];
	}
	for (int i = 0; same && i < 2; i++)
		il_put(at[i], new[i], __ATOMIC_SEQ_CST, &l[i]->of[l[i]->count - 1].view);
	for (int i = 0; same && i < 2; i++) /* who sees one sees both */
		l[i]->of[l[i]->count - 1].view = il.now->cur;
	il_fence(__ATOMIC_SEQ_CST);
	il_tell("%#lx %s {%#lx, %#lx}", (unsigned long)p & 0xfffff, same ? "=" : "stays, not",
		(unsigned long)new[0], (unsigned long)new[1]);
	return same;
}

#define IL_MODIFY(bits, name, what)                                                                \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *p, uint##bits##_t v,            \
						    int order);                                    \
	IL uint##bits##_t __tsan_atomic##bits##_##name(volatile void *p, uint##bits##_t v,         \
						       int order)                                  \
	{                                                                                          \
		volatile uint##bits##_t *at = p;                                                   \
		if (il_is_shared(p))                                                               \
			return (uint##bits##_t)il_modify(p, bits / 8, what, v, order);             \
		uint##bits##_t old = *at;                                                          \
		*at = (uint##bits##_t)il_apply(what, old, v);                                      \
		return old;                                                                        \
	}
#define IL_COMPARE(bits, name)                                                                     \
	bool __tsan_atomic##bits##_compare_exchange_##name(                                        \
		volatile void *p, void *old, uint##bits##_t new, int order, int order_if_not);     \
	IL bool __tsan_atomic##bits##_compare_exchange_##name(                                     \
		volatile void *p, void *old, uint##bits##_t new, int order, int order_if_not)      \
	{                                                                                          \
		volatile uint##bits##_t *at = p;                                                   \
		uint64_t expected = *(uint##bits##_t *)old, found = expected;                      \
		if (il_is_shared(p))                                                               \
			il_compare(p, bits / 8, &found, new, order, order_if_not);                 \
		else if ((found = *at) == expected)                                                \
			*at = new;                                                                 \
		*(uint##bits##_t *)old = (uint##bits##_t)found;                                    \
		return found == expected;                                                          \
	}
#define IL_ATOMIC(bits)                                                                            \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p, int order);              \
	IL uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p, int order)            \
	{                                                                                          \
		const volatile uint##bits##_t *at = p;                                             \
		return il_is_shared(p) ? (uint##bits##_t)il_load(p, bits / 8, order) : *at;        \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t v, int order);           \
	IL void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t v, int order)         \
	{                                                                                          \
		volatile uint##bits##_t *at = p;                                                   \
		if (il_is_shared(p))                                                               \
			il_store(p, bits / 8, v, order);                                           \
		else                                                                               \
			*at = v;                                                                   \
	}                                                                                          \
	IL_MODIFY(bits, exchange, 'x')                                                             \
	IL_MODIFY(bits, fetch_add, '+')                                                            \
	IL_MODIFY(bits, fetch_sub, '-')                                                            \
	IL_MODIFY(bits, fetch_and, '&')                                                            \
	IL_MODIFY(bits, fetch_or, '|')                                                             \
	IL_MODIFY(bits, fetch_xor, '^')                                                            \
	IL_COMPARE(bits, strong)                                                                   \
	IL_COMPARE(bits, weak)

IL_ATOMIC(8)
IL_ATOMIC(16)
IL_ATOMIC(32)
IL_ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
IL void __tsan_atomic_thread_fence(int order)
{
	if (!il.now)
		return;
	il_point();
	il_tell("fence");
	il_fence(order);
}
void __tsan_atomic_signal_fence(int order);
IL void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
