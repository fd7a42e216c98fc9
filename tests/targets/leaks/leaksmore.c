/* SPDX-License-Identifier: MIT
 * More small programs with leaks, one for each name that is given: see leaks.h and leaks.py.
 */
#include "leaks.h"

#include <dlfcn.h>
#include <obstack.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "main.h"

#define obstack_chunk_alloc chunk_alloc
#define obstack_chunk_free free

struct node {
	struct node *next, *before;
	char rest[32];
};

static void *volatile kept, *volatile kept2;
static volatile uintptr_t hidden;

/* ---- linked structures ---- */

APART static void doubly_linked(void)
{
	struct node *first = direct_block(sizeof *first), *last = first;
	for (int i = 0; i < 4; i++) {
		struct node *n = indirect_block(sizeof *n);
		n->before = last;
		last->next = n;
		last = n;
	}
	last->next = first;
	first->before = last;
}

static void chains(void **table, void *(*block)(size_t))
{
	for (int i = 0; i < 12; i++) {
		struct node *n = block(sizeof *n);
		n->next = table[i % 5];
		table[i % 5] = n;
	}
}

APART static void hash_dropped(void)
{
	chains(direct_block(64 * sizeof(void *)), indirect_block);
}

APART static void hash_kept(void)
{
	kept = reachable_block(64 * sizeof(void *));
	chains(kept, reachable_block);
}

/* An array of rows, of which one is kept. */
APART static void rows(void)
{
	void **array = direct_block(10 * sizeof(void *));
	for (int i = 0; i < 10; i++)
		array[i] = i == 4 ? reachable_block(80) : indirect_block(80);
	kept = array[4];
}

/* ---- pointers in disguise ---- */

APART static void tagged_low(void)
{
	kept = (char *)reachable_block(100) + 3;
}

APART static void tagged_high(void)
{
	hidden = (uintptr_t)direct_block(100) | (uintptr_t)0x5a << 56;
}

APART static void exclusive_or(void)
{
	hidden = (uintptr_t)direct_block(100) ^ (uintptr_t)direct_block(100);
}

/* ---- what the C library allocates ---- */

APART static char *direct_copy(void)
{
	return strdup("a text that nobody frees");
}

APART static char *direct_line(void)
{
	char *line = NULL;
	size_t room = 0;
	FILE *f = fopen("/proc/self/cmdline", "r");
	if (f && getline(&line, &room, f) >= 0)
		fclose(f);
	return line;
}

APART static void copies(void)
{
	direct_copy();
	direct_line();
}

APART static FILE *reachable_file(void)
{
	return fopen("/dev/null", "r");
}

APART static void file_dropped(void)
{
	reachable_file();
}

APART static int reachable_variable(void)
{
	return setenv("A_VARIABLE", "with a value", 1);
}

APART static void variable(void)
{
	reachable_variable();
}

/* ---- pools without marks ---- */

static char arena[8192];

/* An object in static memory that holds a block. */
APART static void static_arena(void)
{
	struct node *n = (struct node *)(void *)(arena + 1024);
	n->next = reachable_block(100);
	__asm__ volatile("" ::"r"(arena) : "memory"); /* somebody may read it */
}

APART static void arena_dropped(void)
{
	char *pool = direct_block(65536);
	for (size_t at = 0; at + sizeof(struct node) <= 6400; at += 640)
		((struct node *)(void *)(pool + at))->next = indirect_block(48);
}

static void *(*chunk_maker)(size_t);

static void *chunk_alloc(size_t n)
{
	return chunk_maker(n);
}

static struct obstack stack_kept;

/* The obstack knows its last chunk, whose head leads to the one before. */
APART static void obstack_kept(void)
{
	chunk_maker = reachable_block;
	obstack_init(&stack_kept);
	for (int i = 0; i < 100; i++)
		obstack_alloc(&stack_kept, 100);
}

APART static void obstack_dropped(void)
{
	chunk_maker = direct_block;
	obstack_init(&stack_kept);
	memset(&stack_kept, 0, sizeof stack_kept);
}

/* Memory at the end of the heap that the program took for itself. */
APART static void own_brk(void)
{
	void **own = sbrk(65536);
	for (int i = 0; i < 10; i++)
		own[i * 50] = reachable_block(3000);
	direct_block(200000);
}

/* ---- modules ---- */

/* The module that allocated it is gone, with its own variables. */
APART static void module_leaks(void)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/leaksmodule.so", folder);
	void *m = dlopen(path, RTLD_NOW);
	void *(*f)(size_t) = m ? (void *(*)(size_t))(uintptr_t)dlsym(m, "module_take") : NULL;
	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	f(100);
	f(200);
	dlclose(m);
}

/* ---- threads ---- */

static void *takes(void *argument)
{
	kept = *(void **)argument;
	return NULL;
}

APART static void argument_dropped(void)
{
	pthread_t t;
	void **argument = direct_block(40);
	*argument = reachable_block(40);
	pthread_create(&t, NULL, takes, argument);
	pthread_join(t, NULL);
}

static __thread void *own[600];

static void *fills(void *unused)
{
	own[599] = direct_block(100);
	kept2 = &own[599];
	own[0] = NULL;
	return unused;
}

/* Ten threads with room of their own: what they held there is lost with them. */
APART static void threads_ended(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t t;
		pthread_create(&t, NULL, fills, NULL);
		pthread_join(t, NULL);
	}
	kept2 = NULL;
}

/* ---- many at once, to be told apart ---- */

APART static void *direct_small(void)
{
	return direct_block(10);
}

APART static void *direct_large(void)
{
	return direct_block(10000);
}

APART static void *direct_parent(void)
{
	void **p = direct_block(32);
	p[1] = indirect_block(64);
	return p;
}

APART static void several(void)
{
	direct_small();
	direct_large();
	direct_large();
	direct_parent();
	hash_dropped();
	copies();
	kept = reachable_block(100);
}

/* ---- main ---- */

static const struct leak_case cases[] = {
	CASE(doubly_linked), CASE(hash_dropped),    CASE(hash_kept),    CASE(rows),
	CASE(tagged_low),    CASE(tagged_high),     CASE(exclusive_or), CASE(copies),
	CASE(file_dropped),  CASE(variable),        CASE(static_arena), CASE(arena_dropped),
	CASE(obstack_kept),  CASE(obstack_dropped), CASE(module_leaks), CASE(argument_dropped),
	CASE(threads_ended), CASE(several),         CASE(own_brk),
};

int main(int argc, char **argv)
{
	run_case(argv, cases, sizeof cases / sizeof *cases);
	end_as(argc > 2 ? argv[2] : "return");
	return 0;
}
