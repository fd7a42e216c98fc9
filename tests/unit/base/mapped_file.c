/* SPDX-License-Identifier: MIT
 * A mapped file that is cut short reads as zeros from there on, in every thread of ours; memory that
 * is shared with others still ends who reads what is not there.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/base/mapped_file.h"
#include "libcommon/base/thread.h"
#include "tests/unit/is.h"

#define PAGE ((size_t)4096)
#define PAGES ((size_t)4)

static int made(void)
{
	uint8_t page[PAGE];
	int fd = memfd_create("file", MFD_CLOEXEC);
	memset(page, 7, sizeof page);
	for (size_t i = 0; i < PAGES; i++)
		is("written", write(fd, page, PAGE), PAGE);
	return fd;
}

static unsigned sum(const volatile uint8_t *map, size_t from, size_t pages)
{
	unsigned n = 0;
	for (size_t i = from * PAGE; i < (from + pages) * PAGE; i += PAGE / 2)
		n += map[i];
	return n;
}

static void *second_half(void *map)
{
	return (void *)(uintptr_t)sum(map, PAGES / 2, PAGES / 2);
}

static void cut_short(void)
{
	int fd = made();
	void *other = ms_mapped_file(fd, PAGE), *map = ms_mapped_file(fd, PAGES * PAGE);
	is("whole", sum(map, 0, PAGES), 7 * 2 * PAGES);
	is("cut", ftruncate(fd, PAGE), 0);
	is("what is left", sum(map, 0, 1), 7 * 2);
	is("what is gone", sum(map, 1, 1), 0);
	pthread_t t;
	void *result;
	is("a thread", ms_thread_start(&t, 1 << 20, second_half, map), 0);
	pthread_join(t, &result);
	is("what is gone, in a thread", (uintptr_t)result, 0);
	((uint8_t *)map)[PAGE] = 3;
	is("what is written stays", ((uint8_t *)map)[PAGE], 3);
	ms_mapped_file_free(map, PAGES * PAGE);
	ms_mapped_file_free(other, PAGE);
	close(fd);
}

static void shared(void)
{
	int fd = made(), status = 0;
	void *was = ms_mapped_file(fd, PAGES * PAGE);
	ms_mapped_file_free(was, PAGES * PAGE);
	void *map = mmap(was, PAGES * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	is("at the same place", map == was, 1);
	is("cut", ftruncate(fd, PAGE), 0);
	pid_t pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		_exit((int)sum(map, 1, 1));
	}
	waitpid(pid, &status, 0);
	is("ends by a signal", WIFSIGNALED(status), 1);
	is("SIGBUS", WTERMSIG(status), SIGBUS);
	munmap(map, PAGES * PAGE);
	close(fd);
}

int main(void)
{
	ms_mapped_files_survive();
	cut_short();
	shared();
	return failures != 0;
}
