/* SPDX-License-Identifier: MIT
 * Opens a library, into a namespace of the linker of its own if there is a second argument "new", and
 * runs its work(). With "started" as the last argument it says so before, and waits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char c;
	if (!strcmp(argv[argc - 1], "started") &&
	    (write(2, "started\n", 8) != 8 || read(0, &c, 1) < 0))
		return 1;
	void *h = argc > 2 && !strcmp(argv[2], "new") ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)
						      : dlopen(argv[1], RTLD_NOW);
	if (!h)
		return puts(dlerror()) < 0 ? 2 : 1;
	void (*work)(void) = (void (*)(void))dlsym(h, "work");
	work();
	return 0;
}
