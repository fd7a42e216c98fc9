/* SPDX-License-Identifier: MIT
 * Blocks that are no leaks because the program says so (ms_ignore, ms_root), and such that are leaks
 * nevertheless. C and C++.
 */
#include <fcntl.h>
#include <memscope.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define REPEAT(n) for (int i_ = 0; i_ < (n); i_++)

struct node {
	struct node *left, *right;
};

static struct node *node(void)
{
	return (struct node *)calloc(1, sizeof(struct node));
}

static void *plain(void)
{
	return malloc(40);
}

static void *again(void)
{
	return malloc(333);
}

static void *pointed(void)
{
	return malloc(50);
}

/* ---- ms_ignore ---- */

/* A tree of 7 nodes. */
static struct node *tree(int depth)
{
	struct node *n = node();
	if (depth > 1) {
		n->left = tree(depth - 1);
		n->right = tree(depth - 1);
	}
	return n;
}

static void ignored(void)
{
	REPEAT(10)
	ms_ignore(tree(3));
	REPEAT(4)
	ms_ignore((char *)plain() + 39); /* inside */
	REPEAT(3)
	plain();
}

/* The address is given out again to a block of which nobody says anything; of others something is said
 * again. */
static void reused(void)
{
	void *first = again();
	uintptr_t at = (uintptr_t)first;
	ms_ignore(first);
	free(first);
	void *second = again();
	if ((uintptr_t)second != at)
		puts("the address was not given out again");
	REPEAT(20000)
	{
		void *p = plain();
		ms_ignore(p);
		free(p);
	}
	ms_ignore(plain());
	ms_ignore(NULL);
	ms_ignore(&at); /* no block */
	void *moved = malloc(60);
	ms_ignore(moved);
	(void)!realloc(moved, 70);
}

static char pool[4096];

/* The block of malloc around one of a custom allocator is ignored with it. */
static void custom(void)
{
	char *arena = (char *)plain();
	ms_alloc(arena + 8, 16);
	ms_ignore(arena + 8);
	*(void **)(void *)(arena + 8) = pointed();
	ms_alloc(pool, 100);
	*(void **)(void *)pool = pointed(); /* of a block that nothing points to */
	ms_ignore(pool + 50);
}

/* ---- ms_root ---- */

/* Shared memory that is only read, which the scan does not look at: with `n` pointers at its begin, and
 * as many at the begin of the next page. */
static void **read_only(int n)
{
	int fd = memfd_create("roots", 0);
	if (ftruncate(fd, 2 * PAGE))
		abort();
	void **v = (void **)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < n; i++) {
		v[i] = pointed();
		v[PAGE / sizeof *v + (size_t)i] = pointed();
	}
	munmap(v, 2 * PAGE);
	v = (void **)mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return v;
}

static void nothing(void)
{
	read_only(5);
}

static void mapped(void)
{
	ms_root(read_only(5), 2 * PAGE);
}

/* Only the first page; then another size for the same address, three words. */
static void part(void)
{
	void **v = read_only(5);
	ms_root(v, PAGE);
	ms_root(v, 3 * sizeof *v);
	ms_root(v + PAGE / sizeof *v + 1,
		2 * sizeof *v + 7); /* two words, and no whole third one */
}

static void taken_back(void)
{
	void **v = read_only(5);
	ms_root(v, 2 * PAGE);
	ms_root(v, 0);
	ms_root(v + 1, 0);
	/* More than there is room for, but not at once. */
	REPEAT(20000)
	{
		ms_root(pool + i_ % 4000, 8);
		ms_root(pool + i_ % 4000, 0);
	}
	/* It is not mapped any more, which may be forgotten. */
	void *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ms_root(gone, PAGE);
	munmap(gone, PAGE);
	ms_root(&v, SIZE_MAX);
}

/* A block that nothing points to, but which is a root; a file that was not touched yet. */
static void others(void)
{
	void **block = (void **)plain();
	block[3] = pointed();
	ms_root(block, 40);
	FILE *f = tmpfile();
	void *pointers[2] = {pointed(), pointed()};
	fwrite(pointers, sizeof *pointers, 2, f);
	fflush(f);
	void *v = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	memset(pointers, 0, sizeof pointers);
	fclose(f);
	ms_root(v, 2 * sizeof *pointers);
}

/* One more than can be kept. */
static void many(void)
{
	char *v = (char *)read_only(1);
	for (size_t i = 0; i < 4096; i++)
		ms_root(v + PAGE + 8 + i % 4000, i < 4000 ? 1 : 2);
	for (size_t i = 0; i < 97; i++)
		ms_root(pool + i, 1);
}

/* ---- children, threads ---- */

/* Forks: what was marked before counts in the child, too, and what the child marks is its own. */
static void forked(void)
{
	int fd = memfd_create("roots", 0);
	if (ftruncate(fd, PAGE))
		abort();
	void *v = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ms_root(v, PAGE);
	ms_ignore(plain());
	void *gone = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ms_root(gone, PAGE);
	if (!fork()) {
		void **w = (void **)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		w[0] = pointed();
		munmap(w, PAGE);
		munmap(gone, PAGE);
		ms_root(gone, 0);
		REPEAT(3)
		ms_ignore(tree(2));
		REPEAT(2)
		plain();
		return;
	}
	wait(NULL);
}

static void *volatile handed;

static void *maker(void *unused)
{
	(void)unused;
	REPEAT(2000)
	{
		while (__atomic_load_n(&handed, __ATOMIC_ACQUIRE))
			;
		__atomic_store_n(&handed, plain(), __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Ignores what another thread has just made; every second one is freed. */
static void *ignorer(void *unused)
{
	(void)unused;
	REPEAT(2000)
	{
		void *p;
		while (!(p = __atomic_load_n(&handed, __ATOMIC_ACQUIRE)))
			;
		ms_ignore(p);
		if (i_ % 2)
			free(p);
		__atomic_store_n(&handed, (void *)NULL, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, maker, NULL);
	pthread_create(&t[1], NULL, ignorer, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

/* Marks a root and a block before a recording begins, with a library on standby: the root counts in
 * it, and so does what the ignored block points to. */
static void early(void)
{
	int fd = memfd_create("roots", 0);
	if (ftruncate(fd, PAGE))
		abort();
	void **w = (void **)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ms_root(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0), PAGE);
	void **before = (void **)plain();
	ms_ignore(before);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
	w[0] = pointed();
	munmap(w, PAGE);
	before[0] = pointed();
	before = NULL;
	ms_ignore(tree(2));
	REPEAT(2)
	plain();
}

/* Wipes pointers that are left on the stack. */
static void clear(void)
{
	volatile char room[16384];
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*f)(void);
	} all[] = {{"ignored", ignored}, {"reused", reused},         {"custom", custom},
		   {"nothing", nothing}, {"mapped", mapped},         {"part", part},
		   {"others", others},   {"taken_back", taken_back}, {"many", many},
		   {"early", early},     {"forked", forked},         {"threads", threads}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(what, all[i].name))
			all[i].f();
	if (!strcmp(what, "early")) { /* a scan is asked for from outside */
		clear();
		puts("ready");
		fflush(stdout);
		getchar();
	}
	free(malloc(100));
	clear();
	return 0;
}
