/* SPDX-License-Identifier: MIT
 * A library to be preloaded into a tool of ours, in which the n-th allocation, or every write to a file from the n-th on, fails.
 *
 * FAILING_PROGRAM its name, FAILING_CALL "malloc" or "write", FAILING_AT the number of the call (0 = none), FAILING_COUNT a file that gets
 * the number of calls at the end. Counted from main on: what fails before it is the dynamic linker's to say.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static atomic_ulong calls;
static unsigned long fails_at;
static bool of_malloc, of_write;
static pid_t counted;
static int (*real_main)(int, char **, char **);

static bool malloc_fails(void)
{
	if (!of_malloc || atomic_fetch_add(&calls, 1) + 1 != fails_at)
		return false;
	if (getenv("FAILING_STOPS")) /* to see it in a debugger */
		raise(SIGTRAP);
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return malloc_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return malloc_fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return malloc_fails() ? NULL : __libc_realloc(p, size);
}

/* Tells whether a write fails, as on a full disk: what was there can be read, and no file grows. */
static bool write_fails(int fd)
{
	struct stat s;
	if (!of_write || fstat(fd, &s) || !S_ISREG(s.st_mode))
		return false;
	unsigned long n = atomic_fetch_add(&calls, 1) + 1;
	if (!fails_at || n < fails_at)
		return false;
	errno = ENOSPC;
	return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
	return write_fails(fd) ? -1 : syscall(SYS_write, fd, p, n);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	return write_fails(fd) ? -1 : syscall(SYS_writev, fd, v, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return write_fails(fd) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return pwrite(fd, p, n, at);
}

static void tell(void)
{
	char text[32];
	const char *file = getenv("FAILING_COUNT");
	int n = snprintf(text, sizeof text, "%lu\n", atomic_load(&calls));
	int fd = file && getpid() == counted ? (int)syscall(SYS_openat, AT_FDCWD, file,
							    O_WRONLY | O_CREAT | O_TRUNC, 0600)
					     : -1;
	if (fd >= 0) {
		syscall(SYS_write, fd, text, n);
		close(fd);
	}
}

static int begin(int argc, char **argv, char **env)
{
	const char *program = getenv("FAILING_PROGRAM"), *call = getenv("FAILING_CALL"),
		   *at = getenv("FAILING_AT");
	if (program && call && at && !strcmp(program, program_invocation_short_name)) {
		atexit(tell);
		counted = getpid();
		fails_at = strtoul(at, NULL, 10);
		of_malloc = !strcmp(call, "malloc");
		of_write = !strcmp(call, "write");
	}
	return real_main(argc, argv, env);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *end)
{
	__typeof__(&__libc_start_main) next =
		(__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");
	real_main = main;
	return next(begin, argc, argv, init, fini, rtld_fini, end);
}
