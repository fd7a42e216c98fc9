/* SPDX-License-Identifier: MIT
 * Hooks in a program that was started with the guest preloaded.
 *
 * The guest reports when it has mapped its memory, and then waits for an answer. Meanwhile
 * functions are found here, and slots, hooks and jumps are written through /proc/PID/mem; the
 * guest maps pages for slots on request. The program has only this waiting thread then.
 */
#include "hook_launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ms-record/ptrace/attach_maps.h"
#include "attach.h"
#include "hook_families.h"
#include "hook_find.h"
#include "hook_late.h"
#include "hook_write.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/packet.h"
#include "libcommon/base/err.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/session/session.h"

#define PATIENCE_S 5

struct work {
	struct hook_work w;
	struct session *s;
	int fd; /* socket whose other end is the guest, which waits */
	const struct hooks *hooks;
	bool *placed;
	bool refused; /* a requested hook could not be placed */
	struct ms_err *err;
};

/* ---- messages to and from the guest ---- */

static bool receive(int fd)
{
	char byte;
	struct timeval patience = {PATIENCE_S, 0};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return TEMP_FAILURE_RETRY(recv(fd, &byte, 1, 0)) == 1;
}

static bool answer(int fd)
{
	return send(fd, "", 1, MSG_NOSIGNAL) == 1;
}

/* Asks the guest to map a page for hook slots. Tries several gaps, because a gap seen in the maps
 * may be in use by now. Returns the page's address; 0 = none. */
static uint64_t new_page(struct hook_work *hooks, const struct attach_module *m)
{
	enum { PLACES = 8 };
	const struct work *w = (const struct work *)hooks; /* a struct hook_work is the first member
							      of struct work */
	for (unsigned k = 0; k < PLACES; k++) {
		uint64_t at =
			attach_maps_room(&hooks->maps, m->code_low, m->code_high, MG_NEAR_BYTES, k);
		w->s->mem->late_page = at;
		if (!at || !answer(w->fd) || !receive(w->fd))
			return 0;
		if (w->s->mem->late_page)
			return at;
	}
	return 0;
}

/* Tells whether the guest still waits. It waits WELCOME_S for each message (guest/tell.c),
 * then closes its end and lets the program run. */
static bool waits(struct hook_work *hooks)
{
	return !packet_closed(((struct work *)hooks)->fd);
}

/* ---- the jumps ---- */

static bool is_taken(const struct work *w, uint64_t address)
{
	for (uint32_t i = 0; i < w->w.count; i++)
		if (w->w.hooks[i].entry == address)
			return true;
	return false;
}

static int place(struct work *w, const struct hook_spec *spec, uint32_t kind,
		 const struct hook_place *at, struct ms_err *why)
{
	if (is_taken(w, at->address))
		return ms_err_set(why, "it is already hooked");
	int rc = hook_write(&w->w, w->w.count, kind, &spec->custom, at, why);
	w->s->mem->hook_count = w->w.count;
	return rc;
}

/* Places the hook of one --hook option. A missing function is no error: another program, or a
 * module loaded later, may define it. */
static void place_asked(struct work *w, const struct hook_spec *spec)
{
	struct hook_place at;
	struct ms_err why = {0};
	size_t n = strlen(w->err->text);
	int rc = hook_find(&w->w.modules, spec, &at, &why);
	if (!rc)
		rc = place(w, spec, MG_HOOK_CUSTOM, &at, &why);
	if (!rc)
		w->placed[spec - w->hooks->v] = true;
	if (rc >= 0)
		return;
	w->refused = true;
	snprintf(w->err->text + n, sizeof w->err->text - n, "%scannot hook '%s': %s",
		 n ? "\nms-record: " : "", spec->name, why.text);
}

/* Tells whether the function belongs to the malloc family that the executable itself defines, and
 * that other modules use instead of the preloaded one. */
