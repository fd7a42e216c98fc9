/* SPDX-License-Identifier: MIT
 * Steps between marks, of which each leaves something behind: cohorts STEPS [MS]. In each step, which
 * lasts MS milliseconds, 10 blocks of 1,000 bytes are made, and 50 of 500 that are freed at once. Four of
 * the ten are freed in the next step, four in the one after it, two never. Steps have the labels "even"
 * and "odd" in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "include/memscope.h"

static void *(*volatile make)(size_t) = malloc;
static void *kept[3][10];

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 1, ms = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < steps; i++) {
		void **now = kept[i % 3], **before = kept[(i + 2) % 3], **older = kept[(i + 1) % 3];
		char name[20];
		snprintf(name, sizeof name, "step %d", i);
		ms_mark(name);
		ms_label_push(i % 2 ? "odd" : "even");
		for (int k = 0; k < 4; k++) {
			free(before[k]);
			free(older[4 + k]);
			before[k] = older[4 + k] = NULL;
		}
		for (int k = 0; k < 10; k++)
			now[k] = make(1000);
		for (int k = 0; k < 50; k++)
			free(make(500));
		ms_label_pop();
		nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
	}
	return 0;
}
