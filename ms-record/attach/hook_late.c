/* SPDX-License-Identifier: MIT
 * Hooks in modules that are opened while the process is recorded.
 *
 * A thread that opens one waits in the dynamic linker (guest/late.c), and nobody executes the
 * module's code yet. So entries are replaced through /proc/PID/mem, and nothing is stopped. What is
 * hooked in the process stands in its own memory, where a forked child has a copy of it: in the
 * image's manifest, or where the preloaded guest keeps it.
 */
#include "hook_late.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach_private.h"
#include "hook_families.h"
#include "hook_find.h"
#include "hook_write.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"

#define PAGE_NS UINT64_C(2000000000) /* for the guest to map one */
#define REACH ((int64_t)MG_JUMP_REACH)

struct hook_late {
	struct {
		struct known {
			uint64_t start, inode;
		} * v;
		size_t n, cap;
	} known;                   /* mappings of executed files that were looked at */
	bool placed[MG_HOOKS_MAX]; /* by number of --hook */
	struct attach *attach;     /* the guest was put into it by that; NULL = preloaded */
};

struct work {
	struct hook_results *results;
	struct session *s;
	struct attach *attach; /* of the image; NULL = the guest is preloaded */
	bool child;            /* of the process that was attached to */
	struct hijack h;       /* its memory only */
	struct attach_maps maps;
	struct hook_modules modules; /* the new ones */
	uint64_t enter, hooks_at;
	struct mg_hook hooks[MG_HOOKS_MAX];
	bool written[MG_HOOKS_MAX]; /* in this look */
	uint32_t count;
	bool throws;
};

/* ---- whose turn it is ---- */

bool hook_late_asked(const struct session *s)
{
	return __atomic_load_n(&s->mem->late_state, __ATOMIC_ACQUIRE) == MG_LATE_ASKED;
}

