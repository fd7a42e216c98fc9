/* SPDX-License-Identifier: MIT
 * Allocates in a known way: one large table, 50 small blocks of which 10 are freed, a realloc.
 */
#include <memscope.h>
#include <stdlib.h>
#include <string.h>

static char *load_table(size_t n)
{
	return memset(malloc(n), 1, n);
}

int main(void)
{
	static void *kept[50];
	char *table = load_table(3 << 20);
	for (int i = 0; i < 50; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < 10; i++)
		free(kept[i]);
	ms_mark("kept");
	table = realloc(table, 64);
	return table[0] + 2;
}
