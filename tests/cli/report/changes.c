/* SPDX-License-Identifier: MIT
 * What two runs differ in, by the words given: "trees" of a recursion (4 instead of 1), "items" of which two sites read the same,
 * "lost": a root that nothing points to any more.
 */
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
};
static struct node *volatile kept[4];
static void *volatile items[2000];
static size_t item_count;
static struct node *volatile root;
static volatile int one = 1; /* not a tail call, and not known to the compiler */

__attribute__((noinline)) static struct node *build(int depth)
{
	struct node *n = calloc(4, sizeof *n);
	if (depth) {
		n->left = build(depth - one);
		n->right = build(depth - one);
	}
	one = 1;
	return n;
}

__attribute__((noinline)) static void *new_item(void)
{
	void *p = malloc(1000);
	one = 1;
	return p;
}

__attribute__((noinline)) static void add(void)
{
	items[item_count++] = new_item();
	one = 1;
}

__attribute__((noinline)) static void parse(void)
{
	add();
	one = 1;
}

__attribute__((noinline)) static void copy(void)
{
	add();
	one = 1;
}

__attribute__((noinline)) static struct node *open_index(int nodes)
{
	struct node *first = malloc(sizeof *first);
	memset(first, 0, sizeof *first);
	for (int i = 0; i < nodes; i++) {
		struct node *n = calloc(4, sizeof *n);
		n->left = first->left;
		first->left = n;
	}
	return first;
}

__attribute__((noinline)) static void clear(int words)
{
	char stack[65536];
	memset(stack, words, sizeof stack);
	__asm__ volatile("" ::"r"(stack) : "memory");
}

static int has(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], word))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < (has(argc, argv, "trees") ? 4 : 1); i++)
		kept[i] = build(8);
	for (int i = 0; i < (has(argc, argv, "items") ? 300 : 10); i++)
		parse();
	for (int i = 0; i < (has(argc, argv, "items") ? 200 : 10); i++)
		copy();
	root = open_index(500);
	if (has(argc, argv, "lost"))
		root = NULL;
	clear(0);
	return 0;
}
