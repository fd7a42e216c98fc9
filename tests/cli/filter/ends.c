/* SPDX-License-Identifier: MIT
 * Frees all that it has in the end, and lives on for a while: a recording that is cut there ends like one of a program
 * that exits.
 */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	static void *p[20000];
	for (int i = 0; i < 20000; i++) {
		p[i] = malloc(100);
		if (i % 200 == 0)
			usleep(100);
	}
	usleep(3000);
	for (int i = 0; i < 20000; i++) {
		free(p[i]);
		if (i % 1000 == 0)
			usleep(50);
	}
	usleep(5000);
	return 0;
}
