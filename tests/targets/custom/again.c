/* SPDX-License-Identifier: MIT
 * Does what its input says: 1 and 2, a block of each function of that module, which is opened at the first, and prints which they are; c closes
 * the first module; m opens another one; f: a child does the rest of the line. With -DPLUG=NAME one of the modules.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PLUG
#define NAME_(plug, function) plug##_##function
#define NAME(plug, function) NAME_(plug, function)

static char blocks[2][64];

void *NAME(PLUG, a)(size_t size)
{
	return size == 10 ? blocks[0] : NULL;
}

void *NAME(PLUG, b)(size_t size)
{
	return size ? blocks[1] : NULL;
}
#else
static const char *const names[] = {"one", "two"};
static void *plugs[2], *closed;

static void use(int i)
{
	char path[32], name[32];
	snprintf(path, sizeof path, "./%s.so", names[i]);
	plugs[i] = plugs[i] ? plugs[i] : dlopen(path, RTLD_NOW);
	for (int k = 0; k < 2; k++) {
		snprintf(name, sizeof name, "%s_%c", names[i], "ab"[k]);
		char *(*call)(size_t) = (char *(*)(size_t))dlsym(plugs[i], name);
		printf("%s%s %td ", name, (void *)call == closed ? " there" : "",
		       call(10) - (char *)dlsym(plugs[i], name));
	}
}

static int is_child(void)
{
	fflush(stdout);
	if (fork())
		return wait(NULL) < 0;
	for (int i = 0; i < 300; i++) { /* it is not too small to be kept */
		void *volatile block = malloc(600);
		free(block);
	}
	return 1;
}

int main(void)
{
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		for (const char *c = line; *c != '\n'; c++) {
			if (*c == 'c') {
				closed = dlsym(plugs[0], "one_a");
				dlclose(plugs[0]);
			} else if (*c == 'm') {
				dlopen("libm.so.6", RTLD_NOW);
			} else if (*c == 'f') {
				if (!is_child())
					break;
			} else {
				use(*c - '1');
			}
		}
		puts("");
		fflush(stdout);
	}
	return 0;
}
#endif
