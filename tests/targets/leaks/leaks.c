/* SPDX-License-Identifier: MIT
 * Small programs with leaks, one for each name that is given: what is dropped and kept in the
 * program's own memory, its allocator's and its modules', and how the process ends. See leaks.h and
 * leaks.py.
 */
#include "leaks.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "include/memscope.h"
#include "main.h"

struct node {
	struct node *next, *other;
	char rest[32];
};

static void *volatile kept, *volatile kept2;
static __thread void *tls;

/* ---- what is dropped, and what is kept ---- */

APART static void direct(void)
{
	for (int i = 0; i < 3; i++)
		direct_block(100);
}

APART static void list(void)
{
	struct node *head = NULL;
	for (int i = 0; i < 10; i++) {
		struct node *n = i < 9 ? indirect_block(sizeof *n) : direct_block(sizeof *n);
		n->next = head;
		head = n;
	}
}

APART static void list_kept(void)
{
	for (int i = 0; i < 10; i++) {
		struct node *n = reachable_block(sizeof *n);
		n->next = kept;
		kept = n;
	}
}

static struct node *subtree(int depth)
{
	struct node *n = indirect_block(sizeof *n);
	if (depth) {
		n->next = subtree(depth - 1);
		n->other = subtree(depth - 1);
	}
	return n;
}

APART static void tree(void)
{
	struct node *n = direct_block(sizeof *n);
	n->next = subtree(2);
	n->other = subtree(2);
}

APART static void cycle(void)
{
	struct node *a = direct_block(sizeof *a), *b = indirect_block(sizeof *b);
	a->next = b;
	b->next = a;
}

/* A ring of four, from which a tail of two hangs, and to which one more block points. */
APART static void ring(void)
{
	struct node *n[4], *tail = indirect_block(sizeof *tail);
	for (int i = 0; i < 4; i++)
		n[i] = indirect_block(sizeof *n[i]);
	for (int i = 0; i < 4; i++)
		n[i]->next = n[(i + 1) % 4];
	n[2]->other = tail;
	tail->next = indirect_block(sizeof *tail);
	struct node *outside = direct_block(sizeof *outside);
	outside->next = n[1];
}

APART static void shared(void)
{
	struct node *a = direct_block(sizeof *a), *b = direct_block(sizeof *b);
	a->next = b->next = indirect_block(sizeof *a);
}

APART static void global(void)
{
	kept = reachable_block(100);
}

APART static void inner_static(void)
{
	static void *p;
	p = reachable_block(100);
	__asm__ volatile("" ::"r"(&p) : "memory");
}

APART static void own_tls(void)
{
	tls = reachable_block(100);
	__asm__ volatile("" ::"r"(&tls) : "memory");
}

APART static void key(void)
{
	pthread_key_t k;
	pthread_key_create(&k, NULL);
	pthread_setspecific(k, reachable_block(100));
}

APART static void interior(void)
{
	kept = (char *)reachable_block(1000) + 500;
	kept2 = (char *)reachable_block(500000) + 400000;
}

APART static void past_end(void)
{
	kept = (char *)reachable_block(48) + 48;
}

APART static void far_past_end(void)
{
	kept = (char *)direct_block(48) + 56;
}

APART static void zero(void)
{
	kept = reachable_block(0);
	direct_block(0);
}

APART static void moved(void)
{
	kept = malloc(64);
	char *other = malloc(64);
	char *p = realloc(kept, 100);
	kept = NULL;
	free(other);
	free(p);
	void **q = direct_block(40);
	*q = indirect_block(40);
}

APART static void *reachable_aligned(void)
{
	void *p = NULL;
	return posix_memalign(&p, 256, 1000) ? NULL : p;
}

APART static void *direct_aligned(void)
{
	return aligned_alloc(4096, 8192);
}

APART static void aligned(void)
{
	kept = reachable_aligned();
	direct_aligned();
}

APART static void pointer_at_byte(void)
{
	/* Not at a multiple of eight: nobody finds it. */
	static char packed[32];
	void *p = direct_block(100);
	memcpy(packed + 3, &p, sizeof p);
	__asm__ volatile("" ::"r"(packed) : "memory");
}

/* ---- what the allocator remembers ---- */

static void pointer_in_freed(size_t size, size_t at)
{
	char *a = malloc(size);
	void *p = direct_block(100);
	memset(a, 0, size);
	memcpy(a + at, &p, sizeof p);
	kept2 = malloc(32); /* it does not melt into the top */
	free(a);
}

APART static void freed_small(void)
{
	pointer_in_freed(200, 64);
}

APART static void freed_large(void)
{
	pointer_in_freed(5000, 1000);
}

APART static void freed_huge(void)
{
	pointer_in_freed(1 << 20, 4096);
}

/* A free chunk begins inside the block before it: the allocator's list of free ones points there.
 */
APART static void beside_freed(void)
{
	direct_block(24);
	void *a = malloc(5000);
	kept2 = malloc(32);
	free(a);
}

APART static void beside_cached(void)
{
	direct_block(24);
	void *a = malloc(24);
	kept2 = malloc(32);
	free(a);
}

/* ---- memory of the program's own ---- */

APART static void big_dropped(void)
{
	direct_block(1 << 20);
}

APART static void big_kept(void)
{
	char *p = reachable_block(1 << 20);
	*(void **)(void *)(p + 500000) = reachable_block(100);
	kept = p;
}

APART static void untouched(void)
{
	char *p = calloc(1, (size_t)1 << 30);
	*(void **)(void *)(p + ((size_t)1 << 29)) = reachable_block(100);
	kept = p;
}

