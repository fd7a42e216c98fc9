/* SPDX-License-Identifier: MIT
 * Hooks in modules that are loaded while the process is recorded.
 *
 * A thread that loads a module waits in the dynamic linker (guest/late.c), and no thread runs the
 * module's code yet. So entries are replaced through /proc/PID/mem without stopping any thread.
 * The table of hooks is in the process's own memory, so that a forked child has a copy: in the
 * image's manifest, or in the preloaded guest.
 */
#include "hook_late.h"

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
#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"

#define PAGE_NS UINT64_C(2000000000) /* time limit for the guest to map a page */

struct known {
	uint64_t start, inode;
};

struct hook_late {
	MS_ARRAY(struct known) known; /* file mappings that were searched already */
	bool placed[MG_HOOKS_MAX];    /* indexed by --hook option: the option's function was
					 hooked */
	struct attach *attach;        /* attachment of the process; NULL = guest preloaded */
};

struct work {
	struct hook_work w; /* common state; `modules` holds only newly loaded modules */
	struct hook_results *results;
	struct session *s;
	struct attach *attach;      /* attachment; NULL = the guest is preloaded */
	bool child;                 /* the process is a forked child of the attached one */
	bool too_late;              /* threads may run the new modules: nothing is hooked in them */
	bool written[MG_HOOKS_MAX]; /* hooks written in this search */
	bool throws;
};

/* ---- whose turn it is ---- */

static bool has_missed(const struct session *s)
{
	return __atomic_load_n(&s->mem->late_missed, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&s->late_missed, __ATOMIC_RELAXED);
}

