/* SPDX-License-Identifier: MIT
 * A folder that plays /proc/PID for fuzz targets.
 */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_folder_path[] = "/tmp/fuzz-XXXXXX";

static inline void fuzz_folder_remove(void)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder_path);
	if (system(command))
		perror(command);
}

/* Returns the folder's descriptor; made at the first call, removed at exit. */
static inline int fuzz_folder(void)
{
	static int fd = -1;
	if (fd >= 0)
		return fd;
	if (!mkdtemp(fuzz_folder_path) ||
	    (fd = open(fuzz_folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
	    mkdirat(fd, "task", 0700) || mkdirat(fd, "task/7", 0700) || mkdirat(fd, "root", 0700)) {
		perror(fuzz_folder_path);
		exit(2);
	}
	atexit(fuzz_folder_remove);
	return fd;
}

static inline void fuzz_file(int folder, const char *name, const void *data, size_t n)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n) {
		perror(name);
		exit(2);
	}
	close(fd);
}
