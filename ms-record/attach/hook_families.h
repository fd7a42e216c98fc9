/* SPDX-License-Identifier: MIT
 * Allocators that are known by the names of their functions, and C++ operators that a program
 * defines: their functions are hooked without --hook. Their blocks belong to malloc's heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hook_find.h"

struct session;

/* Holds the state of a search for families. */
struct hook_families {
	uint32_t next;   /* number of the next family found */
	uint64_t malloc; /* address of the malloc that is hooked anyway; 0 = not known */
	bool later;      /* searching modules loaded later: an allocator without a prefix is a
			    family, too */
	bool launched;   /* launched process: the executable's own allocator is a family, too */
	bool own;        /* the executable's own malloc was found, so the C library's is a family,
			    too */
};

/* Lists, as bits, the reasons to hook functions in a launched process: --hook names functions;
 * families were found; the process may load modules later; the program defines C++ operators
 * new; exit may be a moment of a scan. */
enum { HOOKS_ASKED = 1, HOOKS_FAMILIES = 2, HOOKS_LATER = 4, HOOKS_OPERATORS = 8, HOOKS_EXIT = 16 };
/* Returns the HOOKS_FAMILIES and HOOKS_LATER bits that apply to the process, judged by the symbols
 * of its mapped files. */
unsigned hook_families_wanted(struct session *s);
/* Receives each function of each family found; `spec` is valid during the call only. */
typedef void hook_families_fn(void *arg, const struct hook_spec *spec,
			      const struct hook_place *place);
void hook_families_each(const struct hook_modules *m, struct hook_families *known,
			hook_families_fn *f, void *arg);
/* Reports in `err`, unless an error is set already, and in the trace, that a function of a family
 * cannot be hooked. */
void hook_families_refused(struct session *s, struct ms_err *err, const struct hook_spec *spec,
			   const struct hook_place *place, const char *why);
/* Calls `f` with each C++ operator new and delete that the module at `path` defines. */
void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg);
/* Tells whether the executable of a process defines an operator new that never calls malloc, and
 * defines no malloc. Returns false if its code cannot be read. Slow if there is an operator new,
 * since all symbols are read. `proc`: folder /proc/PID. (hook_operators.c) */
bool hook_operators_own(int proc);
