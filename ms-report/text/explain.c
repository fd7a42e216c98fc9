/* SPDX-License-Identifier: MIT
 * --explain: the terms of memscope(7), from a header that is generated from the page.
 */
#include "explain.h"

#include "ms-report/output/out.h"

#include "libcommon/base/err.h"
#include "libcommon/base/meant.h"
#include "terms.h"

#include <ctype.h>
#include <string.h>

#define TERMS (sizeof terms / sizeof *terms)

static int letter(char c)
{
	return c == '_' || c == '-' ? ' ' : tolower((unsigned char)c);
}

static bool same(const char *a, const char *b)
{
	while (*a && letter(*a) == letter(*b))
		a++, b++;
	return !*a && !*b;
}

/* Writes a term. If a term has several names, its heading is in the row of the first one. */
static void write_term(struct out *o, size_t row)
{
	const char *text = terms[row].text;
	while (!terms[row].heading)
		row--;
	out_printf(o, "%s\n%s", terms[row].heading, text);
}

int explain(const char *word, struct out *o, struct ms_err *err)
{
	struct ms_meant meant = {0};
	bool all = strcmp(word, "all") == 0;
	for (size_t i = 0; i < TERMS; i++) {
		if (all ? terms[i].heading != NULL : same(terms[i].name, word))
			write_term(o, i);
		ms_meant_try(&meant, word, strlen(word), terms[i].name);
	}
	if (o->n)
		return 0;
	if (meant.word)
		return ms_err_set(err, "no term '%s': did you mean '%s'?", word, meant.word);
	return ms_err_set(err, "no term '%s': 'ms-report --explain all' prints all terms", word);
}
