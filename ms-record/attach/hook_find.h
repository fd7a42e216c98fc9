/* SPDX-License-Identifier: MIT
 * Finds functions that --hook names in the modules of a process, by the symbols of their files.
 */
#pragma once

#include <stdint.h>

#include "hook_symbols.h"
#include "libcommon/base/arena.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/ptrace/attach_maps.h"
#include "ms-record/session/hook_spec.h"

struct ms_err;

struct hook_place {
	struct attach_module module; /* module of the function; its `map` is borrowed */
	uint64_t address, bytes;     /* address; size in bytes, 0 = not known */
	bool libc; /* the function is in the C library, whose own calls to it free internal
		      caches */
};

/* Holds the modules of a process, as found by hook_modules_read. */
struct hook_modules {
	MS_ARRAY(struct hook_module) all;
};

/* Reads the modules of a process. `maps` is borrowed until hook_modules_free. `proc`: folder
 * /proc/PID. `wanted`: called with the first mapping of each module, selects modules; NULL =
 * all. */
void hook_modules_read(struct hook_modules *m, int proc, const struct attach_maps *maps,
		       const struct attach_memory *mem,
		       bool (*wanted)(const void *arg, const struct attach_map *map),
		       const void *arg);
size_t hook_modules_count(const struct hook_modules *m);
/* Returns the i-th module; *file receives its symbols. */
const struct attach_module *hook_module(const struct hook_modules *m, size_t i,
					const struct hook_symbols **file);
/* Returns the path of the first module; "" = none. */
const char *hook_module_name(const struct hook_modules *m);
void hook_modules_free(struct hook_modules *m);
/* Finds the function that `spec` names. Returns 0 with *place set; 1 if there is none; -1 if there
 * are several, or only a copy with parameters changed by the compiler; `err` is then the end of a
 * sentence about the function. */
int hook_find(const struct hook_modules *m, const struct hook_spec *spec, struct hook_place *place,
	      struct ms_err *err);
/* Finds a function as hook_find does, but quickly; only for HOOK_UNWINDER and the names in
 * hook_families.c. */
int hook_find_known(const struct hook_modules *m, const struct hook_spec *spec,
		    struct hook_place *place, struct ms_err *err);
/* Tells whether any module defines the function `name`, which must be one that hook_find_known
 * accepts. */
bool hook_knows(const struct hook_modules *m, const char *name);
#define HOOK_UNWINDER "_Unwind_RaiseException" /* defined if the program may throw exceptions */
/* Tells whether a module belongs to MemScope or to the kernel. */
bool hook_is_ours(const char *path);
/* Tells whether a module belongs to a C++ runtime or to the C library. */
bool hook_is_runtime(const char *path);
