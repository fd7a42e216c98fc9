/* SPDX-License-Identifier: MIT
 * Finds the types of blocks: an object of C++ with virtual functions begins with a pointer into its
 * class's vtable, an object of Python has a pointer to its type as the word behind the count of its
 * references, which is the first word or, behind the garbage collector's two, the third.
 *
 * A class of a Python program is a block itself, and the type of its type is in the interpreter. Before
 * the collector's words its objects may have two more.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
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

uint64_t kept_type_at(const struct kept *k, uint64_t word)
{
	uint64_t bias, at = word & ~(uint64_t)PLACE;
	const struct kept_symbol *y = symbol_at(k, at, &bias);
	bool is = y && is_type(y->name, word & PLACE, at - bias - y->start);
	return is ? bias + y->start : 0;
}

/* ---- classes of Python programs ---- */

#define CLASS_HEAD 16u /* bytes of the garbage collector before a class */
#define CLASS_NAME 24u /* offset of the pointer to the name in a class */

/* Tells whether CPython's type of types is at an address: its own type, too. */
static bool is_type_of_types(const struct work *w, uint64_t address)
{
	uint64_t type;
	return memory_get(&w->memory, address + 8, &type, sizeof type) && type == address;
}

void kept_read_classes(struct work *w)
{
	const uint64_t *words = w->kept.found.graph.type_of;
	uint64_t types = 0, at, others[CACHED / 8] = {0};
	for (uint32_t i = 0; words && i < w->graph.count; i++) {
		uint64_t word = words[i] & ~(uint64_t)PLACE;
		uint64_t *other = &others[word / 8 % (CACHED / 8)];
		if ((words[i] & PLACE) != 3 || *other == word)
			continue;
		if (word != types && !is_type_of_types(w, word)) {
			*other = word;
			continue;
		}
		types = word;
		struct kept_class c = {.address = w->graph.v[i].address, .block = i};
		uint64_t name = c.address + CLASS_HEAD + CLASS_NAME;
		if (memory_get(&w->memory, name, &at, sizeof at) &&
		    memory_get(&w->memory, at, c.name, sizeof c.name - 1) && *c.name)
			*MS_PUSH(&w->kept.classes) = c;
	}
}

static const struct kept_class *class_at(const struct kept *k, uint32_t block)
{
	size_t i = MS_COUNT_UP_TO(k->classes.v, k->classes.n, block, block);
	return i && k->classes.v[i - 1].block == block ? &k->classes.v[i - 1] : NULL;
}

/* Returns the address of the class to which an object points where it has its type; 0 = none. */
static uint64_t class_of(const struct work *w, const uint32_t *first, uint32_t block)
{
	for (uint32_t e = first[block]; e < first[block + 1]; e++) {
		uint32_t at = w->kept.found.graph.offsets[e], to = w->graph.edges[e];
		if ((at == 8 || at == 24 || at == 40) && class_at(&w->kept, to))
			return w->graph.v[to].address;
	}
	return 0;
}

/* ---- types of blocks ---- */

uint64_t *kept_find_types(const struct work *w, size_t nodes, const uint32_t *first)
{
	const uint64_t *words = w->kept.found.graph.type_of;
	struct {
		uint64_t word, type;
	} *cache = words ? ms_xcalloc(CACHED, sizeof *cache) : NULL;
	uint64_t *types = cache ? ms_xcalloc(nodes + 1, sizeof *types) : NULL;
	for (uint32_t i = 0; cache && i < w->graph.count; i++) {
		size_t at = (size_t)(words[i] * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CACHED;
		if (cache[at].word != words[i]) {
			cache[at].word = words[i];
			cache[at].type = kept_type_at(&w->kept, words[i]);
		}
		types[i] = cache[at].type;
		if (!types[i] && w->kept.classes.n)
			types[i] = class_of(w, first, i);
	}
	free(cache);
	return types;
}

const char *kept_type_name(const struct kept *k, uint64_t type)
{
	uint64_t bias;
	const struct kept_symbol *y = type ? symbol_at(k, type, &bias) : NULL;
	size_t i = MS_COUNT_UP_TO(k->classes.v, k->classes.n, address, type);
	bool is = type && i && k->classes.v[i - 1].address == type;
	return y ? y->name : is ? k->classes.v[i - 1].name : NULL;
}