static void **anonymous(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

APART static void mapped(void)
{
	anonymous(8192)[700] = reachable_block(100);
	anonymous((size_t)1 << 40)[1 << 20] = reachable_block(100);
}

APART static void mapped_shared(void)
{
	void **p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	p[5] = reachable_block(100);
}

APART static void unmapped(void)
{
	void **p = anonymous(8192);
	p[5] = direct_block(100);
	munmap(p, 8192);
}

APART static void read_only(void)
{
	void **p = anonymous(8192);
	p[5] = reachable_block(100);
	mprotect(p, 8192, PROT_READ);
}

/* ---- modules ---- */

static void *module(void)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/leaksmodule.so", folder);
	void *m = dlopen(path, RTLD_NOW);
	void (*f)(void *(*)(size_t)) =
		m ? (void (*)(void *(*)(size_t)))(uintptr_t)dlsym(m, "module_keep") : NULL;
	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	f(kept ? direct_block : reachable_block);
	return m;
}

APART static void module_open(void)
{
	module();
}

APART static void module_closed(void)
{
	kept = (void *)1;
	dlclose(module());
	kept = NULL;
}

/* ---- the end ---- */

static void *freed_late, *freed_last;

static void free_late(void)
{
	free(freed_late);
	freed_late = NULL;
}

__attribute__((destructor)) static void free_last(void)
{
	free(freed_last);
	freed_last = NULL;
}

APART static void freed_by_handlers(void)
{
	freed_late = direct_block(100);
	freed_last = direct_block(100);
	*(void **)freed_last = NULL;
	atexit(free_late);
}

/* Freed by nobody, but dropped by the destructor. */
APART static void ends_quickly(void)
{
	direct_block(100);
	freed_late = direct_block(200);
	kept = reachable_block(100);
	at_quick_exit(free_late);
}

APART static void direct_and_kept(void)
{
	direct_block(100);
	kept = reachable_block(100);
}

/* exit() below a frame that holds a pointer. */
APART static void deep_exit(void)
{
	void *volatile p = reachable_block(100);
	direct_and_kept();
	scrub();
	exit(p ? 0 : 1);
}

static void forbid_futex(void)
{
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 1, 0),
				  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
				  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
				  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

APART static void filtered(void)
{
	direct_and_kept();
	forbid_futex();
}

/* A child of vfork is not an end. */
APART static void vforked(void)
{
	pid_t pid = vfork();
	if (!pid)
		_exit(3);
	int status = 0;
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) != 3)
		exit(9);
	direct_and_kept();
}

APART static void forked(void)
{
	pid_t pid = fork();
	for (int i = 0; !pid && i < 200; i++)
		free(malloc(1000)); /* enough to be kept */
	direct_and_kept();
	if (pid)
		waitpid(pid, NULL, 0);
}

/* ---- pools ---- */

static char arena_memory[4096];

APART static void *direct_object(char *at)
{
	ms_alloc(at, 64);
	return at;
}

APART static void *indirect_object(char *at)
{
	ms_alloc(at, 64);
	return at;
}

APART static void *reachable_object(char *at)
{
	ms_alloc(at, 64);
	return at;
}

static void fill_pool(char *pool)
{
	kept = reachable_object(pool);
	*(void **)kept = reachable_object(pool + 64);
	void **a = direct_object(pool + 128);
	a[1] = indirect_object(pool + 192);
	a[2] = indirect_block(100);
}

APART static void pool(void)
{
	char *p = reachable_block(1000);
	kept2 = p;
	fill_pool(p);
}

APART static void static_pool(void)
{
	fill_pool(arena_memory);
}

/* A pool whose blocks another one cuts its own from; only the middle of one is pointed to. */
APART static void *reachable_chunk(void *pool, void *at, size_t size)
{
	ms_pool_alloc(pool, at, size);
	return at;
}

APART static void direct_part(void *pool, void *at)
{
	ms_pool_alloc(pool, at, 16);
}

APART static void nested_pools(void)
{
	const size_t size = 4 << 20;
	char *memory = malloc(size), *chunk = reachable_chunk(memory + size - 1, memory, size);
	for (size_t at = 64; at < size; at += 100000) {
		direct_part(memory, chunk + at);
		*(void **)(void *)(chunk + at) = reachable_block(30);
	}
	kept = chunk + size / 2;
}

/* ---- main ---- */

static const struct leak_case cases[] = {
	CASE(direct),        CASE(list),
	CASE(list_kept),     CASE(tree),
	CASE(cycle),         CASE(ring),
	CASE(shared),        CASE(global),
	CASE(inner_static),  CASE(own_tls),
	CASE(key),           CASE(interior),
	CASE(past_end),      CASE(far_past_end),
	CASE(zero),          CASE(moved),
	CASE(aligned),       CASE(freed_small),
	CASE(freed_large),   CASE(freed_huge),
	CASE(beside_freed),  CASE(beside_cached),
	CASE(big_dropped),   CASE(big_kept),
	CASE(untouched),     CASE(mapped),
	CASE(mapped_shared), CASE(unmapped),
	CASE(read_only),     CASE(module_open),
	CASE(module_closed), CASE(freed_by_handlers),
	CASE(ends_quickly),  CASE(direct_and_kept),
	CASE(deep_exit),     CASE(filtered),
	CASE(vforked),       CASE(forked),
	CASE(pool),          CASE(static_pool),
	CASE(nested_pools),  CASE(pointer_at_byte),
};

int main(int argc, char **argv)
{
	run_case(argv, cases, sizeof cases / sizeof *cases);
	end_as(argc > 2 ? argv[2] : "return");
	return 0;
}
