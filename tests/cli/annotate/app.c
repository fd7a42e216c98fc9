/* SPDX-License-Identifier: MIT
 * What each line holds is known: annotate.sh expects figures of lines by their numbers.
 */
#include <memscope.h>
#include <stdlib.h>
#include <string.h>

void keep_one(int n), pass_by(int n);

struct ring {
	struct ring *next;
	char *name;
};
struct ring *rings[10];
void *others[5];

static char *word(const char *s)
{
	return strcpy(malloc(7), s);
}

static struct ring *link_ring(int left)
{
	struct ring *r = malloc(100);
	r->next = left ? link_ring(left - 1) : NULL;
	r->name = word("a name");
	return r;
}

static inline __attribute__((always_inline)) void *block(void)
{
	return malloc(1000);
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		rings[i] = link_ring(3);
	for (int i = 0; i < 5; i++)
		others[i] = block();
	keep_one(2);
	ms_mark("half");
	keep_one(3);
	pass_by(3);
	return 0;
}
