/* SPDX-License-Identifier: MIT
 * A list that a child inherits and goes on with, so that the heap grows after the fork: 400 blocks of
 * 1,000 bytes of the parent's, then 600 of the child's, the half of which hang on another one. The
 * child's id is in `ready`; it goes on once `go` is opened for writing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
	struct node *next;
	char pad[992];
};
struct node *g_list, *g_own, *g_last;

/* Adds blocks at the end of the list. */
static void extend(struct node **end, int count)
{
	for (int i = 0; i < count; i++) {
		*end = g_last = calloc(1, sizeof **end);
		end = &g_last->next;
	}
}

int main(void)
{
	extend(&g_list, 400);
	if (fork()) {
		int status;
		wait(&status);
		return status != 0;
	}
	extend(&g_last->next, 300);
	extend(&g_own, 300);
	g_last = NULL;
	FILE *f = fopen("ready.part", "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	rename("ready.part", "ready");
	close(open("go", O_RDONLY));
	return 0;
}
