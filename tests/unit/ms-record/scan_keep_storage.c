/* SPDX-License-Identifier: MIT
 * Which module's thread-local variables lie where: by the order of the modules, and where that is not known by their sizes.
 */
#include "ms-record/scan/scan_keep_storage.c" /* it belongs to a tool, of which there is no library */

#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"

#define TP UINT64_C(0x700000)

static const struct {
	const char *what;
	struct local v[4]; /* module, number, bytes, alignment; in order of number */
	uint64_t below[5]; /* storage, in bytes below the thread pointer; 0 = elsewhere */
	const char *want;  /* module of each storage; - = not known */
} cases[] = {
	{"in order",
	 {{0, 1, 24, 8, false}, {1, 2, 100, 16, false}, {2, 3, 8, 8, false}},
	 {24, 136, 144},
	 "012"},
	{"in another order",
	 {{0, 1, 24, 8, false}, {1, 2, 8, 8, false}, {2, 3, 100, 16, false}},
	 {24, 136, 144},
	 "021"},
	{"two of a size, in order", {{0, 1, 24, 8, false}, {1, 2, 24, 8, false}}, {24, 48}, "01"},
	{"two of a size, not in order",
	 {{3, 1, 100, 8, false}, {0, 2, 24, 8, false}, {1, 3, 24, 8, false}},
	 {24, 48, 152},
	 "--3"},
	{"storage that is no module's", {{0, 1, 24, 8, false}}, {24, 400}, "0-"},
	{"a module without storage", {{0, 1, 24, 8, false}, {1, 2, 64, 8, false}}, {24}, "0"},
	{"storage elsewhere",
	 {{0, 1, 24, 8, false}, {1, 2, 64, 8, false}, {2, 3, 80, 8, false}},
	 {24, 0, 104},
	 "0-2"},
	{"too small", {{0, 1, 25, 8, false}}, {24}, "-"},
	{"more than its alignment", {{0, 1, 16, 8, false}}, {24}, "-"},
};

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct scan_thread regs = {.tp = TP};
		uint64_t storage[5];
		uint32_t module_of[5];
		struct local v[4];
		struct kept_thread t = {
			.regs = &regs, .storage = storage, .storage_count = strlen(cases[i].want)};
		size_t n = 0;
		char got[8] = "";
		memcpy(v, cases[i].v, sizeof v);
		while (n < 4 && v[n].bytes)
			n++;
		for (size_t k = 0; k < t.storage_count; k++)
			storage[k] = cases[i].below[k] ? TP - cases[i].below[k] : TP + 0x1000;
		match(v, n, &t, module_of);
		for (size_t k = 0; k < t.storage_count; k++)
			got[k] = module_of[k] == KEEP_NONE ? '-' : (char)('0' + module_of[k]);
		CHECK(!strcmp(got, cases[i].want), "%s: %s, not %s", cases[i].what, got,
		      cases[i].want);
		struct kept k = {.threads = &t, .thread_count = 1};
		add_storage(&k, 0, module_of, t.storage_count);
		size_t below = 0;
		for (size_t s = 0; s < t.storage_count; s++)
			below += cases[i].below[s] != 0;
		CHECK(k.storage.n == below, "%s: %zu ranges", cases[i].what, k.storage.n);
		free(k.storage.v);
	}
	return failures != 0;
}
