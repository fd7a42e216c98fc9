/* SPDX-License-Identifier: MIT
 * The same events each time, for some seconds: keeplast BATCHES
 *
 * A batch makes 300 blocks, keeps one of them for good and the others for three batches; it begins
 * with a mark of its number, and ends with a millisecond of rest. Two stacks, one of which is of
 * the first batches alone.
 */
#include <memscope.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 300

static void *blocks[3][BLOCKS];

__attribute__((noipa)) static void *early(size_t n)
{
	void *volatile p = malloc(n);
	return p;
}

__attribute__((noipa)) static void *always(size_t n)
{
	void *volatile p = malloc(n);
	return p;
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 1;
	long bytes = 0;
	char name[32];
	for (int i = 0; i < batches; i++) {
		void **v = blocks[i % 3];
		snprintf(name, sizeof name, "batch %d", i);
		ms_mark(name);
		for (int k = 1; k < BLOCKS; k++)
			free(v[k]);
		for (int k = 0; k < BLOCKS; k++)
			v[k] = i < 10 && k == 0 ? early(10) : always((size_t)(k * 7 + i % 13));
		bytes += i < 10 ? 10 : i % 13;
		usleep(1000);
	}
	printf("%ld\n", bytes);
	return 0;
}
