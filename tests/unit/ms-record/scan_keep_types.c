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
	CHECK(!kept_find_types(&w, CASES), "types without words");
	for (size_t i = 0; i < CASES; i++)
		words[i] = cases[i].word;
	w.kept.found.graph.type_of = words;
	uint64_t *types = kept_find_types(&w, CASES + 1);
	for (size_t i = 0; i < CASES; i++) {
		const char *name = kept_type_name(&w.kept, types[i]) ?: "";
		CHECK(!strcmp(name, cases[i].want), "case %zu: '%s', not '%s'", i, name,
		      cases[i].want);
	}
	CHECK(!types[CASES], "a node that is no block has type %llx",
	      (unsigned long long)types[CASES]);
	free(types);
	return failures != 0;
}
