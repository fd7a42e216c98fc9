/* SPDX-License-Identifier: MIT
 * Files that are read through a mapping.
 *
 * Reading a page beyond the end of the file raises SIGBUS. The handler maps a page of zeros in its
 * place, but not in other shared memory, which would then no longer be shared.
 */
#include "mapped_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE ((uintptr_t)4096)
#define FILES_MOST 512u /* most files protected at a time */

static struct {
	_Atomic uintptr_t start, end; /* 0, 0 = free */
} files[FILES_MOST];

void *ms_mapped_file(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	bool put = map == MAP_FAILED;
	for (size_t i = 0; i < FILES_MOST && !put; i++) {
		uintptr_t none = 0;
		put = atomic_compare_exchange_strong(&files[i].start, &none, (uintptr_t)map);
		if (put)
			files[i].end = (uintptr_t)map + size;
	}
	return map;
}

void ms_mapped_file_free(void *map, size_t size)
{
	for (size_t i = 0; i < FILES_MOST; i++)
		if (files[i].start == (uintptr_t)map) {
			files[i].end = 0;
			files[i].start = 0;
			break;
		}
	munmap(map, size);
}

static void put_zeros(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	int saved = errno;
	bool ours = false;
	(void)context;
	for (size_t i = 0; i < FILES_MOST && !ours; i++)
		ours = at >= files[i].start && at < files[i].end;
	if (!ours || mmap((void *)(at & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL); /* the fault recurs and ends the process */
	errno = saved;
}

void ms_mapped_files_survive(void)
{
	struct sigaction sa = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGBUS, &sa, NULL);
}
