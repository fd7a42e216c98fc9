/* SPDX-License-Identifier: MIT
 * Keeps blocks in known ways, tells that it is ready by the file `ready`, which has its pid, and goes on when `go` can be opened: see
 * tests/targets/kept.sh. With an argument it does not begin until that file can be opened.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
	struct node *next;
	char rest[92];
};
struct child {
	void *owner;
	char rest[984];
};
struct owner {
	struct child *v[100];
};
struct client {
	struct owner *o;
};

struct node *g_list, *g_middle;
struct owner *g_owner;
struct {
	int x;
	struct client *c;
} g_alias;
static void **g_table, **g_beside;
static char filler[65536];
__thread void *local_block;
static int ready;

__attribute__((noinline)) static void *some(size_t bytes)
{
	return calloc(1, bytes);
}

/* Volatile, so that no compiler makes two loops of one, and two sites of one list: gcc 14 does. */
static volatile int middle = 499, lower = 299;

__attribute__((noinline)) static void make_list(struct node *volatile *local)
{
	for (int i = 0; i < 1000; i++) {
		struct node *n = some(sizeof *n);
		n->next = g_list;
		g_list = n;
		g_middle = i == middle ? n : g_middle;
		*local = i == lower ? n : *local;
	}
}

__attribute__((noinline)) static void make_owner(void)
{
	g_owner = some(sizeof *g_owner);
	for (int i = 0; i < 100; i++) {
		g_owner->v[i] = some(sizeof *g_owner->v[i]);
		g_owner->v[i]->owner = g_owner;
	}
	g_alias.c = some(sizeof *g_alias.c);
	g_alias.c->o = g_owner;
}

/* A mapping that g_table holds, and one that nothing holds, each with blocks. */
__attribute__((noinline)) static void make_mappings(void)
{
	size_t bytes = 1 << 20;
	char *both = mmap(NULL, 5 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(both + bytes, bytes, PROT_READ | PROT_WRITE);
	mprotect(both + 3 * bytes, bytes, PROT_READ | PROT_WRITE);
	g_table = (void **)(both + bytes);
	void **hidden = (void **)(both + 3 * bytes);
	for (int i = 0; i < 20; i++)
		g_table[100 + i * 16] = some(700);
	for (int i = 0; i < 10; i++)
		hidden[100 + i * 16] = some(400);
}

/* A mapping that g_beside holds, right above the program's zeroed variables, with which it is one in
 * the kernel's list. */
__attribute__((noinline)) static void make_beside(void)
{
	extern char end[];
	void *at = (void *)(((uintptr_t)end + 4095) & ~(uintptr_t)4095);
	filler[sizeof filler / 2] = 1;
	g_beside = mmap(at, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++)
		g_beside[100 + i * 16] = some(300);
}

__attribute__((noinline)) static void *cached(int i)
{
	static void *cache[4];
	if (!cache[i])
		cache[i] = some(5000);
	return cache[i];
}

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 5; i++) {
		char *volatile p = some(300);
		p[0] = 1;
	}
}

/* Writes over what calls have left on the stack. */
__attribute__((noinline)) static int burn(int n)
{
	volatile char b[4096];
	memset((void *)b, 0, sizeof b);
	return n ? burn(n - 1) + b[7] : 0;
}

__attribute__((noinline)) static void hold(void *const volatile *v)
{
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 100)
		usleep(1000);
	(void)v[0];
}

__attribute__((noinline)) static void run_worker(int n)
{
	void *volatile mine[64] = {0};
	local_block = some(3000);
	for (int i = 0; i < n; i++)
		mine[i] = some(1000);
	burn(4);
	hold(mine);
}

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "worker-7");
	run_worker((int)(intptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	struct node *volatile local = NULL;
	pthread_t thread;
	if (argc > 1)
		close(open(argv[1], O_RDONLY));
	make_list(&local);
	make_owner();
	make_mappings();
	make_beside();
	cached(0);
	cached(2);
	lose();
	pthread_create(&thread, NULL, worker, (void *)(intptr_t)50);
	while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	burn(20);
	int file = open("ready.new", O_WRONLY | O_CREAT, 0600);
	dprintf(file, "%d\n", (int)getpid());
	close(file);
	rename("ready.new", "ready");
	close(open("go", O_RDONLY));
	__atomic_store_n(&ready, 100, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	return local->rest[0];
}