static bool is_own(const struct work *w, const struct hook_spec *spec, const struct hook_place *at)
{
	static const char *const names[] = {"malloc", "free", "calloc", "realloc"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(spec->name, names[i]))
			return !strcmp(at->module.map->path, hook_module_name(&w->w.modules));
	return false;
}

/* Records that the malloc defined by the executable is the one whose blocks are recorded. */
static void name_own(struct work *w, const struct hook_place *at)
{
	struct mg_session *m = w->s->mem;
	char libc[sizeof m->allocator];
	m->malloc_at = at->address;
	w->s->guest.own_malloc = true;
	memcpy(libc, m->allocator, sizeof libc);
	libc[sizeof libc - 1] = '\0';
	libc[strcspn(libc, " ")] = '\0'; /* name without version, as for attached processes */
	const char *known = attach_allocator_known(&w->w.memory, w->s->process.folder, &at->module);
	snprintf(m->allocator, sizeof m->allocator, "%.50s%s, %.60s",
		 known ? known : basename(at->module.map->path), known ? " (static)" : "", libc);
}

static void place_known(void *arg, const struct hook_spec *spec, const struct hook_place *at)
{
	struct work *w = arg;
	struct ms_err why = {0};
	bool own = is_own(w, spec, at);
	if (is_taken(w, at->address))
		return;
	if (!place(w, spec, MG_HOOK_CUSTOM, at, &why)) {
		if (own && !strcmp(spec->name, "malloc"))
			name_own(w, at);
		return;
	}
	/* A failure here does not matter: this is the C library's function, and the program uses
	 * its own malloc. */
	if (hook_is_runtime(at->module.map->path))
		return;
	w->refused |= own;
	if (own && !w->err->text[0])
		ms_err_set(w->err, "cannot record '%s': its %s cannot be hooked (%s)",
			   basename(at->module.map->path), spec->name, why.text);
	hook_families_refused(w->s, w->err, spec, at, why.text);
}

/* Hooks a C++ operator of the program that allocates without malloc. */
static void place_own(void *arg, const struct hook_spec *spec, const struct hook_place *at)
{
	struct work *w = arg;
	struct ms_err why = {0};
	if (place(w, spec, MG_HOOK_CUSTOM, at, &why))
		ms_err_set(w->err,
			   "the program's own operators new and delete are recorded in part: '%s' "
			   "cannot be hooked (%s)",
			   spec->name, why.text);
}

/* Hooks a C++ operator new or delete of a program that has its own malloc. The operator may
 * allocate without this malloc; if free also serves as operator delete, unknown blocks would be
 * freed. */
static void place_beside(void *arg, const struct hook_spec *spec, const struct hook_place *at)
{
	struct work *w = arg;
	struct ms_err ignored = {0};
	if (!is_taken(w, at->address))
		place(w, spec, MG_HOOK_CUSTOM, at, &ignored);
}

/* Hooks the function by which the dynamic linker notifies debuggers of modules loaded later. */
static void place_linker(struct work *w)
{
	static char module[] = CPU_LINKER, name[] = "_dl_debug_state";
	static const struct hook_spec spec = {.module = module, .name = name};
	struct attach_symbol debug = {.name = "_r_debug"};
	struct hook_place at;
	struct ms_err ignored = {0};
	enum { STATE = 24 }; /* offset of r_state in struct r_debug */
	if (hook_find(&w->w.modules, &spec, &at, &ignored))
		return;
	attach_elf_dynamic(&w->w.memory, &at.module, &debug, 1);
	w->s->mem->debug_state = debug.address + STATE;
	if (debug.address && !place(w, &spec, MG_HOOK_LINKER, &at, &ignored))
		__atomic_store_n(&w->s->mem->late_wanted, 1, __ATOMIC_RELAXED);
}

/* Hooks exit, which the C library also calls when main returns. */
static void place_exit(struct work *w)
{
	static char module[] = "libc.so.6", name[] = "exit";
	static const struct hook_spec spec = {.module = module, .name = name};
	struct hook_place at;
	struct ms_err ignored = {0};
	w->s->mem->exit_hooked = !hook_find(&w->w.modules, &spec, &at, &ignored) &&
				 !place(w, &spec, MG_HOOK_LEAVE, &at, &ignored);
}

