/* SPDX-License-Identifier: MIT
 * What the allocator of a module is called: by functions that no other one has.
 */
#include <stdio.h>
#include <string.h>

#include "attach_private.h"

static const struct {
	const char *function, *name;
} signs[] = {{"mallctl", "jemalloc"},       {"mi_malloc", "mimalloc"},
	     {"tc_malloc", "tcmalloc"},     {"MallocExtension_ReleaseFreeMemory", "tcmalloc"},
	     {"__libc_mallopt", "glibc"},   {"__libc_mallinfo", "glibc"},
	     {"__libc_malloc_impl", "musl"}};
#define SIGNS (sizeof signs / sizeof *signs)

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Of the executable's own. NULL: it has no name. */
static const char *known(const struct attach *a, const struct attach_module *m)
{
	struct attach_symbol s[SIGNS];
	for (size_t i = 0; i < SIGNS; i++)
		s[i] = (struct attach_symbol){.name = signs[i].function};
	attach_elf_dynamic(&a->memory, m, s, SIGNS);
	attach_elf_file(a->h.proc, m, s, SIGNS);
	for (size_t i = 0; i < SIGNS; i++)
		if (s[i].address)
			return signs[i].name;
	return NULL;
}

void attach_name_allocator(struct attach *a, const struct attach_module *m, bool exe)
{
	const char *name = basename(m->map->path), *own = exe ? known(a, m) : NULL;
	size_t n = strlen(a->allocator);
	if (starts(name, "libc.so.6") || starts(name, "libc-2"))
		name = "glibc";
	else if (starts(name, "ld-musl") || !strcmp(name, "libc.so"))
		name = "musl";
	snprintf(a->allocator + n, sizeof a->allocator - n, "%s%s%s", n ? ", " : "",
		 own ? own : name, own ? " (static)" : "");
}
