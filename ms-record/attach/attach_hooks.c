/* SPDX-License-Identifier: MIT
 * Attaching: finds the functions of the program that --hook names, those of known custom
 * allocators, and C++'s operators if the allocator defines them.
 */
#include <string.h>

#include "attach_private.h"
#include "hook_families.h"
#include "hook_find.h"
#include "hook_write.h"

static struct target *add(struct attach *a, const struct hook_spec *spec,
			  const struct hook_place *place)
{
	struct target *t = attach_add_target(a, &place->module, spec->name, MG_HOOK_CUSTOM,
					     place->address, place->bytes);
	if (t)
		t->patch.hook.custom = spec->custom;
	return t;
}

/* ---- --hook ---- */

static bool has_target(const struct attach *a, uint64_t address)
{
	for (uint32_t i = 0; i < a->target_count; i++)
		if (a->targets[i].patch.hook.entry == address)
			return true;
	return false;
}

static int refuse(const struct attach *a, const struct hook_spec *h, const char *why,
		  struct ms_err *err)
{
	return ms_err_set(err, "cannot hook '%s' in process %d: %s", h->name, (int)a->pid, why);
}

static int add_asked(struct attach *a, const struct hook_modules *m, const struct hook_spec *h,
		     struct ms_err *err)
{
	struct hook_place place;
	struct ms_err why = {0};
	int rc = hook_find(m, h, &place, &why);
	if (rc > 0 && a->manifest.debug_state)
		return 0; /* no error: a module loaded later may define the function */
	if (rc)
		return refuse(a, h, rc < 0 ? why.text : "it has no such function", err);
	bool returns = h->custom.what == MG_CUSTOM_ALLOC || h->custom.what == MG_CUSTOM_REALLOC ||
		       h->custom.what == MG_CUSTOM_CREATE;
	if (returns && a->throws)
		return refuse(
			a, h,
			"C++ exceptions that it throws could not pass the hook in this process; "
			"start the program with ms-record, or hook a function that returns nothing",
			err);
	struct target *t = add(a, h, &place);
	if (!t)
		return refuse(a, h,
			      has_target(a, place.address) ? "this function is already recorded"
							   : HOOK_LIMIT_REACHED,
			      err);
	t->must = true;
	a->placed[h - a->hooks->v] = true;
	return 0;
}

/* ---- known ones ---- */

static void add_known(void *arg, const struct hook_spec *spec, const struct hook_place *place)
{
	add(arg, spec, place);
}

/* Returns the first family number not in use: hooks of an earlier attachment keep their numbers. */
static uint32_t next_family(const struct attach *a)
{
	uint32_t most = 0;
	for (uint32_t i = 0; a->adopted && i < a->manifest.hook_count; i++)
		if (a->manifest.hooks[i].custom.family > most)
			most = a->manifest.hooks[i].custom.family;
	return most + 1;
}

static bool has_malloc(const struct attach *a, const struct attach_module *m)
{
	for (uint32_t i = 0; i < a->target_count; i++)
		if (a->targets[i].patch.hook.kind == MG_HOOK_MALLOC &&
		    a->targets[i].patch.hook.entry - m->start < m->end - m->start)
			return true;
	return false;
}

/* Tells whether operator new in this module is the C++ runtime's own, as in a static program. Such
 * an operator is not hooked: it calls malloc, which is hooked, and it throws if memory is
 * exhausted, but an exception cannot be unwound through a hook. */
static bool is_runtime(const struct attach *a, const struct attach_module *m)
{
	return !strcmp(m->map->path, a->exe) &&
	       (strstr(a->allocator, "glibc (static)") || strstr(a->allocator, "musl (static)"));
}

static void add_operators(struct attach *a, const struct hook_modules *m)
{
	for (size_t i = 0; i < a->maps.n; i++) {
		struct attach_module own;
		if (attach_elf_module(&a->memory, &a->maps, &a->maps.v[i], &own) &&
		    has_malloc(a, &own) && !is_runtime(a, &own))
			hook_operators_each(m, own.map->path, add_known, a);
	}
}

int attach_find_hooks(struct attach *a, struct ms_err *err)
{
	struct hook_modules m;
	int rc = 0;
	hook_modules_read(&m, a->h.proc, &a->maps, &a->memory, NULL, NULL);
	a->throws = hook_knows(&m, HOOK_UNWINDER);
	for (size_t i = 0; i < a->hooks->n && !rc; i++)
		rc = add_asked(a, &m, &a->hooks->v[i], err);
	struct hook_families known = {.next = next_family(a)};
	if (!rc)
		hook_families_each(&m, &known, add_known, a);
	if (!rc)
		add_operators(a, &m);
	hook_modules_free(&m);
	return rc;
}
