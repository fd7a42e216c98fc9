/* SPDX-License-Identifier: MIT
 * For every line that it reads it has its modules, opened at the first, give a block of each of their functions, and prints what they are.
 * With -DPLUG=NAME one of the modules.
 */
#include <dlfcn.h>
#include <stdio.h>

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

int main(void)
{
	char line[16], path[32], name[32];
	void *plugs[2] = {0};
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		for (int i = 0; i < 4; i++) {
			void **plug = &plugs[i % 2];
			snprintf(path, sizeof path, "./%s.so", names[i % 2]);
			snprintf(name, sizeof name, "%s_%c", names[i % 2], "ab"[i / 2]);
			*plug = *plug ? *plug : dlopen(path, RTLD_NOW);
			char *(*call)(size_t) = (char *(*)(size_t))dlsym(*plug, name);
			printf("%s %td ", name, call(10) - (char *)dlsym(*plug, name));
		}
		puts("");
	}
	return 0;
}
#endif
