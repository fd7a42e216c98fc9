/* SPDX-License-Identifier: MIT
 * Rewrites entries while threads that wait in the kernel may wake up and reach them. Runs in the
 * helper process.
 *
 * If all threads are stopped, the bytes are simply written. Otherwise, for all entries at once:
 *
 *   1. the first two bytes become a jump to itself: threads that reach it wait there
 *   2. hijack_look: each thread has been in the kernel since, or is stopped; so no thread is past
 *      the first two bytes, except stopped ones, which are moved
 *   3. the other bytes are written
 *   4. hijack_look: no processor has old copies of these bytes any more
 *   5. the first two bytes are written
 *   6. hijack_look: a child that was forked meanwhile has a copy with jumps to themselves; it was
 *      created stopped, and its entries are written too
 *
 * The first two bytes are written together with the rest of their aligned word, in one write. If
 * the helper is killed at any moment, no thread executes half an instruction: threads wait at the
 * entry until the helper's guard has restored the old bytes (attach_mend). If the guard is killed
 * too, ms-record restores them, or the next ms-record, which finds the jump to itself
 * (patch_state).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_private.h"
#include "hook_write.h"
#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"

#define WORD 8u
#define FORK_NS UINT64_C(500000000) /* maximum wait for a fork while threads are stopped */
/* wait in which each running thread is expected to have entered the kernel once */
#define OTHERS_US 10000
#define FORKERS_MAX 4096u
/* maximum wait for forking threads that get no processor time */
#define FORKED_NS UINT64_C(60000000000)
#define FORK_RUN_NS 20000000u /* processor time that no fork exceeds */

static bool fits(const struct mg_hook *h)
{
	return patch_may_wait(h) && h->entry % WORD <= WORD - MG_JUMP_FIRST;
}

bool attach_may_hold(const struct attach *a)
{
	for (uint32_t i = 0; i < a->manifest.hook_count; i++)
		if (!fits(&a->manifest.hooks[i]))
			return false;
	return !a->launched;
}

static int write_first(const struct hijack *to, const struct mg_hook *h, const uint8_t *first)
{
	uint8_t word[WORD];
	uint64_t at = h->entry & ~(uint64_t)(WORD - 1);
	if (hijack_read(to, at, word, sizeof word))
		return -1;
	memcpy(word + h->entry % WORD, first, MG_JUMP_FIRST);
	return hijack_write(to, at, word, sizeof word);
}

static int write_rest(const struct hijack *to, const struct mg_hook *h, const uint8_t *bytes)
{
	return hijack_write(to, h->entry + MG_JUMP_FIRST, bytes + MG_JUMP_FIRST,
			    h->bytes - MG_JUMP_FIRST);
}

struct rewrite {
	struct attach *a;
	struct hijack_stop *s;
	bool back;
	struct {
		const struct mg_hook *hook;
		const uint8_t *to;
		const uint8_t *first; /* first bytes of the entry before rewriting */
	} v[MG_HOOKS_MAX];
	uint32_t n;
	bool begun;   /* entries may be jumps to themselves */
	bool written; /* all entries have their new bytes, except in children whose fork ended
			 late */
	bool late;    /* a fork may have lasted until after hijack_resume */
};

/* Selects the entries to change: those still in the state before the change, or left as jumps to
 * themselves. */
static void choose(struct rewrite *r)
{
	for (uint32_t i = 0; i < r->a->manifest.hook_count; i++) {
		const struct mg_hook *h = &r->a->manifest.hooks[i];
		enum patch_state st = hook_state(&r->a->h, h);
		if (st == PATCH_OTHERS || st == (r->back ? PATCH_ORIGINAL : PATCH_JUMPS))
			continue;
		r->v[r->n].hook = h;
		r->v[r->n].to = r->back ? h->original : h->patched;
		r->v[r->n++].first = st == PATCH_WAITS   ? patch_wait
				     : st == PATCH_JUMPS ? h->patched
							 : h->original;
	}
}

/* Replaces each jump to itself by the new bytes if all were written, else by the old bytes. Safe:
 * no thread is past the first two bytes of an entry, or the bytes after them do not change. */
static void mend(const struct rewrite *r, const struct hijack *h, bool runs)
{
	const uint8_t *to[MG_HOOKS_MAX] = {NULL};
	bool any = false;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct mg_hook *hook = r->v[i].hook;
		if (hook_state(h, hook) == PATCH_WAITS)
			to[i] = r->written ? r->v[i].to : hook->original;
		any |= to[i] && !write_rest(h, hook, to[i]);
	}
	if (any && runs)
		usleep(OTHERS_US);
	for (uint32_t i = 0; i < r->n; i++)
		if (to[i])
			write_first(h, r->v[i].hook, to[i]);
}

static void mend_process(const struct rewrite *r, pid_t pid, bool runs)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	struct hijack h = {.mem = open(path, O_RDWR | O_CLOEXEC)};
	if (h.mem >= 0)
		mend(r, &h, runs);
	descriptor_close(h.mem);
}

/* Repairs the entries of children that were forked while entries were jumps to themselves. */
static void mend_children(const struct rewrite *r)
{
	for (size_t i = 0; i < r->s->threads.n; i++)
		if (r->s->threads.v[i].new_child)
			mend_process(r, r->s->threads.v[i].new_child, false);
}

/* Repairs forked children, after the last jump to itself was removed from the process. */
static void end_forks(struct rewrite *r, uint64_t patience_ns)
{
	r->written = true;
	r->late = hijack_look(r->s, r->a->h.proc, patience_ns) != 0;
	mend_children(r);
	r->begun = r->late;
}