static void wake(struct session *s)
{
	syscall(SYS_futex, &s->mem->late_state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool step(struct session *s, uint32_t from, uint32_t to)
{
	bool done = __atomic_compare_exchange_n(&s->mem->late_state, &from, to, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	if (done)
		wake(s);
	return done;
}

static bool still_waits(const struct session *s)
{
	return __atomic_load_n(&s->mem->late_state, __ATOMIC_ACQUIRE) != MG_LATE_GONE;
}

/* ---- what is new ---- */

static bool is_known(const struct hook_late *l, const struct attach_map *m)
{
	for (size_t i = 0; l && i < l->known.n; i++)
		if (l->known.v[i].start == m->start && l->known.v[i].inode == m->inode)
			return true;
	return false;
}

static struct hook_late *late_of(struct session *s)
{
	if (!s->late)
		s->late = ms_xcalloc(1, sizeof *s->late);
	return s->late;
}

void hook_late_known(struct session *s, const struct attach_maps *maps)
{
	late_of(s)->known.n = 0;
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].inode)
			*MS_PUSH(&s->late->known) =
				(struct known){maps->v[i].start, maps->v[i].inode};
}

struct hook_late *hook_late_begin(struct session *s, struct attach *a)
{
	hook_late_known(s, &a->maps);
	s->late->attach = a;
	return s->late;
}

void hook_late_forget(struct hook_late *l)
{
	if (l)
		l->attach = NULL;
}

void hook_late_free(struct hook_late *l)
{
	if (l && l->attach)
		l->attach->late = NULL;
	if (l)
		free(l->known.v);
	free(l);
}

void hook_late_placed(struct session *s, size_t i, struct hook_results *results)
{
	late_of(s)->placed[i] = true;
	if (s->hooks == results->asked)
		results->placed[i] = true;
}

bool hook_late_missing(const struct session *s, size_t i)
{
	return !s->late || !s->late->placed[i];
}

static bool is_new(const void *arg, const struct attach_map *m)
{
	const struct work *w = arg;
	return !is_known(w->s->late, m);
}

/* ---- where hooks go ---- */

/* What is hooked already. */
static bool read_hooks(struct work *w)
{
	struct session *s = w->s, *head = s->pool->head_session;
	bool by_image = s->attach_modules != NULL;
	w->attach = by_image && head && head->late ? head->late->attach : NULL;
	w->child = s != head;
	if (by_image && !w->attach)
		return false;
	uint32_t n = MG_HOOKS_MAX;
	w->enter = by_image ? w->attach->manifest.enter_custom : s->pool->head->enter_custom;
	w->hooks_at = by_image ? w->attach->manifest_at + offsetof(struct mg_manifest, hooks)
			       : s->pool->head->hooks;
	w->throws = by_image && w->attach->throws;
	if (!w->hooks_at || hijack_read(&w->h, w->hooks_at, w->hooks, sizeof w->hooks) ||
	    (by_image &&
	     hijack_read(&w->h, w->attach->manifest_at + offsetof(struct mg_manifest, hook_count),
			 &n, sizeof n)))
		return false;
	while (w->count < n && w->count < MG_HOOKS_MAX && w->hooks[w->count].entry)
		w->count++;
	return true;
}

static bool reaches(uint64_t page, const struct attach_module *m)
{
	int64_t low = (int64_t)(page - m->end), high = (int64_t)(page + MG_NEAR_BYTES - m->start);
	return low > -REACH && low < REACH && high > -REACH && high < REACH;
}

/* The guest maps a page, while it waits. */
static uint64_t page_by_guest(struct work *w, const struct attach_module *m)
{
	struct session *s = w->s;
	struct timespec nap = {0, 20000000};
	uint64_t until = clock_mono() + PAGE_NS;
	s->mem->late_page = attach_maps_room(&w->maps, m->start, m->end, MG_NEAR_BYTES, 0);
	if (!s->mem->late_page || !step(s, MG_LATE_TAKEN, MG_LATE_PAGE))
		return 0;
	while (__atomic_load_n(&s->mem->late_state, __ATOMIC_ACQUIRE) == MG_LATE_PAGE &&
	       clock_mono() < until)
		syscall(SYS_futex, &s->mem->late_state, FUTEX_WAIT, MG_LATE_PAGE, &nap, NULL, 0);
	return step(s, MG_LATE_MAPPED, MG_LATE_TAKEN) ? s->mem->late_page : 0;
}

static uint64_t new_page(struct work *w, const struct attach_module *m)
{
	if (!w->attach)
		return page_by_guest(w, m);
	return w->child ? 0 : attach_more_room(w->attach, m->start, m->end);
}

/* A slot of a page that is there already, or of a new one; 0 = there is no room. */
static uint64_t slot_for(struct work *w, const struct attach_module *m)
{
	for (uint32_t i = 0; i < w->count; i++) {
		uint64_t page = w->hooks[i].slot & ~(uint64_t)(MG_NEAR_BYTES - 1), last = 0;
		for (uint32_t k = 0; k < w->count; k++)
			if ((w->hooks[k].slot & ~(uint64_t)(MG_NEAR_BYTES - 1)) == page &&
			    w->hooks[k].slot > last)
				last = w->hooks[k].slot;
		if (reaches(page, m) && last + MG_SLOT_BYTES < page + MG_NEAR_BYTES)
			return last + MG_SLOT_BYTES;
	}
	return new_page(w, m);
}

/* ---- one hook ---- */

static void refuse(struct work *w, const struct hook_spec *spec, const char *module,
		   const char *why)
{
	char *text = w->results->refused.text, where[300];
	size_t n = strlen(text);
	snprintf(where, sizeof where, "'%.128s' in '%.128s'", spec->name, basename(module));
	if (!strstr(text, where)) /* it may be opened again and again */
		snprintf(text + n, sizeof w->results->refused.text - n,
			 "%s%s, which was opened later, cannot be hooked: %s", n ? "; " : "", where,
			 why);
}

/* It belongs to a module that is not there any more, so nobody is inside. */
static bool is_stale(const struct work *w, uint32_t i)
{
	const struct attach_map *m = attach_maps_at(&w->maps, w->hooks[i].entry);
	return !w->written[i] && (!m || !m->exec || !is_known(w->s->late, m));
}

/* Its place in the table; `count` when it is a new one. */
static uint32_t place_for(const struct work *w, const struct attach_module *m)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->hooks[i].kind == MG_HOOK_CUSTOM && is_stale(w, i) &&
		    reaches(w->hooks[i].slot & ~(uint64_t)(MG_NEAR_BYTES - 1), m))
			return i;
	return w->count;
}

/* Who takes the hooks out again has to know. */
static void note(struct work *w, uint32_t i)
{
	w->count = i == w->count ? i + 1 : w->count;
	w->written[i] = true;
	if (!w->attach)
		return;
	hijack_write(&w->h, w->attach->manifest_at + offsetof(struct mg_manifest, hook_count),
		     &w->count, sizeof w->count);
	if (w->child)
		return;
	w->attach->manifest.hooks[i] = w->hooks[i];
	w->attach->manifest.hook_count = w->count;
	w->attach->shared.times.hooks = w->count;
}

