/* SPDX-License-Identifier: MIT
 * What the first words of a block say about its type: vtables of C++ and types of Python, and nothing else that they point to.
 */
#include "ms-record/scan/scan_keep_types.c" /* it belongs to a tool, of which there is no library */

#include <stdio.h>

#include "tests/unit/check.h"

#define BIAS 0x10000u

static const struct kept_symbol symbols[] = {{0x100, 0x140, "_ZTV6widget"},
					     {0x200, 0x300, "PyDict_Type"},
					     {0x400, 0x410, "g_table"},
					     {0x500, 0x600, "Py_Type"}};

struct kept_module *kept_module_at(struct kept_module *v, size_t n, uint64_t address)
{
	return n && address >= v->start && address < v->end ? v : NULL;
}

void kept_module_read(struct kept_module *m)
{
	m->read = true;
}

const struct kept_symbol *kept_symbol_at(const struct kept_symbols *s, uint64_t address)
{
	(void)s;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (address >= symbols[i].start && address < symbols[i].end)
			return &symbols[i];
	return NULL;
}

/* ---- a Python program: PyType_Type, a class, which is a block, and its name ---- */

#define TYPE_OF_TYPES (BIAS + 0x300u)
#define CLASS 0x20000u
#define NAME 0x30030u

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	static const char name[64] = "Node";
	uint64_t word = address == TYPE_OF_TYPES + 8 ? TYPE_OF_TYPES
			: address == CLASS + 40      ? NAME
						     : 0;
	(void)m;
	memcpy(to, address == NAME ? (const void *)name : &word, bytes);
	return true;
}

/* An object whose third word, and one whose fifth, points to the class; one that points there
 * elsewhere; the class. */
static void test_classes(void)
{
	static struct work w;
	struct graph_block blocks[] = {{.address = 0x100},
				       {.address = 0x200},
				       {.address = 0x300},
				       {.address = CLASS},
				       {.address = 0x40000}};
	uint64_t words[] = {0, 0, 0, TYPE_OF_TYPES | 3, (BIAS + 0x200) | 3};
	uint32_t first[] = {0, 2, 3, 4, 4, 4}, edges[] = {4, 3, 3, 3}, offsets[] = {8, 24, 40, 16};
	w.graph.v = blocks;
	w.graph.count = 5;
	w.graph.edges = edges;
	w.kept.found.graph.type_of = words;
	w.kept.found.graph.offsets = offsets;
	kept_read_classes(&w);
	CHECK(w.kept.classes.n == 1, "%zu classes", w.kept.classes.n);
	uint64_t *types = kept_find_types(&w, 5, first);
	static const char *const want[] = {"Node", "Node", "", "", ""};
	for (size_t i = 0; i < 5; i++) {
		const char *name = kept_type_name(&w.kept, types[i]) ?: "";
		CHECK(!strcmp(name, want[i]), "object %zu: '%s'", i, name);
	}
	MS_FREE(types, w.kept.classes.v);
}

static const struct {
	uint64_t word; /* as in graph_kept.type_of */
	const char *want;
} cases[] = {
	{0, ""},
	{BIAS + 0x110, "_ZTV6widget"},
	{BIAS + 0x110 + 1, ""}, /* only the first word of an object is one */
	{BIAS + 0x200 + 1, "PyDict_Type"},
	{BIAS + 0x200 + 3, "PyDict_Type"},
	{BIAS + 0x200, ""},
	{BIAS + 0x208 + 1, ""}, /* into the type */
	{BIAS + 0x400, ""},
	{BIAS + 0x500 + 1, ""},
	{BIAS + 0x700, ""},
	{0x110, ""},
	{BIAS + 0x110, "_ZTV6widget"},
};
#define CASES (sizeof cases / sizeof *cases)

int main(void)
{
	static struct work w;
	struct kept_module module = {.start = BIAS, .end = BIAS + 0x1000, .bias = BIAS};
	uint64_t words[CASES];
	w.graph.count = CASES;
	w.kept.modules = &module;
	w.kept.module_count = 1;
	CHECK(!kept_find_types(&w, CASES, NULL), "types without words");
	for (size_t i = 0; i < CASES; i++)
		words[i] = cases[i].word;
	w.kept.found.graph.type_of = words;
	uint64_t *types = kept_find_types(&w, CASES + 1, NULL);
	for (size_t i = 0; i < CASES; i++) {
		const char *name = kept_type_name(&w.kept, types[i]) ?: "";
		CHECK(!strcmp(name, cases[i].want), "case %zu: '%s', not '%s'", i, name,
		      cases[i].want);
	}
	CHECK(!types[CASES], "a node that is no block has type %llx",
	      (unsigned long long)types[CASES]);
	free(types);
	test_classes();
	return failures != 0;
}
