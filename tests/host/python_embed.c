/* SPDX-License-Identifier: MIT
 * An interpreter in a library that is opened, closed, and opened again elsewhere: LIBRARY TIMES [stop].
 * ms-record learns of a library after it was opened: each is there for half a second, and with
 * "stop" ms-record, which launched this, learns of it only while the interpreter runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void run(void *library, int number)
{
	void (*begin)(int) = dlsym(library, "Py_InitializeEx");
	int (*text)(const char *) = dlsym(library, "PyRun_SimpleString");
	int (*end)(void) = dlsym(library, "Py_FinalizeEx");
	char program[256];
	snprintf(program, sizeof program,
		 "import os, time\ndef keep%d():\n  return [bytearray(7001) for i in range(10)]\n"
		 "for i in range(50):\n  keep%d(); time.sleep(.01)\n"
		 "  if i == 9: os.kill(os.getppid(), 18)\n",
		 number, number);
	begin(0);
	if (text(program) || end())
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[3], "stop"))
		kill(getppid(), SIGSTOP);
	for (int i = 0; argc >= 3 && i < atoi(argv[2]); i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
		struct link_map *map;
		if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
			return 77;
		void *at = (void *)map->l_addr;
		run(library, i);
		dlclose(library);
		/* not to the same place again */
		mmap(at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	return 0;
}