bool hook_late_asked(const struct session *s)
{
	return __atomic_load_n(&s->mem->late_state, __ATOMIC_ACQUIRE) == MG_LATE_ASKED ||
	       has_missed(s);
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

/* Reads the table of hooks placed so far from the process. */
static bool read_hooks(struct work *w)
{
	struct session *s = w->s, *head = s->pool->head_session;
	bool by_image = s->modules.attached != NULL;
	w->attach = by_image && head && head->late ? head->late->attach : NULL;
	w->child = s != head;
	if (by_image && !w->attach)
		return false;
	uint32_t n = MG_HOOKS_MAX;
	w->w.enter = by_image ? w->attach->manifest.enter_custom : s->pool->head->enter_custom;
	w->w.hooks_at = by_image ? w->attach->manifest_at + offsetof(struct mg_manifest, hooks)
				 : s->pool->head->hooks;
	w->throws = by_image && w->attach->throws;
	if (!w->w.hooks_at || hijack_read(&w->w.h, w->w.hooks_at, w->w.hooks, sizeof w->w.hooks) ||
	    (by_image &&
	     hijack_read(&w->w.h, w->attach->manifest_at + offsetof(struct mg_manifest, hook_count),
			 &n, sizeof n)))
		return false;
	while (w->w.count < n && w->w.count < MG_HOOKS_MAX && w->w.hooks[w->w.count].entry)
		w->w.count++;
	return true;
}

/* Asks the waiting guest to map a page for hook slots. Returns the page's address; 0 = the guest
 * did not map one. */
static uint64_t page_by_guest(struct work *w, const struct attach_module *m)
{
	struct session *s = w->s;
	struct timespec nap = {0, 20000000};
	uint64_t until = clock_mono() + PAGE_NS;
	s->mem->late_page =
		attach_maps_room(&w->w.maps, m->code_low, m->code_high, MG_NEAR_BYTES, 0);
	if (!s->mem->late_page || !step(s, MG_LATE_TAKEN, MG_LATE_PAGE))
		return 0;
	while (__atomic_load_n(&s->mem->late_state, __ATOMIC_ACQUIRE) == MG_LATE_PAGE &&
	       clock_mono() < until)
		syscall(SYS_futex, &s->mem->late_state, FUTEX_WAIT, MG_LATE_PAGE, &nap, NULL, 0);
	return step(s, MG_LATE_MAPPED, MG_LATE_TAKEN) ? s->mem->late_page : 0;
}

static uint64_t new_page(struct hook_work *hooks, const struct attach_module *m)
{
	struct work *w = (struct work *)hooks; /* a struct hook_work is the first member of struct
						  work */
	if (!w->attach || !hijack_filtered(w->s->process.folder))
		return page_by_guest(w, m);
	return w->child ? 0 : attach_more_room(w->attach, m->code_low, m->code_high);
}

static bool waits(struct hook_work *hooks)
{
	return still_waits(((struct work *)hooks)->s);
}

/* ---- one hook ---- */

static void refuse(struct work *w, const struct hook_spec *spec, const char *module,
		   const char *why)
{
	char *text = w->results->refused.text, where[300];
	size_t n = strlen(text);
	snprintf(where, sizeof where, "'%.128s' in '%.128s'", spec->name, basename(module));
	if (!strstr(text, where)) /* one line per function, even if the module is loaded
				     repeatedly */
		snprintf(text + n, sizeof w->results->refused.text - n,
			 "%s%s, loaded at run time, cannot be hooked: %s", n ? "; " : "", where,
			 why);
}

/* Tells whether a hook belongs to an unloaded module, which no thread can be executing. In a forked
 * child, no module is known before the first search, but inherited hooks are still in place: those
 * are not stale. */
static bool is_stale(const struct work *w, uint32_t i)
{
	const struct mg_hook *h = &w->w.hooks[i];
	const struct attach_map *m = attach_maps_at(&w->w.maps, h->entry);
	return h->kind == MG_HOOK_CUSTOM && !w->written[i] &&
	       (!m || !m->exec || !is_known(w->s->late, m)) &&
	       hook_state(&w->w.h, h) != PATCH_JUMPS;
}

/* Returns an index in the hook table for a new hook: that of a hook of an unloaded module whose
 * hook slot is near enough to reuse, else `count`. */
static uint32_t place_for(const struct work *w, const struct attach_module *m)
{
	for (uint32_t i = 0; i < w->w.count; i++)
		if (is_stale(w, i) && hook_reaches(w->w.hooks[i].slot, m))
			return i;
	return w->w.count;
}

/* Adds hook `i` to the tables from which detaching removes hooks. */
static void note(struct work *w, uint32_t i)
{
	w->written[i] = true;
	if (!w->attach) {
		w->s->pool->head->hook_count = w->w.count;
		return;
	}
	hijack_write(&w->w.h, w->attach->manifest_at + offsetof(struct mg_manifest, hook_count),
		     &w->w.count, sizeof w->w.count);
	if (w->child)
		return;
	w->attach->manifest.hooks[i] = w->w.hooks[i];
	w->attach->manifest.hook_count = w->w.count;
	w->attach->shared.times.hooks = w->w.count;
}

static bool is_hooked(const struct work *w, uint64_t entry)
{
	for (uint32_t i = 0; i < w->w.count; i++)
		if (w->w.hooks[i].entry == entry &&
		    hook_state(&w->w.h, &w->w.hooks[i]) == PATCH_JUMPS)
			return true;
	return false;
}

/* Places hooks again in modules that were reloaded at the same address. */
static void place_again(struct work *w)
{
	for (uint32_t i = 0; i < w->w.count && still_waits(w->s); i++) {
		const struct mg_hook *h = &w->w.hooks[i];
		const struct attach_map *m = attach_maps_at(&w->w.maps, h->entry);
		if (h->kind == MG_HOOK_CUSTOM && m && m->exec && is_known(w->s->late, m) &&
		    hook_state(&w->w.h, h) == PATCH_ORIGINAL)
			hijack_write(&w->w.h, h->entry, h->patched, h->bytes);
	}
}

/* Clears the table entries of hooks in unloaded modules: a different module with equal first bytes
 * could be loaded at the same address and be taken for hooked. */
static void forget_stale(struct work *w)
{
	static const uint64_t nowhere = 1;
	for (uint32_t i = 0; i < w->w.count && still_waits(w->s); i++) {
		if (w->w.hooks[i].entry == nowhere || !is_stale(w, i))
			continue;
		hijack_write(&w->w.h,
			     w->w.hooks_at + i * sizeof(struct mg_hook) +
				     offsetof(struct mg_hook, entry),
			     &nowhere, sizeof nowhere);
		if (w->attach && !w->child)
			w->attach->manifest.hooks[i].entry = nowhere;
	}
}

static int place(struct work *w, const struct hook_spec *spec, const struct hook_place *at,
		 struct ms_err *why)
{
	uint32_t i = place_for(w, &at->module);
	bool returns = spec->custom.what != MG_CUSTOM_FREE && spec->custom.what != MG_CUSTOM_RESET;
	if (is_hooked(w, at->address))
		return 0;
	if (w->too_late)
		return ms_err_set(why, HOOK_TOO_LATE);
	if (returns && w->throws && !spec->custom.family)
		return ms_err_set(why, "C++ exceptions that it throws could not pass the hook");
	if (hook_write(&w->w, i, MG_HOOK_CUSTOM, &spec->custom, at, why))
		return -1;
	note(w, i);
	return 0;
}

static void place_known(void *arg, const struct hook_spec *spec, const struct hook_place *at)
{
	struct work *w = arg;
	struct ms_err why = {0};
	if (place(w, spec, at, &why))
		hook_families_refused(w->s, &w->results->refused, spec, at, why.text);
}

static uint32_t next_family(const struct work *w)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < w->w.count; i++)
		if (w->w.hooks[i].custom.family > most)
			most = w->w.hooks[i].custom.family;
	return most + 1;
}

