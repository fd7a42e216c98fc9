/* SPDX-License-Identifier: MIT
 * Functions that --hook names, found in the modules of a process by the symbols of their files.
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
	struct attach_module module; /* its map is borrowed */
	uint64_t address, bytes;     /* bytes 0 = not known */
	bool libc;                   /* what calls it in its module gives back caches of its own */
};

/* The modules of a process, looked at once. */
struct hook_modules {
	MS_ARRAY(struct hook_module) all;
};

/* `maps` is borrowed as long as the modules are. `proc`: folder /proc/PID. With `wanted` only those
 * that begin in a mapping for which that says so. */
void hook_modules_read(struct hook_modules *m, int proc, const struct attach_maps *maps,
		       const struct attach_memory *mem,
		       bool (*wanted)(const void *arg, const struct attach_map *map),
		       const void *arg);
size_t hook_modules_count(const struct hook_modules *m);
/* The i-th of them, and its file. */
const struct attach_module *hook_module(const struct hook_modules *m, size_t i,
					const struct hook_symbols **file);
/* The name of the first of them, "" = there is none. */
const char *hook_module_name(const struct hook_modules *m);
void hook_modules_free(struct hook_modules *m);
/* 0: there is one, in *place; 1: there is none; -1 with `err` set to half a sentence: it cannot be
 * had, because there are several, or only such that the compiler changed. */
int hook_find(const struct hook_modules *m, const struct hook_spec *spec, struct hook_place *place,
	      struct ms_err *err);
/* Finds, like hook_find but quickly, a symbol by a name that hook_families.c knows, or
 * HOOK_UNWINDER. */
int hook_find_known(const struct hook_modules *m, const struct hook_spec *spec,
		    struct hook_place *place, struct ms_err *err);
/* Is a function of such a name there? */
bool hook_knows(const struct hook_modules *m, const char *name);
#define HOOK_UNWINDER "_Unwind_RaiseException" /* is there where exceptions may come */
/* Does a module belong to us, or to the kernel? */
bool hook_is_ours(const char *path);
/* Does it belong to a C++ runtime, or to the C library? */
bool hook_is_runtime(const char *path);
