/* SPDX-License-Identifier: MIT
 * Allocators that are known by name.
 *
 * What such a library offers as malloc, free and so on is recorded anyway; here are the names that
 * are its own. A name that is the same function as another is hooked once.
 */
#include "hook_families.h"

#include <string.h>

#include "libcommon/base/err.h"
#include "ms-record/session/session.h"

static const char *const functions[] = {
	/* jemalloc */
	"mallocx(size, _) -> ptr",
	"rallocx(ptr, size, _) -> ptr",
	"dallocx(ptr, _)",
	"sdallocx(ptr, _, _)",
	"je_malloc(size) -> ptr",
	"je_calloc(nmemb, size) -> ptr",
	"je_realloc(ptr, size) -> ptr",
	"je_aligned_alloc(_, size) -> ptr",
	"je_memalign(_, size) -> ptr",
	"je_free(ptr)",
	"je_mallocx(size, _) -> ptr",
	"je_rallocx(ptr, size, _) -> ptr",
	"je_dallocx(ptr, _)",
	"je_sdallocx(ptr, _, _)",
	"_rjem_malloc(size) -> ptr",
	"_rjem_calloc(nmemb, size) -> ptr",
	"_rjem_realloc(ptr, size) -> ptr",
	"_rjem_aligned_alloc(_, size) -> ptr",
	"_rjem_free(ptr)",
	"_rjem_mallocx(size, _) -> ptr",
	"_rjem_rallocx(ptr, size, _) -> ptr",
	"_rjem_dallocx(ptr, _)",
	"_rjem_sdallocx(ptr, _, _)",
	/* mimalloc */
	"mi_malloc(size) -> ptr",
	"mi_malloc_small(size) -> ptr",
	"mi_zalloc_small(size) -> ptr",
	"mi_zalloc(size) -> ptr",
	"mi_calloc(nmemb, size) -> ptr",
	"mi_mallocn(nmemb, size) -> ptr",
	"mi_realloc(ptr, size) -> ptr",
	"mi_reallocf(ptr, size) -> ptr",
	"mi_reallocn(ptr, nmemb, size) -> ptr",
	"mi_rezalloc(ptr, size) -> ptr",
	"mi_recalloc(ptr, nmemb, size) -> ptr",
	"mi_malloc_aligned(size, _) -> ptr",
	"mi_malloc_aligned_at(size, _, _) -> ptr",
	"mi_zalloc_aligned(size, _) -> ptr",
	"mi_calloc_aligned(nmemb, size, _) -> ptr",
	"mi_realloc_aligned(ptr, size, _) -> ptr",
	"mi_new(size) -> ptr",
	"mi_new_n(nmemb, size) -> ptr",
	"mi_new_nothrow(size) -> ptr",
	"mi_new_aligned(size, _) -> ptr",
	"mi_new_realloc(ptr, size) -> ptr",
	"mi_heap_malloc(pool, size) -> ptr",
	"mi_heap_malloc_small(pool, size) -> ptr",
	"mi_heap_zalloc(pool, size) -> ptr",
	"mi_heap_calloc(pool, nmemb, size) -> ptr",
	"mi_heap_mallocn(pool, nmemb, size) -> ptr",
	"mi_heap_realloc(pool, ptr, size) -> ptr",
	"mi_heap_reallocn(pool, ptr, nmemb, size) -> ptr",
	"mi_heap_rezalloc(pool, ptr, size) -> ptr",
	"mi_heap_malloc_aligned(pool, size, _) -> ptr",
	"mi_heap_zalloc_aligned(pool, size, _) -> ptr",
	"mi_heap_realloc_aligned(pool, ptr, size, _) -> ptr",
	"mi_heap_destroy(pool)",
	"mi_free(ptr)",
	"mi_free_size(ptr, _)",
	"mi_free_aligned(ptr, _)",
	"mi_free_size_aligned(ptr, _, _)",
	/* tcmalloc */
	"tc_malloc(size) -> ptr",
	"tc_malloc_skip_new_handler(size) -> ptr",
	"tc_calloc(nmemb, size) -> ptr",
	"tc_realloc(ptr, size) -> ptr",
	"tc_memalign(_, size) -> ptr",
	"tc_valloc(size) -> ptr",
	"tc_pvalloc(size) -> ptr",
	"tc_new(size) -> ptr",
	"tc_newarray(size) -> ptr",
	"tc_new_nothrow(size, _) -> ptr",
	"tc_newarray_nothrow(size, _) -> ptr",
	"tc_free(ptr)",
	"tc_cfree(ptr)",
	"tc_free_sized(ptr, _)",
	"tc_delete(ptr)",
	"tc_delete_sized(ptr, _)",
	"tc_delete_nothrow(ptr, _)",
	"tc_deletearray(ptr)",
	"tc_deletearray_sized(ptr, _)",
	"tc_deletearray_nothrow(ptr, _)",
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static const char *const operators[] = {
	"_Znwm(size) -> ptr",
	"_Znam(size) -> ptr",
	"_ZnwmRKSt9nothrow_t(size) -> ptr",
	"_ZnamRKSt9nothrow_t(size) -> ptr",
	"_ZnwmSt11align_val_t(size) -> ptr",
	"_ZnamSt11align_val_t(size) -> ptr",
	"_ZnwmSt11align_val_tRKSt9nothrow_t(size) -> ptr",
	"_ZnamSt11align_val_tRKSt9nothrow_t(size) -> ptr",
	"_ZdlPv(ptr)",
	"_ZdaPv(ptr)",
	"_ZdlPvm(ptr)",
	"_ZdaPvm(ptr)",
	"_ZdlPvRKSt9nothrow_t(ptr)",
	"_ZdaPvRKSt9nothrow_t(ptr)",
	"_ZdlPvSt11align_val_t(ptr)",
	"_ZdaPvSt11align_val_t(ptr)",
	"_ZdlPvmSt11align_val_t(ptr)",
	"_ZdaPvmSt11align_val_t(ptr)",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t(ptr)",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t(ptr)",
};
#define OPERATORS (sizeof operators / sizeof *operators)

static const char *const libraries[] = {"jemalloc", "mimalloc", "tcmalloc"};

static bool is_one(const char *path)
{
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (strstr(basename(path), libraries[i]))
			return true;
	return false;
}

bool hook_families_wanted(const struct session *s)
{
	for (size_t i = 0; i < s->modules.maps.n; i++)
		if (s->modules.maps.v[i].exec && is_one(s->modules.maps.v[i].path))
			return true;
	return false;
}

bool hook_families_there(const struct hook_modules *m)
{
	static const char *const keys[] = {"mallocx", "je_malloc", "_rjem_malloc", "mi_malloc",
					   "tc_malloc"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (hook_is_there(m, keys[i]))
			return true;
	return false;
}

static void each(const struct hook_modules *m, const char *const *texts, struct hook_spec *specs,
		 size_t n, const char *path, hook_families_fn *f, void *arg)
{
	struct ms_err ignored = {0};
	for (size_t i = 0; i < n; i++) {
		struct hook_place place;
		if (!specs[i].name && hook_spec_read(&specs[i], texts[i], &ignored))
			continue;
		struct hook_spec of = specs[i];
		of.module = (char *)(uintptr_t)path;
		if (!hook_find(m, &of, &place, &ignored))
			f(arg, &specs[i], &place);
	}
}

void hook_families_each(const struct hook_modules *m, hook_families_fn *f, void *arg)
{
	static struct hook_spec specs[FUNCTIONS];
	each(m, functions, specs, FUNCTIONS, NULL, f, arg);
}

void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg)
{
	static struct hook_spec specs[OPERATORS];
	if (!hook_is_runtime(path))
		each(m, operators, specs, OPERATORS, path, f, arg);
}