static void place_asked(struct work *w)
{
	const struct hooks *hooks = w->s->hooks;
	for (size_t i = 0; i < hooks->n; i++) {
		struct hook_place at;
		struct ms_err why = {0};
		int rc = hook_find(&w->w.modules, &hooks->v[i], &at, &why);
		if (!rc)
			rc = place(w, &hooks->v[i], &at, &why);
		if (!rc)
			hook_late_placed(w->s, i, w->results);
		else if (rc < 0)
			refuse(w, &hooks->v[i], hook_module_name(&w->w.modules), why.text);
	}
	struct hook_families known = {.next = next_family(w),
				      .malloc = w->attach ? 0 : w->s->pool->head->malloc_at,
				      .later = true};
	hook_families_each(&w->w.modules, &known, place_known, w);
}

/* Reports that modules were missed in a process whose modules can no longer be read. */
static void report_unread(struct work *w)
{
	if (!w->s->guest.missed[0])
		snprintf(w->s->guest.missed, sizeof w->s->guest.missed,
			 "a module loaded at run time");
	if (!w->results->refused.text[0])
		ms_err_set(&w->results->refused,
			   "modules loaded at run time were not searched for functions to hook: "
			   "ms-record did not respond while one was loaded");
}

static void look(struct session *s, struct hook_results *results, bool too_late)
{
	struct work *w = ms_xcalloc(1, sizeof *w);
	w->results = results;
	w->s = s;
	w->too_late = too_late;
	w->w.new_page = new_page;
	w->w.waits = waits;
	if (!hook_work_open(&w->w, s->process.folder) && w->w.maps.n && read_hooks(w)) {
		hook_modules_read(&w->w.modules, s->process.folder, &w->w.maps, &w->w.memory,
				  is_new, w);
		w->throws |= w->attach && hook_knows(&w->w.modules, HOOK_UNWINDER);
		if (w->attach)
			w->attach->throws = w->throws;
		if (!too_late)
			place_again(w);
		place_asked(w);
		if (!too_late)
			forget_stale(w);
		hook_late_known(s, &w->w.maps);
	} else if (too_late) {
		report_unread(w);
	}
	hook_work_close(&w->w);
	free(w);
}

/* Tells whether the thread that waits may not be answered yet: the draining thread, which will wake
 * this one, has not read the modules, and would not know the first stacks in the new one. */
static bool is_early(const struct session *s)
{
	return s->modules.attached && !has_missed(s) &&
	       !__atomic_load_n(&s->late_modules, __ATOMIC_ACQUIRE);
}

void hook_late_look(struct session *s, struct hook_results *results)
{
	bool runs = s->ending == SESSION_RUNS;
	if (!hook_late_asked(s) || (runs && is_early(s)))
		return;
	bool asked = step(s, MG_LATE_ASKED, runs ? MG_LATE_TAKEN : MG_LATE_NONE);
	/* Read after the step: a module missed before the one for which a thread waits is then
	 * known to be, and nothing is hooked in either. */
	bool missed = has_missed(s);
	__atomic_store_n(&s->late_missed, __atomic_load_n(&s->mem->late_missed, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELAXED);
	if (runs && (asked || missed))
		look(s, results, missed);
	if (runs)
		__atomic_store_n(&s->late_modules, 0, __ATOMIC_RELAXED);
	if (runs && asked) {
		__atomic_store_n(&s->mem->late_state, MG_LATE_NONE, __ATOMIC_RELEASE);
		wake(s);
	}
}
