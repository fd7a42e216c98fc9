/* SPDX-License-Identifier: MIT
 * A realloc that takes long: preloaded behind the recorder.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

void *realloc(void *old, size_t size)
{
	static void *(*real)(void *, size_t);
	if (!real)
		*(void **)(void *)&real = dlsym(RTLD_NEXT, "realloc");
	if (size == 4242)
		sleep(1);
	return real(old, size);
}
