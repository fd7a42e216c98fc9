/* SPDX-License-Identifier: MIT
 * Allocates by two functions, and ends with 7 if the entry of the second one stays as it was while main runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *first_alloc(size_t size);
void *last_alloc(size_t size);
void *too_short(size_t size);
/* Another function begins right behind it. */
__asm__(".globl too_short\n.type too_short, @function\ntoo_short:\n\txor %eax, %eax\n\tret\n.size "
	"too_short, .-too_short\n"
	".globl other\n.type other, @function\nother:\n\tmov %rdi, %rax\n\tret\n.size other, "
	".-other\n");

__attribute__((noinline)) void *first_alloc(size_t size)
{
	char *p = malloc(size + 16);
	if (p)
		memset(p, 1, size);
	return p;
}

__attribute__((noinline)) void *last_alloc(size_t size)
{
	char *p = malloc(size + 32);
	if (p)
		memset(p, 2, size);
	return p;
}

int main(int argc, char **argv)
{
	unsigned char entry[16];
	void *const own = (void *)last_alloc;
	int seconds = argc > 1 ? atoi(argv[1]) : 0;
	memcpy(entry, own, sizeof entry);
	printf("begin\n");
	fflush(stdout);
	for (int i = 0; i < 50 * seconds; i++) {
		usleep(20000);
		if (memcmp(entry, own, sizeof entry) != 0)
			return 9;
	}
	free(first_alloc(10));
	free(last_alloc(20));
	printf("end, entry %02x%02x%02x%02x%02x\n", entry[0], entry[1], entry[2], entry[3],
	       entry[4]);
	return 7;
}
