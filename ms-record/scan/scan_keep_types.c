/* SPDX-License-Identifier: MIT
 * Finds the types of blocks: an object of C++ with virtual functions begins with a pointer into its
 * class's vtable, an object of Python has a pointer to its type as the word behind the count of its
 * references, which is the first word or, behind the garbage collector's two, the third.
 */
#include <stdlib.h>
#include <string.h>

#include "scan_keep.h"
#include "scan_work.h"

#define CACHED 4096u /* must be a power of two */
#define PLACE 7u     /* bits of graph_kept.type_of that hold the word's index */

/* Tells whether a word of a block is a pointer to a type: one with index `place` that points
 * `into` bytes behind the start of the variable `name`. */
static bool is_type(const char *name, unsigned place, uint64_t into)
{
	static const char end[] = "_Type";
	size_t n = strlen(name), m = sizeof end - 1;
	if (place == 0)
		return !strncmp(name, "_ZTV", 4);
	return !into && n > m + 2 && !strncmp(name, "Py", 2) && !strcmp(name + n - m, end);
}

static const struct kept_symbol *symbol_at(const struct kept *k, uint64_t address, uint64_t *bias)
{
	struct kept_module *m = kept_module_at(k->modules, k->module_count, address);
	if (!m)
		return NULL;
	kept_module_read(m);
	*bias = m->bias;
	return kept_symbol_at(&m->variables, address - m->bias);
}

/* Returns the address of a type; 0 = `word`, as in graph_kept.type_of, points to none. */
static uint64_t type_of(const struct kept *k, uint64_t word)
{
	uint64_t bias, at = word & ~(uint64_t)PLACE;
	const struct kept_symbol *y = symbol_at(k, at, &bias);
	bool is = y && is_type(y->name, word & PLACE, at - bias - y->start);
	return is ? bias + y->start : 0;
}

uint64_t *kept_find_types(const struct work *w, size_t nodes)
{
	const uint64_t *words = w->kept.found.graph.type_of;
	struct {
		uint64_t word, type;
	} *cache = words ? ms_xcalloc(CACHED, sizeof *cache) : NULL;
	uint64_t *types = cache ? ms_xcalloc(nodes + 1, sizeof *types) : NULL;
	for (uint32_t i = 0; cache && i < w->graph.count; i++) {
		size_t at = (size_t)(words[i] * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CACHED;
		if (!words[i])
			continue;
		if (cache[at].word != words[i]) {
			cache[at].word = words[i];
			cache[at].type = type_of(&w->kept, words[i]);
		}
		types[i] = cache[at].type;
	}
	free(cache);
	return types;
}

const char *kept_type_name(const struct kept *k, uint64_t type)
{
	uint64_t bias;
	const struct kept_symbol *y = type ? symbol_at(k, type, &bias) : NULL;
	return y ? y->name : NULL;
}
