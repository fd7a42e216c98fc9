/* SPDX-License-Identifier: MIT
 * Memory that is read by somebody who may come to wait for it: of a child that has pages which
 * nobody delivers (userfaultfd), and whose only thread is stopped. Where there is no userfaultfd
 * only the rest is tested.
 */
#include "ms-record/base/timed.c" /* it belongs to a tool, of which there is no library */

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "tests/unit/is.h"

#define PAGE 4096u
#define PAGES 600u /* more than a piece has */
#define SECOND UINT64_C(1000000000)

static uint8_t *memory, *served, *got;

static bool serve_pages(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register r = {.range = {(uintptr_t)served, PAGE},
				    .mode = UFFDIO_REGISTER_MODE_MISSING};
	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &r);
}

static pid_t begin_child(bool *serves)
{
	int status, told[2];
	char good = 0;
	is("pipe", (uint64_t)pipe(told), 0);
	pid_t pid = fork();
	if (!pid) {
		good = serve_pages();
		if (write(told[1], &good, 1) == 1)
			raise(SIGSTOP);
		_exit(0);
	}
	is("told", (uint64_t)read(told[0], &good, 1), 1);
	waitpid(pid, &status, WUNTRACED);
	close(told[0]);
	close(told[1]);
	*serves = good;
	return pid;
}

static bool read_it(pid_t pid, int mem, const void *at, size_t bytes)
{
	memset(got, 0, PAGES * PAGE);
	errno = 0;
	return timed_read(pid, mem, (uintptr_t)at, got, bytes);
}

static void check_read(pid_t pid)
{
	is("all", read_it(pid, -1, memory, PAGES * PAGE), true);
	is("as it is", (uint64_t)memcmp(got, memory, PAGES * PAGE), 0);
	is("some", read_it(pid, -1, memory + 5, 3), true);
	is("as they are", (uint64_t)memcmp(got, memory + 5, 3), 0);
	is("not there", read_it(pid, -1, NULL, 8), false);
	is("why", (uint64_t)errno, EFAULT);
	is("it waits", timed_waits(pid), false);
	char name[32];
	snprintf(name, sizeof name, "/proc/%d/mem", (int)pid);
	int mem = open(name, O_RDONLY | O_CLOEXEC);
	is("no such process, but its file", read_it(0x7ffffff0, mem, memory, 2 * PAGE), true);
	is("as it is", (uint64_t)memcmp(got, memory, 2 * PAGE), 0);
	close(mem);
}

static void check_waits(pid_t pid)
{
	pid_t reader = own.reader->pid;
	uint64_t start = clock_mono();
	is("nobody delivers it", read_it(pid, -1, served, 8), false);
	is("why", (uint64_t)errno, ETIMEDOUT);
	is("it was waited for", clock_mono() - start >= TIMED_READ_NS, true);
	is("who waited is gone", (uint64_t)kill(reader, 0), (uint64_t)-1);
	is("it waits", timed_waits(pid), true);
	start = clock_mono();
	for (int i = 0; i < 1000; i++)
		is("again", read_it(pid, -1, memory, 8) || errno != ETIMEDOUT, false);
	is("at once", clock_mono() - start < 100 * SECOND, true); /* not 500 s */
	is("of another process", read_it(getpid(), -1, memory, 8), true);
	own.until_ns = clock_mono() - 1;
	is("later", read_it(pid, -1, memory, 8), true);
}

static void *thread(void *arg)
{
	is("in a thread", read_it(*(pid_t *)arg, -1, memory, 8), true);
	return NULL;
}

/* Nobody is left of those who read for a thread that ended, or for a process that was forked. */
static void check_left(pid_t pid)
{
	pthread_t t;
	int status = -1;
	pthread_create(&t, NULL, thread, &pid);
	pthread_join(t, NULL);
	pid_t forked = fork();
	if (!forked)
		_exit(!read_it(pid, -1, memory, 8));
	waitpid(forked, &status, 0);
	is("in a forked process", (uint64_t)status, 0);
	is("here all the same", read_it(pid, -1, memory, 8), true);
	timed_end();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	is("nobody is left", (uint64_t)waitpid(-1, &status, __WALL), (uint64_t)-1);
	is("why", (uint64_t)errno, ECHILD);
}

int main(void)
{
	bool serves;
	memory = mmap(NULL, (2 * PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	got = memory + PAGES * PAGE;
	served = got + PAGES * PAGE;
	for (size_t i = 0; i < PAGES * PAGE; i++)
		memory[i] = (uint8_t)(i / PAGE + i);
	pid_t pid = begin_child(&serves);
	check_read(pid);
	if (serves)
		check_waits(pid);
	check_left(pid);
	return failures != 0;
}
