/* SPDX-License-Identifier: MIT
 * Entries rewritten while threads that wait in the kernel may wake up and come to them.
 * Runs in the helper process.
 *
 * Where all threads are stopped, the bytes are just written. Else, for all entries at a time:
 *
 *   1. the first two bytes become a jump to itself: whoever comes waits there
 *   2. hijack_look: each thread has been in the kernel since, or is stopped; so none is on its way
 *      behind the first two bytes, but for stopped ones, which are moved
 *   3. the other bytes become what they are to be
 *   4. hijack_look: nobody's processor has old bytes of these any more
 *   5. the first two bytes become what they are to be
 *   6. hijack_look: a child that was forked meanwhile has a copy with jumps to themselves; it was
 *      created stopped, and gets its bytes
 *
 * The first two bytes are written with the rest of their aligned word, at one time. If we are
 * killed at any moment, nobody executes half an instruction: who comes waits until our guard has
 * put the old bytes back (attach_mend). If that is killed too, ms-record does so, or the next one,
 * who finds the jump to itself (patch_state).
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
#include "ms-record/base/descriptor.h"

#define WORD 8u
#define FORK_NS UINT64_C(500000000) /* for a fork to come to its end */
#define OTHERS_US 10000             /* for each processor to come into the kernel once */

static bool fits(const struct mg_hook *h)
{
	return h->entry % WORD <= WORD - MG_JUMP_FIRST;
}

bool attach_may_hold(const struct attach *a)
{
	for (uint32_t i = 0; i < a->manifest.hook_count; i++)
		if (!fits(&a->manifest.hooks[i]))
			return false;
	return !a->launched;
}

static int write_first(const struct attach *a, const struct mg_hook *h, const uint8_t *first)
{
	uint8_t word[WORD];
	uint64_t at = h->entry & ~(uint64_t)(WORD - 1);
	if (hijack_read(&a->h, at, word, sizeof word))
		return -1;
	memcpy(word + h->entry % WORD, first, MG_JUMP_FIRST);
	return hijack_write(&a->h, at, word, sizeof word);
}

static int write_rest(const struct attach *a, const struct mg_hook *h, const uint8_t *to)
{
	return hijack_write(&a->h, h->entry + MG_JUMP_FIRST, to + MG_JUMP_FIRST,
			    h->bytes - MG_JUMP_FIRST);
}

struct rewrite {
	struct attach *a;
	struct hijack_stop *s;
	bool back;
	struct {
		const struct mg_hook *hook;
		const uint8_t *to;
		const uint8_t *first; /* bytes, as they were */
	} v[MG_HOOKS_MAX];
	uint32_t n;
	bool begun; /* there may be jumps to themselves */
};

/* Those that are as they should be before, or wait. */
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

/* Children that were forked while there were jumps to themselves. */
static void mend_children(const struct rewrite *r)
{
	for (size_t i = 0; i < r->s->threads.n; i++) {
		char path[32];
		if (!r->s->threads.v[i].new_child)
			continue;
		snprintf(path, sizeof path, "/proc/%d/mem", (int)r->s->threads.v[i].new_child);
		struct attach child = {.h = {.mem = open(path, O_RDWR | O_CLOEXEC)}};
		for (uint32_t k = 0; k < r->n && child.h.mem >= 0; k++)
			if (hook_state(&child.h, r->v[k].hook) == PATCH_WAITS &&
			    !write_rest(&child, r->v[k].hook, r->v[k].to))
				write_first(&child, r->v[k].hook, r->v[k].to);
		descriptor_close(child.h.mem);
	}
}

/* A thread does not stop: the entries are as they were. */
static int give_up(struct rewrite *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct mg_hook *h = r->v[i].hook;
		write_first(r->a, h, r->v[i].first);
		r->v[i].to = r->back ? h->patched : h->original;
	}
	hijack_look(r->s, r->a->h.proc, ATTACH_STOP_NS);
	mend_children(r);
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
		rc = write_first(r->a, r->v[i].hook, patch_wait);
	if (rc || hijack_look(r->s, proc, ATTACH_STOP_NS) || (move && move(r->a, r->s, out)))
		return give_up(r);
	for (uint32_t i = 0; i < r->n; i++)
		rc |= write_rest(r->a, r->v[i].hook, r->v[i].to);
	hijack_look(r->s, proc, ATTACH_STOP_NS);
	for (uint32_t i = 0; i < r->n; i++)
		rc |= write_first(r->a, r->v[i].hook, r->v[i].to);
	hijack_look(r->s, proc, FORK_NS);
	mend_children(r);
	r->begun = false;
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

/* ---- the guard's ---- */

/* Are there entries at which threads wait? They become what they were. Nobody is behind the first
 * two bytes of them, or nothing changes there. */
static bool mend(const struct rewrite *r, const struct hijack *h)
{
	bool waits[MG_HOOKS_MAX] = {0}, any = false;
	struct attach at = {.h = *h};
	for (uint32_t i = 0; i < r->n; i++) {
		const struct mg_hook *hook = r->v[i].hook;
		waits[i] = hook_state(h, hook) == PATCH_WAITS;
		any |= waits[i] && !write_rest(&at, hook, hook->original);
	}
	if (any)
		usleep(OTHERS_US);
	for (uint32_t i = 0; i < r->n; i++)
		if (waits[i])
			write_first(&at, r->v[i].hook, r->v[i].hook->original);
	return any;
}

static void mend_process(const struct rewrite *r, const char *pid)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%s/mem", pid);
	struct hijack h = {.mem = open(path, O_RDWR | O_CLOEXEC)};
	if (h.mem >= 0)
		mend(r, &h);
	descriptor_close(h.mem);
}

static void mend_children_of(const struct rewrite *r, pid_t tid)
{
	char children[4096], *at = children;
	if (tid <= 0 || !hijack_text(r->a->h.proc, tid, "children", children, sizeof children))
		return;
	for (char *pid; (pid = strtok_r(at, " \n", &at));)
		mend_process(r, pid);
}

/* Those that the process has forked. No heap is used: it is the helper's, who may have been killed in
 * the middle of malloc, with a lock in his hands. */
static void mend_forked(const struct rewrite *r)
{
	_Alignas(struct dirent64) char entries[4096];
	int task = openat(r->a->h.proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (ssize_t n; task >= 0 && (n = getdents64(task, entries, sizeof entries)) > 0;)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(entries + at);
			mend_children_of(r, atoi(e->d_name));
			at += e->d_reclen;
		}
	descriptor_close(task);
}

void attach_mend(void *unused)
{
	const struct rewrite *r = &rewrite;
	(void)unused;
	if (!r->begun)
		return;
	mend(r, &r->a->h);
	for (uint64_t us = 0; us < FORK_NS / 1000; us += OTHERS_US) {
		mend_forked(r);
		usleep(OTHERS_US);
	}
}
