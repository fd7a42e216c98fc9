/* SPDX-License-Identifier: MIT
 * Preloaded by the benchmark: appends "NAME KIB", the largest resident memory of every program that
 * ends, to the file that BENCH_PEAK names; and holds the FIFO that BENCH_HELD names open until the
 * process of the program BENCH_PROGRAM has ended, so that `launch` sees when that is.
 *
 * A recorder and its target run together; only from inside can they be told apart.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Since the exec, unlike what getrusage says. */
static long largest(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *line = strstr(text, "VmHWM:");
	return line ? atol(line + 6) : 0;
}

/* The file name of the program, in `room`; NULL: not known. */
static const char *name_of_program(char *room, size_t bytes)
{
	ssize_t n = readlink("/proc/self/exe", room, bytes - 1);
	if (n < 0)
		return NULL;
	room[n] = '\0';
	const char *last = strrchr(room, '/');
	return last ? last + 1 : room;
}

/* Far from the descriptors that the program is used to get. */
__attribute__((constructor)) static void hold(void)
{
	enum { FAR = 900 };
	const char *fifo = getenv("BENCH_HELD"), *program = getenv("BENCH_PROGRAM");
	char exe[4096];
	const char *name = name_of_program(exe, sizeof exe);
	if (!fifo || !program || !name || strcmp(program, name) != 0)
		return;
	int fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	fcntl(fd, F_DUPFD_CLOEXEC, FAR);
	close(fd);
}

__attribute__((destructor)) static void note(void)
{
	const char *file = getenv("BENCH_PEAK");
	char exe[4096], line[4200];
	const char *name = name_of_program(exe, sizeof exe);
	if (!file || !name)
		return;
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	int length = snprintf(line, sizeof line, "%s %ld\n", name, largest());
	if (write(fd, line, (size_t)length) < 0)
		_exit(99);
	close(fd);
}