static bool is_hooked(const struct work *w, uint64_t entry)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->hooks[i].entry == entry && hook_state(&w->h, &w->hooks[i]) == PATCH_JUMPS)
			return true;
	return false;
}

/* A module was unloaded, and lies where it did before. */
static void place_again(struct work *w)
{
	for (uint32_t i = 0; i < w->count && still_waits(w->s); i++) {
		const struct mg_hook *h = &w->hooks[i];
		const struct attach_map *m = attach_maps_at(&w->maps, h->entry);
		if (h->kind == MG_HOOK_CUSTOM && m && m->exec && is_known(w->s->late, m) &&
		    hook_state(&w->h, h) == PATCH_ORIGINAL)
			hijack_write(&w->h, h->entry, h->patched, h->bytes);
	}
}

static int place(struct work *w, const struct hook_spec *spec, const struct hook_place *at,
		 struct ms_err *why)
{
	uint32_t i = place_for(w, &at->module);
	bool returns = spec->custom.what != MG_CUSTOM_FREE && spec->custom.what != MG_CUSTOM_RESET;
	if (is_hooked(w, at->address))
		return 0;
	if (returns && w->throws)
		return ms_err_set(
			why, "an exception thrown through it could not be unwound past the hook");
	if (i == MG_HOOKS_MAX)
		return ms_err_set(why, "there are too many hooks");
	struct hook_write one = {.h = &w->h,
				 .enter = w->enter,
				 .slot = i < w->count ? w->hooks[i].slot : slot_for(w, &at->module),
				 .hook = w->hooks_at + i * sizeof(struct mg_hook),
				 .kind = MG_HOOK_CUSTOM,
				 .custom = spec->custom};
	if (!one.slot)
		return ms_err_set(why,
				  "no address space is free within " MG_JUMP_REACH_NAME " of it");
	if (!still_waits(w->s))
		return ms_err_set(why, "the program did not wait for it");
	if (hook_write(&one, at, &w->hooks[i], why))
		return -1;
	note(w, i);
	return 0;
}

static void place_known(void *arg, const struct hook_spec *spec, const struct hook_place *at)
{
	struct ms_err ignored = {0};
	place(arg, spec, at, &ignored);
}

static void place_asked(struct work *w)
{
	const struct hooks *hooks = w->s->hooks;
	for (size_t i = 0; i < hooks->n; i++) {
		struct hook_place at;
		struct ms_err why = {0};
		int rc = hook_find(&w->modules, &hooks->v[i], &at, &why);
		if (!rc)
			rc = place(w, &hooks->v[i], &at, &why);
		if (!rc)
			hook_late_placed(w->s, i, w->results);
		else if (rc < 0)
			refuse(w, &hooks->v[i], hook_module_name(&w->modules), why.text);
	}
	if (hook_families_there(&w->modules))
		hook_families_each(&w->modules, place_known, w);
}

static void look(struct session *s, struct hook_results *results)
{
	struct work *w = ms_xcalloc(1, sizeof *w);
	const struct attach_memory mem = attach_memory_of(&w->h);
	w->results = results;
	w->s = s;
	w->h.mem = openat(s->proc, "mem", O_RDWR | O_CLOEXEC);
	if (w->h.mem >= 0 && !attach_maps_read(&w->maps, s->proc, NULL) && read_hooks(w)) {
		hook_modules_some(&w->modules, s->proc, &w->maps, &mem, is_new, w);
		w->throws |= w->attach && hook_unwinds(&w->modules);
		if (w->attach)
			w->attach->throws = w->throws;
		place_again(w);
		place_asked(w);
		hook_late_known(s, &w->maps);
	}
	hook_modules_free(&w->modules);
	attach_maps_free(&w->maps);
	if (w->h.mem >= 0)
		close(w->h.mem);
	free(w);
}

void hook_late_look(struct session *s, struct hook_results *results)
{
	if (!hook_late_asked(s))
		return;
	if (s->ending != SESSION_RUNS) {
		step(s, MG_LATE_ASKED, MG_LATE_NONE);
	} else if (step(s, MG_LATE_ASKED, MG_LATE_TAKEN)) {
		look(s, results);
		__atomic_store_n(&s->mem->late_state, MG_LATE_NONE, __ATOMIC_RELEASE);
		wake(s);
	}
}
