/* SPDX-License-Identifier: MIT
 * Hooks in a program that was started with the guest preloaded.
 *
 * The guest says when it has mapped all that it needs; then nothing in the process moves until we
 * answer. We find the functions and ask for pages near them; the guest maps those; we write slots,
 * hooks and jumps through /proc/PID/mem. The program has one thread then, which waits for us.
 */
#include "hook_launch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ms-record/ptrace/attach_maps.h"
#include "hook_families.h"
#include "hook_find.h"
#include "hook_late.h"
#include "hook_operators.h"
#include "hook_write.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/cpu.h"
#include "libcommon/base/err.h"
#include "ms-record/session/options.h"
#include "ms-record/session/session.h"

#define PATIENCE_S 5

struct target {
	const struct hook_spec *spec;
	bool asked;    /* by --hook */
	bool own;      /* an operator of the program's own, which allocates by itself: found */
	uint32_t kind; /* enum mg_hook_kind */
	struct hook_place place;
	unsigned near, slot;
};

struct work {
	struct session *s;
	const struct hooks *hooks;
	bool *placed;
	struct hijack h; /* its memory only */
	struct attach_maps maps;
	struct hook_modules modules;
	MS_ARRAY(struct target) targets;
	struct near {
		uint64_t module, low, high;
		unsigned used;
	} near[MG_NEAR_MOST];
	unsigned near_count;
	bool refused; /* one that was asked for */
	struct ms_err *err;
};

/* One more line. */
static void refuse(struct work *w, const struct target *t, const char *why)
{
	size_t n = strlen(w->err->text);
	w->refused |= t->asked;
	if (t->own && !n)
		ms_err_set(w->err,
			   "operators new and delete of the program's own are not all recorded: "
			   "'%s' cannot be hooked: %s",
			   t->spec->name, why);
	if (t->asked)
		snprintf(w->err->text + n, sizeof w->err->text - n, "%scannot hook '%s': %s",
			 n ? "\nms-record: " : "", t->spec->name, why);
}

/* ---- the plan ---- */

/* A page near the module that has a slot left, or NULL. */
static struct near *near_of(struct work *w, const struct hook_place *p)
{
	for (unsigned i = 0; i < w->near_count; i++)
		if (w->near[i].module == p->module.start && w->near[i].used < HOOK_SLOTS)
			return &w->near[i];
	if (w->near_count == MG_NEAR_MOST)
		return NULL;
	struct near *n = &w->near[w->near_count++];
	*n = (struct near){
		.module = p->module.start, .low = p->module.code_low, .high = p->module.code_high};
	return n;
}

static bool is_taken(const struct work *w, uint64_t address)
{
	for (size_t i = 0; i < w->targets.n; i++)
		if (w->targets.v[i].place.address == address)
			return true;
	return false;
}

static bool look_for(struct work *w, struct target t)
{
	const struct hook_spec *spec = t.spec;
	struct ms_err why = {0};
	int rc = t.own ? 0 : hook_find(&w->modules, spec, &t.place, &why);
	if (rc > 0)
		return false; /* another program may have it, or a module that is opened later */
	if (!rc && is_taken(w, t.place.address)) {
		rc = -1;
		ms_err_set(&why, "it is hooked already");
	}
	struct near *n = rc || w->targets.n == MG_HOOKS_MAX ? NULL : near_of(w, &t.place);
	if (!n) {
		refuse(w, &t, rc ? why.text : "there are too many hooks");
		return false;
	}
	t.near = (unsigned)(n - w->near);
	t.slot = n->used++;
	*MS_PUSH(&w->targets) = t;
	return true;
}

static void look_for_known(void *arg, const struct hook_spec *spec, const struct hook_place *place)
{
	(void)place;
	look_for(arg, (struct target){.spec = spec, .kind = MG_HOOK_CUSTOM});
}

static void look_for_own(void *arg, const struct hook_spec *spec, const struct hook_place *place)
{
	look_for(arg, (struct target){
			      .spec = spec, .own = true, .kind = MG_HOOK_CUSTOM, .place = *place});
}

/* By which modules that are opened later are noticed. */
static void look_for_linker(struct work *w, const struct attach_memory *mem)
{
	static char module[] = CPU_LINKER, name[] = "_dl_debug_state";
	static const struct hook_spec spec = {.module = module, .name = name};
	struct attach_symbol debug = {.name = "_r_debug"};
	enum { STATE = 24 }; /* of r_state in struct r_debug */
	if (!look_for(w, (struct target){.spec = &spec, .kind = MG_HOOK_LINKER}))
		return;
	attach_elf_dynamic(mem, &w->targets.v[w->targets.n - 1].place.module, &debug, 1);
	if (debug.address)
		w->s->mem->debug_state = debug.address + STATE;
	else
		w->targets.n--; /* its slot stays empty */
}

