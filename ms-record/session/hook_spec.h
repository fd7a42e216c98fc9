/* SPDX-License-Identifier: MIT
 * --hook: a function of a custom allocator, with the meaning of its arguments and its result.
 *
 *   [MODULE!]NAME(ARGUMENT, ...) [-> ptr|pool] [in HEAP] [hide|apart]
 *
 * ARGUMENT: size, nmemb, ptr, pool, or _ for an argument without meaning; size32 and nmemb32 for an
 * int; out for a pointer to which the function stores the block (it then returns 0). NAME as in the
 * symbol table, or as written in C++, with or without its parameters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/base/arena.h"
#include "ms-record/guest/layout.h"

struct ms_err;

struct hook_spec {
	const char *text;        /* argument of --hook; borrowed */
	char *module;            /* name of the module; NULL = any module */
	char *name, *heap;       /* heap: name of the heap; "malloc" = malloc's heap */
	struct mg_custom custom; /* hooks_add sets the heap number */
};

/* Parses `text`. Returns 0, or -1 with `err` set if the syntax is wrong. */
int hook_spec_read(struct hook_spec *h, const char *text, struct ms_err *err);
void hook_spec_free(struct hook_spec *h);

/* Lists all functions named by --hook. */
struct hooks {
	struct hook_spec *v;
	size_t n, cap;
	MS_ARRAY(const char *) heaps; /* names of heaps, by number - 1; borrowed from `v` */
	bool exit;                    /* exit is hooked too: --retention-at=exit, or --standby */
};
/* Adds the hook described by `text`, and numbers its heap. Returns 0, or -1 with `err` set. */
int hooks_add(struct hooks *all, const char *text, struct ms_err *err);
void hooks_free(struct hooks *all);
