/* SPDX-License-Identifier: MIT
 * Edit distances between words.
 */
#include "meant.h"

#include <string.h>

enum { WORD_MAX = 40 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the Damerau-Levenshtein distance. Each row adds one letter of `a`. */
static unsigned distance(const char *a, size_t n, const char *b, size_t k)
{
	unsigned row[3][WORD_MAX + 1];
	for (size_t j = 0; j <= k; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= k; j++) {
			now[j] = least(least(now[j - 1], last[j]) + 1,
				       last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return row[n % 3][k];
}

void ms_meant_try(struct ms_meant *m, const char *typed, size_t n, const char *known)
{
	size_t k = strlen(known);
	if (n > WORD_MAX || k > WORD_MAX)
		return;
	unsigned d = distance(typed, n, known, k);
	if (d > n / 3 || (m->word && d >= m->distance))
		return;
	*m = (struct ms_meant){known, d};
}
