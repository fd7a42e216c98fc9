/* SPDX-License-Identifier: MIT
 * Finds the program that a process runs. If the dynamic linker was started as a command,
 * /proc/PID/exe names the linker; the program is then the argument that is mapped.
 */
#include "program.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"

#define ARGS_MOST 65536u

static bool is_linker(const char *path)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	return (!strncmp(base, "ld-", 3) || !strncmp(base, "ld.so", 5) ||
		!strncmp(base, "ld64.so", 7)) &&
	       strstr(base, ".so");
}

static bool takes_value(const char *option)
{
	static const char *const those[] = {
		"--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
		"--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
	for (size_t i = 0; i < sizeof those / sizeof *those; i++)
		if (!strcmp(option, those[i]))
			return true;
	return false;
}

/* Skips arguments that are options of the dynamic linker. */
size_t process_linker_args(const char *args, size_t n)
{
	const char *end = args + n, *p = args + strlen(args) + 1;
	while (p < end && !strncmp(p, "--", 2)) {
		bool last = !p[2], value = takes_value(p);
		p += strlen(p) + 1;
		if (last)
			break;
		if (value && p < end)
			p += strlen(p) + 1;
	}
	return p < end ? (size_t)(p - args) : n;
}

/* Tells whether a mapped file is the program that argument `name` of the dynamic linker names. A
 * `name` without a slash was looked up in the library path. */
static bool is_program(const char *mapped, uint64_t inode, const char *name, const struct stat *st)
{
	const char *base = strrchr(mapped, '/');
	return strchr(name, '/') ? st->st_ino && st->st_ino == inode
				 : base && !strcmp(base + 1, name);
}

static void find_mapped(FILE *maps, const char *name, const struct stat *st, char path[PROCESS_EXE])
{
	char *line = NULL;
	size_t room = 0;
	unsigned long inode;
	for (int at = 0; getline(&line, &room, maps) > 0; at = 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*s %*s %*s %lu %n", &inode, &at) == 1 && at &&
		    line[at] == '/' && is_program(line + at, inode, name, st)) {
			snprintf(path, PROCESS_EXE, "%s", line + at);
			break;
		}
	}
	free(line);
}

static void find_program(int folder, char path[PROCESS_EXE])
{
	char *args = is_linker(path) ? calloc(ARGS_MOST + 2, 1) : NULL, full[PROCESS_EXE + 8];
	int fd = args ? openat(folder, "cmdline", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, args, ARGS_MOST);
	descriptor_close(fd);
	const char *name = n > 0 ? args + process_linker_args(args, (size_t)n) : "";
	int maps = *name ? openat(folder, "maps", O_RDONLY | O_CLOEXEC) : -1;
	FILE *f = maps < 0 ? NULL : fdopen(maps, "r");
	if (f) {
		struct stat st;
		snprintf(full, sizeof full, "%s%s", *name == '/' ? "root" : "cwd/", name);
		if (fstatat(folder, full, &st, 0))
			st.st_ino = 0;
		find_mapped(f, name, &st, path);
		fclose(f);
	}
	free(args);
}

void process_exe(int folder, char path[PROCESS_EXE])
{
	if (process_link(folder, "exe", path, PROCESS_EXE))
		find_program(folder, path);
	else
		strcpy(path, "unknown");
}

void process_exe_of(pid_t pid, char path[PROCESS_EXE])
{
	int folder = process_folder(pid);
	process_exe(folder, path);
	descriptor_close(folder);
}
