/* SPDX-License-Identifier: MIT
 * How the C programs with leaks begin and end: the case that the first argument names is run, and
 * the process ends as the second one says.
 */
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leaks.h"

struct leak_case {
	const char *name;
	void (*f)(void);
};
/* clang-format off */
#define CASE(name) {#name, name}
/* clang-format on */

/* Names the folder of the program, in which its module lies, too. */
static const char *folder;

static void run_case(char **argv, const struct leak_case *cases, size_t n)
{
	char *slash = strrchr(argv[0], '/');
	if (slash)
		*slash = '\0';
	folder = argv[0];
	for (size_t i = 0; argv[1] && i < n; i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].f();
	scrub();
}

/* Does not return but where main is to. */
static void end_as(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "_Exit"))
		_Exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, 0);
}
