/* SPDX-License-Identifier: MIT
 * Allocators that are known by name.
 *
 * What such a library offers as malloc, free and so on is recorded anyway; here are the names that
 * are its own. A name that is the same function as another is hooked once.
 */
#include "hook_families.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/base/err.h"
#include "ms-record/session/session.h"

struct names {
	const char *arguments; /* and what is returned, as --hook says it */
	const char *names;     /* of functions that have these, with blanks between */
};

static const struct names functions[] = {
	/* jemalloc */
	{"(size) -> ptr", "je_malloc _rjem_malloc"},
	{"(nmemb, size) -> ptr", "je_calloc _rjem_calloc"},
	{"(ptr, size) -> ptr", "je_realloc _rjem_realloc"},
	{"(_, size) -> ptr", "je_aligned_alloc je_memalign _rjem_aligned_alloc"},
	{"(size, _) -> ptr", "mallocx je_mallocx _rjem_mallocx"},
	{"(ptr, size, _) -> ptr", "rallocx je_rallocx _rjem_rallocx"},
	{"(ptr)", "je_free _rjem_free"},
	{"(ptr, _)", "dallocx je_dallocx _rjem_dallocx"},
	{"(ptr, _, _)", "sdallocx je_sdallocx _rjem_sdallocx"},
	/* mimalloc */
	{"(size) -> ptr",
	 "mi_malloc mi_malloc_small mi_zalloc_small mi_zalloc mi_new mi_new_nothrow"},
	{"(nmemb, size) -> ptr", "mi_calloc mi_mallocn mi_new_n"},
	{"(ptr, size) -> ptr", "mi_realloc mi_reallocf mi_rezalloc mi_new_realloc"},
	{"(ptr, nmemb, size) -> ptr", "mi_reallocn mi_recalloc"},
	{"(size, _) -> ptr", "mi_malloc_aligned mi_zalloc_aligned mi_new_aligned"},
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
	{"(ptr)", "mi_free"},
	{"(ptr, _)", "mi_free_size mi_free_aligned"},
	{"(ptr, _, _)", "mi_free_size_aligned"},
	/* tcmalloc */
	{"(size) -> ptr", "tc_malloc tc_malloc_skip_new_handler tc_valloc tc_pvalloc tc_new "
			  "tc_newarray"},
	{"(nmemb, size) -> ptr", "tc_calloc"},
	{"(ptr, size) -> ptr", "tc_realloc"},
	{"(_, size) -> ptr", "tc_memalign"},
	{"(size, _) -> ptr", "tc_new_nothrow tc_newarray_nothrow"},
	{"(ptr)", "tc_free tc_cfree tc_delete tc_deletearray"},
	{"(ptr, _)", "tc_free_sized tc_delete_sized tc_delete_nothrow tc_deletearray_sized "
		     "tc_deletearray_nothrow"},
};

static const struct names operators[] = {
	{"(size) -> ptr",
	 "_Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t "
	 "_ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t "
	 "_ZnamSt11align_val_tRKSt9nothrow_t"},
	{"(ptr)", "_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t "
		  "_ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t "
		  "_ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t "
		  "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
};

bool hook_families_wanted(const struct session *s)
{
	for (size_t i = 0; i < s->modules.maps.n; i++) {
		const char *name = basename(s->modules.maps.v[i].path);
		if (s->modules.maps.v[i].exec &&
		    (strstr(name, "jemalloc") || strstr(name, "mimalloc") ||
		     strstr(name, "tcmalloc")))
			return true;
	}
	return false;
}

bool hook_families_there(const struct hook_modules *m)
{
	static const char *const keys[] = {"mallocx", "je_malloc", "_rjem_malloc", "mi_malloc",
					   "tc_malloc"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (hook_knows(m, keys[i]))
			return true;
	return false;
}

static void look_for(const struct hook_modules *m, const char *text, const char *path,
		     hook_families_fn *f, void *arg)
{
	struct ms_err ignored = {0};
	struct hook_place place;
	struct hook_spec spec;
	if (hook_spec_read(&spec, text, &ignored))
		return;
	spec.module = (char *)(uintptr_t)path;
	if (!hook_find_known(m, &spec, &place, &ignored))
		f(arg, &spec, &place);
	spec.module = NULL;
	hook_spec_free(&spec);
}

static void each(const struct hook_modules *m, const struct names *rows, size_t n, const char *path,
		 hook_families_fn *f, void *arg)
{
	char text[128];
	for (size_t i = 0; i < n; i++)
		for (const char *name = rows[i].names; *name; name += strspn(name, " ")) {
			int bytes = (int)strcspn(name, " ");
			snprintf(text, sizeof text, "%.*s%s", bytes, name, rows[i].arguments);
			look_for(m, text, path, f, arg);
			name += bytes;
		}
}

void hook_families_each(const struct hook_modules *m, hook_families_fn *f, void *arg)
{
	each(m, functions, sizeof functions / sizeof *functions, NULL, f, arg);
}

void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg)
{
	if (!hook_is_runtime(path))
		each(m, operators, sizeof operators / sizeof *operators, path, f, arg);
}
