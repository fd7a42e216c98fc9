/* SPDX-License-Identifier: MIT
 * Fuzz target: the grammar of budgets (ms-report --fail-on), and shortening and cleaning of names.
 */
#include "fuzz.h"

/* parts of a tool, not of a library */
#include "ms-report/ci/budget.c"
#include "ms-report/model/figures.c"
#include "libcommon/names/shorten.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ms_arena a = {0};
	char *text = ms_arena_strndup(&a, (const char *)data, size);
	struct budget b;
	struct ms_err err = {0};
	if (budget_parse(text, &b, &err) != 0 ? !err.text[0]
					      : b.pattern && b.pattern[b.pattern_length] != '"')
		abort();
	/* never longer than some ellipses for each template */
	if (strlen(ms_name_short(&a, text)) > 2 * strlen(text))
		abort();
	ms_arena_free(&a);
	return 0;
}
