/* SPDX-License-Identifier: MIT
 * One thing wrong for each group of the first screen: kept, churn, cycle, tree. And "given": of what was kept, most is given back;
 * "keys": one line makes short-lived blocks at two sites, another line more of them at one site, which stay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct node {
	struct node *left, *right, *back;
};
void *volatile tables[8];
void *volatile passing;
static struct node *volatile kept;
static volatile int one = 1;

static struct node *node(void)
{
	return calloc(1, sizeof(struct node));
}

__attribute__((noinline)) static void remember(void)
{
	struct node *n = malloc(sizeof *n + 176); /* 200 bytes */
	n->left = kept;
	kept = n;
}

static void keep(void)
{
	for (int i = 0; i < 3000; i++) {
		remember();
		passing = malloc(700);
		free(passing);
		if (i % 20 == 0)
			nanosleep(&(struct timespec){0, 200000}, NULL);
	}
}

/* All but every hundredth. */
static void give_back(void)
{
	struct node *all, *next;
	keep();
	all = kept;
	kept = NULL;
	for (int i = 0; all; i++, all = next) {
		next = all->left;
		if (i % 100)
			free(all);
		else
			all->left = kept, kept = all;
	}
}

__attribute__((noinline)) static char *longer(char *old, int n)
{
	char *s = malloc((size_t)n + 1);
	snprintf(s, (size_t)n + 1, "%s.", old ? old : "");
	free(old);
	return s;
}

static void churn(void)
{
	char *s = NULL;
	for (int n = 1; n <= 8000; n++)
		s = longer(s, n);
	free(s);
}

__attribute__((noinline)) static void key(void)
{
	char *volatile a = malloc(20), *volatile b = malloc(30); /* twice */
	free(a);
	free(b);
}

static void keys(void)
{
	for (int i = 0; i < 5000; i++) {
		remember();
		if (i < 4000)
			key();
	}
}

__attribute__((noinline)) static struct node *parent(void)
{
	return node();
}

__attribute__((noinline)) static void child(struct node *p)
{
	p->left = node();
	p->left->back = p;
}

static void cycle(void)
{
	for (int i = 0; i < 100; i++)
		child(parent());
}

__attribute__((noinline)) static struct node *build(int depth)
{
	struct node *n = node();
	if (depth) {
		n->left = build(depth - one);
		n->right = build(depth - one);
	}
	one = 1;
	return n;
}

/* Keeps the last 3 of 100 sessions, each with a text, and the last 40 of 100 blocks of another
 * site. */
static void **volatile strays[5], *volatile third[40], *volatile page;
__attribute__((noinline)) static void **session(void)
{
	void **s = malloc(64);
	s[0] = malloc(1000); /* text */
	s[1] = NULL;
	return s;
}

__attribute__((noinline)) static void *half_lost(void)
{
	return malloc(200);
}

static void stray(void)
{
	page = malloc(2000);
	for (int i = 0; i < 100; i++) {
		strays[i % 3] = session();
		third[i % 40] = half_lost();
	}
}

__attribute__((noinline)) static void clear(int words)
{
	char stack[65536];
	memset(stack, words, sizeof stack);
	__asm__ volatile("" ::"r"(stack) : "memory");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "kept") || !strcmp(what, "churn"))
		for (int i = 0; i < 8; i++)
			tables[i] = malloc(100000);
	if (!strcmp(what, "kept"))
		keep();
	else if (!strcmp(what, "given"))
		give_back();
	else if (!strcmp(what, "churn"))
		churn();
	else if (!strcmp(what, "keys"))
		keys();
	else if (!strcmp(what, "stray"))
		stray();
	else if (!strcmp(what, "cycle"))
		cycle();
	else
		for (int i = 0; i < 4; i++)
			passing = build(8);
	passing = NULL;
	clear(0);
	return 0;
}
