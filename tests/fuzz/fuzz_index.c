/* SPDX-License-Identifier: MIT
 * Fuzzes FILE.d/index of a run: lines of tab-separated fields.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/trace/run_index.h"

/* A name must not lead anywhere but into the folder, or to the trace beside it. */
static void check_name(const char *name)
{
	if (strncmp(name, "../", 3) == 0)
		name += 3;
	if (!*name || strchr(name, '/') || !strcmp(name, ".."))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct ms_run_index x;
	char *text = ms_arena_alloc(&a, n + 1);
	if (n)
		memcpy(text, data, n);
	ms_run_index_parse(&x, text, n, &a);
	for (size_t i = 0; i < x.n; i++) {
		const struct ms_run_image *m = ms_run_index_find(&x, x.v[i].number);
		if (!m || m->number != x.v[i].number || (i && x.v[i - 1].number > m->number))
			abort();
		if (x.v[i].trace)
			check_name(x.v[i].trace);
		const struct ms_run_image *next = ms_run_index_next(&x, m->number);
		if (next && (next->parent != m->number + 1 || next->pid != m->pid))
			abort();
	}
	ms_run_index_free(&x);
	ms_arena_free(&a);
	return 0;
}
