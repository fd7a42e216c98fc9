/* SPDX-License-Identifier: MIT
 * Stores each different byte string once, and gives it a small number: names of functions, whole
 * stacks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"

struct interned {
	const void *bytes; /* aligned for any number type; followed by a NUL */
	size_t size;
};
struct intern {
	struct ms_arena arena;
	MS_ARRAY(struct interned) all;
	struct ms_lookup index;
};

/* Returns the number of a byte string; equal strings have equal numbers. Numbers begin at 0 without
 * gaps. */
uint32_t intern(struct intern *t, const void *bytes, size_t size);
uint32_t intern_text(struct intern *t, const char *s);
/* Returns the bytes of a number. */
static inline const struct interned *interned(const struct intern *t, uint32_t number)
{
	return &t->all.v[number];
}
void intern_free(struct intern *t);
