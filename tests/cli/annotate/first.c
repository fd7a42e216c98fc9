/* SPDX-License-Identifier: MIT
 * One of two files of one name: it keeps what it takes.
 */
#include <stdlib.h>

void *kept[5];
static int used;

void keep_one(int n)
{
	while (n--)
		kept[used++] = malloc(1024);
}
