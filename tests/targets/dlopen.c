/* SPDX-License-Identifier: MIT
 * dlopen, dlclose and dlopen of another module at the same address, over and over.
 */
#include "truth.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static char path[4096];
static void *kept[64];
static int count;

static const char *beside(const char *name)
{
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
	path[n < 0 ? 0 : n] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	return path;
}

static SITE void *use(const char *name)
{
	void *module = dlopen(beside(name), RTLD_NOW | RTLD_LOCAL);
	if (!module) {
		tm_say(dlerror());
		_exit(1);
	}
	void *(*outer)(size_t) = (void *(*)(size_t))dlsym(module, "outer");
	for (int i = 0; i < 3; i++)
		kept[count++] = outer(100);
	void *where = (void *)outer;
	dlclose(module);
	return where;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		void *a = use("module_a.so");
		void *b = use("module_b.so");
		tm_say(a == b ? "same address\n" : "other address\n");
	}
	for (int i = 0; i < count; i += 2)
		FREE(kept[i]);
	FREE(MALLOC(100000));
	return 0;
}
