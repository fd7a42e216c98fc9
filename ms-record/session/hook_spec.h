/* SPDX-License-Identifier: MIT
 * What --hook says: a function of a custom allocator, and what its arguments and its result mean.
 *
 *   [MODULE!]NAME(ARGUMENT, ...) [-> ptr|pool] [in HEAP] [hide|apart]
 *
 * ARGUMENT: size, nmemb, ptr, pool, or _ for what does not matter; size32 and nmemb32 where it is
 * an int; out for where the block is put by a function that returns 0 then. NAME as in the symbol table, or as C++ writes it, with or without its parameters.
 */
#pragma once

#include <stddef.h>

#include "libcommon/base/arena.h"
#include "ms-record/guest/layout.h"

struct ms_err;

struct hook_spec {
	const char *text;        /* as given; borrowed */
	char *module;            /* NULL = any */
	char *name, *heap;       /* heap "" = malloc's */
	struct mg_custom custom; /* its heap's number is the owner's to give */
};

/* 0, or -1 with `err` set: it is not understood. */
int hook_spec_read(struct hook_spec *h, const char *text, struct ms_err *err);
void hook_spec_free(struct hook_spec *h);

/* All that --hook named. */
struct hooks {
	struct hook_spec *v;
	size_t n, cap;
	MS_ARRAY(const char *) heaps; /* names of heaps, by number - 1; borrowed from the hooks */
};
/* Reads one more, and numbers its heap. 0, or -1 with `err` set. */
int hooks_add(struct hooks *all, const char *text, struct ms_err *err);
void hooks_free(struct hooks *all);
