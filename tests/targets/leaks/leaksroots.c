/* SPDX-License-Identifier: MIT
 * Leaks that hide behind what they retain, one for each name that is given; see roots.py, which
 * knows how much each one loses.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct node {
	struct node *left, *right;
};

static void *volatile sink;

/* Has the compiler keep what was stored in blocks, though nothing reads it. */
static void stored(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Wipes what is left in registers and on the stack. */
APART static void wipe(void)
{
	char room[8192];
	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* ---- an index of 8 bytes that owns 2,047 nodes, each allocated by a stack of its own ---- */

#pragma GCC push_options
#pragma GCC optimize("no-optimize-sibling-calls")

APART static struct node *grow(int depth)
{
	struct node *n = calloc(1, sizeof *n);
	if (depth) {
		n->left = grow(depth - 1);
		n->right = grow(depth - 1);
	}
	return n;
}

APART static struct node **open_index(void)
{
	struct node **index = malloc(sizeof *index);
	*index = grow(10);
	return index;
}

#pragma GCC pop_options

static void index_forgotten(void)
{
	sink = open_index();
}

/* ---- one more, the nodes of which are on their own: nothing else keeps the root ---- */

static void tree_forgotten(void)
{
	sink = grow(10);
}

/* ---- three that point to each other in a circle ---- */

APART static void cycle_forgotten(void)
{
	struct node *a = calloc(1, 100), *b = calloc(1, 200), *c = calloc(1, 300);
	a->left = b;
	b->left = c;
	c->left = a;
	sink = a;
	stored();
}

/* ---- two that share what they own: 4 of 50 bytes, and each has 2 of its own ---- */

APART static struct node *shared(void)
{
	struct node *first = NULL;
	for (int i = 0; i < 4; i++) {
		struct node *n = calloc(1, 50);
		n->left = first;
		first = n;
	}
	sink = first;
	stored();
	return first;
}

APART static struct node *owned(void)
{
	struct node *n = calloc(1, 30);
	n->left = calloc(1, 30);
	sink = n;
	stored();
	return n;
}

APART static struct node *older(void)
{
	return calloc(1, 1000);
}

APART static struct node *younger(void)
{
	return calloc(1, 2000);
}

APART static void shared_forgotten(void)
{
	struct node *a = older(), *b = younger(), *both = shared();
	a->left = b->left = both;
	a->right = owned();
	b->right = owned();
	sink = a;
	stored();
	sink = b;
	stored();
}

/* ---- a thread that allocates while main exits ---- */

static struct node *volatile list;
static volatile int begun;

APART static void *late(void *arg)
{
	for (;;) {
		struct node *n = malloc(24);
		n->left = list;
		list = n;
		begun = 1;
	}
	return arg;
}

static void late_allocations(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, late, NULL) != 0)
		exit(2);
	while (!begun)
		sched_yield();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"index", index_forgotten},
		     {"tree", tree_forgotten},
		     {"cycle", cycle_forgotten},
		     {"shared", shared_forgotten},
		     {"late", late_allocations}};
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			sink = NULL;
			wipe();
			return 0;
		}
	return 2;
}