/* Tells whether the module is the dynamic linker or the C library. */
static bool is_basic(const void *unused, const struct attach_map *map)
{
	(void)unused;
	return hook_is_runtime(map->path) ||
	       !strncmp(basename(map->path), CPU_LINKER, strlen(CPU_LINKER));
}

static void place_all(struct work *w)
{
	struct session *s = w->s;
	unsigned wanted = s->hooks_wanted;
	bool few = !(wanted & ~(unsigned)(HOOKS_LATER | HOOKS_EXIT));
	struct hook_families known = {.next = 1, .malloc = s->mem->malloc_at, .launched = true};
	hook_modules_read(&w->w.modules, s->process.folder, &w->w.maps, &w->w.memory,
			  few ? is_basic : NULL, NULL);
	for (size_t i = 0; i < w->hooks->n; i++)
		place_asked(w, &w->hooks->v[i]);
	if (wanted & (HOOKS_ASKED | HOOKS_LATER))
		place_linker(w);
	if (wanted & HOOKS_EXIT)
		place_exit(w);
	hook_late_known(s, &w->w.maps);
	if (wanted & HOOKS_FAMILIES)
		hook_families_each(&w->w.modules, &known, place_known, w);
	if (known.own)
		hook_operators_each(&w->w.modules, hook_module_name(&w->w.modules), place_beside,
				    w);
	if (wanted & HOOKS_OPERATORS)
		hook_operators_each(&w->w.modules, hook_module_name(&w->w.modules), place_own, w);
}

bool hook_launch_wanted(struct session *s, const struct hooks *hooks)
{
	s->hooks_wanted = (hooks->n ? HOOKS_ASKED : 0) | hook_families_wanted(s) |
			  (hook_operators_own(s->process.folder) ? HOOKS_OPERATORS : 0) |
			  (hooks->exit ? HOOKS_EXIT : 0);
	s->mem->hooks_wanted = s->hooks_wanted ? MG_HOOKS_WANTED : 0;
	return s->hooks_wanted;
}

bool hook_launch(struct session *s, const struct hooks *hooks, int fd, bool *placed, bool all,
		 struct ms_err *err)
{
	struct work w = {.w = {.h = {.mem = -1}, .new_page = new_page, .waits = waits},
			 .s = s,
			 .fd = fd,
			 .hooks = hooks,
			 .placed = placed,
			 .err = err};
	/* without other reasons, perhaps nothing needs a hook now; the summary tells of exit */
	bool needed = s->hooks_wanted & ~(unsigned)(HOOKS_LATER | HOOKS_EXIT);
	if (!receive(fd)) {
		if (needed)
			ms_err_set(err,
				   "cannot hook anything in '%s': it ended, or stopped waiting for "
				   "ms-record and ran on",
				   s->name);
		return false;
	}
	w.w.enter = s->mem->enter_custom;
	w.w.hooks_at = s->mem->hooks;
	bool closed = hook_work_open(&w.w, s->process.folder);
	w.refused = closed && hooks->n; /* only a failed --hook may stop the program */
	if (w.refused || (closed && needed))
		ms_err_sys(err, "cannot hook anything in '%s': its memory cannot be accessed",
			   s->name);
	else if (!closed)
		place_all(&w);
	hook_work_close(&w.w);
	s->mem->late_page = 0;
	bool refused = all && w.refused;
	/* Does not kill the program, but tells the guest to end it: if the guest did not wait, the
	 * program already runs and must not be killed. */
	if (refused)
		__atomic_store_n(&s->mem->hooks_wanted, MG_HOOKS_REFUSED, __ATOMIC_RELEASE);
	answer(fd);
	if (!refused)
		return false;
	receive(fd); /* returns when the guest ends or closes its end */
	return !__atomic_load_n(&s->mem->guest_ready, __ATOMIC_ACQUIRE);
}
