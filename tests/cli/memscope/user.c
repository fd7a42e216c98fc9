/* SPDX-License-Identifier: MIT
 * Parts that are left out of a recording by ms_pause, and blocks of an allocator of its own that
 * become others by ms_realloc. Every number of blocks is known: see memscope-h.sh.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memscope.h>

#ifdef __cplusplus
#define SITE __attribute__((noinline)) static
#else
#define SITE static __attribute__((noinline))
#endif

static char pool[8192];
static void *kept[400];

SITE void recorded(int from, int n)
{
	for (int i = from; i < from + n; i++)
		kept[i] = malloc(10);
}

SITE void left_out(int from, int n)
{
	for (int i = from; i < from + n; i++)
		kept[i] = malloc(1000);
}

SITE void own(void)
{
	ms_realloc(NULL, pool, 100);        /* an allocation */
	ms_realloc(pool, pool, 150);        /* in place */
	ms_realloc(pool, pool + 200, 300);  /* moved */
	ms_realloc(pool + 200, NULL, 5000); /* failed: the old one stays */
	ms_alloc(pool + 1000, 40);          /* and goes */
	ms_realloc(pool + 1000, NULL, 0);
	ms_realloc(pool + 4000, pool + 5000, 70); /* of nobody knows what */
	ms_realloc(NULL, NULL, 10);               /* nothing */
}

SITE void forked(void)
{
	pid_t child = fork();
	if (child == 0) {
		left_out(300, 50); /* paused, as its parent was */
		ms_resume();
		recorded(350, 20);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
	(void)argv;
	ms_resume(); /* there is nothing to resume */
	recorded(0, 100);
	ms_pause();
	left_out(100, 100);
	ms_pause();
	left_out(200, 50);
	ms_resume();
	left_out(250, 25); /* still: they nest */
	for (int i = 0; i < 30; i++)
		free(kept[i]); /* live figures of what was recorded stay right */
	kept[30] = realloc(kept[30], 2000);
	errno = 77;
	ms_resume();
	recorded(0, 30);
	ms_pause();
	if (argc > 1)
		forked();
	errno = 77;
	ms_resume();
	own();
	ms_mark("done");
	if (errno != 77)
		return 3;
	for (int i = 100; i < 120; i++)
		free(kept[i]); /* what was left out is nobody's */
	ms_pause();
	left_out(100, 20); /* to the end */
	return 0;
}
