/* SPDX-License-Identifier: MIT
 * Who provides C++'s operators new and delete, and what is recorded of them.
 *
 * The operators of libstdc++ and libc++ call malloc and free: they are jumped to, and nothing is
 * recorded here. Other providers (tcmalloc, jemalloc) allocate by themselves: they are called
 * through a wrapper that records. Should such a provider call malloc, free or another operator for
 * the same block after all, it is counted once: mg_nesting_begin and _end. This file is compiled
 * with unwind tables and holds nothing across the call that an exception would have to undo.
 *
 * Each operator is looked up when it is first called. A library opened with its own scope (a C++
 * module of a C program) is found there, by asking in the scope of the caller's module.
 */
#include <dlfcn.h>
#include <errno.h>

#include "core.h"
#include "preload.h"

#define OPERATORS 20u
#define NEWS 8u /* the first of them allocate */

extern void *mg_cxx_target[OPERATORS] __attribute__((visibility("hidden")));
static void *provider[OPERATORS];
static bool foreign[NEWS]; /* its provider is another module than malloc's */

static const char *const names[OPERATORS] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* The first argument is what every operator new (a size) and delete (a block) begins with. */
static void *call_new(unsigned i, const uint64_t *frame, size_t size, uint64_t b, uint64_t c)
{
	void *(*real)(size_t, uint64_t, uint64_t) =
		(void *(*)(size_t, uint64_t, uint64_t))provider[i];
	mg_nesting_begin(NULL);
	void *block = real(size, b, c);
	if (mg_nesting_end(block))
		return block;
	if (!block)
		mg_on_failed(frame, size);
	else if (foreign[i])
		mg_on_foreign_alloc(frame, block, size);
	else
		mg_on_alloc(frame, block, size);
	return block;
}

static void call_delete(unsigned i, const uint64_t *frame, void *block, uint64_t b, uint64_t c)
{
	void (*real)(void *, uint64_t, uint64_t) =
		(void (*)(void *, uint64_t, uint64_t))provider[i];
	if (block)
		mg_on_free(frame, block);
	mg_nesting_begin(block);
	real(block, b, c);
	mg_nesting_end(NULL);
}

#define NEW(i)                                                                                     \
	static void *new_##i(size_t size, uint64_t b, uint64_t c)                                  \
	{                                                                                          \
		return call_new(i, MG_FRAME, size, b, c);                                          \
	}
#define DELETE(i)                                                                                  \
	static void delete_##i(void *block, uint64_t b, uint64_t c)                                \
	{                                                                                          \
		call_delete(i, MG_FRAME, block, b, c);                                             \
	}
NEW(0)
NEW(1)
NEW(2)
NEW(3)
NEW(4)
NEW(5)
NEW(6)
NEW(7)
DELETE(8)
DELETE(9)
DELETE(10)
DELETE(11)
DELETE(12)
DELETE(13)
DELETE(14)
DELETE(15)
DELETE(16)
DELETE(17)
DELETE(18)
DELETE(19)

static void *const wrappers[OPERATORS] = {
	new_0,     new_1,     new_2,     new_3,     new_4,     new_5,     new_6,
	new_7,     delete_8,  delete_9,  delete_10, delete_11, delete_12, delete_13,
	delete_14, delete_15, delete_16, delete_17, delete_18, delete_19,
};

/* Nobody provides the operator: plain malloc and free. It cannot throw; NULL is all that is left to
 * say. */
static void *plain_new(size_t size, uint64_t b, uint64_t c)
{
	(void)c;
	/* An alignment is a small number, a nothrow_t is an address. */
	return b >= 16 && b <= 4096 && !(b & (b - 1)) ? aligned_alloc(b, (size + b - 1) & ~(b - 1))
						      : malloc(size);
}

static void plain_delete(void *block)
{
	free(block);
}

/* Does the module at `address` belong to a C++ runtime? */
static bool is_runtime(const void *address)
{
	Dl_info info;
	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	const char *name = mg_base_name(info.dli_fname);
	return mg_starts(name, "libstdc++") || mg_starts(name, "libc++");
}

/* A handle of the loaded module that holds `address`, or NULL. */
static void *module_handle(const void *address, int flags)
{
	Dl_info info;
	if (!dladdr(address, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | flags);
}

/* In the scope of the caller's module. What is found there stays loaded, since from now on it is
 * jumped to from everywhere. */
static void *look_up_locally(const char *name, const void *caller)
{
	void *module = module_handle(caller, 0), *pinned = NULL;
	void *p = module ? dlsym(module, name) : NULL;
	if (p)
		pinned = module_handle(p, RTLD_NODELETE);
	if (pinned)
		mg_real.dlclose(pinned);
	if (module)
		mg_real.dlclose(module);
	dlerror(); /* that the name was not found before is not the program's to read */
	return pinned ? p : NULL;
}

void *mg_cxx_find(uint64_t i, const void *caller);
/* Called by the first call of operator `i` from `caller`; returns where to go, now and from now on.
 */
void *mg_cxx_find(uint64_t i, const void *caller)
{
	int error = errno;
	void *p = dlsym(RTLD_NEXT, names[i]), *to;
	if (!p)
		p = look_up_locally(names[i], caller);
	to = p;
	if (!p)
		to = i < NEWS ? (void *)plain_new : (void *)plain_delete;
	else if (!is_runtime(p))
		to = wrappers[i];
	if (i < NEWS)
		foreign[i] = p && !mg_same_module(p, *(void **)(void *)&mg_real.malloc);
	__atomic_store_n(&provider[i], p, __ATOMIC_RELEASE);
	if (p) /* else ask again: the next caller may have one */
		__atomic_store_n(&mg_cxx_target[i], to, __ATOMIC_RELEASE);
	errno = error;
	return to;
}
