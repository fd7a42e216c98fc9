/* SPDX-License-Identifier: MIT
 * Opens a plugin, has it allocate and closes it, over and over:
 *
 *   reload CYCLES PLUGIN [move|cd FOLDER|swap OTHER]
 *
 * Every tenth block is kept. `move`: what was its place is taken, so that it lies elsewhere each
 * time; `cd`: PLUGIN is relative to FOLDER, which is the current folder while it is opened alone;
 * `swap`: half-way OTHER is renamed to PLUGIN. Compiled with PLUGIN defined it is the plugin.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUGIN
static void *own;

__attribute__((noipa)) static void *PLUGIN(size_t n)
{
	void *volatile p = malloc(n);
	return p;
}

#ifdef BUILD_b
__attribute__((noipa)) void more(void);
__attribute__((noipa)) void more(void)
{
	free(PLUGIN(1));
}
#endif

__attribute__((constructor)) static void opened(void)
{
	own = malloc(77);
}

__attribute__((destructor)) static void closed(void)
{
	free(own);
}

__attribute__((noipa)) void *outer(size_t n);
__attribute__((noipa)) void *outer(size_t n)
{
	void *volatile p = PLUGIN(n);
	return p;
}
#else
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(int good, const char *what)
{
	if (good)
		return;
	puts(what);
	exit(1);
}

int main(int argc, char **argv)
{
	int cycles = argc > 2 ? atoi(argv[1]) : 0, kept = 0;
	const char *how = argc > 3 ? argv[3] : "";
	for (int i = 0; i < cycles; i++) {
		if (!strcmp(how, "cd"))
			must(!chdir(argv[4]), "chdir");
		if (!strcmp(how, "swap") && i == cycles / 2)
			must(!rename(argv[4], argv[2]), "rename");
		void *module = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
		must(module != NULL, "dlopen");
		if (!strcmp(how, "cd"))
			must(!chdir("/"), "chdir");
		void *(*outer)(size_t) = (void *(*)(size_t))dlsym(module, "outer");
		void *block = outer(1000);
		dlclose(module);
		if (i % 10)
			free(block);
		else
			kept++;
		if (!strcmp(how, "move"))
			mmap((void *)((size_t)outer & ~(size_t)4095), 4096, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	printf("kept %d\n", kept);
	return 0;
}
#endif
