/* SPDX-License-Identifier: MIT */
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

bool ms_library_load(const char *file, const char *const *names, size_t n, void *functions)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL), **found = ms_xcalloc(n, sizeof *found);
	for (size_t i = 0; handle && i < n; i++)
		if (!(found[i] = dlsym(handle, names[i])))
			handle = NULL;
	if (handle)
		memcpy(functions, found, n * sizeof *found);
	free(found);
	return handle != NULL;
}
