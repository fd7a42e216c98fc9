// SPDX-License-Identifier: MIT
// Builds two blocks in each of many rounds, and frees the first of them after the second; some large ones.
#include <cstdio>
#include <cstdlib>

void *kept[3];

__attribute__((noinline)) void many(int i)
{
	for (int k = 0; k < 2; k++)
		kept[(i + k) % 3] = malloc(20 + i % 50);
}

__attribute__((noinline)) void large(void)
{
	kept[2] = malloc(1 << 20);
	free(kept[2]);
}

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		many(0);
		free(kept[0]);
		free(kept[1]);
		many(0);
		free(kept[0]);
		free(kept[1]);
	}
	for (int i = 0; i < 10; i++)
		large();
	puts("done");
	return 0;
}