/* Restores the entries, because a thread did not stop. */
static int give_up(struct rewrite *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct mg_hook *h = r->v[i].hook;
		write_first(&r->a->h, h, r->v[i].first);
		r->v[i].to = r->back ? h->patched : h->original;
	}
	end_forks(r, ATTACH_STOP_NS);
	return ATTACH_AGAIN;
}

static int write_all(struct rewrite *r)
{
	int rc = 0;
	for (uint32_t i = 0; i < r->n; i++)
		rc |= hijack_write(&r->a->h, r->v[i].hook->entry, r->v[i].to, r->v[i].hook->bytes);
	return rc ? ATTACH_FAILED : ATTACH_DONE;
}

static int write_in_turn(struct rewrite *r, attach_move *move, struct attach_shared *out)
{
	int proc = r->a->h.proc, rc = 0;
	r->begun = true;
	for (uint32_t i = 0; i < r->n && !rc; i++)
		rc = write_first(&r->a->h, r->v[i].hook, patch_wait);
	if (rc || hijack_look(r->s, proc, ATTACH_STOP_NS) || (move && move(r->a, r->s, out)))
		return give_up(r);
	for (uint32_t i = 0; i < r->n; i++)
		rc |= write_rest(&r->a->h, r->v[i].hook, r->v[i].to);
	hijack_look(r->s, proc, ATTACH_STOP_NS);
	for (uint32_t i = 0; i < r->n; i++)
		rc |= write_first(&r->a->h, r->v[i].hook, r->v[i].to);
	end_forks(r, FORK_NS);
	return rc ? ATTACH_FAILED : ATTACH_DONE;
}

static struct rewrite rewrite;

int attach_rewrite(struct attach *a, struct hijack_stop *s, bool back, attach_move *move,
		   struct attach_shared *out)
{
	struct rewrite *r = &rewrite;
	*r = (struct rewrite){.a = a, .s = s, .back = back};
	choose(r);
	if (hijack_any_asleep(s))
		return write_in_turn(r, move, out);
	return move && move(a, s, out) ? ATTACH_AGAIN : write_all(r);
}

/* ---- with all threads going on: the guard's, and for children that come late ---- */

static void mend_children_of(const struct rewrite *r, pid_t tid)
{
	char children[4096], *at = children;
	if (!hijack_text(r->a->h.proc, tid, "children", children, sizeof children))
		return;
	for (char *pid; (pid = strtok_r(at, " \n", &at));)
		mend_process(r, atoi(pid), true);
}

/* Lists threads that may have been inside fork when the process got rid of its last jump to
 * itself. */
static struct {
	struct {
		pid_t tid;
		uint64_t ran_ns;
	} v[FORKERS_MAX];
	size_t n;
} forkers;

/* Returns the processor time of the thread in ns. */
static uint64_t ran_ns(int proc, pid_t tid)
{
	char text[128];
	return hijack_text(proc, tid, "schedstat", text, sizeof text) ? strtoull(text, NULL, 10)
								      : 0;
}

static bool may_fork(int proc, pid_t tid)
{
	char state = hijack_state(proc, tid);
	return state == 'R' || state == 'D';
}

static void note_forker(const struct rewrite *r, pid_t tid)
{
	if (forkers.n == FORKERS_MAX || !may_fork(r->a->h.proc, tid))
		return;
	forkers.v[forkers.n].tid = tid;
	forkers.v[forkers.n++].ran_ns = ran_ns(r->a->h.proc, tid);
}

/* Tells whether any thread in `forkers` may still be inside the fork call that it was in when it
 * was listed. */
static bool any_forks(int proc)
{
	for (; forkers.n; forkers.n--) {
		pid_t tid = forkers.v[forkers.n - 1].tid;
		uint64_t ran = ran_ns(proc, tid) - forkers.v[forkers.n - 1].ran_ns;
		if (may_fork(proc, tid) && ran < FORK_RUN_NS)
			return true;
	}
	return false;
}

/* Calls `f` with each thread. Does not use malloc: in the guard, the heap is that of the killed
 * helper, which may have held malloc's lock. */
static void each_thread(const struct rewrite *r, void (*f)(const struct rewrite *r, pid_t tid))
{
	_Alignas(struct dirent64) char entries[4096];
	int task = openat(r->a->h.proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (ssize_t n; task >= 0 && (n = getdents64(task, entries, sizeof entries)) > 0;)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(entries + at);
			if (atoi(e->d_name) > 0)
				f(r, atoi(e->d_name));
			at += e->d_reclen;
		}
	descriptor_close(task);
}

/* Repairs children that were forked while entries were jumps to themselves: such a child has its
 * copy of the memory long before it can be listed. Removing the jumps waited for copies in
 * progress, since both operations take the lock of the memory. */
static void mend_forked(const struct rewrite *r)
{
	uint64_t until = clock_mono() + FORKED_NS;
	bool more = true;
	forkers.n = 0;
	each_thread(r, note_forker);
	while (more) {
		more = any_forks(r->a->h.proc) && clock_mono() < until;
		each_thread(r, mend_children_of);
		hijack_beat();
		if (more)
			usleep(OTHERS_US);
	}
}

void attach_mend(void *unused)
{
	const struct rewrite *r = &rewrite;
	(void)unused;
	if (!r->begun)
		return;
	mend(r, &r->a->h, true);
	mend_forked(r);
}

void attach_mend_late(void)
{
	if (rewrite.late)
		mend_forked(&rewrite);
	rewrite.begun = rewrite.late = false;
}