static void choose_pages(struct work *w)
{
	for (unsigned i = 0; i < w->near_count; i++) {
		unsigned nth = 0, k = 0;
		uint64_t at;
		do {
			at = attach_maps_room(&w->maps, w->near[i].low, w->near[i].high,
					      MG_NEAR_BYTES, nth++);
			for (k = 0; k < i && w->s->mem->near[k] != at; k++)
				continue;
		} while (at && k < i);
		w->s->mem->near[i] = at;
	}
	w->s->mem->near_count = w->near_count;
	w->s->mem->hook_count = (uint32_t)w->targets.n;
}

/* ---- the jumps ---- */

static int place(const struct work *w, const struct target *t, uint64_t at, struct ms_err *why)
{
	struct mg_hook h;
	uint64_t page = w->s->mem->near[t->near];
	const struct hook_write one = {.h = &w->h,
				       .enter = w->s->mem->enter_custom,
				       .slot = page + t->slot * MG_SLOT_BYTES,
				       .hook = at,
				       .kind = t->kind,
				       .custom = t->spec->custom};
	if (!page)
		return ms_err_set(why,
				  "no address space is free within " MG_JUMP_REACH_NAME " of it");
	return hook_write(&one, &t->place, &h, why);
}

static void place_all(struct work *w)
{
	const struct mg_session *m = w->s->mem;
	for (size_t i = 0; i < w->targets.n; i++) {
		struct target *t = &w->targets.v[i];
		struct ms_err why = {0};
		uint64_t at = m->hooks + i * sizeof(struct mg_hook);
		if (!m->hooks)
			refuse(w, t, "the program has no memory left");
		else if (place(w, t, at, &why))
			refuse(w, t, why.text);
		else if (t->kind == MG_HOOK_LINKER)
			w->s->mem->late_wanted = 1;
		else if (t->asked)
			w->placed[t->spec - w->hooks->v] = true;
	}
}

/* ---- messages to and from the guest ---- */

static bool receive(int fd)
{
	char byte;
	struct timeval patience = {PATIENCE_S, 0};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return recv(fd, &byte, 1, 0) == 1;
}

static bool answer(int fd)
{
	return send(fd, "", 1, MSG_NOSIGNAL) == 1;
}

bool hook_launch_wanted(struct session *s, const struct hooks *hooks)
{
	bool wanted = hooks->n || hook_families_wanted(s) || hook_operators_own(s->proc);
	s->mem->hooks_wanted = wanted;
	return s->mem->hooks_wanted;
}

int hook_launch(struct session *s, const struct hooks *hooks, int fd, bool *placed, bool all,
		struct ms_err *err)
{
	struct work w = {.s = s, .hooks = hooks, .placed = placed, .h = {.mem = -1}, .err = err};
	const struct attach_memory mem = attach_memory_of(&w.h);
	if (!receive(fd))
		return ms_err_set(err, "cannot hook anything in '%s': it ended", s->name);
	w.h.mem = openat(s->proc, "mem", O_RDWR | O_CLOEXEC);
	if (w.h.mem < 0 || attach_maps_read(&w.maps, s->proc, err)) {
		w.refused = true;
		ms_err_sys(err, "cannot hook anything in '%s': its memory cannot be had", s->name);
	} else {
		hook_modules_read(&w.modules, s->proc, &w.maps, &mem);
		for (size_t i = 0; i < hooks->n; i++)
			look_for(&w, (struct target){.spec = &hooks->v[i],
						     .asked = true,
						     .kind = MG_HOOK_CUSTOM});
		if (hooks->n)
			look_for_linker(&w, &mem);
		hook_late_known(s, &w.maps);
		if (hook_families_wanted(s))
			hook_families_each(&w.modules, look_for_known, &w);
		if (hook_operators_own(s->proc))
			hook_operators_each(&w.modules, hook_module_name(&w.modules), look_for_own,
					    &w);
		choose_pages(&w);
	}
	bool held = all && w.refused; /* unanswered it waits, and has done nothing yet */
	if (!held && answer(fd) && w.near_count && receive(fd)) {
		place_all(&w);
		if (!all || !w.refused)
			answer(fd);
	}
	hook_modules_free(&w.modules);
	attach_maps_free(&w.maps);
	free(w.targets.v);
	if (w.h.mem >= 0)
		close(w.h.mem);
	return w.refused ? -1 : 0;
}
