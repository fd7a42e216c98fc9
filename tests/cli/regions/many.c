/* SPDX-License-Identifier: MIT
 * A process of COUNT mappings that touch one page each; then it stops itself.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char *all = mmap(NULL, n * PAGE + PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < n; i += 2) { /* each one splits what is left */
		if (mprotect(all + i * PAGE, PAGE, PROT_READ | PROT_WRITE))
			return 1;
		all[i * PAGE] = 1;
	}
	raise(SIGSTOP);
	return 0;
}
