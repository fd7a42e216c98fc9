/* SPDX-License-Identifier: MIT
 * Keeps blocks that exit handlers, destructors and, compiled as C++, static destructors free; ends, or names moments by memscope.h, as its
 * argument says: see tests/targets/keptexit.sh.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/memscope.h"

static void *g_table[50], *g_early, *g_late;
static void *volatile g_last;

__attribute__((noinline)) static void *some(size_t bytes)
{
	return calloc(1, bytes);
}

#ifdef __cplusplus
struct box {
	void *block;
	box() : block(some(30000))
	{
	}
	~box()
	{
		free(block);
	}
};
static box g_box;
#endif

static void free_early(void)
{
	free(g_early);
	g_early = NULL;
}

__attribute__((constructor)) static void begin(void)
{
	atexit(free_early);
}

__attribute__((destructor)) static void free_late(void)
{
	free(g_late);
	g_late = NULL;
}

static void free_table(void)
{
	for (int i = 0; i < 50; i++)
		free(g_table[i]);
	memset(g_table, 0, sizeof g_table);
	puts("handlers run");
}

static void fill(void)
{
	for (int i = 0; i < 50; i++)
		g_table[i] = some(1000);
	g_early = some(4000);
	g_late = some(7000);
	g_last = some(24); /* in a static program the allocator points into the last block */
}

__attribute__((noinline)) static void leave(void (*by)(int), int status)
{
	void *volatile mine = some(5000);
	g_last = some(24);
	by(status);
	free(mine);
}

static void *leave_thread(void *unused)
{
	leave(exit, 3);
	return unused;
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int children(void)
{
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			g_table[i] = some(2000);
			exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	return 3;
}

static void mark(void)
{
	ms_retention("full");
	for (int i = 0; i < 25; i++) {
		free(g_table[i]);
		g_table[i] = NULL;
	}
	ms_retention("half");
	free_table();
	ms_retention("");
	ms_retention(NULL);
}

static void *mark_thread(void *name)
{
	for (int i = 0; i < 5; i++)
		ms_retention((const char *)name);
	return NULL;
}

/* Tells its pid by the file `ready`, and waits for `go`. */
static void await(void)
{
	FILE *f = fopen("ready.new", "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	rename("ready.new", "ready");
	while (access("go", F_OK))
		usleep(10000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (argc > 2)
		await();
	pthread_t thread;
	fill();
	atexit(free_table);
	if (!strcmp(how, "exit"))
		leave(exit, 3);
	else if (!strcmp(how, "quick_exit"))
		leave(quick_exit, 3);
	else if (!strcmp(how, "_exit"))
		leave(_exit, 3);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "children"))
		return children();
	else if (!strcmp(how, "marks"))
		mark();
	else if (!strcmp(how, "threads")) {
		pthread_t other;
		pthread_create(&thread, NULL, mark_thread, (void *)"one");
		pthread_create(&other, NULL, mark_thread, (void *)"other");
		pthread_join(thread, NULL);
		pthread_join(other, NULL);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, leave_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(how, "beside")) {
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		leave(exit, 3);
	} else if (!strcmp(how, "last")) {
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_cancel(thread);
		pthread_exit(NULL);
	}
	return 3;
}
