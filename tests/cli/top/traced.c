/* SPDX-License-Identifier: MIT
 * A program that allocates what it is told on standard input, and says "done" after each line.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memscope.h>

static void **kept;
static size_t kept_count;
static sem_t worked;

static void keep(void *p)
{
	kept[kept_count++] = p;
}

__attribute__((noinline)) static void hoard(int n)
{
	for (int i = 0; i < n; i++)
		keep(malloc(1000));
}

__attribute__((noinline)) static void churn(int n)
{
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(48);
		free(p);
	}
}

__attribute__((noinline)) static void leaf(int n)
{
	for (int i = 0; i < n; i++)
		keep(malloc(2000));
}

/* Two calls of one function. */
__attribute__((noinline)) static void twice(int n)
{
	leaf(n);
	leaf(n * 2);
}

/* The C library's function calls the allocator. */
__attribute__((noinline)) static void word(int n)
{
	for (int i = 0; i < n; i++)
		keep(strdup("a word of so many letters"));
}

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	for (int i = 0; i < *(int *)arg; i++)
		keep(malloc(500));
	sem_post(&worked);
	/* it stays, so that its name can be read */
	for (;;)
		pause();
	return NULL;
}

static void thread(int n)
{
	pthread_t t;
	pthread_create(&t, NULL, work, &n);
	sem_wait(&worked);
}

int main(void)
{
	char line[200], verb[32];
	int n;
	kept = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%31s %d", verb, &n) < 1)
			continue;
		if (!strcmp(verb, "hoard"))
			hoard(n);
		else if (!strcmp(verb, "churn"))
			churn(n);
		else if (!strcmp(verb, "twice"))
			twice(n);
		else if (!strcmp(verb, "word"))
			word(n);
		else if (!strcmp(verb, "thread"))
			thread(n);
		else if (!strcmp(verb, "mark"))
			ms_mark("half way");
		else if (!strcmp(verb, "quit"))
			break;
		puts("done");
	}
	return 0;
}
