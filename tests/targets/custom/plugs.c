/* SPDX-License-Identifier: MIT
 * Modules that are opened while the program runs, each with an allocator of its own, pool_alloc,
 * which their constructors call first. With -DPLUG one of them; else the program: `plugs FOLDER
 * [forks|started]` opens what is there and prints what was given out, as the others do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone))

#ifdef PLUG

static char arena[1 << 16];
static size_t used;
static void *blocks[3];

API static void *pool_alloc(size_t size)
{
	void *block = arena + used;
	used += (size + 15) & ~(size_t)15;
	return used <= sizeof arena ? block : NULL;
}

API static void pool_free(void *block)
{
	__asm__ volatile("" ::"r"(block) : "memory");
}

__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < 3; i++)
		blocks[i] = pool_alloc(10);
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < 3; i++)
		pool_free(blocks[i]);
}

void work(int n);
void work(int n)
{
	for (int i = 0; i < n; i++)
		pool_free(pool_alloc((size_t)i + 1));
}

#else

static unsigned long allocations, bytes;
static const char *folder;
static int over;

static void *keep(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void *open_one(const char *name, int n)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.so", folder, name);
	void *plug = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(int) = plug ? (void (*)(int))dlsym(plug, "work") : NULL;
	if (!work) {
		printf("%s\n", dlerror());
		exit(1);
	}
	work(n);
	allocations += 3ul + (unsigned long)n;
	bytes += 30ul + (unsigned long)n * (unsigned long)(n + 1) / 2;
	return plug;
}

static void close_one(const char *name, int n)
{
	dlclose(open_one(name, n));
}

static void *churn(void *unused)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		free(keep(malloc(600)));
		usleep(100);
	}
	return unused;
}

int main(int argc, char **argv)
{
	char go;
	pthread_t thread;
	folder = argv[1];
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 2 && *argv[2] == 's') { /* until it is recorded */
		fputs(argv[2], stderr);
		if (read(0, &go, 1) != 1)
			return 1;
	}
	for (int i = 0; argc > 2 && i < 2; i++) { /* each for itself; the second inherits hooks */
		if (!fork()) {
			for (int k = 0; k < 200; k++) /* it is not too small to be kept */
				free(keep(malloc(600)));
			close_one("b", 50 + i);
			_exit(0);
		}
		wait(NULL);
		close_one("b", 11);
	}
	pthread_create(&thread, NULL, churn, NULL);
	for (int i = 0; i < 5; i++)
		close_one("a", 100);
	void *b = open_one("b", 200);
	/* what comes now lies out of reach of all that is there */
	if (mmap(NULL, 6ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
	    MAP_FAILED)
		return 1;
	void *c = open_one("c", 300);
	close_one("a", 7);
	dlclose(b);
	dlclose(c);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("pool_alloc|%lu|%lu|%lu|0\n", allocations, allocations, bytes);
	return 0;
}

#endif
