#!/bin/sh
# SPDX-License-Identifier: MIT
# Newlines, tabs, control characters and markup in the names of a program, its folder, functions, threads and marks, recorded for real, in
# every format; and the symbols of such a program are found.
set -eu
cat >app.c <<'END'
#define _GNU_SOURCE
#include <memscope.h>
#include <pthread.h>
#include <stdlib.h>
static void *volatile last;
__attribute__((noinline)) void hostile_function(int n);
__attribute__((noinline)) void github_command_(int n);
__attribute__((noinline)) void spreadsheet_sum(int n);
void hostile_function(int n)
{
	last = malloc((size_t)n);
}
void github_command_(int n)
{
	hostile_function(n);
	last = malloc((size_t)n);
}
void spreadsheet_sum(int n)
{
	github_command_(n);
	last = malloc((size_t)n);
}
static void *thread(void *n)
{
	pthread_setname_np(pthread_self(), "::error::t");
	spreadsheet_sum(*(int *)n);
	return NULL;
}
int main(int argc, char **argv)
{
	(void)argv;
	pthread_setname_np(pthread_self(), "t\n\t\033[1m|<b>");
	ms_mark("m\n\t\033[31m|<b>&\"'`,;");
	for (int i = 0; i < argc * 3; i++)
		hostile_function(100 + 10000 * argc);
	pthread_t other;
	ms_mark("::error::mark ##[x]</script>");
	pthread_create(&other, NULL, thread, &argc);
	pthread_join(other, NULL);
	return 0;
}
END
gcc -O1 -fno-optimize-sibling-calls -g -I"$SRC/include" -o app app.c -lpthread
exec python3 "$SRC/tests/cli/hostile-names.py"
