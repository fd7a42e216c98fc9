/* SPDX-License-Identifier: MIT
 * Allocates 1,000 blocks of 100 bytes in `fill`, keeps them and ends with 7; with an argument it
 * first waits for a line of its standard input.
 */
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[1000];

static __attribute__((noinline)) void fill(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(100);
}

int main(int argc, char **argv)
{
	char line[1];
	(void)argv;
	if (argc > 1 && read(0, line, 1) != 1)
		return 1;
	fill();
	return 7;
}
