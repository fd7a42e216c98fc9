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
#include <sys/uio.h>
#include <unistd.h>

#include "attach_maps.h"
#include "hook_families.h"
#include "hook_find.h"
#include "libcommon/arena.h"
#include "libcommon/err.h"
#include "options.h"
#include "patch.h"
#include "session.h"

#define SLOTS (MG_NEAR_BYTES / MG_SLOT_BYTES)
#define PATIENCE_S 5

struct target {
	const struct hook_spec *spec;
	bool asked; /* by --hook */
	struct hook_place place;
	struct patch patch;
	unsigned near, slot;
};

struct work {
	struct session *s;
	const struct hooks *hooks;
	bool *placed;
	int mem;
	struct attach_maps maps;
	struct hook_modules modules;
	struct {
		struct target *v;
		size_t n, cap;
	} targets;
	struct near {
		uint64_t module, low, high;
		unsigned used;
	} near[MG_NEAR_MOST];
	unsigned near_count;
	struct ms_err *err;
};

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct work *w = arg;
	return pread(w->mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

static bool put(const struct work *w, uint64_t address, const void *from, size_t bytes)
{
	return pwrite(w->mem, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* One more line. */
static void refuse(struct work *w, const struct target *t, const char *why)
{
	size_t n = strlen(w->err->text);
	if (t->asked)
		snprintf(w->err->text + n, sizeof w->err->text - n, "%scannot hook '%s': %s",
			 n ? "\nms-record: " : "", t->spec->name, why);
}

/* ---- the plan ---- */

/* A page near the module that has a slot left, or NULL. */
static struct near *near_of(struct work *w, const struct hook_place *p)
{
	for (unsigned i = 0; i < w->near_count; i++)
		if (w->near[i].module == p->module.start && w->near[i].used < SLOTS)
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

static void look_for(struct work *w, const struct hook_spec *spec, bool asked)
{
	struct target t = {.spec = spec, .asked = asked};
	struct ms_err why = {0};
	int rc = hook_find(&w->modules, spec, &t.place, &why);
	if (rc > 0)
		return; /* another program may have it */
	if (!rc && is_taken(w, t.place.address)) {
		rc = -1;
		ms_err_set(&why, "it is hooked already");
	}
	struct near *n = rc || w->targets.n == MG_HOOKS_MAX ? NULL : near_of(w, &t.place);
	if (!n) {
		refuse(w, &t, rc ? why.text : "there are too many hooks");
		return;
	}
	t.near = (unsigned)(n - w->near);
	t.slot = n->used++;
	*MS_PUSH(&w->targets) = t;
}

static void look_for_known(void *arg, const struct hook_spec *spec, const struct hook_place *place)
{
	(void)place;
	look_for(arg, spec, false);
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

static int plan(struct work *w, struct target *t, struct ms_err *why)
{
	uint8_t code[PATCH_BODY_MOST];
	uint64_t page = w->s->mem->near[t->near];
	size_t want = t->place.bytes ? t->place.bytes : 512;
	want = want < 64 ? 64 : want > sizeof code ? sizeof code : want;
	if (!page)
		return ms_err_set(why, "there is no room for a jump near it");
	if (!read_memory(w, t->place.address, code, want) &&
	    !read_memory(w, t->place.address, code, want = 64))
		return ms_err_set(why, "its code cannot be read");
	return patch_plan(&t->patch, t->place.address, code, want, t->place.bytes,
			  page + t->slot * MG_SLOT_BYTES, why);
}

static bool place(const struct work *w, const struct target *t, uint64_t at)
{
	uint8_t slot[MG_SLOT_BYTES];
	struct mg_hook h = {.entry = t->place.address,
			    .slot = t->patch.slot,
			    .kind = MG_HOOK_CUSTOM,
			    .bytes = t->patch.bytes,
			    .custom = t->spec->custom};
	memcpy(h.original, t->patch.original, sizeof h.original);
	memcpy(h.patched, t->patch.patched, sizeof h.patched);
	patch_slot(&t->patch, w->s->mem->enter_custom, at, slot);
	return put(w, at, &h, sizeof h) && put(w, t->patch.slot, slot, sizeof slot) &&
	       put(w, t->place.address, h.patched, h.bytes);
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
		else if (plan(w, t, &why))
			refuse(w, t, why.text);
		else if (!place(w, t, at))
			refuse(w, t, "its memory cannot be written to");
		else if (t->asked)
			w->placed[t->spec - w->hooks->v] = true;
	}
}

/* ---- the conversation ---- */

static bool hear(int fd)
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
	bool wanted = hooks->n || hook_families_wanted(s);
	s->mem->hooks_wanted = wanted && !s->opt->sample_bytes;
	return s->mem->hooks_wanted;
}

int hook_launch(struct session *s, const struct hooks *hooks, int fd, bool *placed,
		struct ms_err *err)
{
	struct work w = {.s = s, .hooks = hooks, .placed = placed, .mem = -1, .err = err};
	const struct attach_memory mem = {read_memory, &w};
	if (!hear(fd))
		return ms_err_set(err, "cannot hook anything in '%s': it ended", s->name);
	w.mem = openat(s->proc, "mem", O_RDWR | O_CLOEXEC);
	if (w.mem < 0 || attach_maps_read(&w.maps, s->proc, err)) {
		ms_err_sys(err, "cannot hook anything in '%s': its memory cannot be had", s->name);
	} else {
		hook_modules_read(&w.modules, s->proc, &w.maps, &mem);
		for (size_t i = 0; i < hooks->n; i++)
			look_for(&w, &hooks->v[i], true);
		if (hook_families_wanted(s))
			hook_families_each(&w.modules, look_for_known, &w);
		choose_pages(&w);
	}
	if (answer(fd) && w.near_count && hear(fd)) {
		place_all(&w);
		answer(fd);
	}
	hook_modules_free(&w.modules);
	attach_maps_free(&w.maps);
	free(w.targets.v);
	if (w.mem >= 0)
		close(w.mem);
	return err->text[0] ? -1 : 0;
}
