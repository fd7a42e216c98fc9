/* SPDX-License-Identifier: MIT
 * Allocators that are known by the names of their functions, and C++'s operators of a program's own:
 * their functions besides malloc's are hooked without being asked for. Their blocks are of malloc's
 * heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hook_find.h"

struct session;

/* Holds all that is known before families are looked for. */
struct hook_families {
	uint32_t next;   /* number of the next family that is found by its prefix */
	uint64_t malloc; /* the malloc that is recorded anyway; 0 = not known */
	bool later;    /* the modules were opened later: an allocator without a prefix is one too */
	bool launched; /* so is one of the executable, which comes before the preloaded library; */
	bool own;      /* that was found: the C library's may be called by it, or beside it */
};

/* Names the hooks that a launched process wants, as bits: functions that were named, families that
 * are there, those in modules that it may open later, operators of its own. */
enum { HOOKS_ASKED = 1, HOOKS_FAMILIES = 2, HOOKS_LATER = 4, HOOKS_OPERATORS = 8 };
/* HOOKS_FAMILIES and HOOKS_LATER, by the symbols of what is mapped. */
unsigned hook_families_wanted(struct session *s);
/* Calls `f` with each function of them that is there; `spec` lasts as long as that call. */
typedef void hook_families_fn(void *arg, const struct hook_spec *spec,
			      const struct hook_place *place);
void hook_families_each(const struct hook_modules *m, struct hook_families *known,
			hook_families_fn *f, void *arg);
/* Says in `err`, and for the trace, that this function of one cannot be hooked, unless something was
 * said before. */
void hook_families_refused(struct session *s, struct ms_err *err, const struct hook_spec *spec,
			   const struct hook_place *place, const char *why);
/* Calls `f` with each C++ operator new and delete that the module at `path` defines. */
void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg);
/* hook_operators.c. Of the executable of the process whose folder of /proc that is: does it define an
 * operator new, and no malloc, and does nothing that it calls lead to malloc? False also when its
 * code cannot be read. (Reads its symbols: slow where there is one.) */
bool hook_operators_own(int proc);
