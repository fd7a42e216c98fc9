/* SPDX-License-Identifier: MIT
 * Names of functions of allocators.
 */
#include "hook_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const struct hook_name hook_prefixed_names[] = {
	{"malloc", "(size) -> ptr"},
	{"free", "(ptr)"},
	{"calloc", "(nmemb, size) -> ptr"},
	{"realloc", "(ptr, size) -> ptr"},
	{"reallocf", "(ptr, size) -> ptr"},
	{"reallocarray", "(ptr, nmemb, size) -> ptr"},
	{"valloc", "(size) -> ptr"},
	{"pvalloc", "(size) -> ptr"},
	{"memalign", "(_, size) -> ptr"},
	{"aligned_alloc", "(_, size) -> ptr"},
	{"posix_memalign", "(out, _, size)"},
	{"cfree", "(ptr)"},
	{"free_sized", "(ptr, _)"},
	{"free_aligned_sized", "(ptr, _, _)"},
	/* jemalloc */
	{"mallocx", "(size, _) -> ptr"},
	{"rallocx", "(ptr, size, _) -> ptr"},
	{"dallocx", "(ptr, _)"},
	{"sdallocx", "(ptr, _, _)"},
};
const unsigned hook_prefixed_count = sizeof hook_prefixed_names / sizeof *hook_prefixed_names;

struct names {
	const char *arguments;
	const char *names; /* of functions that have these, with blanks between */
};

static const struct names known[] = {
	/* jemalloc */
	{"(size, _) -> ptr", "mallocx"},
	{"(ptr, size, _) -> ptr", "rallocx"},
	{"(ptr, _)", "dallocx"},
	{"(ptr, _, _)", "sdallocx"},
	/* mimalloc */
	{"(size) -> ptr",
	 "mi_malloc mi_malloc_small mi_zalloc_small mi_zalloc mi_new mi_new_nothrow mi_valloc "
	 "mi_pvalloc"},
	{"(nmemb, size) -> ptr", "mi_calloc mi_mallocn mi_new_n"},
	{"(ptr, size) -> ptr", "mi_realloc mi_reallocf mi_rezalloc mi_new_realloc"},
	{"(ptr, nmemb, size) -> ptr", "mi_reallocn mi_recalloc mi_reallocarray"},
	{"(size, _) -> ptr", "mi_malloc_aligned mi_zalloc_aligned mi_new_aligned"},
	{"(_, size) -> ptr", "mi_memalign mi_aligned_alloc"},
	{"(out, _, size)", "mi_posix_memalign"},
	{"(size, _, _) -> ptr", "mi_malloc_aligned_at"},
	{"(nmemb, size, _) -> ptr", "mi_calloc_aligned"},
	{"(ptr, size, _) -> ptr", "mi_realloc_aligned"},
	{"(pool, size) -> ptr", "mi_heap_malloc mi_heap_malloc_small mi_heap_zalloc"},
	{"(pool, nmemb, size) -> ptr", "mi_heap_calloc mi_heap_mallocn"},
	{"(pool, ptr, size) -> ptr", "mi_heap_realloc mi_heap_rezalloc"},
	{"(pool, ptr, nmemb, size) -> ptr", "mi_heap_reallocn"},
	{"(pool, size, _) -> ptr", "mi_heap_malloc_aligned mi_heap_zalloc_aligned"},
	{"(pool, ptr, size, _) -> ptr", "mi_heap_realloc_aligned"},
	{"(pool)", "mi_heap_destroy"},
	{"(ptr)", "mi_free mi_cfree"},
	{"(ptr, _)", "mi_free_size mi_free_aligned"},
	{"(ptr, _, _)", "mi_free_size_aligned"},
	/* tcmalloc */
	{"(size) -> ptr", "tc_malloc tc_malloc_skip_new_handler tc_valloc tc_pvalloc tc_new "
			  "tc_newarray"},
	{"(nmemb, size) -> ptr", "tc_calloc"},
	{"(ptr, size) -> ptr", "tc_realloc"},
	{"(_, size) -> ptr", "tc_memalign"},
	{"(out, _, size)", "tc_posix_memalign"},
	{"(size, _) -> ptr", "tc_new_nothrow tc_newarray_nothrow"},
	{"(ptr)", "tc_free tc_cfree tc_delete tc_deletearray"},
	{"(ptr, _)", "tc_free_sized tc_delete_sized tc_delete_nothrow tc_deletearray_sized "
		     "tc_deletearray_nothrow"},
	/* mozjemalloc, Firefox's: second entries that take an arena. Their blocks are malloc's, which
	 * free and realloc take too. */
	{"(_, size) -> ptr", "moz_arena_malloc"},
	{"(_, nmemb, size) -> ptr", "moz_arena_calloc"},
	{"(_, ptr, size) -> ptr", "moz_arena_realloc"},
	{"(_, _, size) -> ptr", "moz_arena_memalign"},
	{"(_, ptr)", "moz_arena_free"},
};

#define NEW "(size) -> ptr"
#define DELETE "(ptr)"
const struct hook_name hook_operators[] = {
	{"_Znwm", NEW},
	{"_Znam", NEW},
	{"_ZnwmRKSt9nothrow_t", NEW},
	{"_ZnamRKSt9nothrow_t", NEW},
	{"_ZnwmSt11align_val_t", NEW},
	{"_ZnamSt11align_val_t", NEW},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", NEW},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", NEW},
	{"_ZdlPv", DELETE},
	{"_ZdaPv", DELETE},
	{"_ZdlPvm", DELETE},
	{"_ZdaPvm", DELETE},
	{"_ZdlPvRKSt9nothrow_t", DELETE},
	{"_ZdaPvRKSt9nothrow_t", DELETE},
	{"_ZdlPvSt11align_val_t", DELETE},
	{"_ZdaPvSt11align_val_t", DELETE},
	{"_ZdlPvmSt11align_val_t", DELETE},
	{"_ZdaPvmSt11align_val_t", DELETE},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", DELETE},
};
const unsigned hook_operator_count = sizeof hook_operators / sizeof *hook_operators;

/* Is it one of these, with blanks between? */
static bool is_among(const char *name, const char *names)
{
	size_t n = strlen(name);
	for (const char *p = names; (p = strstr(p, name)); p++)
		if ((p == names || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

const char *hook_known_arguments(const char *name)
{
	static const char *const starts[] = {"mi_",     "tc_",     "moz_arena_", "mallocx",
					     "rallocx", "dallocx", "sdallocx"};
	bool may_be = false;
	for (size_t i = 0; i < sizeof starts / sizeof *starts && !may_be; i++)
		may_be = *name == *starts[i] && !strncmp(name, starts[i], strlen(starts[i]));
	for (size_t i = 0; may_be && i < sizeof known / sizeof *known; i++)
		if (is_among(name, known[i].names))
			return known[i].arguments;
	return NULL;
}
