/* SPDX-License-Identifier: MIT
 * Finds which module's thread-local variables are where in the storage of each thread.
 *
 *   dtv       module 1 | module 2 | module 3 | ...   numbers in the order in which modules were loaded
 *   memory    ... | module 3 | module 2 | module 1 | control block (thread pointer)
 *
 * glibc's numbers cannot be read, and in a process that ran already the order of loading is not
 * known for sure. But the storage of a module is as large as its segment says, up to its alignment:
 * a module that does not fit is not the one.
 */
#include <stdlib.h>

#include "libcommon/base/order.h"
#include "scan_keep.h"

#define STATIC_MOST (UINT64_C(16) << 20) /* bytes below the thread pointer */
/* Storage farther below the next one, and of no known module, may be allocated memory. */
#define UNKNOWN_MOST (UINT64_C(64) << 10)

/* Describes the thread-local variables of a module. */
struct local {
	uint32_t module; /* index */
	uint32_t number;
	uint64_t bytes, align;
	bool used;
};

static int by_number(const void *a, const void *b)
{
	const struct local *x = a, *y = b;
	return MS_ORDER(x->number, y->number);
}

/* Lists the modules with thread-local variables in the order in which they were loaded. Returns
 * their number. */
static size_t list_locals(struct kept *k, struct local *v)
{
	size_t n = 0;
	for (size_t i = 0; i < k->module_count; i++) {
		struct kept_module *m = &k->modules[i];
		struct ms_elf_reader r;
		struct ms_elf_source from = ms_elf_in_memory(m->file.file, m->file.bytes);
		const Elf64_Phdr *p =
			m->file.file && ms_elf_read(&r, from) ? ms_elf_segment(&r, PT_TLS) : NULL;
		if (p && p->p_memsz)
			v[n++] = (struct local){(uint32_t)i, m->number, p->p_memsz,
						p->p_align ? p->p_align : 1, false};
	}
	if (n)
		qsort(v, n, sizeof *v, by_number);
	return n;
}

static int by_start(const void *a, const void *b)
{
	const struct kept_storage *x = a, *y = b;
	return MS_ORDER(x->start, y->start);
}

static bool fits(const struct local *l, uint64_t room)
{
	return !l->used && l->bytes <= room && room - l->bytes < l->align;
}

/* Returns the only module that fits storage of `room` bytes; NULL = none, or several. */
static struct local *choose(struct local *v, size_t n, uint64_t room)
{
	struct local *only = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!fits(&v[i], room))
			continue;
		if (only)
			return NULL;
		only = &v[i];
	}
	return only;
}

/* Returns the bytes from a thread's storage number `i` to what lies above it; 0 = it is not below
 * the thread pointer. */
static uint64_t room_of(const struct kept_thread *t, size_t i)
{
	uint64_t start = t->storage[i], end = t->regs->tp;
	if (start >= end || end - start > STATIC_MOST)
		return 0;
	for (size_t k = 0; k < t->storage_count; k++)
		if (t->storage[k] > start && t->storage[k] < end)
			end = t->storage[k];
	return end - start;
}

/* Tells whether all modules fit in their order. */
static bool is_ordered(const struct local *v, size_t n, const struct kept_thread *t)
{
	for (size_t i = 0; i < t->storage_count && i < n; i++) {
		uint64_t room = room_of(t, i);
		if (room && !fits(&v[i], room))
			return false;
	}
	return true;
}

/* Finds the module of each number of a table, KEEP_NONE = not known, for a thread that has one. */
static void match(struct local *v, size_t n, const struct kept_thread *t, uint32_t *module_of)
{
	bool ordered = is_ordered(v, n, t);
	for (size_t i = 0; i < t->storage_count; i++) {
		uint64_t room = room_of(t, i);
		struct local *l = !room      ? NULL
				  : !ordered ? choose(v, n, room)
				  : i < n    ? &v[i]
					     : NULL;
		module_of[i] = l ? l->module : KEEP_NONE;
		if (l)
			l->used = true;
	}
}

static void add_storage(struct kept *k, size_t thread, const uint32_t *module_of, size_t count)
{
	const struct kept_thread *t = &k->threads[thread];
	for (size_t i = 0; i < t->storage_count && i < count; i++) {
		uint64_t room = room_of(t, i);
		if (room && (module_of[i] != KEEP_NONE || room <= UNKNOWN_MOST))
			*MS_PUSH(&k->storage) =
				(struct kept_storage){t->storage[i], t->storage[i] + room,
						      (uint32_t)thread, module_of[i], 0};
	}
}

void kept_find_storage(struct kept *k)
{
	struct local *v = ms_xcalloc(k->module_count + 1, sizeof *v);
	size_t n = list_locals(k, v), some = 0, to = 0;
	for (size_t i = 0; i < k->thread_count; i++)
		if (k->threads[i].storage_count > k->threads[some].storage_count)
			some = i;
	size_t count = k->thread_count ? k->threads[some].storage_count : 0;
	uint32_t *module_of = ms_xcalloc(count + 1, sizeof *module_of);
	if (count)
		match(v, n, &k->threads[some], module_of);
	/* A table in which no module fits is not glibc's. */
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		known += module_of[i] != KEEP_NONE;
	for (size_t i = 0; i < k->thread_count && known; i++)
		add_storage(k, i, module_of, count);
	MS_FREE(v, module_of);
	if (k->storage.n)
		qsort(k->storage.v, k->storage.n, sizeof *k->storage.v, by_start);
	for (size_t i = 0; i < k->storage.n; i++)
		if (!to || k->storage.v[i].start >= k->storage.v[to - 1].end)
			k->storage.v[to++] = k->storage.v[i];
	k->storage.n = to;
}
